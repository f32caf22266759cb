"""The events of one statement: where the host waits for the device, copies, logs, saves, or hands work over."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.facts.saves import SAVES
from perflint.facts.unknown_size import dynamic_op
from perflint.facts.waits import is_asked, sizes_on_the_device
from perflint.flow.branches import Every
from perflint.flow.evaluate import Evaluator
from perflint.index.kinds import LAYER_TAG, UNKNOWN_TAG, Kind
from perflint.paddle.call_results import DISTRIBUTED, MEETINGS, SYNCHRONIZING
from perflint.paddle.host_reads import COPYING_METHODS
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import candidates, own_parts, terminal
from perflint.syntax.tree import children
from perflint.syntax.vocabulary import LOGGER_METHODS, PRINTS, PROGRESS, RECORDERS, means_logger, means_scaler
from perflint.training import evidence
from perflint.training.looks import reads_tensor
from perflint.training.steps import Point


class EventKind(enum.Enum):
    """What happens."""

    READ = "read"
    DECISION = "decision"
    SIZE = "size"
    SYNCHRONIZE = "synchronize"
    SCALER = "scaler"
    COPY = "copy"
    LOG = "log"
    SAVE = "save"
    COLLECTIVE = "collective"
    COLLECT = "garbage"
    PAUSE = "pause"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"

    @property
    def waits(self) -> bool:
        """Whether the host waits until the device is done with what it was given."""
        return self in _WAITS


_WAITS = frozenset(
    {EventKind.READ, EventKind.DECISION, EventKind.SIZE, EventKind.SYNCHRONIZE, EventKind.SCALER, EventKind.COPY}
)

WORDS = {
    EventKind.READ: "reads a tensor: waits for the device",
    EventKind.DECISION: "decides by a tensor: waits for the device",
    EventKind.SIZE: "has a size that only the device knows: waits for it",
    EventKind.SYNCHRONIZE: "waits for the device",
    EventKind.SCALER: "tests for overflow: waits for the device",
    EventKind.COPY: "copies host data to the device, and waits for it",
    EventKind.LOG: "logs",
    EventKind.SAVE: "writes a file",
    EventKind.COLLECTIVE: "waits for the other processes",
    EventKind.COLLECT: "runs the garbage collector",
    EventKind.PAUSE: "sleeps",
    EventKind.BACKWARD: "backward pass",
    EventKind.OPTIMIZER: "optimizer step",
}
"""What an event does, for people."""

_BY_NAME = {
    "gc.collect": EventKind.COLLECT,
    "time.sleep": EventKind.PAUSE,
    "paddle.to_tensor": EventKind.COPY,
    **dict.fromkeys(SAVES, EventKind.SAVE),
    **dict.fromkeys(SYNCHRONIZING, EventKind.SYNCHRONIZE),
}


@dataclass(frozen=True)
class StepEvent:
    """Something that a step does: what, where, and how often."""

    kind: EventKind
    point: Point
    node: ast.expr
    every: Every

    @property
    def row(self) -> int:
        """The row of the file."""
        return self.node.lineno


def events_at(point: Point) -> Iterator[tuple[ast.expr, EventKind | None]]:
    """The expressions of a statement in the order in which Python evaluates them, each with the event that it is.

    None for a call that is no event by itself: it may lead to some.
    """
    evaluator = Evaluator(point.file, point.full_env)
    asked = {item for item, is_test in candidates(point.statement.node) if is_test}
    for part in own_parts(point.statement.node):
        for node in _evaluated(part):
            kind = _kind(node, point, evaluator, node in asked)
            if kind is not None or isinstance(node, ast.Call):
                yield node, kind


def _evaluated(part: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a part of a statement, the inner ones first; without those of lambdas, which run later."""
    waiting: list[tuple[ast.AST, bool]] = [(part, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            if isinstance(node, ast.expr):
                yield node
        elif not isinstance(node, ast.Lambda):
            waiting.append((node, True))
            waiting += [(child, False) for child in reversed(list(children(node)))]


def _kind(node: ast.expr, point: Point, evaluator: Evaluator, is_asked_for_truth: bool) -> EventKind | None:
    if isinstance(node, ast.Call):
        found = _of_call(node, point, evaluator)
        if found is not None:
            return found
    if is_asked_for_truth and is_asked(node, evaluator.kind(node)):
        return EventKind.DECISION
    if isinstance(node, (ast.Call, ast.Subscript)) and dynamic_op(point, node) is not None:
        return EventKind.SIZE
    return EventKind.SIZE if sizes_on_the_device(node, point, evaluator) else None


def _of_call(call: ast.Call, point: Point, evaluator: Evaluator) -> EventKind | None:
    name = point.file.names.resolve(dotted(call.func) or "")
    method = terminal(call) or ""
    if reads_tensor(call, evaluator, point.file) or _copies(call, evaluator) or _is_for_tensors(call, evaluator):
        return EventKind.READ
    if name in _BY_NAME:
        return _BY_NAME[name]
    if method == "update" and isinstance(call.func, ast.Attribute) and _is_metric(evaluator.kind(call.func.value)):
        return EventKind.READ
    if method in MEETINGS and name.startswith(DISTRIBUTED):
        return EventKind.COLLECTIVE
    if _logs(call, method):
        return EventKind.LOG
    if method == "backward":
        return EventKind.BACKWARD
    if method in ("step", "minimize") and isinstance(call.func, ast.Attribute):
        if means_scaler(dotted(call.func.value) or ""):
            return EventKind.SCALER
        if evidence.takes_optimizer_step(call):
            return EventKind.OPTIMIZER
    return None


def _is_metric(kind: Kind) -> bool:
    """Whether something is a metric of Paddle, whose ``update`` copies what it gets into arrays."""
    return kind.type.startswith("paddle.metric.")


def _copies(call: ast.Call, evaluator: Evaluator) -> bool:
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr in COPYING_METHODS
    return is_method and isinstance(call.func, ast.Attribute) and evaluator.kind(call.func.value).is_tensor


def _is_for_tensors(call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether a call is ``x.numpy()`` of something unknown: nothing but a tensor has that method."""
    is_numpy = isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not arguments_of(call)
    return is_numpy and isinstance(call.func, ast.Attribute) and evaluator.kind(call.func.value).tag == UNKNOWN_TAG


def _logs(call: ast.Call, method: str) -> bool:
    if isinstance(call.func, ast.Name):
        return method in PRINTS
    if not isinstance(call.func, ast.Attribute):
        return False
    if method in RECORDERS or method in PROGRESS:
        return True
    return method in LOGGER_METHODS and means_logger(dotted(call.func.value) or "")


def model_of(call: ast.Call, evaluator: Evaluator) -> Kind | None:
    """The kind of the layer that a call runs; None if it runs none."""
    kind = evaluator.kind(call.func)
    return kind if kind.tag == LAYER_TAG else None


def gives_tensors(call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether a call gets a tensor, so that what it reaches may work on the device."""
    return any(evaluator.kind(argument).is_tensor for argument in arguments_of(call))
