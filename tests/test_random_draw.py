"""PPF915: which numbers to draw from are taken to be many."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import check

PROGRAM = """\
import numpy as np
import paddle

BUDGET = {budget}


def train(model, optimizer, memory, scores, steps):
    for step in range(steps):
        rows = model.rows.reshape([-1, 2])
        chosen = {draw}
        loss = paddle.nn.functional.mse_loss(model(chosen), scores)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("draw", "budget", "count"),
    [
        ("np.random.choice(BUDGET, 64, False)", "100_000", 1),
        ("np.random.choice(BUDGET, 64, False)", "1_000", 0),
        ("np.random.choice(BUDGET, 90_000, False)", "100_000", 0),
        ("np.random.choice(BUDGET, 64, False, model.weights)", "100_000", 0),
        ("np.random.choice(BUDGET, 64)", "100_000", 0),
        ("np.random.choice(len(memory), size=64, replace=False)", "0", 1),
        ("np.random.choice(len(scores), size=64, replace=False)", "0", 0),
        ("np.random.choice(memory, size=64, replace=False)", "0", 0),
        ("np.random.choice(rows.shape[0], size=64, replace=False)", "0", 1),
        ("np.random.choice(rows.shape[1], size=64, replace=False)", "0", 0),
        ("np.random.choice(2 * steps, size=64, replace=False)", "0", 0),
        ("np.random.choice(model.batch * steps, size=64, replace=False)", "0", 0),
        ("np.random.choice(model.height * model.width, size=64, replace=False)", "0", 1),
        ("np.random.choice(rows.shape[0] * rows.shape[1], size=64, replace=False)", "0", 1),
        ("np.random.permutation(len(memory))[:64]", "0", 1),
        ("np.random.permutation(len(memory))[64:]", "0", 0),
        ("np.random.permutation(len(memory))[:len(memory)]", "0", 0),
    ],
)
def test_a_draw_of_few(draw: str, budget: str, count: int) -> None:
    assert len(check(PROGRAM.format(draw=draw, budget=budget), "PPF915")) == count


def test_a_generator_draws_different_indices_as_well() -> None:
    drawn = np.random.default_rng(0).choice(100_000, 1024, replace=False)
    assert len(set(drawn.tolist())) == 1024
    assert drawn.max() < 100_000
