"""How often a test comes out one way: at each step, every n steps, once, or never.

A rank test or a setting makes nothing rare: rank 0 still stalls on each step, and the others wait for it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perflint.flow.branches import EACH_STEP, Every, Often
from perflint.flow.constant_values import OPERATORS
from perflint.flow.type_tests import impossible
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.syntax.bindings import bound_by, bound_in, targets_of
from perflint.syntax.names import dotted, dotted_names, names_in, plain_names, stored_names
from perflint.syntax.parameters import is_none
from perflint.syntax.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    LOOPS,
    Link,
    Loop,
    Scope,
    headers,
    required_parts,
    terminal,
)
from perflint.syntax.tree import alike, string_of, walk
from perflint.syntax.vocabulary import (
    asks_to_record,
    asks_to_train,
    evaluates,
    fills_up,
    is_rarely_true,
    means_epoch,
    means_interval,
    means_mode,
    means_settings,
    predicts,
)
from perflint.training.counting import (
    NO_NAMES,
    Definitions,
    as_remainder,
    asks_the_clock,
    counts_steps,
    is_early,
    is_end,
    key_of,
    remainder_of,
    spaces_steps,
    written,
)

if TYPE_CHECKING:
    from perflint.index.kinds import Kind
    from perflint.index.project import FileIndex

_IS_THERE = frozenset({"exists", "is_not_none", "not_none"})
_MISSING = frozenset({"isfinite", "exists", "is_file", "isfile"})
"""Tests on something that nearly always exists: what is created when it is missing is created once."""
_DEEPEST = 9
"""How many nested tests, and names of tests, are followed."""


def often(test: ast.expr, value: bool, definitions: Definitions, counters: frozenset[str] = NO_NAMES) -> Every:
    """On which steps of a loop a test is ``value``.

    Args:
        definitions: names that are bound once, with their values.
        counters: names that count the steps of the loop, whatever their names are.
    """
    return _Asked(definitions, counters).often(test, value)


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
        return often(test, value, definitions).is_rare or impossible(test, value, kind, file)

    found: set[ast.AST] = set()
    for item in (item for header in headers(node) for item in walk(header)):
        branches: list[ast.expr] = []
        if isinstance(item, ast.IfExp):
            branches = [part for part, value in ((item.body, True), (item.orelse, False)) if is_off(item.test, value)]
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


@dataclass(frozen=True)
class _Asked:
    """What the names in a test mean. ``left``: how many more tests inside tests, and names of tests, are followed."""

    definitions: Definitions
    counters: frozenset[str]
    left: int = _DEEPEST

    def counts(self, side: ast.expr) -> bool:
        """Whether an expression is computed from a step count."""
        return counts_steps(side, self.counters)

    def often(self, test: ast.expr, value: bool) -> Every:
        """How often a test is ``value``."""
        if self.left < 0:
            return EACH_STEP
        return _BY_TYPE.get(type(test), _Asked._name)(replace(self, left=self.left - 1), test, value)

    def _bool(self, test: ast.BoolOp, value: bool) -> Every:
        parts = [self.often(part, value) for part in test.values]
        rare = [part for part in parts if part.is_rare]
        if isinstance(test.op, ast.And) == value:  # all have to be true: the rarest one decides
            return min(rare, key=_regularity, default=EACH_STEP)
        return max(rare, key=_regularity) if len(rare) == len(parts) else EACH_STEP

    def _unary(self, test: ast.UnaryOp, value: bool) -> Every:
        return self.often(test.operand, not value) if isinstance(test.op, ast.Not) else EACH_STEP

    def _named(self, test: ast.NamedExpr, value: bool) -> Every:
        return self.often(test.value, value)

    def _compare(self, test: ast.Compare, value: bool) -> Every:
        known = _of_constants(test, self.definitions)
        if known is not None:
            return _constantly(known, value, test)
        if len(test.ops) != 1:
            return EACH_STEP
        asked = _Comparison(test.left, test.ops[0], test.comparators[0], value, self)
        answers = ((answer(asked), how) for answer, how in _ANSWERS)
        holds, how = next(((holds, how) for holds, how in answers if holds is not None), (False, Often.EACH_STEP))
        if not holds:
            return EACH_STEP
        numbers = spacing(test, self.definitions)
        return Every(Often.EVERY_N, test, numbers) if numbers else Every(how, test)

    def _choice(self, test: ast.IfExp, value: bool) -> Every:
        picks = ((test.body, True), (test.orelse, False))
        is_rare = all(
            self.often(part, value).is_rare or self.often(test.test, chosen).is_rare for part, chosen in picks
        )
        return Every(Often.ONCE, test) if is_rare else EACH_STEP

    def _constant(self, test: ast.Constant, value: bool) -> Every:
        return _constantly(bool(test.value), value, test)

    def _arithmetic(self, test: ast.BinOp, value: bool) -> Every:
        remainder = as_remainder(test)
        if remainder is not None:
            is_rare = not value and spaces_steps(remainder, self.definitions, self.counters)
            return Every(Often.EVERY_N, test, (remainder.right,)) if is_rare else EACH_STEP
        is_mask = isinstance(test.op, ast.BitAnd) and isinstance(test.right, ast.Constant)
        return Every(Often.EVERY_N, test) if is_mask and not value and self.counts(test.left) else EACH_STEP

    def _call(self, test: ast.Call, value: bool) -> Every:
        remainder = as_remainder(test)
        if remainder is not None:
            return self._arithmetic(remainder, value)
        called = dotted(test.func) or ""
        answer = self.definitions.get(f"{dotted(test.func)}()")
        if answer is not None:
            return self.often(answer, value)
        if called.rpartition(".")[2] in _IS_THERE and len(test.args) == 1 and not called.endswith("path.exists"):
            return self.often(ast.Compare(test.args[0], [ast.IsNot()], [ast.Constant(None)]), value)
        if called == "bool" and test.args:
            return self.often(test.args[0], value)
        return Every(Often.ONCE, test) if _is_rare_call(test, value) else EACH_STEP

    def _name(self, test: ast.expr, value: bool) -> Every:
        """Decide on a name, or a lookup."""
        remainder = as_remainder(test)
        if remainder is not None:
            return self._arithmetic(remainder, value)
        name = dotted(test) or key_of(test)
        if name is None:
            return EACH_STEP
        definition = self.definitions.get(name)
        if isinstance(definition, ast.Constant):
            return _constantly(bool(definition.value), value, test)
        if definition is not None:
            found = self.often(definition, value)
            # If its value is known and is not rare, it is no guard, whatever the name suggests.
            if found.is_rare or not isinstance(definition, (ast.Call, ast.Attribute, ast.Subscript, ast.Name)):
                return found
        last = name.rpartition(".")[2]
        if value:
            is_rare = is_rarely_true(last) or _is_told(name, self.definitions)
        else:
            is_rare = fills_up(last) or asks_to_train(last) or self.counts(test)
        return Every(Often.ONCE, test) if is_rare else EACH_STEP


_BY_TYPE: dict[type[ast.expr], Callable[..., Every]] = {
    ast.BoolOp: _Asked._bool,
    ast.UnaryOp: _Asked._unary,
    ast.NamedExpr: _Asked._named,
    ast.Compare: _Asked._compare,
    ast.IfExp: _Asked._choice,
    ast.Constant: _Asked._constant,
    ast.BinOp: _Asked._arithmetic,
    ast.Call: _Asked._call,
}


def _regularity(part: Every) -> bool:
    return part.is_regular


def _constantly(known: bool, value: bool, test: ast.expr) -> Every:
    return EACH_STEP if known == value else Every(Often.NEVER, test)


def spacing(test: ast.expr, definitions: Definitions) -> tuple[ast.expr, ...]:
    """The number in ``step % n == 0``, ``due != step // n``, ``waited >= self.interval``, if there is one."""
    sides = sides_of(test) if isinstance(test, ast.Compare) else [test]
    for side in sides:
        remainder = remainder_of(side, definitions) or as_remainder(side)
        held = written(definitions).get(dotted(side) or "") or side
        if remainder is not None:
            return (remainder.right,)
        if isinstance(held, ast.BinOp) and isinstance(held.op, ast.FloorDiv):
            return (held.right,)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (*_UP, *_DOWN)):
        right = test.comparators[0]
        if isinstance(right, (ast.Name, ast.Attribute)) and any(map(means_interval, names_in(right))):
            return (right,)
    return ()


