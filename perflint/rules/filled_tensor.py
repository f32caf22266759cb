"""PPF912: a tensor of zeros that a loop in a training step fills part by part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import NoGrad
from perflint.findings import Confidence
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.evaluate import Evaluator
from perflint.flow.uses import Use, UseKind, UseSearch, uses
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.call_results import MAKERS
from perflint.rules.batch_loop import loops
from perflint.rules.grown_array import means_training
from perflint.syntax.bindings import bindings_of, bound_by, targets_and_values
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.reaching import before, sole_value
from perflint.syntax.scopes import Class, Loop, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training
from perflint.trace.lengths import passes
from perflint.training.steps import Point, points_of

RULE = shipped()["PPF912"]
_CONVERTS = frozenset({"astype", "cast", "cuda", "to"})
_WHOLE = ("int", "bool")
"""Parts of the names of types that have no gradient."""
_WITHOUT_BATCH = frozenset({"histogram", "histogramdd", "bincount"})
_PICTURES = re.compile(r"grid|visual|plot|draw|canvas|2im(?:g|age)", re.IGNORECASE)
"""Names of functions that put pictures together, for people."""
_MASK = re.compile(r"mask", re.IGNORECASE)
"""Names of tensors of zeros and ones, or of weights that come from lengths, through which no gradient goes."""
_LINEAR = "paddle.nn.Linear"
"""A layer that takes any number of axes before the last, and treats each row by itself."""
_BOUND_AND_WRITTEN = 2
"""How often a pass mentions a part that it only makes and writes."""
_FEW = 8
"""The least number of passes for which it matters, where that is known."""


def _filled(point: Point) -> Iterator[tuple[ast.Subscript, tuple[str, str]]]:
    node, loop = point.statement.node, point.statement.loop
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(loop, ast.For):
        return
    target = node.targets[0]
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and _matters(point, loop, node.value):
        name = target.value.id
        if name in plain_names(node.value) or not _is_a_part(target.slice, loop, point):
            return
        if not _is_made_before(target, loop, point) or _MASK.search(name) or _is_dropped(name, point.place):
            return
        at = points_of(point.file).get(loop)
        if at is None or not any(loops(at)):  # PPF907 says more about it
            yield target, (name, _made_by(node.value, loop, point))


@rule(
    RULE.code,
    at=At.HOT,
    find_at=_filled,
    clues=sorted(MAKERS),
    is_close=True,
    claims=False,
    heeds_claims=False,
)
def filled_tensor(found: tuple[str, str], context: Context) -> None:
    """Report ``out[:, i] = part`` in a loop, where ``out`` was made of zeros before it."""
    name, layer = found
    late = RULE.texts["late"].format(layer=layer) if layer else ""
    context.report(RULE.words(), confidence=Confidence.MEDIUM, costs_on_cpu=True, name=name, late=late)


def _made_by(part: ast.expr, loop: ast.For, point: Point) -> str:
    """The linear layer that makes a part, if no pass reads the part: the layer can make all of them after the loop."""
    made = sole_value(part, point.statement, point.scope)
    call = made[1] if made is not None else part
    if not isinstance(call, ast.Call) or Evaluator(point.file, point.full_env).kind(call.func).type != _LINEAR:
        return ""
    is_in_pass = any(item is call for item in walk(loop))
    reads = sum(isinstance(item, ast.Name) and item.id == dotted(part) for item in walk(loop))
    return dotted(call.func) or "" if is_in_pass and reads <= _BOUND_AND_WRITTEN else ""


def _matters(point: Point, loop: Loop, value: ast.expr) -> bool:
    """Whether training puts tensors with a gradient there, in a loop that may have many passes."""
    if point.step is not None and point.step.loop is loop:
        return False
    gradients = NoGrad.of(point.file.project)
    if is_no_training(point.scope.name) or _PICTURES.search(point.scope.name) or gradients.over_scope(point.function):
        return False
    predicts = any(means_training(test) is (not truth) for test, truth in point.statement.conditions)
    if predicts or gradients.over_statement(point.function, point.statement):
        return False
    if not Evaluator(point.file, point.full_env).kind(value).is_tensor or not isinstance(loop, ast.For):
        return False
    if any(isinstance(item, ast.Call) and terminal(item) in _WITHOUT_BATCH for item in walk(loop)):
        return False
    count = passes(loop.iter, point.place)
    return count is None or count >= _FEW


class _Returned(UseSearch):
    """Where a tensor gets to under its name, and as a part of what functions return."""

    def passes(self, use: Use) -> bool:
        return isinstance(use.around, ast.Tuple)

    def follows(self, use: Use) -> bool:
        return use.kind in (UseKind.BOUND, UseKind.RETURNED)

    def callers(self, use: Use) -> Iterable[CallSite] | None:
        graph, owner = CallGraph.of(use.file.project), use.scope.owner
        if use.scope.name == "forward" and owner is not None:
            return _calls_of(owner, use.file, graph) or None
        return graph.callers(use.place.function, Certainty.OVERRIDE) or None


def _calls_of(owner: Class, file: FileIndex, graph: CallGraph) -> list[CallSite]:
    """The calls of a layer, if each object of it is an attribute: ``self.decoder = Decoder()``, ``self.decoder(x)``."""
    found = []
    for there, scope, statement, made in graph.objects(file, owner):
        held = [dotted(target) for target, value in targets_and_values(statement.node) if value is made]
        if scope.owner is None or len(held) != 1:
            return []
        methods = scope.owner.methods.values()
        calls = ((method, each, call) for method in methods for each in method.statements for call in each.calls)
        found += [
            CallSite(there, method, each, call, Certainty.SURE)
            for method, each, call in calls
            if held[0] is not None and dotted(call.func) == held[0]
        ]
    return found


def _is_dropped(name: str, at: Place) -> bool:
    """Whether nothing reads a tensor, nor its part of a result: no backward pass goes through it."""
    found = (use for use in uses(name, at, through=_Returned()) if use.kind is not UseKind.BOUND)
    return all(use.kind is UseKind.ITEM and isinstance(getattr(use.around, "ctx", None), ast.Store) for use in found)


def _is_a_part(index: ast.expr, loop: ast.For, point: Point) -> bool:
    """Whether an index counts with the loop: a number or bounds, not a mask, and not the shape of this part."""
    inside = {name for item in walk(loop) if isinstance(item, ast.stmt) for name in bound_by(item)}
    counted = plain_names(loop.target) | inside
    if plain_names(index).isdisjoint(counted):
        return False
    if any(isinstance(item, ast.Attribute) and item.attr == "shape" for item in walk(index)):
        return False
    evaluator = Evaluator(point.file, point.full_env)
    indices = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(evaluator.kind(each).is_tensor for each in indices if not isinstance(each, ast.Slice))


def _is_made_before(target: ast.Subscript, loop: ast.For, point: Point) -> bool:
    """Whether a name holds a new tensor with a gradient when the loop begins, and the loop does not bind it again."""
    name = dotted(target.value) or ""
    at = next((one for one in point.scope.statements if one.node is loop), None)
    found = before(name, at, point.scope) if at is not None else []
    if f"{name}.stop_gradient" in bindings_of(point.scope):  # the mask of a loss
        return False
    if not found or any(name in bound_by(item) for item in walk(loop) if isinstance(item, ast.stmt)):
        return False
    given = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    numbers = sum(not isinstance(each, ast.Slice) for each in given)
    return all(_makes(binding.statement, name, numbers, point) for binding in found)


def _makes(statement: Statement, name: str, numbers: int, point: Point) -> bool:
    """Whether a statement makes a new tensor with more axes than ``numbers``: parts of it are not just numbers."""
    values = [value for target, value in targets_and_values(statement.node) if dotted(target) == name]
    value = values[0] if len(values) == 1 else None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _CONVERTS:
        if any(_is_whole(argument) for argument in arguments_of(value)):
            return False
        value = value.func.value
    if not isinstance(value, ast.Call) or any(map(_is_whole, arguments_of(value))):
        return False
    package, _, last = point.file.names.qualified(value.func).rpartition(".")
    shape = argument_of(value, "shape", 0)
    axes = len(shape.elts) if isinstance(shape, (ast.List, ast.Tuple)) else None
    return package == "paddle" and last in MAKERS and (axes is None or axes > numbers)


def _is_whole(argument: ast.expr) -> bool:
    """Whether an argument names a type without gradients: ``"int64"``, ``paddle.bool``."""
    name = argument.value if isinstance(argument, ast.Constant) else (dotted(argument) or "").rpartition(".")[2]
    return isinstance(name, str) and any(part in name for part in _WHOLE)
