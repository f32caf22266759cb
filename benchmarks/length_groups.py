"""Steps of a small transformer on batches of texts of different lengths, drawn at random and grouped by length.

A batch is padded to its longest text. For groups, a hundred batches are drawn at random, their texts sorted by length,
cut into batches again, and the order of these shuffled.

python benchmarks/length_groups.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import paddle
from record import in_turns, write

BATCH, BATCHES, STEPS = 32, 100, 6
LONGEST, WIDTH, HEADS, DEPTH, WORDS = 128, 128, 4, 2, 5000
Batches = list[np.ndarray]


def lengths(pick: np.random.Generator) -> np.ndarray:
    """The lengths of texts: half of them up to 50 tokens, a tenth from 95 on."""
    return np.clip(pick.lognormal(np.log(50), 0.5, BATCH * BATCHES), 5, LONGEST).astype("int64")


def at_random(drawn: np.ndarray, pick: np.random.Generator) -> Batches:
    """Batches in a random order."""
    return list(pick.permutation(drawn).reshape(BATCHES, BATCH))


def grouped(drawn: np.ndarray, pick: np.random.Generator) -> Batches:
    """Batches of texts of about one length, in a random order."""
    return list(pick.permutation(np.sort(drawn).reshape(BATCHES, BATCH)))


def padding(batches: Batches) -> float:
    """The share of tokens that are padding."""
    return 1 - sum(int(each.sum()) for each in batches) / sum(int(each.max()) * BATCH for each in batches)


class Network(paddle.nn.Layer):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __init__(self) -> None:
        super().__init__()
        self.words = paddle.nn.Embedding(WORDS, WIDTH)
        layer = paddle.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH)
        self.encoder = paddle.nn.TransformerEncoder(layer, DEPTH)
        self.head = paddle.nn.Linear(WIDTH, 2)

    def forward(self, ids: paddle.Tensor, mask: paddle.Tensor) -> paddle.Tensor:
        return self.head(self.encoder(self.words(ids), mask)[:, 0])


def training(batches: Batches) -> Callable[[], float]:
    """Milliseconds for a step; its batches stand evenly among all of them, in the order of their width."""
    network = Network()
    optimizer = paddle.optimizer.AdamW(1e-4, parameters=network.parameters())
    widths = sorted(int(each.max()) for each in batches)
    chosen = [widths[int((step + 0.5) * len(widths) / STEPS)] for step in range(STEPS)]

    def run() -> float:
        start = time.perf_counter()
        for width in chosen:
            ids = paddle.randint(0, WORDS, [BATCH, width])
            mask = paddle.zeros([BATCH, 1, 1, width])
            loss = paddle.nn.functional.cross_entropy(network(ids, mask), paddle.zeros([BATCH], "int64"))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        return (time.perf_counter() - start) / STEPS * 1e3

    return run


if __name__ == "__main__":
    pick = np.random.default_rng(0)
    drawn = lengths(pick)
    kinds = {"random": at_random(drawn, pick), "grouped": grouped(drawn, pick)}
    spellings = {name: training(batches) for name, batches in kinds.items()}
    shares = {name: round(padding(batches), 3) for name, batches in kinds.items()}
    write({"milliseconds_per_step": in_turns(spellings, rounds=3), "share_of_padding": shares})
