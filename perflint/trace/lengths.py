"""How often a loop inside a step runs, where the source says so: ``range(3)``, a literal list, a name of one."""

from __future__ import annotations

import ast
from math import prod

from perflint.flow.constants import Constants
from perflint.flow.sources import sources
from perflint.index.project import Place
from perflint.paddle.call_results import IN_TURN, LISTING
from perflint.syntax.names import dotted
from perflint.syntax.reaching import is_mutated
from perflint.syntax.scopes import Scope, terminal

_SAME = (IN_TURN | LISTING | {"enumerate"}) - {"set"}
"""They give as many items as their first argument has; ``islice`` may give fewer."""
_VIEWS = ("items", "keys", "values")


def passes(node: ast.expr, at: Place) -> int | None:
    """How many items a loop over an expression goes through; None if that is not known."""
    if isinstance(node, ast.Call):
        return _of_call(node, at)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return _written(node)
    if _may_grow(node, at):
        return None
    found = {_written(source.node) if source.is_known else None for source in sources(node, at)}
    return (found.pop() or None) if len(found) == 1 else None  # what is empty at first is filled somewhere


def _of_call(call: ast.Call, at: Place) -> int | None:
    name = terminal(call)
    if name == "range" and not call.keywords:
        return _of_range([_number(argument, at) for argument in call.args])
    if name == "zip" and call.args:
        lengths = [passes(argument, at) for argument in call.args]
        known = [length for length in lengths if length is not None]
        return min(known) if len(known) == len(lengths) else None
    if name in _SAME and name != "islice" and call.args:
        return passes(call.args[0], at)
    if name in _VIEWS and isinstance(call.func, ast.Attribute) and not call.args:
        return passes(call.func.value, at)
    return None


def _of_range(limits: list[int | None]) -> int | None:
    """How many numbers a ``range`` has; None if that is not known, or if it would raise an error."""
    known = [limit for limit in limits if limit is not None]
    if len(known) < len(limits):
        return None
    try:
        return len(range(*known))
    except (TypeError, ValueError, OverflowError):  # too many limits, a step of 0, more numbers than Python counts
        return None


def _number(node: ast.expr, at: Place) -> int | None:
    """The one integer that an expression can be; ``len`` of something whose length is known counts, too."""
    if isinstance(node, ast.Call) and terminal(node) == "len" and node.args:
        return passes(node.args[0], at)
    found = Constants.of(at.file.project).possible(node, at)
    values = {each.value for each in found if each.is_known}
    value = next(iter(values)) if len(values) == 1 and all(each.is_known for each in found) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _written(node: ast.expr) -> int | None:
    """The length of a display: ``[loss, aux]``, ``[0] * 3``, ``{"a": 1}``."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return None if any(isinstance(each, ast.Starred) for each in node.elts) else len(node.elts)
    if isinstance(node, ast.Dict):
        return None if None in node.keys else len(node.keys)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant):
        one, times = _written(node.left), node.right.value
        return one * times if one is not None and isinstance(times, int) else None
    return None


def _may_grow(node: ast.expr, at: Place) -> bool:
    """Whether a method may add items to what a name, or an attribute of the object, refers to."""
    name = dotted(node) or ""
    owner = at.scope.owner
    scopes: list[Scope] = list(owner.methods.values()) if name.startswith("self.") and owner is not None else [at.scope]
    return any(is_mutated(name, scope.node) for scope in scopes)


def together(counts: list[int | None]) -> int | None:
    """How often the innermost of some loops in each other runs."""
    known = [count for count in counts if count is not None]
    return prod(known) if len(known) == len(counts) else None
