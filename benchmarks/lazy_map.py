"""A batch of texts that is tokenized when it is read, and one of ids that a list has kept.

The tokenizer here does what those in Python of PaddleNLP do with a text, except for special tokens, masks and checks:
it splits a text into words and signs, and each word into the longest pieces that a vocabulary has.

python benchmarks/lazy_map.py
"""

from __future__ import annotations

import random
import time
import unicodedata
from collections.abc import Callable
from typing import Any

from record import in_turns, write

BATCH, WORDS = 32, 60
"""The samples of a batch, and the words of a text."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def vocabulary(pick: random.Random, raw: list[str]) -> dict[str, int]:
    """Nine of ten words of some texts, single letters, and pieces of two to five letters."""
    pieces = {"".join(pick.choices(LETTERS, k=pick.randint(2, 5))) for _ in range(30_000)}
    pieces |= {word for text in raw for word in words_of(text) if pick.random() < 0.9}
    starts = sorted(pieces | set(LETTERS))
    return {piece: number for number, piece in enumerate([*starts, *(f"##{piece}" for piece in starts)])}


def texts(pick: random.Random) -> list[str]:
    """Texts of words of three to ten letters."""
    words = ["".join(pick.choices(LETTERS, k=pick.randint(3, 10))) for _ in range(BATCH * WORDS)]
    return [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]


def words_of(text: str) -> list[str]:
    """The words and signs of a text, without accents."""
    found, word = [], ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn":
            continue
        if letter.isspace() or kind.startswith("P"):
            found += [word] if word else []
            found += [] if letter.isspace() else [letter]
            word = ""
        else:
            word += letter
    return [*found, word] if word else found


def ids_of(text: str, known: dict[str, int]) -> list[int]:
    """The numbers of the pieces of a text."""
    found = []
    for word in words_of(text):
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in known), start + 1)
            found.append(known.get(mark + word[start:end], 0))
            start = end
    return found


def reading(sample: Callable[[int], Any]) -> Callable[[], float]:
    """Milliseconds for a batch."""

    def run() -> float:
        start = time.perf_counter()
        for index in range(BATCH):
            sample(index)
        return (time.perf_counter() - start) * 1e3

    return run


if __name__ == "__main__":
    pick = random.Random(0)
    raw = texts(pick)
    known = vocabulary(pick, raw)
    kept = [ids_of(text, known) for text in raw]
    spellings = {
        "tokenized when it is read": reading(lambda index: ids_of(raw[index], known)),
        "tokenized once": reading(lambda index: kept[index]),
    }
    tokens = sum(map(len, kept)) // BATCH
    write({"milliseconds_per_batch": in_turns(spellings, rounds=5), "tokens_per_text": tokens})
