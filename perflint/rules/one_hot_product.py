"""PPF905: a product with one-hot rows, which could be a lookup."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.facts.effects import only_reads
from perflint.facts.gradient_graphs import NoGrad
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.flow.calls import CallGraph, Certainty
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules.edits import whole_rows
from perflint.syntax.bindings import bindings_of, is_rebound_between, other_reads
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.reaching import sole_at, value_of
from perflint.syntax.scopes import Scope, Statement, headers, own_parts, terminal
from perflint.syntax.tree import walk
from perflint.text.source import Source
from perflint.training.intent import only_predicts

# Products with one-hot rows that only look numbers up: ``matmul(one_hot(ids, n), table)`` gives rows of the table.

_ONE_HOT = frozenset({"paddle.nn.functional.one_hot"})
_PRODUCTS = frozenset({"paddle.matmul", "paddle.mm"})
_A_ONE_HOT = re.compile(r"\bone_hot\b")
_CASTS = frozenset({"astype", "cast"})
_UPDATES = frozenset({"step", "minimize"})
_SOFTMAX = frozenset({"log_softmax", "softmax"})


@dataclass(frozen=True)
class LookUp:
    """A product that looks numbers up.

    Attributes:
        node: the product, or its sum.
        one_hot: the call that creates the one-hot rows.
        table: the other operand.
        is_row: whether the result is whole rows of the table, not one number from each of its rows.
        is_turned: whether the table is transposed.
        statement: the statement of the product.
        scope: the function.
        binding: ``rows = one_hot(...)``, if there is a name in between.
        is_of_classes: whether the table has one number for each class, like ``self.weight`` of a loss.
        is_of_a_loss: whether the numbers are a softmax of the same size as the one-hot rows, or its logarithm, which
            cost more than the product.
    """

    node: ast.expr
    one_hot: ast.Call
    table: ast.expr
    is_row: bool
    is_turned: bool
    statement: Statement
    scope: Scope
    binding: Statement | None
    is_of_classes: bool = False
    is_of_a_loss: bool = False


@query
def look_ups(file: FileIndex) -> tuple[LookUp, ...]:
    """The products of a file with one-hot rows that only look numbers up."""
    if not file.has("paddle") or not file.matches(_A_ONE_HOT):
        return ()
    return tuple(
        found
        for scope in file.scopes.scopes
        for statement in scope.statements
        for header in headers(statement.node)
        for node in walk(header)
        if (found := _product(Place(file, scope), statement, node) or _sum(Place(file, scope), statement, node))
        is not None
        and _matters(file, found)
    )


def _matters(file: FileIndex, found: LookUp) -> bool:
    """Whether training may run a product repeatedly: not with gradients off, and not once in an ``__init__``."""
    no_grad = NoGrad.of(file.project)
    if no_grad.over_statement(Place(file, found.scope), found.statement) or no_grad.over_scope(
        Place(file, found.scope)
    ):
        return False
    return not only_predicts(file) and not _runs_once(Place(file, found.scope))


def _runs_once(at: Place) -> bool:
    """Whether all calls of a function are in an ``__init__``: its result is a constant."""
    if at.scope.name == "__init__":
        return True
    sites = CallGraph.of(at.file.project).callers(at, Certainty.NAME)
    return bool(sites) and all(site.scope.name == "__init__" for site in sites)


def asks_for_gradients_of_inputs(scope: Scope) -> bool:
    """Whether a function computes gradients to look at them: it calls ``backward``, and has no optimizer.

    For example, to explain a prediction: ``loss.backward()``, and then ``gradients = features.grad``.
    """
    parts = [part for statement in scope.statements for part in own_parts(statement.node)]
    asked = {item.attr for part in parts for item in walk(part) if isinstance(item, ast.Attribute)}
    return "backward" in asked and not asked.isdisjoint(("grad", "gradient")) and asked.isdisjoint(_UPDATES)


def _product(place: Place, statement: Statement, node: ast.AST) -> LookUp | None:
    """``matmul(one_hot(ids, n), table)`` and ``one_hot(ids, n) @ table``."""
    is_turned = False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        left, table = node.left, node.right
    elif isinstance(node, ast.Call) and place.file.names.qualified(node.func) in _PRODUCTS and not is_spread(node):
        given = [argument_of(node, name, at) for at, name in enumerate(("x", "y", "transpose_x", "transpose_y"))]
        if given[0] is None or given[1] is None or _may_be_true(given[2]):
            return None
        left, table, is_turned = given[0], given[1], _may_be_true(given[3])
    else:
        return None
    binding, rows = _one_hot(place, statement, left)
    return LookUp(node, rows, table, True, is_turned, statement, place.scope, binding) if rows is not None else None


def _sum(at: Place, statement: Statement, node: ast.AST) -> LookUp | None:
    """``(one_hot(ids, n) * x).sum(-1)``, which takes one number from each row of ``x``."""
    if not isinstance(node, ast.Call) or terminal(node) != "sum" or is_spread(node):
        return None
    is_function = at.file.names.qualified(node.func) == "paddle.sum"
    summed = argument_of(node, "x", 0) if is_function else getattr(node.func, "value", None)
    axis = argument_of(node, "axis", 1 if is_function else 0)
    if not isinstance(summed, ast.BinOp) or not isinstance(summed.op, ast.Mult) or axis is None:
        return None
    others = [name for name in ("dtype", "keepdim") if argument_of(node, name, None) is not None]
    if others or len(node.args) > 1 + is_function:
        return None
    for one, other in ((summed.left, summed.right), (summed.right, summed.left)):
        binding, rows = _one_hot(at, statement, one)
        if rows is not None:
            of_classes, of_a_loss = (
                _is_of_classes(at.scope, statement, other),
                _is_of_a_loss(at.scope, statement, other),
            )
            return LookUp(node, rows, other, False, False, statement, at.scope, binding, of_classes, of_a_loss)
    return None


def _behind(scope: Scope, statement: Statement, node: ast.expr) -> ast.expr:
    """The value of a name that is assigned once."""
    binding = sole_at(node.id, statement, scope) if isinstance(node, ast.Name) else None
    return (value_of(binding) if binding is not None else None) or node


def _is_of_classes(scope: Scope, statement: Statement, node: ast.expr) -> bool:
    """Whether this is an attribute that the function does not bind: it is the same for all samples."""
    name = dotted(_behind(scope, statement, node)) or ""
    return name.startswith("self.") and name.count(".") == 1 and name not in bindings_of(scope)


def _is_of_a_loss(scope: Scope, statement: Statement, node: ast.expr) -> bool:
    """Whether this is ``F.log_softmax(x)``, or a softmax."""
    made = _behind(scope, statement, node)
    return isinstance(made, ast.Call) and terminal(made) in _SOFTMAX


def _may_be_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _one_hot(at: Place, statement: Statement, node: ast.expr) -> tuple[Statement | None, ast.Call | None]:
    """The call of ``one_hot`` that creates a value, with or without a cast, and the assignment in between."""
    binding = None
    if isinstance(node, ast.Name):
        binding = sole_at(node.id, statement, at.scope)
        node = (value_of(binding) if binding is not None else None) or node
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS:
        if at.file.names.is_bound((dotted(node.func) or "").partition(".")[0]):
            break
        node = node.func.value
    is_one = isinstance(node, ast.Call) and at.file.names.qualified(node.func) in _ONE_HOT
    return (binding, node) if is_one and isinstance(node, ast.Call) and not is_spread(node) else (None, None)


# PPF905: a product with one-hot rows, which could be a lookup.

CODE = "PPF905"
_ROWS = "`F.embedding(ids, table)` reads only the rows that are needed"
_NUMBERS = "`paddle.take_along_axis` reads only the numbers that are needed"
_OF_CLASSES = "`paddle.gather({table}, ids.flatten())`, reshaped like the ids, reads only the numbers that are needed"
_GRADIENTS = "gradients are summed in a different order, and under AMP the result keeps the dtype of the table"
_AXES = "check that the axes of the ids match those of the table"
_IN_RANGE = "ids out of range, such as an `ignore_index`, have to be masked before they are looked up"
_SMALL = "one-hot product beside a softmax"
"""The event if computing the other operand takes longer than the product."""


def _places(file: FileIndex) -> Iterator[Candidate]:
    for found in look_ups(file) if not file.is_offline else ():
        yield Candidate(found.node, found.statement.node, found, _confidence(found))


@rule(CODE, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False)
def one_hot_product(found: LookUp, context: Context) -> None:
    """Report a product of one-hot rows with a table, and a sum over one-hot rows times numbers."""
    file = context.file
    context.report(
        _fix(found, file),
        confidence=_confidence(found),
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


def _fix(found: LookUp, file: FileIndex) -> Fix:
    """The edit that looks rows up; for a sum, the user has to check which axes the numbers have."""
    title = "look up the rows" if found.is_row else "look up the numbers"
    if found.is_turned or not found.is_row:
        return Fix(title, (), Level.DISPLAY, _IN_RANGE if found.is_of_classes else _AXES)
    edits = _edits(found, file)
    return Fix(title, tuple(sorted(edits)), Level.UNSAFE if edits else Level.DISPLAY, _GRADIENTS)


def _edits(found: LookUp, file: FileIndex) -> list[Edit]:
    """The edits that write ``embedding(ids, table)``; none if the classes cannot be moved to its place."""
    ids, function, source = argument_of(found.one_hot, "x", 0), found.one_hot.func, file.source
    if ids is None or not isinstance(function, ast.Attribute) or not _may_move(found, ids, file):
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


def _may_move(found: LookUp, ids: ast.expr, file: FileIndex) -> bool:
    """Whether the classes are the same at the product, and calls that compute them have no side effects."""
    calls = [item for item in walk(ids) if isinstance(item, ast.Call)]
    if not all(only_reads(Place(file, found.scope), call, {}) for call in calls):
        return found.binding is None
    binding = found.binding
    names = plain_names(ids)
    if binding is not None and isinstance(binding.node, ast.Assign):
        names -= {ast.unparse(binding.node.targets[0])}
    return binding is None or not is_rebound_between(found.scope, names, binding, found.statement)


def _text(node: ast.expr | ast.stmt, source: Source) -> str:
    return source.text[slice(*source.lines.span(node))]
