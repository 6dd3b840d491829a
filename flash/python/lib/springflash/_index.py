from __future__ import annotations

import itertools
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any, NamedTuple

from ._batches import Column, Progress, pairs, together, unchanging
from ._closes import Closes
from ._filter import Key, Mode, Path, absolute, check_mode, memory_bytes, whole
from ._springflash import Index

_MISSING: Any = object()
#: Keys to delete that are held at a time.
_CLEARED_KEYS = 1_000_000


class IndexInfo(NamedTuple):
    """The result of :meth:`FlashIndex.info`."""

    keys: int
    """Estimated number of keys. ``len`` counts."""
    file_bytes: int
    """Size on disk. Files do not shrink; later records reuse the space."""
    memory_bytes: int
    """Memory of this opening: about a byte per key."""


class _Items(ItemsView[bytes, bytes]):
    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._mapping._pairs()  # type: ignore[attr-defined, no-any-return]


class _Values(ValuesView[bytes]):
    def __iter__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping._pairs())  # type: ignore[attr-defined]


class FlashIndex(Index, Closes, MutableMapping[bytes, bytes]):
    """A dictionary from bytes to bytes on an SSD, with about one byte of memory per key.

    ``path`` is a folder. ``mode`` is one of :mod:`dbm`'s, or ``"x"``: ``"r"`` reads (any number of processes), ``"w"`` reads and writes
    (one process), ``"c"`` also creates a missing index, ``"x"`` creates one and raises if it exists. ``expected_keys`` is a hint for a new
    index, which can grow beyond it. ``memory`` is for keys waiting to be written, in bytes; an index of more than four times as many keys
    takes more, a small one less, unless ``expected_keys`` is large. More memory means fewer writes, and up to 2 GiB to read after a kill.
    ``lean``, for this opening, takes half as much memory per key or less, and reads three times as often for absent keys.
    ``progress(done, total)`` is called as in :meth:`verify` during opening; an interrupt aborts it.

    Keys have 1 to 65,536 bytes, values up to 65,536. str is stored as UTF-8 and returned as bytes. Keys have no order.

    Changes are durable after :meth:`commit` or :meth:`close`; ``with`` closes. A kill keeps everything up to the last commit, and a prefix
    of the later changes.

    A lookup costs about two reads for a present key, mostly none for an absent one. ``len``, ``clear`` and iteration read everything; an
    iteration raises :exc:`FlashError` after a put or a deletion. Any number of threads may use an index. After a fork, the child must open
    it again: every call on an inherited object raises :exc:`ForkedError`.
    """

    __slots__ = ()

    def __new__(
        cls,
        path: Path,
        mode: Mode = "c",
        *,
        expected_keys: float = 0,
        memory: int = 1 << 20,
        lean: bool = False,
        progress: Progress | None = None,
    ) -> FlashIndex:
        check_mode(mode)
        keys, budget = whole("expected_keys", expected_keys, 0), memory_bytes(memory)
        # In no variable: the traceback of an interrupt would keep it, and so the index open.
        return super().__new__(cls, absolute(path), mode, keys, budget, bool(lean), progress)

    def __getitem__(self, key: Key) -> bytes:
        value = self._get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self._get(key) is not None

    def get(self, key: Key, default: Any = None) -> Any:
        value = self._get(key)
        return default if value is None else value

    def pop(self, key: Key, default: Any = _MISSING) -> Any:
        value = self._remove(key)
        if value is not None:
            return value
        if default is _MISSING:
            raise KeyError(key)
        return default

    def setdefault(self, key: Key, default: Key) -> bytes:
        """The value of ``key``; puts and returns ``default`` if there was none. Atomic."""
        old = self._setdefault_batch([key], [default])[0]
        if old is not None:
            return old
        return default.encode() if isinstance(default, str) else bytes(default)

    def get_many(self, keys: Iterable[Key], progress: Progress | None = None) -> list[bytes | None]:
        """The values of keys, in order, None for absent ones. Keys are as in :meth:`FlashFilter.add_many`. Many reads are in flight."""
        values: list[bytes | None] = []
        for batch, _ in Column(keys, "keys").told(progress):
            values += self._get_batch(batch)
        return values

    def put_many(self, keys: Iterable[Key], values: Iterable[Key], progress: Progress | None = None) -> None:
        """Sets the values of keys: two columns of the same length. An exception keeps the earlier batches in the index."""
        for (ours, theirs), _ in pairs(keys, values, progress):
            self._put_batch(ours, theirs)

    def setdefault_many(
        self, keys: Iterable[Key], values: Iterable[Key], progress: Progress | None = None
    ) -> list[bytes | None]:
        """Puts the keys that are absent. Returns the value that each key had, or None if it was new.

        Of equal keys in a call only the first can be new, and the others have its value. Each batch is atomic. An exception keeps the
        earlier batches in the index and loses their answers: a second call finds their keys known. Values that name their writer, as a
        place does, tell a repeated key from one that a failed call put.
        """
        old: list[bytes | None] = []
        for (ours, theirs), _ in pairs(keys, values, progress):
            old += self._setdefault_batch(ours, theirs)
        return old

    def update(self, other: Any = (), /, **more: Any) -> None:
        if isinstance(other, Mapping):
            other = other.items()
        elif hasattr(other, "keys"):
            other = ((key, other[key]) for key in other.keys())
        ours, theirs = itertools.tee((unchanging(key), unchanging(value)) for key, value in itertools.chain(other, more.items()))
        self.put_many((key for key, _ in ours), (value for _, value in theirs))

    def clear(self) -> None:
        self._delete_all(self.__iter__)

    def _delete_all(self, found: Callable[[], Iterator[bytes]]) -> None:
        is_over = False
        while not is_over:
            # Again from the start, as an iteration ends when the index changes.
            keys = list(itertools.islice(found(), _CLEARED_KEYS))
            is_over = len(keys) < _CLEARED_KEYS
            for (batch,) in together(keys):
                self._delete_batch(batch)

    def _pairs(self) -> Iterator[tuple[bytes, bytes]]:
        scan = self._scan()
        while (batch := self._scan_on(scan)) is not None:
            yield from batch

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self._pairs())

    def items(self) -> ItemsView[bytes, bytes]:
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        return _Values(self)

    def __len__(self) -> int:
        """The number of keys. Cost: reads everything and looks each key up, some 10 us per key. :meth:`info` estimates it.

        There is no counter, because a put does not read whether its key exists.
        """
        return sum(1 for _ in self._pairs())

    def __bool__(self) -> bool:
        return next(self._pairs(), None) is not None

    def copy(self, path: Path, progress: Progress | None = None) -> None:
        """Makes a durable copy in a folder that is empty or absent, with all changes that were made before. Later ones wait.

        Use it to back up an index that is open for writing: a copy of its files by another program is complete, or raises
        :exc:`DamagedError` when opened. ``progress(done, total)`` gets bytes. A copy that is aborted leaves nothing.
        """
        self._copy(absolute(path), progress)

    def info(self) -> IndexInfo:
        """Sizes, without reading the index."""
        return IndexInfo(**self._info())
