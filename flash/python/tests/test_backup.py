import filecmp
import itertools
import os
import random
import signal
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))
from backup import restore, shown, store  # noqa: E402


def tree(folder, seed):
    rng = random.Random(seed)
    (folder / "deep").mkdir(parents=True)
    for n in range(8):
        (folder / "deep" / f"{n}.bin").write_bytes(rng.randbytes(rng.randrange(1 << 20)))
    (folder / "empty").write_bytes(b"")
    (folder / "twice").write_bytes((folder / "deep" / "0.bin").read_bytes())
    Path(os.fsdecode(bytes(folder) + b"/\xff name")).write_bytes(b"x")


def test_a_second_backup_stores_what_changed_and_both_come_back(tmp_path):
    tree(tmp_path / "data", 1)
    first, new = store(tmp_path / "store", tmp_path / "data")
    total = sum(path.stat().st_size for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert 0 < new < total
    assert store(tmp_path / "store", tmp_path / "data")[1] == 0
    restore(tmp_path / "store", first, tmp_path / "back")
    changed = tmp_path / "data/deep/1.bin"
    changed.write_bytes(b"new" + changed.read_bytes())
    second, new = store(tmp_path / "store", tmp_path / "data")
    assert 0 < new <= 2 * 256 << 10, "the chunks after the change are known"
    restore(tmp_path / "store", second, tmp_path / "back again")
    assert not filecmp.dircmp(tmp_path / "data", tmp_path / "back again").diff_files
    assert (tmp_path / "back again/deep/1.bin").read_bytes() == changed.read_bytes()
    assert (tmp_path / "back/deep/1.bin").read_bytes() == changed.read_bytes()[3:]
    assert sorted(os.listdir(tmp_path / "back")) == sorted(os.listdir(tmp_path / "data"))


def test_a_backup_that_was_killed_is_repeated(tmp_path, child):
    tree(tmp_path / "data", 2)
    program = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); from backup import store; store(*sys.argv[1:])"
    for _ in range(3):
        process = child(program, tmp_path / "store", tmp_path / "data")
        time.sleep(random.uniform(0.1, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    snapshot, _ = store(tmp_path / "store", tmp_path / "data")
    restore(tmp_path / "store", snapshot, tmp_path / "back")
    for path in (tmp_path / "data").rglob("*"):
        assert path.is_dir() or path.read_bytes() == (tmp_path / "back" / path.relative_to(tmp_path / "data")).read_bytes()


def test_a_terminal_is_told_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr("time.monotonic", itertools.count().__next__)
    assert list(shown("abc")) == list("abc") and capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(shown("abc")) == list("abc")
    told = capsys.readouterr().err
    assert "\r1 of 3 files" in told and told.endswith("\r\x1b[K") and "\n" not in told
