"""A small backup with deduplication: `backup.py STORE FOLDER` stores, `backup.py STORE --restore SNAPSHOT FOLDER` brings back.

Files are cut into chunks where their contents say so, by pyfastcdc. Each chunk is stored once, in the file `pack`; a FlashIndex knows
its place by its digest, in about a byte of memory. A snapshot is a file of JSON lines: a path, and the digests of its chunks.
"""

import argparse
import hashlib
import itertools
import json
import os
import struct
import sys
import time
from pathlib import Path

from pyfastcdc import FastCDC

from springflash import FlashIndex

#: Offset and length of a chunk in the pack.
PLACE = struct.Struct("<QI")
#: Chunks that are looked up together.
BATCH = 256


def store(repository, folder):
    """Stores a folder. Returns the path of the snapshot, and the bytes that were new."""
    repository, folder = Path(repository), Path(folder)
    repository.mkdir(parents=True, exist_ok=True)
    snapshot = repository / f"snapshot-{time.time_ns()}"
    with FlashIndex(repository / "index") as index, open(repository / "pack", "ab") as pack:
        before = pack.tell()
        with open(snapshot.with_suffix(".unfinished"), "w") as out:
            for path in shown(sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())):
                digests = []
                chunks = iter(FastCDC(64 << 10).cut_file(path)) if path.stat().st_size else iter(())
                while batch := [bytes(chunk.data) for chunk in itertools.islice(chunks, BATCH)]:
                    digests += add(index, pack, batch)
                # Names that are no UTF-8 are kept by surrogates, which JSON escapes.
                json.dump([str(path.relative_to(folder)), [digest.hex() for digest in digests]], out)
                out.write("\n")
            # The chunks before the index that names them, and both before the snapshot.
            pack.flush()
            os.fsync(pack.fileno())
            index.commit()
            out.flush()
            os.fsync(out.fileno())
        os.replace(snapshot.with_suffix(".unfinished"), snapshot)
        return snapshot, pack.tell() - before


def shown(paths):
    """Passes paths on. Says on a terminal, once a second, how many."""
    if not sys.stderr.isatty():
        yield from paths
        return
    next_time = time.monotonic() + 1
    for number, path in enumerate(paths):
        if time.monotonic() >= next_time:
            print(f"\r{number} of {len(paths)} files", end="", file=sys.stderr, flush=True)
            next_time = time.monotonic() + 1
        yield path
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def add(index, pack, chunks):
    """Appends the chunks that are new. Returns the digests of all."""
    digests = [hashlib.blake2b(chunk, digest_size=20).digest() for chunk in chunks]
    places = {}
    for digest, chunk, known in zip(digests, chunks, index.get_many(digests)):
        if known is None and digest not in places:
            places[digest] = PLACE.pack(pack.tell(), len(chunk))
            pack.write(chunk)
    # Some of what is put survives a kill before the commit. So the chunks are on the disk first.
    if places:
        pack.flush()
        os.fdatasync(pack.fileno())
        index.put_many(places.keys(), places.values())
    return digests


def restore(repository, snapshot, folder):
    """Writes the files of a snapshot to a folder. Checks each chunk."""
    with FlashIndex(Path(repository) / "index", "r") as index, open(Path(repository) / "pack", "rb") as pack:
        for line in open(snapshot):
            name, digests = json.loads(line)
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            digests = [bytes.fromhex(digest) for digest in digests]
            with open(path, "wb") as file:
                for digest, place in zip(digests, index.get_many(digests)):
                    if place is None:
                        raise ValueError(f"{path}: chunk {digest.hex()} is missing")
                    offset, length = PLACE.unpack(place)
                    pack.seek(offset)
                    chunk = pack.read(length)
                    if hashlib.blake2b(chunk, digest_size=20).digest() != digest:
                        raise ValueError(f"{path}: chunk {digest.hex()} is damaged")
                    file.write(chunk)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A small backup with deduplication.")
    parser.add_argument("store")
    parser.add_argument("folder")
    parser.add_argument("--restore", metavar="SNAPSHOT")
    asked = parser.parse_args()
    if asked.restore:
        restore(asked.store, asked.restore, asked.folder)
    else:
        print(*store(asked.store, asked.folder))
