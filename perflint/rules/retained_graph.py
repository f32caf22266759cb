"""PPF507: a backward pass that keeps the graph of its step, although nothing uses it again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import uncut
from perflint.findings import Fix
from perflint.flow.calls import CallGraph
from perflint.index.project import Place
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, rule
from perflint.query import query
from perflint.rules.arguments import shown_argument
from perflint.rules.edits import WithoutArgument, call_in
from perflint.syntax.bindings import bindings_of, bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.reaching import made_in_pass
from perflint.syntax.scopes import LOOPS, Scope, Statement, terminal
from perflint.syntax.tree import calls_in, is_literal, walk
from perflint.text.source import spans_rows
from perflint.training.every import call_path, step_loop
from perflint.training.steps import Point, Step, of_point

# Finds whether anything uses the graph of a step again after a backward pass that keeps it.

_WALKS = frozenset(
    {"backward", "append_backward", "grad", "gradients", "vjp", "jvp", "jacobian", "hessian", "Jacobian", "Hessian"}
)
"""Calls that go through a graph. In dygraph mode ``minimize`` does not: it uses the existing gradients."""
_MAKES = frozenset({"to_tensor", "zeros", "ones", "full", "arange", "eye"})
"""Calls that create tensors from numbers."""
_MOST_NAMES = 200
"""How many names in a loss are followed; with more, nothing is said about it."""


@of_point
def is_spent(point: Point) -> bool:
    """Whether nothing needs the graph of a step after the backward pass at a statement of it.

    This requires a loss that each step computes again, and no later use of a graph.
    """
    step = point.step
    if step is None or step.forward or not step.line or point.file.is_static:
        return False
    way = list(call_path(point.file.project, point, step))
    if len(way) != len(step.calls) + 1 or not all(_runs_once(at, statement, step) for at, statement in way):
        return False
    return _is_made_anew(point) and not any(_is_walked_after(at, statement, step) for at, statement in way)


def _runs_once(at: Place, statement: Statement, step: Step) -> bool:
    """Whether the only loop around a statement is the step loop, and it passes nothing on to the next step.

    ``hidden = self.step(x, hidden)`` does: the graph of the next step may continue this one.
    """
    loop = step_loop(statement, at.file.path, step)
    if statement.loop is not loop:
        return False
    read = {name for item in walk(statement.node) if (name := _loaded(item)) is not None}
    return read.isdisjoint(bound_by(statement.node))


def _loaded(node: ast.AST) -> str | None:
    return dotted(node) if isinstance(getattr(node, "ctx", None), ast.Load) else None


def _is_walked_after(at: Place, statement: Statement, step: Step) -> bool:
    loop = step_loop(statement, at.file.path, step)
    return any(
        other.start > statement.start and (loop is None or other.is_in(loop) or other.loop is None)
        for other in _walks(at)
    ) or any(_is_walk(at, call) for call in statement.calls[:-1] if terminal(call) != "backward")


@query
def _walks(at: Place) -> tuple[Statement, ...]:
    """The statements of a function that go through a graph, directly or in what they call."""
    return tuple(each for each in at.scope.statements if any(_is_walk(at, call) for call in each.calls))


def _is_walk(at: Place, call: ast.Call) -> bool:
    if terminal(call) in _WALKS:
        return True
    found = CallGraph.of(at.file.project).called(at, call.func)
    return found is not None and found.scope is not at.scope and _goes_through_graphs(found)


@query(cycle=False)  # a recursive call adds no further use of a graph
def _goes_through_graphs(at: Place) -> bool:
    return bool(_walks(at)) or any(_goes_through_graphs(Place(at.file, inner)) for inner in at.scope.functions.values())


def _is_made_anew(point: Point) -> bool:
    """Whether everything that the differentiated value is computed from is bound in this step before it is read.

    A name that the loop binds only after it has been read, such as the hidden state of a recurrent network, carries
    the graph of one step into the next; one from before the loop may carry a graph that all steps go through.
    """
    scope, loop = point.scope, point.statement.loop
    waiting = [(name, point.statement) for name in _made_of(point.statement.node)]
    seen: set[tuple[str, Statement]] = set()
    while waiting and len(seen) < _MOST_NAMES:
        name, at = waiting.pop()
        name = _bound_name(name, scope)
        if not name or (name, at) in seen:
            continue
        seen.add((name, at))
        made = made_in_pass(name, at, scope, loop)
        if not made and not _has_no_graph(name, scope, loop):
            return False
        waiting += [(used, item) for item in made for used in _made_of(item.node)]
    return bool(seen) and not waiting


def _bound_name(name: str, scope: Scope) -> str:
    """The name itself if a function binds it, or that of the object whose attribute it is; ``""`` for neither."""
    bound = bindings_of(scope)
    while name and name not in bound:
        name = name.rpartition(".")[0]
    return name


def _has_no_graph(name: str, scope: Scope, loop: ast.stmt | None) -> bool:
    """Whether a name is the same constant or object at each step: bound before the loop, and not in it."""
    return loop is not None and all(
        not item.is_in(loop) and isinstance(item.node, ast.Assign) and _is_plain(item.node.value)
        for item in bindings_of(scope)[name]
    )


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return (terminal(value) or "")[:1].isupper() or terminal(value) in _MAKES
    return isinstance(value, ast.Constant)


def _made_of(node: ast.stmt) -> Iterator[str]:
    """The names in the value of a statement through which a graph may come."""
    if isinstance(node, LOOPS):
        return  # what a loop draws
    for part in _values(node):
        yield from filter(None, map(dotted, uncut(part)))
        for value in (value for call in calls_in(part) for value in arguments_of(call)):
            yield from filter(None, map(dotted, uncut(value)))


def _values(node: ast.stmt) -> list[ast.expr]:
    call = call_in(node)
    if call is not None and isinstance(call.func, ast.Attribute):
        return [call.func.value]  # ``loss.backward()``
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    value = getattr(node, "value", None)
    return [value] if isinstance(value, ast.expr) else []


# PPF507: a backward pass that keeps the graph of its step, although nothing uses it again.

RULE = shipped()["PPF507"]
_PARAMETER, _POSITION = "retain_graph", 1


def _is_retaining(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return False
    return is_literal(argument_of(call, _PARAMETER, _POSITION), True)


def _retaining(point: Point) -> Iterator[ast.Call]:
    calls = [call for call in point.statement.calls if _is_retaining(call)]
    return iter(calls if calls and is_spent(point) else ())


@rule(RULE.code, at=At.STEP, find_at=_retaining)
def retained_graph(call: ast.Call, context: Context) -> None:
    """Report a backward pass with ``retain_graph=True`` after which no other one uses the graph."""
    value = argument_of(call, _PARAMETER, _POSITION)
    if value is not None:
        argument, what = shown_argument(call, value), shorten(context.text(call))
        context.report(_fix(call, value, context), argument, what=what)


def _fix(call: ast.Call, value: ast.expr, context: Context) -> Fix:
    if arguments_of(call)[-1] is value and not spans_rows(context.text(call)):
        return RULE.fix(context.edits(WithoutArgument(call, value)))
    return RULE.fix(context.instead(value, "False"))
