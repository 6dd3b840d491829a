import functools
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

try:
    from compression import zstd
except ImportError:
    from backports import zstd

import springflash._shards
import springflash.duplicates
from springflash import FlashIndex
from springflash.duplicates import Counts, deduplicate

FORMS = ["txt", "txt.gz", "jsonl", "jsonl.zst", "json.gz", "ndjson", "parquet"]
OPENERS = {".gz": gzip.open, ".zst": zstd.open}


def write(file, texts):
    if file.suffix == ".parquet":
        # Pages of few rows: one page is held as a whole.
        pa.parquet.write_table(pa.table({"id": list(range(len(texts))), "text": texts}), file, write_batch_size=8)
        return
    lines = [text if ".txt" in file.suffixes else json.dumps({"id": 1, "text": text}) for text in texts]
    with OPENERS.get(file.suffix, open)(file, "wt", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)


def read(file):
    if file.suffix == ".parquet":
        return pa.parquet.read_table(file)["text"].to_pylist()
    with OPENERS.get(file.suffix, open)(file, "rt", encoding="utf-8") as lines:
        return [line[:-1] if ".txt" in file.suffixes else json.loads(line)["text"] for line in lines]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("paragraphs", [False, True])
def test_what_is_left_is_what_a_set_leaves(tmp_path, form, paragraphs):
    rng = random.Random(7)
    lines = ["", " ", "é", *map(str, range(3000))]
    join = " " if ".txt" in "." + form else "\n"
    shards = [[join.join(rng.choice(lines) for _ in range(rng.randrange(1, 4))) for _ in range(2500)] for _ in range(3)]
    seen, expected = set(), []
    for texts in shards:
        left = []
        for text in texts:
            parts = text.split("\n") if paragraphs else [text]
            asked = [part for part in parts if not paragraphs or part.strip()]
            new = [part for part in parts if (paragraphs and not part.strip()) or not (part in seen or seen.add(part))]
            if not asked or any(not paragraphs or part.strip() for part in new):
                left.append("\n".join(new))
        expected.append(left)
    blank = [0, 0, 0]
    if form.startswith("txt"):
        # A blank line is no document.
        blank = [sum(not text.strip() for text in texts) for texts in shards]
        expected = [[text for text in left if text.strip()] for left in expected]
    files = [tmp_path / f"shard {n}.{form}" for n in range(3)]
    for file, texts in zip(files, shards):
        write(file, texts)
    told = []
    with FlashIndex(tmp_path / "index") as index:
        counts = deduplicate(index, files, tmp_path / "out", paragraphs=paragraphs, progress=lambda *now: told.append(now))
        assert [read(tmp_path / "out" / file.name) for file in files] == expected
        assert counts.documents == 7500 - sum(blank) and counts.blank_lines == sum(blank)
        assert counts.kept_documents == sum(map(len, expected))
        assert told[-1] == ("shard 2." + form, 2500 - blank[2])
        again = deduplicate(index, files, tmp_path / "again", paragraphs=paragraphs)
        assert again == counts and [read(tmp_path / "again" / file.name) for file in files] == expected
        other = tmp_path / f"other.{form}"
        write(other, shards[0])
        assert deduplicate(index, [other], tmp_path / "out", paragraphs=paragraphs).kept_paragraphs == 0


def test_the_name_of_a_finished_shard_is_durable(tmp_path, monkeypatch):
    done, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr("os.fsync", lambda file: (done.append(os.fstat(file).st_ino), fsync(file)))
    monkeypatch.setattr("os.replace", lambda *names: (done.append("replace"), replace(*names)))
    (tmp_path / "a.txt").write_text("a\n")
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.txt"], tmp_path / "out")
    assert done[-2:] == ["replace", (tmp_path / "out").stat().st_ino]


def test_a_run_that_was_killed_is_repeated_with_the_same_result(tmp_path, child):
    rng = random.Random(3)
    files = [tmp_path / f"{n}.jsonl" for n in range(4)]
    for file in files:
        write(file, [str(rng.randrange(30_000)) for _ in range(10_000)])
    program = "from springflash.duplicates import main; main()"
    killed = child(program, tmp_path / "index", tmp_path / "out", *files)
    while not (tmp_path / "out" / "1.jsonl").exists():
        assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    told = child(program, tmp_path / "index", tmp_path / "out", *files).communicate()
    with FlashIndex(tmp_path / "other") as index:
        counts = deduplicate(index, files, tmp_path / "expected")
    assert f"kept {counts.kept_documents} of 40000 documents" in told[0], told
    for file in files:
        assert (tmp_path / "out" / file.name).read_bytes() == (tmp_path / "expected" / file.name).read_bytes()
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize("change", ["none", "renamed", "line before", "same size and time", "another shard", "paragraphs"])
@pytest.mark.parametrize("cause", [KeyboardInterrupt, signal.SIGKILL])
def test_no_document_vanishes_if_a_shard_changes_after_an_interrupted_run(tmp_path, change, cause):
    lines = [f"line {n}" for n in range(10_000)]
    first, shard, renamed = (tmp_path / f"{name}.txt" for name in ("first", "shard", "renamed"))
    write(first, lines[:2000])
    write(shard, lines)
    process = os.fork()
    if process == 0:
        with FlashIndex(tmp_path / "index") as index:
            deduplicate(index, [first], tmp_path / "out")

            def stop(_, documents):
                if documents > 6000:
                    index.commit()
                    if cause == signal.SIGKILL:
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise cause

            try:
                deduplicate(index, [shard], tmp_path / "out", progress=stop)
            except KeyboardInterrupt:
                index.close()
                os._exit(0)
    os.waitpid(process, 0)
    assert not (tmp_path / "out" / "shard.txt").exists()
    expected = lines[2000:]
    if change == "line before":
        write(shard, ["new"] + lines)
        expected = ["new"] + expected
    elif change == "same size and time":
        time = shard.stat().st_mtime_ns
        lines[3000:3020] = lines[3019:2999:-1]
        write(shard, lines)
        os.utime(shard, ns=(time, time))
        expected = lines[2000:]
    elif change in ("renamed", "another shard"):
        shard = shard.rename(renamed)
    if change == "another shard":
        write(shard, lines[1000:5000])
        expected = lines[2000:5000]
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [shard], tmp_path / "out", paragraphs=change == "paragraphs")
        assert read(tmp_path / "out" / shard.name) == expected
        last = tmp_path / "last.txt"
        write(last, lines)
        deduplicate(index, [last], tmp_path / "out")
        assert read(tmp_path / "out" / "last.txt") == (lines[5000:] if change == "another shard" else [])


