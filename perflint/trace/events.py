"""The events of one statement: where the host waits for the device, copies, logs, saves, or hands work over."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from perflint.facts.evaluations import Evaluations
from perflint.facts.paddle_calls import Done, done_by, log_family, shown_tensors, tested_argument
from perflint.facts.unknown_size import dynamic_op
from perflint.facts.waits import is_asked, is_in_host_memory, looked_up_in_a_list, sizes_on_the_device
from perflint.flow.branches import Every
from perflint.flow.evaluate import Evaluator
from perflint.index.kinds import LAYER_TAG, UNKNOWN, UNKNOWN_TAG, Kind
from perflint.paddle.inside import Condition, Does
from perflint.paddle.tensor_methods import COPYING_METHODS
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import candidates, own_parts
from perflint.syntax.tree import children
from perflint.training import evidence
from perflint.training.step_loops import is_of_tensors, reads_tensor
from perflint.training.steps import Point


class EventKind(enum.Enum):
    """What happens."""

    READ = "read"
    DECISION = "decision"
    SIZE = "size"
    SYNCHRONIZE = "synchronize"
    INSIDE = "inside"
    COPY = "copy"
    DEVICE_COPY = "device copy"
    LOG = "log"
    SAVE = "save"
    COLLECTIVE = "collective"
    COLLECT = "garbage"
    PAUSE = "pause"
    EVALUATION = "evaluation"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"

    @property
    def waits(self) -> bool:
        """Whether the host waits until the device is done with what it was given."""
        return self in _WAITS


_WAITS = frozenset(
    {EventKind.READ, EventKind.DECISION, EventKind.SIZE, EventKind.SYNCHRONIZE, EventKind.INSIDE, EventKind.COPY}
)

WORDS = {
    EventKind.READ: "reads a tensor: waits for the device",
    EventKind.DECISION: "decides by a tensor: waits for the device",
    EventKind.SIZE: "has a size that only the device knows: waits for it",
    EventKind.SYNCHRONIZE: "waits for the device",
    EventKind.INSIDE: "waits for the device inside Paddle",
    EventKind.COPY: "copies host data to the device, and waits for it",
    EventKind.DEVICE_COPY: "copies a tensor on the device",
    EventKind.LOG: "logs",
    EventKind.SAVE: "writes a file",
    EventKind.COLLECTIVE: "waits for the other processes",
    EventKind.COLLECT: "runs the garbage collector",
    EventKind.PAUSE: "sleeps",
    EventKind.EVALUATION: "evaluates the model on a data set",
    EventKind.BACKWARD: "backward pass",
    EventKind.OPTIMIZER: "optimizer step",
}
"""What an event does, for people."""

_OF_PYTHON = {"gc.collect": EventKind.COLLECT, "time.sleep": EventKind.PAUSE}
_KINDS = {
    Does.READS: EventKind.INSIDE,
    Does.SIZES: EventKind.SIZE,
    Does.WAITS: EventKind.SYNCHRONIZE,
    Does.COPIES: EventKind.COPY,
    Does.DUPLICATES: EventKind.DEVICE_COPY,
    Does.WRITES: EventKind.SAVE,
    Does.PRINTS: EventKind.LOG,
    Does.MEETS: EventKind.COLLECTIVE,
}
"""The event that a call of Paddle is, by what the table of its calls says."""
_EXPLAINED = frozenset({Does.READS, Does.SIZES, Does.PRINTS})
"""What nobody expects of a call: the table says why it does."""


class Happening(NamedTuple):
    """An expression that is evaluated, and the event that it is.

    Attributes:
        node: the expression.
        kind: the event; None for a call that is no event by itself: it may lead to some.
        why: what in Paddle makes it one, in words; "" if the code itself shows it.
        is_sure: whether it is one with each release of Paddle.
    """

    node: ast.expr
    kind: EventKind | None
    why: str = ""
    is_sure: bool = True


@dataclass(frozen=True)
class StepEvent:
    """Something that a step does: what, where, and how often; ``why``: what in Paddle does it, in words."""

    kind: EventKind
    point: Point
    node: ast.expr
    every: Every
    why: str = ""

    @property
    def row(self) -> int:
        """The row of the file."""
        return self.node.lineno

    @property
    def words(self) -> str:
        """What it does, for people."""
        if not self.why:
            return WORDS[self.kind]
        return f"{self.why}: waits for the device" if self.kind.waits else self.why


def events_at(point: Point) -> Iterator[Happening]:
    """The events of a statement in the order in which Python evaluates it, and the calls that may lead to some."""
    evaluator = Evaluator(point.file, point.full_env)
    loop = point.statement.node
    evaluations = Evaluations.of(point.file.project)
    if isinstance(loop, (ast.For, ast.AsyncFor)) and loop in evaluations.beside_steps(point.function):
        yield Happening(loop.iter, EventKind.EVALUATION)
    asked = {item for item, is_test in candidates(point.statement.node) if is_test}
    for part in own_parts(point.statement.node):
        for node in _evaluated(part):
            for shown in shown_tensors(node, evaluator, point.file.names):
                yield Happening(shown, EventKind.READ, "shows a tensor")
            found = list(_of_call(node, point, evaluator)) if isinstance(node, ast.Call) else []
            kind = None if found else _of_value(node, point, evaluator, node in asked)
            if kind is not None or (isinstance(node, ast.Call) and not found):
                found = [Happening(node, kind)]
            yield from found


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


def _of_value(node: ast.expr, point: Point, evaluator: Evaluator, is_asked_for_truth: bool) -> EventKind | None:
    """The event that an expression is because of what it is computed from, or asked for."""
    if (is_asked_for_truth and is_asked(node, evaluator.kind(node))) or looked_up_in_a_list(node, point) is not None:
        return EventKind.DECISION
    is_read = isinstance(getattr(node, "ctx", None), (ast.Load, type(None)))  # ``x[mask] = 0`` has the size of ``x``
    if is_read and isinstance(node, (ast.Call, ast.Subscript)) and dynamic_op(point, node) is not None:
        return EventKind.SIZE
    return EventKind.SIZE if sizes_on_the_device(node, point, evaluator) else None


def _of_call(call: ast.Call, point: Point, evaluator: Evaluator) -> Iterator[Happening]:
    """The events that a call is because of what it calls: ``scaler.step`` tests for overflow, and steps."""
    if reads_tensor(call, evaluator, point.file) or _copies(call, evaluator) or _is_unknown_tensor(call, evaluator):
        yield Happening(call, EventKind.READ)
        return
    name = point.file.names.resolve(dotted(call.func) or "")
    if name in _OF_PYTHON:
        yield Happening(call, _OF_PYTHON[name])
    known = next((each for each in done_by(call, evaluator, point.file) if not _is_at_hand(each, call, point)), None)
    if known is not None:
        why = known.why if known.entry.does in _EXPLAINED else ""
        yield Happening(call, _KINDS[known.entry.does], why, known.is_sure)
    elif log_family(call, point.file.names):
        yield Happening(call, EventKind.LOG)
    evaluation = Evaluations.of(point.file.project).by_call(point.function, call) if known is None else None
    if evaluation is not None:
        yield Happening(call, EventKind.EVALUATION, is_sure=evaluation.is_sure)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method == "backward":
        yield Happening(call, EventKind.BACKWARD)
    if method in ("step", "minimize") and evidence.takes_optimizer_step(call) and not _schedules(call, evaluator):
        yield Happening(call, EventKind.OPTIMIZER)


def _is_at_hand(done: Done, call: ast.Call, point: Point) -> bool:
    """Whether the tensor that a call reads never left the host: ``F.interpolate(x, size=paddle.shape(y)[2:])``."""
    only = done.entry.only
    value = tested_argument(call, only) if only is not None and only.test is Condition.TENSOR else None
    return value is not None and is_in_host_memory(value, point)


def _schedules(call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether a method is one of a schedule of learning rates, which updates no weights."""
    owner = evaluator.kind(call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN
    return owner.type.startswith("paddle.optimizer.lr.")


def _is_unknown_tensor(call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether a call reads something unknown with a method that only tensors have."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) and is_of_tensors(call) else None
    return receiver is not None and evaluator.kind(receiver).tag == UNKNOWN_TAG


def _copies(call: ast.Call, evaluator: Evaluator) -> bool:
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr in COPYING_METHODS
    return is_method and isinstance(call.func, ast.Attribute) and evaluator.kind(call.func.value).is_tensor


def model_of(call: ast.Call, evaluator: Evaluator) -> Kind | None:
    """The kind of the layer that a call runs; None if it runs none."""
    kind = evaluator.kind(call.func)
    return kind if kind.tag == LAYER_TAG else None


def gives_tensors(call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether a call gets a tensor, so that what it reaches may work on the device."""
    return any(evaluator.kind(argument).is_tensor for argument in arguments_of(call))
