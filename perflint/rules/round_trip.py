"""PPF206: a tensor read to the host at each step and sent straight back."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from perflint.catalogue import shipped
from perflint.facts import origin as origins
from perflint.facts.programs import is_for_paddle_1
from perflint.findings import Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.lint.statement_code import Instead
from perflint.paddle.tensor_methods import ARRAY_FUNCTIONS, COPYING_METHODS, QUALIFIED_ARRAY_FUNCTIONS, READ_METHODS
from perflint.rules.edits import on_device, source_of
from perflint.rules.tensor_reads import Evidence, certainty, tensor_read_by
from perflint.rules.to_tensor import CALLS, NAMES, data_of, makes_tensor
from perflint.syntax.bindings import bound_by, loads_of, plain_assignment
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Statement, terminal
from perflint.training.evidence import terminal_names
from perflint.training.steps import Point

RULE = shipped()["PPF206"]
_READS = COPYING_METHODS | ARRAY_FUNCTIONS


_SAFE_STEP = re.compile(r"""\.astype\(["'](float32|float64|float16)["']\)|\.reshape\([\[(][-\d, ]+[\])]\)""")
_ELSEWHERE = re.compile(r"CPUPlace|\.cpu\(\)|\bplaces\s*=|\bplace\s*=|pin_memory|set_device\(\s*[\"']cpu|device_guard")
_OTHERS = frozenset({"torch", "tensorflow", "mxnet", "jax", "mindspore"})


@dataclass(frozen=True)
class Trip:
    """``read`` copies ``tensor`` to the host; ``steps`` are calls (``.astype("float32")``) on its way back."""

    read: ast.Call
    tensor: ast.expr
    steps: tuple[str, ...]


@rule(RULE.code, at=At.HOT, calls=CALLS | {"cuda"}, clues=_READS, is_close=True)
def back_and_forth(call: ast.Call, context: Context) -> None:
    """Report ``paddle.to_tensor(x.numpy())`` and ``x.cpu().cuda()`` at their read."""
    if makes_tensor(call, context):
        data = data_of(call)
        trip = _trip(data, context) if data is not None else None
        fix = _on_device_copy(call, trip, context) if trip is not None else None
    else:
        trip = _to_the_cpu_and_back(call, context)
        fix = _stay(call, trip, context) if trip is not None else None
    if trip is not None:
        confidence = certainty(trip.tensor, context)
        context.report(fix, trip.read, confidence=confidence, tensor=context.text(trip.tensor))


def _bound_reads(point: Point) -> Iterator[ast.Assign]:
    node = point.statement.node
    if isinstance(node, ast.Assign) and not _READS.isdisjoint(terminal_names(point.statement)):
        yield node


@rule(RULE.code, at=At.HOT, find_at=_bound_reads)
def by_a_name(node: ast.Assign, context: Context) -> None:
    """Report ``a = x.numpy()`` if ``paddle.to_tensor(a)`` is the only use of ``a``."""
    name, value = plain_assignment(node) or ("", None)
    trip = _trip(value, context) if value is not None else None
    back = _sent_back(name, context) if trip is not None else None
    if trip is not None and back is not None:
        kept = Instead(node.value, _copy_of(trip, context))
        fix = replace(RULE.words("by a name"), edits=context.edits(kept, back))
        confidence = certainty(trip.tensor, context)
        context.report(fix, trip.read, confidence=confidence, tensor=context.text(trip.tensor))


def _trip(node: ast.expr, context: Context) -> Trip | None:
    """The read inside an expression that otherwise only changes the dtype or the shape."""
    steps: list[str] = []
    while isinstance(node, ast.Call):
        tensor = tensor_read_by(node, context)
        if tensor is not None:
            return Trip(node, tensor, tuple(reversed(steps))) if _is_a_copy(node, tensor, context) else None
        is_array = context.name(node.func) in QUALIFIED_ARRAY_FUNCTIONS
        if is_array and node.args and not isinstance(node.args[0], ast.Starred):
            dtype = argument_of(node, "dtype", 1)
            if len(arguments_of(node)) > 1 + (dtype is not None):
                return None
            steps += [f".astype({context.text(dtype)})"] if dtype is not None else []
            node = node.args[0]
        else:
            step = _step(node, context)
            if step is None or not isinstance(node.func, ast.Attribute):
                return None
            steps.append(step)
            node = node.func.value
    return None


def _step(call: ast.Call, context: Context) -> str | None:
    """``.astype(dtype)`` or ``.reshape([sizes])``, which a tensor has, too; None for other calls."""
    method = terminal(call) if isinstance(call.func, ast.Attribute) else ""
    if not call.args or call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    texts = list(map(context.text, call.args))
    if method == "astype" and len(texts) == 1:
        return f".astype({texts[0]})"
    if method == "reshape":
        listed = len(texts) == 1 and isinstance(call.args[0], (ast.List, ast.Tuple))
        return f".reshape({texts[0] if listed else '[' + ', '.join(texts) + ']'})"
    return None


def _is_a_copy(read: ast.Call, tensor: ast.expr, context: Context) -> bool:
    """Whether a read returns all values of the tensor unchanged (``np.mean`` returns one)."""
    if context.name(read.func) in QUALIFIED_ARRAY_FUNCTIONS:
        # Something only named like a loader may yield arrays, and `np.array` of these is not a read.
        if len(arguments_of(read)) != 1 or Evidence(context.here).is_listed(tensor):
            return False
        return origins.origin(tensor, context.here).kind != origins.BATCH
    return isinstance(read.func, ast.Attribute) and read.func.attr in READ_METHODS


def _to_the_cpu_and_back(call: ast.Call, context: Context) -> Trip | None:
    inner = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda" else None
    if arguments_of(call) or not isinstance(inner, ast.Call) or terminal(inner) != "cpu":
        return None  # (`x.cpu().cuda(1)` is on its way to another device)
    tensor = tensor_read_by(inner, context)
    return Trip(inner, tensor, ()) if tensor is not None else None


def _sent_back(name: str, context: Context) -> Instead | None:
    """The change of the ``to_tensor(name)`` that is the only use of a name until it is bound again."""
    point = context.here
    back: ast.Call | None = None
    loads = loads_of(point.scope).get(name, [])
    for statement, count in loads[bisect_right(loads, point.statement.start, key=lambda load: load[0].start) :]:
        if back is None:
            back = _only_call(name, statement, context) if statement.place is point.statement.place else None
            if back is None or count > 1:
                return None
            if name in bound_by(statement.node):
                break
        else:
            return None
    return Instead(back, name) if back is not None else None


def _only_call(name: str, statement: Statement, context: Context) -> ast.Call | None:
    for call in statement.calls:
        if list(map(dotted, call.args)) == [name] and not call.keywords and context.name(call.func) in NAMES:
            return call
    return None


def _copy_of(trip: Trip, context: Context) -> str:
    """The tensor as ``to_tensor`` would return it: a copy without a gradient (``astype`` may share the memory)."""
    return f"{source_of(on_device(trip.tensor), context)}.detach().clone(){''.join(trip.steps)}"


def _stay(call: ast.Call, trip: Trip, context: Context) -> Fix:
    """``x.cpu().cuda()`` as ``x``."""
    return replace(RULE.words("CPU"), edits=context.instead(call, source_of(on_device(trip.tensor), context)))


def _on_device_copy(call: ast.Call, trip: Trip, context: Context) -> Fix:
    """``paddle.to_tensor(x.numpy())`` as ``x.detach().clone()``."""
    dtype = argument_of(call, "dtype", 1)
    if dtype is not None:
        trip = Trip(trip.read, trip.tensor, (*trip.steps, f".astype({context.text(dtype)})"))
    if is_for_paddle_1([context.file]):
        return RULE.words("old Paddle")
    edits = context.instead(call, _copy_of(trip, context))
    shown = _only_shown(call, trip, context)
    if shown:
        return replace(RULE.words(shown), edits=edits)
    doubt = _doubt(trip, context)
    return RULE.fix(edits, Level.UNSAFE, RULE.texts[doubt]) if doubt else RULE.fix(edits, Level.SAFE)


def _only_shown(call: ast.Call, trip: Trip, context: Context) -> str:
    """The case in which the user has to look at the edit; ``""`` if it may be applied."""
    if not {"place", "stop_gradient"}.isdisjoint(keyword.arg for keyword in call.keywords):
        return "settings"
    if "#" in context.text(call):
        return "comment"
    return "shape" if terminal(trip.read) in ("item", "tolist") else ""


def _doubt(trip: Trip, context: Context) -> str:
    """What may make the values differ; ``""`` for nothing."""
    kind = context.kind(trip.tensor)
    # (Where it is a number, the read itself fails: only tensors have a method `numpy`.)
    is_sure = terminal(trip.read) == "numpy" and kind.is_tensor and not kind.guess
    if not is_sure or context.file.names.packages & _OTHERS:
        return "tensor"
    if kind.scalar:
        return "number"
    if not all(map(_SAFE_STEP.fullmatch, trip.steps)):
        return "dtype"
    loop = context.file.project.files.get(context.running.path)
    chooses = context.file.matches(_ELSEWHERE) or (loop is not None and loop.matches(_ELSEWHERE))
    return "device" if chooses else ""
