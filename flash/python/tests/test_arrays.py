from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from springflash import FlashFilter, FlashIndex, RotatingFilter

KEYS = [f"key {n}" for n in range(10_000)]


@pytest.fixture
def seen(tmp_path):
    with FlashFilter(tmp_path / "set", capacity=30_000, false_positive_rate=1e-6) as seen:
        yield seen


@pytest.mark.parametrize(
    "array",
    [
        np.array(KEYS, dtype="S"),
        np.array(KEYS, dtype="U"),
        np.array(KEYS, dtype=object),
        np.array([key for key in KEYS for _ in range(2)], dtype="S")[::2],
        np.array(KEYS[::-1], dtype="S")[::-1],
        pa.array(KEYS),
        pa.array(KEYS, pa.large_string()),
        pa.array([key.encode() for key in KEYS], pa.binary()),
        pa.array([key.encode() for key in KEYS], pa.large_binary()),
        pa.array(KEYS, pa.string_view()),
        pa.array(KEYS).dictionary_encode(),
        pa.chunked_array([KEYS[:3], [], KEYS[3:]]),
        pa.array(["x", *KEYS, "y"]).slice(1, len(KEYS)),
        pa.array([None, *KEYS, None]).slice(1, len(KEYS)),
    ],
    ids=lambda array: f"{type(array).__name__}-{getattr(array, 'dtype', getattr(array, 'type', ''))}",
)
def test_every_array_has_the_keys_of_its_list(seen, array):
    seen.add_many(array)
    assert seen.contains_many(KEYS) == [True] * len(KEYS)
    absent = ["absent"] + KEYS[1:]
    assert seen.contains_many(absent)[:2] == [False, True]
    answers = seen.contains_many(array)
    assert isinstance(answers, np.ndarray if isinstance(array, np.ndarray) else pa.BooleanArray)
    assert answers.tolist() == [True] * len(KEYS)
    assert len(seen) == len(KEYS)


def test_items_of_fixed_width_keep_their_zeros_and_text_loses_them(seen):
    digests = [n.to_bytes(3, "little") for n in range(300)]
    for array in (
        np.array(digests, dtype="V3"),
        np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 3).view("V3").ravel(),
        pa.array(digests, pa.binary(3)),
        pa.array([b"xxx", *digests], pa.binary(3))[1:],
    ):
        assert seen.contains_many(array).tolist() == seen.contains_many(digests)
        seen.add_many(array[:200])
        assert seen.contains_many(digests) == [True] * 200 + [False] * 100
    seen.add_many(np.array([b"ab\0"], dtype="S3"))
    assert b"ab" in seen and b"ab\0" not in seen
    assert seen.contains_many(np.array([], dtype="S5")).tolist() == []
    assert seen.contains_many(pa.array([], pa.binary())).to_pylist() == []
    assert seen.contains_many(pa.array(["", "a"])).to_pylist() == [False, False]


@given(st.lists(st.binary(max_size=9)), st.data())
def test_slices_of_arrow_arrays_are_what_they_show(tmp_path_factory, keys, data):
    at = data.draw(st.integers(0, len(keys)))
    part = pa.array(keys, pa.binary()).slice(at, data.draw(st.integers(0, len(keys))))
    with FlashFilter(tmp_path_factory.mktemp("set"), capacity=1000, false_positive_rate=1e-9) as seen:
        seen.add_many(part)
        shown = set(part.to_pylist())
        assert seen.contains_many(keys) == [key in shown for key in keys]


@pytest.mark.parametrize(
    ("array", "error"),
    [
        (np.zeros((3, 20), dtype=np.uint8), TypeError),
        (np.arange(5), TypeError),
        (np.array(5), TypeError),
        (np.array([1, None], dtype=object), TypeError),
        (np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]), TypeError),
        (np.zeros(3, dtype="V0"), TypeError),
        (np.ma.masked_array(["a", "b"], mask=[True, False]), TypeError),
        (np.array(["2026-01-01"], dtype="M8[D]"), TypeError),
        (pa.array([1, 2]), TypeError),
        (pa.array(["a", None]), ValueError),
        (pa.chunked_array([["a"], ["b", None]]), ValueError),
        (pa.nulls(3), ValueError),
        (pa.array(["a", None]).dictionary_encode(), ValueError),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])), ValueError),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([b"a", None], pa.binary(1))), ValueError),
        (pa.array([["a"], ["b"]]), TypeError),
        (pa.table({"a": ["b"]}), (TypeError, ValueError)),
    ],
)
def test_arrays_without_keys_are_refused_before_anything_is_added(seen, array, error):
    with pytest.raises(error, match="expected|array|type|item"):
        seen.add_many(array)
    assert len(seen) == 0


