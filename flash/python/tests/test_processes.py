"""Kills, forks, threads, signals, full and read-only disks."""

import itertools
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import springflash
from springflash import ClosedError, DamagedError, FlashFilter, FlashIndex, ForkedError, FullError, InUseError, RotatingFilter

#: Processes to kill. More of them: SPRINGBLOOM_KILLS, as for the crates.
KILLS = int(os.environ.get("SPRINGBLOOM_KILLS", "4"))

#: Adds from a number on, and tells after each commit how many are acknowledged.
ADDS = """
import itertools, sys
import springflash
folder, first = sys.argv[1], int(sys.argv[2])
structure = springflash.{}(folder)
for n in itertools.count(first, 300):
    keys = [b"key %d" % k for k in range(n, n + 300)]
    structure.{}
    structure.commit()
    print(n + 300, flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "call"),
    [("FlashFilter", "add_many(keys)"), ("FlashIndex", "put_many(keys, keys)"), ("FlashIndex", "setdefault_many(keys, keys)")],
    ids=["add", "put", "setdefault"],
)
def test_nothing_acknowledged_is_lost_when_python_is_killed(tmp_path, child, record, kind, call):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    folder, told = tmp_path / "it", 0
    if kind == "FlashFilter":
        FlashFilter(folder, capacity=3_000_000).close()
    else:
        FlashIndex(folder).close()
    for kill in range(KILLS):
        first = told
        process = child(ADDS.format(kind, call), folder, told)
        told = int(process.stdout.readline())
        time.sleep(rng.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            told = int(line) if line.endswith("\n") else told
        process.wait()
        # All that this process put, and some of what the ones before it did. After the last one, all.
        numbers = range(told) if kill == KILLS - 1 else [*rng.sample(range(first), min(first, 10_000)), *range(first, told)]
        keys = [b"key %d" % n for n in numbers]
        if kind == "FlashFilter":
            with FlashFilter(folder, "r") as structure:
                assert all(structure.contains_many(keys)), f"kill {kill}"
        else:
            with FlashIndex(folder, "r") as structure:
                assert structure.get_many(keys) == keys, f"kill {kill}"
                assert structure.verify()
    record("python-kills", seed, call=f"{kind}.{call}", kills=KILLS, acknowledged=told, lost=0)
    assert told > 300 * KILLS / 2


def test_a_rotating_filter_that_is_killed_has_the_keys_of_its_last_generation(tmp_path, child):
    told = 0
    program = ADDS.replace("{}(folder)", "RotatingFilter(folder, capacity=1000)").format("add_many(keys)")
    for _ in range(KILLS):
        process = child(program, tmp_path / "it", told)
        told = int(process.stdout.readline())
        time.sleep(random.uniform(0, 0.3))
        process.kill()
        for line in process.stdout:
            told = int(line) if line.endswith("\n") else told
        process.wait()
        with RotatingFilter(tmp_path / "it", capacity=1000) as seen:
            # A generation has about 1000 keys, 300 of which the process may have added and not told.
            assert all(seen.contains_many(b"key %d" % n for n in range(max(0, told - 600), told)))
            assert seen.info().layers <= 2 and len(os.listdir(tmp_path / "it")) <= 2
    assert told > 300 * KILLS / 2


def test_a_forked_process_is_refused_and_leaves_its_parents_files_alone(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=10_000) as seen, FlashIndex(tmp_path / "index") as index:
        seen.add("before")
        index["before"] = "1"
        process = os.fork()
        if process == 0:
            outcomes = []
            for call in (lambda: "before" in seen, lambda: seen.add("x"), seen.close, lambda: index["before"], index.commit):
                try:
                    call()
                except ForkedError as error:
                    outcomes.append("open it again" in error.reason)
            try:
                FlashFilter(tmp_path / "set")
            except InUseError:
                outcomes.append(True)
            del seen, index
            os._exit(0 if outcomes == [True] * 6 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
        seen.add("after")
        assert seen.contains_many(["before", "after", "x"]) == [True, True, False] and index["before"] == b"1"


def test_a_forked_process_is_refused_while_a_thread_uses_a_rotating_filter(tmp_path):
    with RotatingFilter(tmp_path / "set", capacity=1000) as seen:
        is_held, is_over = threading.Event(), threading.Event()

        def hold():
            with seen._lock:
                is_held.set()
                is_over.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        is_held.wait()
        process = os.fork()
        if process == 0:
            signal.alarm(20)
            outcomes = []
            calls = (lambda: "a" in seen, lambda: seen.add("a"), lambda: seen.contains_many([b"a"]), seen.rotate, seen.commit, seen.close)
            for call in calls:
                try:
                    call()
                except ForkedError as error:
                    outcomes.append("open it again" in error.reason and error.path == str(tmp_path / "set"))
            os._exit(0 if outcomes == [True] * 6 else 1)
        is_over.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
        seen.add("a")
        assert "a" in seen


def test_a_forked_process_does_not_keep_what_its_parent_closed_locked(tmp_path):
    seen = FlashFilter(tmp_path / "set", capacity=1000)
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(writes)
        os.read(reads, 1)
        os._exit(0)
    seen.close()
    FlashFilter(tmp_path / "set").close()
    os.close(writes)
    os.waitpid(process, 0)


def test_threads_use_one_index_and_one_filter(tmp_path):
    errors, new = [], [0] * 4
    with FlashFilter(tmp_path / "set", capacity=100_000) as seen, FlashIndex(tmp_path / "index") as index:

        def work(number):
            try:
                for n in range(60):
                    keys = [b"%d" % (n * 100 + k) for k in range(100)]
                    new[number] += index.setdefault_many(keys, keys).count(None)
                    seen.add_many(keys)
                    if n % 10 == number:
                        index.commit()
                        seen.commit()
                    assert all(seen.contains_many(keys)) and index.get_many(keys) == keys
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors and sum(new) == len(index) == 6000, "each key is new for one thread"


def test_closing_waits_for_other_threads(tmp_path):
    seen = FlashFilter(tmp_path / "set", capacity=200_000)
    keys, errors = [b"%d" % n for n in range(100_000)], []

    def work():
        try:
            while True:
                seen.add_many(keys)
        except Exception as error:
            errors.append(type(error).__name__)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    seen.close()
    for thread in threads:
        thread.join()
    assert errors == ["ClosedError"] * 3


def test_merging_does_not_wait_for_a_thread_that_waits_to_close_the_other_filter(tmp_path):
    # Otherwise two that merge the other way round, and two that close, wait for each other.
    with FlashFilter(tmp_path / "one", capacity=1000) as one:
        other = FlashFilter(tmp_path / "other", capacity=200_000)
        long_key = bytes(128 << 20)
        threads = [threading.Thread(target=other.contains_many, args=([long_key] * 256,)), threading.Thread(target=other.close)]
        for thread in threads:
            thread.start()
            time.sleep(0.2)
        one.merge(other)
        for thread in threads:
            thread.join()
        assert other.closed


ENDLESS = """
import itertools, signal, sys
from springflash import FlashFilter, FlashIndex, RotatingFilter
# Programs that a shell starts in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder, call = sys.argv[1:]
count = itertools.count()
keys = (b"key %d" % n for n in count)
forever = itertools.repeat("value")
with (
    FlashIndex(folder + "/index") as index,
    FlashFilter(folder + "/set", capacity=1000, when_full="overfill") as seen,
    RotatingFilter(folder + "/rotating", capacity=1000) as rotating,
):
    print("ready", flush=True)
    try:
        eval("lambda: " + call)()  # An interrupt that leaves `eval` ends Python later.
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "index.put_many(keys, forever)",
        "index.get_many(forever)",
        "index.setdefault_many(keys, forever)",
        "seen.add_many(keys)",
        "seen.contains_many(forever)",
        "rotating.add_many(forever)",
        "rotating.contains_many(forever)",
        "[len(index) for _ in forever]",
        "[index.clear() for _ in forever]",
    ],
)
def test_a_long_call_is_interrupted_and_what_it_did_is_kept(tmp_path, child, call):
    process = child(ENDLESS, tmp_path, call)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n" and process.returncode == 0
    with FlashIndex(tmp_path / "index", "r") as index:
        count = len(index)
        keys = [b"key %d" % n for n in range(max(0, count - 10_000), count)]
        assert (count > 0) == ("keys, forever" in call) and index.get_many(keys) == [b"value"] * len(keys)