def test_bytes_that_are_no_text_stay_as_they_are(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\n\xff\xfe\n\xe9\nlast")
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "\\ud800"}\n{"text": "\\ud800", "x": 1}\n')
    with FlashIndex(tmp_path / "index") as index:
        counts = deduplicate(index, [tmp_path / "a.txt", tmp_path / "b.jsonl"], tmp_path / "out")
    assert counts == Counts(6, 4, 6, 4)
    assert (tmp_path / "out/a.txt").read_bytes() == b"\xff\xfe\n\xe9\nlast\n"
    assert (tmp_path / "out/b.jsonl").read_bytes() == b'{"text": "\\ud800"}\n'


def test_a_byte_that_is_no_text_is_not_what_json_can_say(tmp_path):
    byte, same, high = b"\xff", rb"\udcff", rb"\udbff"
    texts = [byte, same, "\U0010fcff".encode(), high + same, high + byte, byte + byte, same + byte, byte + same]
    lines = [b'{"text": "' + text + b'"}\n' for text in texts]
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines + lines))
    (tmp_path / "b.jsonl").write_bytes(b"".join(lines).replace(b'"}', rb'\na\na"}'))
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.jsonl"], tmp_path / "out")
        # The third and the fourth are one character.
        assert (tmp_path / "out/a.jsonl").read_bytes() == b"".join(lines[:3] + lines[4:])
        (tmp_path / "c.txt").write_bytes(b"\xff\n\xfe\n")
        (tmp_path / "d.jsonl").write_bytes(rb'{"text": "\udcfe"}')
        deduplicate(index, [tmp_path / "c.txt", tmp_path / "d.jsonl"], tmp_path / "out")
        assert (tmp_path / "out/c.txt").read_bytes() == b"\xfe\n" and (tmp_path / "out/d.jsonl").read_bytes()
    with FlashIndex(tmp_path / "other") as index:
        deduplicate(index, [tmp_path / "b.jsonl"], tmp_path / "out", paragraphs=True)
    expected = [lines[0].replace(b'"}', rb'\na"}'), *lines[1:3], *lines[4:]]
    left = (tmp_path / "out/b.jsonl").read_bytes().splitlines(keepends=True)
    # What is changed is written as escapes, but for bytes that are no text.
    assert left == [line.replace("\U0010fcff".encode(), rb"\udbff\udcff") for line in expected]


