import copy
import errno
import itertools
import math
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from springflash import ClosedError, FlashFilter, FlashIndex, FullError, InUseError, ReadOnlyError, RotatingFilter

#: More of them: SPRINGBLOOM_OPERATIONS=1000000.
OPERATIONS = int(os.environ.get("SPRINGBLOOM_OPERATIONS", "100000"))


def digests(first, last):
    return [n.to_bytes(20, "big") for n in range(first, last)]


def test_what_was_added_is_there_after_it_was_closed(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=1e4) as seen:
        seen.add("é")
        seen.add_many([b"a", bytearray(b"b"), memoryview(b"xcx")[1:2]])
        assert "é".encode() in seen and "c" in seen
    assert seen.closed
    with FlashFilter(tmp_path / "set", "r") as seen:
        assert seen.contains_many(["é", b"a", b"b", "c", "absent"]) == [True, True, True, True, False]
        assert len(seen) == 4 and seen.info().capacity == 10_000
        with pytest.raises(ReadOnlyError) as error:
            seen.add("d")
        assert error.value.path == str(tmp_path / "set") and "for reading" in error.value.reason


@settings(max_examples=10)
@given(st.lists(st.binary(max_size=40) | st.text(max_size=10)), st.lists(st.binary(max_size=2)))
def test_it_holds_what_a_set_holds(tmp_path_factory, keys, asked):
    with FlashFilter(tmp_path_factory.mktemp("set"), capacity=1000, false_positive_rate=1e-9) as seen:
        known = {key if isinstance(key, bytes) else key.encode() for key in keys}
        seen.add_many(keys)
        assert all(seen.contains_many(keys)) and all(key in seen for key in keys)
        assert [key in known for key in asked] == seen.contains_many(asked)
        assert len(seen) == len(known)


@pytest.mark.parametrize("kind", [FlashFilter, RotatingFilter])
@settings(max_examples=10)
@given(st.lists(st.lists(st.sampled_from([*"abcdefgh", b"a", b"b", "", "\0"]))))
def test_new_keys_are_those_that_a_set_had_not_seen(tmp_path_factory, kind, calls):
    known = set()
    with kind(tmp_path_factory.mktemp("it") / "set", capacity=1000, false_positive_rate=1e-9) as seen:
        for keys in calls:
            as_bytes = [key if isinstance(key, bytes) else key.encode() for key in keys]
            assert seen.add_new_many(iter(keys)) == [not (key in known or known.add(key)) for key in as_bytes]
            assert all(seen.contains_many(keys))
        assert seen.add_new("once") and not seen.add_new(b"once")
        seen.add("plain")
        assert not seen.add_new("plain") and seen.info().keys == len(known) + 2


def test_new_keys_of_long_calls_are_told_in_order_and_once(tmp_path):
    keys = digests(0, 30_000)
    with FlashFilter(tmp_path / "set", capacity=50_000, false_positive_rate=1e-9) as seen:
        seen.add_many(keys[::3])
        told = []
        expected = [n % 3 > 0 for n in range(30_000)]
        assert seen.add_new_many(keys + keys, progress=lambda *now: told.append(now)) == expected + [False] * 30_000
        assert told[-1] == (60_000, 60_000) and len(told) == 8


@pytest.mark.parametrize("kind", [FlashFilter, RotatingFilter])
def test_of_threads_that_bring_a_key_one_is_told_that_it_is_new(tmp_path, kind):
    with kind(tmp_path / "set", capacity=100_000, false_positive_rate=1e-9) as seen, ThreadPoolExecutor(4) as threads:
        keys = digests(0, 20_000)
        parts = [keys[at : at + 500][:: 1 if n % 2 else -1] for n in range(4) for at in range(0, 20_000, 500)]
        new = threads.map(lambda part: [key for key, is_new in zip(part, seen.add_new_many(part)) if is_new], parts)
        assert sorted(itertools.chain(*new)) == keys
        alone = threads.map(lambda _: sum(seen.add_new(b"%d" % n) for n in range(500)), range(4))
        assert sum(alone) == 500


