"""borg 2 with its chunk index on an SSD: `python borg_flash.py create ...` for `borg create ...`, in an environment with both packages.

borg holds an entry of 80 bytes for each chunk of a repository in memory, in a table with free places, and reads all of them from the
repository whenever it starts. Here they are in a FlashIndex in borg's cache folder, and only what is new in the repository is read.
Chunks that a run adds are in borg's own index until it ends: what is on flash is in the repository, too, whenever a run is killed.
Commands that rewrite the index (compact, check --repair) use borg's own.
"""

import hashlib
import itertools
import json
import logging
import os
import shutil
import struct
import sys
import tempfile

import borg
import borg.archiver
from borg import cache
from borg.hashindex import ChunkIndex, ChunkIndexEntry, ChunkIndexEntryFormat
from borg.repository import Repository, StoreObjectNotFound

from springflash import DamagedError, FlashError, FlashIndex, ForkedError

#: Releases whose internals are as expected. With others, borg's own index is used.
RELEASES = ("2.0.0b23",)
#: The pack of a chunk, its offset and size there.
PLACE = struct.Struct("<32sII")
#: A fragment of borg's index: before its entries, and one of them: a chunk, flags and size, which are 0, and its place.
HEADER, ENTRY = struct.Struct("<8sII"), struct.Struct("<32s8x40s")
#: What one of another format raises.
UNREADABLE = (ValueError, TypeError, LookupError, struct.error)
#: The key of the number of chunks and the names of the index fragments that they come from. Its value is empty while these are read.
STATE, STATE_BYTES_MAX = b"state", 65_536
#: Answers that are kept, and chunks that are looked up together.
ANSWERS = 8192
NAME_BYTES, KEY_BYTES = 32, 32

logger = logging.getLogger(__name__)
borgs_build = cache.build_chunkindex_from_repo
borgs_get_many = Repository.get_many
borgs_known_file = cache.FilesCacheMixin.file_known_and_unchanged


class Table:
    """What a ChunkIndex needs of its table: the chunks in the repository, on flash, below those of `session`, which differ."""

    def __init__(self, session, folder, known, count):
        self._session, self._folder, self._known, self._count = session, folder, known, count
        self._gone, self._answers = set(), {}
        self._numbered = tempfile.TemporaryFile(dir=folder.parent)
        self._numbers = 0

    def prefetch(self, keys):
        """Looks up chunks together: many reads are in flight."""
        asked = [key for key in dict.fromkeys(keys) if key not in self._answers]
        if self._known is None or not asked:
            return
        if len(self._answers) + len(asked) > ANSWERS:
            self._answers = {}
        try:
            places = self._known.get_many(asked)
        except ForkedError:
            self._known = FlashIndex(self._folder, "r")
            places = self._known.get_many(asked)
        except DamagedError:
            # The next run reads the repository again.
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._answers.update(zip(asked, places))

    def _stored(self, key):
        self.prefetch([key])
        place = None if key in self._gone else self._answers.get(key)
        return None if place is None else ChunkIndexEntry(0, 0, *PLACE.unpack(place))

    def __getitem__(self, key):
        entry = self._session[key] if key in self._session else self._stored(key)
        if entry is None:
            raise KeyError(key)
        return entry

    def __contains__(self, key):
        return key in self._session or self._stored(key) is not None

    def __setitem__(self, key, entry):
        stored = None if key in self._session else self._stored(key)
        # borg notes the size of a known chunk only to compare it with the next one. It is not worth the memory.
        if stored is None or entry != stored._replace(size=entry.size):
            self._session[key] = entry
            self._count -= stored is not None

    def pop(self, key):
        entry = self[key]
        if key in self._session:
            del self._session[key]
        else:
            self._count -= 1
        self._gone.add(key)
        return entry

    def __len__(self):
        return self._count + len(self._session)

    def items(self, *, prefix_bits=0, prefix=0):
        yield from self._session.items(prefix_bits=prefix_bits, prefix=prefix)
        for key, place in self._known.items() if self._known is not None else ():
            is_asked = int.from_bytes(key[:4], "big") >> 32 - prefix_bits == prefix
            if key != STATE and is_asked and key not in self._session and key not in self._gone:
                yield key, ChunkIndexEntry(0, 0, *PLACE.unpack(place))

    def clear(self):
        self._session.clear()
        self._known, self._count, self._gone, self._answers = None, 0, set(), {}

    def k_to_idx(self, key):
        self._numbered.write(key)
        self._numbers += 1
        return self._numbers - 1

    def idx_to_k(self, number):
        self._numbered.flush()
        return os.pread(self._numbered.fileno(), KEY_BYTES, number * KEY_BYTES)

    def size(self):
        return self._session.size()

    @property
    def stats(self):
        return self._session.stats


class FlashChunkIndex(ChunkIndex):
    """borg's ChunkIndex, of which only what this run adds is in memory."""

    def __init__(self, folder, known, count):
        super().__init__()
        self.session = ChunkIndex()
        self.ht = Table(self.session.ht, folder, known, count)

    def iteritems(self, *, only_new=False, prefix_bits=0, prefix=0):
        # Those on flash are in the repository.
        of = self.session if only_new else super()
        return of.iteritems(only_new=only_new, prefix_bits=prefix_bits, prefix=prefix)

    def clear_new(self):
        self.session.clear_new()
        self._new_count = 0


