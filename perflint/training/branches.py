"""Tests that make a branch run only occasionally: counters of steps, comparisons and other guards."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from perflint.flow.known_values import Known
from perflint.flow.type_tests import impossible
from perflint.syntax.names import dotted, names_in
from perflint.syntax.scopes import headers
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import (
    asks_to_record,
    asks_to_train,
    evaluates,
    fills_up,
    is_rarely_true,
    means_accumulation,
    means_end,
    means_epoch,
    means_interval,
    means_mode,
    means_settings,
    means_start,
    means_step,
    predicts,
)

if TYPE_CHECKING:
    from perflint.index.kinds import Kind
    from perflint.index.project import FileIndex


# Finds what names and expressions count: steps, epochs, time, and the end of a loop.

_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.monotonic", "time.process_time"}
    | {"timeit.default_timer", "datetime.datetime.now", "datetime.now"}
    | {"time", "perf_counter", "monotonic", "default_timer"}
)
_FEW_STEPS = 100
_REMAINDERS = frozenset({"mod", "fmod", "remainder", "floor_mod"})

Definitions = Mapping[str, ast.expr]
"""Names that are bound once in a scope, with the expression they are bound to."""

NO_NAMES: frozenset[str] = frozenset()
_NOTHING: Definitions = MappingProxyType({})


def counted_by(loop: ast.stmt | None, definitions: Definitions = _NOTHING) -> frozenset[str]:
    """The counter of a loop's own ``enumerate`` or ``range``, if it has one."""
    count = loop_count(loop, written(definitions)) if isinstance(loop, (ast.For, ast.AsyncFor)) else None
    return frozenset({count.id}) if count is not None else NO_NAMES


def loop_count(loop: ast.For | ast.AsyncFor, definitions: Definitions = _NOTHING) -> ast.Name | None:
    """The target that is the counter of an ``enumerate`` or a ``range``, also inside ``tqdm`` and ``zip``.

    Args:
        definitions: the meaning of the name that the loop iterates over: ``bar`` of ``bar = tqdm(enumerate(loader))``.
    """
    iterated: ast.expr = definitions.get(loop.iter.id, loop.iter) if isinstance(loop.iter, ast.Name) else loop.iter
    target: ast.expr = loop.target
    while isinstance(iterated, ast.Call):
        function = (dotted(iterated.func) or "").rpartition(".")[2]
        if function == "tqdm" and iterated.args:
            iterated = iterated.args[0]
        elif function == "zip" and iterated.args and isinstance(target, ast.Tuple):
            iterated, target = iterated.args[0], target.elts[0]
        elif function == "enumerate" and isinstance(target, ast.Tuple):
            return target.elts[0] if isinstance(target.elts[0], ast.Name) else None
        elif function in ("range", "trange", "count"):
            return target if isinstance(target, ast.Name) and _by_one(iterated) else None
        else:
            return None
    return None


def _by_one(counting: ast.Call) -> bool:
    """Whether a ``range`` or ``count`` has step 1: with another one, a test for each tenth step may never be true."""
    position = 1 if (dotted(counting.func) or "").endswith("count") else 2
    if any(isinstance(argument, ast.Starred) for argument in counting.args):
        return False
    given = [*counting.args[position:], *(item.value for item in counting.keywords if item.arg in ("step", None))]
    return all(isinstance(stride, ast.Constant) and stride.value == 1 for stride in given)


def is_end(node: ast.expr) -> bool:
    """Whether an expression is the number of all steps, or of the last one: ``len(loader) - 1``, ``args.max_steps``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        return is_end(node.left)
    if isinstance(node, ast.Call):
        return dotted(node.func) == "len"
    return means_end((dotted(node) or key_of(node) or "").rpartition(".")[2])


def is_early(node: ast.expr) -> bool:
    """Whether a limit ends the first few steps, such as a warm-up: ``5``, ``args.skip_batches``, ``warmup_steps``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value <= _FEW_STEPS
    return means_start((dotted(node) or key_of(node) or "").rpartition(".")[2])


def written(definitions: Definitions) -> Definitions:
    """The definitions in the function itself, without the arguments of its callers, which take long to find."""
    return definitions.own if isinstance(definitions, Known) else definitions


