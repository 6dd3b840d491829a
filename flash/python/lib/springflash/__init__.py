"""A Bloom filter and a dictionary that are larger than memory, durable, and on an SSD. Linux only."""

from ._filter import FilterInfo, FlashFilter
from ._index import FlashIndex, IndexInfo
from ._rotating import RotatingFilter
from ._springflash import ClosedError, DamagedError, FlashError, ForkedError, FullError, InUseError, ReadOnlyError, __version__

__all__ = [
    "ClosedError",
    "DamagedError",
    "FilterInfo",
    "FlashError",
    "FlashFilter",
    "FlashIndex",
    "ForkedError",
    "FullError",
    "InUseError",
    "IndexInfo",
    "ReadOnlyError",
    "RotatingFilter",
    "__version__",
]
