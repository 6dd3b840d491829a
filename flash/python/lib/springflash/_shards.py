"""Shards of training data: reads their documents in batches, and writes those that are kept in the same form."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import itertools
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ._batches import is_text
from ._files import fault
from ._springflash import FlashError

OnBadLine = Literal["stop", "skip"]

FORMS = ".txt, .jsonl, .json or .ndjson (an object in each line), these also as .gz or .zst, or .parquet"
_PACKED = (".gz", ".zst")
_JSON = (".jsonl", ".json", ".ndjson")
_LINES = (".txt", *_JSON)

#: Documents of a batch, and bytes of it, so that long documents take no more memory.
BATCH_DOCUMENTS = 8192
_BATCH_BYTES = 8 << 20
#: Bytes that are split into lines at a time: a short line takes ten times its bytes.
_BLOCK_BYTES = 1 << 17

#: A byte that is no UTF-8, as a line has it. An escape in JSON can be the same, so what JSON reads has a mark before the byte. No escapes
#: are like both, as JSON makes one character of such a pair.
_BYTE, _MARK = re.compile("([\udc80-\udcff])"), "\udbff"
_MARKED_BYTE = re.compile(_MARK + _BYTE.pattern)
#: Half of a pair that JSON had as an escape, without the other one.
_SURROGATE = re.compile(rb"(\xed[\xa0-\xbf][\x80-\xbf])")

#: How texts of other encodings begin: with a byte order mark, or with a character of ASCII.
_WIDE = (
    ("UTF-32", rb"\xff\xfe\0\0|\0\0\xfe\xff"),
    ("UTF-32LE", rb"[^\0]\0\0\0"),
    ("UTF-32BE", rb"\0\0\0[^\0]"),
    ("UTF-16LE", rb"[^\0]\0[^\0]\0"),
    ("UTF-16BE", rb"\0[^\0]\0[^\0]"),
    ("UTF-16", rb"(\xff\xfe|\xfe\xff)[^\0]*\0"),
)

#: Of numbers only that they are no texts matters; Python refuses to make an int of thousands of digits.
_JSON_TEXT = json.JSONDecoder(parse_int=float)
#: What is between the keys and values of a JSON object.
_BETWEEN = re.compile(r"\s*[{,:]?\s*")


class How(NamedTuple):
    """How shards are read."""

    field: str
    on_bad_line: OnBadLine
    #: Bytes of a line that are not too many.
    line_bytes: int


class Shard(NamedTuple):
    """A shard that is being read, and its output."""

    #: Texts of documents, as UTF-8; bytes that are no UTF-8 stay.
    batches: Iterator[list[bytes]]
    #: Writes those of the last batch that are kept: their places in it, and their texts.
    write: Callable[[list[tuple[int, bytes]]], object]
    left_out: _LeftOut


def form_of(file: Path) -> str:
    """The suffix that tells the form of a shard, without that of a packed one."""
    if file.suffix == ".parquet":
        return file.suffix
    form = Path(file.stem if file.suffix in _PACKED else file.name).suffix
    if form not in _LINES:
        raise ValueError(f"{file} is none of {FORMS}")
    return form


def opened(file: Path, name: str, target: Path, how: How) -> contextlib.AbstractContextManager[Shard]:
    """Reads `file`, which is the shard `name`, and writes `target`."""
    form = form_of(file)
    if form == ".parquet":
        return _parquet(file, target, how)
    return _lines(file, Path(name).name, target, how, is_json=form in _JSON)


class _LeftOut:
    """Lines and rows that are no documents."""

    def __init__(self, how: How) -> None:
        self._how = how
        self.bad = self.blank = 0

    def take(self, place: str, reason: object) -> None:
        if self._how.on_bad_line == "stop":
            raise ValueError(f"{place}: {reason}; --on-bad-line skip leaves such lines out") from None
        self.bad += 1


@contextlib.contextmanager
def named(file: str | os.PathLike[str]) -> Iterator[None]:
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
        with named(self.name):
            return super().write(data)


@contextlib.contextmanager
def _reading(file: Path, *more: type[Exception]) -> Iterator[None]:
    """Names the shard in what libraries raise because of its contents."""
    errors: tuple[type[Exception], ...] = (EOFError, OSError, RecursionError, ValueError, zlib.error, *more)
    try:
        with named(file):
            yield
    except errors as error:
        if str(file) in str(error) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(f"{file}: {error}") from error


def _missing(package: str, extra: str, file: Path) -> ImportError:
    return ImportError(f"{file} needs the package {package}: pip install 'springflash[{extra}]'")


def _zstd(file: Path) -> Any:
    for module in ("compression.zstd", "backports.zstd"):  # The first since Python 3.14.
        with contextlib.suppress(ImportError):
            return importlib.import_module(module)
    raise _missing("backports.zstd", "zstd", file)


@contextlib.contextmanager
def _lines(file: Path, name: str, target: Path, how: How, is_json: bool) -> Iterator[Shard]:
    with contextlib.ExitStack() as open_files:
        enter = open_files.enter_context
        source: Any = enter(open(file, "rb"))
        output: Any
        if file.suffix == ".zst":
            zstd = _zstd(file)
            reading = _reading(file, zstd.ZstdError)
            source = enter(zstd.ZstdFile(source))
            output = enter(io.BufferedWriter(_Output(target)))
            output = enter(zstd.ZstdFile(output, "w", options={zstd.CompressionParameter.checksum_flag: 1}))
            # Else it writes no frame where no document stays.
            output.write(b"")
        else:
            reading = _reading(file)
            output = enter(io.BufferedWriter(_Output(target)))
            if file.suffix == ".gz":
                source = enter(gzip.GzipFile(fileobj=source))
                # A packed file tells its name, which is that of the shard. Without a time, equal ones are the same bytes.
                output = enter(gzip.GzipFile(name, "wb", fileobj=output, mtime=0))
        left_out = _LeftOut(how)
        #: The texts of the last batch, and the lines of JSON that they are in.
        texts: list[bytes] = []
        rows: list[bytes] = []

        def read() -> Iterator[list[bytes]]:
            number = 0
            with reading:
                for lines in _batches(source, how.line_bytes):
                    texts.clear()
                    rows.clear()
                    whole = [] if is_json else [line for line in lines if line is not None and line.strip()]
                    if not is_json and len(whole) == len(lines):
                        texts.extend(whole)
                    else:
                        for n, line in enumerate(lines, number + 1):
                            take(n, line)
                    number += len(lines)
                    yield texts

        def take(number: int, line: bytes | None) -> None:
            if line is not None and not line.strip():
                left_out.blank += 1
                return
            try:
                texts.append(line if line is not None and not is_json else _document(line, how))
                rows.append(line or b"")
            except ValueError as error:
                left_out.take(f"{file}:{number}", error)

        def write(kept: list[tuple[int, bytes]]) -> None:
            lines = [text for _, text in kept]
            if is_json:
                lines = [rows[n] if text == texts[n] else _replaced(rows[n], how.field, text) for n, text in kept]
            output.write(b"".join([line + b"\n" for line in lines]))

        yield Shard(read(), write, left_out)


def _batches(source: Any, line_bytes: int) -> Iterator[list[bytes | None]]:
    """Lines without their ends. None for one of too many bytes, of which not all are held."""
    start = source.read(_BLOCK_BYTES)
    for encoding, beginning in _WIDE:
        if re.match(beginning, start):
            raise ValueError(f"it is {encoding}, expected UTF-8; iconv -f {encoding} -t UTF-8 converts it")
    parts: list[bytes] = []
    done: list[bytes | None] = []
    size = held = 0
    rest_of_it = iter(lambda: source.read(_BLOCK_BYTES), b"")
    for block in itertools.chain([start.removeprefix(b"\xef\xbb\xbf")], rest_of_it):
        first, *rest = block.split(b"\n")
        size += len(first)
        # A line that is too long is not held; its size goes on.
        parts = [*parts, first] if size <= line_bytes else []
        if not rest:
            continue
        done.append(b"".join(parts) if size <= line_bytes else None)
        done += [line if len(line) <= line_bytes else None for line in rest[:-1]]
        held += size + len(block)
        parts, size = [rest[-1]], len(rest[-1])
        if len(done) >= BATCH_DOCUMENTS or held >= min(_BATCH_BYTES, line_bytes):
            for at in range(0, len(done), BATCH_DOCUMENTS):
                yield done[at : at + BATCH_DOCUMENTS]
            done, held = [], 0
    if size > 0:
        done.append(b"".join(parts) if size <= line_bytes else None)
    yield done


def _document(line: bytes | None, how: How) -> bytes:
    """The text of a JSON line."""
    if line is None:
        raise ValueError(f"the line has more than {how.line_bytes} bytes, more memory (--memory) lets it be read")
    try:
        decoded, is_marked = line.decode(), False
    except UnicodeDecodeError:
        decoded, is_marked = _BYTE.sub(_MARK + r"\1", line.decode("utf-8", "surrogateescape")), True
    try:
        row = _JSON_TEXT.decode(decoded)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the line is no JSON object ({error})") from None
    text = row.get(how.field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ValueError(f"expected an object with text in {how.field!r}")
    if not is_marked:
        return text.encode("utf-8", "surrogatepass")
    parts = _MARKED_BYTE.split(text)
    return b"".join(
        part.encode("utf-8", "surrogateescape" if n % 2 else "surrogatepass") for n, part in enumerate(parts)
    )


def _replaced(line: bytes, field: str, text: bytes) -> bytes:
    """The object with another text. All else stays as it is written: numbers may have more digits than a float."""
    row = line.decode("utf-8", "surrogateescape")
    decode = _JSON_TEXT.raw_decode
    first = last = end = 0
    while not row.startswith("}", at := _next(row, end)):
        key, at = decode(row, at)
        start = _next(row, at)
        _, end = decode(row, start)
        # Of equal keys the last one counts.
        if key == field:
            first, last = start, end
    return f'{row[:first]}"{_escaped(text)}"{row[last:]}'.encode("utf-8", "surrogateescape")


def _next(row: str, at: int) -> int:
    """Where the next key or value begins, or the object ends."""
    found = _BETWEEN.match(row, at)
    return found.end() if found else at


def _escaped(text: bytes) -> str:
    """As JSON writes it. A byte that is no UTF-8 stays one."""
    told = []
    for n, part in enumerate(_SURROGATE.split(text)):
        if n % 2:
            told.append(f"\\u{ord(part.decode('utf-8', 'surrogatepass')):04x}")
            continue
        pieces = _BYTE.split(part.decode("utf-8", "surrogateescape"))
        pieces[::2] = [json.dumps(piece)[1:-1] for piece in pieces[::2]]
        told += pieces
    return "".join(told)


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
def _parquet(file: Path, target: Path, how: How) -> Iterator[Shard]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise _missing("pyarrow", "parquet", file) from None

    with contextlib.ExitStack() as open_files:
        enter = open_files.enter_context
        enter(_arrow(file, pyarrow.ArrowException))
        with _reading(file):
            # Reads a row group in pieces.
            source = enter(pyarrow.parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False))
        column, columns = source.schema_arrow.get_field_index(how.field), source.schema_arrow.names.count(how.field)
        if columns != 1:
            raise ValueError(f"{file}: {columns or 'no'} columns are named {how.field!r}, expected one")
        kind = source.schema_arrow.field(column).type
        value_kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        if not is_text(pyarrow.types, value_kind):
            raise ValueError(f"{file}: the column {how.field!r} has the type {kind}, expected string or binary")
        output = enter(io.BufferedWriter(_Output(target)))
        sink = enter(pyarrow.parquet.ParquetWriter(output, source.schema_arrow))
        left_out = _LeftOut(how)
        #: The last batch, the rows of it that are documents, and their texts.
        last: list[Any] = [None, [], []]

        def read() -> Iterator[list[bytes]]:
            number = 0
            with _reading(file):
                for rows in source.iter_batches(_rows_of_a_batch(source.metadata)):
                    texts: list[bytes] = []
                    last[:] = [rows, [], texts]
                    for n, text in enumerate(rows.column(column).to_pylist(), number):
                        if text is None:
                            left_out.take(str(file), f"row {n} has no text in {how.field!r}")
                            continue
                        last[1].append(n - number)
                        texts.append(text.encode() if isinstance(text, str) else text)
                    number += len(rows)
                    yield texts

        def write(kept: list[tuple[int, bytes]]) -> None:
            rows, numbers, before = last
            places = [numbers[n] for n, _ in kept]
            try:
                left = rows.take(pyarrow.array(places, pyarrow.int64()))
            except NotImplementedError:  # There are types that it does not take, such as string_view.
                left = pyarrow.Table.from_batches([rows.slice(n, 1) for n in places], rows.schema)
            if any(text != before[n] for n, text in kept):
                texts: list[Any] = [text for _, text in kept]
                if "string" in str(value_kind):
                    texts = [text.decode() for text in texts]
                left = left.set_column(column, left.schema.field(column), pyarrow.array(texts, kind))
            sink.write(left)

        yield Shard(read(), write, left_out)


def _rows_of_a_batch(metadata: Any) -> int:
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    sizes = [group.total_byte_size // group.num_rows for group in groups if group.num_rows]
    return int(max(1, min(BATCH_DOCUMENTS, _BATCH_BYTES // max(1, *sizes, 1))))
