"""Generations of a RotatingFilter under clocks that are wrong."""

import os
import random

import pytest
from springflash import RotatingFilter

DAY = 86_400
SETTINGS = {"capacity": 1000, "generations": 4, "max_age": 10 * DAY, "memory": 1 << 18}


def opened(folder, **others):
    return RotatingFilter(folder, **SETTINGS | others)


def generations(folder):
    return sum(name.isdigit() for name in os.listdir(folder))


@pytest.mark.parametrize("days", [-15_000, -15, 3, 40, 10_000])
@pytest.mark.parametrize(("lasts", "is_reopened"), [(0.3, False), (60, False), (2.4, True)])
def test_while_the_machine_runs_no_clock_changes_when_a_key_expires(tmp_path, clock, days, lasts, is_reopened):
    """A wrong clock of any duration that is corrected while the filter is open, and a short one that is corrected at any time."""
    start, added, wrong = clock.seconds, [], (10, 10 + lasts)
    seen = opened(tmp_path / "set", false_positive_rate=1e-6)
    for step in range(240):
        day = step * 0.4
        clock.seconds, clock.wrong = start + day * DAY, days * DAY if wrong[0] <= day < wrong[1] else 0
        if is_reopened and step % 7 == 0:
            seen.close()
            seen = opened(tmp_path / "set", false_positive_rate=1e-6)
        if step % 5 == 0:
            for since, is_there in zip(added, seen.contains_many([f"day {since}" for since in added])):
                assert is_there if day < since + 30 - 1e-6 else day < since + 40.2 or not is_there, (day, since)
        seen.add(f"day {day}")
        added.append(day)
    assert generations(tmp_path / "set") <= 5
    seen.close()


@pytest.mark.parametrize("call", ["commit", "close"])
def test_a_clock_that_is_corrected_before_a_commit_or_the_close_ends_no_key(tmp_path, clock, call):
    """Lookups alone follow the correction: what does not look at the clock then would take it for time off later."""
    seen = opened(tmp_path / "set")
    clock.wrong = -100 * DAY
    for _ in range(3):
        clock.seconds += 4 * DAY
        seen.add("key")
    clock.wrong = 0
    clock.seconds += 8 * DAY
    assert "key" in seen
    if call == "commit":
        seen.commit()
    seen.close()
    seen = opened(tmp_path / "set")
    clock.seconds += 3 * DAY
    seen.add("other")
    assert "key" in seen
    seen.close()


@pytest.mark.parametrize("ahead", [3, 100, 10_000])
def test_a_start_with_a_clock_that_is_ahead_forgets_nothing_if_it_is_corrected_soon(tmp_path, clock, ahead):
    with opened(tmp_path / "set") as seen:
        for n in range(35):
            seen.add(f"day {n}")
            clock.seconds += DAY
    days = [f"day {n}" for n in range(6, 35)]
    clock.off(DAY / 100)
    clock.wrong = ahead * DAY
    for _ in range(3):
        with opened(tmp_path / "set") as seen:
            clock.seconds += 0.7 * DAY
            seen.add("ahead")
            assert all(seen.contains_many(days))
    clock.wrong = 0
    with opened(tmp_path / "set") as seen:
        clock.seconds += 2.8 * DAY
        seen.add("right")
        assert all(seen.contains_many(days[6:]))
        clock.seconds += 29 * DAY
        assert seen.contains_many(["day 29", "day 30", "ahead", "right"]) == [False, True, True, True]
        clock.seconds += 11 * DAY
        assert not any(seen.contains_many([*days, "ahead", "right"]))


def test_time_off_counts_when_the_clock_has_gone_on(tmp_path, clock):
    with opened(tmp_path / "set") as seen:
        for n in range(15):
            seen.add(f"day {n}")
            clock.seconds += DAY
    clock.off(50 * DAY)
    with opened(tmp_path / "set") as seen:
        seen.add("new")
        assert "day 0" in seen and "day 14" in seen
        clock.seconds += 2.6 * DAY
        seen.add("newer")
        assert "day 0" not in seen and seen.contains_many(["new", "newer"]) == [True, True]
    # What was in use before ends only then, as it may have taken keys meanwhile.
    clock.seconds += 31 * DAY
    with opened(tmp_path / "set") as seen:
        assert "day 14" not in seen and "newer" in seen


def test_time_off_before_a_key_was_taken_does_not_count_for_the_key(tmp_path, clock):
    """The first time off is believed at the third start, which ends the generation. The second one came before the key."""
    seen = opened(tmp_path / "set", generations=2)

    def starts_again_after(days):
        nonlocal seen
        seen.close()
        clock.off(days * DAY)
        seen = opened(tmp_path / "set", generations=2)

    seen.add("first")
    clock.seconds += DAY
    starts_again_after(20)
    clock.seconds += DAY
    seen.commit()
    starts_again_after(1)
    seen.add("key")
    starts_again_after(5)
    for _ in range(49):
        seen.add("other")
        clock.seconds += DAY / 10
        assert "key" in seen  # It was taken 5 to 9.9 days ago.
    clock.seconds += 12 * DAY
    seen.add("other")
    assert "key" not in seen
    seen.close()