def compares_results(test: ast.expr, counters: frozenset[str]) -> bool:
    """Whether a test may depend on a result, even if nothing shows that it is rare: ``accuracy > highest``."""
    return any(
        isinstance(item, ast.Compare)
        and isinstance(item.ops[0], ORDER)
        and not any(isinstance(side, ast.Constant) or counts_steps(side, counters) for side in sides_of(item))
        for item in walk(test)
    )


def sides_of(test: ast.Compare) -> list[ast.expr]:
    """What a comparison compares."""
    return [test.left, *test.comparators]


def _is_told(name: str, definitions: Definitions) -> bool:
    """Whether a field says what to do at this step: ``status.save_checkpoint`` from the answer of a scheduler."""
    receiver, _, last = name.rpartition(".")
    if not receiver or means_settings(receiver) or not asks_to_record(last):
        return False
    return isinstance(written(definitions).get(receiver), ast.Call)


def _is_rare_call(test: ast.Call, value: bool) -> bool:
    while True:
        name = dotted(test.func) or (test.func.attr if isinstance(test.func, ast.Attribute) else "")
        last = name.rpartition(".")[2]
        if last in _MISSING:
            return not value
        if last in ("isnan", "isinf"):
            return value
        asked = _asked_by(test, last)
        if asked is None:
            break
        test = asked
    first = test.args[0] if test.args else None
    if name == "any" and isinstance(first, (ast.Name, ast.Attribute)):
        return not value  # the value does not exist at all
    if last in ("get", "getenv") and isinstance(first, ast.Constant):
        return value and is_rarely_true(str(first.value))
    return value and (is_rarely_true(last) or last == "isEnabledFor")


