"""Calls that take long: they tell how far they have come, and an interrupt ends them where nothing is lost."""

import errno
import os
import random
import shutil
import signal
import sys
import threading
import time

import pytest

from springflash import FlashError, FlashFilter, FlashIndex, ReadOnlyError, RotatingFilter

KEYS = [b"key %d" % n for n in range(30_000)]
#: Interrupts of each call in a loop.
INTERRUPTS = int(os.environ.get("SPRINGBLOOM_INTERRUPTS", "3"))


class Enough(Exception):
    pass


def enough(done, total):
    assert 0 <= done <= total
    raise Enough


def filled(kind, folder, **settings):
    it = kind(folder, **({"capacity": 40_000} if kind is FlashFilter else {}), **settings)
    it.add_many(KEYS) if kind is FlashFilter else it.put_many(KEYS, KEYS)
    return it


def has_all(it):
    return all(it.contains_many(KEYS)) if isinstance(it, FlashFilter) else it.get_many(KEYS) == KEYS


def killed(kind, folder):
    """What a killed writer leaves that has committed."""
    process = os.fork()
    if process == 0:
        it = filled(kind, folder)
        it.commit()
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0


@pytest.fixture(params=[FlashFilter, FlashIndex], ids=["filter", "index"])
def kind(request):
    return request.param


def check_progress(call):
    """`call` takes a progress function."""
    told = []
    call(lambda *now: told.append(now))
    done, total = zip(*told)
    assert list(done) == sorted(done) and list(total) == sorted(total) and told[-1][0] == told[-1][1] > 0


def test_verifying_tells_how_far_it_is_and_can_be_ended(tmp_path, kind):
    with filled(kind, tmp_path / "it") as it:
        it.commit()
        check_progress(it.verify)
        with pytest.raises(Enough):
            it.verify(progress=enough)
        assert it.verify() and has_all(it) and not it.closed
        (it.add if kind is FlashFilter else it.pop)(KEYS[0])


def test_compacting_tells_how_far_it_is_and_goes_on_after_it_was_ended(tmp_path):
    with filled(FlashIndex, tmp_path / "it", memory=0) as index:
        for _ in range(3):
            index.put_many(KEYS, [b"old"] * len(KEYS))
        index.put_many(KEYS, KEYS)
        calls = 0
        while True:
            left = calls

            def ends_later(done, total):
                nonlocal left
                left -= 1
                if left < 0:
                    raise Enough

            try:
                index.compact(progress=ends_later)
                break
            except Enough:
                assert has_all(index)
                calls += 1
        check_progress(index.compact)
        assert calls > 0 and has_all(index) and index.verify()
    with FlashIndex(tmp_path / "it", "r") as index:
        assert has_all(index) and len(index) == len(KEYS)


@pytest.mark.parametrize("rate", [0.01, 0.02], ids=["united", "copied"])
def test_merging_tells_how_far_it_is_and_a_merge_again_completes_it(tmp_path, rate):
    other_keys = [b"other %d" % n for n in range(5000)]
    with (
        filled(FlashFilter, tmp_path / "it", when_full="overfill") as seen,
        FlashFilter(tmp_path / "other", capacity=40_000, false_positive_rate=rate, when_full="overfill") as other,
    ):
        other.add_many(other_keys)
        files = sorted(os.listdir(tmp_path / "it"))
        with pytest.raises(Enough):
            seen.merge(other, progress=enough)
        assert sorted(os.listdir(tmp_path / "it")) == files and seen.info().layers == 1
        assert has_all(seen) and all(other.contains_many(other_keys))
        seen.add("new")
        check_progress(lambda progress: seen.merge(other, progress=progress))
        assert has_all(seen) and all(seen.contains_many(other_keys)) and "new" in seen


def test_closing_can_be_ended_and_everything_is_durable(tmp_path, kind):
    it = filled(kind, tmp_path / "it")
    with pytest.raises(Enough):
        it.close(progress=enough)
    assert it.closed
    it.close()
    for mode in ("r", "w", "r"):
        with kind(tmp_path / "it", mode) as it:
            assert has_all(it)
    it = kind(tmp_path / "it")
    (it.add if kind is FlashFilter else it.pop)(KEYS[0])
    check_progress(it.close)