def remainder_of(node: ast.expr, definitions: Definitions) -> ast.BinOp | None:
    """The ``a % b`` that an expression is, or that a name is bound to."""
    name = dotted(node)
    return as_remainder((written(definitions).get(name) if name else None) or node)


def as_remainder(node: ast.expr) -> ast.BinOp | None:
    """``a % b``, and equivalents of it: ``np.mod(a, b)``, ``divmod(a, b)[1]``; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return None if isinstance(node.left, (ast.Constant, ast.JoinedStr)) else node
    wanted = _REMAINDERS
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 1:
        node, wanted = node.value, frozenset({"divmod"})
    if not isinstance(node, ast.Call) or len(node.args) != 2 or isinstance(node.args[0], ast.Starred):
        return None
    if (dotted(node.func) or "").rpartition(".")[2] not in wanted:
        return None
    return ast.BinOp(node.args[0], ast.Mod(), node.args[1])


def spaces_steps(modulo: ast.BinOp, definitions: Definitions) -> bool:
    """Whether ``a % b`` is a real interval of steps: not for 1, a count of epochs, or gradient accumulation.

    Accumulation over a known number of at least 2 steps does count; an unknown number is usually 1.
    """
    every: ast.expr = modulo.right
    name = dotted(every)
    if name and name in definitions:
        every = definitions[name]
    if isinstance(every, ast.Constant):
        return every.value != 1 and not _counts_epochs(modulo.left)
    if any(map(means_accumulation, names_in(modulo.right))):
        return False
    return not _counts_epochs(modulo.left)


def _counts_epochs(node: ast.expr) -> bool:
    names = list(names_in(node))
    return bool(names) and all(means_epoch(name) or name == "self" for name in names)


def counts_steps(node: ast.expr, counters: frozenset[str] = NO_NAMES) -> bool:
    """Whether an expression is computed from a step count, judging by its names."""
    if isinstance(node, ast.Call):
        return False
    called = {item.func for item in walk(node) if isinstance(item, ast.Call)}  # ``perf_counter`` counts no steps
    names = (getattr(item, "id", None) or getattr(item, "attr", None) for item in walk(node) if item not in called)
    return any(name is not None and (name in counters or means_step(name)) for name in names)


def asks_the_clock(node: ast.expr, definitions: Definitions, depth: int = 0) -> bool:
    """Whether an expression is computed from the time of day, also through a name."""
    definitions = written(definitions)
    for item in walk(node):
        if isinstance(item, ast.Call) and dotted(item.func) in _CLOCKS:
            return True
        held = definitions.get(item.id) if isinstance(item, ast.Name) and depth < 3 else None
        if held is not None and asks_the_clock(held, definitions, depth + 1):
            return True
    return False


def key_of(node: ast.expr) -> str | None:
    """The key of a lookup in a configuration: ``cfg["debug"]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    return None


# Recognizes comparisons that are true only on a few steps of a loop: ``step % 100 == 0``, ``i + 1 >= len(loader)``.

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
        return counts_steps(side, self.counters)

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
        remainder = remainder_of(side, asked.definitions)
        if remainder is not None:
            is_due = asked.value != isinstance(asked.operator, (ast.NotEq, ast.Gt))
            return spaces_steps(remainder, asked.definitions) and is_due
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
    if asked.counts(asked.left) and is_end(asked.right):
        return up == asked.value
    if asked.counts(asked.right) and is_end(asked.left) and not is_end(asked.right):
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
    if is_limit and asked.counts(asked.left) and is_early(asked.right):
        return True
    return None if asked.value else False


def _the_clock(asked: _Comparison) -> bool | None:
    """``time.time() - last > 60``."""
    is_order = isinstance(asked.operator, (*_UP, *_DOWN))
    sides = (asked.left, asked.right)
    return True if is_order and any(asks_the_clock(side, asked.definitions) for side in sides) else None


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
    if not any(map(means_mode, [*names_in(left), key_of(left) or ""])):
        return None
    asked = right.value.lower()
    if asked.startswith("train"):
        return False
    return True if evaluates(asked) or predicts(asked) else None


def _is_length(node: ast.expr) -> bool:
    is_size = isinstance(node, ast.Attribute) and node.attr == "size"
    return is_size or (isinstance(node, ast.Call) and dotted(node.func) == "len")


