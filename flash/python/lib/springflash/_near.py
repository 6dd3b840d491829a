"""Near duplicates: how :func:`springflash.duplicates.deduplicate` compares documents that are not equal."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from ._filter import rate, shown, whole
from ._index import FlashIndex
from ._springflash import Near

#: The key of the settings of an index.
SETTINGS = b"near duplicates"
#: The key of the number of the last run, and of those that were interrupted. A run reads one shard. The numbers of its documents begin with
#: its own.
_RUNS = b"near runs"
#: With a number and the name of a finished shard, the key of a byte for each of its documents: 1 if it was left out.
_LEFT_OUT = b"left out:"
_PIECE_BYTES = 65_536
_PERMUTATIONS_MAX = 1024
_WORDS_MAX = 1000


class NearDuplicates(NamedTuple):
    """What is a near duplicate: a document that has at least ``threshold`` of the shingles of both in common with an earlier one that was
    kept (their Jaccard similarity). A shingle is ``words`` successive words. More ``permutations`` find more of them, in more time."""

    threshold: float = 0.8
    permutations: int = 128
    words: int = 5


def check_settings(settings: NearDuplicates) -> NearDuplicates:
    for name, least, most in [("permutations", 2, _PERMUTATIONS_MAX), ("words", 1, _WORDS_MAX)]:
        number = getattr(settings, name)
        if whole(name, number, least) > most:
            raise ValueError(f"{name} is {shown(number)}, expected a whole number of {least} to {most}")
    return settings._replace(threshold=rate("threshold", settings.threshold))


class NearComparison:
    """Compares the documents of shards with those that were kept."""

    def __init__(self, index: FlashIndex, settings: NearDuplicates) -> None:
        ours = check_settings(settings)
        self._near = Near(*_permutations(ours.permutations), ours.threshold, ours.words)
        # Other bands would have other buckets, and find nothing in these.
        made = ours._asdict() | dict(zip(("bands", "rows"), self._near.bands_and_rows))
        before = index.get(SETTINGS)
        if before is None and index:
            raise ValueError(f"{index.path} is an index of exact duplicates, expected a new one or one of near duplicates")
        if before is not None and (theirs := json.loads(before)) != made:
            raise ValueError(f"{index.path} has the settings {theirs}, expected the same, not {made}")
        self.form = repr(ours)
        self._index = index
        self._runs: dict[str, Any] = json.loads(index.get(_RUNS, b'{"last": 0, "dead": []}'))
        if before is None:
            index[SETTINGS] = json.dumps(made)
        self._name = b""
        #: What is known of documents left out, behind the pieces that were stored or read.
        self._left_out, self._pieces = bytearray(), 0

    def begin(self, name: bytes, is_finished: bool) -> None:
        self._name, self._left_out, self._pieces = name, bytearray(), 0
        if not is_finished:
            self._put_runs(last=self._runs["last"] + 1)

    def _put_runs(self, **changed: Any) -> None:
        self._runs.update(changed)
        self._index[_RUNS] = json.dumps(self._runs)

    def forget(self) -> None:
        """Passes over what the last run has stored, from now on."""
        self._put_runs(dead=sorted({*self._runs["dead"], self._runs["last"]}))

    def came_before(self, texts: list[bytes], first: int) -> list[bool]:
        """Which of the documents are near duplicates. The others are known from now on."""
        new = self._near.take_in(self._index, texts, self._runs["last"], first, self._runs["dead"])
        gone = [not is_new for is_new in new]
        self._left_out += bytes(gone)
        while len(self._left_out) > _PIECE_BYTES:
            self._put_piece()
        return gone

    def end(self) -> None:
        """The shard has no more documents."""
        self._put_piece()

    def _put_piece(self) -> None:
        self._index[self._piece()] = self._left_out[:_PIECE_BYTES]
        del self._left_out[:_PIECE_BYTES]
        self._pieces += 1

    def _piece(self) -> bytes:
        return b"%b%d:%b" % (_LEFT_OUT, self._pieces, self._name)

    def left_out(self, count: int) -> list[bool] | None:
        """Which of the next documents of a finished shard were left out. None if it had fewer."""
        while len(self._left_out) < count:
            if not (piece := self._index.get(self._piece())):
                return None
            self._left_out += piece
            self._pieces += 1
        gone = list(map(bool, self._left_out[:count]))
        del self._left_out[:count]
        return gone


def _permutations(count: int) -> tuple[list[int], list[int]]:
    """Those of datasketch's ``MinHash``: from NumPy's ``RandomState(1)``, a Mersenne Twister with a state made in its first way."""
    state = [1]
    for n in range(1, 624):
        state.append((1_812_433_253 * (state[-1] ^ state[-1] >> 30) + n) % (1 << 32))
    twister = random.Random()
    twister.setstate((3, (*state, 624), None))
    draw = [twister.getrandbits(32) for _ in range(2 * count)]
    return [a % (1 << 31) * 2 + 1 for a in draw[:count]], draw[count:]