def test_opening_tells_how_far_it_is_and_can_be_ended(tmp_path, kind):
    killed(kind, tmp_path / "it")
    for mode in ("r", "w", "c"):
        with pytest.raises(Enough):
            kind(tmp_path / "it", mode, progress=enough)
    check_progress(lambda progress: kind(tmp_path / "it", "r", progress=progress).close())
    with kind(tmp_path / "it") as it:
        assert has_all(it)


def test_a_making_that_is_ended_leaves_nothing(tmp_path):
    for mode in ("c", "x"):
        with pytest.raises(Enough):
            FlashFilter(tmp_path / "new" / "it", mode, capacity=1e6, progress=enough)
        assert not (tmp_path / "new").exists()
    check_progress(lambda progress: FlashFilter(tmp_path / "it", capacity=1e6, progress=progress).close())


def test_who_waits_to_close_can_be_interrupted_and_it_stays_open(tmp_path):
    it = filled(FlashIndex, tmp_path / "it")
    is_begun, is_over = threading.Event(), threading.Event()

    def waits(done, total):
        is_begun.set()
        is_over.wait()

    thread = threading.Thread(target=it.verify, kwargs={"progress": waits})
    thread.start()
    is_begun.wait()
    before = signal.signal(signal.SIGALRM, lambda *_: enough(0, 0))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Enough):
            it.close()
    finally:
        signal.signal(signal.SIGALRM, before)
        is_over.set()
        thread.join()
    assert not it.closed and has_all(it)
    it.close()


def test_code_that_runs_within_a_call_may_not_wait_for_it(tmp_path, kind):
    with filled(kind, tmp_path / "it") as it, filled(kind, tmp_path / "other") as other:
        for call in (it.close, it.info, it.commit, it.verify, lambda: it.closed, lambda: KEYS[0] in it):
            with pytest.raises(FlashError, match="waits for this code"):
                it.verify(progress=lambda *_: call())
        # Another one is free.
        it.verify(progress=lambda *_: other.verify(progress=lambda *_: other.path))
        if kind is FlashFilter:
            for call in (it.commit, other.commit):
                with pytest.raises(FlashError, match="waits for this code"):
                    it.merge(other, progress=lambda *_: call())
        assert has_all(it) and has_all(other)


def test_growing_can_be_interrupted_and_goes_on_with_the_next_key(tmp_path):
    before = signal.signal(signal.SIGALRM, lambda *_: enough(0, 0))
    interrupted = 0
    try:
        with FlashFilter(tmp_path / "it", capacity=1000, when_full="grow") as seen:
            for n in range(40):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00005 * (n + 1))
                    seen.add_many(KEYS[: 500 * (n + 1)])
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Enough:
                    interrupted += 1
            seen.add_many(KEYS)
            assert has_all(seen)
    finally:
        signal.signal(signal.SIGALRM, before)
    with FlashFilter(tmp_path / "it", "r") as seen:
        assert has_all(seen) and interrupted > 0 and seen.info().false_positive_rate < 0.02


def test_what_only_reads_cannot_commit(tmp_path, kind):
    filled(kind, tmp_path / "it").close()
    with kind(tmp_path / "it", "r") as it:
        for call in [it.commit] + ([it.compact] if kind is FlashIndex else []):
            with pytest.raises(ReadOnlyError, match="open for reading only"):
                call()


