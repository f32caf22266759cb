"""PPF206: a tensor read to the host at each step and sent straight back."""

from __future__ import annotations

import ast
from bisect import bisect_right
from itertools import islice

import libcst as cst

from perflint.checks import round_trip_fix as fixes
from perflint.checks.arguments import find_argument
from perflint.checks.round_trip_fix import Trip
from perflint.checks.single_tensor import Evidence
from perflint.checks.tensor_reads import certainty, tensor_read_by
from perflint.checks.to_tensor import NAMES, makes_tensor
from perflint.facts import origin as origins
from perflint.findings import Edit, Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import forward_triggers, step_check, step_triggers
from perflint.syntax.bindings import loads_of
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement
from perflint.training.steps import Step

CODE = "PPF206"
_READS = frozenset({"numpy", "cpu", "item", "tolist", "array", "asarray"})

step_triggers[CODE] |= _READS
forward_triggers[CODE] |= _READS

_ARRAYS = frozenset({"numpy.array", "numpy.asarray"})


@step_check("Call", forward=True)
def back_and_forth(call: cst.Call, context: Context, step: Step) -> None:
    """Report ``paddle.to_tensor(x.numpy())`` and ``x.cpu().cuda()`` at their read."""
    if makes_tensor(call, context):
        data = find_argument(call, "data", 0) or find_argument(call, "value", 0)
        trip = _trip(data.value, context) if data is not None and not data.star else None
        fix = fixes.on_device_copy(call, trip, context) if trip is not None else None
    else:
        trip = _to_the_cpu_and_back(call, context)
        fix = fixes.stay(call, trip, context) if trip is not None else None
    if trip is not None:
        confidence = certainty(trip.tensor, context)
        context.report(CODE, trip.read, fix, step, confidence=confidence, tensor=context.text(trip.tensor))


@step_check("Assign", forward=True)
def by_a_name(node: cst.Assign, context: Context, step: Step) -> None:
    """Report ``a = x.numpy()`` where ``paddle.to_tensor(a)`` is all that is done with ``a``."""
    target = node.targets[0].target
    trip = _trip(node.value, context) if isinstance(target, cst.Name) and len(node.targets) == 1 else None
    if trip is None or not isinstance(target, cst.Name):
        return
    back = _sent_back(target.value, context)
    if back is not None:
        kept = Edit(*context.range(node.value), fixes.copy_of(trip, context))
        fix = Fix(fixes.TITLE, (kept, back), Level.DISPLAY, "what else uses the name must be able to hold a tensor")
        confidence = certainty(trip.tensor, context)
        context.report(CODE, trip.read, fix, step, confidence=confidence, tensor=context.text(trip.tensor))


def _trip(node: cst.BaseExpression, context: Context) -> Trip | None:
    """The read inside an expression that does nothing else but give the values a dtype or a shape."""
    steps: list[str] = []
    while isinstance(node, cst.Call):
        tensor = tensor_read_by(node, context)
        if tensor is not None:
            return Trip(node, tensor, tuple(reversed(steps))) if _is_a_copy(node, tensor, context) else None
        if context.name(node.func) in _ARRAYS and node.args and not node.args[0].star:
            dtype = find_argument(node, "dtype", 1)
            if len(node.args) > 1 + (dtype is not None):
                return None
            steps += [f".astype({context.text(dtype.value)})"] if dtype is not None else []
            node = node.args[0].value
        else:
            step = _step(node, context)
            if step is None or not isinstance(node.func, cst.Attribute):
                return None
            steps.append(step)
            node = node.func.value
    return None


def _step(call: cst.Call, context: Context) -> str | None:
    """``.astype(dtype)`` or ``.reshape([sizes])``, as a tensor has them too; None for other calls."""
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if not call.args or any(argument.star or argument.keyword is not None for argument in call.args):
        return None
    texts = [context.text(argument.value) for argument in call.args]
    if method == "astype" and len(texts) == 1:
        return f".astype({texts[0]})"
    if method == "reshape":
        listed = len(texts) == 1 and isinstance(call.args[0].value, (cst.List, cst.Tuple))
        return f".reshape({texts[0] if listed else '[' + ', '.join(texts) + ']'})"
    return None


def _is_a_copy(read: cst.Call, tensor: cst.BaseExpression, context: Context) -> bool:
    """Whether a read gives all values of the tensor as they are (``np.mean`` gives one)."""
    if context.name(read.func) in _ARRAYS:
        # Something that is only named like a loader may well give arrays, which `np.array` does not read.
        node, point = context.expression(tensor), context.point
        if node is None or point is None or len(read.args) != 1 or Evidence(point).is_listed(node):
            return False
        return origins.origin(node, point).kind != origins.BATCH
    return isinstance(read.func, cst.Attribute) and read.func.attr.value in ("numpy", "item", "tolist")


def _to_the_cpu_and_back(call: cst.Call, context: Context) -> Trip | None:
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "cuda" or call.args:
        return None  # (`x.cpu().cuda(1)` is on its way to another device)
    inner = call.func.value
    if not isinstance(inner, cst.Call) or not isinstance(inner.func, cst.Attribute) or inner.func.attr.value != "cpu":
        return None
    tensor = tensor_read_by(inner, context)
    return Trip(inner, tensor, ()) if tensor is not None else None


def _sent_back(name: str, context: Context) -> Edit | None:
    """The edit of the ``to_tensor(name)`` that is the only use of a name until it is bound again."""
    point = context.point
    if point is None:
        return None
    back: ast.Call | None = None
    loads = loads_of(point.scope).get(name, [])
    for statement, count in islice(
        loads, bisect_right(loads, _at(point.statement), key=lambda load: _at(load[0])), None
    ):
        if back is None:
            back = _only_call(name, statement, context) if statement.place is point.statement.place else None
            if back is None or count > 1:
                return None
            if isinstance(statement.node, ast.Assign) and any(dotted(item) == name for item in statement.node.targets):
                break
        else:
            return None
    if back is None:
        return None
    return Edit(*context.file.source.lines.span(back), name)


def _at(statement: Statement) -> tuple[int, int]:
    return statement.node.lineno, statement.node.col_offset


def _only_call(name: str, statement: Statement, context: Context) -> ast.Call | None:
    for call in statement.calls:
        made = (
            context.file.names.resolve(dotted(call.func) or "") in NAMES and len(call.args) == 1 and not call.keywords
        )
        if made and dotted(call.args[0]) == name:
            return call
    return None
