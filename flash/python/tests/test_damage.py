"""Files that are not as they were written: a right answer or an exception that names the folder, and never a crash or a hang."""

import json
import os
import random
import shutil
import signal
import subprocess

import pytest

from springflash import DamagedError, FlashError, FlashFilter, FlashIndex

#: Damages to each of the four folders. All that there are: SPRINGBLOOM_DAMAGES=1000000.
DAMAGES = int(os.environ.get("SPRINGBLOOM_DAMAGES", "12"))
BLOCK = 4096
#: Enough that the index writes buckets, if it has little memory.
KEYS = {FlashFilter: 15_000, FlashIndex: 14_000}
FILLS = """
import os, signal, sys
import springflash
folder, name, keys, is_killed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True"
it = springflash.FlashIndex(folder, memory=0) if name == "FlashIndex" else springflash.FlashFilter(folder, capacity=keys + 5000)
keys = [b"%d" % n for n in range(keys)]
it.put_many(keys, keys) if name == "FlashIndex" else it.add_many(keys)
it.commit()
if is_killed: os.kill(os.getpid(), signal.SIGKILL)
it.close()
"""


def damages_of(folder):
    """Each as the name of a file, how it is damaged, and where."""
    all_of_them = []
    for path in sorted(folder.iterdir()):
        # Of the zeros behind what is written, all blocks are of one kind.
        used = len(path.read_bytes().rstrip(b"\0"))
        for at in range(0, min(path.stat().st_size, used + 2 * BLOCK), BLOCK):
            all_of_them += [(path.name, "flip", at + place) for place in (0, 5, 17, 60, 700, BLOCK // 2 + 3, BLOCK - 1)]
            all_of_them += [(path.name, how, at) for how in ("zeros", "noise", "swap", "cut")]
            all_of_them.append((path.name, "cut", at + 1000))
        all_of_them += [(path.name, how, 0) for how in ("remove", "text", "folder", "loop", "device", "other", "longer")]
    return all_of_them


def damage(folder, name, how, at, rng):
    file = folder / name
    if how in ("flip", "zeros", "noise", "swap"):
        with open(file, "r+b") as opened:
            opened.seek(at)
            old = opened.read(1 if how == "flip" else 2 * BLOCK)
            new = {
                "flip": lambda: bytes([old[0] ^ 1 << rng.randrange(8)]),
                "zeros": lambda: bytes(len(old[:BLOCK])),
                "noise": lambda: rng.randbytes(len(old[:BLOCK])),
                "swap": lambda: old[BLOCK:] + old[:BLOCK],
            }[how]()
            opened.seek(at)
            opened.write(new)
    elif how in ("cut", "longer"):
        os.truncate(file, at if how == "cut" else file.stat().st_size + 3 * BLOCK + 5)
    elif how == "other":
        other = rng.choice([path for path in sorted(folder.iterdir()) if path != file])
        shutil.copy(other, file)
    else:
        file.unlink()
        if how == "text":
            file.write_text("dear diary\n" * 1000)
        elif how == "folder":
            file.mkdir()
        elif how == "loop":
            file.symlink_to(file)
        elif how == "device":
            file.symlink_to("/dev/zero")


def check_error(error, folder):
    """It says where and why."""
    if isinstance(error, FlashError):
        assert error.path == str(folder) and len(error.reason) > 10, repr(error)
    else:
        assert str(error.filename).startswith(str(folder)) and error.strerror, repr(error)


def check_answers(it, folder, there, absent):
    """Returns whether some were refused."""
    if isinstance(it, FlashFilter):
        assert all(it.contains_many(there)), "a key is lost"
        return False
    is_refused = False
    for keys, expected in ((there, there), (absent, [None] * len(absent))):
        try:
            assert it.get_many(keys) == expected, "a wrong answer"
        except (FlashError, OSError) as error:
            check_error(error, folder)
            is_refused = True
            for key, value in random.sample(list(zip(keys, expected)), 200):
                try:
                    assert it.get(key) == value, "a wrong answer"
                except (FlashError, OSError) as error:
                    check_error(error, folder)
    return is_refused


def ask_and_change(kind, folder, there, absent):
    """Returns what became of the damage."""
    told = set()
    new = [b"new %d" % n for n in range(500)]
    for mode in ("r", "c", "c", "r"):
        is_acknowledged = False
        try:
            with kind(folder, mode, **({"capacity": 10} if kind is FlashFilter else {})) as it:
                if check_answers(it, folder, there, absent):
                    told.add("refused answers")
                if not it.verify():
                    told.add("found by verify")
                if mode == "c":
                    it.add_many(new) if kind is FlashFilter else it.put_many(new, new)
                    it.commit()
                    there = there + new
                    is_acknowledged = True
                    check_answers(it, folder, there, absent)
        except (FlashError, OSError) as error:
            check_error(error, folder)
            told.add("refused a call" if is_acknowledged else "refused to open or write")
    return told or {"none"}


def outcome_of(kind, folder, there, absent):
    """In a process of its own, which may crash or hang."""
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(600)  # Other work on the machine may be much.
        try:
            told = sorted(ask_and_change(kind, folder, there, absent))
        except BaseException as error:
            told = ["wrong", repr(error)]
        os.write(writes, json.dumps(told).encode())
        os._exit(0)
    os.close(writes)
    with open(reads) as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return json.loads(told) if code == 0 else ["wrong", f"exit code {code}"]


@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
@pytest.mark.parametrize("kind", [FlashFilter, FlashIndex])
def test_damage_costs_no_answer_silently(tmp_path, child, record, kind, is_killed):
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    print("seed", seed)
    rng = random.Random(seed)
    assert child(FILLS, tmp_path / "sound", kind.__name__, KEYS[kind], is_killed).wait() == (-signal.SIGKILL if is_killed else 0)
    if kind is FlashIndex:
        assert (tmp_path / "sound" / "buckets").stat().st_size > 0
    damages = damages_of(tmp_path / "sound")
    sample = rng.sample(damages, min(DAMAGES, len(damages)))
    outcomes, wrong = {}, []
    for name, how, at in sample:
        folder = tmp_path / "it"
        subprocess.check_call(["cp", "-a", "--sparse=always", tmp_path / "sound", folder])
        damage(folder, name, how, at, rng)
        there = [b"%d" % n for n in range(KEYS[kind])]
        told = outcome_of(kind, folder, there, [b"absent %d" % n for n in range(1000)])
        shutil.rmtree(folder)
        for one in told:
            outcomes[one] = outcomes.get(one, 0) + 1
        if told[0] == "wrong":
            wrong.append((name, how, at, told[1]))
            print(wrong[-1], flush=True)
    figures = {"damages": len(sample), "of": len(damages), "outcomes": outcomes}
    record("python-damage", seed, kind=kind.__name__, killed=is_killed, **figures, wrong=len(wrong))
    assert not wrong


@pytest.mark.parametrize(("kind", "file"), [(FlashFilter, "filter-0000"), (FlashIndex, "records")])
def test_a_file_that_is_all_damaged_is_told(tmp_path, kind, file):
    keys = [b"%d" % n for n in range(15_000)]
    with kind(tmp_path / "it", **({"capacity": 20_000} if kind is FlashFilter else {})) as it:
        it.add_many(keys) if kind is FlashFilter else it.put_many(keys, keys)
    path = tmp_path / "it" / file
    path.write_bytes(random.randbytes(path.stat().st_size))
    try:
        with kind(tmp_path / "it") as it:
            is_told = not it.verify()
    except DamagedError:
        is_told = True
    assert is_told


def test_damage_is_an_error_with_the_path(tmp_path):
    with FlashIndex(tmp_path / "index") as index:
        index.update((b"%d" % n, b"x" * 100) for n in range(5000))
    records = tmp_path / "index" / "records"
    os.truncate(records, 4096)
    with pytest.raises(DamagedError, match="too short: 4096 bytes, expected .* restore it from a copy, or salvage") as error:
        FlashIndex(tmp_path / "index")
    assert error.value.path == str(tmp_path / "index") and str(records) in error.value.reason
    for make in (lambda: records.symlink_to("nothing"), records.mkdir, lambda: os.mkfifo(records)):
        records.rmdir() if records.is_dir() else records.unlink()
        make()
        with pytest.raises(OSError, match="expected .* from a copy") as error:
            FlashIndex(tmp_path / "index")
        assert error.value.filename == str(records)
