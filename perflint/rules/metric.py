"""PPF208: a metric that is updated on the host at each training step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.findings import Confidence, Fix
from perflint.flow.calls import CallGraph
from perflint.flow.evaluate import Evaluator
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import TENSOR_TAG, UNKNOWN_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, calls_with, rule
from perflint.query import query
from perflint.rules import guard
from perflint.rules.excuses import is_untrained
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Class, Function, Scope, Statement
from perflint.syntax.tree import base_of
from perflint.syntax.vocabulary import means_metric
from perflint.training.steps import Point, Step, of_point, points_of

RULE = shipped()["PPF208"]
_METRICS = "paddle.metric."
_OF_FLUID = "paddle.fluid.metrics."
"""Metrics that raise an error for tensors: their arguments have been read."""
_HOST_LIBRARY = "sklearn.metrics."
_GIVES = frozenset({"compute", "numpy"})


def _methods(file: FileIndex) -> Iterator[Candidate]:
    """The methods of the metric classes of the project that copy values to the host, in code of steps."""
    for scope in file.scopes.scopes if points_of(file) and file.has_words("update") else ():
        owner, node = scope.owner, scope.node
        is_update = scope.name == "update" and owner is not None and owner.methods.get("update") is scope
        if not is_update or owner is None or isinstance(node, ast.Module):
            continue
        if _derives(file.project, file, owner) and _works_on_host(Place(file, scope)):
            yield Candidate(node, node)


@rule(RULE.code, at=At.ANYWHERE, find=_methods, needs_kinds=False)
def metric_method(node: Function, context: Context) -> None:
    """Claim what a metric class of the project reads in its ``update``: it is reported where the step calls it."""
    context.claim(node)


@of_point
def _confidence(point: Point, call: ast.Call) -> Confidence | None:
    """How certain it is that a call computes a metric on the host; None if it does not look like one."""
    name = dotted(call.func)
    if name is not None and point.file.names.resolve(name).startswith(_HOST_LIBRARY):
        return Confidence.HIGH
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "update" and (call.args or call.keywords):
        return _update(call, call.func.value, point)
    # ``evaluate(prediction, batch)`` and ``evaluate.get_metric()``: a metric object that is called.
    name = dotted(call.func.value) if call.func.attr == "get_metric" and not call.args else None
    return Confidence.MEDIUM if name is not None and "" in _methods_of(name, point.scope) else None


@rule(RULE.code, at=At.HOT, find_at=calls_with(_confidence), clues=["update"], is_close=True)
def metric_in_step(confidence: Confidence, context: Context) -> None:
    """Report the update of a metric, or a metric function of another library, at each training step."""
    call, step = context.node, context.running
    if step.forward and (confidence is not Confidence.HIGH or is_untrained(context.here, step.function)):
        return
    assert isinstance(call, ast.Call)
    context.report(_fix(call, context, step), confidence=confidence)


def _update(call: ast.Call, receiver: ast.expr, point: Point) -> Confidence | None:
    evaluator = Evaluator(point.file, point.full_env)
    kind = evaluator.kind(receiver)
    if kind.type.startswith(_METRICS):
        return Confidence.HIGH
    if kind.type.startswith(_OF_FLUID):
        return Confidence.HIGH if any(map(_is_read, arguments_of(call))) else None
    project = point.file.project
    found = Modules.of(project).class_named(kind.type) if kind.type else None
    if found is not None:
        method = Modules.of(project).method(kind.type, "update")
        on_host = method is None or _works_on_host(method)
        return Confidence.HIGH if on_host and _derives(project, *found) else None
    # An ``update`` with a tensor makes an unknown object a container of tensors.
    if kind.tag not in (UNKNOWN_TAG, TENSOR_TAG) or not means_metric(_base_name(receiver).rpartition(".")[2]):
        return None
    if not any(_holds_a_tensor(argument, evaluator) for argument in arguments_of(call)):
        return None
    named = {keyword.arg for keyword in call.keywords}
    called = _methods_of(_base_name(receiver), point.scope)
    return Confidence.MEDIUM if named == {"preds", "labels"} or called & {"accumulate", "compute"} else None


def _holds_a_tensor(node: ast.expr, evaluator: Evaluator) -> bool:
    """Whether a tensor is given to a metric: directly, read on the spot, or by the metric's own ``compute``."""
    if evaluator.kind(node).is_tensor or (isinstance(node, ast.Name) and evaluator.kind(node).tag == UNKNOWN_TAG):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GIVES


def _is_read(node: ast.expr) -> bool:
    """Whether an argument is a read of a tensor: ``loss.numpy()``, ``loss.numpy()[0]``."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy"


def _base_name(receiver: ast.expr) -> str:
    """The dotted name of an object, or of the list or dict that contains it."""
    return dotted(base_of(receiver)) or ""


def _methods_of(name: str, scope: Scope) -> set[str]:
    """The methods that a scope calls on a dotted name or on its items (``""``: the object itself)."""
    found = set()
    for call in scope.calls:
        if dotted(call.func) == name and call.args:
            found.add("")
        elif isinstance(call.func, ast.Attribute) and name and _base_name(call.func.value) == name:
            found.add(call.func.attr)
    return found


def _derives(project: Project, file: FileIndex, owner: Class) -> bool:
    """Whether a project class is a ``paddle.metric.Metric``."""
    return any(base.startswith(_METRICS) for base in Hierarchy.of(project).base_names(file, owner))


@query(cycle=False)
def _works_on_host(at: Place) -> bool:
    """Whether an ``update`` of the project copies its argument, rather than only reading a number of it."""
    for call in at.scope.calls:
        name = dotted(call.func) or ""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy":
            return True
        if at.file.names.resolve(name).startswith(("numpy.", "seqeval.metrics.", _HOST_LIBRARY)):
            return True
    graph = CallGraph.of(at.file.project)
    return any(_works_on_host(called) for call in at.scope.calls for called in graph.reached(at, call))


def _fix(call: ast.Call, context: Context, step: Step) -> Fix:
    if step.forward:
        return RULE.words("in a model")
    fix = RULE.words("new metric", nth=guard.ordinal(context.settings.log_interval))
    return fix if _is_made_at_each_step(call, context) else guard.sample_fix(fix.message, guard.BATCHES, "", context)


def _is_made_at_each_step(expression: ast.Call, context: Context) -> bool:
    """Whether the step creates or resets the metric itself, so that without the update it would be empty."""
    point = context.here
    if not isinstance(expression.func, ast.Attribute):
        return False
    name = _base_name(expression.func.value)
    loop, known = point.loop, point.scope.once("made or reset", lambda: _made_or_reset(point.scope))
    if any(loop is None or made.is_in(loop) for made in known.get(name, ())):
        return True
    return any(reset.place is point.statement.place for reset in known.get(f"{name}.reset", ()))


def _made_or_reset(scope: Scope) -> dict[str, list[Statement]]:
    """The statements that assign to a name, and under ``name.reset`` those that call its method."""
    found: dict[str, list[Statement]] = {}
    for statement in scope.statements:
        targets = statement.node.targets if isinstance(statement.node, ast.Assign) else []
        called = (name for call in statement.calls if (name := dotted(call.func) or "").endswith(".reset"))
        for name in {*filter(None, map(dotted, targets)), *called}:
            found.setdefault(name, []).append(statement)
    return found