def read(folder):
    with FlashFilter(folder / "set", "r") as seen, FlashIndex(folder / "index", "r") as index:
        keys = [b"%d" % n for n in range(3000)]
        return sum(seen.contains_many(keys)), index.get_many(keys) == keys, len(index)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_any_number_of_processes_read(tmp_path, method):
    keys = [b"%d" % n for n in range(3000)]
    with FlashFilter(tmp_path / "set", capacity=5000) as seen, FlashIndex(tmp_path / "index") as index:
        seen.add_many(keys)
        index.put_many(keys, keys)
    with multiprocessing.get_context(method).Pool(4) as pool, FlashIndex(tmp_path / "index", "r"):
        assert pool.map(read, [tmp_path] * 8, chunksize=1) == [(3000, True, 3000)] * 8


def test_other_threads_run_meanwhile(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=2_000_000) as seen:
        ticks, is_over = [0], threading.Event()

        def tick():
            while not is_over.is_set():
                ticks[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        seen.add_many([n.to_bytes(8, "big") for n in range(500_000)])
        is_over.set()
        thread.join()
        assert ticks[0] > 3


def test_a_full_disk_is_an_error_with_its_reason_and_costs_nothing_acknowledged(small_disk):
    with pytest.raises(FullError, match="bytes free") as error:
        FlashFilter(small_disk / "large", capacity=1e9)
    assert error.value.added == 0 and not (small_disk / "large").exists()
    keys = [b"key %d" % n for n in range(100_000)]
    with FlashIndex(small_disk / "index") as index:
        index.put_many(keys, keys)
    with FlashFilter(small_disk / "set", capacity=100_000, when_full="grow") as seen:
        seen.add_many(keys)
    index = FlashIndex(small_disk / "index")
    with pytest.raises(OSError) as error:
        while True:
            index.put_many(keys, [random.randbytes(200) for _ in keys])
            index.commit()
    assert error.value.errno == 28 and error.value.filename.startswith(str(small_disk))
    with pytest.raises(Exception, match="failed|No space"):
        index.close()
    assert index.closed
    with FlashIndex(small_disk / "index", "r") as index:
        assert None not in index.get_many(keys)
    with FlashFilter(small_disk / "set", "r") as seen:
        assert all(seen.contains_many(keys))


def test_a_filter_that_cannot_grow_on_a_full_disk_says_how_far_it_came(small_disk):
    with FlashFilter(small_disk / "set", capacity=50_000, when_full="grow") as seen:
        free = os.statvfs(small_disk)
        (small_disk / "ballast").write_bytes(bytes((free.f_bavail - 100) * free.f_frsize))
        keys = [n.to_bytes(8, "big") for n in range(2_000_000)]
        with pytest.raises(FullError, match="free some space") as error:
            seen.add_many(keys)
        assert error.value.added >= 50_000 and all(seen.contains_many(keys[: error.value.added]))
        (small_disk / "ballast").unlink()
        seen.add_many(keys[error.value.added : 200_000])
        assert all(seen.contains_many(keys[:200_000]))


def test_a_read_only_folder_is_read(tmp_path, child):
    FlashFilter(tmp_path / "set", capacity=1000).close()
    with FlashIndex(tmp_path / "index") as index:
        index["a"] = "b"
    for folder in ("set", "index"):
        for file in (tmp_path / folder).iterdir():
            file.chmod(0o444)
        (tmp_path / folder).chmod(0o555)
    tmp_path.chmod(0o755)
    program = """
import os, sys
from springflash import FlashFilter, FlashIndex
folder = sys.argv[1]
if os.geteuid() == 0: os.setuid(65534)
with FlashFilter(folder + "/set", "r") as seen: assert "a" not in seen
with FlashIndex(folder + "/index", "r") as index: assert index["a"] == b"b"
for kind in (FlashFilter, FlashIndex):
    for place in ("set" if kind is FlashFilter else "index", "new"):
        try:
            kind(folder + "/" + place, **({"capacity": 10} if kind is FlashFilter else {}))
        except PermissionError as error:
            print(error.filename)
"""
    if os.geteuid() == 0:
        for parent in itertools.takewhile(lambda parent: str(parent) != tempfile.gettempdir(), list(tmp_path.parents)[:3]):
            parent.chmod(0o755)
    told = child(program, tmp_path).communicate()
    assert told[0].count(str(tmp_path)) == 4 or "Permission" not in told[1] and "ImportError" in told[1], told


def test_two_interpreters_write_in_turn(tmp_path, child):
    program = "import sys, springflash\nwith springflash.FlashIndex(sys.argv[1]) as index:\n    index['a'] = 'b'"
    with FlashIndex(tmp_path / "index"):
        assert "another process has it open; try again" in child(program, tmp_path / "index").communicate()[1]
        for mode in "rwcx":
            with pytest.raises(InUseError, match="index is in use, .* this process has it open already; use that, or close it first"):
                FlashIndex(tmp_path / "index", mode)
    assert child(program, tmp_path / "index").wait() == 0
    with FlashIndex(tmp_path / "index") as index:
        assert index["a"] == b"b"


RACES = """
import os, sys, time
import springflash
folder, name, number = sys.argv[1:4]
print("ready", flush=True)
while not os.path.exists(folder + "/go"):
    pass
settings = {} if name == "FlashIndex" else {"capacity": 1000}
while True:
    try:
        with getattr(springflash, name)(folder + "/it", **settings) as it:
            it.setdefault(number, "1") if name == "FlashIndex" else it.add(number)
        break
    except springflash.InUseError:
        time.sleep(0.001)
"""


@pytest.mark.parametrize("name", ["FlashFilter", "FlashIndex", "RotatingFilter"])
def test_processes_that_make_the_same_one_at_the_same_time_do_it_in_turn(tmp_path, child, name):
    for attempt in range(KILLS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        processes = [child(RACES, folder, name, number) for number in range(4)]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        (folder / "go").touch()
        for process in processes:
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
        with getattr(springflash, name)(folder / "it", **({} if name == "FlashIndex" else {"capacity": 1000})) as it:
            assert all(str(number) in it for number in range(4)), f"attempt {attempt}"
        if name == "RotatingFilter":
            assert len(list((folder / "it").iterdir())) == 1


def test_a_rotating_filter_that_is_open_or_was_closed_says_so(tmp_path):
    seen = RotatingFilter(tmp_path / "set", capacity=1000)
    with pytest.raises(InUseError, match="this process has it open already") as error:
        RotatingFilter(tmp_path / "set", capacity=1000)
    assert error.value.path == str(tmp_path / "set")
    with pytest.raises(TypeError, match="open it where it is used"):
        pickle.dumps(seen)
    process = os.fork()
    if process == 0:
        del seen
        os._exit(0)
    os.waitpid(process, 0)
    with pytest.raises(InUseError):
        RotatingFilter(tmp_path / "set", capacity=1000)
    seen.close()
    seen.close()
    assert seen.closed and "set" in repr(seen)
    with pytest.raises(ClosedError):
        seen.add("a")
    # A forgotten one as well.
    RotatingFilter(tmp_path / "set", capacity=1000).add("a")
    with RotatingFilter(tmp_path / "set", capacity=1000) as seen:
        assert "a" in seen


@pytest.mark.parametrize("kind", [FlashFilter, FlashIndex])
def test_a_making_that_was_interrupted_is_begun_again(tmp_path, kind):
    settings = {"capacity": 1000} if kind is FlashFilter else {}
    kind(tmp_path / "it", **settings).close()
    # In the order in which they are made, after the mark. The first manifest is the second file.
    names = ["filter-0000", "wal-a", "wal-b"] if kind is FlashFilter else ["records", "buckets", "manifest-b", "wal-a", "wal-b"]
    files = {name: (tmp_path / "it" / name).read_bytes() for name in names}
    for count in range(len(names) + 1):
        for mode in "rwcx":
            part = tmp_path / f"{count} {mode}"
            part.mkdir()
            (part / "unfinished").touch()
            for name in names[:count]:
                (part / name).write_bytes(bytes(len(files[name])) if name.startswith("wal") else files[name])
            if mode in "rw":
                with pytest.raises(FileNotFoundError, match=f"{count} {mode} holds no complete"):
                    kind(part, mode)
            else:
                kind(part, mode, **settings).close()
                kind(part, "r").close()
                assert not (part / "unfinished").exists()


@pytest.mark.parametrize("kind", [FlashFilter, FlashIndex])
def test_files_that_were_lost_are_told(tmp_path, kind):
    settings = {"capacity": 1000} if kind is FlashFilter else {}
    kind(tmp_path / "it", **settings).close()
    (tmp_path / "it" / "wal-b").unlink()
    for mode in "rwc":
        with pytest.raises(DamagedError, match="it has no wal-b, only .* were lost; restore them from a copy"):
            kind(tmp_path / "it", mode, **settings)


@pytest.mark.parametrize("name", ["notes", "new-mine", "gone-mine", "0042", "filter-0000"])
def test_a_rotating_filter_touches_no_folder_of_others(tmp_path, name):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).mkdir()
    (folder / name / "precious").touch()
    with pytest.raises(FileExistsError, match=f"mine holds {name}"):
        RotatingFilter(folder, capacity=1000)
    assert [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))] == [name, f"{name}/precious"]


