"""PPF510: which boundaries are the numbers of all steps, and how many of them a step compares on Paddle itself."""

from __future__ import annotations

from typing import Any

import pytest
from paddle.optimizer import lr

from tests.support import check

CODE = "PPF510"
PROGRAM = """\
import numpy as np
import paddle


def schedule(rate, steps, epochs, milestones):
    values = [rate * (1 - step / steps) for step in range(steps + 1)]
{made}
    return paddle.optimizer.lr.PiecewiseDecay({given}, values)
"""


def rows(made: str, given: str = "bounds") -> list[int]:
    text = PROGRAM.format(made="".join(f"    {row}\n" for row in made.splitlines()), given=given)
    return [each.related[0].line for each in check(text, CODE)]


@pytest.mark.parametrize(
    ("made", "row"),
    [
        ("bounds = []\nfor i in range(1, steps):\n    bounds.append(i)", 9),
        ("bounds = []\nfor i in range(steps):\n    if i > 0:\n        bounds.append(i + 1)", 10),
        ("bounds = list(range(1, steps))", 7),
        ("bounds = [*range(1, steps)]", 7),
        ("bounds = [i + 1 for i in range(steps)]", 7),
        ("bounds: list[int] = list(np.arange(1, steps))", 7),
    ],
)
def test_the_numbers_of_all_steps(made: str, row: int) -> None:
    assert rows(made) == [row]


@pytest.mark.parametrize(
    "made",
    [
        "bounds = [30, 60]",
        "bounds = list(range(1, 4))",
        "bounds = list(range(steps, 9 * steps, steps))",  # one an epoch
        "bounds = [i * steps for i in range(epochs)]",
        "bounds = list(np.arange(stop=steps))",  # Python's range takes no keyword
        "bounds = [i * steps for i in milestones]",
        "bounds = []\nfor i in milestones:\n    bounds.append(i)",
        "bounds, others = [30, 60], []\nfor i in range(steps):\n    others.append(i)",
    ],
)
def test_other_boundaries(made: str) -> None:
    assert rows(made) == []


def test_boundaries_that_are_passed_as_they_are() -> None:
    assert rows("pass", "list(range(1, steps))") == [9]


def test_the_branches_of_a_function_are_one_finding() -> None:
    made = (
        "if rate:\n    bounds = list(range(1, steps))\n    return paddle.optimizer.lr.PiecewiseDecay(bounds, values)\n"
    )
    assert rows(made + "bounds = list(range(2, steps))") == [8]


class Counted(list[int]):
    """Boundaries that count how often one of them is asked for."""

    asked = 0

    def __getitem__(self, at: Any) -> Any:
        type(self).asked += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("step", [10, 500])
def test_a_step_compares_all_boundaries_before_it(step: int) -> None:
    schedule = lr.PiecewiseDecay(Counted(range(1, 1000)), [1 - at / 1000 for at in range(1000)])
    schedule.last_epoch = step - 1
    Counted.asked = 0
    schedule.step()
    assert Counted.asked == step + 1
    assert schedule.last_lr == pytest.approx(1 - step / 1000)