def entries(data):
    """The chunks of a fragment with their places. borg's reader makes a table, which takes several times the memory and time."""
    magic, version, header_bytes = HEADER.unpack_from(data)
    start = HEADER.size + header_bytes
    header = json.loads(data[HEADER.size : start])
    told = (magic, version, header["key_size"], header["byte_order"], header["value_format"], header["used"] * ENTRY.size)
    if told != (b"BORGHASH", 1, KEY_BYTES, "little", list(ChunkIndexEntryFormat), len(data) - start):
        raise ValueError("another format")
    return ENTRY.iter_unpack(memoryview(data)[start:])


def read_fragment(repository, index, name):
    """The number of chunks that are new to the index, or None if the fragment is gone or unreadable."""
    try:
        data = repository.store_load(f"index/{name.hex()}")
        chunks = entries(data) if hashlib.sha256(data).digest() == name else None
    except (StoreObjectNotFound, *UNREADABLE):
        chunks = None
    if chunks is None:
        return None
    batches = iter(lambda: list(itertools.islice(chunks, ANSWERS)), [])
    return sum(index.setdefault_many(*zip(*batch)).count(None) for batch in batches)


def read_fragments(repository, index, names):
    """Takes in the fragments that are not in the index yet. Whether it was possible."""
    state = index.get(STATE, b"")
    index[STATE] = b""
    count, merged = int.from_bytes(state[:8], "little"), names_of(state)
    for name in sorted(names - merged):
        added = read_fragment(repository, index, name)
        if added is None:
            return False
        count += added
    index[STATE] = count.to_bytes(8, "little") + b"".join(sorted(names))
    return True


def names_of(state):
    return {state[at : at + NAME_BYTES] for at in range(8, len(state), NAME_BYTES)}


def open_current(folder, names):
    """The index and the number of its chunks if it has just those of the fragments. One with chunks of others is deleted."""
    if not folder.exists():
        return None
    index = FlashIndex(folder, "r")
    state = index.get(STATE, b"")
    if names_of(state) == names:
        return index, int.from_bytes(state[:8], "little")
    index.close()
    # Reading them was interrupted, or a chunk may be gone with its fragment.
    if not state or not names_of(state) <= names:
        shutil.rmtree(folder)
    return None


def build(repository, **asked):
    """In place of borg's function that makes the index of a repository."""
    if asked or cache.chunkindex_is_invalid(repository):
        return borgs_build(repository, **asked)
    folder = cache.cache_dir(repository) / "chunks.flash"
    names = {bytes.fromhex(name) for name in cache.list_chunkindex_hashes(repository)}
    try:
        if names and 8 + len(names) * NAME_BYTES <= STATE_BYTES_MAX:
            current = open_current(folder, names)
            if current is None:
                folder.parent.mkdir(parents=True, exist_ok=True)
                with FlashIndex(folder) as index:
                    is_complete = read_fragments(repository, index, names)
                current = open_current(folder, names) if is_complete else None
            if current is not None:
                return FlashChunkIndex(folder, *current)
    except DamagedError as error:
        logger.warning("%s; it is made again by the next run", error)
        shutil.rmtree(folder, ignore_errors=True)
    except (FlashError, OSError) as error:
        # Another run reads fragments, or the disk is full.
        logger.warning("borg's own chunk index is used: %s", error)
    return borgs_build(repository)


def compress_entry(self, entry):
    """In place of borg's, which looks up every chunk of every file as it starts. That they are there is asked when they are used."""
    number = self.chunks.k_to_idx
    return cache.msgpack.packb(entry._replace(chunks=[(number(id), size) for id, size in entry.chunks]))


def decompress_entry(self, packed):
    entry = cache.FileCacheEntry(*cache.msgpack.unpackb(packed))
    return entry._replace(chunks=[(self.chunks.idx_to_k(number), size) for number, size in entry.chunks])


def known_file(self, *arguments, **more):
    known, chunks, digests = borgs_known_file(self, *arguments, **more)
    if chunks and isinstance(self.chunks, FlashChunkIndex):
        self.chunks.ht.prefetch([chunk.id for chunk in chunks[:ANSWERS]])
    return known, chunks, digests


def get_many(self, ids, *arguments, **more):
    ids = list(ids)
    for at in range(0, len(ids), ANSWERS):
        if isinstance(self.chunks, FlashChunkIndex):
            self.chunks.ht.prefetch(ids[at : at + ANSWERS])
        yield from borgs_get_many(self, ids[at : at + ANSWERS], *arguments, **more)


def install():
    cache.build_chunkindex_from_repo = build
    cache.FilesCacheMixin.compress_entry = compress_entry
    cache.FilesCacheMixin.decompress_entry = decompress_entry
    cache.FilesCacheMixin.file_known_and_unchanged = known_file
    Repository.get_many = get_many


if __name__ == "__main__":
    if borg.__version__ in RELEASES:
        install()
    else:
        print(f"borg_flash: borg {borg.__version__} is not among {RELEASES}: its own index is used", file=sys.stderr)
    borg.archiver.main()
