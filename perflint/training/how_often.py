"""How often a statement runs in a training: at each step, every n steps, in a loop inside the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import all_parameters, keyword_parameter
from perflint.syntax.reaching import is_mutated
from perflint.syntax.scopes import LOOPS, Link, Loop, Scope, Statement, own_parts, statements_calling, terminal
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import means_interval
from perflint.training.around import HotPath, chosen_by_filters, repeating_loops, step_loop
from perflint.training.branches import (
    COMPREHENSIONS,
    Definitions,
    as_remainder,
    counted_by,
    counts_steps,
    rare,
    remainder_of,
    written,
)
from perflint.training.steps import Point, Step
from perflint.training.training_calls import TrainingCalls

# The path from a step loop to a statement: the statement itself, and the calls that lead to it.


def way_to(project: Project, point: Point, step: Step) -> Iterator[tuple[FileIndex, Scope, Statement]]:
    """The statement and the calls that lead to it, the nearest first; of several calls on one row, only the first."""
    yield point.file, point.scope, point.statement
    for path, line in reversed(step.via):
        file = project.files[path]
        found = next(statements_calling(file.scopes, line), None)
        if found is not None:
            yield file, *found


# Finds how often a statement runs: at each step, every n steps (``if step % n == 0:``), or hardly ever.
#
# ``guards`` decides what is rare. This module distinguishes what recurs from what happens once, only at the end, or
# only when a model is the best so far.

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


def cadence(place: Link | None, loop: ast.stmt | None, path: HotPath, definitions: Definitions) -> Cadence:
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


def _of_link(link: Link, loop: ast.stmt | None, path: HotPath, definitions: Definitions) -> Cadence:
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


# Finds the arms of ``if`` statements around a place: the two arms of one test do not run in the same step.

Arms = Mapping[tuple[str, int], bool]
"""Path and row of each ``if`` around a place, up to the step loop, with what its test has to be."""


def arms_of(project: Project, point: Point, step: Step) -> Arms:
    """The arms that lead to a statement in a step.

    Those in a loop inside the step do not count: ``for x in batch: (if x: a() else: b())`` runs both in one step.
    """
    found: dict[tuple[str, int], bool] = {}
    for file, _, statement in way_to(project, point, step):
        path = file.path
        last = step_loop(statement, path, step.path, step.line)
        for link in statement.around:
            if link.node is last:
                break
            if isinstance(link.node, LOOPS) and link.branch == "body":
                found.clear()
            elif isinstance(link.node, ast.If):
                found[path, link.node.lineno] = link.branch == "body"
    return found


def exclude(one: Arms, other: Arms) -> bool:
    """Whether two places are in different arms of one test."""
    return any(other.get(test, value) != value for test, value in one.items())


# Finds loops inside a step that repeat a place, in any of the calls that lead to it.

Repeat = tuple[str, ast.stmt | ast.expr]
"""The path of a file, and a loop or a comprehension in it."""


def repeat_of(project: Project, point: Point, step: Step, node: ast.expr | None = None) -> Repeat | None:
    """The innermost loop inside the step around an expression of a statement, or around a call that leads there.

    ``for batch in loader: for loss in losses: loss.item()`` reads several times in each step.
    """
    around = _comprehensions(point.scope).get(node) if node is not None else None
    if around is not None:
        return point.file.path, around
    way = list(way_to(project, point, step))
    callers = [*(statement for _, _, statement in way[1:]), None]
    for (file, scope, statement), caller in zip(way, callers, strict=True):
        last = step_loop(statement, file.path, step.path, step.line)
        loops = repeating_loops(statement.place)
        innermost = next((loop for loop in loops if not _takes_one_keyword(loop, scope, caller)), None)
        if innermost is not None and innermost is not last:
            return file.path, innermost
    return None


def is_at_each_pass(project: Project, point: Point, step: Step, repeat: Repeat) -> bool:
    """Whether no ``if`` is between a statement, or the calls that lead to it, and a loop that repeats it."""
    for _, _, statement in way_to(project, point, step):
        if any(item is repeat[1] for part in own_parts(statement.node) for item in walk(part)):
            return True
        for link in statement.around:
            if link.node is repeat[1]:
                return True
            if isinstance(link.node, ast.If):
                return False
    return False


def _takes_one_keyword(loop: Loop, scope: Scope, caller: Statement | None) -> bool:
    """Whether a loop iterates over the ``**kwargs`` of a function whose call passes one value, besides constants.

    ``for name, value in kwargs.items():`` of ``meters.update(loss=loss)``.
    """
    name = keyword_parameter(scope)
    over = loop.iter.func if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else None
    if name is None or caller is None or not isinstance(over, ast.Attribute) or dotted(over.value) != name:
        return False
    if over.attr not in ("items", "values") or name in bindings_of(scope) or is_mutated(name, scope.node):
        return False
    parameters = all_parameters(scope)
    calls = [call for call in caller.calls if terminal(call) == scope.name]
    others = ([item for item in call.keywords if item.arg not in parameters] for call in calls)
    return bool(calls) and all(_is_one(keywords) for keywords in others)


def _is_one(keywords: list[ast.keyword]) -> bool:
    """Whether keyword arguments contain exactly one value that is not a literal, and no ``**others``."""
    values = [keyword.value for keyword in keywords if not isinstance(keyword.value, ast.Constant)]
    return len(values) <= 1 and all(keyword.arg is not None for keyword in keywords)


def _comprehensions(scope: Scope) -> dict[ast.AST, ast.expr]:
    """The expressions that comprehensions of a function evaluate in each iteration, with the innermost one."""
    return scope.once("comprehensions", lambda: dict(pair for item in scope.statements for pair in _repeated_in(item)))


def _repeated_in(statement: Statement) -> Iterator[tuple[ast.AST, ast.expr]]:
    once: dict[ast.AST, ast.expr | None] = {}
    waiting: list[tuple[ast.AST, ast.expr | None]] = [(part, None) for part in own_parts(statement.node)]
    while waiting:
        item, around = waiting.pop()
        around = once.get(item, around)
        if around is not None:
            yield item, around
        if isinstance(item, COMPREHENSIONS):
            once[item.generators[0].iter] = around
            around = around if any(map(chosen_by_filters, item.generators)) else item
        waiting += [(child, around) for child in children(item)]


# Finds which part of a step a place is in: how many backward passes precede it in the step.
#
# A read makes the host wait for all work queued on the device since the last one. A backward pass is most of that
# work.


def passes_before(project: Project, point: Point, step: Step) -> int:
    """How many statements with a backward pass, or with a call that leads to one, precede a statement in a step."""
    count = 0
    for file, scope, statement in way_to(project, point, step):
        last = step_loop(statement, file.path, step.path, step.line)
        count += sum(
            other.start < statement.start and (last is None or other.is_in(last))
            for other in _training_statements(file, scope)
        )
    return count


@query
def _training_statements(file: FileIndex, scope: Scope) -> tuple[Statement, ...]:
    """The statements of a function with a backward pass, or with a call that leads to one."""
    trains = TrainingCalls.of(file.project).call_trains
    return tuple(each for each in scope.statements if any(trains(file, scope, call) for call in each.calls))