@pytest.mark.parametrize("name", ["cut.txt.gz", "flipped.jsonl.gz", "text.txt.gz", "deep.jsonl", "text.parquet", "flipped.parquet"])
def test_a_damaged_shard_is_named_and_has_no_output(tmp_path, name):
    rows = [random.randbytes(300).hex() for _ in range(5000)]
    whole = gzip.compress("".join(json.dumps({"text": row}) + "\n" for row in rows).encode())
    pa.parquet.write_table(pa.table({"text": rows}), tmp_path / "whole.parquet")
    parquet = (tmp_path / "whole.parquet").read_bytes()
    flipped = lambda of: of[:1000] + bytes(500) + of[1500:]
    shard = tmp_path / name
    shard.write_bytes(
        {
            "cut.txt.gz": whole[:-5000],
            "flipped.jsonl.gz": flipped(whole),
            "text.txt.gz": b"dear diary",
            "deep.jsonl": b'{"text": ' + b"[" * 100_000,
            "text.parquet": b"dear diary",
            "flipped.parquet": flipped(parquet),
        }[name]
    )
    told = subprocess.run(
        [Path(sys.executable).with_name("springflash-duplicates"), tmp_path / "index", tmp_path / "out", shard],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2 and str(shard) in told.stderr and told.stderr.count("\n") == 1, told
    assert not (tmp_path / "out" / name).exists()


def test_wrong_input_is_refused_with_its_place(tmp_path, child):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": 5}\n')
    (tmp_path / "b.jsonl").write_text("{\n")
    (tmp_path / "c.csv").write_text("")
    pa.parquet.write_table(pa.table({"text": ["a", None]}), tmp_path / "d.parquet")
    with FlashIndex(tmp_path / "index") as index:
        for name, reason in [("a.jsonl", "a.jsonl:2: "), ("b.jsonl", "b.jsonl:1: "), ("c.csv", "none of"), ("d.parquet", "row 1")]:
            with pytest.raises(ValueError, match=reason):
                deduplicate(index, [tmp_path / name], tmp_path / "out")
        with pytest.raises(ValueError, match="have the same name"):
            deduplicate(index, [tmp_path / "a.jsonl", tmp_path / "x" / "a.jsonl"], tmp_path / "out")
        with pytest.raises(ValueError, match="overwritten"):
            deduplicate(index, [tmp_path / "a.jsonl"], tmp_path)
        with pytest.raises(ValueError, match="no columns are named"):
            deduplicate(index, [tmp_path / "d.parquet"], tmp_path / "out", field="body")
    told = subprocess.run(
        [Path(sys.executable).with_name("springflash-duplicates"), tmp_path / "index", tmp_path / "out", tmp_path / "none.txt"],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2 and "none.txt" in told.stderr and "Traceback" not in told.stderr


def test_what_was_named_wrongly_is_refused_before_anything_is_written(tmp_path):
    good = tmp_path / "a.txt"
    good.write_text("a\n")
    (tmp_path / "a.csv").write_text("a\n")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    for wrong in ("none.txt", "none/a.jsonl", "a.txt/b.txt", "a.csv", "folder.txt", "loop.txt", "x" * 252 + ".txt"):
        code, told = program(tmp_path, good, tmp_path / wrong)
        assert code == 2 and str(tmp_path / wrong) in told, told
        assert not (tmp_path / "index").exists() and not (tmp_path / "out").exists()
    for index, output in [(good, "out"), ("", "out"), (tmp_path / "index", good), (tmp_path / "index", good / "out")]:
        told = subprocess.run([PROGRAM, index, output, good], capture_output=True, text=True, cwd=tmp_path)
        assert told.returncode == 2 and told.stderr.count("\n") == 1, told


@pytest.mark.parametrize("form", FORMS)
def test_a_shard_can_have_the_longest_name(tmp_path, form):
    shard = tmp_path / ("é" * ((254 - len(form)) // 2) + f".{form}")
    write(shard, ["a", "b", "a"])
    assert program(tmp_path, shard)[0] == 0 and read(tmp_path / "out" / shard.name) == ["a", "b"]


def test_what_is_forgotten_leaves_no_file(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("a\n")

    def killed(*_):
        raise SystemExit

    with FlashIndex(tmp_path / "index") as index:
        with pytest.raises(SystemExit):
            deduplicate(index, [tmp_path / "a.txt"], tmp_path / "out", progress=killed)
        left = springflash.duplicates._unfinished(tmp_path / "out" / "a.txt")
        left.write_text("half")  # As a kill leaves it.
        deduplicate(index, [tmp_path / "b.txt"], tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["b.txt"]


def test_the_program_ends_with_one_line_and_a_code(tmp_path):
    program = Path(sys.executable).with_name("springflash-duplicates")
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "a.csv").write_text("a\n")
    (tmp_path / "big.txt").write_text("".join(f"{n}\n" for n in range(1_000_000)))

    def run(shard, *before, **pipes):
        command = [*before, program, tmp_path / "index", tmp_path / "out", tmp_path / shard]
        # A shell's background job ignores interrupts, and so would what it starts.
        heeds = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heeds, **pipes)

    def ended(process):
        errors = process.communicate(timeout=60)[1]
        assert errors.startswith("springflash-duplicates: ") and errors.count("\n") == 1, errors
        return process.returncode

    assert ended(run("a.txt", "sh", "-c", 'exec "$0" "$@" >&-')) == 1 and not (tmp_path / "out" / "a.txt").exists()
    assert ended(run("a.csv")) == 2
    with open("/dev/full", "w") as full:
        assert ended(run("a.txt", stdout=full)) == 1
    reading, writing = os.pipe()
    os.close(reading)
    assert ended(run("a.txt", stdout=writing)) == 1
    os.close(writing)
    silent = run("a.txt", "sh", "-c", 'exec "$0" "$@" 2>&-', stdout=subprocess.PIPE)
    assert silent.communicate()[0] == "kept 1 of 1 documents, 1 of 1 paragraphs\n" and silent.returncode == 0
    process = run("big.txt", stdout=subprocess.DEVNULL)
    while not springflash.duplicates._unfinished(tmp_path / "out" / "big.txt").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert ended(process) == 130
    told = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert told.stdout.startswith("springflash-duplicates ") and told.returncode == 0


@pytest.mark.parametrize("round", range(20))
def test_each_document_is_in_one_output_after_any_runs(tmp_path, monkeypatch, round):
    """Runs of any shards in any order end at any line of the module: by an interrupt, or by a kill, which loses what is not committed."""
    seed = int(os.environ.get("SPRINGBLOOM_SEED", random.randrange(1 << 32)))
    print("seed", seed)
    rng = random.Random(f"{seed} {round}")
    monkeypatch.setattr(springflash._shards, "BATCH_DOCUMENTS", 4)
    files = [tmp_path / f"{n}.txt" for n in range(4)]
    documents = {file.name: [str(rng.randrange(25)) for _ in range(rng.randrange(20))] for file in files}
    for file in files:
        write(file, documents[file.name])
    out = tmp_path / "out"

    def run(shards, steps, is_kill, syncs=0):
        """Ends after this many lines; if there are syncs, after this many lines from that sync on."""
        fsync = os.fsync

        def synced(file):
            nonlocal syncs
            syncs -= 1
            fsync(file)

        def step(frame, event, _):
            nonlocal steps
            if frame.f_code.co_filename not in (springflash.duplicates.__file__, springflash._shards.__file__):
                return None
            steps -= event == "line" and syncs <= 0
            if steps == 0:
                if is_kill:
                    os._exit(0)
                raise KeyboardInterrupt
            return step

        if os.fork() != 0:
            return os.waitstatus_to_exitcode(os.wait()[1])
        code = 1
        try:
            with FlashIndex(tmp_path / "index") as index:
                os.fsync = synced
                sys.settrace(step)
                # So little memory that some keys are known from before and others are looked up.
                deduplicate(index, shards, out, memory=rng.choice([1024, 4096, 1 << 20]))
            code = 0
        except KeyboardInterrupt:
            code = 0
        except ValueError:
            code = 2
        finally:
            sys.settrace(None)
            os._exit(code)

    for _ in range(8):
        shards = rng.sample(files, rng.randrange(1, 5))
        # What has no output yet, as who continues a run may ask for.
        if rng.random() < 0.3:
            shards = [file for file in files if not (out / file.name).exists()]
        changed = rng.choice(files)
        if rng.random() < 0.3:
            os.utime(changed, ns=(0, rng.randrange(1 << 60)))
        others = [*documents[changed.name], "new"] if rng.random() < 0.5 else documents[changed.name][::-1]
        is_changed = round % 2 == 1 and rng.random() < 0.5 and others != documents[changed.name]
        is_refused = is_changed and (out / changed.name).exists()
        if is_changed:
            write(changed, others)
            if not is_refused:
                documents[changed.name] = others
        steps, is_kill, syncs = rng.randrange(1, 500), rng.random() < 0.5, 0
        if rng.random() < 0.5:
            steps, syncs = rng.randrange(1, 16), rng.randrange(1, 5)
        ended = run(shards, steps, is_kill, syncs)
        assert ended == 0 or (ended == 2 and is_refused and changed in shards)
        finished = [file.name for file in files if (out / file.name).exists()]
        kept = [text for name in finished for text in read(out / name)]
        assert sorted(kept) == sorted({text for name in finished for text in documents[name]})
        if is_refused:
            assert changed not in shards or run([changed], -1, False) == 2
            write(changed, documents[changed.name])
    assert run(files, -1, False) == 0
    assert sorted(text for file in files for text in read(out / file.name)) == sorted({*sum(documents.values(), [])})


@pytest.mark.parametrize("change", ["line before", "shorter", "other", "paragraphs", "field"])
@pytest.mark.parametrize("form", ["txt", "jsonl.gz", "parquet"])
def test_a_finished_shard_that_is_another_one_by_now_is_refused_and_its_output_stays(tmp_path, form, change):
    """What moved would be taken for what came before, and what is gone may have been taken out of others."""
    first, second, last = (tmp_path / f"{n}.{form}" for n in range(3))
    if form == "txt" and change in ("paragraphs", "field"):
        pytest.skip("a line is a document")
    texts = [f"line {n}{' ' if form == 'txt' else chr(10)}of document {n}" for n in range(3000)]
    write(first, texts)
    write(second, [*texts, "more"])
    changes = {"line before": ["new", *texts], "shorter": texts[:-1], "other": [text.upper() for text in texts]}
    how = {"paragraphs": {"paragraphs": True}, "field": {"field": "x"}}.get(change, {})
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [first, second], tmp_path / "out")
        before = (tmp_path / "out" / first.name).read_bytes()
        write(first, changes.get(change, texts))
        if change == "field" and form == "parquet":
            pa.parquet.write_table(pa.table({"x": ["a"]}), first)
        elif change == "field":
            first.write_bytes(gzip.compress(b'{"x": "a"}\n'))
        with pytest.raises(ValueError, match=f"{first} has other documents than the finished shard of its name, or is read in another"):
            deduplicate(index, [first, second], tmp_path / "out", **how)
        assert (tmp_path / "out" / first.name).read_bytes() == before
        assert not list((tmp_path / "out").glob(".*"))
        write(first, texts)
        os.utime(first, (5, 5))
        assert deduplicate(index, [second, first], tmp_path / "out").kept_documents == 3001
        write(last, [*texts, "new"])
        deduplicate(index, [last], tmp_path / "out")
    assert [read(tmp_path / "out" / file.name) for file in (first, second, last)] == [texts, ["more"], ["new"]]


def test_only_the_text_changes_if_paragraphs_are_taken_out(tmp_path):
    rest = '"x": 1e999, "id": 0.1000000000000000055511151231257827, "text": "old", "in": {"text": "b"}, "é":[-0, "}"]'
    line = f' {{ {rest} , "te\\u0078t" : %s ,"y":1.0}} \n'
    (tmp_path / "a.jsonl").write_text(line % '"b\\na\\nb"', encoding="utf-8")
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.jsonl"], tmp_path / "out", paragraphs=True)
    assert (tmp_path / "out/a.jsonl").read_text(encoding="utf-8") == line % '"b\\na"'


@pytest.mark.parametrize("paragraphs", [False, True])
def test_parquet_of_views(tmp_path, paragraphs):
    texts, ids = pa.array(["a", "b", "a", "é"], pa.string_view()), pa.array([b"1", b"2", b"3", None], pa.binary_view())
    pa.parquet.write_table(pa.table({"text": texts, "id": ids}), tmp_path / "a.parquet")
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.parquet"], tmp_path / "out", paragraphs=paragraphs)
    left = pa.parquet.read_table(tmp_path / "out/a.parquet")
    assert left.to_pydict() == {"text": ["a", "b", "é"], "id": [b"1", b"2", None]}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_that_cannot_be_written_is_an_error(option):
    program = Path(sys.executable).with_name("springflash-duplicates")
    for target in ("/dev/full", "&-"):
        command = ["sh", "-c", f'exec "$0" "$1" >{target}', program, option]
        told = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        assert told.returncode == 1 and told.stderr.startswith("springflash-duplicates: ") and told.stderr.count("\n") == 1, told


PROGRAM = Path(sys.executable).with_name("springflash-duplicates")


def ended(*arguments, **how):
    """The exit code of the program and the line that it tells."""
    told = subprocess.run([*arguments], capture_output=True, text=True, **how)
    assert told.returncode in (1, 2) and told.stderr.startswith("springflash-duplicates: ") and told.stderr.count("\n") == 1, told
    return told.returncode, told.stderr


@pytest.mark.parametrize("form", FORMS)
def test_an_output_that_finds_no_room_is_named(tmp_path, form):
    write(tmp_path / f"small.{form}", ["a"])
    write(tmp_path / f"large.{form}", [random.randbytes(100_000).hex() for _ in range(50)])
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / f"small.{form}"], tmp_path / "out")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))
    command = [PROGRAM, tmp_path / "index", tmp_path / "out", tmp_path / f"large.{form}"]
    code, told = ended(*command, preexec_fn=limit)
    assert code == 1 and "File too large" in told and str(tmp_path / "out" / f".large.{form}.") in told
    assert subprocess.run(command).returncode == 0


