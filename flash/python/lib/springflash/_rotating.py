from __future__ import annotations

import contextlib
import errno
import math
import numbers
import os
import re
import shutil
import threading
import time
from collections.abc import Iterable
from pathlib import Path as Folder
from typing import Any

from ._ages import CLOCK, NEXT_CLOCK, Ages
from ._batches import Column, Progress
from ._closes import Closes
from ._files import fault, make, sync
from ._filter import FilterInfo, FlashFilter, Key, Path, absolute, memory_bytes, rate, shown, whole
from ._springflash import ClosedError, FolderLock, ForkedError, FullError, InUseError

#: Before the name of a generation until it is made, and from its removal until it is gone.
_NEW, _GONE = "new-", "gone-"
#: What is in the folder.
_GENERATION = re.compile(rf"({_NEW}|{_GONE})?[0-9]{{20}}")


def _remove(generation: Folder) -> None:
    if generation.is_symlink():
        # What a link points to belongs to others.
        generation.unlink()
        return
    # `shutil.rmtree` closes a descriptor twice if it is interrupted.
    for name in os.listdir(generation):
        os.unlink(generation / name)
    os.rmdir(generation)


def _is_first(seen: set[bytes], key: Key) -> bool:
    """Whether a key was not seen before. It is from now on."""
    before = len(seen)
    seen.add(key.encode() if isinstance(key, str) else bytes(key))
    return len(seen) > before


