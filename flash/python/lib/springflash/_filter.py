from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from ._batches import Column, Progress
from ._closes import Closes
from ._springflash import Filter, FullError

Key = bytes | str | bytearray | memoryview
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Mode = Literal["r", "w", "c", "x"]
WhenFull = Literal["raise", "grow", "overfill"]


_CAPACITY = "a new filter needs the number of distinct keys that it is for, such as capacity=1e6"


def check_mode(mode: str) -> None:
    if mode not in ("r", "w", "c", "x"):
        raise ValueError(f"mode is {mode!r}, expected 'r' (read), 'w' (write), 'c' (write, make if missing) or 'x' (make)")


def absolute(path: Path) -> str:
    """A folder that stays the same when the program changes its working directory."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"path is {type(path).__name__}, expected str, bytes or os.PathLike") from None
    if not name:
        raise FileNotFoundError(errno.ENOENT, "cannot open: the name is empty", name)
    return name if os.path.isabs(name) else os.path.join(os.getcwd(), name)


def shown(setting: object) -> str:
    """A setting in a message, shortened. Python refuses to write a number of thousands of digits."""
    try:
        return f"{setting!r:.40}"
    except ValueError:
        return "a number of thousands of digits"


def whole(name: str, number: float, least: int) -> int:
    wrong = ValueError(f"{name} is {shown(number)}, expected a whole number of {least} to 2**64 - 1")
    if isinstance(number, (bool, str, bytes, bytearray)):
        raise wrong
    try:
        rounded = int(number)
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    if rounded != number or not least <= rounded < 1 << 64:
        raise wrong
    return rounded


def memory_bytes(memory: float) -> int:
    budget = whole("memory", memory, 0)
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if budget > there:
        raise ValueError(f"memory is {budget} bytes, more than the {there} of this machine")
    return budget


def rate(name: str, number: float) -> float:
    try:
        if not isinstance(number, (str, bytes, bytearray)) and 0 < float(number) < 1:
            return float(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {shown(number)}, expected between 0 and 1, both excluded")


class FilterInfo(NamedTuple):
    """The result of :meth:`FlashFilter.info`."""

    keys: int
    """Estimated distinct keys."""
    capacity: int
    """Distinct keys that it is built for, in all layers together."""
    false_positive_rate: float
    """That of lookups now, 0 to 1, estimated from the bits that are set on disk. Keys that are in memory until a page is written
    cause no false positives, so the rate of a filter that was just filled rises when it is closed."""
    target_false_positive_rate: float
    """The ``false_positive_rate`` that it was made with."""
    is_full: bool
    """Whether a new key finds no room. A filter that was made to grow is never full."""
    layers: int
    """The number of layers: 1, and 1 more each time it grew. A lookup of an absent key reads a page of each."""
    file_bytes: int
    """Size on disk, without the log."""
    memory_bytes: int
    """Memory of this opening, without that of running lookups."""


class FlashFilter(Filter, Closes):
    """A Bloom filter on an SSD: a set that may report absent keys as present, and never the reverse.

    ``path`` is a folder. ``mode`` is one of :mod:`dbm`'s, or ``"x"``: ``"r"`` reads (any number of processes), ``"w"`` reads and writes
    (one process), ``"c"`` also creates a missing filter, ``"x"`` creates one and raises if it exists.

    ``capacity`` (distinct keys) and ``false_positive_rate`` (0 to 1) are for a new filter, and ignored for an existing one. A filter
    takes ``capacity * 1.44 * log2(1 / false_positive_rate)`` bits of disk, written once when it is created.

    ``when_full`` says what :meth:`add` does with a new key when the filter holds ``capacity`` keys. ``"raise"`` raises :exc:`FullError`.
    ``"grow"`` adds a layer of twice the capacity: a filter *created* with ``"grow"`` stays below its target rate, for a sixth to a third
    more bits; one that grows later stays below 1.5 times the target. Adding keys to a grown filter first reads a page per key and older
    layer, in batches, so that known keys do not fill it again. ``"overfill"`` lets the rate rise, up to 1.

    ``memory`` is a budget in bytes. More memory means fewer writes. ``progress(done, total)`` is called as in :meth:`verify` while the
    filter is created or a killed writer's log is read; an interrupt then leaves everything as it was.

    Keys are bytes or str (as UTF-8). Any number of threads may use a filter; other threads run while it reads and writes. After a fork,
    the child must open it again: every call on an inherited object raises :exc:`ForkedError`.
    """

    def __new__(
        cls,
        path: Path,
        mode: Mode = "c",
        *,
        capacity: float | None = None,
        false_positive_rate: float = 0.01,
        when_full: WhenFull = "raise",
        memory: int = 16 << 20,
        progress: Progress | None = None,
    ) -> FlashFilter:
        check_mode(mode)
        if when_full not in ("raise", "grow", "overfill"):
            raise ValueError(f"when_full is {when_full!r}, expected 'raise', 'grow' or 'overfill'")
        if capacity is None and mode == "x":
            raise TypeError(f"capacity is missing: {_CAPACITY}")
        budget = memory_bytes(memory)
        keys = whole("capacity", 1 if capacity is None else capacity, 1)
        wrong = rate("false_positive_rate", false_positive_rate)
        is_opened = mode == "c" and capacity is None
        # In no variable: the traceback of an interrupt would keep it, and so the filter open.
        try:
            return super().__new__(cls, absolute(path), "w" if is_opened else mode, (keys, wrong, when_full), budget, progress)
        except FileNotFoundError as error:
            if is_opened and error.filename:
                raise FileNotFoundError(error.errno, f"there is no filter, and capacity is missing: {_CAPACITY}", error.filename) from None
            raise

    def add_many(self, keys: Iterable[Key], progress: Progress | None = None) -> None:
        """Adds keys, in order: any iterable, a NumPy array (``S``, ``V``, ``U``, object) or an Arrow array (binary, string).

        Use ``V`` for digests: NumPy strips zeros at the end of ``S`` items. ``progress(done, total)`` is called after each batch of up to
        8,192 keys; ``total`` is None for an iterator. Raises :exc:`FullError`, whose ``added`` says how many keys of the call are in the
        filter. An exception keeps the earlier batches in the filter, and maybe a part of its own.
        """
        for batch, done in Column(keys, "keys").told(progress):
            try:
                self._add_batch(batch)
            except FullError as error:
                error.added += done
                raise

    def add_new_many(self, keys: Iterable[Key], progress: Progress | None = None) -> Any:
        """Adds keys and tells which of them are new, in order: a list of bool, or an array of bool if the keys are one.

        ``keys[seen.add_new_many(keys)]`` are the keys that were never added, each once: of equal keys in a call only the first can be
        new, and of threads that add the same key at the same time, one gets True. A share of the new keys, the false positive rate, is
        reported as known: False. :exc:`FullError` has ``added`` as in :meth:`add_many`, and ``new`` with the answers for these keys.
        Any other exception keeps the earlier batches in the filter and loses their answers: a second call finds their keys known.
        Cost: that of :meth:`contains_many`, and for new keys that of :meth:`add_many`.
        """
        column = Column(keys, "keys")
        parts: list[bytes] = []
        for batch, done in column.told(progress):
            try:
                parts.append(self._add_new_batch(batch))
            except FullError as error:
                error.added += done
                error.new = column.answers([*parts, error.new])
                raise
        return column.answers(parts)

    def contains_many(self, keys: Iterable[Key], progress: Progress | None = None) -> Any:
        """For each key, in order, whether it may have been added: a list of bool, or an array of bool if the keys are one.

        False is certain. Cost: one page of 4 KiB per key and filter, many in flight; keys of one page share a read.
        """
        column = Column(keys, "keys")
        return column.answers(self._contains_batch(batch) for batch, _ in column.told(progress))

    def copy(self, path: Path, progress: Progress | None = None) -> None:
        """Makes a durable copy in a folder that is empty or absent, with all keys that were added before. Adding waits for it.

        Use it to back up a filter that is open for writing: a copy of its files by another program is complete, or raises
        :exc:`DamagedError` when opened. ``progress(done, total)`` gets bytes. A copy that is aborted leaves nothing.
        """
        self._copy(absolute(path), progress)

    def info(self) -> FilterInfo:
        """Sizes and rates."""
        return FilterInfo(**self._info())

    def __len__(self) -> int:
        """Estimated distinct keys."""
        return self.info().keys