FAILS = """
import sys
import springflash.duplicates
from springflash import FlashError

first = eval(sys.argv.pop(1))

def fails(*_, **__):
    raise first

def closes_badly(self):
    raise FlashError("an earlier write failed")

springflash.duplicates.deduplicate = fails
springflash.duplicates.FlashIndex.close = closes_badly
springflash.duplicates.main()
"""


@pytest.mark.parametrize("first, code", [("MemoryError()", 1), ("OSError(28, 'no room')", 1), ("ValueError('odd')", 2)])
def test_what_failed_first_is_told(tmp_path, first, code):
    (tmp_path / "a.txt").write_text("a\n")
    told = ended(sys.executable, "-c", FAILS, first, tmp_path / "index", tmp_path / "out", tmp_path / "a.txt")
    assert told[0] == code and any(reason in told[1] for reason in ("not enough memory", "no room", "odd")), told


def test_what_arrow_does_not_write_is_told_with_the_shard(tmp_path):
    nested = pa.array([{"a": "x"}] * 5, pa.struct([("a", pa.string_view())]))
    pa.parquet.write_table(pa.table({"text": list("abacd"), "x": nested}), tmp_path / "a.parquet")
    code, told = ended(PROGRAM, tmp_path / "index", tmp_path / "out", tmp_path / "a.parquet")
    assert code == 1 and f": {tmp_path / 'a.parquet'}: " in told
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_a_link_of_the_name_of_what_is_unfinished_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / "out").mkdir()
    for form in FORMS:
        write(tmp_path / f"a.{form}", [form])
        springflash.duplicates._unfinished(tmp_path / "out" / f"a.{form}").symlink_to(other)
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / f"a.{form}" for form in FORMS], tmp_path / "out")
    assert other.read_text() == "precious"
    for form in FORMS:
        assert read(tmp_path / "out" / f"a.{form}") == [form] and not (tmp_path / "out" / f"a.{form}").is_symlink()


