"""Compares ways to know fingerprints under a memory limit: benchmark.py [KEYS] [--limit MIB] [--seconds S] [--only NAME ...]

Each way is a process in a control group of its own (needs root; the limit counts the page cache). It adds KEYS fingerprints of 20 bytes in
batches of --batch, each durable where the way can be, opens again, and asks for as many, half of them known, in random order. A phase ends
after S seconds; rates are of what was done, and of its last minute. A way that is killed, or stays in one call for longer than --grace, has
told how far it came. `cpu_us` is time of the processor for a key, which other work on the machine changes less, and `disk_sync_ms` the
median time of a small durable write to this disk before the way ran. Before each rival runs the one of ours that answers as exactly, and
ratios are of such a pair: below 1 the rival is faster. With --once, ours run once, before all rivals. With --backup, all keys have 32 bytes
and values of 8, and are asked for in the order in which they were put, as a backup of unchanged files does. Packages that are not installed
are left out and named. Prints a table in Markdown, and appends JSON lines to the file of --record.
"""

import argparse
import collections
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH = 8192


def fingerprints(numbers, size=20):
    return [hashlib.blake2b(n.to_bytes(8, "little"), digest_size=size).digest() for n in numbers]


class Store:
    """What most stores do alike with what they have opened, `it`."""

    def ask(self, keys):
        return [key in self.it for key in keys]

    def close(self):
        self.it.close()


class Set(Store):
    """In memory alone: nothing is there after the process."""

    it = set()

    def __init__(self, folder, keys):
        pass

    def add(self, keys):
        self.it.update(keys)

    def close(self):
        pass


class Filter(Store):
    settings = {}

    def __init__(self, folder, keys):
        from springflash import FlashFilter

        self.it = FlashFilter(folder / "it", capacity=keys, when_full="overfill", **self.settings)

    def add(self, keys):
        self.it.add_many(keys)
        self.it.commit()

    def ask(self, keys):
        return self.it.contains_many(keys)


class Index(Store):
    settings = {}
    value_bytes = 0

    def __init__(self, folder, keys):
        from springflash import FlashIndex

        self.it = FlashIndex(folder / "it", expected_keys=keys, **self.settings)

    def add(self, keys):
        self.it.put_many(keys, [bytes(self.value_bytes)] * len(keys))
        self.it.commit()

    def ask(self, keys):
        return [value is not None for value in self.it.get_many(keys)]


class ChunkIndex(Index):
    value_bytes = 8


class Borghash(Store):
    """The index of borg 2: in memory, read from a file and written to it as a whole."""

    def __init__(self, folder, keys):
        import borghash

        self.file = str(folder / "it")
        self.entry = collections.namedtuple("Entry", "flags size")
        make = functools.partial(borghash.HashTableNT, key_size=32, value_type=self.entry)
        formats = self.entry("I", "I")
        self.it = borghash.HashTableNT.read(self.file) if os.path.exists(self.file) else make(value_format=formats)

    def add(self, keys):
        value = self.entry(0, 0)
        for key in keys:
            self.it[key] = value

    def ask(self, keys):
        return [self.it.get(key) is not None for key in keys]

    def close(self):
        self.it.write(self.file)


class Dbm(Store):
    def __init__(self, folder, keys):
        import dbm.gnu

        self.it = dbm.gnu.open(str(folder / "it"), "cf")

    def add(self, keys):
        for key in keys:
            self.it[key] = b""
        self.it.sync()


class Ndbm(Dbm):
    """On Debian, Berkeley DB. It cannot make a batch durable."""

    def __init__(self, folder, keys):
        import dbm.ndbm

        self.it = dbm.ndbm.open(str(folder / "it"), "c")

    def add(self, keys):
        for key in keys:
            self.it[key] = b"1"  # An empty value counts as absent.