@pytest.mark.parametrize("as_array", [False, True])
def test_a_full_filter_tells_which_of_the_keys_that_it_took_are_new(tmp_path, as_array):
    numpy = pytest.importorskip("numpy")
    with FlashFilter(tmp_path / "set", capacity=10_000, false_positive_rate=1e-6) as seen:
        seen.add_many(digests(0, 5000))
        keys = [key for n in range(10_000) for key in digests(n, n + 1) + digests(n + 50_000, n + 50_001)]
        with pytest.raises(FullError) as error:
            seen.add_new_many(numpy.array(keys, dtype="V20") if as_array else keys)
        added, new = error.value.added, error.value.new
        assert len(new) == added and isinstance(new, numpy.ndarray if as_array else list)
        known = set(digests(0, 5000))
        assert list(new) == [key not in known for key in keys[:added]] and sum(new) >= 5000
        assert all(seen.contains_many(keys[:added])) and seen.add_new_many(keys[:added]) == [False] * added


def test_a_rotating_filter_finds_no_key_of_a_generation_new_and_keeps_it_from_now_on(tmp_path):
    with RotatingFilter(tmp_path / "set", capacity=1000, false_positive_rate=1e-9, generations=3) as seen:
        keys = digests(0, 2500)
        assert seen.add_new_many(keys) == [True] * 2500 and seen.info().layers == 3
        assert seen.add_new_many(keys[2000:2500] + digests(10_000, 10_010)) == [False] * 500 + [True] * 10
        for _ in range(2):
            seen.rotate()
        assert not any(seen.contains_many(keys[:2000])) and not any(seen.add_new_many(keys[2000:2500]))


def test_a_full_filter_raises_and_says_how_far_it_came(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=10_000) as seen:
        keys = digests(0, 20_000)
        with pytest.raises(FullError) as error:
            seen.add_many(keys)
        added = error.value.added
        assert 10_000 <= added < 10_600, "some keys were taken for present ones"
        assert all(seen.contains_many(keys[:added])) and seen.info().is_full
        seen.add_many(keys[:added])
        with pytest.raises(FullError):
            for key in keys[added:]:
                seen.add(key)


@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_full_filter_grows_if_it_may(tmp_path, from_the_start):
    first = "grow" if from_the_start else "raise"
    FlashFilter(tmp_path / "set", capacity=5000, when_full=first).close()
    with FlashFilter(tmp_path / "set", when_full="grow") as seen:
        seen.add_many(digests(0, 40_000))
        assert all(seen.contains_many(digests(0, 40_000)))
        info = seen.info()
        assert info.layers > 2 and info.capacity >= 35_000 and not info.is_full
        assert info.target_false_positive_rate == 0.01
        assert info.false_positive_rate < (0.01 if from_the_start else 0.015)
        wrong = sum(seen.contains_many(digests(10**6, 10**6 + 20_000)))
        bound = 20_000 * 0.015
        assert wrong < bound + 5 * math.sqrt(bound)


def test_a_filter_that_exceeds_its_capacity_tells_its_rate(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=1000, when_full="overfill") as seen:
        seen.add_many(digests(0, 10_000))
        assert seen.info().false_positive_rate == 0, "keys that are in memory alone are exact"
    with FlashFilter(tmp_path / "set") as seen:
        wrong = sum(seen.contains_many(digests(10**6, 10**6 + 10_000))) / 10_000
        assert seen.info().false_positive_rate == pytest.approx(wrong, rel=0.3) and wrong > 0.1


def test_filters_are_merged(tmp_path):
    with FlashFilter(tmp_path / "a", capacity=10_000) as one, FlashFilter(tmp_path / "b", capacity=10_000) as other:
        one.add_many(digests(0, 3000))
        other.add_many(digests(2000, 5000))
        one.merge(other)
        with pytest.raises(ValueError, match="the other filter is this one itself, expected another one"):
            one.merge(one)
        assert all(one.contains_many(digests(0, 5000))) and len(one) == pytest.approx(5000, rel=0.03)
        with FlashFilter(tmp_path / "grown", capacity=1000, false_positive_rate=0.001, when_full="grow") as grown:
            grown.add_many(digests(5000, 9000))
            filters = grown.info().layers
            one.merge(grown)
            assert filters > 1 and one.info().layers == 1 + filters and all(one.contains_many(digests(0, 9000)))
        assert not one.info().is_full
        one.add_many(digests(9000, 13_500))
        with FlashFilter(tmp_path / "worse", capacity=20_000, false_positive_rate=0.1) as worse:
            worse.add_many(digests(0, 20_000))
            with pytest.raises(FullError, match="look keys up in both") as error:
                one.merge(worse)
            assert error.value.added == 0 and error.value.path == str(tmp_path / "a")
        other.close()
        with pytest.raises(ClosedError):
            one.merge(other)


