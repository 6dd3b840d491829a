"""borg_flash.py runs borg itself: backups, kills, and what other clients of the repository do."""

import filecmp
import io
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("borg")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
STOCK = [sys.executable, "-m", "borg"]
FLASH = [sys.executable, str(EXAMPLES / "borg_flash.py")]


@pytest.fixture
def borg(tmp_path):
    """Runs borg on one repository. The cache folder is that of one client of it."""

    def run(*arguments, program=FLASH, client="one", cwd=tmp_path, wait=True, code=0):
        base = {"BORG_BASE_DIR": tmp_path / client, "BORG_REPO": tmp_path / "repository", "BORG_FILES_CACHE_SUFFIX": "all"}
        environment = os.environ | {name: str(value) for name, value in base.items()}
        environment |= {"BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes", "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes"}
        process = subprocess.Popen(
            [*program, *map(str, arguments)], cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if not wait:
            return process
        told = process.communicate(timeout=600)[0]
        assert process.returncode == code and "own chunk index is used" not in told, told
        return told

    run("repo-create", "--encryption", "none-sha256")
    return run


def tree(folder, seed, files=100, size=20_000):
    """A file of many chunks, and small ones."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(files):
        (folder / f"{seed}-{n}").write_bytes(rng.randbytes(rng.randrange(1, size)))
    (folder / f"{seed}-large").write_bytes(rng.randbytes(8 << 20))


def restored(borg, tmp_path, archive, **more):
    folder = tmp_path / f"restored {archive} {len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    borg("extract", archive, cwd=folder, **more)
    compared = filecmp.cmpfiles(tmp_path / "data", folder / "data", os.listdir(tmp_path / "data"), shallow=False)
    return not compared[1] and not compared[2]


def index(tmp_path, client="one"):
    (found,) = (tmp_path / client).rglob("chunks.flash")
    return found


def test_a_backup_and_its_files_are_those_of_borg(tmp_path, borg):
    tree(tmp_path / "data", 1)
    # borg does not trust the times of files that have just changed.
    time.sleep(3)
    borg("create", "a", "data")
    assert restored(borg, tmp_path, "a")
    assert restored(borg, tmp_path, "a", program=STOCK, client="other")
    tree(tmp_path / "data", 2)
    (tmp_path / "data/1-0").write_bytes(b"changed")
    # The second run finds the files that have not changed, and the chunks of those that have.
    told = borg("create", "--list", "--filter=AMU", "b", "data")
    assert sum(line.startswith("U ") for line in told.splitlines()) >= 90, told
    assert restored(borg, tmp_path, "b") and restored(borg, tmp_path, "b", program=STOCK, client="other")
    borg("check", "--verify-data", program=STOCK, client="other")
    assert index(tmp_path).is_dir()


def test_a_backup_that_is_killed_at_any_time_is_made_again(tmp_path, borg):
    tree(tmp_path / "data", 3, files=500, size=30_000)
    began = time.monotonic()
    borg("create", "whole", "data")
    seconds = time.monotonic() - began
    rng = random.Random(4)
    for n in range(3):
        tree(tmp_path / "data", 5 + n, files=300, size=30_000)
        process = borg("create", f"killed {n}", "data", wait=False)
        time.sleep(seconds * rng.uniform(0.3, 1.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        borg("break-lock", program=STOCK)
    borg("create", "after", "data")
    assert restored(borg, tmp_path, "after") and restored(borg, tmp_path, "after", program=STOCK, client="other")
    borg("check", "--verify-data", program=STOCK, client="other")


def test_chunks_that_another_client_deleted_are_stored_again(tmp_path, borg):
    tree(tmp_path / "data", 20)
    borg("create", "a", "data")
    tree(tmp_path / "data", 21)
    borg("create", "b", "data")
    # It reads what the second run has added.
    borg("create", "c", "data")
    for archive in "abc":
        borg("delete", archive, program=STOCK, client="other")
    borg("compact", program=STOCK, client="other")
    borg("create", "--files-cache=disabled", "d", "data")
    assert restored(borg, tmp_path, "d", program=STOCK, client="other")
    borg("check", "--verify-data", program=STOCK, client="other")


def test_a_damaged_index_is_made_again(tmp_path, borg):
    tree(tmp_path / "data", 30)
    borg("create", "a", "data")
    borg("create", "b", "data")
    for file in index(tmp_path).iterdir():
        file.write_bytes(b"\xff" * file.stat().st_size)
    borg("create", "--files-cache=disabled", "c", "data")
    borg("create", "--files-cache=disabled", "d", "data")
    assert restored(borg, tmp_path, "d", program=STOCK, client="other")


def test_two_runs_at_once_share_the_index(tmp_path, borg):
    tree(tmp_path / "data", 40)
    borg("create", "a", "data")
    borg("create", "b", "data")
    running = [borg("create", name, "data", wait=False) for name in ("c", "d")]
    for process in running:
        told = process.communicate(timeout=600)[0]
        assert process.returncode == 0, told
    assert restored(borg, tmp_path, "d")


def test_fragments_are_read_as_borg_reads_them(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import borg_flash
    from borg.hashindex import ChunkIndex, ChunkIndexEntry

    rng = random.Random(8)
    for chunks in (0, 1, 1000):
        fragment = ChunkIndex()
        for _ in range(chunks):
            place = (rng.randbytes(32), rng.randrange(1 << 32), rng.randrange(1 << 32))
            fragment[rng.randbytes(32)] = ChunkIndexEntry(0, 0, *place)
        with io.BytesIO() as file:
            fragment.write(file)
            data = file.getvalue()
        read = {key: ChunkIndexEntry(0, 0, *borg_flash.PLACE.unpack(place)) for key, place in borg_flash.entries(data)}
        assert read == dict(fragment.iteritems())
        # Those of another format, or a part of one, are left to borg.
        others = [data.replace(*change) for change in ((b"BORGHASH", b"BORGHASG"), (b"little", b"bigger"), (b'"32s"', b'"16s"'))]
        for other in (*others, data + b"\0", *(data[:at] for at in range(0, len(data), 79))):
            with pytest.raises(borg_flash.UNREADABLE):
                borg_flash.entries(other)


def test_the_table_is_that_of_borg(tmp_path, monkeypatch):
    """Random operations: the same answers as borg's ChunkIndex over the same chunks."""
    monkeypatch.syspath_prepend(EXAMPLES)
    import borg_flash
    from borg.hashindex import ChunkIndex, ChunkIndexEntry

    from springflash import FlashIndex

    rng = random.Random(7)
    keys = [rng.randbytes(32) for _ in range(2000)]

    def entry(size=0):
        return ChunkIndexEntry(ChunkIndex.F_USED * (size > 0), size, rng.randbytes(32), rng.randrange(1 << 32), rng.randrange(1 << 32))

    stored, plain = {key: entry() for key in keys[:1000]}, ChunkIndex()
    with FlashIndex(tmp_path / "chunks") as known:
        known.put_many(stored, (borg_flash.PLACE.pack(*of[2:]) for of in stored.values()))
    for key, of in stored.items():
        plain[key] = of
    plain.clear_new()
    ours = borg_flash.FlashChunkIndex(tmp_path / "chunks", FlashIndex(tmp_path / "chunks", "r"), len(stored))
    for n in range(20_000):
        key = rng.choice(keys)
        if rng.random() < 0.1:
            assert (key in ours) == (key in plain)
            if key in plain:
                del ours[key], plain[key]
        elif rng.random() < 0.2:
            of = entry(rng.randrange(1, 9))
            ours[key], plain[key] = of, of
        elif rng.random() < 0.05:
            ours.clear_new(), plain.clear_new()
        elif (was := plain.get(key)) is not None and not was.flags and rng.random() < 0.5:
            # The size of a stored chunk alone: it may be forgotten.
            ours[key] = was._replace(size=5)
        else:
            assert ours.get(key) == plain.get(key)
        assert len(ours) == len(plain) and ours.new_count == plain.new_count
        if n % 1000 == 0:
            for more in ({}, {"only_new": True}, {"prefix_bits": 3, "prefix": 5}):
                assert dict(ours.iteritems(**more)) == dict(plain.iteritems(**more))
            assert set(ours) == set(plain)
    assert [ours.idx_to_k(ours.k_to_idx(key)) for key in keys] == keys
    ours.clear()
    assert len(ours) == 0 and keys[0] not in ours and not list(ours.iteritems())