def test_a_packed_output_has_the_name_of_its_shard(tmp_path):
    write(tmp_path / "a.txt.gz", ["a"])
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.txt.gz"], tmp_path / "out")
    assert (tmp_path / "out" / "a.txt.gz").read_bytes()[10:16] == b"a.txt\0"


def test_a_shard_that_is_a_link_into_the_output_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "out" / "b.txt").write_text("a\na\n")
    (tmp_path / "b.txt").symlink_to("out/b.txt")
    with FlashIndex(tmp_path / "index") as index:
        with pytest.raises(ValueError, match="b.txt would be overwritten"):
            deduplicate(index, [tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out")
    assert (tmp_path / "out" / "b.txt").read_text() == "a\na\n" and not (tmp_path / "out" / "a.txt").exists()


def program(tmp_path, *arguments):
    """Runs the program with an index and an output: its code, and what it told."""
    command = [PROGRAM, tmp_path / "index", tmp_path / "out", *map(str, arguments)]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode in (0, 1, 2, 4) and told.stderr.count("\n") <= 1, told
    return told.returncode, told.stdout + told.stderr


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
"""


@pytest.mark.parametrize("form", ["txt", "jsonl", "parquet"])
def test_long_documents_take_no_more_memory_than_short_ones(tmp_path, child, form):
    peaks = []
    for length, count in [(512, 192 << 10), (512 << 10, 192)]:
        shard = tmp_path / f"{length}.{form}"
        write(shard, [f"{n:08} {'word ' * (length // 5)}" for n in range(count)])
        told = child(PEAK, PROGRAM, tmp_path / f"{length}.index", tmp_path / "out", shard, "--memory", 64).communicate()
        peaks.append(int(told[0]))
    print(peaks)
    assert peaks[1] < peaks[0] + 60, f"{peaks} MiB for 96 MiB of short and of long documents"


def test_equal_names_in_two_folders_need_a_root(tmp_path):
    shards = [tmp_path / "in" / language / "0.jsonl" for language in ("de", "en")]
    for shard, text in zip(shards, ("a", "b")):
        shard.parent.mkdir(parents=True)
        write(shard, [text, "same"])
    code, told = program(tmp_path, *shards)
    assert code == 2 and "--root" in told and all(str(shard) in told for shard in shards), told
    code, told = program(tmp_path, shards[0], shards[0])
    assert code == 2 and "twice" in told
    assert program(tmp_path, *shards, "--root", tmp_path / "other")[0] == 2 and not (tmp_path / "out").exists()
    for _ in range(2):
        assert program(tmp_path, *shards, "--root", tmp_path / "in")[0] == 0
        assert [read(tmp_path / "out" / shard.relative_to(tmp_path / "in")) for shard in shards] == [["a", "same"], ["b"]]
        assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["0.jsonl", "0.jsonl", "de", "en"]
    code, told = subprocess.getstatusoutput(f"{PROGRAM} {tmp_path}/other {tmp_path}/in {shards[0]} --root {tmp_path}/in")
    assert code == 2 and "overwritten" in told and read(shards[0]) == ["a", "same"]


@pytest.mark.parametrize("bad", ["{", "[1]", "5", '{"text": null}', '{"body": "a"}', '{"text": "a"', "\0", "x" * 3_000_000])
@pytest.mark.parametrize("form", ["jsonl", "json.zst"])
def test_a_bad_line_stops_with_its_place_or_is_left_out_and_counted(tmp_path, form, bad):
    shard = tmp_path / f"a.{form}"
    with OPENERS.get(shard.suffix, open)(shard, "wt") as file:
        file.write('{"text": "a"}\n' + bad + '\n{"text": "b"}\n{"text": "a"}\n')
    code, told = program(tmp_path, shard, "--memory", 16)
    assert code == 2 and f"{shard}:2: " in told and "--on-bad-line skip" in told, told
    for _ in range(2):
        code, told = program(tmp_path, shard, "--on-bad-line", "skip", "--memory", 16)
        assert code == 4 and told == "kept 2 of 3 documents, 2 of 3 paragraphs; left out: 1 bad lines\n"
        assert read(tmp_path / "out" / shard.name) == ["a", "b"]


@pytest.mark.parametrize("form", FORMS)
def test_a_shard_of_nothing_new_has_an_output_that_can_be_read(tmp_path, form):
    first, second = (tmp_path / f"{name}.{form}" for name in ("first", "second"))
    for shard in (first, second):
        write(shard, ["a", "b"])
    assert program(tmp_path, first, second)[0] == 0
    assert read(tmp_path / "out" / second.name) == []


def test_rows_without_text_are_left_out_and_counted(tmp_path):
    pa.parquet.write_table(pa.table({"id": [1, 2, 3, 4], "text": [None, "a", None, "a"]}), tmp_path / "a.parquet")
    assert program(tmp_path, tmp_path / "a.parquet")[0] == 2
    for paragraphs in ([], ["--paragraphs"]):
        code, told = program(tmp_path, tmp_path / "a.parquet", "--on-bad-line", "skip")
        assert code == 4 and "kept 1 of 2 documents" in told and "2 bad lines" in told
        assert pa.parquet.read_table(tmp_path / "out" / "a.parquet").to_pydict() == {"id": [2], "text": ["a"]}


def test_a_line_that_is_too_long_is_not_held(tmp_path, child):
    with open(tmp_path / "a.txt", "wb") as file:
        file.write(b"short\n")
        for _ in range(200):
            file.write(bytes(1 << 20))
        file.write(b"\nshort\nlast")
    code, told = program(tmp_path, tmp_path / "a.txt", "--memory", 16)
    assert code == 2 and "a.txt:2: the line has more than 2097152 bytes" in told and "--memory" in told
    skip = [PROGRAM, tmp_path / "index", tmp_path / "out", tmp_path / "a.txt", "--on-bad-line", "skip", "--memory", 16]
    told = child(PEAK.replace("check=True", "check=False"), *skip).communicate()
    assert int(told[0]) < 130 and (tmp_path / "out" / "a.txt").read_text() == "short\nlast\n"


def test_a_byte_order_mark_is_no_part_of_a_document(tmp_path):
    mark = b"\xef\xbb\xbf"
    (tmp_path / "a.txt").write_bytes(mark + b"a\nb\n")
    (tmp_path / "b.txt").write_bytes(b"a\n" + mark + b"a\n")
    (tmp_path / "c.jsonl").write_bytes(mark + b'{"text": "c"}\n')
    (tmp_path / "d.txt").write_bytes(mark)
    assert program(tmp_path, *(tmp_path / name for name in ("a.txt", "b.txt", "c.jsonl", "d.txt")))[0] == 0
    left = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert left == {"a.txt": b"a\nb\n", "b.txt": mark + b"a\n", "c.jsonl": b'{"text": "c"}\n', "d.txt": b""}


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz"])
def test_another_encoding_is_refused_by_its_name(tmp_path, name):
    text = '{"text": "é"}\n' * 3
    for codec in ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE"):
        for mark in [""] if codec[-1].isdigit() else ["", "\ufeff"]:
            with OPENERS.get(Path(name).suffix, open)(tmp_path / name, "wb") as file:
                file.write((mark + text).encode(codec))
            code, told = program(tmp_path, tmp_path / name, "--on-bad-line", "skip")
            said = codec[:6] if mark else codec
            assert code == 2 and f"{name}: it is {said}, expected UTF-8; iconv -f {said} " in told, (codec, mark, told)
    (tmp_path / name).unlink()
    (tmp_path / "c.txt").write_text("\ufeff漢字漢字漢字\n", "utf-16-le")
    assert program(tmp_path, tmp_path / "c.txt")[0] == 2
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("paragraphs", [False, True])
def test_a_column_of_bytes_or_of_few_texts_is_compared_as_text(tmp_path, kind, paragraphs):
    write(tmp_path / "a.txt", ["a"])
    texts = ["a", "b", "b", "é", "a\nc"]
    pa.parquet.write_table(pa.table({"text": pa.array(texts, pa.string()).cast(kind)}), tmp_path / "b.parquet")
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.txt", tmp_path / "b.parquet"], tmp_path / "out", paragraphs=paragraphs)
    left = pa.parquet.read_table(tmp_path / "out" / "b.parquet")
    assert left.schema.field("text").type == kind
    texts = [text if isinstance(text, str) else text.decode() for text in left["text"].to_pylist()]
    assert texts == ["b", "é", "c" if paragraphs else "a\nc"]


def test_bytes_of_a_column_that_are_no_text_stay_as_they_are(tmp_path):
    table = pa.table({"text": pa.array([b"\xff", b"\xff\na", b"\xfe\n\xff"], pa.binary())})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.parquet"], tmp_path / "out", paragraphs=True)
    assert pa.parquet.read_table(tmp_path / "out" / "a.parquet")["text"].to_pylist() == [b"\xff", b"a", b"\xfe"]


def test_a_column_of_another_type_is_refused(tmp_path):
    pa.parquet.write_table(pa.table({"text": [1, 2], "list": [["a"], ["b"]]}), tmp_path / "a.parquet")
    for field, kind in [("text", "int64"), ("list", "list<")]:
        code, told = program(tmp_path, tmp_path / "a.parquet", "--field", field)
        assert code == 2 and f"a.parquet: the column '{field}' has the type {kind}" in told and "expected string or binary" in told


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a.jsonl.zst", "a.parquet"])
def test_an_empty_file_has_an_empty_output_or_is_no_shard(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    code, told = program(tmp_path, tmp_path / name)
    if name in ("a.jsonl.zst", "a.parquet"):
        assert code == 2 and name in told
    else:
        assert code == 0 and read(tmp_path / "out" / name) == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "behind"])
def test_a_damaged_zstd_shard_is_named_and_has_no_output(tmp_path, damage):
    lines = "".join(f"{random.randbytes(50).hex()}\n" for _ in range(5000)).encode()
    whole = zstd.compress(lines, options={zstd.CompressionParameter.checksum_flag: 1})
    damaged = {"cut": whole[:-5000], "flipped": whole[:1000] + bytes(500) + whole[1500:], "text": b"dear diary", "behind": whole + b"diary"}
    (tmp_path / "a.txt.zst").write_bytes(damaged[damage])
    code, told = program(tmp_path, tmp_path / "a.txt.zst")
    assert code == 2 and str(tmp_path / "a.txt.zst") in told and not (tmp_path / "out" / "a.txt.zst").exists()


def test_several_frames_and_members_are_one_shard(tmp_path):
    (tmp_path / "a.txt.zst").write_bytes(zstd.compress(b"a\nb\n") + zstd.compress(b"b\nc\n"))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"d\ne") + gzip.compress(b"e\na\n"))
    assert program(tmp_path, tmp_path / "a.txt.zst", tmp_path / "b.txt.gz")[0] == 0
    assert read(tmp_path / "out" / "a.txt.zst") == ["a", "b", "c"] and read(tmp_path / "out" / "b.txt.gz") == ["d", "ee"]


def test_two_runs_with_one_output_do_not_mix(tmp_path):
    write(tmp_path / "a.txt", ["a", "b"])
    told = []

    def meanwhile(*_):
        told.append(subprocess.run([PROGRAM, tmp_path / "other", tmp_path / "out", tmp_path / "a.txt"], capture_output=True, text=True))

    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [tmp_path / "a.txt"], tmp_path / "out", progress=meanwhile)
    assert told[0].returncode == 1 and "out" in told[0].stderr and "in use" in told[0].stderr, told
    assert read(tmp_path / "out" / "a.txt") == ["a", "b"]


@pytest.mark.parametrize("memory", ["0", "15", "-1", "x", "1e3", "²", "9" * 30])
def test_memory_out_of_range_is_refused(tmp_path, memory):
    write(tmp_path / "a.txt", ["a"])
    command = [PROGRAM, tmp_path / "index", tmp_path / "out", tmp_path / "a.txt", f"--memory={memory}"]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 2 and "expected a whole one of 16 to " in told.stderr and "Traceback" not in told.stderr


NEEDS = """
import sys
for package in ("pyarrow", "compression", "backports"):
    sys.modules[package] = None
from springflash.duplicates import main
main()
"""


def test_a_package_that_is_missing_is_named(tmp_path, child):
    for form, extra in [("parquet", "springflash[parquet]"), ("txt.zst", "springflash[zstd]")]:
        write(tmp_path / f"a.{form}", ["a"])
        told = child(NEEDS, tmp_path / "index", tmp_path / "out", tmp_path / f"a.{form}").communicate()
        assert extra in told[1] and told[1].count("\n") == 1, told


def test_blank_lines_are_no_documents_and_are_counted(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\na\n\n \t\r\nb\na\n\n")
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "c"}\n\n{"text": ""}\n  \n')
    for _ in range(2):
        code, told = program(tmp_path, tmp_path / "a.txt", tmp_path / "b.jsonl")
        assert code == 0 and told == "kept 4 of 5 documents, 4 of 5 paragraphs; left out: 6 blank lines\n", told
    assert (tmp_path / "out/a.txt").read_bytes() == b"a\nb\n"
    assert (tmp_path / "out/b.jsonl").read_bytes() == b'{"text": "c"}\n{"text": ""}\n'


def test_a_finished_output_is_not_replaced_by_another_index_or_shard(tmp_path):
    for folder, text in [("one", "a\nb\n"), ("two", "c\nb\n")]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "s.txt").write_text(text)
    assert program(tmp_path, tmp_path / "one" / "s.txt")[0] == 0
    output = tmp_path / "out" / "s.txt"
    (tmp_path / "first.txt").write_text("x\n")
    for index, shards in [("index", ["two/s.txt"]), ("other", ["one/s.txt"]), ("other", ["first.txt", "two/s.txt"])]:
        command = [PROGRAM, tmp_path / index, tmp_path / "out", *(tmp_path / shard for shard in shards)]
        told = subprocess.run(command, capture_output=True, text=True)
        assert told.returncode == 2 and "s.txt" in told.stderr and "another output" in told.stderr + "another output" * (index == "index"), told
        assert output.read_text() == "a\nb\n" and [path.name for path in output.parent.iterdir()] == ["s.txt"]
    # The other index finishes its own, elsewhere, and does not replace this one then.
    assert subprocess.call([PROGRAM, tmp_path / "other", tmp_path / "elsewhere", tmp_path / "two" / "s.txt"]) == 0
    command[3:] = [tmp_path / "two" / "s.txt"]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 2 and "another output folder" in told.stderr and output.read_text() == "a\nb\n", told
    # The same command does nothing.
    before = output.stat()
    assert program(tmp_path, tmp_path / "one" / "s.txt")[0] == 0 and output.stat().st_ino == before.st_ino


def test_an_output_within_the_index_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a\n")
    for output in ("index", "index/out"):
        told = subprocess.run([PROGRAM, tmp_path / "index", tmp_path / output, tmp_path / "a.txt"], capture_output=True, text=True)
        assert told.returncode == 2 and "expected one outside the index" in told.stderr, told
    assert program(tmp_path, tmp_path / "a.txt")[0] == 0


def test_a_run_that_was_killed_while_its_index_was_made_goes_on(tmp_path, child):
    (tmp_path / "a.txt").write_text("a\na\n")
    (tmp_path / "index").mkdir()
    for name in ("unfinished", "records", "buckets"):
        (tmp_path / "index" / name).write_bytes(b"")
    assert program(tmp_path, tmp_path / "a.txt") == (0, "kept 1 of 2 documents, 1 of 2 paragraphs\n")
    assert not (tmp_path / "index" / "unfinished").exists()
    for n in range(6):
        making = child("import sys; from springflash import FlashIndex; print(1); FlashIndex(sys.argv[1])", tmp_path / f"killed {n}")
        making.stdout.readline()
        while n > 0 and not (tmp_path / f"killed {n}").exists():
            assert making.poll() is None
        making.kill()
        making.wait()
        FlashIndex(tmp_path / f"killed {n}").close()


INTERRUPTED = """
import sys
class Finder:
    def find_spec(name, *_):
        if name == sys.argv.pop():
            raise KeyboardInterrupt
        sys.argv.append(NAME)
sys.meta_path.insert(0, Finder)
NAME = sys.argv[-1]
from springflash_duplicates import main
main()
"""


@pytest.mark.parametrize("module", ["springflash", "springflash._index", "springflash.duplicates", "argparse"])
def test_an_interrupt_of_an_import_ends_the_program_as_later_ones_do(child, module):
    told = child(INTERRUPTED, module)
    assert told.communicate()[1] == "springflash-duplicates: interrupted; repeat it with the same command\n" and told.returncode == 130


def test_many_short_lines_take_no_more_memory_than_is_asked_for(tmp_path, child):
    (tmp_path / "a.txt").write_bytes(b"".join(b"%d\n" % n for n in range(2_000_000)))
    (tmp_path / "one.txt").write_bytes(b"one\n")
    peaks = [
        int(child(PEAK, PROGRAM, tmp_path / f"{shard}.index", tmp_path / "out", tmp_path / shard, "--memory", 16).communicate()[0])
        for shard in ("one.txt", "a.txt")
    ]
    print(peaks)
    assert peaks[1] <= peaks[0] + 16 + 8, f"{peaks} MiB for one line and for two million"


def test_numbers_of_many_digits_and_columns_of_one_name(tmp_path):
    digits = "9" * 5000
    (tmp_path / "a.jsonl").write_text('{"n": %s, "text": "a\\na"}\n{"text": "a"}\n' % digits)
    assert program(tmp_path, tmp_path / "a.jsonl", "--paragraphs")[0] == 0
    assert (tmp_path / "out" / "a.jsonl").read_text() == '{"n": %s, "text": "a"}\n' % digits
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pa.parquet.write_table(table, tmp_path / "b.parquet")
    code, told = program(tmp_path, tmp_path / "b.parquet")
    assert code == 2 and "2 columns are named 'text', expected one" in told