@pytest.mark.parametrize(
    "settings",
    [
        *({"max_age": age} for age in (0, -1, float("nan"))),
        *({"false_positive_rate": rate} for rate in (2, 0)),
        *({"generations": number} for number in (1, 2.5)),
        *({"memory": memory} for memory in (-1, 1, "much")),
        {"capacity": 2**64 - 1},
    ],
)
def test_a_rotating_filter_refuses_what_would_forget_or_lie_before_it_makes_a_folder(tmp_path, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        RotatingFilter(tmp_path / "sets" / "set", **{"capacity": 1000, **settings})
    assert not (tmp_path / "sets").exists()


def test_a_number_of_generations_may_be_a_float_that_is_whole(tmp_path):
    with RotatingFilter(tmp_path / "set", capacity=1000, generations=2.0) as it:
        for _ in range(3):
            it.rotate()
        assert it.info().layers == 2


@pytest.mark.parametrize("call", ["capacity=10**5000", "capacity=1, false_positive_rate=10**5000", "capacity=1, memory=-(10**5000)"])
def test_a_number_of_thousands_of_digits_is_told_its_bounds(tmp_path, call):
    for kind in ("FlashFilter", "RotatingFilter"):
        with pytest.raises(ValueError, match="of thousands of digits, expected"):
            eval(f"springflash.{kind}({str(tmp_path / 'it')!r}, {call})")


def test_a_generation_that_is_a_link_is_forgotten_without_what_it_points_to(tmp_path):
    with RotatingFilter(tmp_path / "set", capacity=1000) as it:
        it.add("old")
    generation = next((tmp_path / "set").iterdir())
    files = sorted(path.name for path in generation.iterdir())
    generation.rename(tmp_path / "moved")
    generation.symlink_to(tmp_path / "moved")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "precious").touch()
    (tmp_path / "set" / f"gone-{0:020}").symlink_to(tmp_path / "others")
    with RotatingFilter(tmp_path / "set", capacity=1000) as it:
        assert "old" in it
        for _ in range(3):
            it.rotate()
        it.add("new")
        assert "new" in it and "old" not in it
    assert len(list((tmp_path / "set").iterdir())) == 2
    assert (tmp_path / "others" / "precious").exists() and sorted(path.name for path in (tmp_path / "moved").iterdir()) == files


