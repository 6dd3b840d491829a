"""Near duplicates are those that datasketch finds, with the same signatures, and in the same way whatever interrupts a run."""

import inspect
import itertools
import json
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import datasketch
import pytest
from datasketch.lsh import _optimal_param
from hypothesis import given
from hypothesis import strategies as st

import springflash._near
import springflash._shards
from springflash import FlashIndex
from springflash._near import _permutations
from springflash._springflash import Near
from springflash.duplicates import NearDuplicates, deduplicate

#: Of false positives and false negatives, when bands and rows are chosen.
WEIGHTS = (0.2, 0.8)
PROGRAM = Path(sys.executable).with_name("springflash-duplicates")


def shingles(text, words=5):
    split = text.split()
    return {" ".join(split[n : n + words]) for n in range(max(1, len(split) - words + 1))} if split else set()


def jaccard(ours, theirs):
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def signature(text, permutations=128, words=5):
    of_it = datasketch.MinHash(permutations)
    of_it.update_batch([shingle.encode() for shingle in shingles(text, words)])
    return of_it


def naive(texts, threshold, permutations, words=5):
    """Which documents are kept: candidates of datasketch, compared exactly."""
    lsh, kept = datasketch.MinHashLSH(threshold, permutations, weights=WEIGHTS), {}
    for n, text in enumerate(texts):
        of_it, ours = signature(text, permutations, words), shingles(text, words)
        if not any(jaccard(ours, kept[other]) >= threshold for other in lsh.query(of_it)):
            lsh.insert(n, of_it)
            kept[n] = ours
    return [texts[n] for n in kept]


def edited(rng, text, changes):
    words = text.split()
    for _ in range(changes):
        words[rng.randrange(len(words))] = f"changed{rng.randrange(10**6)}"
    return " ".join(words)


def documents(rng, count, words=(20, 120), vocabulary=2000):
    """Some are edited copies of earlier ones, and some of those are edited again."""
    texts = []
    for _ in range(count):
        if texts and rng.random() < 0.5:
            texts.append(edited(rng, rng.choice(texts), rng.choice([0, 0, 1, 1, 2, 3, 5])))
        else:
            texts.append(" ".join(f"w{rng.randrange(vocabulary)}" for _ in range(rng.randrange(*words))))
    return texts


def write(file, texts):
    file.write_text("".join(text + "\n" for text in texts))
    return file


def read(file):
    return file.read_text().splitlines()


@given(st.text(alphabet=st.sampled_from("ab é\t\n\x0b\x0c\r\x1c"), max_size=60), st.integers(1, 7), st.sampled_from([2, 31, 32, 33, 128]))
def test_signatures_are_those_of_datasketch(text, words, permutations):
    split = text.encode().split()
    of_text = {b" ".join(split[n : n + words]) for n in range(max(1, len(split) - words + 1))} if split else set()
    expected = datasketch.MinHash(permutations)
    expected.update_batch(of_text)
    near = Near(*_permutations(permutations), 0.8, words)
    assert near.signature(text)[:permutations] == expected.hashvalues.tolist()


def test_permutations_are_those_of_datasketch():
    for count in (2, 100, 128, 1024):
        assert [list(part) for part in _permutations(count)] == datasketch.MinHash(count).permutations.tolist()


def test_bands_and_rows_are_those_of_datasketch():
    compared = 0
    for permutations in (16, 50, 128):
        for percent in range(5, 100, 5):
            bands, rows = _optimal_param(percent / 100, permutations, *WEIGHTS)
            if bands > 1:  # It refuses one.
                assert Near(*_permutations(permutations), percent / 100, 5).bands_and_rows == (bands, rows), (permutations, percent)
                compared += 1
    assert compared > 50


