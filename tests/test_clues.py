"""Which forward passes are worth a look: those with a call that costs by itself, or with a decision on a tensor."""

from __future__ import annotations

import ast

import pytest

from perflint.syntax.names import Names
from perflint.syntax.scopes import FileScopes
from perflint.training.clues import Clues

CLUES = Clues(frozenset({"numpy"}), frozenset({"sum", "mean", "max", "isnan"}))


def _is_worth_a_look(*lines: str, clues: Clues = CLUES) -> bool:
    text = "class Net:\n    def forward(self, x, mask=None):\n" + "".join(f"        {line}\n" for line in lines)
    scopes = FileScopes(ast.parse(text), Names("m", False))
    return clues.are_in(scopes.classes["Net"].methods["forward"].statements)


@pytest.mark.parametrize(
    "lines",
    [
        ["return x.numpy()"],
        ["if x.sum() > 0:", "    x = x + 1"],
        ["total = x.sum()", "if total > 0:", "    x = x + 1"],
        ["total: object = x.sum()", "while not total:", "    x = x + 1"],
        ["(total, other) = x.sum(), 1", "assert total"],
        ["y = x if x.mean() else 0"],
        ["y = [part for part in x if part.sum()]"],
        ["y = any(part.sum() > 0 for part in x)"],
        ["y = x.sum() and mask"],
        ["y = max(x, mask)"],
        ["total = x.sum()", "if math.isnan(total):", "    x = x + 1"],
        ["total = x.sum()", "y = total in (1, 2)"],
    ],
)
def test_worth_a_look(lines: list[str]) -> None:
    assert _is_worth_a_look(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["y = mask and x.sum()"],  # whoever gets y may test it
        ["return x + 1"],
        ["return x.sum() / mask.sum()"],
        ["if mask is not None:", "    x = x.sum()"],
        ["if self.training and mask is not None:", "    x = (x - 1).mean()"],
        ["if self.reduction == 'mean':", "    x = x.mean()"],
        ["for i in range(len(x)):", "    if i == 0:", "        x = x.sum(i)"],
        ["y = self.head(x.max(axis=1))"],
    ],
)
def test_not_worth_a_look(lines: list[str]) -> None:
    assert not _is_worth_a_look(*lines)


def test_without_calls_that_are_decided_on_no_decision_matters() -> None:
    assert not _is_worth_a_look("if x.sum() > 0:", "    x = x + 1", clues=Clues(frozenset({"numpy"})))
