"""A value that an expression may have, with the path to where it is written, and computations on such values."""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from perflint.flow.calls import CallSite
from perflint.flow.objects import Object, ObjectKind
from perflint.index.project import Place
from perflint.syntax.names import dotted

MOST = 100
"""How many values of one expression are distinguished; with more, it may be anything."""
_MOST_BITS = 64
"""The longest integers that are computed with: ``b = a * a``, ``c = b * b`` and so on would double their digits."""


class ValueOrigin(enum.Enum):
    """One step from an expression to where its value is written.  A literal takes none."""

    NAME = enum.auto()
    """A name is bound to it, in the same function, in an enclosing one or in the module."""
    ARGUMENT = enum.auto()
    """A call passes it as an argument."""
    DEFAULT = enum.auto()
    """It is the default of a parameter that a call leaves out."""
    ATTRIBUTE = enum.auto()
    """It is stored in an attribute of an object, or of a class."""
    ENTRY = enum.auto()
    """It is an entry of a dict."""
    FALLBACK = enum.auto()
    """It is the fallback of a lookup without such an entry: ``config.get("amp", False)``."""
    OPTION = enum.auto()
    """It is the default of an option of the command line."""
    SETTING = enum.auto()
    """It is set by rows of configuration files, which ``Value.settings`` names."""
    IMPORTED = enum.auto()
    """It is a constant of another module."""
    UNKNOWN = enum.auto()
    """From here on it may be something else: unseen code may call, store or look up other values."""


class OriginStep(NamedTuple):
    """One step: ``name`` is the name of the parameter, option, attribute, key or constant.

    ``site``: the call that passes an argument or leaves a default, and the ``function`` that it calls.
    """

    origin: ValueOrigin
    name: str
    site: CallSite | None = None
    function: Place | None = None


class Special(enum.Enum):
    """Markers that are not values."""

    UNKNOWN = enum.auto()
    LEFT_OUT = enum.auto()
    """The value of a parameter that a call does not name."""


class Setter(enum.IntEnum):
    """Who decides on a value."""

    NOBODY = 0
    """The code: it is written there."""
    CALLERS = 1
    """The callers of a function: they could pass something else for a parameter."""
    USER = 2
    """The user: it is an option, an entry of a configuration, or unknown."""


_SET_BY_THE_USER = frozenset({ValueOrigin.OPTION, ValueOrigin.SETTING, ValueOrigin.FALLBACK, ValueOrigin.UNKNOWN})
_SET_BY_CALLERS = frozenset({ValueOrigin.ARGUMENT, ValueOrigin.DEFAULT})