def test_a_rotation_by_the_clock_that_finds_no_room_says_how_many_keys_were_added(tmp_path, monkeypatch, clock):
    import springflash._rotating as rotating

    def full(*_, **__):
        error = FullError("no room")
        error.added = 0
        raise error

    def later(done, total):
        clock.seconds += 11
        monkeypatch.setattr(rotating, "FlashFilter", full)

    keys = [b"%d" % n for n in range(20_000)]
    with RotatingFilter(tmp_path / "set", capacity=1e5, max_age=10, generations=3) as it:
        with pytest.raises(FullError) as caught:
            it.add_many(keys, later)
        assert caught.value.added == 8192 and all(it.contains_many(keys[:8192]))


def test_a_merge_that_finds_no_disk_changes_nothing(small_disk, tmp_path):
    keys = [b"%d" % n for n in range(60_000)]
    with FlashFilter(small_disk / "set", capacity=1e5) as seen, FlashFilter(tmp_path / "other", capacity=5e7) as other:
        seen.add_many(keys[:30_000])
        other.add_many(keys[30_000:])
        with pytest.raises(FullError, match="free some space"):
            seen.merge(other)
        assert seen.info().layers == 1 and all(seen.contains_many(keys[:30_000]))
        seen.add_many(keys[30_000:])
    with FlashFilter(small_disk / "set") as seen:
        assert all(seen.contains_many(keys))


