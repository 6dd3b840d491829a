from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn, TypeVar

Self = TypeVar("Self", bound="Closes")


class Closes:
    """What is open until it is closed: at the end of ``with``, too."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The folder."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled; open it where it is used")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({os.fspath(self.path)!r})"
