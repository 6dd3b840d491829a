from __future__ import annotations

import os
from pathlib import Path

from ._springflash import FlashError


def sync(folder: str | os.PathLike[str]) -> None:
    """Makes the names in a folder durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def make(folder: Path) -> list[Path]:
    """Makes a folder, durably, with those above it. Returns those that were missing."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync(made.parent)
    return missing


def fault(kind: type[FlashError], path: object, reason: str) -> FlashError:
    """An exception as the Rust side makes it."""
    error = kind(f"{path}: {reason}")
    error.path, error.reason = str(path), reason
    return error
