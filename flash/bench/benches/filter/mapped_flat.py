"""A flat Bloom filter in a mapped file (pybloomfiltermmap3) under a memory ceiling.

usage: mapped_flat.py FILE CAPACITY_KEYS KEYS PROBES CEILING_BYTES SECONDS

Installed with `pip install pybloomfiltermmap3`. The kernel keeps mapped pages in its cache as long as memory lasts, so the ceiling has
to be enforced. With SPRINGBLOOM_MEMORY_CGROUP naming a memory control group of that limit (prepared by the user), the process
joins it and the kernel does it. Otherwise it is done here: it begins with the ceiling full of pages, and whenever an eighth more may be
resident, stretches of the file are given back until the ceiling holds again. Keys are hashed, so every page is as likely to be needed as
any other, and no other choice of pages would serve better. Time for writing changed pages back counts, as it would for a process at its
limit; time for counting and giving back does not. The mapping is declared to be read at random (the library does not do that), or
the kernel would read neighbours that nobody needs.
"""

import ctypes
import os
import random
import sys
import time

import pybloomfilter

PAGE_BYTES = 4096
MADV_RANDOM, MADV_PAGEOUT, MADV_POPULATE_READ = 1, 21, 22
# Given back at a time.
STRETCH_BYTES = 1 << 20

libc = ctypes.CDLL(None, use_errno=True)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


class Mapping:
    """Where this process has a file mapped, and how much of it is in memory."""

    def __init__(self, path, fd):
        self.fd = fd
        with open("/proc/self/maps") as maps:
            line = next(line for line in maps if line.rstrip().endswith(os.path.realpath(path)))
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        self.start, self.len = start, end - start
        self.hand = 0
        self.vector = ctypes.create_string_buffer((self.len + PAGE_BYTES - 1) // PAGE_BYTES)
        self.advise(0, self.len, MADV_RANDOM)

    def advise(self, at, length, advice):
        if libc.madvise(self.start + at, length, advice) != 0:
            raise OSError(ctypes.get_errno(), "madvise")

    def resident_bytes(self):
        if libc.mincore(self.start, self.len, self.vector) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        # Only the lowest bit of each byte means something, and the kernel sets no other.
        return (len(self.vector) - self.vector.raw.count(b"\0")) * PAGE_BYTES

    def populate(self, ceiling):
        """Reads random stretches until the ceiling is full; page by page it would take minutes."""
        stretches = list(range(0, self.len - STRETCH_BYTES, STRETCH_BYTES))
        random.Random(3).shuffle(stretches)
        for at in stretches[: ceiling // STRETCH_BYTES]:
            self.advise(at, STRETCH_BYTES, MADV_POPULATE_READ)

    def limit_to(self, ceiling):
        while self.resident_bytes() > ceiling:
            length = min(STRETCH_BYTES, self.len - self.hand)
            # The first unmaps pages, the second drops those that are not mapped.
            self.advise(self.hand, length, MADV_PAGEOUT)
            os.posix_fadvise(self.fd, self.hand, length, os.POSIX_FADV_DONTNEED)
            self.hand = (self.hand + length) % self.len


def main():
    path, capacity, keys, probes, ceiling = sys.argv[1], *map(int, sys.argv[2:6])
    seconds = float(sys.argv[6])
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
    fd = os.open(path, os.O_RDWR)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    bloom = pybloomfilter.BloomFilter.open(path, "rw")
    mapping = None if group else Mapping(path, fd)
    if mapping:
        mapping.populate(ceiling)
    lookups, most = measure(mapping, probes, ceiling, seconds, lambda n: n in bloom, lambda: None)
    inserts, most_changed = measure(mapping, probes, ceiling, seconds, bloom.add, lambda: os.fsync(fd))
    how = "control group" if group else f"{max(most, most_changed) >> 10} KiB resident at most, given back with madvise"
    print(
        f"pybloomfiltermmap3, mapped flat file of {os.path.getsize(path) >> 20} MiB under {ceiling >> 10} KiB ({how}): "
        f"{inserts:.0f} insertions/s (not durable), {lookups:.0f} lookups/s"
    )
    print(f"rates: {inserts} {lookups}")
    bloom.close()
    os.close(fd)
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
        file.flush()
        os.fsync(file.fileno())


def measure(mapping, probes, ceiling, seconds, operation, write_back):
    """Operations per second at the ceiling, and the most bytes that were resident."""
    rng = random.Random(2)
    # As many operations as can touch an eighth of the ceiling.
    chunk = max(64, ceiling // 8 // PAGE_BYTES // probes)
    spent, done, most = 0.0, 0, 0
    while spent < seconds:
        start = time.perf_counter()
        for _ in range(chunk):
            operation(rng.getrandbits(64))
        write_back()
        spent += time.perf_counter() - start
        done += chunk
        if mapping:
            most = max(most, mapping.resident_bytes())
            mapping.limit_to(ceiling)
    return done / spent, most


if __name__ == "__main__":
    main()
