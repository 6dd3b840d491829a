"""Cuts keys and values into batches in the forms that the Rust side takes."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

#: Receives the items done and their total, if that is known.
Progress = Callable[[int, int | None], object]

#: Keys of a batch. The interpreter runs other threads during a batch, and signal handlers after it.
BATCH_KEYS = 8192
#: Bytes of a batch, so that long items take no more memory.
BATCH_BYTES = 16 << 20
#: Items of a list or an iterator that are taken at a time, until a batch is full.
_PIECE_ITEMS = 256


class Column:
    """Keys or values of a call, in order."""

    def __init__(self, items: Any, name: str) -> None:
        is_several = hasattr(items, "__iter__") or hasattr(items, "__getitem__") or hasattr(items, "__arrow_c_array__")
        if isinstance(items, (str, bytes, bytearray, memoryview)) or not (is_several or hasattr(items, "__arrow_c_stream__")):
            kind = type(items).__name__
            raise TypeError(f"{name} is one {kind}, expected several {name}: a list, an array or another iterable")
        self.numpy: Any = None
        self.arrow: Any = None
        #: Makes what the caller gets of a list of bool.
        self._answers: Callable[[list[bool]], Any] = list
        if _is_of("pandas", items, "Series", "Index", "api.extensions.ExtensionArray"):
            self._answers = _numpy_answers
            # An array of objects as it is; others, which Arrow may read faster, as what they export.
            items = items.to_numpy() if items.dtype == object else items
        elif _is_of("polars", items, "Series"):
            polars = sys.modules["polars"]
            self._answers = functools.partial(polars.Series, "", dtype=polars.Boolean)
            if items.dtype in (polars.Categorical, polars.Enum):
                # PyArrow does not read their codes.
                items = items.cast(polars.String)
            elif items.dtype == polars.Object:
                # Arrow would read the addresses of the objects.
                items = items.to_list()
        elif _is_of("numpy", items, "ndarray"):
            self._answers = _numpy_answers
        if _is_of("numpy", items, "ndarray"):
            self.numpy = sys.modules["numpy"]
            _check_numpy(items)
        elif hasattr(items, "__arrow_c_array__") or hasattr(items, "__arrow_c_stream__"):
            items = self._exported(items, name)
        self.items = items
        self.count = len(items) if isinstance(items, Sized) else None
        is_array = self.numpy is not None or self.arrow is not None
        if not is_array and not isinstance(items, (list, tuple, set, frozenset, dict)):
            # What is made when it is asked for may be one buffer that is filled again for each item.
            self.items = map(unchanging, items)

    def _exported(self, items: Any, name: str) -> Any:
        """The same as an Arrow array, or as it is if PyArrow is not installed."""
        try:
            import pyarrow
        except ImportError:
            if hasattr(items, "columns") or not hasattr(items, "__iter__"):
                kind = type(items).__name__
                raise TypeError(f"{name} is a {kind}, expected one column; other Arrow data needs the package pyarrow") from None
            return items
        self.arrow = pyarrow
        if self._answers is list:
            self._answers = functools.partial(pyarrow.array, type=pyarrow.bool_())
        return _arrow_array(pyarrow, items)

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        """Batches, each with the number of its items."""
        if self.numpy is not None:
            return _numpy_batches(self.items)
        if self.arrow is not None:
            return _arrow_batches(self.arrow, self.items)
        return ((batch, len(batch)) for (batch,) in together(self.items))

    def told(self, progress: Progress | None) -> Iterator[tuple[Any, int]]:
        """Batches, each with the number of items before it. Calls `progress` after each."""
        return _told(self, progress, self.count)

    def lists(self, progress: Progress | None) -> Iterator[tuple[list[Any], int]]:
        """The same, in lists of items as Python has them."""
        return _told(((batch, len(batch)) for (batch,) in together(each(self))), progress, self.count)

    def answers(self, parts: Iterable[bytes]) -> Any:
        """Truth values, a byte each, as what selects in the keys: a list, or an array of bool."""
        return self._answers(list(map(bool, b"".join(parts))))


def _is_of(package: str, items: Any, *kinds: str) -> bool:
    """Whether it is of a class of a package, which is not imported for that."""
    module = sys.modules.get(package)
    return module is not None and isinstance(items, tuple(operator.attrgetter(kind)(module) for kind in kinds))


def _numpy_answers(answers: list[bool]) -> Any:
    return sys.modules["numpy"].array(answers, dtype=bool)


def pairs(keys: Any, values: Any, progress: Progress | None) -> Iterator[tuple[Any, int]]:
    """Batches of keys with their values, each with the number of pairs before it. Calls `progress` after each."""
    columns = Column(keys, "keys"), Column(values, "values")
    counts = columns[0].count, columns[1].count
    if None not in counts and counts[0] != counts[1]:
        raise ValueError(f"{counts[0]} keys with {counts[1]} values, expected as many")
    return _told(((batch, len(batch[0])) for batch in together(*map(each, columns))), progress, counts[0])


def unchanging(item: Any) -> Any:
    """A copy of what can be filled again."""
    return item if type(item) is bytes or not isinstance(item, (bytearray, memoryview)) else bytes(item)


def each(column: Column) -> Iterator[Any]:
    """Items as Python has them."""
    if column.numpy is not None and column.items.dtype.kind == "V":
        return (item.tobytes() for item in column.items)
    if column.arrow is not None:
        column.items.validate(full=True)
        return (item.as_py() for item in column.items)
    return iter(column.items)


def _told(batches: Iterable[tuple[Any, int]], progress: Progress | None, total: int | None) -> Iterator[tuple[Any, int]]:
    done = 0
    for batch, count in batches:
        yield batch, done
        done += count
        if progress is not None:
            progress(done, total)


def together(*columns: Iterable[Any]) -> Iterator[list[list[Any]]]:
    """Batches: a list of items of each column, all of the same length, but for the last one if columns end at different places."""
    rest = [iter(items) for items in columns]
    is_over = False
    while not is_over:
        batch: list[list[Any]] = [[] for _ in rest]
        size = 0
        while not is_over and len(batch[0]) < BATCH_KEYS and size < BATCH_BYTES:
            for taken, items in zip(batch, rest):
                piece = list(itertools.islice(items, _PIECE_ITEMS))
                taken += piece
                size += _bytes_of(piece)
                is_over |= len(piece) < _PIECE_ITEMS
        if any(batch):
            yield batch


def _bytes_of(items: list[Any]) -> int:
    try:
        return sum(map(len, items))
    except TypeError:  # One that is no key. The caller says which.
        return 0


def _check_numpy(array: Any) -> None:
    if array.ndim != 1:
        raise TypeError(f"an array of {array.ndim} dimensions, expected one; rows of bytes become keys by array.view('V20').ravel()")
    if hasattr(array, "mask"):
        raise TypeError("a masked array, expected one in which every item counts")
    if array.dtype.kind not in "SVUOT" or array.dtype.names is not None or array.dtype.itemsize == 0:
        raise TypeError(f"an array of {array.dtype}, expected bytes (S20, V20), str or objects")


def _numpy_batches(array: Any) -> Iterator[tuple[Any, int]]:
    kind, width = array.dtype.kind, array.dtype.itemsize
    step = max(1, min(BATCH_KEYS, BATCH_BYTES // width))
    for at in range(0, len(array), step):
        part = array[at : at + step]
        yield ((part.tobytes(), width, kind == "S") if kind in "SV" else part.tolist()), len(part)


def _arrow_array(arrow: Any, items: Any) -> Any:
    """An array of few types, without nulls. Each chunk has the type that its buffers are read as."""
    if not isinstance(items, (arrow.Array, arrow.ChunkedArray)):
        items = arrow.chunked_array(items)
    if isinstance(items, arrow.Array):
        items = arrow.chunked_array([items])
    types = arrow.types
    _check_nulls(items)
    kind = items.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind) and len(items) == 0:
        return items.cast(arrow.binary())
    if types.is_fixed_size_binary(kind):
        if kind.byte_width == 0:
            raise TypeError("items of no bytes")
        return _check_nulls(items.cast(kind))
    if not is_text(types, kind):
        raise TypeError(f"an Arrow array of {items.type}, expected binary or string")
    is_plain = types.is_binary(kind) or types.is_string(kind)
    # A dictionary that has a null among its values counts none before.
    return _check_nulls(items.cast(kind if is_plain else arrow.large_binary()))


def is_text(types: Any, kind: Any) -> bool:
    """Whether Arrow's type is one of bytes or text, each as long as it is."""
    known = ("is_binary", "is_large_binary", "is_string", "is_large_string", "is_binary_view", "is_string_view")
    return any(getattr(types, name, lambda _: False)(kind) for name in known)


