"""A flat Bloom filter in a mapped file (pybloomfiltermmap3) under a memory ceiling.

usage: mapped_flat.py FILE CAPACITY_KEYS KEYS PROBES CEILING_BYTES SECONDS

Installed with `pip install pybloomfiltermmap3`. The kernel keeps mapped pages in its cache as long as memory lasts, so the
ceiling is enforced here: lookups and insertions run until the pages they touched could fill the ceiling, then the file is
synced, unmapped and dropped from the cache. On average half of the ceiling is in use, so the hit ratio is at most half of
what a perfect cache of that size would reach; with SPRINGBLOOM_MEMORY_CGROUP naming a memory control group of that limit
(prepared by whoever runs this), the process joins it and the kernel enforces the ceiling instead.
"""

import os
import random
import sys
import time

import pybloomfilter

PAGE_BYTES = 4096


def drop_from_cache(path):
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def main():
    path, capacity, keys, probes, ceiling, seconds = sys.argv[1], *map(int, sys.argv[2:7])
    group = os.environ.get("SPRINGBLOOM_MEMORY_CGROUP")
    if group:
        with open(os.path.join(group, "cgroup.procs"), "w") as procs:
            procs.write(str(os.getpid()))
    if os.path.exists(path):
        os.unlink(path)
    # The rate for which `probes` bits per key are best.
    bloom = pybloomfilter.BloomFilter(capacity, 0.5**probes, path)
    # The fill only decides how many pages a lookup touches; random bytes do the same in a fraction of the time.
    bits_set = 1.0 - 2.718281828459045 ** (-probes * keys / (capacity * probes / 0.6931471805599453))
    bloom.sync()
    header = os.path.getsize(path) - bloom.num_bits // 8
    bloom.close()
    fill(path, max(header, 0), bits_set)
    drop_from_cache(path)
    touched_max = None if group else ceiling // PAGE_BYTES
    lookups = measure(path, probes, touched_max, seconds, lambda b, n: n in b)
    inserts = measure(path, probes, touched_max, seconds, lambda b, n: b.add(n))
    how = "control group" if group else "dropped when touched pages reach the ceiling"
    print(
        f"pybloomfiltermmap3, mapped flat file of {os.path.getsize(path) >> 20} MiB under {ceiling >> 10} KiB ({how}): "
        f"{inserts:.0f} insertions/s (not durable), {lookups:.0f} lookups/s"
    )
    os.unlink(path)


def fill(path, header_bytes, bits_set):
    """Sets about `bits_set` of the bits after the header."""
    rng = random.Random(1)
    ones = bytearray(1 << 20)
    for i in range(len(ones)):
        ones[i] = sum(1 << bit for bit in range(8) if rng.random() < bits_set)
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(header_bytes)
        at = header_bytes
        while at < size:
            piece = ones[: min(len(ones), size - at)]
            file.write(piece)
            at += len(piece)


def measure(path, probes, touched_max, seconds, operation):
    """Operations per second, time for dropping the cache excluded."""
    rng = random.Random(2)
    spent, done = 0.0, 0
    chunk = 512 if touched_max is None else max(1, touched_max // probes)
    while spent < seconds:
        bloom = pybloomfilter.BloomFilter.open(path, "rw")
        start = time.perf_counter()
        for _ in range(chunk):
            operation(bloom, rng.getrandbits(64))
            done += 1
            if done % 256 == 0 and spent + time.perf_counter() - start > seconds:
                break
        spent += time.perf_counter() - start
        bloom.close()
        if touched_max is not None:
            drop_from_cache(path)
    return done / spent


if __name__ == "__main__":
    main()