class Sqlite(Store):
    def __init__(self, folder, keys):
        import sqlite3

        self.it = sqlite3.connect(folder / "it")
        self.it.execute("pragma journal_mode = wal")
        self.it.execute("pragma synchronous = full")
        self.it.execute("create table if not exists seen (key blob primary key) without rowid")

    def add(self, keys):
        with self.it:
            self.it.executemany("insert or ignore into seen values (?)", [(key,) for key in keys])

    def ask(self, keys):
        found = set()
        for at in range(0, len(keys), 512):
            part = keys[at : at + 512]
            marks = ",".join("?" * len(part))
            found.update(key for (key,) in self.it.execute(f"select key from seen where key in ({marks})", part))
        return [key in found for key in keys]


class ScrapyDraft(Sqlite):
    """What scrapy/scrapy#7952 drafts, made again: a table in SQLite that is asked for one fingerprint after the other."""

    def add(self, keys):
        with self.it:
            for key in keys:
                self.it.execute("insert or ignore into seen values (?)", (key,))

    def ask(self, keys):
        return [self.it.execute("select 1 from seen where key = ?", (key,)).fetchone() is not None for key in keys]


class Lmdb(Store):
    def __init__(self, folder, keys):
        import lmdb

        self.it = lmdb.open(str(folder / "it"), map_size=1 << 38)

    def add(self, keys):
        with self.it.begin(write=True) as transaction, transaction.cursor() as cursor:
            cursor.putmulti([(key, b"1") for key in sorted(keys)])

    def ask(self, keys):
        with self.it.begin() as transaction:
            return [transaction.get(key) is not None for key in keys]


class Plyvel(Store):
    """LevelDB, with its Bloom filter of 10 bits."""

    def __init__(self, folder, keys):
        import plyvel

        self.it = plyvel.DB(str(folder / "it"), create_if_missing=True, bloom_filter_bits=10, write_buffer_size=64 << 20)

    def add(self, keys):
        with self.it.write_batch(sync=True) as batch:
            for key in keys:
                batch.put(key, b"")

    def ask(self, keys):
        return [self.it.get(key) is not None for key in keys]


class Rocksdict(Store):
    """RocksDB, with a Bloom filter of 10 bits."""

    def __init__(self, folder, keys):
        import rocksdict

        self.batch = rocksdict.WriteBatch
        self.durable = rocksdict.WriteOptions()
        self.durable.sync = True
        options = rocksdict.Options(raw_mode=True)
        table = rocksdict.BlockBasedOptions()
        table.set_bloom_filter(10, False)
        options.set_block_based_table_factory(table)
        self.it = rocksdict.Rdict(str(folder / "it"), options)

    def add(self, keys):
        batch = self.batch(raw_mode=True)
        for key in keys:
            batch.put(key, b"")
        self.it.write(batch, self.durable)

    def ask(self, keys):
        return [value is not None for value in self.it[keys]]


class Diskcache(Store):
    def __init__(self, folder, keys):
        import diskcache

        self.it = diskcache.Index(str(folder / "it"))

    def add(self, keys):
        with self.it.transact():
            for key in keys:
                self.it[key] = b""

    def close(self):
        self.it.cache.close()


class Mapped(Store):
    """A Bloom filter in a mapped file, at a rate of 1%."""

    def __init__(self, folder, keys):
        import pybloomfilter

        file = str(folder / "it")
        is_there = os.path.exists(file)
        self.it = pybloomfilter.BloomFilter.open(file) if is_there else pybloomfilter.BloomFilter(keys, 0.01, file)

    def add(self, keys):
        self.it.update(keys)
        self.it.sync()


class Rbloom(Store):
    """A Bloom filter in memory, at a rate of 1%, saved when it is closed."""

    def __init__(self, folder, keys):
        import rbloom

        self.file = str(folder / "it")
        hashed = lambda key: int.from_bytes(key[:16], "little", signed=True)
        is_there = os.path.exists(self.file)
        self.it = rbloom.Bloom.load(self.file, hashed) if is_there else rbloom.Bloom(keys, 0.01, hashed)

    def add(self, keys):
        self.it.update(keys)

    def close(self):
        self.it.save(self.file)


