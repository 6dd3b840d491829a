import os
import random
from collections.abc import MutableMapping

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from springflash import ClosedError, FlashError, FlashFilter, FlashIndex, ReadOnlyError


def test_it_is_a_mapping(tmp_path):
    with FlashIndex(tmp_path / "index") as index:
        assert isinstance(index, MutableMapping) and not index and len(index) == 0
        index["a"] = "1"
        index.update({b"b": b"2"}, c="3")
        index.update([("d", b"4")])
        assert index == {b"a": b"1", b"b": b"2", b"c": b"3", b"d": b"4"}
        assert index["a"] == b"1" and index.get("x") is None and index.get("x", 5) == 5
        assert "a" in index and "x" not in index and index
        assert index.pop("a") == b"1" and index.pop("a", None) is None
        for missing in (lambda: index["a"], lambda: index.pop("a"), lambda: index.__delitem__("a")):
            with pytest.raises(KeyError):
                missing()
        assert index.setdefault("b", "9") == b"2" and index.setdefault("e", "5") == b"5"
        assert sorted(index) == [b"b", b"c", b"d", b"e"]
        assert sorted(index.values()) == [b"2", b"3", b"4", b"5"] and dict(index)[b"e"] == b"5"
        key, value = index.popitem()
        assert key not in index and value in (b"2", b"3", b"4", b"5")
        del index["e" if key != b"e" else "b"]
        assert len(index) == 2
    with FlashIndex(tmp_path / "index", "r") as index:
        assert len(index) == len(list(index.items())) == 2 and index.info().keys >= 2
        with pytest.raises(ReadOnlyError):
            index["x"] = "y"
        with pytest.raises(ReadOnlyError):
            index.setdefault("x", "y")
        with pytest.raises(KeyError):
            index.pop("x")
    with FlashIndex(tmp_path / "index") as index:
        index.clear()
        assert not index and index.verify()
        index.compact()
    with pytest.raises(ClosedError):
        list(index)


def test_more_memory_writes_less(tmp_path):
    keys = [b"%d" % n for n in range(100_000)]
    written = []
    for memory in (0, 4 << 20):
        with FlashIndex(tmp_path / str(memory), expected_keys=1_000_000, memory=memory) as index:
            index.put_many(keys, keys)
            written.append((tmp_path / str(memory) / "buckets").stat().st_size)
        with FlashIndex(tmp_path / str(memory), "r") as index:
            assert index.get_many(keys) == keys
    assert written[0] > 0 == written[1], "all keys wait in memory"


@pytest.mark.parametrize("memory", [-1, 0.5, 1 << 45, 1 << 64, float("nan"), "1", None])
def test_impossible_memory_is_refused_before_a_folder_is_made(tmp_path, memory):
    with pytest.raises(ValueError, match="memory"):
        FlashIndex(tmp_path / "index", memory=memory)
    assert not (tmp_path / "index").exists()


def test_known_or_new_in_one_pass(tmp_path):
    with FlashIndex(tmp_path / "index") as index:
        index["old"] = "1"
        assert index.setdefault_many(["old", "new", "new"], ["2", "3", "4"]) == [b"1", None, b"3"]
        keys = [b"%d" % n for n in range(20_000)]
        assert index.setdefault_many(keys, keys) == [None] * 20_000
        told = []
        assert index.get_many(iter(keys), progress=lambda *now: told.append(now)) == keys
        assert told[-1] == (20_000, None)
        assert index.get_many([]) == index.setdefault_many([], []) == [] and index.put_many([], []) is None


@pytest.mark.parametrize("size", [0, 65_537])
def test_a_key_of_a_wrong_length_is_refused_and_nothing_of_its_batch_is_put(tmp_path, size):
    with FlashIndex(tmp_path / "index") as index:
        wrong = b"x" * size
        for call in (
            lambda: index[wrong],
            lambda: index.__setitem__(wrong, b""),
            lambda: wrong in index,
            lambda: index.pop(wrong),
            lambda: index.put_many([b"a", wrong], [b"", b""]),
            lambda: index.setdefault_many([b"a", wrong], [b"", b""]),
            lambda: index.get_many([b"a", wrong]),
        ):
            with pytest.raises(ValueError, match=f"key has {size} bytes, expected 1 to 65536"):
                call()
        with pytest.raises(ValueError, match="value has 65537 bytes"):
            index["a"] = b"x" * 65_537
        for call in (lambda: index[5], lambda: index.__setitem__("a", 5), lambda: index.put_many(["a"], [None])):
            with pytest.raises(TypeError):
                call()
        assert not index
        index[b"k" * 65_536] = b"v" * 60_000
        assert index[b"k" * 65_536] == b"v" * 60_000


def test_an_iteration_ends_with_an_error_when_the_index_changes(tmp_path):
    with FlashIndex(tmp_path / "index") as index:
        index.put_many([b"%d" % n for n in range(3000)], [b"x" * 400] * 3000)
        with pytest.raises(FlashError, match="changed during the scan"):
            for key in index:
                del index[key]
        left = len(index)
        for key in list(index)[:200]:
            del index[key]
        assert len(index) == left - 200


def test_clearing_passes_over_what_another_thread_deletes(tmp_path):
    class Beside(FlashIndex):
        def __iter__(self):
            keys = list(super().__iter__())
            self.pop(keys[0] if keys else b"none", None)
            return iter(keys)

    with Beside(tmp_path / "index") as index:
        index.put_many(["a", "b"], ["1", "2"])
        index.clear()
        assert len(index) == 0


