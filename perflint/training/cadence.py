"""Finds how often a statement runs: at each step, every n steps (``if step % n == 0:``), or hardly ever.

``guards`` decides what is rare. This module distinguishes what recurs from what happens once, only at the end, or only
when a model is the best so far.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.syntax.names import dotted, names_in
from perflint.syntax.scopes import Place
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_interval
from perflint.training.around import HotPath
from perflint.training.counting import Definitions, as_remainder, counted_by, counts_steps, remainder_of, written
from perflint.training.guards import rare

_DEEPEST = 6
USUAL_INTERVAL = 1000
"""How many steps are assumed between two runs, if only a configuration file has the number."""

_SMALL_PART = 1000
_ORDER = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)


@dataclass(frozen=True)
class Cadence:
    """On which steps a place runs.

    ``every``: the number of steps between two runs (``n`` in ``step % n == 0``), outermost test last; empty if it runs
    at each step. ``seldom``: some test around it is true once, or on a few steps without a regular interval.
    """

    every: tuple[ast.expr, ...] = ()
    seldom: bool = False

    def __add__(self, other: Cadence) -> Cadence:
        return Cadence(self.every + other.every, self.seldom or other.seldom)


EACH, SELDOM = Cadence(), Cadence(seldom=True)


def cadence(place: Place | None, loop: ast.stmt | None, path: HotPath, definitions: Definitions) -> Cadence:
    """On which steps of a loop (None: on which calls of a function) a place runs.

    Args:
        place: the place of a statement.
        loop: its step loop.
        path: the facts about the tests of the function.
        definitions: what the names in these tests mean.
    """
    found = EACH
    for link in place.chain() if place is not None else ():
        if link.node is loop and link.branch == "body":
            break
        found += _of_link(link, loop, path, definitions)
        if found.seldom:
            break
    return found


def _of_link(link: Place, loop: ast.stmt | None, path: HotPath, definitions: Definitions) -> Cadence:
    if not isinstance(link.node, ast.If):
        return SELDOM if path.guards(link, loop) else EACH
    asked = _Asked(definitions, counted_by(loop, definitions))
    value = link.branch == "body"
    if path.guards(link, loop):
        return asked.of(link.node.test, value, 0)
    return SELDOM if _chooses(link.node.test, asked) else EACH


class _Asked:
    """Finds the interval at which tests are true."""

    def __init__(self, definitions: Definitions, counters: frozenset[str]) -> None:
        self._definitions = definitions
        self._counters = counters

    def counts(self, node: ast.expr) -> bool:
        """Whether an expression is computed from a step count."""
        return counts_steps(node, self._counters)

    def of(self, test: ast.expr, value: bool, depth: int) -> Cadence:
        """On which steps a test, which is rare, is ``value``."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.of(test.operand, not value, depth)
        if isinstance(test, ast.NamedExpr):
            return self.of(test.value, value, depth)
        if isinstance(test, ast.BoolOp):
            return self._of_parts(test, value, depth)
        every = next(self._counted_by(test), None)
        if every is not None:
            return Cadence((every,))
        name = dotted(test.func if isinstance(test, ast.Call) else test)
        key = f"{name}()" if isinstance(test, ast.Call) else name
        held = self._definitions.get(key) if name is not None and key is not None else None
        return self.of(held, value, depth + 1) if held is not None and depth < _DEEPEST else SELDOM

    def _of_parts(self, test: ast.BoolOp, value: bool, depth: int) -> Cadence:
        found = [
            self.of(part, value, depth) for part in test.values if rare(part, value, self._definitions, self._counters)
        ]
        spaced = next((one for one in found if one.every), SELDOM)
        if isinstance(test.op, ast.And) == value:  # all have to be true: the rarest one decides
            return SELDOM if any(one.seldom for one in found) else spaced
        return spaced

    def _counted_by(self, test: ast.expr) -> Iterator[ast.expr]:
        """The number in ``step % n == 0``, ``due != step // n``, ``waited >= self.interval``."""
        sides = (test.left, *test.comparators) if isinstance(test, ast.Compare) else (test,)
        for side in sides:
            remainder = remainder_of(side, self._definitions) or as_remainder(side)
            if remainder is not None:
                yield remainder.right
            held = written(self._definitions).get(dotted(side) or "") or side
            if isinstance(held, ast.BinOp) and isinstance(held.op, ast.FloorDiv):
                yield held.right
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], _ORDER):
            right = test.comparators[0]
            if isinstance(right, (ast.Name, ast.Attribute)) and any(map(means_interval, names_in(right))):
                yield right


def _chooses(test: ast.expr, asked: _Asked) -> bool:
    """Whether a test that is not a guard may still test a result: ``accuracy > highest``."""
    return any(
        isinstance(item, ast.Compare)
        and isinstance(item.ops[0], _ORDER)
        and not any(isinstance(side, ast.Constant) or asked.counts(side) for side in (item.left, *item.comparators))
        for item in walk(test)
    )


@dataclass(frozen=True)
class Interval:
    """How many steps lie between two runs of a place.

    ``steps``: None if unknown. ``text``: in words, "every `args.save_steps` steps". ``beside``: what takes longer at
    the same place, such as "an evaluation"; "" if nothing does.
    """

    steps: int | None
    text: str
    beside: str = ""

    def counted(self) -> int:
        """The number to compute with, known or assumed; next to something longer, the place costs little."""
        steps = self.steps if self.steps is not None else USUAL_INTERVAL
        return steps * _SMALL_PART if self.beside else steps

    def explained(self) -> str:
        """In words, with the assumed number if none is known."""
        text = self.text if self.steps is not None else f"{self.text.rstrip(')')}; taken as {USUAL_INTERVAL})"
        return f"{text}, beside {self.beside}" if self.beside else text


def every(number: ast.expr, steps: int | None) -> Interval:
    """The interval of ``step % number == 0``; ``steps``: the value of the number, if known."""
    if isinstance(number, ast.Constant):
        return Interval(steps, f"every {ast.unparse(number)} steps")
    known = f"{steps} by default" if steps is not None else "how many, the code does not say"
    return Interval(steps, f"every `{ast.unparse(number)}` steps ({known})")
