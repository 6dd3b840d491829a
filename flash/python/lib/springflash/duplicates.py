"""Removes documents or paragraphs that shards of training data hold twice: ``springflash-duplicates --help``, or :func:`deduplicate`.

Exact: a digest of 20 bytes of each is in a :class:`~springflash.FlashIndex`, with the place where it came first. So nothing is removed
because a filter errs, and a run that was killed is repeated with the same result. What it did not finish is forgotten, unless the same
shard is the next one that is to be finished: that reads the whole index. So documents are compared with those of finished shards only.
A finished shard that has other documents by now is refused: what it had came first in it, and others left that to it.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ._batches import together
from ._files import fault, sync
from ._index import FlashIndex
from ._springflash import FlashError

#: Documents that are held in memory.
_BATCH_DOCUMENTS = 2048

#: The key of what an interrupted run leaves: the shard that is not finished, with what its places in the index depend on, and from the
#: moment at which all of them are there with what its output will be.
_UNFINISHED = b"unfinished"
#: With the name of a finished shard, the key of a digest of what was compared in it, with the places: all of that is known.
_FINISHED = b"finished:"
#: Keys that are forgotten at a time.
_FORGOTTEN_KEYS = 1_000_000

#: A byte that is no UTF-8, as a line has it. An escape in JSON can be the same, so the texts that are compared have a mark before the byte.
#: No escapes are like both, as JSON makes one character of such a pair.
_BYTE, _MARK = re.compile("([\udc80-\udcff])"), "\udbff"
_MARKED_BYTE = re.compile(_MARK + _BYTE.pattern)

#: What is between the keys and values of a JSON object.
_BETWEEN = re.compile(r"\s*[{,:]?\s*")

#: What the program tells in one line.
_TOLD = (KeyboardInterrupt, ImportError, MemoryError, OSError, ValueError, FlashError)

#: Reads batches of texts, and writes those texts of the last batch that are kept, with their places in it.
_Shard = tuple[Iterator[list[str]], Callable[[list[tuple[int, str]]], object]]


class Counts(NamedTuple):
    """What :func:`deduplicate` has read and kept. A document counts as one paragraph unless paragraphs are compared."""

    documents: int = 0
    kept_documents: int = 0
    paragraphs: int = 0
    kept_paragraphs: int = 0


def deduplicate(
    index: FlashIndex,
    shards: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    field: str = "text",
    paragraphs: bool = False,
    progress: Callable[[str, int], object] | None = None,
) -> Counts:
    """Writes each shard to the folder ``output``, under its name, without what came before in it, in another shard, or in earlier runs.

    A shard is a file of lines (``.txt``), of JSON lines (``.jsonl``), either also as ``.gz``, or ``.parquet`` (needs pyarrow). A document
    is a line, or the ``field`` of an object or row. With ``paragraphs`` the lines within each document are compared, without empty ones:
    what came before is taken out, and a document of which nothing is left is dropped. Shards need different names, also those of
    different runs: other documents under the name of a finished shard are a ``ValueError``, and its output stays. The output of a shard
    appears when it is complete and durable. ``progress(shard, documents)`` follows each batch.
    """
    files = [Path(shard) for shard in shards]
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ValueError(f"two shards are named {max(names, key=names.count)}, expected names that differ")
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    counts = Counts()
    forms = {file.name: [*_state(file), field, paragraphs] for file in files}
    for file in files:
        if any(place.parent.samefile(folder) for place in (file, file.resolve())):
            raise ValueError(f"{file} would be overwritten, expected an output folder of its own")
    _recover(index, forms)
    for file in files:
        name, form, unfinished = file.name, forms[file.name], folder / f".{file.name}.unfinished"
        finished = index.get(_record(name))
        content = hashlib.blake2b(digest_size=20)
        first = 0
        with _opened(file, unfinished, field) as (batches, write):
            if finished is None:
                # Durable before its places are: changes become so in order.
                index[_UNFINISHED] = json.dumps({name: form})
            for texts in batches:
                pieces = [text.split("\n") if paragraphs else [text] for text in texts]
                compared, keys, places = _compared(name, first, pieces, paragraphs)
                content.update(b"".join(itertools.chain(*zip(keys, places))))
                known = index.setdefault_many(keys, places) if finished is None else index.get_many(keys)
                if finished is not None and None in known:
                    break
                kept, counted = _kept(pieces, compared, places, known)
                write(kept)
                first += len(texts)
                counts = Counts(*map(sum, zip(counts, counted)))
                if progress is not None:
                    progress(name, first)
        read = content.hexdigest()
        if finished not in (None, read.encode()):
            unfinished.unlink()
            how = "give it a name that no shard had, or use a new index and output"
            raise ValueError(f"{file} has other documents than the finished shard of its name, or is read in another way; {how}")
        with open(unfinished, "rb") as written, _named(unfinished):
            os.fsync(written.fileno())
        if finished is None:
            index[_UNFINISHED] = json.dumps({name: [*form, read, os.path.abspath(folder / name), *_state(unfinished)[:2]]})
        index.commit()
        os.replace(unfinished, folder / name)
        sync(folder)
        if finished is None:
            _finish(index, name, read)
            index.commit()
    return counts


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


def _recover(index: FlashIndex, forms: dict[str, list[Any]]) -> None:
    """Finishes the shard of an interrupted run if its output is there, or forgets it if others would be compared with it."""
    left: dict[str, list[Any]] = json.loads(index.get(_UNFINISHED, b"{}"))
    for name, (*_, read, output, size, changed) in [item for item in left.items() if len(item[1]) > 5]:
        if os.path.exists(output) and _state(output)[:2] == [size, changed]:
            _finish(index, name, read)
            del left[name]
    following = next((name for name in forms if _record(name) not in index), None)
    if any(name != following or form[:5] != forms[name] for name, form in left.items()):
        _forget(index, left)
        index[_UNFINISHED] = b"{}"


def _forget(index: FlashIndex, names: Iterable[str]) -> None:
    """Removes the places of shards that have no output: what came first in them would be in no output at all."""
    shards = {name.encode("utf-8", "surrogateescape") for name in names}

    def gone() -> Iterator[bytes]:
        return (key for key, place in index.items() if place.rsplit(b":", 2)[0] in shards)

    # Again from the start, as an iteration ends when the index changes.
    while keys := list(itertools.islice(gone(), _FORGOTTEN_KEYS)):
        for (batch,) in together(keys):
            index._delete_batch(batch)


def _compared(
    name: str, first: int, pieces: list[list[str]], paragraphs: bool
) -> tuple[list[tuple[int, int]], list[bytes], list[bytes]]:
    """Which pieces of documents are compared, their keys, and their places. The first document has the number `first`."""
    compared = [
        (n, m) for n, parts in enumerate(pieces) for m, part in enumerate(parts) if not paragraphs or part.strip()
    ]
    keys = [hashlib.blake2b(pieces[n][m].encode("utf-8", "surrogatepass"), digest_size=20).digest() for n, m in compared]
    return compared, keys, [f"{name}:{first + n}:{m}".encode("utf-8", "surrogateescape") for n, m in compared]


def _kept(
    pieces: list[list[str]], compared: list[tuple[int, int]], places: list[bytes], known: list[bytes | None]
) -> tuple[list[tuple[int, str]], Counts]:
    """The texts that are kept, with their numbers, if these places of what is compared are known."""
    gone: dict[int, set[int]] = {}
    for (n, m), place, old in zip(compared, places, known):
        # Its own place is there if a run before this one was interrupted.
        if old is not None and old != place:
            gone.setdefault(n, set()).add(m)
    asked = [0] * len(pieces)
    for n, _ in compared:
        asked[n] += 1
    kept = [
        (n, "\n".join(part for m, part in enumerate(parts) if m not in gone.get(n, ())))
        for n, parts in enumerate(pieces)
        if n not in gone or len(gone[n]) < asked[n]
    ]
    removed = sum(map(len, gone.values()))
    return kept, Counts(len(pieces), len(kept), len(compared), len(compared) - removed)


def _opened(file: Path, target: Path, field: str) -> contextlib.AbstractContextManager[_Shard]:
    kinds = [suffix for suffix in file.suffixes if suffix != ".gz"]
    if file.suffix == ".parquet":
        return _parquet(file, target, field)
    if kinds[-1:] not in ([".txt"], [".jsonl"]):
        raise ValueError(f"{file} is none of .txt, .txt.gz, .jsonl, .jsonl.gz and .parquet")
    return _lines(file, target, field if kinds[-1] == ".jsonl" else None)


@contextlib.contextmanager
def _named(file: str | os.PathLike[str]) -> Iterator[None]:
    """Names the file in faults of the disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(file)
        raise


