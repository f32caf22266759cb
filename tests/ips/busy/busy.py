"""A training whose step is a loop that counts: what it takes is known, and no Paddle is needed but the one for tests.

python busy.py WORK

A step counts to ``WORK``.  It trains nothing; the trials of the measurement run it (``tests/ips/trials.py``).
"""

from __future__ import annotations

import sys

STEPS, BATCH = 66, 8
FACTOR = 1.0
"""The work of a step, as a multiple of WORK; a trial writes another number here."""


def count(work: int) -> int:
    """Add one so many times."""
    total = 0
    for _ in range(work):
        total += 1
    return total


def train(work: int) -> None:
    """Make ``STEPS`` steps."""
    import paddle  # here, so that the count can be imported where there is none

    optimizer = paddle.optimizer.SGD()
    for batch in paddle.io.DataLoader(list(range(STEPS * BATCH)), batch_size=BATCH):
        loss = paddle.mean(batch[0])
        count(round(work * FACTOR))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


if __name__ == "__main__":
    train(int(sys.argv[1]))
