"""Which values the host needs anyway: it cannot go on without them, so a read of them cannot simply go.

``if loss.item() > limit: raise`` stops the run, and ``paddle.zeros([n.item(), 4])`` or ``x[: n.item()]`` needs a shape.
"""

from __future__ import annotations

import ast

from perflint.syntax.names import dotted
from perflint.syntax.scopes import own_parts
from perflint.syntax.tree import children, walk
from perflint.training.steps import Point, of_point

_SHAPED = frozenset(
    {"zeros", "ones", "full", "empty", "arange", "linspace", "eye", "rand", "randn", "randint", "randperm", "one_hot"}
    | {"reshape", "view", "expand", "tile", "broadcast_to", "split", "chunk", "narrow", "repeat"}
)
"""Functions whose numbers are shapes, or counts of what they make."""

_LEAVES_STEP = (ast.Raise, ast.Break, ast.Return, ast.Continue)


def is_needed(point: Point, node: ast.expr, forward: bool) -> bool:
    """Whether the host needs the value of an expression of a statement to go on.

    ``forward``: the statement belongs to a forward pass, where ``if paddle.all(mask): return x`` may be a choice that
    the device can make as well.
    """
    return _decides_where_to_go(point.statement.node, forward) or node in _sizes(point)


def _decides_where_to_go(statement: ast.stmt, forward: bool) -> bool:
    """Whether all that a statement asks for is in a test that leads out of the step, or raises."""
    if isinstance(statement, ast.Assert):
        return True
    if isinstance(statement, ast.While):
        return not forward
    if not isinstance(statement, ast.If):
        return False
    leaves = ast.Raise if forward else _LEAVES_STEP
    arms = [arm for arm in (statement.body, statement.orelse) if arm]
    return any(isinstance(arm[-1], leaves) for arm in arms) or _trains(statement)


def _trains(statement: ast.If) -> bool:
    """Whether a branch has the ``backward`` of the step."""
    return any(isinstance(item, ast.Attribute) and item.attr == "backward" for item in walk(statement))


@of_point
def _sizes(point: Point) -> frozenset[ast.AST]:
    """The expressions of a statement that are part of a shape or a count which a call is given, or bound a slice."""
    found: set[ast.AST] = set()
    waiting = [(part, False) for part in own_parts(point.statement.node)]
    while waiting:
        node, is_size = waiting.pop()
        if is_size:
            found.add(node)
        makes = isinstance(node, ast.Slice) or (isinstance(node, ast.Call) and takes_sizes(node))
        function = node.func if isinstance(node, ast.Call) else None
        waiting += [(child, is_size or (makes and child is not function)) for child in children(node)]
    return frozenset(found)


def takes_sizes(call: ast.Call) -> bool:
    """Whether the numbers that a call is given are shapes, or counts of what it makes."""
    name = dotted(call.func) or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
    return name == "range" or name.rpartition(".")[2] in _SHAPED