class _Output(io.FileIO):
    """A new file: a link of its name is not followed."""

    def __init__(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        super().__init__(os.fspath(file), "x")

    def write(self, data: Any) -> int:
        with _named(self.name):
            return super().write(data)


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Names the shard in what libraries raise because of its contents."""
    try:
        with _named(file):
            yield
    except (EOFError, OSError, RecursionError, ValueError, zlib.error) as error:
        if str(file) in str(error) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(f"{file}: {error}") from error


@contextlib.contextmanager
def _lines(file: Path, target: Path, field: str | None) -> Iterator[_Shard]:
    is_packed = file.suffix == ".gz"
    opened: Any = gzip.open if is_packed else open
    # Bytes that are no UTF-8 are written as they were read.
    form: Any = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}
    with contextlib.ExitStack() as open_files:
        enter = open_files.enter_context
        source = enter(opened(file, "rt", **form))
        output: Any = enter(io.BufferedWriter(_Output(target)))
        # A packed file tells its name, which is that of the shard.
        packed = enter(gzip.GzipFile(file.name, "wb", fileobj=output)) if is_packed else output
        sink = enter(io.TextIOWrapper(packed, **form))
        batch: list[tuple[str, str]] = []

        def read() -> Iterator[list[str]]:
            number = 0
            with _reading(file):
                while lines := list(itertools.islice(source, _BATCH_DOCUMENTS)):
                    batch.clear()
                    for line in lines:
                        number += 1
                        line = line.rstrip("\n")
                        batch.append((_document(line, field, f"{file}:{number}"), line))
                    yield [text for text, _ in batch]

        def write(kept: list[tuple[int, str]]) -> None:
            for n, text in kept:
                before, line = batch[n]
                sink.write((line if field is None or text == before else _replaced(line, field, text)) + "\n")

        yield read(), write


def _document(line: str, field: str | None, place: str) -> str:
    marked = line if line.isascii() else _BYTE.sub(_MARK + r"\1", line)
    if field is None:
        return marked
    try:
        row = json.loads(marked)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: {error}") from None
    text = row.get(field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ValueError(f"{place}: expected an object with text in {field!r}")
    return text


def _replaced(line: str, field: str, text: str) -> str:
    """The object with another text. All else stays as it is written: numbers may have more digits than a float."""
    decode = json.JSONDecoder().raw_decode
    first = last = end = 0
    while not line.startswith("}", at := _next(line, end)):
        key, at = decode(line, at)
        start = _next(line, at)
        _, end = decode(line, start)
        # Of equal keys the last one counts.
        if key == field:
            first, last = start, end
    parts = _MARKED_BYTE.split(text)
    parts[::2] = [json.dumps(part)[1:-1] for part in parts[::2]]
    return f'{line[:first]}"{"".join(parts)}"{line[last:]}'


def _next(line: str, at: int) -> int:
    """Where the next key or value begins, or the object ends."""
    found = _BETWEEN.match(line, at)
    return found.end() if found else at


@contextlib.contextmanager
def _arrow(file: Path, errors: type[Exception]) -> Iterator[None]:
    """Names the shard in what Arrow cannot do with it."""
    try:
        yield
    except errors as error:
        if isinstance(error, MemoryError):
            raise
        raise fault(FlashError, file, str(error)) from error


@contextlib.contextmanager
def _parquet(file: Path, target: Path, field: str) -> Iterator[_Shard]:
    import pyarrow
    import pyarrow.parquet

    with contextlib.ExitStack() as open_files:
        enter = open_files.enter_context
        enter(_arrow(file, pyarrow.ArrowException))
        with _reading(file):
            source = enter(pyarrow.parquet.ParquetFile(file))
        output = enter(io.BufferedWriter(_Output(target)))
        sink = enter(pyarrow.parquet.ParquetWriter(output, source.schema_arrow))
        column = source.schema_arrow.get_field_index(field)
        if column < 0:
            raise ValueError(f"{file}: there is no column {field!r}")
        last: list[Any] = [None]

        def read() -> Iterator[list[str]]:
            number = 0
            with _reading(file):
                for last[0] in source.iter_batches(_BATCH_DOCUMENTS):
                    texts = last[0].column(column).to_pylist()
                    wrong = next((n for n, text in enumerate(texts) if not isinstance(text, str)), None)
                    if wrong is not None:
                        raise ValueError(f"{file}: row {number + wrong} has no text in {field!r}")
                    number += len(texts)
                    yield texts

        def write(kept: list[tuple[int, str]]) -> None:
            try:
                rows = last[0].take(pyarrow.array([n for n, _ in kept], pyarrow.int64()))
            except NotImplementedError:  # There are types that it does not take, such as string_view.
                rows = pyarrow.Table.from_batches([last[0].slice(n, 1) for n, _ in kept], last[0].schema)
            texts = pyarrow.array([text for _, text in kept], rows.schema.field(column).type)
            sink.write(rows.set_column(column, rows.schema.field(column), texts))

        yield read(), write


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="springflash-duplicates",
        description="Write shards without the documents, or paragraphs, that came before. Exact; needs a byte of memory for each.",
    )
    parser.add_argument("--version", action="version", version=f"springflash-duplicates {version('springflash')}")
    parser.add_argument("index", help="folder of the index of what came before; made if it is not there")
    parser.add_argument("output", help="folder for the shards without duplicates")
    parser.add_argument("shards", nargs="+", help=".txt, .txt.gz, .jsonl, .jsonl.gz or .parquet")
    parser.add_argument("--field", default="text", help="field or column of the text (default: text)")
    parser.add_argument("--paragraphs", action="store_true", help="compare lines within documents instead of documents")
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
    files = {Path(shard).name: n for n, shard in enumerate(asked.shards, 1)}

    def bar(name: str, documents: int) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{files[name]} of {len(files)} shards: {name}, {documents} documents \033[K", end="", file=sys.stderr)

    try:
        with FlashIndex(asked.index) as index:
            kept = deduplicate(
                index, asked.shards, asked.output, field=asked.field, paragraphs=asked.paragraphs, progress=bar
            )
        documents = f"{kept.kept_documents} of {kept.documents} documents"
        print(f"kept {documents}, {kept.kept_paragraphs} of {kept.paragraphs} paragraphs", flush=True)
    except _TOLD as last:
        first: BaseException = last
        # What closing raises follows from what was raised before.
        while not first.__suppress_context__ and isinstance(first.__context__, _TOLD):
            first = first.__context__
        if isinstance(first, KeyboardInterrupt):
            _exit(130, "interrupted; repeat it with the same command")
        reason = "there is not enough memory" if isinstance(first, MemoryError) else first
        _exit(2 if isinstance(first, ValueError) else 1, reason)


def _exit(code: int, reason: object) -> NoReturn:
    # What could not be written would be tried again at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        print("springflash-duplicates:", " ".join(str(reason).split()), file=sys.stderr, flush=True)
    except OSError:
        # Nobody can be told, and the code stays.
        os.dup2(1, 2)
    sys.exit(code)
