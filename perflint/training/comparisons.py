"""Recognizes comparisons that are true only on a few steps of a loop: ``step % 100 == 0``, ``i + 1 >= len(loader)``."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from perflint.syntax.names import dotted, names_in
from perflint.syntax.vocabulary import evaluates, means_interval, means_mode, predicts
from perflint.training import counting
from perflint.training.counting import Definitions

_EQUALITY = (ast.Eq, ast.NotEq)
_Asks = Callable[[ast.expr], bool]
_UP = (ast.Gt, ast.GtE)
_DOWN = (ast.Lt, ast.LtE)
_ORDER: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operators.lt,
    ast.LtE: operators.le,
    ast.Gt: operators.gt,
    ast.GtE: operators.ge,
}


@dataclass(frozen=True)
class _Comparison:
    """One comparison and a truth value, to find on how many steps the comparison has this value.

    ``counters``: names that count the steps of the loop.  ``is_told``: whether an expression is true on a few steps.
    """

    left: ast.expr
    operator: ast.cmpop
    right: ast.expr
    value: bool
    definitions: Definitions
    counters: frozenset[str]
    is_told: _Asks

    def counts(self, side: ast.expr) -> bool:
        """Whether a side is computed from a step count."""
        return counting.counts_steps(side, self.counters)

    @cached_property
    def is_equal(self) -> bool:
        """Whether the sides are equal if the comparison has that value; only for ``==`` and ``!=``."""
        return self.value == isinstance(self.operator, ast.Eq)

    @cached_property
    def asks_equality(self) -> bool:
        """Whether the sides are compared for equality."""
        return isinstance(self.operator, _EQUALITY)


def is_rare(test: ast.Compare, value: bool, definitions: Definitions, counters: frozenset[str], is_told: _Asks) -> bool:
    """Whether a comparison is ``value`` only on a few steps of a loop: see ``guards.rare``."""
    if len(test.ops) != 1:
        return False
    asked = _Comparison(test.left, test.ops[0], test.comparators[0], value, definitions, counters, is_told)
    answers = (answer(asked) for answer in _ANSWERS)
    return next((answer for answer in answers if answer is not None), False)


def of_constants(test: ast.Compare, definitions: Definitions) -> bool | None:
    """What ``flag is True``, ``mode == "train"`` or ``x is not None`` is if the name is a known constant."""
    name, right, operator = dotted(test.left), test.comparators[0], test.ops[0]
    if len(test.ops) != 1 or name is None or not isinstance(right, ast.Constant):
        return None
    order = _ORDER.get(type(operator)) if "." not in name else None  # what an object stores may have grown since
    if order is None and not isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return None
    left = definitions.get(name)  # last, because it may have to search all calls of a function
    if not isinstance(left, ast.Constant):
        return None
    if order is not None:
        if isinstance(left.value, (int, float)) and isinstance(right.value, (int, float)):
            return order(left.value, right.value)
        return None
    same = left.value == right.value and type(left.value) is type(right.value)
    return same == isinstance(operator, (ast.Is, ast.Eq))


def _remainder(asked: _Comparison) -> bool | None:
    """A remainder: ``step % 100 == 0``."""
    for side in (asked.left, asked.right):
        remainder = counting.remainder_of(side, asked.definitions)
        if remainder is not None:
            is_due = asked.value != isinstance(asked.operator, (ast.NotEq, ast.Gt))
            return counting.spaces_steps(remainder, asked.definitions) and is_due
    return None


def _not_a_number(asked: _Comparison) -> bool | None:
    """Not a number: ``loss == float("inf")``, ``loss != loss``: only a failed run has such a value."""
    if asked.asks_equality and _is_not_finite(asked.right):
        return asked.is_equal
    name = dotted(asked.left)
    same = isinstance(asked.operator, ast.NotEq) and name is not None and name == dotted(asked.right)
    return asked.value if same else None


def _the_end(asked: _Comparison) -> bool | None:
    """The end: ``i + 1 >= len(loader)``: only from the last step on, or (``i < len(loader)``) everywhere else."""
    if not isinstance(asked.operator, (*_UP, *_DOWN)):
        return None
    up = isinstance(asked.operator, _UP)
    if asked.counts(asked.left) and counting.is_end(asked.right):
        return up == asked.value
    if asked.counts(asked.right) and counting.is_end(asked.left) and not counting.is_end(asked.right):
        return (not up) == asked.value
    return None


def _emptiness(asked: _Comparison) -> bool | None:
    """Emptiness: ``len(history) == 0``: at the start, or when something is wrong."""
    is_nothing = isinstance(asked.right, ast.Constant) and asked.right.value == 0
    return asked.is_equal if asked.asks_equality and is_nothing and _is_length(asked.left) else None


def _waiting(asked: _Comparison) -> bool | None:
    """``self.since_last >= self.period``: a count grows until an interval is reached."""
    if not isinstance(asked.operator, (*_UP, *_DOWN)):
        return None
    waits = any(map(means_interval, names_in(asked.right))) and not any(map(means_interval, names_in(asked.left)))
    return asked.value == isinstance(asked.operator, _UP) if waits else None


def _mode(asked: _Comparison) -> bool | None:
    """``mode == "eval"``."""
    other = _other_mode(asked.left, asked.right) if asked.asks_equality else None
    return other == asked.is_equal if other is not None else None


def _one_step(asked: _Comparison) -> bool | None:
    """``step == 100``, ``step in (10, 100)``."""
    if asked.asks_equality:
        return (asked.counts(asked.left) or asked.counts(asked.right)) and asked.is_equal
    if isinstance(asked.operator, (ast.In, ast.NotIn)):
        return asked.counts(asked.left) and asked.value == isinstance(asked.operator, ast.In)
    return None


def _first_steps(asked: _Comparison) -> bool | None:
    """``step < 5``, or that ``step >= args.warmup`` fails."""
    is_limit = isinstance(asked.operator, _DOWN if asked.value else _UP)
    if is_limit and asked.counts(asked.left) and counting.is_early(asked.right):
        return True
    return None if asked.value else False


def _the_clock(asked: _Comparison) -> bool | None:
    """``time.time() - last > 60``."""
    is_order = isinstance(asked.operator, (*_UP, *_DOWN))
    sides = (asked.left, asked.right)
    return True if is_order and any(counting.asks_the_clock(side, asked.definitions) for side in sides) else None


def _a_level(asked: _Comparison) -> bool | None:
    """``args.verbose > 1``."""
    is_limit = isinstance(asked.operator, _UP) and isinstance(asked.right, ast.Constant)
    return True if is_limit and asked.is_told(asked.left) else None


def _the_best(asked: _Comparison) -> bool | None:
    """``loss < best_loss``."""
    return any("best" in name.lower() for side in (asked.left, asked.right) for name in names_in(side))


_ANSWERS: tuple[Callable[[_Comparison], bool | None], ...] = (
    _remainder,
    _not_a_number,
    _the_end,
    _emptiness,
    _waiting,
    _mode,
    _one_step,
    _first_steps,
    _the_clock,
    _a_level,
    _the_best,
)
"""Tried in turn: the first that recognizes the comparison (does not return None) decides whether it is rare."""


def _is_not_finite(node: ast.expr) -> bool:
    """``float("inf")``, ``np.nan``, ``math.inf``: only a failed run has such a value."""
    if isinstance(node, ast.UnaryOp):
        return _is_not_finite(node.operand)
    if isinstance(node, ast.Call) and dotted(node.func) == "float" and node.args:
        given = node.args[0]
        return isinstance(given, ast.Constant) and str(given.value).lower().strip("+-") in ("inf", "infinity", "nan")
    return isinstance(node, ast.Attribute) and node.attr in ("inf", "nan")


def _other_mode(left: ast.expr, right: ast.expr) -> bool | None:
    """Whether ``mode == "eval"`` tests for a mode other than training; None if it does not test a mode."""
    if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
        return None
    if not any(map(means_mode, [*names_in(left), counting.key_of(left) or ""])):
        return None
    asked = right.value.lower()
    if asked.startswith("train"):
        return False
    return True if evaluates(asked) or predicts(asked) else None


def _is_length(node: ast.expr) -> bool:
    is_size = isinstance(node, ast.Attribute) and node.attr == "size"
    return is_size or (isinstance(node, ast.Call) and dotted(node.func) == "len")