def _asked_by(test: ast.Call, last: str) -> ast.Call | None:
    """The call whose result a call passes on: ``isnan(x)`` of ``isnan(x).any()``, of ``bool(isnan(x))``."""
    inner = test.func.value if isinstance(test.func, ast.Attribute) else None
    if last in {"any", "all", "bool"} | READ_METHODS and isinstance(inner, ast.Call):
        return inner
    first = test.args[0] if test.args else None
    return first if last in ("any", "all", "bool") and isinstance(first, ast.Call) else None


# Recognizes comparisons that are true only on a few steps of a loop: ``step % 100 == 0``, ``i + 1 >= len(loader)``.

_EQUALITY = (ast.Eq, ast.NotEq)
_UP = (ast.Gt, ast.GtE)
_DOWN = (ast.Lt, ast.LtE)
ORDER = (*_UP, *_DOWN)


def _of_constants(test: ast.Compare, definitions: Definitions) -> bool | None:
    """What ``flag is True``, ``mode == "train"`` or ``x is not None`` is if the name is a known constant."""
    name, right, operator = dotted(test.left), test.comparators[0], test.ops[0]
    if len(test.ops) != 1 or name is None or not isinstance(right, ast.Constant):
        return None
    is_grown = "." in name  # what an object stores may have grown since
    order = OPERATORS[type(operator)] if isinstance(operator, ORDER) and not is_grown else None
    if order is None and not isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return None
    left = definitions.get(name)  # last, because it may have to search all calls of a function
    if not isinstance(left, ast.Constant):
        return None
    if order is not None:
        if isinstance(left.value, (int, float)) and isinstance(right.value, (int, float)):
            return bool(order(left.value, right.value))
        return None
    same = left.value == right.value and type(left.value) is type(right.value)
    return same == isinstance(operator, (ast.Is, ast.Eq))


