"""Which values the host needs anyway: it cannot go on without them, so a read of them cannot simply go.

``if loss.item() > limit: raise`` stops the run, and ``paddle.zeros([n.item(), 4])`` or ``x[: n.item()]`` needs a shape.
"""

from __future__ import annotations

import ast
from itertools import pairwise

from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement, own_parts
from perflint.syntax.tree import children, walk

_SHAPED = frozenset(
    {"zeros", "ones", "full", "empty", "arange", "linspace", "eye", "rand", "randn", "randint", "randperm", "one_hot"}
    | {"reshape", "view", "expand", "tile", "broadcast_to", "split", "chunk", "narrow", "repeat"}
)
"""Functions whose numbers are shapes, or counts of what they make."""

_LEAVES_STEP = (ast.Raise, ast.Break, ast.Return, ast.Continue)


def is_needed(statement: Statement, node: ast.expr, forward: bool) -> bool:
    """Whether the host needs the value of an expression of a statement to go on.

    ``forward``: the statement belongs to a forward pass, where ``if paddle.all(mask): return x`` may be a choice that
    the device can make as well.
    """
    chain = _way_to(statement.node, node)
    return chain is not None and (_decides_where_to_go(statement.node, chain, forward) or _is_a_size(chain))


def _way_to(statement: ast.stmt, node: ast.expr) -> list[ast.AST] | None:
    """The expressions of a statement around one of them, from the outside in, with this one; None where it has none."""
    waiting: list[tuple[ast.AST, list[ast.AST]]] = [(part, []) for part in own_parts(statement)]
    while waiting:
        part, around = waiting.pop()
        chain = [*around, part]
        if part is node:
            return chain
        waiting += [(child, chain) for child in children(part)]
    return None


def _decides_where_to_go(statement: ast.stmt, chain: list[ast.AST], forward: bool) -> bool:
    """Whether a value is asked for in a test that leads out of the step, or raises."""
    if isinstance(statement, ast.Assert):
        return chain[0] is statement.test
    if isinstance(statement, ast.While):
        return not forward
    if not isinstance(statement, ast.If) or chain[0] is not statement.test:
        return False
    leaves = ast.Raise if forward else _LEAVES_STEP
    arms = [arm for arm in (statement.body, statement.orelse) if arm]
    return any(isinstance(arm[-1], leaves) for arm in arms) or _trains(statement)


def _trains(statement: ast.If) -> bool:
    """Whether a branch has the ``backward`` of the step."""
    return any(isinstance(item, ast.Attribute) and item.attr == "backward" for item in walk(statement))


def _is_a_size(chain: list[ast.AST]) -> bool:
    """Whether a value is a shape or a count that a call is given, or a bound of a slice."""
    for outer, inner in pairwise(chain):
        if isinstance(outer, ast.Slice):
            return True
        if isinstance(outer, ast.Call) and inner is not outer.func:
            name = dotted(outer.func) or (outer.func.attr if isinstance(outer.func, ast.Attribute) else "")
            if name == "range" or name.rpartition(".")[2] in _SHAPED:
                return True
    return False