@dataclass(frozen=True)
class Value:
    """A value that an expression may have: a constant, an ``Object``, or a ``Special`` one.

    ``node`` is the literal, at ``place``; ``steps`` lead there from the expression. ``settings``: the path and row of
    each line of a configuration file that gives it.
    """

    value: Any
    node: ast.expr | None = None
    place: Place | None = None
    steps: tuple[OriginStep, ...] = ()
    settings: tuple[tuple[str, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a number, a string, None, or a tuple of these."""
        return not isinstance(self.value, (Special, Object))

    @property
    def is_known(self) -> bool:
        """Whether it is a constant, and no unseen code may change it."""
        return self.is_constant and all(step.origin is not ValueOrigin.UNKNOWN for step in self.steps)

    @property
    def calls(self) -> tuple[CallSite, ...]:
        """The calls on the path to it, from the inside out."""
        return tuple(step.site for step in self.steps if step.site is not None)

    @property
    def setter(self) -> Setter:
        """Who could change it."""
        origins = {step.origin for step in self.steps}
        if self.value is Special.UNKNOWN or not origins.isdisjoint(_SET_BY_THE_USER):
            return Setter.USER
        return Setter.NOBODY if origins.isdisjoint(_SET_BY_CALLERS) else Setter.CALLERS


class Want(enum.Enum):
    """Which of the three questions is answered."""

    POSSIBLE = enum.auto()
    CERTAIN = enum.auto()
    """Stop at the first doubt: another value, or an unseen caller."""
    DEFAULT = enum.auto()
    """The single value, if every call with unknown arguments leaves the parameters at their defaults."""


Found = tuple[Value, ...]
OPEN: Found = (Value(Special.UNKNOWN),)
OPERATORS: dict[type[ast.cmpop | ast.operator], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str | None, Callable[..., Any]] = {
    "bool": bool,
    "int": int,
    "str": str,
    "round": round,
    "max": max,
    "min": min,
    "abs": abs,
}


def joined(values: Iterable[Value], want: Want) -> Found:
    """The values from several paths that lead to one place."""
    found: dict[Value, None] = {}
    for value in values:
        is_clear = value.is_known if want is Want.CERTAIN else value.value is not Special.UNKNOWN
        if want is not Want.POSSIBLE and not (is_clear and all(_same(value, other) for other in found)):
            return OPEN
        if len(found) == MOST:
            return (*found, *OPEN)
        if want is Want.POSSIBLE or not found:
            found[value] = None
    return tuple(found)


def _same(one: Value, other: Value) -> bool:
    return type(one.value) is type(other.value) and bool(one.value == other.value)


def after(values: Iterable[Value], *steps: OriginStep) -> Found:
    """The values at the end of some steps, without those whose path passes twice through one call."""
    sites = {step.site for step in steps if step.site is not None}
    return tuple(
        value if value.value is Special.UNKNOWN else replace(value, steps=_once(*steps, *value.steps))
        for value in values
        if not sites or sites.isdisjoint(value.calls)
    )


def _once(*steps: OriginStep) -> tuple[OriginStep, ...]:
    """Each step once: those of ``b = a + a``, ``c = b + b`` and so on would double each time."""
    return tuple(dict.fromkeys(steps))


def is_kind(value: Value, kind: ObjectKind) -> bool:
    """Whether a value is an object of this kind."""
    return isinstance(value.value, Object) and value.value.kind is kind


def parsed(parser: Value) -> Value:
    """The result of ``parse_args`` of a parser."""
    if not is_kind(parser, ObjectKind.PARSER):
        return OPEN[0]
    return replace(parser, value=replace(parser.value, kind=ObjectKind.NAMESPACE))


Compute = Callable[[tuple[Value, ...]], Value]


def computing(node: ast.expr) -> tuple[list[ast.expr], Compute] | None:
    """The operands of an expression and the function to compute it; None if unknown."""
    if isinstance(node, ast.BoolOp):
        return node.values, _all if isinstance(node.op, ast.And) else _any
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return [node.operand], partial(applied, operator.not_ if isinstance(node.op, ast.Not) else operator.neg)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [node.left, node.comparators[0]], partial(applied, OPERATORS[type(node.ops[0])])
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return [node.left, node.right], partial(_of_numbers, OPERATORS[type(node.op)])
    if isinstance(node, ast.Call) and dotted(node.func) in _FUNCTIONS and node.args and not node.keywords:
        return node.args, partial(applied, _FUNCTIONS[dotted(node.func)])
    return None


def _of_numbers(function: Callable[..., Any], given: tuple[Value, ...]) -> Value:
    is_small = all(isinstance(each.value, (int, float)) and not _is_huge(each.value) for each in given)
    if is_small and function is operator.pow:  # it is the only one whose result may be far longer than its operands
        is_small = abs(given[1].value) <= _MOST_BITS
    return applied(function, given) if is_small else OPEN[0]


def _is_huge(number: float) -> bool:
    return isinstance(number, int) and number.bit_length() > _MOST_BITS


def applied(function: Callable[..., Any], given: tuple[Value, ...]) -> Value:
    """The result of a function for some values; for a single value, it keeps the place where that is written."""
    constants = [each if each.is_constant else _listed(each) for each in given]
    if not all(each.is_constant for each in constants):
        return OPEN[0]
    try:
        result = function(*(each.value for each in constants))
    except (ArithmeticError, ValueError, TypeError):
        return OPEN[0]
    written = given[0] if len(given) == 1 else Value(result)
    return replace(written, value=result, steps=_once(*chain.from_iterable(each.steps for each in given)))


def _listed(value: Value) -> Value:
    """A list of constants, as a tuple of these."""
    if not is_kind(value, ObjectKind.LIST):
        return value
    items: list[ast.expr] = value.value.node.elts
    constants = [item.value for item in items if isinstance(item, ast.Constant)]
    return replace(value, value=tuple(constants)) if len(constants) == len(items) else value


def _all(parts: tuple[Value, ...]) -> Value:
    """``a and b``: the operand that is false and cannot be changed, if there is one."""
    false = [part for part in parts if part.is_constant and not part.value]
    unknown = [part for part in parts if not part.is_constant]
    if false and unknown:
        false = [replace(part, value=False) for part in false]  # which one of them it is, is unknown
    return min(false, key=lambda part: part.setter) if false else (unknown or parts)[-1]


def _any(parts: tuple[Value, ...]) -> Value:
    """``a or b``: the operand that is true, if there is one; otherwise the one that can be changed most easily."""
    true = [part for part in parts if part.is_constant and part.value]
    unknown = [part for part in parts if not part.is_constant]
    if true and unknown:
        return replace(true[0], value=True)
    return (true or unknown or [max(parts, key=lambda part: part.setter)])[0]