@dataclass(frozen=True)
class _Comparison:
    """One comparison and a truth value, to find on how many steps the comparison has this value."""

    left: ast.expr
    operator: ast.cmpop
    right: ast.expr
    value: bool
    asked: _Asked

    @property
    def is_equal(self) -> bool:
        """Whether the sides are equal if the comparison has that value; only for ``==`` and ``!=``."""
        return self.value == isinstance(self.operator, ast.Eq)

    @property
    def asks_equality(self) -> bool:
        """Whether the sides are compared for equality."""
        return isinstance(self.operator, _EQUALITY)

    @property
    def asks_order(self) -> bool:
        """Whether the sides are compared by size."""
        return isinstance(self.operator, ORDER)

    @property
    def is_up(self) -> bool:
        """Whether the left side is the greater one if the comparison has that value."""
        return self.value == isinstance(self.operator, _UP)


def _remainder(asked: _Comparison) -> bool | None:
    """A remainder: ``step % 100 == 0``."""
    definitions = asked.asked.definitions
    remainders = (remainder_of(side, definitions) for side in (asked.left, asked.right))
    remainder = next((each for each in remainders if each is not None), None)
    if remainder is None:
        return None
    is_due = asked.value != isinstance(asked.operator, (ast.NotEq, ast.Gt))
    return spaces_steps(remainder, definitions, asked.asked.counters) and is_due


def _not_a_number(asked: _Comparison) -> bool | None:
    """Not a number: ``loss == float("inf")``, ``loss != loss``: only a failed run has such a value."""
    if asked.asks_equality and _is_not_finite(asked.right):
        return asked.is_equal
    name = dotted(asked.left)
    same = isinstance(asked.operator, ast.NotEq) and name is not None and name == dotted(asked.right)
    return asked.value if same else None


def _the_end(asked: _Comparison) -> bool | None:
    """The end: ``i + 1 >= len(loader)``: only from the last step on, or (``i < len(loader)``) everywhere else."""
    counts = asked.asked.counts
    if not asked.asks_order:
        return None
    if counts(asked.left) and is_end(asked.right):
        return asked.is_up
    if counts(asked.right) and is_end(asked.left) and not is_end(asked.right):
        return not asked.is_up
    return None


def _emptiness(asked: _Comparison) -> bool | None:
    """Emptiness: ``len(history) == 0``: at the start, or when something is wrong."""
    is_nothing = isinstance(asked.right, ast.Constant) and asked.right.value == 0
    return asked.is_equal if asked.asks_equality and is_nothing and _is_length(asked.left) else None


def _waiting(asked: _Comparison) -> bool | None:
    """``self.since_last >= self.period``: a count grows until an interval is reached."""
    waits = any(map(means_interval, names_in(asked.right))) and not any(map(means_interval, names_in(asked.left)))
    return asked.is_up if asked.asks_order and waits else None


def _mode(asked: _Comparison) -> bool | None:
    """``mode == "eval"``."""
    other = _other_mode(asked.left, asked.right) if asked.asks_equality else None
    return other == asked.is_equal if other is not None else None


def _one_step(asked: _Comparison) -> bool | None:
    """``step == 100``, ``step in (10, 100)``."""
    counts = asked.asked.counts
    if asked.asks_equality:
        return (counts(asked.left) or counts(asked.right)) and asked.is_equal
    if isinstance(asked.operator, (ast.In, ast.NotIn)):
        return counts(asked.left) and asked.value == isinstance(asked.operator, ast.In)
    return None