LOOPS = """
import os, shutil, signal, sys, time
from springflash import FlashFilter, FlashIndex
signal.signal(signal.SIGINT, signal.default_int_handler)
folder, call = sys.argv[1:]
keys = [b"%d" % n for n in range(20_000)]
def changed():
    index = FlashIndex(folder + "/index", memory=0)
    for round in range(3):
        index.put_many(keys, [b"%d" % round] * len(keys))
    return index
def opened():
    index = FlashIndex(folder + "/index")
    index["key"] = "value"
    return index
def merged(rate):
    FlashFilter(folder + "/other", capacity=3e6, false_positive_rate=rate).close()
    seen, other = FlashFilter(folder + "/set", capacity=3e6, when_full="overfill"), FlashFilter(folder + "/other")
    seen.add_many(keys)
    return lambda: seen.merge(other)
work = {
    "verify": lambda index: index.verify, "compact": lambda index: index.compact, "close": lambda index: index.close,
    "open": lambda index: (index.commit(), index.close(), lambda: FlashIndex(folder + "/index", "r"))[2],
    "unite": lambda index: merged(0.01), "copy": lambda index: merged(0.02),
    "make": lambda index: lambda: FlashFilter(folder + "/large", capacity=1e8),
}[call]
first = True
while True:
    index = changed() if first else opened()
    timed = work(index)
    first = False
    try:
        print("ready", flush=True)
        timed()
        print("done", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        at = time.time()
    index.close()
    with FlashIndex(folder + "/index", "r") as index:
        answers = set(index.get_many(keys))
    assert answers == {b"2"}, answers
    for name in ("set", "other", "large"):
        if name == "set" and os.path.exists(folder + "/set"):
            timed = None
            with FlashFilter(folder + "/set", "r") as seen: assert all(seen.contains_many(keys))
        shutil.rmtree(folder + "/" + name, ignore_errors=True)
    print(f"sound {at}", flush=True)
"""


@pytest.mark.parametrize("call", ["verify", "compact", "close", "open", "unite", "copy", "make"])
def test_interrupts_at_any_time_end_the_call_soon_and_lose_nothing(tmp_path, child, record, call):
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    rng = random.Random(seed)
    process = child(LOOPS, tmp_path, call)
    waited, inside = [], 0
    for _ in range(INTERRUPTS):
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        time.sleep(rng.random() * rng.choice([0.001, 0.02, 0.1]))
        sent = time.time()
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        inside += line != "done\n"
        while line == "done\n":
            line = process.stdout.readline()
        assert line.startswith("sound"), (line, process.communicate()[1])
        waited.append(max(0.0, float(line.split()[1]) - sent))
    record("python-interrupts", seed, call=call, interrupts=INTERRUPTS, inside=inside, longest_seconds=round(max(waited), 3))


CHURN = """
import random, signal, sys, time
from springflash import FlashFilter, FlashIndex
folder, seed, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
class Enough(Exception): pass
def enough(*_): raise Enough
signal.signal(signal.SIGALRM, enough)
def attempt(call):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.choice([0.0005, 0.005, 0.05]) * rng.random() + 1e-6)
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Enough:
        return True
    return False
def opened(kind, name, **settings):
    while True:
        box = []
        if not attempt(lambda: box.append(kind(folder + name, **settings))) or box:
            return box[0]
index = opened(FlashIndex, "/index", memory=rng.choice([0, 1 << 20]))
seen = opened(FlashFilter, "/set", capacity=60_000, when_full="overfill")
n = first
while True:
    keys = [b"%d" % (n + i) for i in range(500)]
    index.put_many(keys, keys)
    index.put_many([b"again"] * 500, keys)
    seen.add_many(keys)
    index.commit()
    seen.commit()
    n += 500
    print(n, flush=True)
    match rng.randrange(6):
        case 0: attempt(index.compact)
        case 1: attempt(lambda: index.verify() and seen.verify())
        case 2:
            attempt(index.close)
            index = opened(FlashIndex, "/index", memory=rng.choice([0, 1 << 20])) if index.closed else index
        case 3:
            attempt(seen.close)
            seen = opened(FlashFilter, "/set", when_full="overfill") if seen.closed else seen
        case 4 if seen.info().layers < 20:
            other = opened(FlashFilter, "/other", capacity=rng.choice([60_000, 3000]), when_full="overfill")
            other.add_many(b"other %d" % i for i in range(1000))
            attempt(lambda: seen.merge(other))
            other.close()
            import shutil; shutil.rmtree(folder + "/other")
"""