def test_a_machine_that_runs_for_an_hour_each_week(tmp_path, clock):
    found = {}
    for week in range(60):
        with opened(tmp_path / "set") as seen:
            seen.add(f"week {week}")
            clock.seconds += 3600
            for earlier in range(week + 1):
                if f"week {earlier}" in seen:
                    found[earlier] = week - earlier
        clock.off(7 * DAY - 3600)
    assert all(30 / 7 <= weeks <= (50 + 14) / 7 for weeks in list(found.values())[:45]), found


@pytest.mark.parametrize("round", range(4))
def test_no_key_is_forgotten_early_under_any_clock_and_late_only_by_the_time_off(tmp_path, clock, round):
    """Walks of true time, of a clock that is set while the filter is open, is ahead at openings for less than a quarter of `max_age`, and
    of starts of the machine. The oracle knows the true time."""
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    print("seed", seed)
    rng = random.Random(f"{seed} {round}")
    ages, wrongness = rng.choice([2, 3, 4]), [30, -30, -1, 1, 3, -8, 400, -400, 20_000, -19_000]
    settings = {"generations": ages, "false_positive_rate": 1e-6}
    is_right_at_starts = round % 2 == 0
    seen = opened(tmp_path / "set", **settings)
    added, until, longest_off = [], None, 0.0
    begin, ran = clock.seconds, 0.0
    while clock.seconds < begin + 200 * DAY:
        act = rng.random()
        step = rng.choice([0.01, 0.1, 0.3, 0.6]) * DAY
        if until is not None and clock.seconds + step >= until:
            clock.wrong, until = 0, None
        elif until is None and act < 0.1 and not is_right_at_starts:
            clock.wrong, until = abs(rng.choice(wrongness)) * DAY, clock.seconds + 2.4 * DAY * rng.random()
        elif act < 0.2:
            # While it is open: any clock, and it is right again before it is closed.
            for clock.wrong in rng.choices(wrongness, k=3):
                seen.add(f"{clock.seconds}")
                added.append((f"{clock.seconds}", clock.seconds, ran))
                clock.seconds, ran = clock.seconds + step, ran + step
            clock.wrong, until = 0, None
            seen.add("corrected")
        elif act < 0.4:
            seen.close()
            if rng.random() < 0.5:
                off = rng.choice([0.01, 1, 5]) * DAY
                clock.off(off)
                longest_off = max(off, longest_off)
                if until is not None and clock.seconds >= until:
                    clock.wrong, until = 0, None
            seen = opened(tmp_path / "set", **settings)
        clock.seconds, ran = clock.seconds + step, ran + step
        key = f"{clock.seconds}"
        seen.add(key)
        added.append((key, clock.seconds, ran))
        for (key, since, then), is_there in zip(added, seen.contains_many([key for key, _, _ in added])):
            age = (clock.seconds - since) / DAY
            assert is_there or age >= (ages - 1) * 10 - 0.001, (key, age)
            assert not is_there or (ran - then) / DAY <= ages * 10 + 0.001, (key, age)
            if is_right_at_starts:
                assert not is_there or age <= (ages + 1) * 10 + 2 * longest_off / DAY, (key, age)
        added = [one for one in added if clock.seconds - one[1] < 90 * DAY]
    seen.close()


@pytest.mark.parametrize("damage", [None, b"", b"{", b"0 {}", "flip", b"\xff"])
def test_a_clock_file_that_is_lost_or_damaged_forgets_nothing(tmp_path, clock, damage):
    for _ in range(3):
        with opened(tmp_path / "set") as seen:
            seen.add(f"day {clock.seconds - 1.7e9:.0f}")
        clock.seconds += 12 * DAY
    file = tmp_path / "set" / "clock"
    whole = file.read_bytes()
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(whole.replace(b"1", b"9") if damage == "flip" else damage)
    clock.off(50 * DAY)
    with opened(tmp_path / "set") as seen:
        seen.add("more")
        clock.seconds += 3 * DAY
        seen.add("more")
        assert all(seen.contains_many([f"day {12 * n * DAY}" for n in range(3)]))
        clock.seconds += 40 * DAY
        assert "day 0" not in seen
    assert file.read_bytes() != whole


def test_without_ages_there_is_no_clock(tmp_path):
    with opened(tmp_path / "set", max_age=None) as seen:
        seen.add("a")
        seen.rotate()
    assert all(name.isdigit() for name in os.listdir(tmp_path / "set"))