def _first_steps(asked: _Comparison) -> bool | None:
    """``step < 5``, or that ``step >= args.warmup`` fails."""
    is_limit = isinstance(asked.operator, _DOWN if asked.value else _UP)
    if is_limit and asked.asked.counts(asked.left) and is_early(asked.right):
        return True
    return None if asked.value else False


def _the_clock(asked: _Comparison) -> bool | None:
    """``time.time() - last > 60``."""
    is_timed = any(asks_the_clock(side, asked.asked.definitions) for side in (asked.left, asked.right))
    return True if asked.asks_order and is_timed else None


def _a_level(asked: _Comparison) -> bool | None:
    """``args.verbose > 1``."""
    is_limit = isinstance(asked.operator, _UP) and isinstance(asked.right, ast.Constant)
    level = _Asked(asked.asked.definitions, NO_NAMES, 1)
    return True if is_limit and level.often(asked.left, True).is_rare else None


def _a_change(asked: _Comparison) -> bool | None:
    """``before != self.ratio`` after ``before = self.ratio``: whether what comes between them has changed it."""
    before = asked.asked.definitions.get(dotted(asked.left) or "")
    is_kept = isinstance(before, ast.Attribute) and alike(before, asked.right)
    return not asked.is_equal if asked.asks_equality and is_kept else None


def _the_best(asked: _Comparison) -> bool | None:
    """``loss < best_loss``."""
    return any("best" in name.lower() for side in (asked.left, asked.right) for name in names_in(side))


