"""Has Paddle build the static graph of a script's step, and counts its operators.

Mixed precision does nothing while a dynamic graph runs on the CPU, and Paddle has no products in bfloat16 there.  A
static graph is built without being run, so its operators say which of them would work in which type on a card.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from .loading import load

_PRODUCTS = ("matmul", "conv2d", "matmul_grad", "conv2d_grad")
_NO_LAUNCH = ("data", "full_int_array")
"""Operators that stand for the inputs of a graph, and for numbers that other operators are given."""


def built(script: Path) -> Counter[str]:
    """What the graph of one step of a script is made of: forward and backward pass, without the update."""
    import paddle

    graph = paddle.static.Program()
    with _static(paddle), paddle.static.program_guard(graph, paddle.static.Program()):
        load(script).train(1)
    figures: Counter[str] = Counter()
    for operator in graph.global_block().ops:
        if operator.name().startswith("pd_op."):
            figures.update(_counted(operator, operator.name().removeprefix("pd_op.")))
    return figures


@contextmanager
def _static(paddle: Any) -> Iterator[None]:
    """While this is on, scripts build a graph: ``backward`` adds to it, and the update is left out."""
    decorate = paddle.amp.decorate

    def decorated(models: Any, optimizers: Any, **keywords: Any) -> tuple[Any, Any]:
        return decorate(models, **keywords), optimizers

    nothing: dict[str, Any] = {name: lambda *_, **__: None for name in ("step", "clear_grad")}
    paddle.enable_static()
    with ExitStack() as stack:
        stack.callback(paddle.disable_static)
        stack.enter_context(patch.multiple(paddle.optimizer.Momentum, **nothing))
        stack.enter_context(patch.object(paddle.pir.Value, "backward", paddle.static.append_backward, create=True))
        stack.enter_context(patch.object(paddle.amp, "decorate", decorated))
        yield


def _counted(operator: Any, name: str) -> Iterator[str]:
    """The figures that an operator adds one to."""
    if name not in _NO_LAUNCH:
        yield "launches"
    if name == "cast":
        yield "casts"
        if operator.operands_source()[0].get_defining_op().name() == "builtin.parameter":
            yield "casts of weights"
    if name in _PRODUCTS:
        yield f"products in {_type(operator)}"
    if name.startswith("conv2d") and operator.attrs()["data_format"] == "NCHW":
        yield "convolutions with channels first"


def _type(operator: Any) -> str:
    """The type of what a product multiplies: "bfloat16"."""
    return str(operator.operands_source()[0].dtype).rpartition(".")[2]
