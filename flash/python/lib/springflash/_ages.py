from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Sequence
from pathlib import Path as Folder
from time import CLOCK_BOOTTIME, clock_gettime
from typing import Any, NamedTuple

from ._files import sync

#: The file of what is known of ages, and the next one until it is complete.
CLOCK, NEXT_CLOCK = "clock", "clock.new"
#: Seconds between what the clock says and what is expected that mean nothing.
_SLACK = 1.0


def _run_of_machine() -> str:
    """The same until the machine starts again."""
    try:
        return Folder("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return os.urandom(16).hex()


class _Step(NamedTuple):
    """The clock says another time than expected: it was set, or the machine was off."""

    #: The difference, the smallest that was seen.
    seconds: float
    #: How long the clock has gone on since.
    steady: float
    #: Generations that have lived through it if the machine was off: those that were there when the filter was opened.
    older: Sequence[str]
    #: The one of them that may have taken keys since.
    open: str | None


class Ages:
    """How long generations have lived. Never more than they have, whatever the clock of the machine says while it runs.

    The kernel counts the seconds in which the machine runs or sleeps; nobody can set that. Only for the time in which it was off there is
    nothing but the clock: when a filter is opened and the clock is ahead of what is expected, the difference is believed when the clock has
    gone on from there for a quarter of `max_age`. A clock that is set back until then takes it back. What is believed too late or not
    at all keeps keys for longer.
    """

    def __init__(self, folder: Folder, max_age: float | None) -> None:
        self._folder = folder
        self._max_age = math.inf if max_age is None else max_age
        self._run, now = _run_of_machine(), clock_gettime(CLOCK_BOOTTIME)
        found = self._found()
        is_same_run = found.get("run") == self._run and found["counted"] <= now
        #: The kernel's count at the last look.
        self._counted: float = found["counted"] if is_same_run else now
        #: Of each generation, at the last look.
        self._ages: dict[str, float] = found.get("ages", {})
        #: What the clock should have said at the last look, and how far it was ahead.
        self._expected: float | None = found.get("expected")
        self._ahead: float = found.get("ahead", 0.0)
        self._step = _Step(*found["step"]) if found.get("step") else None
        self._is_opening = True
        #: Whether the last look was the first one at a step: no generation has taken keys since.
        self._is_new_step = False
        #: What was expected when that was saved.
        self._saved = 0.0

    def _found(self) -> dict[str, Any]:
        """What was saved, or nothing if that is damaged."""
        try:
            check, _, text = (self._folder / CLOCK).read_bytes().partition(b" ")
            return json.loads(text) if int(check, 16) == zlib.crc32(text) else {}
        except (FileNotFoundError, ValueError):
            return {}

    def save(self) -> None:
        """Makes what is known durable."""
        self.copy(self._folder)
        self._saved = self._expected or 0.0

    def copy(self, folder: Folder) -> None:
        """Makes it durable in the folder of a copy."""
        if not self._ages or self._max_age == math.inf:
            return
        known = {
            "run": self._run,
            "counted": self._counted,
            "expected": self._expected,
            "ahead": self._ahead,
            "step": self._step,
            "ages": self._ages,
        }
        text = json.dumps(known).encode()
        with open(folder / NEXT_CLOCK, "wb") as file:
            file.write(b"%x %s" % (zlib.crc32(text), text))
            file.flush()
            os.fsync(file.fileno())
        os.rename(folder / NEXT_CLOCK, folder / CLOCK)
        sync(folder)

    def _passed(self) -> float:
        return max(0.0, clock_gettime(CLOCK_BOOTTIME) - self._counted)

    def observe(self, clock: float, names: list[str]) -> None:
        """Takes a reading of the clock into account."""
        passed, step = self._passed(), self._step
        self._counted += passed
        self._ages = {name: self._ages[name] + passed if name in self._ages else 0.0 for name in names}
        expected = clock if self._expected is None else self._expected + passed
        ahead = clock - expected
        older: Sequence[str] = names if self._is_opening else []
        if step is not None and ahead * step.seconds > 0 and abs(ahead) >= abs(step.seconds) - _SLACK:
            # Between two openings the clock alone has gone on.
            steady = step.steady + passed + (max(0.0, ahead - self._ahead) if self._is_opening else 0.0)
            step = step._replace(seconds=min(step.seconds, ahead, key=abs), steady=steady)
            if steady >= self._max_age / 4:
                self._add(step)
                expected, ahead, step = expected + step.seconds, ahead - step.seconds, None
        elif step is not None:
            older, step = step.older or older, None
        if step is None and abs(ahead) > _SLACK:
            step = _Step(ahead, 0.0, older, older[-1] if older else None)
        # What is left of a step that was believed may have come before keys that were taken since.
        self._is_new_step = step is not None and self._step is None and step.older is names
        is_told = self._is_opening or (step is None) != (self._step is None) or expected - self._saved > self._max_age / 16
        self._expected, self._ahead, self._step, self._is_opening = expected, ahead, step, False
        if is_told:
            self.save()

    def _add(self, step: _Step) -> None:
        """Counts time in which the machine was off."""
        for name, age in self._ages.items():
            if name in step.older:
                # It ends now, so what it took is younger than that.
                limit = self._max_age if name == step.open else math.inf
                self._ages[name] = max(age, min(age + step.seconds, limit))

    def begins(self, name: str) -> None:
        """A generation begins now."""
        self._ages[name] = -self._passed()
        if self._step is not None and self._is_new_step:
            self._step = self._step._replace(open=None)
        self.save()

    def is_older(self, name: str, ages: int) -> bool:
        """Whether a generation began at least `ages` times `max_age` ago."""
        return name in self._ages and self._ages[name] + self._passed() >= ages * self._max_age