class RotatingFilter(Closes):
    """A set whose old keys expire: generations of :class:`FlashFilter` in one folder. New keys go to the newest one.

    A generation ends when it holds ``capacity`` keys, when it is ``max_age`` seconds old, or by :meth:`rotate`. The newest
    ``generations`` are kept for ``generations * max_age`` seconds, with or without new keys. So a key stays for at least
    ``generations - 1`` of them: for 30 to 40 days with ``generations=4`` and ``max_age=10 * 86400``. Each generation is
    built for its share of ``false_positive_rate``, and takes disk space and ``memory`` (bytes) of its own.
    A lookup of an absent key reads a page of each. Only one process can open the filter.

    The kernel counts these seconds while the machine runs or sleeps, so setting the clock changes nothing. Time off is read from the clock
    at the next opening, and counts once the clock has run for a quarter of ``max_age``; until then keys stay.
    """

    def __init__(
        self,
        path: Path,
        *,
        capacity: float,
        generations: int = 2,
        max_age: float | None = None,
        false_positive_rate: float = 0.01,
        memory: int = 16 << 20,
    ) -> None:
        if max_age is not None and (isinstance(max_age, bool) or not isinstance(max_age, numbers.Real) or not max_age > 0):
            raise ValueError(f"max_age is {shown(max_age)}, expected seconds above 0, or None")
        self._rate = rate("false_positive_rate", false_positive_rate)
        generations = whole("generations", generations, 2)
        self._settings: dict[str, Any] = {
            "capacity": whole("capacity", capacity, 1),
            "false_positive_rate": self._rate / generations,
            "memory": memory_bytes(memory),
        }
        self._folder = Folder(absolute(path))
        self._kept, self._max_age = generations, max_age
        self._process, self._unguarded = os.getpid(), threading.RLock()
        made = make(self._folder)
        try:
            self._open()
        except InUseError:
            raise  # the process that has it open needs the folder, which may still be empty
        except Exception:
            # Such as a budget that is too small for the capacity. Folders that hold something stay.
            with contextlib.suppress(OSError):
                for folder in made:
                    folder.rmdir()
            raise

    def _open(self) -> None:
        self._folder_lock = FolderLock(self._folder)
        found = sorted(os.listdir(self._folder))
        strange = [name for name in found if not _GENERATION.fullmatch(name) and name not in (CLOCK, NEXT_CLOCK)]
        if strange:
            reason = f"{self._folder} holds {', '.join(strange[:4])}, expected only generations of a RotatingFilter"
            raise FileExistsError(errno.EEXIST, reason, str(self._folder))
        #: By name, oldest first.
        self._generations: dict[str, FlashFilter] = {}
        #: The name of the one that a rotation makes, until that is complete.
        self._next: str | None = None
        self._is_settled = False
        self._ages = Ages(self._folder, self._max_age)
        self._keep_up()

    @property
    def _lock(self) -> threading.RLock:
        if os.getpid() != self._process:
            # A thread that is not in the forked process may hold the lock.
            raise fault(ForkedError, self._folder, "it was opened before this process was forked; open it again in this process")
        return self._unguarded

    @property
    def path(self) -> Folder:
        """The folder."""
        return self._folder

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        with self._lock:
            return self._folder_lock.is_released

    def _require_open(self) -> None:
        if self._folder_lock.is_released:
            raise fault(ClosedError, self._folder, "it is closed")

    def _keep_up(self) -> None:
        """Completes what was interrupted, and does what is due by the clock."""
        self._require_open()
        if not self._is_settled:
            self._settle()
        names = self._look()
        if not names or self._ages.is_older(names[-1], 1):
            self._begin()
        elif len(names) > self._kept or any(self._ages.is_older(name, self._kept) for name in names):
            self._settle()

    def _look(self) -> list[str]:
        """Takes a reading of the clock. Gives the names of the generations."""
        names = [*self._generations]
        self._ages.observe(time.time(), names)
        return names

    def rotate(self) -> None:
        """Begins a generation, and forgets the oldest if there are too many. After an interrupt, a call again completes it."""
        with self._lock:
            self._require_open()
            self._begin()

    def _begin(self) -> None:
        if self._next is None:
            for generation in [*self._generations.values()][-1:]:
                generation.commit()
            self._is_settled = False
            # Names rise even if the clock does not.
            self._next = f"{max(int(max(self._generations, default='0')) + 1, int(time.time() * 1e6)):020}"
        self._settle()

    def _settle(self) -> None:
        """Completes a rotation from wherever an interrupt or an error left it. Only the folder tells how far it came."""
        self._is_settled = False
        names = []
        for name in filter(_GENERATION.fullmatch, sorted(os.listdir(self._folder))):
            if not name.isdigit():
                _remove(self._folder / name)
            elif self._ages.is_older(name, self._kept):
                # First, as the next one may need its room.
                self._forget(name)
            else:
                names.append(name)
        if self._next is not None and self._next not in names:
            self._make(self._next)
            names.append(self._next)
            self._ages.begins(self._next)
        sync(self._folder)
        for name in names[: -self._kept]:
            self._forget(name)
        names = names[-self._kept :]
        for name in names:
            if name not in self._generations or self._generations[name].closed:
                # In no variable: the traceback of an interrupt would keep it, and so the filter open.
                self._generations[name] = FlashFilter(self._folder / name, "w", memory=self._settings["memory"])
        self._generations = {name: self._generations[name] for name in names}
        self._next, self._is_settled = None, True

    def _make(self, name: str) -> None:
        new = self._folder / (_NEW + name)
        try:
            FlashFilter(new, "x", **self._settings).close()
        except Exception:
            # Such as a full disk. The newest generation goes on.
            self._next = None
            raise
        os.rename(new, self._folder / name)

    def _forget(self, name: str) -> None:
        if name in self._generations:
            self._generations[name].close()
        gone = self._folder / (_GONE + name)
        os.rename(self._folder / name, gone)
        _remove(gone)

    def _live(self) -> list[FlashFilter]:
        """Newest first, without those that have expired or are being forgotten."""
        self._require_open()
        generations = reversed(self._generations.items())
        return [generation for name, generation in generations if not self._ages.is_older(name, self._kept) and not generation.closed]

    def add(self, key: Key) -> None:
        """Adds a key to the newest generation, even if an older one has it: its age starts again."""
        self.add_many([key])

    def add_many(self, keys: Iterable[Key], progress: Progress | None = None) -> None:
        """Adds keys, as :meth:`FlashFilter.add_many` does. They are durable after :meth:`commit`.

        Raises :exc:`FullError` if the disk has no room for a generation.
        """
        for batch, done in Column(keys, "keys").lists(progress):
            with self._lock:
                self._add_batch(batch, done)

    def add_new(self, key: Key) -> bool:
        """Adds a key, as :meth:`add` does, and tells whether it is new, as :meth:`FlashFilter.add_new` does."""
        return bool(self.add_new_many([key])[0])

    def add_new_many(self, keys: Iterable[Key], progress: Progress | None = None) -> Any:
        """Adds keys, as :meth:`add_many` does, and tells which no generation had, as :meth:`FlashFilter.add_new_many` does."""
        column = Column(keys, "keys")
        new = bytearray()
        for batch, done in column.lists(progress):
            with self._lock:
                known, seen = self._contains_batch(batch), set[bytes]()
                answers = bytes(not is_known and _is_first(seen, key) for key, is_known in zip(batch, known))
                try:
                    self._add_batch(batch, done)
                except FullError as full:
                    full.new = column.answers([bytes(new), answers[: full.added - done]])
                    raise
            new += answers
        return column.answers([bytes(new)])

    def _add_batch(self, rest: list[Key], done: int) -> None:
        """`done` are those before it in the call."""
        try:
            self._keep_up()
        except FullError as full:
            full.added = done
            raise
        while rest:
            try:
                self._generations[max(self._generations)].add_many(rest)
                return
            except FullError as full:
                rest = rest[full.added :]
                done += full.added
            try:
                self.rotate()
            except FullError as full:
                full.added = done
                raise

    def __contains__(self, key: Key) -> bool:
        with self._lock:
            return any(key in generation for generation in self._live())

    def contains_many(self, keys: Iterable[Key], progress: Progress | None = None) -> Any:
        """For each key, in order, whether it may be in a generation, as :meth:`FlashFilter.contains_many` tells. False is certain."""
        column = Column(keys, "keys")
        answers = bytearray()
        for batch, _ in column.lists(progress):
            with self._lock:
                answers += bytes(self._contains_batch(batch))
        return column.answers([bytes(answers)])

    def _contains_batch(self, keys: list[Key]) -> list[bool]:
        answers = [False] * len(keys)
        left = list(range(len(keys)))
        for generation in self._live():
            for n, is_there in zip(left, generation.contains_many([keys[n] for n in left])):
                answers[n] = is_there
            left = [n for n in left if not answers[n]]
        return answers

    def info(self) -> FilterInfo:
        """Sizes and rates of all generations together. A key that several of them have counts in each."""
        with self._lock:
            of_each = [generation.info() for generation in self._live()]
        sums = {name: sum(getattr(one, name) for one in of_each) for name in ("keys", "capacity", "file_bytes", "memory_bytes")}
        absent = math.prod(1 - one.false_positive_rate for one in of_each)
        return FilterInfo(
            **sums,
            false_positive_rate=1 - absent,
            target_false_positive_rate=self._rate,
            is_full=False,
            layers=len(of_each),
        )

    def commit(self) -> None:
        """Makes all added keys durable."""
        with self._lock:
            for generation in self._live()[:1]:
                generation.commit()
            self._look()

    def copy(self, path: Path, progress: Progress | None = None) -> None:
        """Makes a durable copy, as :meth:`FlashFilter.copy` does. A kill leaves a folder whose name ends with ``.new``: remove it."""
        copy = Folder(os.path.realpath(absolute(path)))
        with self._lock:
            self._require_open()
            if Folder(os.path.realpath(self._folder)) in (copy, *copy.parents):
                raise ValueError(f"the folder of the copy is {copy}, expected one outside {self._folder}")
            if copy.exists() and os.listdir(copy):
                raise FileExistsError(errno.EEXIST, "is not empty, expected an empty folder or one that does not exist", str(copy))
            new = copy.with_name(copy.name + ".new")
            if os.path.lexists(new):
                raise FileExistsError(errno.EEXIST, "may be left of a copy that was killed; remove it, or copy to another folder", str(new))
            try:
                new.mkdir()
                for name, generation in self._generations.items():
                    generation.copy(new / name, progress)
                self._ages.copy(new)
                sync(new)
                os.rename(new, copy)
            except BaseException as ended:
                if not (isinstance(ended, FileExistsError) and ended.filename == str(new)):
                    shutil.rmtree(new, ignore_errors=True)
                raise
            sync(copy.parent)

    def close(self) -> None:
        """Makes all added keys durable and closes. `with` does the same at its end."""
        with self._lock:
            # Whatever fails, the others are closed.
            with contextlib.ExitStack() as closing:
                closing.callback(self._folder_lock.release)
                if not self._folder_lock.is_released:
                    closing.callback(self._ages.save)
                    closing.callback(self._look)
                for generation in self._generations.values():
                    closing.callback(generation.close)
