from __future__ import annotations

import errno
import fcntl
import os

from ._springflash import FlashError, _in_use, _no_locks


def _opened(folder: str | os.PathLike[str]) -> int:
    """Never as 0 to 2: a program without standard error may point it at a file later, which would close this one."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    if opened > 2:
        return opened
    try:
        return fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(opened)


def sync(folder: str | os.PathLike[str]) -> None:
    """Makes the names in a folder durable."""
    opened = _opened(folder)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def fault(kind: type[FlashError], path: object, reason: str) -> FlashError:
    """An exception as the Rust side makes it."""
    error = kind(f"{path}: {reason}")
    error.path, error.reason = str(path), reason
    return error


class FolderLock:
    """A folder that nobody else has, until it is released or forgotten."""

    #: Until it is opened, which an interrupt may end.
    _file = -1

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._process = os.getpid()
        self._file = _opened(folder)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            self._file = -1
            raise (_in_use(folder) if isinstance(error, BlockingIOError) else _no_locks(folder, error.errno or errno.EIO)) from None

    @property
    def is_released(self) -> bool:
        return self._file < 0

    def release(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            if self._process == os.getpid():
                # A forked process has the file open as well.
                fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)

    __del__ = release