#: Each with its package, and the one of ours that it is compared with.
WAYS = {
    "set": (Set, None, "FlashIndex"),
    "dbm.gnu": (Dbm, None, "FlashIndex"),
    "dbm.ndbm": (Ndbm, None, "FlashIndex"),
    "sqlite3": (Sqlite, None, "FlashIndex"),
    "scrapy#7952": (ScrapyDraft, None, "FlashIndex"),
    "lmdb": (Lmdb, "lmdb", "FlashIndex"),
    "plyvel": (Plyvel, "plyvel", "FlashIndex"),
    "rocksdict": (Rocksdict, "rocksdict", "FlashIndex"),
    "diskcache": (Diskcache, "diskcache", "FlashIndex"),
    "pybloomfiltermmap3": (Mapped, "pybloomfiltermmap3", "FlashFilter"),
    "rbloom": (Rbloom, "rbloom", "FlashFilter"),
}
OURS = {"FlashIndex": Index, "FlashFilter": Filter, "FlashIndex of chunks": ChunkIndex}
BACKUP = {"borghash": (Borghash, "borghash", "FlashIndex of chunks")}


def timed(name, work, batches, seconds, size, judge=lambda numbers, answers: None):
    """Calls `work` with each batch, until the time is over, and `judge` with the answers. Returns the figures of the phase `name`."""
    done, spent, computed, told = 0, 0.0, 0.0, 0.0
    last_minute = collections.deque([(0.0, 0)])
    for numbers in batches:
        keys = fingerprints(numbers, size)
        start, busy = time.perf_counter(), time.process_time()
        answers = work(keys)
        spent += time.perf_counter() - start
        computed += time.process_time() - busy
        judge(numbers, answers)
        done += len(keys)
        last_minute.append((spent, done))
        while spent - last_minute[0][0] > 60 and len(last_minute) > 2:
            last_minute.popleft()
        if spent - told > 1:
            # A killed store has told how far it came.
            told = spent
            print(json.dumps({f"{name}ed": done, f"{name}s_per_second": round(done / spent)}), flush=True)
        if spent > seconds:
            break
    since, before = last_minute[0]
    rates = {f"{name}s_per_second": done / spent, f"{name}s_per_second_at_the_end": (done - before) / (spent - since)}
    return {f"{name}ed": done, **{key: round(rate) for key, rate in rates.items()}, f"{name}_cpu_us": round(1e6 * computed / done, 2)}


def run(name, folder, keys, asked):
    """Measures one way in this process. Prints JSON after each phase, as the next one may be killed."""
    kind = OURS.get(name) or (WAYS | BACKUP)[name][0]
    if asked.memory:
        Filter.settings = Index.settings = {"memory": asked.memory << 20}
    is_backup = kind in (Borghash, ChunkIndex)
    size = 32 if is_backup else 20
    way = kind(folder, keys)
    batches = (range(at, min(at + asked.batch, keys)) for at in range(0, keys, asked.batch))
    adds = timed("add", way.add, batches, asked.seconds, size)
    added = adds["added"]
    print(json.dumps(adds), flush=True)
    start = time.perf_counter()
    way.close()
    print(json.dumps({"close_seconds": round(time.perf_counter() - start, 3)}), flush=True)
    written = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["write_bytes"]
    files = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
    print(json.dumps({"bytes_written_per_key": round(int(written) / added), "bytes_on_disk_per_key": round(files / added)}), flush=True)
    start = time.perf_counter()
    way = None
    way = kind(folder, keys)
    way.ask(fingerprints([0], size))
    print(json.dumps({"open_seconds": round(time.perf_counter() - start, 3)}), flush=True)
    rng = random.Random(asked.seed)
    if is_backup:
        batches = (range(at, min(at + BATCH, added)) for at in range(0, added, BATCH))
    else:
        batches = ([rng.randrange(added) + (added if n % 2 else 0) for n in range(BATCH)] for _ in range(0, keys, BATCH))
    lost = wrong = 0

    def judge(numbers, answers):
        nonlocal lost, wrong
        lost += sum(n < added and not known for n, known in zip(numbers, answers))
        wrong += sum(n >= added and known for n, known in zip(numbers, answers))

    asks = timed("ask", way.ask, batches, asked.ask_seconds, size, judge)
    print(json.dumps({**asks, "lost": lost, "wrong_percent": round(200 * wrong / asks["asked"], 2)}), flush=True)
    way.close()


