"""Single lookups of tasks and threads, as a share of those in batches as deep: benchmark_tasks.py FOLDER [KEYS [ROUNDS]]

Makes an index of KEYS (3e6) in FOLDER/index if there is none. Each second of tasks or threads lies between two of batches and is divided by
their mean, so that a slow change of load affects both. Prints medians of ROUNDS (5), and processor time per lookup: also that of the event
loop alone, for tasks that look nothing up.
"""

import asyncio
import hashlib
import os
import random
import statistics
import sys
import threading
import time
from pathlib import Path

from springflash import FlashIndex
from springflash.aio import Together

SECONDS = 1.0


def key(number):
    return hashlib.blake2b(number.to_bytes(8, "little"), digest_size=20).digest()


def batches(index, keys, depth, ends):
    done = 0
    while time.perf_counter() < ends:
        at = random.randrange(len(keys) - depth)
        assert None not in index.get_many(keys[at : at + depth])
        done += depth
    return done


def threads(index, keys, depth, ends):
    done = [0] * depth

    def run(n):
        while time.perf_counter() < ends:
            assert index.get(random.choice(keys)) is not None
            done[n] += 1

    running = [threading.Thread(target=run, args=(n,)) for n in range(depth)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(done)


def tasks(index, keys, depth, ends):
    async def main():
        get = Together(index.get_many)

        async def run():
            done = 0
            while time.perf_counter() < ends:
                assert await get(random.choice(keys)) is not None
                done += 1
            return done

        return sum(await asyncio.gather(*(run() for _ in range(depth))))

    return asyncio.run(main())


def event_loop(index, keys, depth, ends):
    async def main():
        loop = asyncio.get_running_loop()

        async def run():
            done = 0
            while time.perf_counter() < ends:
                answer = loop.create_future()
                loop.call_soon(answer.set_result, random.choice(keys))
                assert await answer is not None
                done += 1
            return done

        return sum(await asyncio.gather(*(run() for _ in range(depth))))

    return asyncio.run(main())


def measured(way, *arguments):
    """Lookups per second, and us of processor time for each."""
    start, processor = time.perf_counter(), time.process_time()
    done = max(1, way(*arguments, start + SECONDS))
    return done / (time.perf_counter() - start), (time.process_time() - processor) / done * 1e6


def main():
    folder = Path(sys.argv[1])
    count, rounds = map(int, map(float, (*sys.argv[2:], *(3e6, 5)[len(sys.argv) - 2 :])))
    with FlashIndex(folder / "index", expected_keys=count) as index:
        if not index:
            for first in range(0, count, 65_536):
                keys = [key(n) for n in range(first, min(count, first + 65_536))]
                index.put_many(keys, [key[:8] for key in keys])
        keys = [key(random.randrange(count)) for _ in range(400_000)]
        for depth in (1, 4, 16, 64, 256):
            for way in (tasks, threads) if depth <= 64 else (tasks,):
                shares, times = [], []
                before = measured(batches, index, keys, depth)
                for _ in range(rounds):
                    it, after = measured(way, index, keys, depth), measured(batches, index, keys, depth)
                    shares.append(it[0] * 2 / (before[0] + after[0]))
                    times.append((it[1], after[1]))
                    before = after
                ours, theirs = map(statistics.median, zip(*times))
                load = f"load {os.getloadavg()[0]:.1f}"
                told = f"{statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f}) of batches"
                print(f"{depth} {way.__name__}: {told}; us of processor {ours:.0f}, batches {theirs:.0f}; {load}", flush=True)
            alone = min(measured(event_loop, index, keys, depth)[1] for _ in range(rounds))
            print(f"{depth} event loop alone: us of processor {alone:.1f} at least", flush=True)


main()
