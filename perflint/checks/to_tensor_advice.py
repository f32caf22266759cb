"""What PPF205 says of a tensor made of host data: a sentence for each origin, and which of them fits the place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.dataflow.values import Values
from perflint.facts import origin as origins
from perflint.facts.origin import Origin
from perflint.lint.context import Context
from perflint.syntax.names import dotted, plain_names
from perflint.training.steps import Point

FILLED = "filled"
MESSAGES = {
    "literal": "`{what}` copies a constant to the device at {where}; write a Python number, or make it there with "
    "`paddle.full`.",
    FILLED: "`{what}` copies a number to the device at {where}; make the tensor there with `paddle.full`.",
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


def advice(found: Origin, call: cst.Call, node: ast.expr, context: Context) -> str:
    """Which of the sentences a call gets for the origin of its data: what it advises has to work where it stands."""
    if found.kind == origins.LITERAL and _differs(node, context.here):
        return origins.INVARIANT
    if found.kind in (origins.LITERAL, origins.NUMBER) and _must_be_tensor(call, context):
        return FILLED
    return found.kind


def _must_be_tensor(call: cst.Call, context: Context) -> bool:
    """Whether a call of Paddle takes the tensor: ``paddle.where`` and ``paddle.divide`` want one, not a number."""
    for parent, inner in context.around(call):
        if isinstance(parent, cst.BinaryOperation):
            other = parent.right if inner is parent.left else parent.left
            if context.kind(other).is_tensor:
                return False  # tensor and number make a tensor
        elif isinstance(parent, cst.Call):
            return parent.func is not inner and context.name(parent.func).startswith("paddle.")
        elif not isinstance(parent, (cst.Arg, cst.UnaryOperation)):
            return False
    return False


def _differs(node: ast.expr, point: Point) -> bool:
    """Whether a constant is a list of unlike values: neither a number nor ``paddle.full`` can stand for it."""
    name = dotted(node)
    literals = [node] if name is None else [value for value in _bound_to(name, point) if name not in plain_names(value)]
    return any(len(set(_leaves(value))) > 1 for value in literals)


def _bound_to(name: str, point: Point) -> Iterator[ast.expr]:
    """What a name is bound to in the function, however often, or else in the module."""
    nodes = [item.node for item in point.scope.statements]
    here = [node.value for node in nodes if isinstance(node, ast.Assign) and name in map(dotted, node.targets)]
    definition = Values.of(point.file.project).definitions(point.file, point.scope).get(name)
    yield from here or ([definition] if definition is not None else [])


def _leaves(node: ast.expr) -> Iterator[str]:
    for part in node.elts if isinstance(node, (ast.List, ast.Tuple)) else ():
        yield from _leaves(part) if isinstance(part, (ast.List, ast.Tuple)) else (ast.unparse(part),)