@pytest.mark.parametrize("name", ["filter-0000", "wal-a"])
def test_a_pipe_in_the_place_of_a_file_is_an_error(tmp_path, child, name):
    FlashFilter(tmp_path / "set", capacity=1000).close()
    (tmp_path / "set" / name).unlink()
    os.mkfifo(tmp_path / "set" / name)
    program = "import sys, springflash\nspringflash.FlashFilter(sys.argv[1], 'r')"
    errors = child(program, tmp_path / "set").communicate(timeout=60)[1]
    assert "not a regular file" in errors and name in errors


def test_a_rotating_filter_closes_all_generations_if_one_cannot_be_closed(tmp_path, monkeypatch):
    seen = RotatingFilter(tmp_path / "set", capacity=1000, generations=3)
    seen.rotate()
    first, second = seen._generations.values()

    def close(generation):
        FlashFilter.__mro__[1].close(generation)
        if generation is first:
            raise OSError("no room")

    monkeypatch.setattr(FlashFilter, "close", close, raising=False)
    with pytest.raises(OSError, match="no room"):
        seen.close()
    monkeypatch.undo()
    assert first.closed and second.closed
    RotatingFilter(tmp_path / "set", capacity=1000, generations=3).close()


def test_a_budget_for_which_there_is_no_memory_is_an_error_and_not_the_end_of_the_process(tmp_path, child):
    program = """
import resource, sys
from springflash import FlashFilter
FlashFilter(sys.argv[1] + "/made", capacity=1e6).close()
resource.setrlimit(resource.RLIMIT_AS, (400 << 20,) * 2)
for name in ("made", "new"):
    try:
        FlashFilter(sys.argv[1] + "/" + name, capacity=1e6, memory=512 << 20)
    except MemoryError as error:
        assert "choose a smaller one" in str(error)
        print(name, flush=True)
FlashFilter(sys.argv[1] + "/new", "x", capacity=1e6, memory=1 << 20).close()
"""
    process = child(program, tmp_path)
    assert process.communicate()[0] == "made\nnew\n" and process.returncode == 0


