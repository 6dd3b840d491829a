"""Memory and time of `borg create` in a repository of many chunks, with borg's index and with borg_flash.py: FOLDER [CHUNKS]

The CHUNKS (1e6) are entries of borg's own ChunkIndex that it writes to the repository; there are no packs behind them, and nothing reads
them. borg's self-test is off: it takes 45 MiB for a moment. Needs what flash/python/test installs for borg.
"""

import multiprocessing
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from borg import cache
from borg.hashindex import ChunkIndex, ChunkIndexEntry
from borg.helpers import Location
from borg.logger import setup_logging
from borg.repository import Repository

EXAMPLE = Path(__file__).parent / "examples" / "borg_flash.py"


def filled(folder, chunks):
    rng = random.Random(1)
    fragments = -(-chunks // cache.CHUNKINDEX_FRAGMENT_ENTRIES_MAX)
    with Repository(Location(str(folder)), exclusive=True) as repository:
        for n in range(fragments):
            # As borg writes a large index: a fragment has all keys of a range, in order.
            first, end = ((n + of) * 2**32 // fragments for of in (0, 1))
            heads = sorted(rng.randrange(first, end) for _ in range((n + 1) * chunks // fragments - n * chunks // fragments))
            fragment = ChunkIndex(usable=len(heads))
            for head in heads:
                place = (rng.randbytes(32), rng.randrange(1 << 27), 1000)
                fragment.ht[head.to_bytes(4, "big") + rng.randbytes(28)] = ChunkIndexEntry(0, 0, *place)
            cache._store_chunkindex_fragment(repository, fragment, set(), force_write=True)


def main():
    setup_logging()
    folder, chunks = Path(sys.argv[1]).resolve(), int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000
    os.environ |= {"BORG_REPO": str(folder / "repository"), "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes"}
    os.environ |= {"BORG_BASE_DIR": str(folder / "base"), "BORG_SELFTEST": "disabled"}
    ways = {"borg": ["-m", "borg"], "borg_flash": [str(EXAMPLE)]}
    (folder / "data").mkdir(parents=True)
    (folder / "data/file").write_bytes(os.urandom(1 << 20))
    subprocess.run([sys.executable, "-m", "borg", "repo-create", "--encryption", "none-sha256"], check=True)
    # What the program takes with an empty index.
    for name, way, is_filled in [(name, way, is_filled) for is_filled in (0, 1, 1) for name, way in ways.items()]:
        if is_filled and chunks:
            # Linux counts the memory of this process for those that it starts: it stays small.
            filling = multiprocessing.Process(target=filled, args=(folder / "repository", chunks))
            filling.start()
            filling.join()
            assert filling.exitcode == 0
            chunks = 0
        os.environ["BORG_BASE_DIR"] = str(folder / name)
        start = time.monotonic()
        process = subprocess.Popen([sys.executable, *way, "create", f"{name}-{time.time_ns()}", str(folder / "data")])
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        seconds, load = time.monotonic() - start, os.getloadavg()[0]
        processor = used.ru_utime + used.ru_stime
        told = f"{used.ru_maxrss >> 10} MiB, {seconds:.1f} s, {processor:.1f} s of processor, load {load:.0f}"
        print(f"{name}, {'full' if is_filled else 'empty'}: {told}", flush=True)


main()