def _check_nulls(items: Any) -> Any:
    if items.null_count:
        first = next(n for n, item in enumerate(items) if not item.is_valid)
        raise ValueError(f"item {first} is null, expected bytes or str")
    return items


def _arrow_batches(arrow: Any, array: Any) -> Iterator[tuple[Any, int]]:
    is_fixed = arrow.types.is_fixed_size_binary(array.type)
    packed = _fixed if is_fixed else _variable
    for chunk in array.chunks:
        size = array.type.byte_width if is_fixed else _average_bytes(chunk)
        step = max(1, min(BATCH_KEYS, BATCH_BYTES // max(1, size)))
        for at in range(0, len(chunk), step):
            part = chunk.slice(at, step)
            yield packed(part), len(part)


def _average_bytes(chunk: Any) -> int:
    """That of an item of the array that `chunk` may be a slice of. Reads no offset, as they may be wrong."""
    _, offsets, data = chunk.buffers()
    return 0 if not offsets or not data else int(data.size * _offset_bytes(chunk) // offsets.size)


def _offset_bytes(part: Any) -> int:
    return 8 if str(part.type).startswith("large") else 4


def _fixed(part: Any) -> tuple[bytes, int, bool]:
    width = part.type.byte_width
    return _cut(part.buffers()[1], part.offset * width, len(part) * width), width, False


def _variable(part: Any) -> tuple[bytes, bytes, int]:
    _, offsets, data = part.buffers()
    width = _offset_bytes(part)
    ends = _cut(offsets, part.offset * width, (len(part) + 1) * width)
    first, last = (int.from_bytes(end, "little") for end in (ends[:width], ends[-width:]))
    return _cut(data, first, last - first), ends, width


def _cut(buffer: Any, first: int, size: int) -> bytes:
    """Bytes of a buffer. Arrow would read what is behind its end."""
    there = 0 if buffer is None else buffer.size
    if size < 0 or first + size > there:
        raise ValueError(f"an Arrow array that has bytes {first} to {first + size} of {there}, expected one that is valid")
    return b"" if buffer is None else buffer.slice(first, size).to_pybytes()
