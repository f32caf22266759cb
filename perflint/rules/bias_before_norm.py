"""PPF903: a convolution whose bias the following batch norm cancels."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeGuard

from perflint.catalogue import shipped
from perflint.findings import Confidence, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules.edits import WithArgument
from perflint.rules.width_chain import SEQUENTIAL, layer_in
from perflint.syntax.bindings import plain_assignment
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import Class, Statement, terminal
from perflint.syntax.tree import calls_in, walk
from perflint.training.intent import only_predicts

# Finds convolutions with a bias that the following batch norm removes again with the mean.

_CONVOLUTIONS = frozenset(f"paddle.nn.Conv{size}D{kind}" for size in (1, 2, 3) for kind in ("", "Transpose"))
BIAS_AT = dict.fromkeys(_CONVOLUTIONS, 9)
"""Layers whose bias is added to large arrays, and the position of ``bias_attr``; the rows of ``Linear`` are few."""
_NORMS = frozenset(
    f"paddle.nn.{name}" for name in ("BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "SyncBatchNorm")
)
_A_NORM = re.compile(r"BatchNorm")
_PARTS = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Bias:
    """A layer whose bias the following norm subtracts again: its call, its statement, the norm's call."""

    layer: ast.Call
    norm: ast.Call
    statement: Statement


@query
def biases_before_norm(file: FileIndex) -> tuple[Bias, ...]:
    """The layers of a file that have a bias and whose output only goes into a batch norm."""
    if not file.has("paddle") or not file.matches(_A_NORM):
        return ()
    found = [*_in_sequences(file)]
    owners = {scope.owner for scope in file.scopes.scopes if scope.owner is not None}
    for owner in owners:
        found += _in_class(file, owner)
    return tuple({item.layer: item for item in found}.values())


def _in_sequences(file: FileIndex) -> Iterator[Bias]:
    """The neighbours in ``nn.Sequential(nn.Conv2D(...), nn.BatchNorm2D(...))``."""
    for _, statement, call in file.calls:
        is_sequence = file.names.qualified(call.func) == SEQUENTIAL
        for one, other in pairwise(map(layer_in, call.args if is_sequence else ())):
            if _has_bias(one, file) and _is_norm(other, file):
                yield Bias(one, other, statement)


def _has_bias(node: ast.expr, file: FileIndex) -> TypeGuard[ast.Call]:
    """Whether a call creates a layer with the default bias."""
    if not isinstance(node, ast.Call) or is_spread(node):
        return False
    position = BIAS_AT.get(file.names.qualified(node.func))
    if position is None or argument_of(node, "bias", None) is not None:
        return False
    return argument_of(node, "bias_attr", position) is None


def _is_norm(node: ast.expr, file: FileIndex) -> TypeGuard[ast.Call]:
    """Whether a call creates a batch norm that uses the mean of each batch."""
    if not isinstance(node, ast.Call) or is_spread(node):
        return False
    is_one = file.names.qualified(node.func) in _NORMS
    return is_one and argument_of(node, "use_global_stats", None) is None


def _in_class(file: FileIndex, owner: Class) -> Iterator[Bias]:
    """The layers of a class that it calls with a batch norm right after."""
    made = {name: value for name, [(value, _), *others] in owner.attributes.items() if not others}
    biased = {name: value for name, value in made.items() if _has_bias(value, file)}
    norms = {name: value for name, value in made.items() if _is_norm(value, file)}
    if not biased or not norms:
        return
    methods = [scope.node for scope in owner.methods.values()]
    reads = Counter(name for node in methods for item in walk(node) if (name := _own_attribute(item)))
    makers = _makers(owner)
    for first, second in _calls_in_turn(methods, set(biased), set(norms)):
        layer, norm = biased[first], norms[second]
        if reads[first] == 1 and layer in makers:
            yield Bias(layer, norm, makers[layer])


def _makers(owner: Class) -> dict[ast.Call, Statement]:
    """The calls in the methods of a class, each with its statement."""
    return {call: one for scope in owner.methods.values() for one in scope.statements for call in one.calls}


def _own_attribute(item: ast.AST) -> str:
    """The attribute of ``self`` that an expression reads, ``""`` for any other."""
    if not isinstance(item, ast.Attribute) or not isinstance(item.ctx, ast.Load):
        return ""
    return item.attr if dotted(item.value) == "self" else ""


def _calls_in_turn(methods: Iterable[ast.AST], first: set[str], second: set[str]) -> Iterator[tuple[str, str]]:
    """Pairs of layers, the second called with the result of the first: ``self.bn(self.conv(x))``, or in two rows."""
    for method in methods:
        for item in walk(method):
            if isinstance(item, ast.Call) and _called(item) in second and item.args:
                given = _called(item.args[0])
                if given in first:
                    yield given, _called(item)
            for part in _PARTS:
                block = getattr(item, part, None)
                if isinstance(block, list):
                    yield from _rows_in_turn(method, block, first, second)


def _rows_in_turn(
    method: ast.AST, block: list[ast.stmt], first: set[str], second: set[str]
) -> Iterator[tuple[str, str]]:
    """``x = self.conv(x)`` and ``x = self.bn(x)`` below it, if nothing else reads the result of the first."""
    for one, other in pairwise(block):
        name, value = plain_assignment(one) or ("", None)
        call = _call_of(other, second) if value is not None and _called(value) in first else None
        if call is None or value is None or dotted(call.args[0]) != name:
            continue
        is_replaced = isinstance(other, ast.Assign) and [dotted(target) for target in other.targets] == [name]
        reads = sum(
            isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in walk(method)
        )
        in_row = sum(isinstance(item, ast.Name) and item.id == name for item in walk(other)) - is_replaced
        if (is_replaced and in_row == 1) or reads == 1:
            yield _called(value), _called(call)


def _call_of(statement: ast.stmt, names: set[str]) -> ast.Call | None:
    """The call of one of some layers in a statement, directly or inside other calls: ``F.relu(self.bn(x))``."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.Return, ast.Expr)) else None
    calls = calls_in(value) if value is not None else []
    found = [call for call in calls if _called(call) in names and call.args]
    return found[0] if len(found) == 1 else None


def _called(node: ast.AST) -> str:
    """The name of the layer of ``self`` that a call calls, ``""`` for anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) and dotted(func.value) == "self" else ""


# PPF903: a convolution whose bias the following batch norm cancels.

RULE = shipped()["PPF903"]
_LOADED = ("pretrained", "load_dygraph_pretrain", "set_state_dict", "set_dict", "load_dict", "load_pretrained_model")


def _places(file: FileIndex) -> Iterator[Candidate]:
    for found in biases_before_norm(file) if not file.is_offline else ():
        yield Candidate(found.layer, found.statement.node, found, _confidence(file))


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False)
def bias_before_norm(found: Bias, context: Context) -> None:
    """Report a layer that is created with a bias and followed by a batch norm."""
    file = context.file
    edits = context.edits(WithArgument(found.layer, "bias_attr=False"))
    context.report(
        RULE.fix(edits, Level.UNSAFE if edits else Level.DISPLAY, RULE.texts["reason"]),
        related=(Related(file.path, file.row(found.norm), "the batch norm"),),
        confidence=_confidence(file),
        costs_on_cpu=True,
        layer=terminal(found.layer) or "",
        norm=terminal(found.norm) or "",
    )


def _confidence(file: FileIndex) -> Confidence:
    """Low if the file loads weights, which were saved with the bias, or belongs to code that only predicts."""
    return Confidence.LOW if file.has_words(*_LOADED) or only_predicts(file) else Confidence.HIGH