def test_clearing_takes_more_keys_than_it_holds_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("springflash._index._CLEARED_KEYS", 9000)
    keys = [b"%d" % n for n in range(27_000)]
    with FlashIndex(tmp_path / "index") as index:
        index.put_many(keys, keys)
        index.clear()
        assert not index and index.get_many(keys) == [None] * len(keys)
        index.put_many(keys[:10], keys[:10])
        assert sorted(index) == sorted(keys[:10])


#: More of them: SPRINGBLOOM_OPERATIONS=1000000.
OPERATIONS = int(os.environ.get("SPRINGBLOOM_OPERATIONS", "100000"))

KEYS = st.integers(0, 40).map(lambda n: b"key %d" % n) | st.binary(min_size=1, max_size=300)
VALUES = st.binary(max_size=6000)


class Model(RuleBasedStateMachine):
    """Does the same with an index and a dict."""

    def __init__(self):
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.index, self.known = FlashIndex(self.folder.name), {}

    @rule(key=KEYS, value=VALUES)
    def put(self, key, value):
        self.index[key] = self.known[key] = value

    @rule(pairs=st.lists(st.tuples(KEYS, VALUES)))
    def put_many(self, pairs):
        self.index.put_many([key for key, _ in pairs], [value for _, value in pairs])
        self.known.update(pairs)

    @rule(pairs=st.lists(st.tuples(KEYS, VALUES)))
    def setdefault_many(self, pairs):
        old = self.index.setdefault_many([key for key, _ in pairs], [value for _, value in pairs])
        for (key, value), before in zip(pairs, old):
            assert self.known.get(key) == before
            self.known.setdefault(key, value)

    @rule(key=KEYS)
    def pop(self, key):
        assert self.index.pop(key, None) == self.known.pop(key, None)

    @rule(keys=st.lists(KEYS))
    def get_many(self, keys):
        assert self.index.get_many(keys) == [self.known.get(key) for key in keys]

    @rule(key=KEYS)
    def get(self, key):
        assert self.index.get(key) == self.known.get(key) and (key in self.index) == (key in self.known)

    @rule()
    def commit(self):
        self.index.commit()

    @rule()
    def compact(self):
        self.index.compact()

    @rule(mode=st.sampled_from("wcr"))
    def open_again(self, mode):
        self.index.close()
        if mode == "r":
            with FlashIndex(self.folder.name, "r") as index:
                assert index == self.known
            mode = "w"
        self.index = FlashIndex(self.folder.name, mode)

    @invariant()
    @precondition(lambda self: len(self.known) < 20)
    def they_are_equal(self):
        assert dict(self.index.items()) == self.known and len(self.index) == len(self.known)

    def teardown(self):
        self.index.close()
        self.folder.cleanup()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


def test_many_operations_in_step_with_a_dict(tmp_path, record):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    known = {}
    with FlashIndex(tmp_path / "index") as index:
        for _ in range(OPERATIONS // 500):
            keys = [b"%d" % rng.randrange(30_000) for _ in range(500)]
            values = [rng.randbytes(rng.randrange(100)) for _ in keys]
            match rng.randrange(4):
                case 0:
                    index.put_many(keys, values)
                    known.update(zip(keys, values))
                case 1:
                    old = index.setdefault_many(keys, values)
                    assert [known.get(k) if k in known else None for k in dict.fromkeys(keys)] == [
                        dict(zip(reversed(keys), reversed(old)))[k] for k in dict.fromkeys(keys)
                    ]
                    for key, value in zip(keys, values):
                        known.setdefault(key, value)
                case 2:
                    assert index.get_many(keys) == [known.get(key) for key in keys]
                case 3:
                    for key in keys[:100]:
                        assert index.pop(key, None) == known.pop(key, None)
        assert dict(index.items()) == known and len(index) == len(known)
    record("python-operations", seed, of="FlashIndex", operations=OPERATIONS, keys_at_the_end=len(known))


class WithLength:
    """An iterable that makes its items when it is asked, and knows how many."""

    def __init__(self, items, count):
        self.items, self.count = items, count

    def __iter__(self):
        return self.items()

    def __len__(self):
        return self.count


def test_one_buffer_that_is_filled_anew_for_each_item_is_as_many_items(tmp_path):
    def refilled(prefix):
        buffer = bytearray(5)
        for n in range(1000):
            buffer[:] = b"%s%04d" % (prefix, n)
            yield buffer if n % 2 else memoryview(buffer)

    keys, values = ([bytes(item) for item in refilled(prefix)] for prefix in (b"k", b"v"))
    with FlashIndex(tmp_path / "index") as index, FlashFilter(tmp_path / "filter", capacity=1e4) as seen:
        index.put_many(refilled(b"k"), refilled(b"v"))
        assert index.get_many(refilled(b"k")) == index.setdefault_many(refilled(b"k"), keys) == values == index.get_many(keys)
        assert index.get_many(WithLength(lambda: refilled(b"k"), len(keys))) == values
        index.update(zip(refilled(b"u"), refilled(b"w")))
        assert index.get_many(refilled(b"u")) == [bytes(item) for item in refilled(b"w")]
        seen.add_many(refilled(b"k"))
        assert all(seen.contains_many(refilled(b"k"))) and all(seen.contains_many(keys))
