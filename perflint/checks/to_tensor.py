"""PPF205: a tensor made of host data at each step, or of constants in each forward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks import to_tensor_fix
from perflint.checks.arguments import find_argument
from perflint.checks.single_tensor import Evidence
from perflint.checks.truth_places import required
from perflint.checks.untrained import is_untrained
from perflint.context import Context, shorten
from perflint.findings import Confidence
from perflint.index import origin as origins
from perflint.index.file import Point
from perflint.index.names import dotted
from perflint.index.origin import Origin
from perflint.index.scopes import FUNCTIONS
from perflint.registry import check, triggers

CODE = "PPF205"
NAMES = frozenset({"paddle.to_tensor", "paddle.Tensor", "paddle.to_variable"}) | {
    f"paddle.{home}.dygraph{place}.to_variable" for home in ("fluid", "base") for place in ("", ".base")
}
_CALLS = frozenset({"to_tensor", "to_variable", "Tensor"})

triggers(CODE, _CALLS)
triggers(CODE, _CALLS, forward=True)

_MESSAGES = {
    "literal": "`{what}` copies a constant to the device at {where}; write a Python number, or make it there with "
    "`paddle.full`.",
    "filled": "`{what}` copies a number to the device at {where}; make the tensor there with `paddle.full`.",
    "invariant": "`{what}` copies the same values to the device at {where}; make the tensor once, {once}.",
    "made": "`{what}` copies an array to the device that NumPy fills at {where}; fill the tensor there, with "
    "`paddle.ones` and its kind.",
    "random": "`{what}` copies random numbers to the device at {where}; draw them there, or in the dataset.",
    "number": "`{what}` copies a Python number to the device at {where}; use the number itself.",
    "batch": "`{what}` copies a batch to the device while training waits, at {where}; let a `DataLoader` make the "
    "tensors, in the background (what it gives needs no copy).",
    "copy": "`{what}` copies a batch at {where}; a `DataLoader` gives tensors, so use its batches as they are.",
    "cast": "`{what}` copies a batch, only to cast it, at {where}; a `DataLoader` gives tensors, so write "
    "`.astype({dtype})`, or give them that dtype in the dataset.",
    "read": "`{what}` sends back to the device at {where} what was just read from it; keep it there with `.detach()`.",
    "tensor": "`{what}` copies a tensor at {where}; use `.detach()`, or the tensor as it is.",
    "host": "`{what}` copies what the host has worked out to the device at {where}; work it out there, or in the "
    "dataset.",
    "unknown": "`{what}` makes a tensor of host data at {where}; make it once, or in the dataset.",
}
_ONCE = "before the loop"
_ONCE_IN_FORWARD = "in `__init__` with `register_buffer`"
_IN_FORWARD = frozenset({origins.LITERAL, origins.INVARIANT, origins.MADE})
_HIGH = frozenset({origins.LITERAL, origins.INVARIANT, origins.MADE, origins.READ})
_MEDIUM = frozenset({origins.RANDOM, origins.NUMBER, origins.BATCH, "copy", "cast"})
_EMPTY = frozenset({"len", "any", "numel", "size", "sum"})


def makes_tensor(call: cst.Call, context: Context) -> bool:
    """Whether a call makes a tensor of host data, under one of the names that the gate knows."""
    last = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return isinstance(last, cst.Name) and last.value in _CALLS and context.callee(call) in NAMES


@check(cst.Call)
def to_tensor(call: cst.Call, context: Context) -> None:
    """Report a call that moves host data to the device at each step."""
    step, point = context.hot, context.point
    if step is None or point is None or not makes_tensor(call, context):
        return
    data = find_argument(call, "data", 0) or find_argument(call, "value", 0)
    node = context.expression(data.value) if data is not None and not data.star else None
    if data is None or node is None or _is_empty(node):
        return
    found = origins.origin(node, point)
    dtype = find_argument(call, "dtype", 1)
    kind = context.kind(data.value)
    if found.kind == origins.BATCH and kind.is_tensor:
        if context.text(call.func).endswith("to_variable") and not kind.guess:
            return  # it gives a tensor back as it is
        if not kind.guess:  # a name that ends in "loader" may well be a reader of arrays
            found = Origin("copy" if dtype is None else "cast", found.sure)
    if step.forward and (found.kind not in _IN_FORWARD or _is_measure(point) or is_untrained(point, step.function)):
        return
    if context.file.runs_on_cpu and found.kind == origins.READ:
        return
    confidence = _confidence(found, call, node, context)
    # The read inside a round trip is a finding of its own: the two stand side by side.
    place = call.func if found.kind in (origins.READ, origins.HOST) else call
    what = context.text(call.func) + "(...)" if place is not call else shorten(context.text(call))
    context.report(
        CODE,
        place,
        to_tensor_fix.fix(call, data, _fixed_as(found, call, context), context),
        step,
        confidence=confidence,
        claims=False,
        message=_MESSAGES[_said_of(found, call, node, context)],
        once=_ONCE_IN_FORWARD if step.forward else _ONCE,
        what=what,
        dtype=context.text(dtype.value) if dtype is not None else "",
    )


def _confidence(found: Origin, call: cst.Call, node: ast.expr, context: Context) -> Confidence:
    point = context.point
    assert point is not None
    if found.kind == origins.LITERAL and (_is_fallback(node, point) or _in_conditional(context)):
        return Confidence.LOW
    if point.step is not None and point.step.forward and _waits_for_an_argument(point):
        return Confidence.LOW
    if found.kind in _HIGH:
        return Confidence.HIGH if found.sure else Confidence.MEDIUM
    if found.kind not in _MEDIUM or acts(point) or _comes_from_dali(point):
        return Confidence.LOW
    # A place or a gradient is a reason to make a tensor of one's own.
    wanted = any(find_argument(call, name, None) for name in ("place", "stop_gradient"))
    return Confidence.LOW if wanted and found.kind in ("copy", "cast", origins.BATCH) else Confidence.MEDIUM


def acts(point: Point) -> bool:
    """Whether an environment is stepped beside the statement: its observations have to be brought to the device."""
    return any(
        (dotted(call.func) or "").endswith(".step") and "env" in (dotted(call.func) or "").rpartition(".")[0].lower()
        for statement in point.scope.statements
        for call in statement.calls
    )


def _is_fallback(node: ast.expr, point: Point) -> bool:
    """Whether zeros stand in a branch: what a batch without targets, or the like, gets for a loss."""
    values = [item.value for item in ast.walk(node) if isinstance(item, ast.Constant)]
    links = point.statement.place.chain() if point.statement.place else iter(())
    branch = next((link.node for link in links if isinstance(link.node, ast.If) and link.branch != "after"), None)
    return branch is not None and not any(values) and _asks_for_emptiness(branch.test)


def _asks_for_emptiness(test: ast.expr) -> bool:
    for item in ast.walk(test):
        if isinstance(item, ast.Compare):
            sides = [item.left, *item.comparators]
            if any(isinstance(side, ast.Constant) and side.value in (0, 1, None) for side in sides):
                return True
        if isinstance(item, ast.Call):
            name = item.func.attr if isinstance(item.func, ast.Attribute) else dotted(item.func)
            if name in _EMPTY:
                return True
    return isinstance(test, ast.UnaryOp)


def _comes_from_dali(point: Point) -> bool:
    """Whether NVIDIA's loader made the batch: it fills memory of the device itself, and has to be wrapped."""
    if "nvidia" in point.file.names.packages:
        return True
    links = point.statement.place.chain() if point.statement.place else iter(())
    tests = [link.node.test for link in links if isinstance(link.node, ast.If)]
    return any("dali" in ast.unparse(test).lower() for test in tests)


