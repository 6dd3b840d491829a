import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from springflash import FlashFilter, FlashIndex
from springflash.aio import Together


def test_tasks_share_batches_and_get_their_own_answers(tmp_path):
    keys = [b"%d" % n for n in range(20_000)]
    sizes = []
    with FlashIndex(tmp_path / "index") as index:
        index.put_many(keys, keys)

        def call(batch):
            sizes.append(len(batch))
            return index.get_many(batch)

        async def main():
            get = Together(call)

            async def task(seed):
                rng = random.Random(seed)
                for _ in range(50):
                    n = rng.randrange(40_000)
                    assert await get(b"%d" % n) == (keys[n] if n < 20_000 else None)

            await asyncio.gather(*map(task, range(64)))
            # All of a turn at once, in batches of which each is checked as a whole.
            assert await asyncio.gather(*map(get, keys)) == keys

        asyncio.run(main())
    assert sum(sizes) == 64 * 50 + 20_000 and max(sizes) == 8192
    assert len(sizes) < 64 * 50 / 8, "a call has the keys of many tasks"


def test_a_key_is_new_for_one_task(tmp_path):
    with FlashFilter(tmp_path / "filter", capacity=1e5, false_positive_rate=1e-9) as seen:

        async def main():
            add_new = Together(seen.add_new_many)
            new = await asyncio.gather(*(add_new(str(n % 500)) for n in range(2000)))
            assert sorted(n % 500 for n in range(2000) if new[n]) == list(range(500))
            assert not any(await asyncio.gather(*(add_new(str(n)) for n in range(500))))

        asyncio.run(main())


def test_a_wrong_key_is_an_error_of_its_task_alone(tmp_path):
    with FlashIndex(tmp_path / "index") as index:
        index["a"] = "1"

        async def main():
            get = Together(index.get_many)
            told = await asyncio.gather(get("a"), get(b""), get("b"), get(b"x" * 65_537), return_exceptions=True)
            assert told[0] == b"1" and told[2] is None
            assert all(isinstance(told[n], ValueError) and "expected 1 to 65536" in str(told[n]) for n in (1, 3))
            with pytest.raises(TypeError, match="the key is int"):
                get(5)
            assert await get("a") == b"1"

        asyncio.run(main())


def test_what_a_call_raises_all_of_its_tasks_raise_and_later_ones_go_on():
    broken = True

    def call(keys):
        if broken:
            raise OSError("no disk")
        return [len(key) for key in keys]

    async def main():
        nonlocal broken
        length = Together(call)
        told = await asyncio.gather(*(length("a") for _ in range(10)), return_exceptions=True)
        assert [type(error) for error in told] == [OSError] * 10
        broken = False
        assert await length("abc") == 3

    asyncio.run(main())


def test_a_task_that_is_cancelled_disturbs_no_other():
    may_end = threading.Event()

    def call(keys):
        assert may_end.wait(60)
        return keys

    async def main():
        same = Together(call)
        answers = [asyncio.ensure_future(same(str(n))) for n in range(10)]
        await asyncio.sleep(0)
        answers[3].cancel()
        may_end.set()
        told = await asyncio.gather(*answers, return_exceptions=True)
        assert isinstance(told.pop(3), asyncio.CancelledError) and told == [str(n) for n in range(10) if n != 3]

    asyncio.run(main())


def test_calls_share_the_keys():
    """All tasks in one call would be in one call again after it."""
    sizes = []

    def call(keys):
        sizes.append(len(keys))
        return keys

    async def main():
        same = Together(call)

        async def task(key):
            for _ in range(20):
                assert await same(key) == key

        await asyncio.gather(*(task(str(n)) for n in range(100)))

    asyncio.run(main())
    assert sum(sizes) == 2000 and sizes[:2] == [50, 50] and max(sizes) < 100


def test_an_executor_that_was_shut_down_is_an_error_and_another_event_loop_begins_again():
    executor = ThreadPoolExecutor(1)
    same = Together(lambda keys: keys, executor)

    async def ask(*keys):
        return await asyncio.wait_for(asyncio.gather(*map(same, keys)), 60)

    async def go_away():
        same("never looked up")

    for _ in range(5):
        asyncio.run(go_away())
        assert asyncio.run(ask("a", "b")) == ["a", "b"]
    executor.shutdown()
    for _ in range(5):
        with pytest.raises(RuntimeError, match="after shutdown"):
            asyncio.run(ask("a", "b"))