def test_a_kill_after_interrupts_loses_nothing_acknowledged(tmp_path, child, record):
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    rng = random.Random(seed)
    acknowledged = 0
    kills = int(os.environ.get("SPRINGBLOOM_KILLS", "4"))
    for kill in range(kills):
        process = child(CHURN, tmp_path, rng.randrange(1 << 32), acknowledged)
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        time.sleep(rng.random() * 1.5)
        process.kill()
        told, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        acknowledged = int((line + told).rsplit("\n", 2)[-2])
        # All of them in the end, and each time the last ones and some others.
        last = max(0, acknowledged - 10_000)
        numbers = range(acknowledged) if kill + 1 == kills else [*range(last, acknowledged), *rng.sample(range(last), min(10_000, last))]
        keys = [b"%d" % n for n in numbers]
        for mode in ("r", "w"):
            with FlashIndex(tmp_path / "index", mode) as index, FlashFilter(tmp_path / "set", mode) as seen:
                assert index.get_many(keys) == keys and all(seen.contains_many(keys)), f"kill {kill}"
                assert index.verify() and seen.verify()
        if (tmp_path / "other").exists():
            shutil.rmtree(tmp_path / "other")
    record("python-interrupts-and-kills", seed, kills=kills, acknowledged=acknowledged, lost=0)


def rotated(folder):
    """Two generations at their bound, with a key each."""
    seen = RotatingFilter(folder, capacity=1000, memory=1 << 18)
    seen.add("first")
    seen.rotate()
    seen.add("second")
    seen.commit()
    return seen


@pytest.mark.parametrize("step", ["os.listdir", "os.fsync", "os.rename", "os.unlink", "os.rmdir", "FlashFilter"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_rotation_that_failed_in_any_step_is_completed_by_the_next_call(tmp_path, monkeypatch, step, number):
    seen = rotated(tmp_path / "set")
    place = "springflash._rotating.FlashFilter" if step == "FlashFilter" else step
    calls, original = [], FlashFilter if step == "FlashFilter" else eval(step)

    def fails(*arguments, **settings):
        calls.append(arguments)
        # Before what it does, or after it.
        if number == 1:
            original(*arguments, **settings)
        raise OSError(errno.EMFILE, "no more files")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no more files"):
        patched.setattr(place, fails)
        seen.rotate()
    assert calls and "second" in seen
    seen.rotate()
    assert "first" not in seen and "second" in seen and seen.info().layers == 2
    seen.add("third")
    seen.close()
    with RotatingFilter(tmp_path / "set", capacity=1000, memory=1 << 18) as seen:
        assert "second" in seen and "third" in seen and len(os.listdir(tmp_path / "set")) == 2


def test_a_rotation_that_is_completed_late_does_not_age_the_keys_that_come_then(tmp_path, monkeypatch, clock):
    with RotatingFilter(tmp_path / "set", capacity=1000, max_age=10) as seen:
        with monkeypatch.context() as patched, pytest.raises(OSError):
            patched.setattr("os.rename", lambda *_: os.stat(tmp_path / "nothing"))
            seen.rotate()
        clock.seconds += 15
        seen.add("key")
        clock.seconds += 9
        assert "key" in seen


def test_interrupts_at_any_time_of_rotations_lose_no_key(tmp_path, monkeypatch):
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    print("seed", seed)
    rng = random.Random(seed)
    settings = {"capacity": 1000, "generations": 3, "memory": 1 << 18}

    def enough(_, frame):
        # In the code of the test it would only end the test.
        while frame is not None:
            if frame.f_code.co_filename.endswith("_rotating.py"):
                raise Enough
            frame = frame.f_back

    # Python drops an exception in a destructor; what pytest makes of it would be interrupted as well.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = signal.signal(signal.SIGALRM, enough)
    try:
        for n in range(INTERRUPTS * 10):
            seen, added, kept = RotatingFilter(tmp_path / str(n), **settings), 0, []
            for _ in range(8):
                try:
                    # Again, if the first comes in the code of the test.
                    signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.02 + 1e-6, 0.01)
                    while True:
                        seen.add_many(b"%d" % key for key in range(added, added + 250))
                        added += 250
                except Enough as interrupt:
                    # Their tracebacks keep no filter open.
                    kept.append(interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0)
            seen.add_many(b"%d" % key for key in range(added, added + 250))
            keys = [b"%d" % key for key in range(max(0, added - 1700), added + 250)]
            assert all(seen.contains_many(keys)), n
            filters = seen.info().layers
            seen.close()
            assert len(os.listdir(tmp_path / str(n))) == filters <= 3
            with RotatingFilter(tmp_path / str(n), **settings) as seen:
                assert all(seen.contains_many(keys)), n
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