def sent(array, *replaced):
    """An array as it comes from another process, with bytes of it replaced."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["key"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    before, after = (np.array(numbers, dtype=kind).tobytes() for kind, *numbers in replaced)
    assert before in sink.getvalue().to_pybytes()
    return pa.ipc.open_stream(sink.getvalue().to_pybytes().replace(before, after)).read_all()["key"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("ends", [(0, 77, 1 << 30), (0, 77, 1312), (1311, 77, 1), (-1, 0, 1), (0, 1311, 77), (0, 1312, 1311)])
def test_arrays_whose_items_are_out_of_their_buffer_are_refused(seen, tmp_path, kind, ends):
    width = "i4" if kind == pa.binary() else "i8"
    array = sent(pa.array([b"x" * 77, b"y" * 1234], kind), (width, 0, 77, 1311), (width, *ends))
    with pytest.raises(ValueError, match="expected one that is valid|do not fit together"):
        seen.add_many(array)
    with FlashIndex(tmp_path / "index") as index, pytest.raises(ValueError):
        index.put_many(array, array)


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary(3)])
def test_arrays_of_more_items_than_are_there_are_refused(seen, kind):
    array = sent(pa.array([b"abc"] * 7919, kind), ("i8", 7919), ("i8", 8190))
    with pytest.raises(ValueError, match="expected one that is valid"):
        seen.add_many(array)
    assert len(seen) == 0


MEMORY = """
import sys
import numpy, pyarrow
import springflash
sys.path.insert(0, sys.argv[3])
import benchmark
folder, way = sys.argv[1:3]
count, size = 3000, 65_536
keys = (b"%d" % n for n in range(count))
longs = (bytes(size - 4) + n.to_bytes(4, "big") for n in range(count))
if way == "arrow":
    longs = pyarrow.array(longs, pyarrow.binary())
if way == "numpy":
    longs = numpy.zeros(count, dtype=f"V{size}")
kinds = {"put_many": springflash.FlashIndex, "update": springflash.FlashIndex, "rotating": springflash.RotatingFilter}
kind = kinds.get(way, springflash.FlashFilter)
with kind(folder, **({} if kind is springflash.FlashIndex else {"capacity": 10_000})) as it:
    # From here on, the peak is that of the call.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = benchmark.peak_kib("self")
    if way == "put_many":
        it.put_many(keys, longs)
    elif way == "update":
        it.update(zip(keys, longs))
    else:
        it.add_many(longs)
    print((benchmark.peak_kib("self") - before) >> 10)
"""


@pytest.mark.parametrize("way", ["list", "arrow", "numpy", "rotating", "put_many", "update"])
def test_long_items_take_no_more_memory_than_a_few_batches(tmp_path, child, way):
    told, errors = child(MEMORY, tmp_path / "it", way, Path(__file__).parents[1]).communicate()
    assert told and int(told) < 100, f"{told} MiB for items of 188 MiB {errors}"


def test_a_rotating_filter_takes_arrays(tmp_path):
    with RotatingFilter(tmp_path / "set", capacity=1000) as seen:
        seen.add_many(np.array([b"a\0", b"b\0"], dtype="V2"))
        seen.add_many(pa.array(["c"]))
        assert seen.contains_many(pa.array([b"a\0", b"b", b"c"])).to_pylist() == [True, False, True]


def test_an_index_takes_arrays_as_keys_and_as_values(tmp_path):
    digests = [n.to_bytes(4, "little") for n in range(10_000)]
    with FlashIndex(tmp_path / "index") as index:
        index.put_many(np.array(digests, dtype="V4"), pa.array(KEYS))
        assert index.get_many(pa.array(digests, pa.binary(4))) == [key.encode() for key in KEYS]
        old = index.setdefault_many(pa.array(digests[:2], pa.binary()), np.array([b"a", b"b"]))
        assert old == [b"key 0", b"key 1"]
        with pytest.raises(ValueError, match="10000 keys with 1 values"):
            index.put_many(np.array(digests, dtype="V4"), ["one"])
        with pytest.raises(ValueError, match="keys with"):
            index.put_many(iter(digests), iter(digests[:9000]))


SERIES = """
import sys
from springflash import FlashFilter
seen = FlashFilter(sys.argv[1], capacity=1000, false_positive_rate=1e-9)
seen.add("a")
for package in sys.argv[3:]:
    sys.modules[package] = None
