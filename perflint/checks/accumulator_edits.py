"""Finds the places that read a sum while it is a tensor, and the edits that turn it into a number there."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import libcst as cst

from perflint.facts.accumulators import Accumulator
from perflint.findings import Edit
from perflint.lint.context import Context
from perflint.syntax.scopes import Loop, Statement

_OPERATORS = {"DivideAssign": "/", "MultiplyAssign": "*", "SubtractAssign": "-"}


@dataclass(frozen=True)
class SumLook:
    """A place that reads the sum before it is a number again.

    Attributes:
        node: the name.
        each_step: whether it runs at each step.
        statement: its statement, if the index knows it.
        updated: the ``total /= n`` that it is the target of.
    """

    node: cst.Name
    each_step: bool
    statement: Statement | None
    updated: cst.AugAssign | None = None


def looks(held: Accumulator, loop: Loop, last: ast.stmt, context: Context) -> list[SumLook] | None:
    """The places in a loop, and in the ``try`` or ``with`` around it, that read a sum.

    Args:
        last: the statement after which the sum is a number again: the loop, or one around it.

    Returns:
        None if a place cannot be edited so that it reads the same number.
    """
    node = _node_of(last, context)
    if node is None:
        return None
    found: list[SumLook] = []
    names = context.once((looks, node), lambda: _by_name(node))
    for name, parents in names.get(held.name, ()):
        parent = parents[-1]
        if isinstance(parent, cst.AssignTarget) or _is_label(name, parent) or _comes_first(name, loop, last, context):
            continue
        if any(isinstance(item, (cst.Lambda, cst.FunctionDef)) or _shows_its_text(item) for item in parents):
            return None
        statement = _statement_of(parents, context)
        each_step = _is_in(name, loop, context) and _runs_each_step(parents, context)
        if isinstance(parent, cst.AugAssign) and parent.target is name:
            if isinstance(parent.operator, cst.AddAssign):
                continue
            if type(parent.operator).__name__ not in _OPERATORS:
                return None
            found.append(SumLook(name, each_step, statement, parent))
        elif isinstance(parent, (cst.Del, cst.NamedExpr, cst.CompFor, cst.AsName)) and _is_bound(name, parent):
            return None
        else:
            found.append(SumLook(name, each_step, statement))
    return found


def reading(look: SumLook, context: Context) -> list[Edit]:
    """Edits that read the sum as a number: ``float(total)``; ``total /= n`` becomes ``total = float(total) / n``."""
    name = look.node.value
    if look.updated is None:
        return [Edit(*context.range(look.node), f"float({name})")]
    start = context.range(look.node)[0]
    value = look.updated.value
    value_start, value_end = context.range(value)
    head = f"{name} = float({name}) {_OPERATORS[type(look.updated.operator).__name__]} "
    bare = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)) or value.lpar
    if bare:
        return [Edit(start, value_start - sum(len(_code(paren)) for paren in value.lpar), head)]
    return [Edit(start, value_start, head + "("), Edit(value_end, value_end, ")")]


def is_within(node: ast.AST, outer: ast.AST) -> bool:
    """Whether a node of ``ast`` is inside another, judging by their rows and columns."""
    first, last = (_place(node, ""), _place(node, "end_")), (_place(outer, ""), _place(outer, "end_"))
    return last[0] <= first[0] and first[1] <= last[1]


def always_follows(statement: Statement, earlier: Statement) -> bool:
    """Whether a statement never runs before another one of the same iteration of a loop has run."""
    around = {(link.node, link.branch) for link in statement.around}
    links = earlier.around
    return _place(earlier.node, "") < _place(statement.node, "") and all(
        (link.node, link.branch) in around for link in links
    )


def stands_between(statement: Statement, first: Statement, last: Statement) -> bool:
    """Whether a statement is after one and before another."""
    return _place(first.node, "") < _place(statement.node, "") < _place(last.node, "")


def _place(node: ast.AST, end: str) -> tuple[int, int]:
    return getattr(node, f"{end}lineno"), getattr(node, f"{end}col_offset")


def _is_in(node: cst.CSTNode, outer: ast.stmt, context: Context) -> bool:
    start, end = context.file.source.lines.span(outer)
    return start <= context.range(node)[0] < end


def _comes_first(node: cst.CSTNode, loop: Loop, last: ast.stmt, context: Context) -> bool:
    """Whether a place in the ``try`` around a loop precedes the loop, where the sum is still a number."""
    lines = context.file.source.lines
    return last is not loop and context.range(node)[0] < lines.span(loop)[0]


def _shows_its_text(node: cst.CSTNode) -> bool:
    """Whether an f-string prints the expression itself before its value: ``{total=}``."""
    return isinstance(node, cst.FormattedStringExpression) and node.equal is not None


def _is_label(found: cst.Name, parent: cst.CSTNode) -> bool:
    """Whether a name is a keyword or an attribute that happens to have the same spelling."""
    return (isinstance(parent, cst.Arg) and parent.keyword is found) or (
        isinstance(parent, cst.Attribute) and parent.attr is found
    )


def _is_bound(found: cst.Name, parent: cst.CSTNode) -> bool:
    return getattr(parent, "target", found) is found


def _runs_each_step(parents: tuple[cst.CSTNode, ...], context: Context) -> bool:
    for parent in reversed(parents):
        if parent is parents[0]:  # the header of the loop: its iterable is read once, its test each time
            return isinstance(parent, cst.While)
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            point = context.points.get(context.range(parent)[0])
            return point is None or point.step is not None
    return True


def _statement_of(parents: tuple[cst.CSTNode, ...], context: Context) -> Statement | None:
    for parent in reversed(parents):
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            point = context.points.get(context.range(parent)[0])
            return point.statement if point is not None else None
    return None


def _by_name(root: cst.CSTNode) -> dict[str, list[tuple[cst.Name, tuple[cst.CSTNode, ...]]]]:
    """All names inside a node, each with the nodes around it from the outside in."""
    found: dict[str, list[tuple[cst.Name, tuple[cst.CSTNode, ...]]]] = {}
    stack: list[tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]] = [(root, ())]
    while stack:
        node, parents = stack.pop()
        if isinstance(node, cst.Name):
            found.setdefault(node.value, []).append((node, parents))
        else:
            inner = (*parents, node)
            stack += [(child, inner) for child in reversed(node.children)]
    return found


def _node_of(statement: ast.stmt, context: Context) -> cst.CSTNode | None:
    lines = context.file.source.lines
    start = lines.span(statement)[0]
    kinds = (cst.For, cst.While, cst.Try, cst.TryStar, cst.With)
    return next((item for item in context.parents if isinstance(item, kinds) and context.range(item)[0] == start), None)


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