def sync_ms(folder):
    """The median time of a write of 4 KiB that is durable, which tells how busy the disk is."""
    times = []
    with open(Path(folder) / "probe", "wb") as file:
        for _ in range(21):
            start = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    os.unlink(file.name)
    return round(1000 * sorted(times)[len(times) // 2], 1)


class Group:
    """A control group for memory, of either version."""

    def __init__(self, limit):
        first = Path("/sys/fs/cgroup/memory")
        self.files = ("memory.limit_in_bytes", "memory.max_usage_in_bytes") if first.exists() else ("memory.max", "memory.peak")
        self.folder = (first if first.exists() else Path("/sys/fs/cgroup")) / f"springflash-{os.getpid()}"
        self.folder.mkdir()
        (self.folder / self.files[0]).write_text(str(limit))

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self):
        return int((self.folder / self.files[1]).read_text())


def peak_kib(process):
    """The most memory of its own that a process has had. 0 if it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def measured(name, keys, asked):
    """Runs one way in a process of its own. What it told, and how it ended."""
    group = Group(asked.limit << 20)
    folder = tempfile.mkdtemp(dir=asked.folder)
    command = [sys.executable, __file__, str(keys), "--run", name, "--folder", folder]
    command += ["--seconds", str(asked.seconds), "--ask-seconds", str(asked.ask_seconds), "--seed", str(asked.seed)]
    command += ["--batch", str(asked.batch), "--memory", str(asked.memory)]
    told, resident = {"disk_sync_ms": sync_ms(folder)}, 0
    # A phase ends with its batch. What takes longer than this is in one call.
    end = time.monotonic() + asked.seconds + asked.ask_seconds + asked.grace
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, preexec_fn=group.enter)
        try:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
                resident = max(resident, peak_kib(process.pid))
        finally:
            is_stuck = process.poll() is None
            process.kill()
            process.wait()
            told |= {"peak_mib": group.peak() >> 20, "resident_mib": resident >> 10}
            shutil.rmtree(folder)
            group.folder.rmdir()
        out.seek(0)
        errors.seek(0)
        for line in out:
            told.update(json.loads(line))
        error = (errors.read().strip().splitlines() or [f"signal {-process.returncode}"])[-1]
    if is_stuck:
        told["end"] = f"killed in a call after {asked.grace:g} s more than asked"
    elif process.returncode:
        told["end"] = error
    elif told["added"] < keys:
        told["end"] = f"stopped after {told['added']} keys"
    if "added" in told:
        told["memory_per_key"] = round((resident << 10) / told["added"], 1)
    return told


def machine():
    """As the records of `springbloom` name it."""
    cpu = next(line.split(": ")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_bytes": memory, "kernel": platform.release()}


def commit():
    git = ["git", "-C", str(Path(__file__).parent)]
    told = [subprocess.run([*git, *command], capture_output=True, text=True).stdout.strip() for command in COMMIT]
    return {"commit": told[0], "modified": bool(told[1])}


def started():
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "other_work": os.getloadavg()[0]}


def write_record(file, name, seed, start, **more):
    """Appends a line to a file of records. `start` is what :func:`started` told."""
    # Names of this machine say nothing elsewhere.
    names = {"--record": "FILE", "--folder": "FOLDER"}
    command = [Path(sys.argv[0]).name, *(names.get(before, word) for before, word in zip(sys.argv, sys.argv[1:]))]
    record = {"run": name, "format": 1, "command": command, "build": commit(), "machine": machine(), "seed": seed, **start, **more}
    with file.open("a") as opened:
        opened.write(json.dumps(record) + "\n")


COMMIT = (["rev-parse", "--short=7", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
COLUMNS = ["added", "adds_per_second", "adds_per_second_at_the_end", "add_cpu_us", "asks_per_second", "ask_cpu_us", "wrong_percent", "lost"]
COLUMNS += ["close_seconds", "disk_sync_ms", "peak_mib", "resident_mib"]
COLUMNS += ["memory_per_key", "bytes_written_per_key", "bytes_on_disk_per_key", "open_seconds", "add_ratio", "ask_ratio", "end"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("keys", nargs="?", type=float, default=1e7)
    parser.add_argument("--limit", type=int, default=512, help="MiB of the control group")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ask-seconds", type=float, help="of the phase that asks. As --seconds, if it is not said")
    parser.add_argument("--batch", type=int, default=BATCH, help="keys that are added, and made durable, at a time")
    parser.add_argument("--memory", type=int, default=0, help="MiB that ours get for what they have not written. As they choose, if 0")
    parser.add_argument("--grace", type=float, default=120, help="seconds for what is no batch: making, opening, closing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="pairs of each rival and ours")
    parser.add_argument("--once", action="store_true", help="run each of ours once")
    parser.add_argument("--backup", action="store_true")
    parser.add_argument("--only", nargs="+", choices=[*WAYS, *BACKUP], help="rivals, in this order")
    parser.add_argument("--record", type=Path, help="file that takes a line for each process")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files are, on the disk to measure")
    asked = parser.parse_args()
    asked.ask_seconds = asked.ask_seconds or asked.seconds
    keys = int(asked.keys)
    if asked.run:
        return run(asked.run, Path(asked.folder), keys, asked)
    print(f"{keys} keys in batches of {asked.batch}, {asked.limit} MiB, at most {asked.seconds:g} s a phase, seed {asked.seed}\n")
    print("|", " | ".join(["way", *COLUMNS]), "|\n" + "|---" * (len(COLUMNS) + 1) + "|", flush=True)
    ways, mine = BACKUP if asked.backup else WAYS, {}
    for name in [name for name in asked.only or ways if name in ways] * asked.rounds:
        _, package, ours = ways[name]
        try:
            version = " " + importlib.metadata.version(package) if package else ""
        except importlib.metadata.PackageNotFoundError:
            print(f"{package} is not installed: {name} is left out", file=sys.stderr)
            continue
        for way in (ours, name):
            if asked.once and way in mine:
                continue
            start = started()
            told = measured(way, keys, asked)
            if way == ours:
                mine[ours] = told
            for phase in ("add", "ask"):
                rates = [one.get(f"{phase}s_per_second") for one in (mine[ours], told)]
                if way == name and None not in rates:
                    told[f"{phase}_ratio"] = round(rates[0] / rates[1], 2)
            label = way + version if way == name else way
            print("|", " | ".join([label, *(str(told.get(column, "")) for column in COLUMNS)]), "|", flush=True)
            if asked.record:
                settings = {"keys": keys, "limit_mib": asked.limit, "seconds": asked.seconds, "ask_seconds": asked.ask_seconds}
                settings |= {"batch": asked.batch, "memory_mib": asked.memory, "rival": name}
                run_name = "python-backup" if asked.backup else "python-keys"
                write_record(asked.record, run_name, asked.seed, start, settings=settings, way=label, figures=told)


if __name__ == "__main__":
    main()
