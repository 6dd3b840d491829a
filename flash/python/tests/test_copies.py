"""Copies of what is open: its own are whole, those of other programs are whole or refused."""

import os
import shutil

import pytest
from springflash import ClosedError, DamagedError, FlashFilter, FlashIndex, RotatingFilter

KEYS = [b"%d" % n for n in range(50_000)]


def copied_in_between(source, target, goes_on):
    """As `cp` does, while the program goes on."""
    os.mkdir(target)
    for name in sorted(os.listdir(source)):
        shutil.copyfile(source / name, target / name)
        goes_on()


def test_files_of_a_filter_that_are_copied_while_it_is_written_are_refused(tmp_path):
    later = iter(range(1_000_000, 2_000_000))
    with FlashFilter(tmp_path / "live", capacity=1e6, memory=1 << 20) as live:
        live.add_many(KEYS)
        live.commit()

        def goes_on():
            live.add_many(b"%d" % next(later) for _ in range(150_000))
            live.commit()

        copied_in_between(tmp_path / "live", tmp_path / "torn", goes_on)
        for mode in ("r", "w", "c"):
            with pytest.raises(DamagedError, match=r"filter-0000 was copied while it was written.*copy_to"):
                FlashFilter(tmp_path / "torn", mode)


def test_files_of_a_filter_that_are_copied_between_commits_are_whole(tmp_path):
    later = iter(range(1_000_000, 2_000_000))
    with FlashFilter(tmp_path / "live", capacity=1e6) as live:
        live.add_many(KEYS)
        live.commit()
        copied_in_between(tmp_path / "live", tmp_path / "copy", lambda: (live.add(b"new %d" % next(later)), live.commit()))
    with FlashFilter(tmp_path / "copy", "r") as copy:
        assert copy.contains_many(KEYS).count(False) == 0 and copy.verify()


def test_a_filter_copies_itself_while_it_is_open(tmp_path):
    told = []
    with FlashFilter(tmp_path / "live", capacity=1e6, memory=1 << 20) as live:
        live.add_many(KEYS)
        live.copy(tmp_path / "copy", lambda done, total: told.append((done, total)))
        live.add("later")
    assert told and told[-1][0] == told[-1][1] == sum(os.path.getsize(tmp_path / "copy" / name) for name in os.listdir(tmp_path / "copy"))
    with FlashFilter(tmp_path / "copy", "r") as copy:
        assert copy.contains_many(KEYS).count(False) == 0 and "later" not in copy
        copy.copy(os.fsencode(tmp_path / "again"))
    with FlashFilter(tmp_path / "again") as again:
        assert again.contains_many(KEYS).count(False) == 0 and again.verify()
    with pytest.raises(ClosedError):
        live.copy(tmp_path / "closed")
    assert not (tmp_path / "closed").exists()


def test_an_index_copies_itself_while_it_is_open(tmp_path):
    with FlashIndex(tmp_path / "live") as live:
        live.put_many(KEYS, KEYS)
        live.copy(tmp_path / "copy")
        live["0"] = "later"
    with FlashIndex(tmp_path / "copy", "r") as copy:
        assert copy.get_many(KEYS) == KEYS and copy.verify()


def test_a_rotating_filter_copies_itself_with_its_ages(tmp_path, clock):
    settings = {"capacity": 1000, "generations": 3, "max_age": 10}
    with RotatingFilter(tmp_path / "live", **settings) as live:
        live.add("old")
        clock.seconds += 11
        live.add("young")
        live.copy(tmp_path / "copy")
        live.add("later")
    with RotatingFilter(tmp_path / "copy", **settings) as copy:
        assert copy.contains_many(["old", "young", "later"]) == [True, True, False]
        clock.seconds += 20
        assert copy.contains_many(["old", "young"]) == [False, True]
    assert sorted(os.listdir(tmp_path)) == ["copy", "live"]


def test_what_a_killed_copy_left_is_named(tmp_path):
    with RotatingFilter(tmp_path / "live", capacity=1000) as live:
        (tmp_path / "copy.new").mkdir()
        with pytest.raises(FileExistsError, match="remove it") as error:
            live.copy(tmp_path / "copy")
        assert error.value.filename == str(tmp_path / "copy.new") and (tmp_path / "copy.new").is_dir()
        (tmp_path / "copy.new").rmdir()
        live.copy(tmp_path / "copy")


@pytest.mark.parametrize("kind", ["FlashFilter", "FlashIndex", "RotatingFilter"])
def test_copies_overwrite_nothing_and_leave_nothing_if_they_fail(tmp_path, kind):
    opened = {
        "FlashFilter": lambda: FlashFilter(tmp_path / "it", capacity=1000),
        "FlashIndex": lambda: FlashIndex(tmp_path / "it"),
        "RotatingFilter": lambda: RotatingFilter(tmp_path / "it", capacity=1000),
    }
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "it")

    def ended(done, total):
        raise InterruptedError

    with opened[kind]() as it:
        before = sorted(os.listdir(tmp_path / "it"))
        for within in ("it", "it/copy", "link", "link/copy"):
            with pytest.raises(ValueError, match="expected one outside"):
                it.copy(tmp_path / within)
        with pytest.raises(FileExistsError) as error:
            it.copy(tmp_path / "mine")
        assert error.value.filename == str(tmp_path / "mine")
        with pytest.raises(InterruptedError):
            it.copy(tmp_path / "ended", ended)
        it.copy(tmp_path / "empty")
        assert sorted(os.listdir(tmp_path / "it")) == before
    assert sorted(os.listdir(tmp_path)) == ["empty", "it", "link", "mine"]
    assert (tmp_path / "mine" / "diary").read_text() == "mine"
