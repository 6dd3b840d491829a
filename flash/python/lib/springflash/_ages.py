from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path as Folder
from typing import Any

from ._files import sync

#: The file of what is known of the clock, and the next one until it is complete.
CLOCK, NEXT_CLOCK = "clock", "clock.new"
#: A reading this part of `max_age` after the last one may be wrong until a later one agrees with it.
_STEPS = 4


class Ages:
    """How old generations are, by a clock that may be wrong for a while. Times are in microseconds.

    What can be undone follows the last reading: which keys are found, and when a generation begins. What cannot be undone follows the
    readings that others agree with: a reading that steps back, or far ahead, counts only when the clock has gone on from there for a
    quarter of `max_age`.
    """

    def __init__(self, folder: Folder, max_age: float | None, names: list[str], now: int) -> None:
        self._folder = folder
        self._max_age = None if max_age is None else max_age * 1e6
        found = self._found()
        #: The last reading that others agree with. The name of a generation is one, of an earlier release as well.
        self._steady = int(found.get("steady", names[-1] if names else now))
        #: The first and the last of the readings that agree with each other, but not with that one.
        self._doubtful: list[int] = [int(time) for time in found.get("doubtful", [])]
        #: When generations began that have a later time in their name: the clock was ahead.
        self._begun: dict[str, int] = {name: int(time) for name, time in found.get("begun", {}).items()}
        #: Generations that began by a doubtful reading. They push no other one out.
        self._early: set[str] = set(found.get("early", []))
        #: What was saved last.
        self._saved: dict[str, Any] = found

    def _found(self) -> dict[str, Any]:
        """What was saved, or nothing if that is damaged."""
        try:
            found = json.loads((self._folder / CLOCK).read_bytes())
            numbers = [found["steady"], *found["doubtful"], *found["begun"].values()]
            is_whole = len(found["doubtful"]) in (0, 2) and all(type(number) is int for number in numbers)
            return found if is_whole and all(type(name) is str for name in found["early"]) else {}
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def save(self, names: Iterable[str]) -> None:
        """Makes what is known durable."""
        known = self._known(names)
        if self._max_age is not None and known != self._saved:
            self._write(self._folder, known)
            self._saved = known

    def copy(self, folder: Folder, names: Iterable[str]) -> None:
        """Writes what is known to the folder of a copy."""
        if self._max_age is not None:
            self._write(folder, self._known(names))

    def _known(self, names: Iterable[str]) -> dict[str, Any]:
        here = set(names)
        return {
            "steady": self._steady,
            "doubtful": self._doubtful,
            "begun": {name: time for name, time in self._begun.items() if name in here},
            "early": sorted(self._early & here),
        }

    @staticmethod
    def _write(folder: Folder, known: dict[str, Any]) -> None:
        with open(folder / NEXT_CLOCK, "w") as file:
            json.dump(known, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(folder / NEXT_CLOCK, folder / CLOCK)
        sync(folder)

    def observe(self, now: int, names: list[str]) -> None:
        """Takes a reading into account."""
        if self._max_age is None:
            return
        step = self._max_age / _STEPS
        before = (self._doubtful[:1], len(self._begun), len(self._early))
        since = None
        if self._steady <= now <= self._steady + step:
            self._steady, self._doubtful, since = now, [], now
        elif self._doubtful and self._doubtful[0] <= now and not self._doubtful[0] < self._steady <= now:
            first, last = self._doubtful
            if now - first < step:
                self._doubtful = [first, now]
            else:
                # The clock has gone on from the first, so it is believed: up to now, or to where the next step is a large one.
                is_near = now - last <= step
                self._steady, self._doubtful, since = (now, [], first) if is_near else (last, [now, now], first)
        else:
            self._doubtful = [now, now]
        if since is not None:
            self._begun |= {name: since for name in names if self.begun(name) > now}
            self._early = {name for name in self._early if name in self._begun or int(name) > self._steady}
        is_other = before != (self._doubtful[:1], len(self._begun), len(self._early))
        if is_other or abs(self._steady - self._saved.get("steady", 0)) > step / _STEPS:
            self.save(names)

    def begun(self, name: str) -> int:
        return self._begun.get(name, int(name))

    def next_name(self, names: Iterable[str], now: int) -> str:
        """A name for a generation that begins now. Names rise even if the clock does not."""
        last = int(max(names, default="0"))
        return f"{max(last + 1, now, self._steady):020}"

    def begins(self, name: str, names: Iterable[str]) -> None:
        """A generation is to begin because the newest is old. That may be wrong."""
        if self._doubtful:
            self._early.add(name)
            self.save([*names, name])

    def is_older(self, name: str, ages: int, now: int) -> bool:
        """Whether a generation began at least `ages` times `max_age` ago, by the reading `now`."""
        return self._max_age is not None and now - self.begun(name) >= ages * self._max_age

    def is_surely_older(self, name: str, ages: int) -> bool:
        """The same by readings that others agree with."""
        return self.is_older(name, ages, self._steady)

    def beyond(self, names: list[str], kept: int) -> list[str]:
        """The oldest generations, which the `kept` newest push out."""
        return [name for name in names if name not in self._early][:-kept]