_ANSWERS: tuple[tuple[Callable[[_Comparison], bool | None], Often], ...] = (
    (_remainder, Often.EVERY_N),
    (_not_a_number, Often.ONCE),
    (_the_end, Often.EACH_EPOCH),
    (_emptiness, Often.ONCE),
    (_waiting, Often.EVERY_N),
    (_mode, Often.NEVER),
    (_a_change, Often.ONCE),
    (_one_step, Often.ONCE),
    (_first_steps, Often.ONCE),
    (_the_clock, Often.EVERY_N),
    (_a_level, Often.NEVER),
    (_the_best, Often.ONCE),
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


# Recognizes tests that select one iteration of a loop: in ``for i in range(n):``, ``if i == 3:`` is true only once.

_NAMED = frozenset({"items", "named_parameters", "named_children", "named_sublayers", "named_buffers"})
"""Methods that yield pairs with unique names."""


def selects_one_iteration(link: Link) -> bool:
    """Whether one link of a chain of places is a test that is true in at most one iteration of its innermost loop."""
    node, loop = link.node, link.loop
    if not isinstance(node, ast.If) or not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    return _selects_one(node.test, link.branch == "body", loop.target, loop.iter, loop.body)


def filters_select_one(generator: ast.comprehension) -> bool:
    """Whether the ``if`` of a comprehension is true in at most one iteration: ``x[i] for i in range(n) if i == 3``."""
    return any(_selects_one(test, True, generator.target, generator.iter, []) for test in generator.ifs)


def repeating_loops(place: Link | None) -> Iterator[Loop]:
    """The loops that repeat a place, from the inside out, without those of which a test selects one iteration."""
    chosen: list[ast.stmt] = []
    for link in place.chain() if place is not None else ():
        if link.loop is not None and selects_one_iteration(link):
            chosen.append(link.loop)
        if link.branch == "body" and isinstance(link.node, LOOPS) and link.node not in chosen:
            yield link.node


def _selects_one(test: ast.expr, value: bool, target: ast.expr, iterated: ast.expr, body: list[ast.stmt]) -> bool:
    for part, truth in required_parts(test, value):
        if not isinstance(part, ast.Compare) or not isinstance(part.ops[0], ast.Eq if truth else ast.NotEq):
            continue
        if len(part.ops) != 1 or not (names := _different_names(target, iterated)) or (bound := bound_in(body)) & names:
            continue
        bound |= plain_names(target)
        sides = (part.left, part.comparators[0])
        pairs = (sides, sides[::-1])
        if any(isinstance(one, ast.Name) and one.id in names and _is_fixed(other, bound) for one, other in pairs):
            return True
    return False


def _is_fixed(node: ast.expr, bound: set[str]) -> bool:
    """Whether a value is the same in all iterations: a constant, or a name that the loop does not bind."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    name = dotted(node)
    return isinstance(node, ast.Constant) or (name is not None and name.partition(".")[0] not in bound)


def _different_names(target: ast.expr, iterated: ast.expr) -> frozenset[str]:
    """Names with a different value in each iteration: ``i`` over a ``range``, the name of a parameter."""
    function = terminal(iterated) if isinstance(iterated, ast.Call) else None
    if not isinstance(iterated, ast.Call):
        return NO_NAMES
    if function == "tqdm" and iterated.args:
        return _different_names(target, iterated.args[0])
    if function in ("range", "trange"):
        return _plain(target)
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    if pair is None:
        return NO_NAMES
    if function == "enumerate" and iterated.args:
        return _plain(pair[0]) | _different_names(pair[1], iterated.args[0])
    return _plain(pair[0]) if function in _NAMED else NO_NAMES


def _plain(target: ast.expr) -> frozenset[str]:
    return frozenset({target.id}) if isinstance(target, ast.Name) else NO_NAMES


# Recognizes tests that their own branch turns off: ``if not self.warned: self.warned = True; warn()`` runs once.
#
# Change detectors (``if epoch != i // n: epoch = i // n``) and moving thresholds (``if i >= due: due += 100``) count
# too.


class Branch:
    """A branch (``block``), and which names keep the value that it gives them until the next step.

    ``loop`` is the step loop; without one, the scope is a function that is called at each step.
    """

    def __init__(self, loop: ast.stmt | None, scope: Scope, block: list[ast.stmt], definitions: Definitions) -> None:
        self._loop = loop if isinstance(loop, LOOPS) else None
        self._scope = scope
        self._block = block
        self._definitions = definitions
        self._around = self._loop.body if self._loop is not None else scope.node.body

    def turns_off(self, test: ast.expr, value: bool) -> bool:
        """Whether the branch, which runs when a test is ``value``, changes that."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.turns_off(test.operand, not value)
        if isinstance(test, ast.BoolOp):
            enough = any if isinstance(test.op, ast.And) == value else all
            known = self._definitions
            return enough(self.turns_off(part, value) or often(part, value, known).is_rare for part in test.values)
        if isinstance(test, ast.Call) and dotted(test.func) == "hasattr":
            name = dotted(_looked_up(test))
            return name is not None and not value and any(self._assigned(name)) and self._keeps(name)
        test = _looked_up(test)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, operator, right = _looked_up(test.left), test.ops[0], test.comparators[0]
            if isinstance(operator, (ast.In, ast.NotIn)):
                return value == isinstance(operator, ast.NotIn) and self._notes(left, right)
            if isinstance(operator, (ast.Is, ast.IsNot)) and is_none(right) and self._sets(left):
                return value == isinstance(operator, ast.Is)
            is_changed = isinstance(operator, ast.NotEq if value else ast.Eq)
            is_limit = isinstance(operator, (*ORDER, ast.Eq))
            for one, other in ((left, right), (right, left)):
                if is_changed and self._is_slow(other, self._definitions) and self._follows(one, other):
                    return True
                if is_limit and dotted(other) and not counts_steps(other) and self._follows(one, other):
                    return True  # the best so far, whatever its name
                if is_limit and value and self._starts_over(one, other):
                    return True
            if is_limit and value and self._catches_up(test):
                return True
        return any(
            self._keeps(name) and often(test, value, {name: bound}).is_rare
            for name, bound in self._constants()
            if name in dotted_names(test) and not often(test, value, {}).is_rare
        )

    def _keeps(self, name: str) -> bool:
        """Whether no other statement of a step resets the name; ``+= 1`` continues a count, so it is allowed."""
        first, _, rest = name.partition(".")
        if not self._is_outer(first, bool(rest)):
            return False
        if first == "self" and self._scope.owner is not None:
            stored = self._scope.owner.attributes.get(rest, [])
            if any(where is not self._scope and where.name != "__init__" for _, where in stored):
                return False
        return _times_bound(self._around, name) == _times_bound(self._block, name)

    def _is_shared(self, name: str) -> bool:
        """Whether a name refers to the same object at each step."""
        first = name.partition(".")[0]
        return first not in self._targets() and not any(_times_bound(self._around, part) for part in (name, first))

    def _is_outer(self, first: str, is_attribute: bool) -> bool:
        """Whether a name is bound outside the code of a step: before the loop, in the object, in the module."""
        if first in self._targets() or (is_attribute and _times_bound(self._around, first)):
            return False
        if self._loop is not None or first == "self":
            return True
        said = (item.node for item in self._scope.statements if isinstance(item.node, (ast.Global, ast.Nonlocal)))
        return any(first in node.names for node in said) or (is_attribute and first not in self._scope.parameters)

    def _targets(self) -> set[str]:
        return plain_names(self._loop.target) if isinstance(self._loop, (ast.For, ast.AsyncFor)) else set()

    def _assigned(self, name: str) -> Iterator[ast.expr]:
        """What the statements of the branch itself bind a name to."""
        for node in self._block:
            if isinstance(node, ast.Assign) and name in map(dotted, node.targets):
                yield node.value

    def _constants(self) -> Iterator[tuple[str, ast.Constant]]:
        """The constants that the statements of the branch bind names to; a created object counts as not None."""
        for node in self._block:
            if not isinstance(node, ast.Assign):
                continue
            for name in filter(None, map(dotted, node.targets)):
                if isinstance(node.value, ast.Constant):
                    yield name, node.value
                elif isinstance(node.value, (ast.Call, ast.List, ast.Dict)):
                    yield name, ast.Constant(True)

    def _sets(self, known: ast.expr) -> bool:
        """Whether the branch of ``first is None`` gives the name a value, so that it runs once: ``first = loss``."""
        name = dotted(known)
        values = list(self._assigned(name)) if name is not None else []
        return name is not None and bool(values) and not any(map(is_none, values)) and self._keeps(name)

    def _notes(self, item: ast.expr, seen: ast.expr) -> bool:
        """Whether ``item not in seen`` is followed by ``seen.add(item)`` or ``seen[item] = ...``."""
        name = dotted(seen)
        if name is None or not self._is_shared(name):
            return False
        for node in self._block:
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and dotted(call.func) in (f"{name}.add", f"{name}.append"):
                return len(call.args) == 1 and alike(call.args[0], item)
            added = node.value if isinstance(node, ast.AugAssign) and dotted(node.target) == name else None
            if isinstance(added, (ast.Set, ast.List)):
                return any(alike(each, item) for each in added.elts)
            for target in targets_of(node):
                if isinstance(target, ast.Subscript) and dotted(target.value) == name and alike(target.slice, item):
                    return True
        return False

    def _follows(self, known: ast.expr, value: ast.expr) -> bool:
        """Whether the branch of ``known != value`` or ``value > known`` contains ``known = value``."""
        name = dotted(known)
        return name is not None and self._keeps(name) and any(alike(each, value) for each in self._assigned(name))

    def _is_slow(self, value: ast.expr, definitions: Definitions) -> bool:
        """Whether a value stays the same for many steps: ``step // n``, the number of the epoch, what no step binds."""
        name = dotted(value)
        if isinstance(value, ast.Name) and self._loop is not None and value.id not in stored_names(self._loop):
            return True
        held = definitions.get(name) if name is not None else None
        if held is not None and self._is_slow(held, {}):
            return True
        if isinstance(value, ast.Call) and dotted(value.func) == "int" and value.args:
            return isinstance(value.args[0], ast.BinOp) and isinstance(value.args[0].op, ast.Div)
        if isinstance(value, ast.BinOp):
            if isinstance(value.op, (ast.Add, ast.Sub)):
                return self._is_slow(value.left, definitions) or self._is_slow(value.right, definitions)
            return isinstance(value.op, ast.FloorDiv)
        return name is not None and means_epoch(name.rpartition(".")[2])

    def _starts_over(self, side: ast.expr, other: ast.expr) -> bool:
        """Whether a branch at a limit resets the count that has reached it, or moves the limit.

        ``if seen >= n: seen = 0``, ``if step >= due: due += n``, ``if len(losses) == n: losses.clear()``.
        """
        counted = side.args[0] if isinstance(side, ast.Call) and dotted(side.func) == "len" and side.args else side
        name = dotted(counted)
        if name is None:
            return False
        if counted is not side:
            return any(_empties(node, name) for node in self._block)
        return any(_sets_back(node, name, other) for node in self._block) and self._keeps(name)

    def _catches_up(self, test: ast.Compare) -> bool:
        """Whether a branch records where it last ran, and runs again only well beyond that.

        ``if step - last >= n: last = step``, ``if step // n >= due: due += 1``, also in a ``while`` with the same test.
        """
        loops = (node for node in self._block if isinstance(node, ast.While) and alike(node.test, test))
        inner = [part for node in loops for part in node.body]
        left, right = test.left, test.comparators[0]
        for node in [*self._block, *inner]:
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                name = dotted(node.target)
                if name is not None and name == dotted(right) and self._is_slow(left, {}) and self._keeps(name):
                    return True
            if isinstance(node, ast.Assign) and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub):
                name = dotted(left.right)
                if name in map(dotted, node.targets) and alike(node.value, left.left):
                    return name is not None and self._keeps(name)
        return False


