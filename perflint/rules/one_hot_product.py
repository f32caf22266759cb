"""PPF905: a product with one-hot rows, which could be a lookup."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.facts.effects import only_reads
from perflint.facts.gradient_graphs import NoGrad
from perflint.findings import Confidence, Edits, Fix
from perflint.flow.calls import CallGraph, Certainty
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules.edits import whole_rows
from perflint.syntax.bindings import bindings_of, is_rebound_between, mentions_in, other_reads
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.reaching import sole_value
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import calls_in
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
    found = (
        _product(Place(file, scope), statement, node) or _sum(Place(file, scope), statement, node)
        for scope, statement in file.statements
        for node in statement.nodes
    )
    return tuple(each for each in found if each is not None and _matters(file, each))


def _matters(file: FileIndex, found: LookUp) -> bool:
    """Whether training may run a product repeatedly: not with gradients off, and not once in an ``__init__``."""
    at, no_grad = Place(file, found.scope), NoGrad.of(file.project)
    if no_grad.over_statement(at, found.statement) or no_grad.over_scope(at):
        return False
    return not only_predicts(file) and not _runs_once(at)


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
    asked = {name.removeprefix(".") for name in mentions_in(scope) if name.startswith(".")}
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
            of = _behind(at.scope, statement, other)
            is_of_a_loss = isinstance(of, ast.Call) and terminal(of) in _SOFTMAX
            kinds = _is_of_classes(at.scope, of), is_of_a_loss
            return LookUp(node, rows, other, False, False, statement, at.scope, binding, *kinds)
    return None


def _behind(scope: Scope, statement: Statement, node: ast.expr) -> ast.expr:
    """The value of a name that is assigned once."""
    made = sole_value(node, statement, scope)
    return made[1] if made is not None else node


def _is_of_classes(scope: Scope, node: ast.expr) -> bool:
    """Whether this is an attribute that the function does not bind: it is the same for all samples."""
    name = dotted(node) or ""
    return name.startswith("self.") and name.count(".") == 1 and name not in bindings_of(scope)


def _may_be_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _one_hot(at: Place, statement: Statement, node: ast.expr) -> tuple[Statement | None, ast.Call | None]:
    """The call of ``one_hot`` that creates a value, with or without a cast, and the assignment in between."""
    binding, node = sole_value(node, statement, at.scope) or (None, node)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS:
        if at.file.names.is_bound((dotted(node.func) or "").partition(".")[0]):
            break
        node = node.func.value
    is_one = isinstance(node, ast.Call) and at.file.names.qualified(node.func) in _ONE_HOT
    return (binding, node) if is_one and isinstance(node, ast.Call) and not is_spread(node) else (None, None)


# PPF905: a product with one-hot rows, which could be a lookup.

RULE = shipped()["PPF905"]
_SMALL = "one-hot product beside a softmax"
"""The event if computing the other operand takes longer than the product."""


def _places(file: FileIndex) -> Iterator[Candidate]:
    for found in look_ups(file) if not file.is_offline else ():
        yield Candidate(found.node, found.statement.node, found, _confidence(found))


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False)
def one_hot_product(found: LookUp, context: Context) -> None:
    """Report a product of one-hot rows with a table, and a sum over one-hot rows times numbers."""
    context.report(
        _fix(found, context),
        confidence=_confidence(found),
        costs_on_cpu=True,
        event=_SMALL if found.is_of_a_loss else "",
        advice=_advice(found, context.file.source),
    )


def _confidence(found: LookUp) -> Confidence:
    return Confidence.LOW if asks_for_gradients_of_inputs(found.scope) else Confidence.HIGH


def _advice(found: LookUp, source: Source) -> str:
    if found.is_row:
        return RULE.texts["rows"]
    return RULE.texts["of classes" if found.is_of_classes else "numbers"].format(table=source.code(found.table))


def _fix(found: LookUp, context: Context) -> Fix:
    """The edit that looks rows up; for a sum, the user has to check which axes the numbers have."""
    if found.is_row and found.is_turned:
        return RULE.words("turned")
    if not found.is_row:
        return RULE.words("classes" if found.is_of_classes else "axes")
    edits = _edits(found, context)
    return RULE.fix(sorted(edits)) if edits else RULE.words()


def _edits(found: LookUp, context: Context) -> Edits:
    """The edits that write ``embedding(ids, table)``; none if the classes cannot be moved to its place."""
    ids, function, source = argument_of(found.one_hot, "x", 0), found.one_hot.func, context.file.source
    if ids is None or not isinstance(function, ast.Attribute) or not _may_move(found, ids, context.file):
        return ()
    called = f"{source.code(function.value)}.embedding({source.code(ids)}, {source.code(found.table)})"
    edits, binding = context.instead(found.node, called), found.binding
    if binding is None or not isinstance(binding.node, ast.Assign):
        return edits
    name = ast.unparse(binding.node.targets[0])
    if other_reads(found.scope, name, binding, found.statement):
        return () if name in plain_names(ids) else edits
    if binding.place is not found.statement.place or "#" in source.code(binding.node):
        return ()
    return whole_rows(*source.lines.span(binding.node), source), *edits


def _may_move(found: LookUp, ids: ast.expr, file: FileIndex) -> bool:
    """Whether the classes are the same at the product, and calls that compute them have no side effects."""
    if not all(only_reads(Place(file, found.scope), call, {}) for call in calls_in(ids)):
        return found.binding is None
    binding = found.binding
    names = plain_names(ids)
    if binding is not None and isinstance(binding.node, ast.Assign):
        names -= {ast.unparse(binding.node.targets[0])}
    return binding is None or not is_rebound_between(found.scope, names, binding, found.statement)