def test_progress_is_told_and_its_exceptions_are_raised(tmp_path):
    told = []
    with FlashFilter(tmp_path / "set", capacity=50_000) as seen:
        seen.add_many(digests(0, 20_000), progress=lambda done, total: told.append((done, total)))
        assert told == [(8192, 20_000), (16_384, 20_000), (20_000, 20_000)]
        seen.contains_many(iter(digests(0, 10)), progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (10, None)
        with pytest.raises(ZeroDivisionError):
            seen.add_many(digests(20_000, 40_000), progress=lambda done, total: 1 / 0)
        assert all(seen.contains_many(digests(0, 28_192))), "the batch before the exception is in"


@pytest.mark.parametrize("wrong", [5, None, 1.5, [b"a"], object()])
def test_a_key_of_another_type_is_refused_with_its_place(tmp_path, wrong):
    with FlashFilter(tmp_path / "set", capacity=1000) as seen:
        with pytest.raises(TypeError, match="the key or value is .*, expected bytes or str"):
            seen.add(wrong)
        with pytest.raises(TypeError, match="item 1 of the batch is .*, expected bytes or str"):
            seen.add_many([b"a", wrong])
        with pytest.raises(TypeError):
            wrong in seen
        assert b"a" not in seen


def test_one_key_where_several_are_expected_is_refused(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=1000) as seen:
        for one in ("abc", b"abc", bytearray(b"abc"), memoryview(b"abc")):
            with pytest.raises(TypeError, match="expected several"):
                seen.add_many(one)
            with RotatingFilter(tmp_path / "rotating", capacity=1000) as rotating:
                for call in (rotating.add_many, rotating.contains_many):
                    with pytest.raises(TypeError, match="expected several"):
                        call(one)
        with pytest.raises(TypeError):
            seen.add_many(7)
        with pytest.raises(UnicodeEncodeError):
            seen.add("\udc80")
        assert seen.contains_many([]) == [] and seen.add_many([]) is None
        seen.add("")
        huge = b"x" * (64 << 20)
        seen.add(huge)
        assert "" in seen and huge in seen and huge[:-1] not in seen


@pytest.mark.parametrize(
    "arguments",
    [
        {"capacity": 0},
        {"capacity": -1},
        {"capacity": 1.5},
        {"capacity": float("nan")},
        {"capacity": float("inf")},
        {"capacity": 1e30},
        {"capacity": True},
        {"capacity": 1000, "false_positive_rate": 0},
        {"capacity": 1000, "false_positive_rate": 1.5},
        {"capacity": 1000, "false_positive_rate": float("nan")},
        {"capacity": 1000, "memory": 10},
        {"capacity": 1000, "memory": -1},
        {"capacity": 1000, "memory": 1 << 45},
        {"capacity": 1000, "when_full": "lie"},
        {"capacity": 1000, "mode": "a"},
        {"capacity": "1000"},
        {"capacity": [1000]},
        {"capacity": 1j},
        {"capacity": 10**400},
        {"capacity": 1000, "false_positive_rate": "0.1"},
        {"capacity": 1000, "false_positive_rate": None},
        {"capacity": 1000, "false_positive_rate": 10**400},
        {"capacity": 1000, "memory": ""},
        {"capacity": 1000, "memory": None},
    ],
)
def test_settings_out_of_range_are_refused_and_leave_nothing(tmp_path, arguments):
    with pytest.raises(ValueError, match=f"{list(arguments)[-1].replace('_', '.')}|pages"):
        FlashFilter(tmp_path / "set", **arguments)
    assert not (tmp_path / "set").exists()


def test_a_folder_is_opened_by_its_mode(tmp_path):
    for mode in "rwc":
        with pytest.raises(FileNotFoundError, match="capacity=1e6" if mode == "c" else "No such file"):
            FlashFilter(tmp_path / "none", mode)
    with pytest.raises(TypeError, match="capacity is missing: .* capacity=1e6"):
        FlashFilter(tmp_path / "none", "x")
    assert not (tmp_path / "none").exists()
    FlashFilter(tmp_path / "set", capacity=1000).close()
    with pytest.raises(FileExistsError):
        FlashFilter(tmp_path / "set", "x", capacity=1000)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(NotADirectoryError):
        FlashFilter(tmp_path / "file", capacity=1000)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_bytes(b"x")
    for kind in (FlashFilter, RotatingFilter):
        with pytest.raises(FileExistsError, match="holds mine") as error:
            kind(tmp_path / "full", capacity=1000)
        assert error.value.errno == errno.EEXIST and error.value.filename == str(tmp_path / "full")
    with pytest.raises(FileNotFoundError, match="holds no") as error:
        FlashFilter(tmp_path / "full", "r")
    assert error.value.errno == errno.ENOENT and error.value.filename == str(tmp_path / "full")
    for kind in (FlashFilter, RotatingFilter):
        with pytest.raises(FileNotFoundError, match="the name is empty"):
            kind("", capacity=1000)
    FlashIndex(tmp_path / "index").close()
    with pytest.raises(Exception, match="index"):
        FlashFilter(tmp_path / "index")
    with pytest.raises(ValueError, match="NUL byte"):
        FlashFilter(str(tmp_path / "a\0b"), capacity=1000)


def test_a_closed_filter_raises(tmp_path):
    seen = FlashFilter(tmp_path / "set", capacity=1000)
    seen.close()
    seen.close()
    for call in (lambda: seen.add("a"), lambda: "a" in seen, seen.commit, seen.info, seen.verify, lambda: len(seen)):
        with pytest.raises(ClosedError, match="closed"):
            call()
    assert "set" in repr(seen)


def test_a_folder_may_have_any_name(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xe9"
    FlashFilter(name, capacity=1000).close()
    with FlashFilter(os.fsdecode(name)) as seen:
        assert os.fsencode(seen.path) == name and os.path.isdir(name)
        with pytest.raises(InUseError) as error:
            FlashFilter(Path(os.fsdecode(name)))
        assert os.fsencode(error.value.path) == name
    with RotatingFilter(name + b" too", capacity=1000) as seen:
        seen.add("a")


def test_a_relative_name_is_that_of_the_folder_in_which_the_program_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = digests(0, 5000)
    seen, index = FlashFilter("set", capacity=1000, when_full="grow"), FlashIndex("index")
    rotating = RotatingFilter("rotating", capacity=10_000)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    # Each makes files now.
    seen.add_many(keys)
    index.put_many(keys, keys)
    index.compact()
    rotating.rotate()
    rotating.rotate()
    for it in (seen, index, rotating):
        it.close()
        assert it.path.parent == tmp_path
    assert list((tmp_path / "other").iterdir()) == [] and len(list((tmp_path / "rotating").iterdir())) == 2
    with FlashFilter("../set") as seen, FlashIndex("../index") as index:
        assert all(seen.contains_many(keys)) and index.get_many(keys) == keys


@pytest.mark.parametrize("way", ["closed", "grown", "grown later", "merged", "copied", "killed"])
def test_the_rate_that_it_tells_is_that_of_its_answers_after_it_was_opened_again(tmp_path, way):
    asked = digests(10**6, 10**6 + 40_000)
    keys = digests(0, 20_000)
    settings = {"capacity": 20_000, "false_positive_rate": 0.05}
    grows = {"capacity": 3000, "false_positive_rate": 0.05, "when_full": "grow"}
    if way == "killed":
        process = os.fork()
        if process == 0:
            seen = FlashFilter(tmp_path / "set", **settings)
            seen.add_many(keys)
            seen.commit()
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
    elif way in ("closed", "grown"):
        with FlashFilter(tmp_path / "set", **(settings if way == "closed" else grows)) as seen:
            seen.add_many(keys)
    elif way == "grown later":
        FlashFilter(tmp_path / "set", **{**grows, "when_full": "raise"}).close()
        with FlashFilter(tmp_path / "set", when_full="grow") as seen:
            seen.add_many(keys)
    else:
        other = settings if way == "merged" else {**settings, "capacity": 30_000, "false_positive_rate": 0.04}
        with FlashFilter(tmp_path / "set", **settings, when_full="overfill") as seen, FlashFilter(tmp_path / "other", **other) as more:
            seen.add_many(keys[:10_000])
            more.add_many(keys[10_000:])
            seen.merge(more)
    # Only a writer recovers what was killed.
    for mode in "w" if way == "killed" else "rw":
        with FlashFilter(tmp_path / "set", mode) as seen:
            info, wrong = seen.info(), sum(seen.contains_many(asked)) / len(asked)
            assert info.keys == pytest.approx(20_000, rel=0.05)
            # Five standard deviations of the count, and the sample that the estimate is made of.
            error = 5 * math.sqrt(wrong / len(asked)) + 0.1 * wrong
            assert info.false_positive_rate == pytest.approx(wrong, abs=error) and wrong > 0.001


def test_it_cannot_be_copied(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=1000) as seen, FlashIndex(tmp_path / "index") as index:
        for it in (seen, index):
            for copied in (copy.copy, pickle.dumps):
                with pytest.raises(TypeError, match="open it where it is used"):
                    copied(it)


def test_one_writes_or_many_read(tmp_path):
    FlashFilter(tmp_path / "set", capacity=1000).close()
    with FlashFilter(tmp_path / "set", "r"), FlashFilter(tmp_path / "set", "r"):
        with pytest.raises(InUseError):
            FlashFilter(tmp_path / "set")
    with FlashFilter(tmp_path / "set"), pytest.raises(InUseError):
        FlashFilter(tmp_path / "set", "r")


def test_a_filter_that_was_forgotten_is_closed(tmp_path):
    FlashFilter(tmp_path / "set", capacity=1000).add("a")
    assert "a" in FlashFilter(tmp_path / "set")


def test_old_generations_expire(tmp_path, clock):
    settings = {"capacity": 1000, "generations": 3, "max_age": 10}
    with RotatingFilter(tmp_path / "set", **settings) as seen:
        seen.add("first")
        clock.seconds += 11
        seen.add("second")
        assert seen.contains_many(["first", "second", "third"]) == [True, True, False]
    with RotatingFilter(tmp_path / "set", **settings) as seen:
        clock.seconds += 11
        seen.add("first")
        seen.rotate()
        seen.rotate()
        assert "first" in seen and "second" not in seen
        seen.add_many(digests(0, 3500))
        assert all(seen.contains_many(digests(1100, 3500))) and "first" not in seen
        assert sum(seen.contains_many(digests(0, 500))) < 50
        seen.commit()
    assert sum(name.isdigit() for name in os.listdir(tmp_path / "set")) == 3


def test_keys_expire_by_the_clock_whether_or_not_others_come(tmp_path, clock):
    settings = {"capacity": 1000, "generations": 4, "max_age": 10}
    with RotatingFilter(tmp_path / "set", **settings) as seen:
        seen.add("idle")
        clock.seconds += 29
        assert "idle" in seen
        clock.seconds += 11
        assert "idle" not in seen and seen.contains_many(["idle"]) == [False] and seen.info().keys == 0
        seen.commit()
        seen.add("next")
        assert "next" in seen and "idle" not in seen
        assert [name for name in os.listdir(tmp_path / "set") if name.isdigit()] == [max(seen._generations)]
    for pause in (32, 50):
        clock.seconds += pause
        with RotatingFilter(tmp_path / "set", **settings) as seen:
            assert ("next" in seen) == (pause == 32) and "idle" not in seen
            seen.add("x")
            assert sum(name.isdigit() for name in os.listdir(tmp_path / "set")) == (2 if pause == 32 else 1)


def test_a_rotating_filter_adds_what_an_iterator_yields_until_it_raises_and_tells_its_sizes(tmp_path):
    def keys():
        yield from digests(0, 20_000)
        raise RuntimeError("no more")

    told = []
    with RotatingFilter(tmp_path / "set", capacity=15_000, generations=2, false_positive_rate=0.02) as seen:
        empty = seen.info()
        with pytest.raises(RuntimeError, match="no more"):
            seen.add_many(keys(), progress=lambda done, total: told.append((done, total)))
        assert told == [(8192, None), (16_384, None)] and all(seen.contains_many(digests(0, 16_384)))
        info = seen.info()
        assert info.layers == 2 and info.capacity == 30_000 and not info.is_full and abs(info.keys - 16_384) < 300
        assert info.memory_bytes > empty.memory_bytes and info.file_bytes == 2 * empty.file_bytes
        seen.contains_many(digests(0, 9000), progress=lambda done, total: told.append((done, total)))
        assert told[2:] == [(8192, 9000), (9000, 9000)]
    with RotatingFilter(tmp_path / "set", capacity=15_000, generations=2, false_positive_rate=0.02) as seen:
        seen.add_many(digests(16_384, 30_000))
    with RotatingFilter(tmp_path / "set", capacity=15_000, generations=2, false_positive_rate=0.02) as seen:
        info = seen.info()
        wrong = sum(seen.contains_many(digests(100_000, 200_000))) / 100_000
        assert info.target_false_positive_rate == 0.02 and abs(info.false_positive_rate - wrong) < 0.003 and wrong < 0.023


def test_a_generation_whose_making_was_interrupted_is_made_again(tmp_path, monkeypatch):
    def interrupted(path, mode, **settings):
        if mode == "w":
            return FlashFilter(path, mode, **settings)
        FlashFilter(path, mode, **settings).close()
        for file in Path(path).iterdir():
            os.truncate(file, min(10, file.stat().st_size))
        raise KeyboardInterrupt

    def one_generation():
        return [name.isdigit() for name in os.listdir(tmp_path / "set")] == [True]

    for is_first in (True, False):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr("springflash._rotating.FlashFilter", interrupted)
            with RotatingFilter(tmp_path / "set", capacity=1000) as seen:
                seen.rotate()
        with RotatingFilter(tmp_path / "set", capacity=1000) as seen:
            assert one_generation() and ("key" in seen) != is_first
            seen.add("key")


def test_the_folders_of_a_rotating_filter_are_durable(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync
    monkeypatch.setattr("os.fsync", lambda file: (synced.append(os.fstat(file).st_ino), fsync(file)))
    RotatingFilter(tmp_path / "a" / "b", capacity=1000).close()
    assert {(tmp_path / name).stat().st_ino for name in (".", "a", "a/b")} <= set(synced)


def test_many_operations_in_step_with_a_set(tmp_path, record):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    known, made = set(), {"capacity": 3000, "false_positive_rate": 1e-6, "when_full": "grow"}
    wrong = asked = 0
    seen = FlashFilter(tmp_path / "set", **made)
    for _ in range(OPERATIONS // 500):
        keys = [b"%d" % rng.randrange(100_000) for _ in range(500)]
        match rng.randrange(4):
            case 0:
                keys = keys[: rng.randrange(100)]
                seen.add_many(keys)
                known.update(keys)
            case 1:
                for key in keys[:20]:
                    seen.add(key)
                    known.add(key)
                    assert key in seen
            case 2:
                if rng.randrange(20) == 0:
                    seen.close()
                    seen = FlashFilter(tmp_path / "set", **made)
                seen.commit()
        for key, is_there in zip(keys, seen.contains_many(keys)):
            assert is_there or key not in known
            wrong += is_there and key not in known
            asked += key not in known
    with seen:
        assert all(seen.contains_many(known)) and wrong <= 5 + asked * 1e-5
    record("python-operations", seed, of="FlashFilter", operations=OPERATIONS, keys_at_the_end=len(known), wrong=wrong)


def test_a_wrong_type_is_told_with_the_name_of_its_parameter(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=1000) as seen, FlashIndex(tmp_path / "index") as index:
        for name, call in [
            ("path", lambda: FlashFilter(5)),
            ("path", lambda: FlashIndex(None)),
            ("progress", lambda: FlashFilter(tmp_path / "new", capacity=10, progress=5)),
            ("progress", lambda: seen.verify("progress")),
            ("keys", lambda: seen.add_many(None)),
            ("keys", lambda: seen.contains_many("text")),
            ("keys", lambda: index.get_many(5)),
            ("values", lambda: index.put_many(["a"], 5)),
            ("values", lambda: index.setdefault_many(["a"], b"b")),
            ("other", lambda: seen.merge(None)),
            ("the key or value", lambda: seen.add(5)),
        ]:
            with pytest.raises(TypeError, match=f"^{name} is .*, expected "):
                call()
        for wrong in (None, "5", 5.5, float("nan"), -1, True):
            for name, call in [
                ("capacity", lambda: RotatingFilter(tmp_path / "new", capacity=wrong)),
                ("generations", lambda: RotatingFilter(tmp_path / "new", capacity=5, generations=wrong)),
                ("expected_keys", lambda: FlashIndex(tmp_path / "new", expected_keys=wrong)),
                ("memory", lambda: FlashIndex(tmp_path / "new", memory=wrong)),
            ]:
                with pytest.raises(ValueError, match=f"{name} is .*, expected a whole number of . to 2"):
                    call()
        with pytest.raises(ValueError, match="max_age is True"):
            RotatingFilter(tmp_path / "new", capacity=5, max_age=True)
        with pytest.raises(ValueError, match="capacity is 1000000000000000, expected keys for less than 2.32 pages, about 1.5e13"):
            FlashFilter(tmp_path / "new", capacity=1e15)
    assert not (tmp_path / "new").exists()