def _looked_up(node: ast.expr) -> ast.expr:
    """``self.warned`` for ``getattr(self, "warned", False)`` and ``hasattr(self, "warned")``."""
    if isinstance(node, ast.Call) and dotted(node.func) in ("getattr", "hasattr") and len(node.args) > 1:
        owner, name = node.args[0], string_of(node.args[1])
        return ast.Attribute(owner, name, ast.Load()) if name is not None else node
    return node


def _times_bound(body: list[ast.stmt], name: str) -> int:
    """How often some statements bind a name, including nested statements but not nested functions."""
    count, stack = 0, list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if not isinstance(node, ast.AugAssign):
            count += bound_by(node).count(name)
        for item in ast.iter_child_nodes(node):
            if isinstance(item, ast.stmt):
                stack.append(item)
            elif isinstance(item, (ast.ExceptHandler, ast.match_case)):
                stack.extend(item.body)
    return count


def _empties(node: ast.stmt, name: str) -> bool:
    """Whether a statement empties a list or a dict."""
    if isinstance(node, ast.Assign):
        return name in map(dotted, node.targets) and isinstance(node.value, (ast.List, ast.Dict, ast.Call))
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and dotted(call.func) == f"{name}.clear"


def _sets_back(node: ast.stmt, name: str, other: ast.expr) -> bool:
    """Whether a statement resets a name: to 0, or beyond the count that it was compared with."""
    if isinstance(node, ast.AugAssign):
        by_one = isinstance(node.value, ast.Constant) and node.value.value == 1
        return dotted(node.target) == name and isinstance(node.op, ast.Add) and not by_one and counts_steps(other)
    if not isinstance(node, ast.Assign) or name not in map(dotted, node.targets):
        return False
    value = node.value
    if isinstance(value, ast.Constant):
        return value.value == 0
    return isinstance(value, ast.BinOp) and alike(value.left, other) and counts_steps(other)