@pytest.mark.parametrize("threshold, permutations, vocabulary", [(0.8, 128, 2000), (0.5, 64, 30), (0.3, 32, 12), (0.9, 128, 2000)])
def test_what_is_kept_is_what_a_naive_program_keeps(tmp_path, monkeypatch, threshold, permutations, vocabulary):
    # Batches of few documents, so that near ones are in the same batch and in others.
    monkeypatch.setattr(springflash._shards, "BATCH_DOCUMENTS", 50)
    monkeypatch.setattr(springflash._shards, "_BLOCK_BYTES", 4096)
    monkeypatch.setattr(springflash._near, "_PIECE_BYTES", 70)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    texts = documents(rng, 900, vocabulary=vocabulary)
    files = [write(tmp_path / f"{n}.txt", texts[n * 300 : n * 300 + 300]) for n in range(3)]
    near = NearDuplicates(threshold, permutations)
    expected = naive(texts, threshold, permutations)
    assert 100 < len(expected) < 900
    with FlashIndex(tmp_path / "index", lean=True) as index:
        counts = deduplicate(index, files, tmp_path / "out", near=near)
        assert counts.documents == 900 and counts.kept_documents == len(expected)
        kept = [read(tmp_path / "out" / file.name) for file in files]
        assert list(itertools.chain(*kept)) == expected
        # Finished shards lose again what they lost.
        assert deduplicate(index, files, tmp_path / "again", near=near) == counts
        assert [read(tmp_path / "again" / file.name) for file in files] == kept
        write(files[1], texts[:300])
        with pytest.raises(ValueError, match="other documents than the finished shard"):
            deduplicate(index, files, tmp_path / "again", near=near)
        assert [read(tmp_path / "again" / file.name) for file in files] == kept


def sources():
    """Parts of the standard library, of thirty words or more."""
    for name in sorted(sys.stdlib_module_names):
        file = Path(inspect.__file__).with_name(name + ".py")
        if file.exists():
            for part in file.read_text(errors="replace").split("\n\n"):
                if len(part.split()) >= 30:
                    yield " ".join(textwrap.dedent(part).split())


def found_by_datasketch(texts, sets, weights, is_checked):
    """Which documents have a near duplicate among those before that have none, and which of them among their candidates."""
    lsh, found, rightly = datasketch.MinHashLSH(0.8, 128, weights=weights), [], []
    for n, text in enumerate(texts):
        of_it = signature(text)
        others = lsh.query(of_it)
        rightly.append(any(jaccard(sets[n], sets[other]) >= 0.8 for other in others))
        found.append(rightly[n] if is_checked else bool(others))
        if not found[n]:
            lsh.insert(n, of_it)
    return found, rightly


def test_recall_and_precision_are_those_of_datasketch(tmp_path):
    """With the same bands and the same check, the same documents are left out. With datasketch's own bands, fewer."""
    rng = random.Random(11)
    originals = list(dict.fromkeys(sources()))[:3000]
    assert len(originals) > 1500
    texts = originals + [edited(rng, rng.choice(originals), round(rng.random() * 1.8)) for _ in range(2500)]
    rng.shuffle(texts)
    having: dict[str, list[int]] = {}
    is_near = []
    for n, ours in enumerate(sets := [shingles(text) for text in texts]):
        common: dict[int, int] = {}
        for shingle in ours:
            for other in having.setdefault(shingle, []):
                common[other] = common.get(other, 0) + 1
            having[shingle].append(n)
        is_near.append(any(count / (len(ours) + len(sets[other]) - count) >= 0.8 for other, count in common.items()))
    assert sum(is_near) > 500
    rows = [json.dumps({"text": text, "n": n}) for n, text in enumerate(texts)]
    with FlashIndex(tmp_path / "index", lean=True) as index:
        deduplicate(index, [write(tmp_path / "a.jsonl", rows)], tmp_path / "out", near=NearDuplicates())
    kept = {json.loads(row)["n"] for row in read(tmp_path / "out/a.jsonl")}
    ours = [n not in kept for n in range(len(texts))]
    found = {"ours": (ours, ours)}
    for name, weights in (("our bands", WEIGHTS), ("its bands", (0.5, 0.5))):
        for is_checked in (True, False):
            found[f"{name}, {'' if is_checked else 'not '}checked"] = found_by_datasketch(texts, sets, weights, is_checked)
    print(f"{len(texts)} documents, {sum(is_near)} near; recall, a part of it by false candidates alone, and precision:")
    rates = {}
    for name, (dropped, rightly) in found.items():
        right = [has and is_so for has, is_so in zip(is_near, dropped)]
        by_chance = sum(has and not is_so for has, is_so in zip(right, rightly))
        rates[name] = sum(right) / sum(is_near), by_chance / sum(is_near), sum(right) / sum(dropped)
        print(f"{name}: " + ", ".join(f"{rate:.3f}" for rate in rates[name]))
    assert found["ours"] == found["our bands, checked"]
    assert rates["ours"][0] > rates["its bands, not checked"][0]
    assert rates["ours"][2] == 1.0 > rates["its bands, not checked"][2] > rates["our bands, not checked"][2]