@pytest.mark.parametrize(
    "call", ["it.get_many(keys)", "it.get_many(keys[:1] * 1500)", "it.setdefault_many(keys, keys)", "list(it.values())"]
)
def test_values_for_which_there_is_no_memory_are_an_error_and_not_the_end_of_the_process(tmp_path, child, call):
    program = f"""
import resource, sys
from springflash import FlashIndex
keys = [b"key %d" % n for n in range(1500)]
with FlashIndex(sys.argv[1] + "/it") as it:
    it.put_many(keys, (bytes(65_536) for _ in keys))
    missing = 0
    for more in range(8, 200, 24):
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (more << 20), -1))
        try:
            assert len({call}) == 1500
        except MemoryError as error:
            assert not error.args or "ask for less at a time" in str(error), error
            missing += 1
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    assert len({call}) == 1500
print(missing)
"""
    process = child(program, tmp_path)
    told, message = process.communicate()
    assert process.returncode == 0 and int(told) > 1, message


def test_no_file_gets_the_number_of_a_standard_stream_that_the_program_lacks(tmp_path):
    program = """
import os, sys
from springflash import FlashFilter, FlashIndex, RotatingFilter
folder, keys = sys.argv[1], [b"key %d" % n for n in range(20_000)]
index, filter = FlashIndex(folder + "/index"), FlashFilter(folder + "/filter", capacity=1e5)
rotating = RotatingFilter(folder + "/rotating", capacity=1e5)
index.put_many(keys, keys)
filter.add_many(keys)
rotating.add_many(keys)
for it in (index, filter, rotating):
    it.commit()
rotating.rotate()
assert index.get_many(keys) == keys and all(filter.contains_many(keys)) and all(rotating.contains_many(keys))
taken = {number: os.readlink(f"/proc/self/fd/{number}") for number in range(3) if os.path.exists(f"/proc/self/fd/{number}")}
files = [os.readlink("/proc/self/fd/" + number) for number in os.listdir("/proc/self/fd") if os.path.lexists("/proc/self/fd/" + number)]
with open(folder + "/told", "w") as told:
    told.write(f"{taken} {sum(file.startswith(folder) for file in files) > 8}")
"""
    closed = ["bash", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "bash", sys.executable, "-c", program, tmp_path]
    assert subprocess.call(closed) == 0
    assert (tmp_path / "told").read_text() == "{} True"


