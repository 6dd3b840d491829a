"""Generations of a RotatingFilter under clocks that are wrong for a while."""

import json
import os
import random

import pytest
from springflash import RotatingFilter

DAY = 86_400
SETTINGS = {"capacity": 1000, "generations": 4, "max_age": 10 * DAY, "memory": 1 << 18}


@pytest.fixture
def clock(monkeypatch):
    """Days, as the machine tells them."""
    now = [0.0]
    monkeypatch.setattr("time.time", lambda: 1.7e9 + now[0] * DAY)
    return now


def opened(folder, **others):
    return RotatingFilter(folder, **SETTINGS | others)


def test_keys_that_came_while_the_clock_was_ahead_expire_by_the_right_one(tmp_path, clock):
    opened(tmp_path / "set").close()
    clock[0] = 100
    with opened(tmp_path / "set") as seen:
        seen.add("page")
    last = None
    for clock[0] in range(0, 160, 5):
        with opened(tmp_path / "set") as seen:
            seen.add(f"other {clock[0]}")
            if "page" in seen:
                last = clock[0]
    assert last is not None and 30 <= last <= 40
    assert len(os.listdir(tmp_path / "set")) <= 6


@pytest.mark.parametrize("ahead", [3, 12, 100, 10_000])
@pytest.mark.parametrize("adds", [1, 3])
def test_a_clock_that_is_ahead_for_a_while_deletes_nothing(tmp_path, clock, ahead, adds):
    for clock[0] in (0, 8, 12, 24, 36):
        with opened(tmp_path / "set") as seen:
            seen.add(f"day {clock[0]}")
    clock[0] += ahead
    for n in range(adds):
        with opened(tmp_path / "set") as seen:
            clock[0] += 0.1
            seen.add(f"ahead {n}")
    for clock[0] in (36.5, 37, 38, 39):
        with opened(tmp_path / "set") as seen:
            seen.add("again")
            assert seen.contains_many([f"day {day}" for day in (0, 8, 12, 24, 36)] + ["ahead 0"]) == [True] * 6, clock[0]


def test_a_clock_that_is_behind_for_a_while_deletes_nothing_and_keeps_nothing_longer(tmp_path, clock):
    for clock[0] in (0, 8, 16, 24):
        with opened(tmp_path / "set") as seen:
            seen.add(f"day {clock[0]}")
    clock[0] = -15_000  # 1970 or so, until it is set
    with opened(tmp_path / "set") as seen:
        seen.add("behind")
        clock[0] += 1
        assert "day 0" in seen and "behind" in seen
    found = {}
    for clock[0] in range(25, 80):
        with opened(tmp_path / "set") as seen:
            seen.add("daily")
            for key in ("day 24", "behind"):
                if key in seen:
                    found[key] = clock[0]
    assert 54 <= found["day 24"] < 64 and 54 <= found["behind"] < 66


def test_after_a_long_time_off_keys_are_gone_and_files_soon(tmp_path, clock):
    with opened(tmp_path / "set") as seen:
        seen.add("old")
        clock[0] = 50
        assert "old" not in seen
    with opened(tmp_path / "set") as seen:
        seen.add("new")
        assert "old" not in seen and "new" in seen
        for clock[0] in range(50, 56):
            seen.add("more")
        assert sum(name.isdigit() for name in os.listdir(tmp_path / "set")) == 1
        assert "new" in seen


def test_the_clock_of_an_earlier_release_or_a_damaged_one_is_made_again(tmp_path, clock):
    for clock[0] in (0, 12, 24):
        with opened(tmp_path / "set") as seen:
            seen.add(f"day {clock[0]}")
    for damage in (None, b"", b"{", b"[]", b'{"steady": "x"}', b'{"steady": 1, "doubtful": [1], "begun": {}, "early": []}', b"\xff"):
        if damage is None:
            os.unlink(tmp_path / "set" / "clock")
        else:
            (tmp_path / "set" / "clock").write_bytes(damage)
        with opened(tmp_path / "set") as seen:
            seen.add("more")
            assert seen.contains_many(["day 0", "day 12", "day 24", "more"]) == [True] * 4, damage
        assert json.loads((tmp_path / "set" / "clock").read_text())["steady"]


def test_no_single_reading_deletes_or_keeps_for_longer(tmp_path, clock):
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    print("seed", seed)
    rng = random.Random(seed)
    added, right, wrong_at = [], 0.0, rng.randrange(15, 45)
    for n in range(90):
        right += rng.choice([0.3, 0.5, 1, 2])
        wrong = rng.choice([-10_000, -100, -30, -8, -3, 3, 8, 30, 100, 10_000]) if n == wrong_at else 0
        clock[0] = right + wrong
        with opened(tmp_path / "set") as seen:
            seen.add(f"{right}")
            assert f"{right}" in seen
            added.append(right)
            if wrong:
                # It is set right within a day.
                right += rng.random()
                continue
            for day in added:
                # A generation begins at most two days late, as something comes every two days at least.
                assert right - day > 27.5 if f"{day}" not in seen else right - day < 44.5, (n, day, right, wrong)


def test_without_ages_there_is_no_clock(tmp_path):
    with opened(tmp_path / "set", max_age=None) as seen:
        seen.add("a")
        seen.rotate()
    assert all(name.isdigit() for name in os.listdir(tmp_path / "set"))