def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path, child):
    rng = random.Random(random.randrange(1 << 32))
    texts = documents(rng, 24_000, words=(10, 40), vocabulary=500)
    files = [write(tmp_path / f"{n}.txt", texts[n::3]) for n in range(3)]
    command = ["from springflash.duplicates import main; main()", "--near", tmp_path / "index", tmp_path / "out", *files]
    killed = 0
    for n in range(6):
        running = child(*command)
        try:
            # The next one comes further.
            running.wait(timeout=0.4 + n * 0.4)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            killed += 1
        running.wait()
    told = child(*command).communicate()
    with FlashIndex(tmp_path / "other", lean=True) as index:
        counts = deduplicate(index, files, tmp_path / "expected", near=NearDuplicates())
    assert killed and f"kept {counts.kept_documents} of 24000 documents" in told[0], (killed, told)
    for file in files:
        assert (tmp_path / "out" / file.name).read_bytes() == (tmp_path / "expected" / file.name).read_bytes()


@pytest.mark.parametrize("change", ["none", "another shard", "other documents"])
def test_an_interrupted_shard_hides_no_document(tmp_path, monkeypatch, change):
    """Documents of a shard without an output are in no one's way, and what they hid behind them is found."""
    monkeypatch.setattr(springflash._shards, "BATCH_DOCUMENTS", 20)
    monkeypatch.setattr(springflash._shards, "_BLOCK_BYTES", 4096)
    rng = random.Random(random.randrange(1 << 32))
    # Few words, so that many documents share buckets.
    texts = documents(rng, 600, words=(8, 30), vocabulary=8)
    near = NearDuplicates(0.5, 32, 2)
    first, second, third = (write(tmp_path / f"{n}.txt", texts[n * 200 : n * 200 + 200]) for n in range(3))

    def stop(name, documents):
        if name == second.name and documents >= 100:
            raise KeyboardInterrupt

    with FlashIndex(tmp_path / "index", lean=True) as index:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                deduplicate(index, [first, second], tmp_path / "out", near=near, progress=stop)
        if change == "another shard":
            left = [third]
        else:
            left = [second, third]
        if change == "other documents":
            write(second, texts[350:400] + texts[200:220])
        deduplicate(index, left, tmp_path / "out", near=near)
    files = [first, *left]
    expected = naive([text for file in files for text in read(file)], *near)
    assert [text for file in files for text in read(tmp_path / "out" / file.name)] == expected


