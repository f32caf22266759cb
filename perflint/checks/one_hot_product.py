"""PPF905: a product with one-hot rows, which could be a lookup."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.delete import whole_rows
from perflint.facts.one_hot_uses import LookUp, asks_for_gradients_of_inputs, look_ups
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.name_reads import is_rebound_between, other_reads
from perflint.syntax.names import plain_names
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import walk
from perflint.text.source import Source

CODE = "PPF905"
_ROWS = "`F.embedding(ids, table)` reads only the rows that are needed"
_NUMBERS = "`paddle.take_along_axis` reads only the numbers that are needed"
_OF_CLASSES = "`paddle.gather({table}, ids.flatten())`, reshaped like the ids, reads only the numbers that are needed"
_GRADIENTS = "gradients are summed in a different order, and under AMP the result keeps the dtype of the table"
_AXES = "check that the axes of the ids match those of the table"
_IN_RANGE = "ids out of range, such as an `ignore_index`, have to be masked before they are looked up"
_SMALL = "one-hot product beside a softmax"
"""The event if computing the other operand takes longer than the product."""
_PURE = frozenset({"astype", "cast", "unsqueeze", "reshape", "squeeze", "flatten"})


@statement_gate(CODE)
def _places(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for found in look_ups(file):
        yield found.statement, _confidence(found)


@check("Call")
@check("BinaryOperation")
def one_hot_product(node: cst.Call | cst.BinaryOperation, context: Context) -> None:
    """Report a product of one-hot rows with a table, and a sum over one-hot rows times numbers."""
    point, file = context.point, context.file
    if point is None or file.is_offline:
        return
    known = context.once(CODE, lambda: {item.node: item for item in look_ups(file)})
    if not any(item.statement.node is point.statement.node for item in known.values()):
        return
    expression = context.expression(node)
    found = known.get(expression) if expression is not None else None
    if found is not None:
        context.report(
            CODE,
            node,
            _fix(found, file.source),
            confidence=_confidence(found),
            claims=False,
            costs_on_cpu=True,
            event=_SMALL if found.is_of_a_loss else "",
            advice=_advice(found, file.source),
        )


def _confidence(found: LookUp) -> Confidence:
    return Confidence.LOW if asks_for_gradients_of_inputs(found.scope) else Confidence.HIGH


def _advice(found: LookUp, source: Source) -> str:
    if found.is_row:
        return _ROWS
    return _OF_CLASSES.format(table=_text(found.table, source)) if found.is_of_classes else _NUMBERS


def _fix(found: LookUp, source: Source) -> Fix:
    """The edit that looks rows up; for a sum, the user has to check which axes the numbers have."""
    title = "look up the rows" if found.is_row else "look up the numbers"
    if found.is_turned or not found.is_row:
        return Fix(title, (), Level.DISPLAY, _IN_RANGE if found.is_of_classes else _AXES)
    edits = _edits(found, source)
    return Fix(title, tuple(sorted(edits)), Level.UNSAFE if edits else Level.DISPLAY, _GRADIENTS)


def _edits(found: LookUp, source: Source) -> list[Edit]:
    """The edits that write ``embedding(ids, table)``; none if the classes cannot be moved to its place."""
    ids, function = argument_of(found.one_hot, "x", 0), found.one_hot.func
    if ids is None or not isinstance(function, ast.Attribute) or not _may_move(found, ids):
        return []
    if "#" in _text(found.node, source):
        return []
    called = f"{_text(function.value, source)}.embedding({_text(ids, source)}, {_text(found.table, source)})"
    edit, binding = Edit(*source.lines.span(found.node), called), found.binding
    if binding is None or not isinstance(binding.node, ast.Assign):
        return [edit]
    name = ast.unparse(binding.node.targets[0])
    if other_reads(found.scope, name, binding, found.statement):
        return [] if name in plain_names(ids) else [edit]
    if binding.place is not found.statement.place or "#" in _text(binding.node, source):
        return []
    return [whole_rows(*source.lines.span(binding.node), source), edit]


def _may_move(found: LookUp, ids: ast.expr) -> bool:
    """Whether the classes are the same at the product, and calls that compute them have no side effects."""
    calls = [item for item in walk(ids) if isinstance(item, ast.Call)]
    if any(terminal(call) not in _PURE for call in calls):
        return found.binding is None
    binding = found.binding
    names = plain_names(ids)
    if binding is not None and isinstance(binding.node, ast.Assign):
        names -= {ast.unparse(binding.node.targets[0])}
    return binding is None or not is_rebound_between(found.scope, names, binding, found.statement)


def _text(node: ast.expr | ast.stmt, source: Source) -> str:
    return source.text[slice(*source.lines.span(node))]