def test_a_second_writer_stays_out_when_a_program_without_standard_error_opens_a_log(tmp_path, child):
    program = """
import os, sys
from springflash import FlashIndex
with FlashIndex(sys.argv[1] + "/it") as it:
    os.dup2(os.open(sys.argv[1] + "/log", os.O_CREAT | os.O_WRONLY), 2)
    it[b"key"] = b"value"
    it.commit()
    print("open", flush=True)
    sys.stdin.readline()
"""
    command = ["bash", "-c", 'exec "$@" 2>&-', "bash", sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "open\n"
        with pytest.raises(InUseError):
            FlashIndex(tmp_path / "it")
        writer.communicate("\n")
    assert writer.returncode == 0
    with FlashIndex(tmp_path / "it", "r") as it:
        assert it[b"key"] == b"value"


def test_a_limit_of_processes_makes_no_read_fail_and_no_page_look_damaged(child):
    if os.geteuid() != 0:
        pytest.skip("a limit that starts below what the user has running needs root")
    program = """
import os, resource, sys
from springflash import FlashFilter, FlashIndex
folder, keys = sys.argv[1], [b"key %d" % n for n in range(60_000)]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
index, filter = FlashIndex(folder + "/index"), FlashFilter(folder + "/filter")
assert filter.verify() and index.verify()
assert index.get_many(keys) == [b"new"] * len(keys) and all(filter.contains_many(keys))
assert len(list(index.items())) == len(keys)
assert sum(filter.contains_many(b"absent %d" % n for n in range(20_000))) < 1000
index.put_many(keys, keys)
index.commit()
filter.add_many(b"more %d" % n for n in range(1000))
filter.commit()
assert index.get_many(keys) == keys
print("whole")
"""
    keys = [b"key %d" % n for n in range(60_000)]
    # Another user cannot enter the folders that pytest makes.
    with tempfile.TemporaryDirectory() as folder:
        # Not by the child, which would have the kernel's workers then.
        with FlashIndex(folder + "/index") as index, FlashFilter(folder + "/filter", capacity=1e5) as filter:
            for value in (b"old", b"new"):
                index.put_many(keys, [value] * len(keys))
            filter.add_many(keys)
        subprocess.check_call(["chown", "-R", "65534", folder])
        told, message = child(program, folder).communicate()
    assert told == "whole\n", message


@pytest.mark.parametrize(
    "call",
    [
        "it[keys[n]]",
        "it.get_many(keys[n : n + 10])",
        "it.get_many(keys[n : n + 100])",
        "it.setdefault_many(keys[n : n + 10], keys[:10])",
    ],
)
def test_small_calls_for_which_there_is_no_memory_are_errors_and_not_the_end_of_the_process(tmp_path, child, call):
    program = f"""
import random, resource, sys
from springflash import FlashFilter, FlashIndex
keys = [b"key %d" % n for n in range(5000)]
chosen = random.Random(1)
with FlashIndex(sys.argv[1] + "/it") as it, FlashFilter(sys.argv[1] + "/set", capacity=1e5) as filter:
    it.put_many(keys, (bytes(600) for _ in keys))
    filter.add_many(keys)
    for more in (14, 17, 20):
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (more << 20), -1))
        answers = []
        try:
            while True:
                n = chosen.randrange(4900)
                answers.append(({call}, bytes(3000)))
                assert keys[n] in filter and not filter.add(keys[n])
        except MemoryError:
            print("told", flush=True)
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        del answers
    assert it[keys[0]] == bytes(600) and all(filter.contains_many(keys))
"""
    process = child(program, tmp_path)
    told, message = process.communicate()
    assert process.returncode == 0 and told == "told\n" * 3, message


SUBINTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
program = '''
try:
    import springflash
except ImportError as error:
    assert "subinterpreters" in str(error), error
else:
    with springflash.FlashFilter("set", capacity=10) as seen:
        seen.add("a")
        try:
            springflash.FlashFilter("set")
        except springflash.InUseError:
            assert "a" in seen
        else:
            raise AssertionError("it was opened twice")
print("ended")
'''
if sys.argv[1] == "after":
    exec(program)
failed = getattr(interpreters, "exec", getattr(interpreters, "run_string", None))(interpreters.create(), program)
assert failed is None, failed
exec(program)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_subinterpreter_works_or_is_refused(tmp_path, child, monkeypatch, when):
    monkeypatch.chdir(tmp_path)
    told, errors = child(SUBINTERPRETER, when).communicate()
    assert errors == "" and told.count("ended") == (3 if when == "after" else 2)