def test_long_documents_are_compared_by_samples(tmp_path):
    words = [f"w{n}" for n in range(40_000)]
    near, far = list(words), list(words)
    near[::200] = ["changed"] * len(near[::200])
    far[::20] = ["changed"] * len(far[::20])
    texts = [" ".join(text) for text in (words, near, far, words[:30_000])]
    similar = [jaccard(shingles(texts[0]), shingles(text)) for text in texts[1:]]
    assert similar[0] > 0.9 and max(similar[1:]) < 0.79
    with FlashIndex(tmp_path / "index", lean=True) as index:
        deduplicate(index, [write(tmp_path / "a.txt", texts)], tmp_path / "out", near=NearDuplicates())
    assert read(tmp_path / "out/a.txt") == [texts[0], texts[2], texts[3]]


def test_documents_without_words_are_equal(tmp_path):
    rows = ['{"text": ""}', '{"text": " "}', '{"text": "a"}', '{"text": "a\\n"}', '{"text": "b"}']
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [write(tmp_path / "a.jsonl", rows)], tmp_path / "out", near=NearDuplicates())
    assert read(tmp_path / "out/a.jsonl") == [rows[0], rows[2], rows[4]]


def test_a_bucket_of_many_documents_takes_no_more_time_for_each(tmp_path):
    """Of a template, with a part of its own: a bucket has all of them, and they are near to none."""
    texts = [f"a b {n} {n + 1} {n + 2}" for n in range(3000)]
    with FlashIndex(tmp_path / "index", lean=True) as index:
        counts = deduplicate(index, [write(tmp_path / "a.txt", texts)], tmp_path / "out", near=NearDuplicates(0.9, 2, 1))
    assert counts.kept_documents == 3000


def run(tmp_path, *arguments):
    told = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path)
    return told.returncode, told.stdout, told.stderr


@pytest.mark.parametrize(
    "wrong, reason",
    [
        (["--near", "--threshold", "0"], "threshold is 0.0"),
        (["--near", "--threshold", "1"], "threshold is 1.0"),
        (["--near", "--threshold", "nan"], "threshold is nan"),
        (["--near", "--threshold", "x"], "invalid float"),
        (["--near", "--permutations", "1"], "permutations is 1"),
        (["--near", "--permutations", "1025"], "permutations is 1025"),
        (["--near", "--words", "0"], "words is 0"),
        (["--near", "--paragraphs"], "not --paragraphs"),
        (["--threshold", "0.5"], "--threshold needs --near"),
    ],
)
def test_wrong_settings_end_with_code_2_before_anything_is_made(tmp_path, wrong, reason):
    write(tmp_path / "a.txt", ["a"])
    code, _, told = run(tmp_path, *wrong, "index", "out", "a.txt")
    assert code == 2 and reason in told, told
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_an_index_is_used_as_it_was_made(tmp_path):
    write(tmp_path / "a.txt", ["a b c", "a b c"])
    for first, second, reason in [
        ([], ["--near"], "index of exact duplicates"),
        (["--near"], [], "index of near duplicates"),
        (["--near"], ["--near", "--threshold", "0.7"], "has the settings"),
        (["--near", "--words", "3"], ["--near", "--words", "4"], "has the settings"),
    ]:
        name = f"{len(first)}{len(second)}"
        code, told, error = run(tmp_path, *first, "--json", f"index{name}", f"out{name}", "a.txt")
        assert code == 0 and json.loads(told)["kept_documents"] == 1, error
        code, _, told = run(tmp_path, *second, f"index{name}", f"other{name}", "a.txt")
        assert code == 2 and reason in told and told.count("\n") == 1, told
        assert not list(tmp_path.glob(f"other{name}/*"))


def test_an_index_with_other_bands_is_refused(tmp_path):
    file = write(tmp_path / "a.txt", ["a b c"])
    with FlashIndex(tmp_path / "index") as index:
        deduplicate(index, [file], tmp_path / "out", near=NearDuplicates())
        made = json.loads(index[springflash._near.SETTINGS])
        index[springflash._near.SETTINGS] = json.dumps(made | {"rows": made["rows"] + 1})
        with pytest.raises(ValueError, match="has the settings"):
            deduplicate(index, [file], tmp_path / "other", near=NearDuplicates())
