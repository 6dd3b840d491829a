"""Removes documents or paragraphs that shards of training data hold twice: ``springflash-duplicates --help``, or :func:`deduplicate`.

Exact: a digest of 20 bytes of each is in a :class:`~springflash.FlashIndex`, with the place where it came first. So nothing is removed
because a filter errs, and a run that was killed is repeated with the same result. What it did not finish is forgotten if the shard has
changed by then or is not asked for again: that reads the whole index.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import itertools
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ._batches import together
from ._files import sync
from ._index import FlashIndex
from ._springflash import FlashError

#: Documents that are held in memory.
_BATCH_DOCUMENTS = 2048

#: The key of what an interrupted run leaves: shards without output, each with what its places in the index depend on.
_UNFINISHED = b"unfinished"
#: Keys that are forgotten at a time.
_FORGOTTEN_KEYS = 1_000_000

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
    different runs. The output of a shard appears when it is complete and durable. ``progress(shard, documents)`` follows each batch.
    """
    files = [Path(shard) for shard in shards]
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ValueError(f"two shards are named {max(names, key=names.count)}, expected names that differ")
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    counts = Counts()
    forms = {file.name: [file.stat().st_size, file.stat().st_mtime_ns, field, paragraphs] for file in files}
    left: dict[str, Any] = json.loads(index.get(_UNFINISHED, b"{}"))
    changed = [name for name in left if left[name] != forms.get(name)]
    if changed:
        _forget(index, changed)
        left = {name: left[name] for name in left if name not in changed}
    for file in files:
        if file.parent.samefile(folder):
            raise ValueError(f"{file} would be overwritten, expected an output folder of its own")
        unfinished = folder / f".{file.name}.unfinished"
        first = 0
        with _opened(file, unfinished, field) as (batches, write):
            # Durable before its places are: changes become so in order.
            left[file.name] = forms[file.name]
            index[_UNFINISHED] = json.dumps(left)
            for texts in batches:
                kept, counted = _kept(index, file.name, first, texts, paragraphs)
                write(kept)
                first += len(texts)
                counts = Counts(*map(sum, zip(counts, counted)))
                if progress is not None:
                    progress(file.name, first)
        index.commit()
        with open(unfinished, "rb") as written:
            os.fsync(written.fileno())
        os.replace(unfinished, folder / file.name)
        sync(folder)
        del left[file.name]
        index[_UNFINISHED] = json.dumps(left)
        index.commit()
    return counts


def _forget(index: FlashIndex, names: list[str]) -> None:
    """Removes the places of shards that have no output: what came first in them would be in no output at all."""
    shards = {name.encode("utf-8", "surrogateescape") for name in names}
    # Again from the start, as an iteration ends when the index changes.
    while keys := list(itertools.islice((key for key, place in index.items() if place.rsplit(b":", 2)[0] in shards), _FORGOTTEN_KEYS)):
        for (batch,) in together(keys):
            index._delete_batch(batch)


def _kept(index: FlashIndex, name: str, first: int, texts: list[str], paragraphs: bool) -> tuple[list[tuple[int, str]], Counts]:
    """The texts that are kept, with their places in the batch, which begins with document number `first`."""
    pieces = [text.split("\n") if paragraphs else [text] for text in texts]
    compared = [
        (n, m) for n, parts in enumerate(pieces) for m, part in enumerate(parts) if not paragraphs or part.strip()
    ]
    keys = [hashlib.blake2b(pieces[n][m].encode("utf-8", "surrogatepass"), digest_size=20).digest() for n, m in compared]
    places = [f"{name}:{first + n}:{m}".encode("utf-8", "surrogateescape") for n, m in compared]
    gone: dict[int, set[int]] = {}
    for (n, m), place, old in zip(compared, places, index.setdefault_many(keys, places)):
        # Its own place is there if a run before this one was interrupted.
        if old is not None and old != place:
            gone.setdefault(n, set()).add(m)
    asked = [0] * len(texts)
    for n, _ in compared:
        asked[n] += 1
    kept = [
        (n, "\n".join(part for m, part in enumerate(parts) if m not in gone.get(n, ())))
        for n, parts in enumerate(pieces)
        if n not in gone or len(gone[n]) < asked[n]
    ]
    removed = sum(map(len, gone.values()))
    return kept, Counts(len(texts), len(kept), len(compared), len(compared) - removed)


