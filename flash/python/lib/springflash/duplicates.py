"""Removes duplicate documents or paragraphs from shards of training data: ``springflash-duplicates --help``, or :func:`deduplicate`.

It is exact: a :class:`~springflash.FlashIndex` has a digest of 20 bytes of each document, with the place of its first occurrence. A killed
run is repeated with the same result: unless the interrupted shard is the next one again, the index first forgets its documents, which reads
the whole index. So documents are compared with those of finished shards only. A finished shard whose input changed is refused, because
later shards dropped duplicates in its favour. :class:`NearDuplicates` are found in another way, and an interrupted shard is passed over.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import filecmp
import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from . import __version__
from ._files import make, sync
from ._index import FlashIndex
from ._near import SETTINGS, NearComparison, NearDuplicates, check_settings
from ._shards import BATCH_DOCUMENTS, FORMS, How, OnBadLine, form_of, named, opened
from ._springflash import FlashError, FolderLock

#: The key of what an interrupted run leaves: the shard that is not finished, with what its places in the index depend on, and from the
#: moment at which all of them are there with what its output will be.
_UNFINISHED = b"unfinished"
#: With the name of a finished shard, the key of a digest of what was compared in it, with the places: all of that is known.
_FINISHED = b"finished:"

#: Bytes that a run takes, without a document that is longer than a batch.
MEMORY = 256 << 20
_MEBIBYTES_MAX = (1 << 24) - 1
#: Bytes of a digest.
_DIGEST_BYTES = 20
#: Bytes of memory of a digest in a set.
_SET_ITEM_BYTES = 128
#: The documents of a batch as what is compared: made once, as a million tuples take time.
_WHOLE = [(n, 0) for n in range(BATCH_DOCUMENTS)]

#: What the program tells in one line.
_TOLD = (KeyboardInterrupt, ImportError, MemoryError, OSError, ValueError, FlashError)
#: Faults of names that were given to the program.
_WRONG_NAMES = (errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)


class Counts(NamedTuple):
    """What :func:`deduplicate` has read and kept. A document counts as one paragraph unless paragraphs are compared."""

    documents: int = 0
    kept_documents: int = 0
    paragraphs: int = 0
    kept_paragraphs: int = 0
    skipped_lines: int = 0
    blank_lines: int = 0


class _Recent:
    """Digests that came not long ago: a lookup of one that is known would read twice from the disk."""

    def __init__(self, memory: int) -> None:
        self._young, self._old = set[bytes](), set[bytes]()
        self._limit = memory // _SET_ITEM_BYTES // 2

    def unknown(self, keys: list[bytes]) -> list[int]:
        """Places of the keys that are none of them. They are from now on."""
        young, old = self._young, self._old
        unknown = [n for n, key in enumerate(keys) if key not in young and key not in old]
        young.update([keys[n] for n in unknown])
        if len(young) > self._limit:
            self._young, self._old = set(), young
        return unknown


def deduplicate(
    index: FlashIndex,
    shards: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    field: str = "text",
    paragraphs: bool = False,
    near: NearDuplicates | None = None,
    root: str | os.PathLike[str] | None = None,
    on_bad_line: OnBadLine = "stop",
    memory: int = MEMORY,
    progress: Callable[[str, int], object] | None = None,
) -> Counts:
    """Writes each shard to the folder ``output``, without documents that occurred before in it, in another shard, or in an earlier run.

    A shard is a file of lines (``.txt``), of JSON lines (``.jsonl``, ``.json``, ``.ndjson``), these also as ``.gz`` or ``.zst`` (needs
    backports.zstd before Python 3.14), or ``.parquet`` (needs pyarrow). A document is a line, or the ``field`` of an object or row. With
    ``paragraphs`` the non-empty lines within each document are compared: those that occurred before are removed, and a document without
    lines left is dropped. A UTF-8 byte order mark is dropped. With ``near``, documents are dropped that are
    :class:`~springflash.duplicates.NearDuplicates` of an earlier one that was kept.

    The name of a shard is that of its file, or with ``root`` its path below that folder, for equal names in several folders. Shards need
    different names, also in different runs: other documents under the name of a finished shard raise ``ValueError``, and its output stays.
    So does a file of another index or program in its place. The output of a shard appears when it is complete and durable.

    A line that is no JSON object with text, a row without text, and a line of more than an eighth of ``memory`` raise ``ValueError``; with
    ``on_bad_line="skip"`` they are dropped and counted. Blank lines are dropped and counted. A call takes ``memory`` bytes in addition to
    the index. ``progress(shard, documents)`` is called after each batch.
    """
    if on_bad_line not in ("stop", "skip"):
        raise ValueError(f"on_bad_line is {on_bad_line!r}, expected 'stop' or 'skip'")
    if near is not None and paragraphs:
        raise ValueError("near duplicates are documents, expected no paragraphs")
    folder = Path(output)
    files = _named_shards([Path(shard) for shard in shards], root)
    for name, file in files.items():
        for place in (file, file.resolve()):
            target = (folder / name).parent
            if target.exists() and place.parent.samefile(target):
                raise ValueError(f"{file} would be overwritten, expected an output folder of its own")
    if index.path.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise ValueError(f"the output folder is {folder}, expected one outside the index")
    folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(folder)
    try:
        if near is None and SETTINGS in index:
            raise ValueError(f"{index.path} is an index of near duplicates, expected one of exact duplicates")
        comparison = None if near is None else NearComparison(index, near)
        like = paragraphs if comparison is None else comparison.form
        forms = {name: [*_state(file), field, like] for name, file in files.items()}
        _recover(index, folder, forms, comparison)
        for name in files:
            if os.path.lexists(folder / name) and _record(name) not in index:
                raise _in_the_way(folder / name)
        run = _Run(index, folder, paragraphs, How(field, on_bad_line, memory // 8), _Recent(memory // 2), comparison, progress)
        for name, file in files.items():
            run.shard(name, file, forms[name])
        return run.counts
    finally:
        lock.release()


def _in_the_way(target: Path) -> ValueError:
    return ValueError(f"{target} is there, and not as this index made it; use its own index, another output folder, or move it away")


def _named_shards(files: list[Path], root: str | os.PathLike[str] | None) -> dict[str, Path]:
    """The shards by their names. Raises for those that cannot be read as shards before anything is written."""
    shards: dict[str, Path] = {}
    for file in files:
        name = file.name
        if root is not None:
            name = os.path.relpath(file, root)
            if name.split(os.sep)[0] == os.pardir:
                raise ValueError(f"{file} is not below {os.fspath(root)}, expected shards of that folder")
        if shards.get(name) == file:
            raise ValueError(f"{file} is there twice, expected each shard once")
        if name in shards:
            raise ValueError(f"{shards[name]} and {file} have the same name; a root (--root) that holds both folders tells them apart")
        form_of(file)
        if stat.S_ISDIR(os.stat(file).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(file))
        shards[name] = file
    return shards


def _unfinished(target: Path) -> Path:
    """Where an output is written until it is complete. A longer name than its own may be too long."""
    name = target.name
    return target.with_name(f".{name[:40]}.{_digest(os.fsencode(name)).hex()[:16]}.unfinished")


class _Run:
    """What a call has come to."""

    def __init__(
        self,
        index: FlashIndex,
        folder: Path,
        paragraphs: bool,
        how: How,
        recent: _Recent,
        near: NearComparison | None,
        progress: Callable[[str, int], object] | None,
    ) -> None:
        self._index, self._folder, self._paragraphs, self._how = index, folder, paragraphs, how
        self._recent, self._near, self._progress = recent, near, progress
        self.counts = Counts()

    def shard(self, name: str, file: Path, form: list[Any]) -> None:
        """Writes the output of a shard, and makes it a finished one."""
        target = self._folder / name
        make(target.parent)
        unfinished = _unfinished(target)
        try:
            self._write(name, file, form, target, unfinished)
        finally:
            unfinished.unlink(missing_ok=True)

    def _write(self, name: str, file: Path, form: list[Any], target: Path, unfinished: Path) -> None:
        index = self._index
        finished = index.get(_record(name))
        content = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        shard_name = name.encode("utf-8", "surrogateescape")
        first = 0
        near = self._near
        with opened(file, name, unfinished, self._how) as shard:
            if finished is None:
                # Durable before its places are: changes become so in order.
                index[_UNFINISHED] = json.dumps({name: form})
            if near is not None:
                near.begin(shard_name, finished is not None)
            for texts in shard.batches:
                compared, keys = _compared(texts, self._paragraphs)
                content.update(b"".join(keys))
                if self._paragraphs:
                    content.update("".join(f"{first + n}:{m}," for n, m in compared).encode())

                def place(at: int) -> bytes:
                    n, m = compared[at]
                    return b"%b:%d:%d" % (shard_name, first + n, m)

                if near is not None:
                    gone = near.came_before(texts, first) if finished is None else near.left_out(len(texts))
                else:
                    gone = self._came_before(keys, place) if finished is None else self._left_out(keys, place)
                if gone is None:
                    break
                kept = _kept(texts, compared, gone, self._paragraphs)
                shard.write(kept)
                first += len(texts)
                of_batch = Counts(len(texts), len(kept), len(keys), len(keys) - sum(gone))
                self.counts = Counts(*map(sum, zip(self.counts, of_batch)))
                if self._progress is not None:
                    self._progress(name, first)
            left_out = Counts(skipped_lines=shard.left_out.bad, blank_lines=shard.left_out.blank)
            self.counts = Counts(*map(sum, zip(self.counts, left_out)))
        read = content.hexdigest()
        if finished not in (None, read.encode()):
            how = "give it a name that no shard had, or use a new index and output"
            raise ValueError(f"{file} has other documents than the finished shard of its name, or is read in another way; {how}")
        if finished is not None and target.exists():
            if not filecmp.cmp(unfinished, target, shallow=False):
                raise _in_the_way(target)
            return
        with open(unfinished, "rb") as written, named(unfinished):
            os.fsync(written.fileno())
        if finished is None:
            if near is not None:
                near.end()
            index[_UNFINISHED] = json.dumps({name: [*form, read, os.path.abspath(target), *_state(unfinished)[:2]]})
        index.commit()
        os.replace(unfinished, target)
        sync(target.parent)
        if finished is None:
            _finish(index, name, read)
            index.commit()

    def _came_before(self, keys: list[bytes], place: Callable[[int], bytes]) -> list[bool]:
        """Which of the keys came before these places. All are known from now on."""
        gone = [True] * len(keys)
        asked = self._recent.unknown(keys)
        places = [place(n) for n in asked]
        for n, ours, old in zip(asked, places, self._index.setdefault_many([keys[n] for n in asked], places)):
            # Its own place is there if a run before this one was interrupted.
            gone[n] = old is not None and old != ours
        return gone

    def _left_out(self, keys: list[bytes], place: Callable[[int], bytes]) -> list[bool] | None:
        """Which of the keys of a finished shard it left to others. None if there is a key that it did not have."""
        old = self._index.get_many(keys)
        return None if None in old else [before != place(n) for n, before in enumerate(old)]


def _state(file: str | os.PathLike[str]) -> list[int]:
    """Size, time of modification and time of change. A copy can have the first two of the file that it replaces, and renaming changes the
    last."""
    state = os.stat(file)
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def _record(name: str) -> bytes:
    return _FINISHED + name.encode("utf-8", "surrogateescape")


def _finish(index: FlashIndex, name: str, read: str) -> None:
    index[_record(name)] = read
    index[_UNFINISHED] = b"{}"


def _recover(index: FlashIndex, folder: Path, forms: dict[str, list[Any]], near: NearComparison | None) -> None:
    """Finishes the shard of an interrupted run if its output is there, or forgets it if others would be compared with it."""
    left: dict[str, list[Any]] = json.loads(index.get(_UNFINISHED, b"{}"))
    for name, (*_, read, output, size, changed) in [item for item in left.items() if len(item[1]) > 5]:
        if os.path.exists(output) and _state(output)[:2] == [size, changed]:
            _finish(index, name, read)
            del left[name]
    following = next((name for name in forms if _record(name) not in index), None)
    if any(near is not None or name != following or form[:5] != forms[name] for name, form in left.items()):
        if near is None:
            _forget(index, left)
        else:
            near.forget()
        for name in left:
            _unfinished(folder / name).unlink(missing_ok=True)
        index[_UNFINISHED] = b"{}"


def _forget(index: FlashIndex, names: Iterable[str]) -> None:
    """Removes the places of shards that have no output: what came first in them would be in no output at all."""
    shards = {name.encode("utf-8", "surrogateescape") for name in names}
    index._delete_all(lambda: (key for key, place in index.items() if place.rsplit(b":", 2)[0] in shards))


def _compared(texts: list[bytes], paragraphs: bool) -> tuple[list[tuple[int, int]], list[bytes]]:
    """Which pieces of documents are compared, and their keys."""
    if not paragraphs:
        return _WHOLE[: len(texts)], [_digest(text) for text in texts]
    pieces = [(n, m, part) for n, text in enumerate(texts) for m, part in enumerate(text.split(b"\n")) if not _is_blank(part)]
    return [(n, m) for n, m, _ in pieces], [_digest(part) for _, _, part in pieces]


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()


def _is_blank(part: bytes) -> bool:
    rest = part.strip()
    # Of other white space there is much.
    return not rest or (not 0x20 < rest[0] < 0x7F and not rest.decode("utf-8", "replace").strip())


def _kept(texts: list[bytes], compared: list[tuple[int, int]], gone: list[bool], paragraphs: bool) -> list[tuple[int, bytes]]:
    """The texts that are kept, with their numbers, if these pieces are gone."""
    if not paragraphs:
        return [(n, text) for (n, _), text, is_gone in zip(compared, texts, gone) if not is_gone]
    missing: dict[int, set[int]] = {}
    asked = [0] * len(texts)
    for (n, m), is_gone in zip(compared, gone):
        asked[n] += 1
        if is_gone:
            missing.setdefault(n, set()).add(m)
    return [
        (n, text if n not in missing else b"\n".join(part for m, part in enumerate(text.split(b"\n")) if m not in missing[n]))
        for n, text in enumerate(texts)
        if n not in missing or len(missing[n]) < asked[n]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="springflash-duplicates",
        description="Write shards without documents, or paragraphs, that occurred before. Exact, or with --near those that are similar.",
    )
    parser.add_argument("--version", action="version", version=f"springflash-duplicates {__version__}")
    parser.add_argument("index", help="folder of the index of earlier documents; created if it is missing")
    parser.add_argument("output", help="folder for the shards without duplicates")
    parser.add_argument("shards", nargs="+", help=FORMS)
    parser.add_argument("--field", default="text", help="field or column of the text (default: text)")
    parser.add_argument("--paragraphs", action="store_true", help="compare lines within documents instead of documents")
    parser.add_argument("--near", action="store_true", help="leave out documents that are similar to an earlier one that is kept")
    defaults = NearDuplicates()
    for name, kind, meaning in [
        ("threshold", float, "Jaccard similarity of near duplicates, between 0 and 1"),
        ("permutations", int, "values of a MinHash signature, 2 to 1024"),
        ("words", int, "words of a shingle, 1 to 1000"),
    ]:
        default = getattr(defaults, name)
        parser.add_argument(f"--{name}", type=kind, metavar="N", help=f"with --near: {meaning} (default: {default})")
    parser.add_argument("--json", action="store_true", help="print the counts as a JSON object")
    parser.add_argument("--root", help="name shards and outputs by their paths below this folder, for equal names in several folders")
    parser.add_argument(
        "--on-bad-line",
        choices=["stop", "skip"],
        default="stop",
        help="at a line that is no JSON object with text, a row without text, or a line that is too long: stop with code 2 (default), or "
        "drop and count it, and end with code 4",
    )
    parser.add_argument(
        "--memory",
        type=_mebibytes,
        default=MEMORY >> 20,
        metavar="MIB",
        help="memory, in addition to the interpreter and a byte for each document (default: 256). A line may have an eighth of it; half "
        "of it keeps recent keys, which need no read of the disk",
    )
    if sys.stdout is None:
        _exit(1, "standard output is closed, expected an open one; /dev/null takes what nobody reads")
    # What argparse cannot write is no error to it.
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            asked = parser.parse_args()
    except SystemExit:
        try:
            print(told.getvalue(), end="", flush=True)
        except OSError as error:
            _exit(1, error)
        raise
    begun: dict[str, None] = {}

    def bar(name: str, documents: int) -> None:
        begun[name] = None
        if sys.stderr is not None and sys.stderr.isatty():
            of_all = f"{len(begun)} of {len(asked.shards)} shards"
            print(f"\r{of_all}: {name}, {documents} documents \033[K", end="", file=sys.stderr)

    try:
        memory = asked.memory << 20
        given = {name: getattr(asked, name) for name in defaults._fields if getattr(asked, name) is not None}
        if given and not asked.near:
            raise ValueError(f"--{next(iter(given))} needs --near")
        if asked.near and asked.paragraphs:
            raise ValueError("--near compares documents, not --paragraphs")
        near = check_settings(defaults._replace(**given)) if asked.near else None
        # Before there is an index.
        _named_shards([Path(shard) for shard in asked.shards], asked.root)
        # A new index of near duplicates is for as many keys as this memory is enough for.
        with FlashIndex(asked.index, expected_keys=memory // 2 if asked.near else 0, memory=memory // 8, lean=asked.near) as index:
            kept = deduplicate(
                index,
                asked.shards,
                asked.output,
                field=asked.field,
                paragraphs=asked.paragraphs,
                near=near,
                root=asked.root,
                on_bad_line=asked.on_bad_line,
                memory=memory,
                progress=bar,
            )
        documents = f"{kept.kept_documents} of {kept.documents} documents"
        left_out = [(kept.skipped_lines, "bad"), (kept.blank_lines, "blank")]
        told_lines = ", ".join(f"{count} {kind} lines" for count, kind in left_out if count)
        left = f"; left out: {told_lines}" if told_lines else ""
        if asked.json:
            print(json.dumps(kept._asdict()), flush=True)
        else:
            print(f"kept {documents}, {kept.kept_paragraphs} of {kept.paragraphs} paragraphs{left}", flush=True)
        if kept.skipped_lines:
            sys.exit(4)
    except _TOLD as last:
        first: BaseException = last
        # What closing raises follows from what was raised before.
        while not first.__suppress_context__ and isinstance(first.__context__, _TOLD):
            first = first.__context__
        if isinstance(first, KeyboardInterrupt):
            raise first from None
        reason = "there is not enough memory" if isinstance(first, MemoryError) else first
        is_asked = isinstance(first, ValueError) or getattr(first, "errno", None) in _WRONG_NAMES
        _exit(2 if is_asked else 1, reason)


def _mebibytes(text: str) -> int:
    if text.isdecimal() and 16 <= int(text) <= _MEBIBYTES_MAX:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number of mebibytes, expected a whole one of 16 to {_MEBIBYTES_MAX}")


def _exit(code: int, reason: object) -> NoReturn:
    # What could not be written would be tried again at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        print("springflash-duplicates:", " ".join(str(reason).split()), file=sys.stderr, flush=True)
    except OSError:
        # Nobody can be told, and the code stays.
        os.dup2(1, 2)
    sys.exit(code)
