"""What a call in the code does on the host: the entries of Paddle's table that hold for it, and which calls log."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from perflint.flow.evaluate import Evaluator
from perflint.index.kinds import EITHER, LAYER_TAG, OBJECT_TAG, TENSOR_TAG, UNKNOWN_TAG
from perflint.index.project import FileIndex
from perflint.inputs.input_files import nearest, version_of
from perflint.paddle.inside import DISTRIBUTED, INSIDE, MEETINGS, SCALER, Condition, If, PaddleCall, short
from perflint.syntax.names import Names, dotted
from perflint.syntax.vocabulary import LOGGER_METHODS, PRINTS, PROGRESS, RECORDERS, means_logger, means_scaler


class Done(NamedTuple):
    """Something that a call of Paddle does.

    Attributes:
        entry: what the table says.
        call: the qualified name of the call.
        is_sure: whether the releases of Paddle that the project accepts all do it.
    """

    entry: PaddleCall
    call: str
    is_sure: bool

    @property
    def why(self) -> str:
        """In words: ``GradScaler.step tests whether gradients overflowed``."""
        until = "" if self.is_sure else f" (Paddle before {self.entry.until})"
        return f"{short(self.call)} {self.entry.why}{until}"


def done_by(call: ast.Call, evaluator: Evaluator, file: FileIndex) -> Iterator[Done]:
    """What a call of Paddle does besides giving work to the device; nothing for other calls.

    For example, ``scaler.step(optimizer)`` tests whether gradients overflowed, so it reads.
    """
    for name in _names(call, evaluator, file):
        for entry in INSIDE.get(name, ()):
            if _holds(entry.only, call, evaluator) and (not entry.until or _accepts(file, entry.until)):
                yield Done(entry, name, not entry.until)


def is_exchange(call: ast.Call, names: Names) -> bool:
    """Whether a call of Paddle is one in which all processes take part: ``paddle.distributed.all_reduce(loss)``."""
    name = names.resolve(dotted(call.func) or "")
    return name.startswith(DISTRIBUTED) and name.rpartition(".")[2] in MEETINGS


def _names(call: ast.Call, evaluator: Evaluator, file: FileIndex) -> list[str]:
    """The qualified names that the table may have for a call."""
    name = file.names.resolve(dotted(call.func) or "")
    if name.startswith(DISTRIBUTED):
        return [name if name in INSIDE else f"paddle.distributed.{name.rpartition('.')[2]}"]
    if name in INSIDE:
        return [name]
    kind = evaluator.kind(call.func)
    if kind.tag == LAYER_TAG:
        return [f"{each}.forward" for each in kind.type.split(EITHER)]
    if not isinstance(call.func, ast.Attribute):
        return []
    method, owner = call.func.attr, evaluator.kind(call.func.value)
    if owner.tag == TENSOR_TAG:
        return [f"paddle.Tensor.{method}"]
    if owner.tag in (OBJECT_TAG, LAYER_TAG):
        base = ["paddle.nn.Layer"] if owner.tag == LAYER_TAG else []
        return [f"{each}.{method}" for each in dict.fromkeys((*owner.type.split(EITHER), *base))]
    is_scaler = owner.tag == UNKNOWN_TAG and means_scaler(dotted(call.func.value) or "")
    return [f"{SCALER}.{method}"] if is_scaler else []


def _holds(only: If | None, call: ast.Call, evaluator: Evaluator) -> bool:
    """Whether the arguments of a call are as an entry says."""
    if only is None:
        return True
    value = tested_argument(call, only)
    written = value.value if isinstance(value, ast.Constant) else ...
    if only.test is Condition.LEFT_OUT:
        return value is None or written in (None, only.default)
    if value is None:
        return False
    if only.test in (Condition.GIVEN, Condition.OFF):
        return (written is False) if only.test is Condition.OFF else written not in (None, False)
    kind = evaluator.kind(value)
    is_any = kind.is_tensor and not kind.guess
    is_one = is_any and kind.tag == TENSOR_TAG
    return {
        Condition.TENSOR: kind.is_tensor,
        Condition.MAYBE: not kind.is_host,
        Condition.ALONE: is_one,
        Condition.TENSORS: is_any and not is_one,
        Condition.DATA: not is_any,
    }[only.test]


def tested_argument(call: ast.Call, only: If) -> ast.expr | None:
    """What a call passes for a parameter; the ``*args`` and ``**options`` that may hold it are not looked into."""
    named = (item.value for item in call.keywords if item.arg == only.parameter)
    given = call.args[only.position] if len(call.args) > only.position else None
    return next(named, None) or given


def _accepts(file: FileIndex, until: str) -> bool:
    """Whether the requirements beside a file accept a release of Paddle before ``until``."""
    admitted, first = nearest(file.path, file.project.inputs), version_of(until)
    return admitted is not None and first is not None and admitted.lacks(first)


# Finds which calls log, and in which way.

_RUNS = frozenset({"wandb.log", "swanlab.log", "mlflow.log_metric", "mlflow.log_metrics"})
_NO_LOGGERS = ("math", "np", "paddle", "catalog", "dialog")


def log_family(call: ast.Call, names: Names) -> str:
    """``text`` (print, a logger), ``progress`` (a tqdm bar) or ``record`` (a curve); ``""`` for other calls."""
    function = call.func
    if isinstance(function, ast.Name):
        return "text" if function.id in PRINTS and not names.is_bound(function.id) else ""
    if not isinstance(function, ast.Attribute):
        return ""
    method = function.attr
    if method in RECORDERS or names.resolve(dotted(function) or "") in _RUNS:
        return "record"
    if method in PROGRESS:
        return "progress"
    if method not in LOGGER_METHODS:
        return ""
    receiver = dotted(function.value) or ast.unparse(function.value)
    if method == "write":
        return "text" if receiver.endswith(("tqdm", "pbar")) else ""
    return "text" if means_logger(receiver) and not receiver.endswith(_NO_LOGGERS) else ""


_TEXTS = frozenset({"str", "repr", "format"})


def shown_tensors(node: ast.expr, evaluator: Evaluator, names: Names) -> Iterator[ast.expr]:
    """The tensors that an expression turns into text, or into a point of a curve, and so reads.

    For example, ``loss`` in ``print(loss)``, ``f"{loss}"``, ``"%f" % loss`` and ``writer.add_scalar("loss", loss)``.
    """
    for each in _shown(node, names):
        kind = evaluator.kind(each)
        if kind.is_tensor and not kind.guess:
            yield each


def _shown(node: ast.expr, names: Names) -> Iterator[ast.expr]:
    if isinstance(node, ast.FormattedValue):
        yield node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        if isinstance(node.left.value, str):
            yield from node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    elif isinstance(node, ast.Call):
        is_format = isinstance(node.func, ast.Attribute) and node.func.attr == "format"
        if is_format or dotted(node.func) in _TEXTS or log_family(node, names):
            yield from node.args
            yield from (item.value for item in node.keywords)