# Guards: tests that make a branch run only occasionally, so that code under them costs little.
#
# ``rare(test, value)`` decides whether ``test`` is ``value`` only on rare steps. A rank check or a configuration flag
# is not a guard: rank 0 still stalls on each step, and the others wait for it.

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IS_THERE = frozenset({"exists", "is_not_none", "not_none"})
_MISSING = frozenset({"isfinite", "exists", "is_file", "isfile"})
"""Tests on something that nearly always exists: what is created when it is missing is created once."""
_DEEPEST = 9
"""How many nested tests, and names of tests, are followed."""


def rare(test: ast.expr, value: bool, definitions: Definitions, counters: frozenset[str] = NO_NAMES) -> bool:
    """Whether ``test`` is ``value`` only on a few steps of a loop.

    Args:
        definitions: names that are bound once, with their values.
        counters: names that count the steps of the loop, whatever their names are.
    """
    return _Guard(definitions, counters).is_rare(test, value, 0)


class _Guard:
    """Decides whether tests are true only on a few steps of one loop."""

    def __init__(self, definitions: Definitions, counters: frozenset[str]) -> None:
        self._definitions = definitions
        self._counters = counters

    def is_rare(self, test: ast.expr, value: bool, depth: int) -> bool:
        """Whether a test is ``value`` only on a few steps; ``depth``: how many tests enclose it."""
        if depth > _DEEPEST:
            return False
        answer = _BY_TYPE.get(type(test), _Guard._other)
        return answer(self, test, value, depth + 1)

    def _bool(self, test: ast.BoolOp, value: bool, depth: int) -> bool:
        every = isinstance(test.op, ast.And) != value
        parts = [self.is_rare(part, value, depth) for part in test.values]
        return all(parts) if every else any(parts)

    def _unary(self, test: ast.UnaryOp, value: bool, depth: int) -> bool:
        return isinstance(test.op, ast.Not) and self.is_rare(test.operand, not value, depth)

    def _named(self, test: ast.NamedExpr, value: bool, depth: int) -> bool:
        return self.is_rare(test.value, value, depth)

    def _compare(self, test: ast.Compare, value: bool, _: int) -> bool:
        known = of_constants(test, self._definitions)
        if known is not None:
            return known != value
        told = _Guard(self._definitions, NO_NAMES)
        return is_rare(
            test, value, self._definitions, self._counters, lambda left: told.is_rare(left, True, _DEEPEST - 1)
        )

    def _choice(self, test: ast.IfExp, value: bool, depth: int) -> bool:
        picks = ((test.body, True), (test.orelse, False))
        return all(self.is_rare(part, value, depth) or self.is_rare(test.test, chosen, depth) for part, chosen in picks)

    def _constant(self, test: ast.Constant, value: bool, _: int) -> bool:
        return bool(test.value) != value

    def _arithmetic(self, test: ast.BinOp, value: bool, _: int) -> bool:
        remainder = as_remainder(test)
        if remainder is not None:
            return not value and spaces_steps(remainder, self._definitions)
        is_mask = isinstance(test.op, ast.BitAnd) and isinstance(test.right, ast.Constant)
        return is_mask and not value and counts_steps(test.left, self._counters)

    def _call(self, test: ast.Call, value: bool, depth: int) -> bool:
        remainder = as_remainder(test)
        if remainder is not None:
            return self._arithmetic(remainder, value, depth)
        called = dotted(test.func) or ""
        answer = self._definitions.get(f"{dotted(test.func)}()")
        if answer is not None:
            return self.is_rare(answer, value, depth)
        if called.rpartition(".")[2] in _IS_THERE and len(test.args) == 1 and not called.endswith("path.exists"):
            return self.is_rare(ast.Compare(test.args[0], [ast.IsNot()], [ast.Constant(None)]), value, depth)
        if called == "bool" and test.args:
            return self.is_rare(test.args[0], value, depth)
        return _rare_call(test, value)

    def _other(self, test: ast.expr, value: bool, depth: int) -> bool:
        """Decide on a name, or a lookup."""
        remainder = as_remainder(test)
        if remainder is not None:
            return self._arithmetic(remainder, value, depth)
        name = dotted(test) or key_of(test)
        if name is None:
            return False
        definition = self._definitions.get(name)
        if isinstance(definition, ast.Constant):
            return bool(definition.value) != value
        if definition is not None:
            if self.is_rare(definition, value, depth):
                return True
            if not isinstance(definition, (ast.Call, ast.Attribute, ast.Subscript, ast.Name)):
                return False  # its value is known, and is not a guard, whatever the name suggests
        last = name.rpartition(".")[2]
        if value:
            return is_rarely_true(last) or _is_told(name, self._definitions)
        return fills_up(last) or asks_to_train(last) or counts_steps(test, self._counters)