def _waits_for_an_argument(point: Point) -> bool:
    """Whether a statement of a forward pass runs only with an argument that a call may leave out."""
    evidence = Evidence(point)
    links = point.statement.place.chain() if point.statement.place else iter(())
    return any(
        isinstance(link.node, ast.If)
        and link.branch == "body"
        and any(evidence.is_handed_over(part) for part in required(link.node.test))
        for link in links
    )


def _in_conditional(context: Context) -> bool:
    """Whether the call is one side of ``a if b else c``, or in a function that stands in for one."""
    return any(isinstance(parent, cst.IfExp) for parent in context.parents)


def _said_of(found: Origin, call: cst.Call, node: ast.expr, context: Context) -> str:
    """Which sentence an origin gets: what it advises has to work where the call stands."""
    point = context.point
    if found.kind == origins.LITERAL and point is not None and _differs(node, point):
        return origins.INVARIANT
    if found.kind in (origins.LITERAL, origins.NUMBER) and _must_be_tensor(call, context):
        return "filled"
    return found.kind


def _fixed_as(found: Origin, call: cst.Call, context: Context) -> str:
    return "filled" if found.kind == origins.NUMBER and _must_be_tensor(call, context) else found.kind


def _must_be_tensor(call: cst.Call, context: Context) -> bool:
    """Whether a call of Paddle takes the tensor: ``paddle.where`` and ``paddle.divide`` want one, not a number."""
    inner: cst.CSTNode = call
    for parent in reversed(context.parents):
        if isinstance(parent, cst.BinaryOperation):
            other = parent.right if inner is parent.left else parent.left
            if context.kind(other).is_tensor:
                return False  # tensor and number make a tensor
        elif isinstance(parent, cst.Call):
            return parent.func is not inner and context.name(parent.func).startswith("paddle.")
        elif not isinstance(parent, (cst.Arg, cst.UnaryOperation)):
            return False
        inner = parent
    return False


def _differs(node: ast.expr, point: Point) -> bool:
    """Whether a constant is a list of unlike values: neither a number nor ``paddle.full`` can stand for it."""
    name = dotted(node)
    literals = [node] if name is None else [value for value in _bound_to(name, point) if not _uses(value, name)]
    return any(len(set(_leaves(value))) > 1 for value in literals)


def _bound_to(name: str, point: Point) -> Iterator[ast.expr]:
    """What a name is bound to in the function, however often, or else in the module."""
    here = [item.node.value for item in point.scope.statements if _binds(item.node, name)]  # type: ignore[attr-defined]
    definition = point.file.project.definitions(point.file, point.scope).get(name)
    yield from here or ([definition] if definition is not None else [])


def _binds(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(dotted(target) == name for target in node.targets)


def _uses(value: ast.expr, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(value))


def _leaves(node: ast.expr) -> Iterator[str]:
    for part in node.elts if isinstance(node, (ast.List, ast.Tuple)) else ():
        yield from _leaves(part) if isinstance(part, (ast.List, ast.Tuple)) else (ast.unparse(part),)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and not node.elts


def _is_measure(point: Point) -> bool:
    """Whether a forward pass belongs to a metric, which evaluation runs."""
    owner = point.scope.owner
    names = [*point.file.parts, owner.name if owner is not None else ""]
    return any(word in name.lower() for name in names for word in ("metric", "evaluat")) or not isinstance(
        point.scope.node, FUNCTIONS
    )
