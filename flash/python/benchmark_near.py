"""Shards for springflash-duplicates --near: benchmark_near.py FOLDER DOCUMENTS

Writes shards of 100,000 documents of 60 to 140 words. A fifth are copies of earlier ones with up to three words replaced.
"""

import sys
from pathlib import Path

import numpy as np

SHARD = 100_000
WORDS = 50_000
#: Originals of copies.
HELD = 200_000


def main():
    folder, count = Path(sys.argv[1]), int(float(sys.argv[2]))
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    letters = list("etaoinshrdlucmfwypvbgkjqxz")
    word = lambda size: "".join(letters[n] for n in (rng.random(size) ** 1.5 * 26).astype(int))
    vocabulary = np.array([word(rng.integers(2, 10)) for _ in range(WORDS)], dtype=object)
    share = np.arange(1, WORDS + 1) ** -0.9
    up_to = np.cumsum(share / share.sum())
    held = []
    for first in range(0, count, SHARD):
        with open(folder / f"{first // SHARD:05}.txt", "w") as out:
            for size in rng.integers(60, 141, min(SHARD, count - first)):
                if held and rng.random() < 0.2:
                    text = held[rng.integers(len(held))].copy()
                    changed = rng.integers(0, 4)
                    text[rng.integers(0, len(text), changed)] = rng.integers(0, WORDS, changed)
                else:
                    text = np.minimum(np.searchsorted(up_to, rng.random(size)), WORDS - 1)
                    if len(held) < HELD:
                        held.append(text)
                    else:
                        held[rng.integers(HELD)] = text
                out.write(" ".join(vocabulary[text]) + "\n")


main()
