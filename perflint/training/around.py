"""The tests around a statement: those that make it rare, and those that decide on which steps it runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.flow import Flow
from perflint.dataflow.settled import Known
from perflint.query import query
from perflint.syntax.bindings import bound_in
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import LOOPS, Place, Scope, Statement, exits, statements_calling
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import counts_processes, is_settled, means_interval, means_rank
from perflint.training.counting import Definitions, as_remainder, asks_the_clock, counted_by, counts_steps
from perflint.training.evidence import scales_loss
from perflint.training.guards import rare
from perflint.training.one_shot import turns_itself_off
from perflint.training.passes import is_chosen

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project
    from perflint.training.steps import Point

_ASKS_WHAT_IT_IS = frozenset(
    {"isinstance", "issubclass", "hasattr", "getattr", "callable", "len", "bool", "int", "str", "float", "type"}
    | {"get", "getenv", "lower", "upper", "startswith", "endswith", "is_initialized", "in_dynamic_mode"}
)
_MAX_DEPTH = 5


class HotPath:
    """Decides which places of a scope run at each step, according to the tests around them.

    Each link of a chain of places is examined once: a thousand statements may follow the same early exits.

    Args:
        definitions: what the names in the tests mean.
        scope: the function around the places, if it matters: its other bindings show whether a test is turned off by
            its own branch (log once).
        flow: the kinds of names before each statement, if known: a number fails a test for a tensor.
    """

    def __init__(self, definitions: Definitions, scope: Scope | None = None, flow: Flow | None = None) -> None:
        self._definitions = definitions
        self._scope = scope
        self._flow = flow
        self._known: dict[tuple[Place, ast.stmt | None], bool] = {}

    def is_off(self, place: Place | None, loop: ast.stmt | None) -> bool:
        """Whether a guard is between a place and its step loop (None: the top of a function called at each step)."""
        waiting: list[Place] = []
        found = False
        for link in place.chain() if place is not None else ():
            if (link, loop) in self._known:
                found = self._known[link, loop]
                break
            if link.node is loop and link.branch == "body":
                break
            waiting.append(link)
        for link in reversed(waiting):
            found = self._known[link, loop] = found or self.guards(link, loop)
        return found

    def guards(self, link: Place, loop: ast.stmt | None) -> bool:
        """Whether the code in one link of a chain of places is skipped at most steps."""
        node, branch = link.node, link.branch
        if branch == "handler" or (branch == "else" and isinstance(node, (ast.For, ast.While))):
            return True
        if not isinstance(node, ast.If):
            return False
        value, scope = branch == "body", self._scope
        if self._flow is not None and self._flow.rules_out(node, value):
            return True
        definitions = self._definitions
        if self._flow is not None and isinstance(definitions, Known):
            definitions = definitions.beside(self._flow.before.get(node, {}))
        if rare(node.test, value, definitions, counted_by(loop, self._definitions)):
            return True
        if scope is not None and turns_itself_off(node.test, value, link.block, loop, scope, self._definitions):
            return True
        # The ``else`` of a test may be for the rare step that is skipped: only the other branch trains.
        is_skipped = branch == "else" and _trains(node.body) and not _trains(node.orelse)
        return is_skipped or (value and _ends_the_loop(node.body, link, loop))


def leading_to_an_error(scope: Scope) -> set[ast.stmt]:
    """The statements after which a function always raises, such as those that build the error message."""
    body = scope.node.body
    if isinstance(scope.node, ast.Module) or not exits(body) or _returns(body[-1]):
        return set()
    found: set[ast.stmt] = set()
    for node in reversed(body[:-1]):
        found.add(node)
        if _returns(node):
            break
    return found


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(item, ast.Return) for item in walk(node))


def _trains(body: list[ast.stmt]) -> bool:
    """Whether statements do a backward pass, directly or through ``loss_scaler(loss, optimizer)``."""
    return any(
        (isinstance(item, ast.Attribute) and item.attr == "backward")
        or (isinstance(item, ast.Call) and scales_loss(item))
        for node in body
        for item in walk(node)
    )


def _ends_the_loop(body: list[ast.stmt], link: Place, loop: ast.stmt | None, skips: bool = True) -> bool:
    """Whether a branch ends the run or the step loop, or (``skips``) skips the rest of a rare step."""
    if exits(body):
        return True
    if loop is None or link.loop is not loop:
        return False
    if isinstance(body[-1], ast.Continue):
        return skips and not _trains(body)
    return isinstance(body[-1], (ast.Break, ast.Return))


@dataclass(frozen=True)
class Deciding:
    """A test around a statement that may come out differently from step to step.

    ``interval`` is what a count is divided by, if the test is of that kind (``n`` in ``step % n == 0``).
    """

    test: ast.expr
    interval: ast.expr | None


def deciding_test(project: Project, point: Point) -> Deciding | None:
    """The test that decides at which steps a statement runs, the nearest one first; None if it runs at each step.

    The calls that lead from the step loop to the statement count as well. A rank test or a setting does not count: its
    result is the same at each step.
    """
    found = _deciding(project, point.file, point.scope, point.statement, point.loop)
    step = point.step
    if found is not None or step is None:
        return found
    for path, line in reversed(step.via):
        file = project.files[path]
        for scope, statement in statements_calling(file.scopes, line):
            found = _deciding(project, file, scope, statement, step_loop(statement, path, step.path, step.line))
            if found is not None:
                return found
    return None


def step_loop(statement: Statement, path: str, loop_path: str, line: int) -> ast.stmt | None:
    """The loop around a statement at a row of a file, None if it is in another function."""
    if path != loop_path:
        return None
    return next((link.node for link in statement.around if link.node.lineno == line), None)


def _deciding(
    project: Project, file: FileIndex, scope: Scope, statement: Statement, loop: ast.stmt | None
) -> Deciding | None:
    changing = _Changing(Known(file, scope), loop, _changed_in(file, scope, loop))
    for link in statement.around:
        node = link.node
        if node is loop and link.branch == "body":
            return None
        test = node.test if isinstance(node, ast.If) else node.subject if isinstance(node, ast.Match) else None
        if link.branch == "after" and isinstance(node, ast.If) and _ends_the_loop(node.body, link, loop, skips=False):
            continue  # what follows runs at each step up to the last one
        if link.loop is not loop and is_chosen(link):
            continue  # it chooses one parameter, or one layer, at each step
        if test is not None and changing.may_change(test):
            return Deciding(test, changing.interval(test))
    return None


@query
def _changed_in(_: FileIndex, scope: Scope, loop: ast.stmt | None) -> frozenset[str]:
    """The names that a loop binds in its iterations, or that a function binds in its calls if ``loop`` is None."""
    whole = scope.node  # an editing session records who uses it
    body = loop.body if isinstance(loop, LOOPS) else whole.body
    bound = bound_in(body)
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        bound |= plain_names(loop.target)
    elif loop is None:
        bound |= {name for name in scope.parameters if not is_settled(name)}
    return frozenset(bound)


class _Changing:
    """Finds which expressions of a scope may have another value at the next step."""

    def __init__(self, definitions: Definitions, loop: ast.stmt | None, bound: frozenset[str]) -> None:
        self._definitions = definitions
        self._counters = counted_by(loop, definitions)
        self._bound = bound

    def may_change(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether an expression may have another value at the next step."""
        if as_remainder(node) is not None or asks_the_clock(node, self._definitions):
            return True
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name_may_change(node, depth)
        if isinstance(node, ast.Call):
            return self._call_may_change(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return True
        return any(self.may_change(item, depth) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr))

    def interval(self, node: ast.expr) -> ast.expr | None:
        """What a test divides a count by, also through names of the remainder or the result."""
        for item in walk(node):
            name = dotted(item) if isinstance(item, (ast.Name, ast.Attribute)) else None
            held = self._definitions.get(name) if name in self._bound and name is not None else None
            for part in walk(held) if held is not None else (item,):
                found = as_remainder(part) if isinstance(part, ast.expr) else None
                if found is not None:
                    return found.right
        return None

    def _name_may_change(self, node: ast.Name | ast.Attribute, depth: int) -> bool:
        name = dotted(node)
        if name is None:
            return isinstance(node, ast.Attribute) and self.may_change(node.value, depth)
        last = name.rpartition(".")[2]
        if name in self._counters or counts_steps(node, self._counters) or means_interval(last):
            return True
        root = name.partition(".")[0]
        if name not in self._bound and root not in self._bound:
            return False
        held = self._definitions.get(name)
        return held is None or depth >= _MAX_DEPTH or self.may_change(held, depth + 1)

    def _call_may_change(self, node: ast.Call, depth: int) -> bool:
        name = dotted(node.func)
        answer = self._definitions.get(f"{name}()") if name is not None else None
        if answer is not None and depth < _MAX_DEPTH:
            return self.may_change(answer, depth + 1)
        last = name.rpartition(".")[2] if name is not None else ""
        if not means_rank(last) and not counts_processes(last) and last not in _ASKS_WHAT_IT_IS:
            return True
        given = [*arguments_of(node), *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(self.may_change(item, depth) for item in given)