def _opened(file: Path, target: Path, field: str) -> contextlib.AbstractContextManager[_Shard]:
    kinds = [suffix for suffix in file.suffixes if suffix != ".gz"]
    if file.suffix == ".parquet":
        return _parquet(file, target, field)
    if kinds[-1:] not in ([".txt"], [".jsonl"]):
        raise ValueError(f"{file} is none of .txt, .txt.gz, .jsonl, .jsonl.gz and .parquet")
    return _lines(file, target, field if kinds[-1] == ".jsonl" else None)


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Names the shard in what libraries raise because of its contents."""
    try:
        yield
    except (EOFError, OSError, RecursionError, ValueError, zlib.error) as error:
        if str(file) in str(error) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(f"{file}: {error}") from error


@contextlib.contextmanager
def _lines(file: Path, target: Path, field: str | None) -> Iterator[_Shard]:
    opened: Any = gzip.open if file.suffix == ".gz" else open
    # Bytes that are no UTF-8 are written as they were read.
    form = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}
    with opened(file, "rt", **form) as source, opened(target, "wt", **form) as sink:
        batch: list[tuple[str, Any]] = []

        def read() -> Iterator[list[str]]:
            number = 0
            with _reading(file):
                while lines := list(itertools.islice(source, _BATCH_DOCUMENTS)):
                    batch.clear()
                    for line in lines:
                        number += 1
                        batch.append(_document(line, field, f"{file}:{number}"))
                    yield [text for text, _ in batch]

        def write(kept: list[tuple[int, str]]) -> None:
            for n, text in kept:
                before, row = batch[n]
                if field is None:
                    sink.write(text + "\n")
                elif text == before:
                    sink.write(row[1].rstrip("\n") + "\n")
                else:
                    sink.write(json.dumps({**row[0], field: text}) + "\n")

        yield read(), write


def _document(line: str, field: str | None, place: str) -> tuple[str, Any]:
    if field is None:
        return line.rstrip("\n"), None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: {error}") from None
    text = row.get(field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ValueError(f"{place}: expected an object with text in {field!r}")
    return text, (row, line)


@contextlib.contextmanager
def _parquet(file: Path, target: Path, field: str) -> Iterator[_Shard]:
    import pyarrow
    import pyarrow.parquet

    with _reading(file):
        opened = pyarrow.parquet.ParquetFile(file)
    with opened as source, pyarrow.parquet.ParquetWriter(target, source.schema_arrow) as sink:
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
            rows = last[0].take(pyarrow.array([n for n, _ in kept], pyarrow.int64()))
            texts = pyarrow.array([text for _, text in kept], rows.schema.field(column).type)
            sink.write_batch(rows.set_column(column, rows.schema.field(column), texts))

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
    asked = parser.parse_args()
    files = {Path(shard).name: n for n, shard in enumerate(asked.shards, 1)}

    def bar(name: str, documents: int) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{files[name]} of {len(files)} shards: {name}, {documents} documents \033[K", end="", file=sys.stderr)

    if sys.stdout is None:
        _exit(1, "standard output is closed, expected an open one; /dev/null takes what nobody reads")
    try:
        with FlashIndex(asked.index) as index:
            kept = deduplicate(
                index, asked.shards, asked.output, field=asked.field, paragraphs=asked.paragraphs, progress=bar
            )
        documents = f"{kept.kept_documents} of {kept.documents} documents"
        print(f"kept {documents}, {kept.kept_paragraphs} of {kept.paragraphs} paragraphs", flush=True)
    except KeyboardInterrupt:
        _exit(130, "interrupted; repeat it with the same command")
    except ValueError as error:
        _exit(2, error)
    except (ImportError, OSError, FlashError) as error:
        _exit(1, error)


def _exit(code: int, reason: object) -> NoReturn:
    # What could not be written would be tried again at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    print("springflash-duplicates:", " ".join(str(reason).split()), file=sys.stderr)
    sys.exit(code)