import {package} as library
series = {make}
new = seen.add_new_many(series)
assert list(series{select}) == ["b"], new
assert list(series{negated}) == [], "all are known now"
assert seen.contains_many(["a", "b", "c"]) == [True, True, False]
"""


@pytest.mark.parametrize("without", [[], ["pyarrow"]])
@pytest.mark.parametrize(
    "make",
    [
        "pandas.Series(['a', 'b', 'b'])",
        "pandas.Series(['a', 'b', 'b'], dtype=object)",
        "pandas.Series(['a', b'b', 'b'], index=[7, 7, 7]).map(lambda key: key if type(key) is str else key.decode())",
        "pandas.Series(['a', 'b', 'b'], dtype='category')",
        "pandas.Series(['a', 'b', 'b'], dtype='string')",
        "pandas.Index(['a', 'b', 'b'])",
        "pandas.array(['a', 'b', 'b'], dtype='string')",
        "pandas.Categorical(['a', 'b', 'b'])",
        "polars.Series(['a', 'b', 'b'], dtype=polars.Object)",
        "polars.Series(['a', 'b', 'b'])",
        "polars.Series(['a', 'b', 'b'], dtype=polars.Categorical)",
        "polars.Series(['a', 'b', 'b'], dtype=polars.Enum(['b', 'a']))",
        "polars.concat([polars.Series(['a']), polars.Series(['b', 'b'])], rechunk=False)",
    ],
)
def test_the_answers_for_a_series_select_in_it(tmp_path, child, make, without):
    package = make.split(".")[0]
    is_polars = package == "polars"
    program = SERIES.format(
        package=package,
        make=make.replace(package, "library"),
        select=".filter(new)" if is_polars else "[new]",
        negated=".filter(~seen.contains_many(series))" if is_polars else "[~seen.contains_many(series)]",
    )
    told = child(program, tmp_path / "set", "-", *without, *(["numpy"] if is_polars else []))
    assert (told.communicate()[1], told.returncode) == ("", 0)


TABLES = """
import sys
from springflash import FlashFilter
seen = FlashFilter(sys.argv[1], capacity=1000)
for package in sys.argv[2:]:
    sys.modules[package] = None
import pandas, polars
for table in (
    pandas.DataFrame({"a": ["b"]}), polars.DataFrame({"a": ["b"]}), pandas.Series([1]), polars.Series([1]), pandas.Series(["b", None]),
    polars.Series(["b", None]), pandas.Series(["b", float("nan")], dtype=object), polars.Series([["b"]]), pandas.Series([True]),
    polars.Series([object()], dtype=polars.Object),
):
    try:
        seen.add_many(table)
    except (TypeError, ValueError) as error:
        assert "expected" in str(error), error
    else:
        raise AssertionError(f"{table} was taken")
assert len(seen) == 0
for empty in (pandas.Series([]), pandas.Series([], dtype=object), polars.Series([]), polars.Series([], dtype=polars.String)):
    assert len(seen.add_new_many(empty)) == 0
"""


@pytest.mark.parametrize("without", [[], ["pyarrow"]])
def test_tables_and_series_of_no_keys_are_refused(tmp_path, child, without):
    told = child(TABLES, tmp_path / "set", *without)
    assert (told.communicate()[1], told.returncode) == ("", 0)


def test_an_item_of_an_array_is_the_key_that_it_is_in_the_array(seen, tmp_path):
    for kind in ("V3", "S3"):
        array = np.array([b"ab\0", b"cd\1"] if kind == "V3" else ["ab", "cd"], dtype=kind)
        seen.add(array[0])
        assert seen.contains_many(array).tolist() == [True, False] and array[0] in seen and array[1] not in seen
        seen.add_many(list(array))
        assert seen.contains_many(array).all()
        with FlashIndex(tmp_path / "index") as index:
            index[array[0]] = array[1]
            assert index.get_many(array[:1]) == [bytes(array[1])]
    with pytest.raises(TypeError, match="the key or value is void"):
        seen.add(np.zeros(1, dtype=[("a", "i4"), ("b", "i4")])[0])