_BY_TYPE: dict[type[ast.expr], Callable[..., bool]] = {
    ast.BoolOp: _Guard._bool,
    ast.UnaryOp: _Guard._unary,
    ast.NamedExpr: _Guard._named,
    ast.Compare: _Guard._compare,
    ast.IfExp: _Guard._choice,
    ast.Constant: _Guard._constant,
    ast.BinOp: _Guard._arithmetic,
    ast.Call: _Guard._call,
}


def _is_told(name: str, definitions: Definitions) -> bool:
    """Whether a field says what to do at this step: ``status.save_checkpoint`` from the answer of a scheduler."""
    receiver, _, last = name.rpartition(".")
    if not receiver or means_settings(receiver) or not asks_to_record(last):
        return False
    return isinstance(written(definitions).get(receiver), ast.Call)


def within_expressions(
    node: ast.stmt, definitions: Definitions, kind: Callable[[ast.expr], Kind], file: FileIndex
) -> frozenset[ast.AST]:
    """The parts of a statement's own expressions that conditional expressions run only on a few steps.

    Args:
        node: the statement.
        definitions: what names mean.
        kind: the kinds of expressions there: a number fails a test for a tensor.
        file: the file of the statement.
    """

    def is_off(test: ast.expr, value: bool) -> bool:
        return rare(test, value, definitions) or impossible(test, value, kind, file)

    found: set[ast.AST] = set()
    for header in headers(node):
        for item in walk(header):
            branches: list[ast.expr] = []
            if isinstance(item, ast.IfExp):
                both = ((item.body, True), (item.orelse, False))
                branches = [part for part, value in both if is_off(item.test, value)]
            elif isinstance(item, ast.BoolOp):
                truth = isinstance(item.op, ast.And)
                first = next((at for at, part in enumerate(item.values, 1) if is_off(part, truth)), None)
                branches = item.values[first:] if first is not None else []
            elif isinstance(item, COMPREHENSIONS):
                tests = (test for generator in item.generators for test in generator.ifs)
                if any(is_off(test, True) for test in tests):
                    branches = [item.key, item.value] if isinstance(item, ast.DictComp) else [item.elt]
            for branch in branches:
                found.update(walk(branch))
    return frozenset(found)


def _rare_call(test: ast.Call, value: bool, depth: int = 0) -> bool:
    if depth > _DEEPEST - 1:
        return False
    name = dotted(test.func) or (test.func.attr if isinstance(test.func, ast.Attribute) else "")
    last = name.rpartition(".")[2]
    if last in _MISSING:
        return not value
    if last in ("isnan", "isinf"):
        return value
    asked = _asked_by(test, last)
    if asked is not None:
        return _rare_call(asked, value, depth + 1)
    first = test.args[0] if test.args else None
    if name == "any" and isinstance(first, (ast.Name, ast.Attribute)):
        return not value  # the value does not exist at all
    if last in ("get", "getenv") and isinstance(first, ast.Constant):
        return value and is_rarely_true(str(first.value))
    return value and (is_rarely_true(last) or last == "isEnabledFor")


def _asked_by(test: ast.Call, last: str) -> ast.Call | None:
    """The call whose result a call passes on: ``isnan(x)`` of ``isnan(x).any()``, of ``bool(isnan(x))``."""
    inner = test.func.value if isinstance(test.func, ast.Attribute) else None
    if last in ("any", "all", "item", "numpy", "bool") and isinstance(inner, ast.Call):
        return inner
    first = test.args[0] if test.args else None
    return first if last in ("any", "all", "bool") and isinstance(first, ast.Call) else None
