"""Counters for single parts of Paddle, each for a rule or two that says something about that part."""

from __future__ import annotations

import functools
from math import ceil, prod
from typing import Any
from unittest import mock

from .hooks import Counting, bytes_of

_TILE = 16
"""Tensor Cores multiply matrices of 16 x 16 in half precision."""
_WIDTH = 8
"""Channels that a Tensor Core reads at a time in half precision."""


def install_parts(paddle: Any, counting: Counting) -> None:
    """Wrap the parts of Paddle that this module is about, once and for all in this process."""
    _data_parallel(paddle.DataParallel, counting)
    _scalers(paddle)
    _gradients(paddle.base.framework.EagerParamBase, counting)
    _layers(paddle, counting)
    _recorders(paddle.profiler.Profiler, counting)
    _attention(paddle, counting)


def reachable(kept: Any) -> int:
    """Nodes of the graph that a tensor, or those of a list, keep alive."""
    waiting = [each.grad_fn for each in (kept if isinstance(kept, list) else [kept]) if hasattr(each, "grad_fn")]
    seen: dict[int, Any] = {}
    while waiting:
        node = waiting.pop()
        if node is not None and id(node) not in seen:
            seen[id(node)] = node
            waiting.extend(node.next_functions)
    return len(seen)


def _data_parallel(kind: Any, counting: Counting) -> None:
    """What ``DataParallel.forward`` prepares: an exchange of gradients, and a walk through the graph (Paddle 3.3.1)."""
    forward = kind.forward

    def prepared(self: Any, *arguments: Any, **keywords: Any) -> Any:
        outputs = forward(self, *arguments, **keywords)
        if self.grad_need_sync:
            counting.add("exchanges of the gradients")
            if self.find_unused_parameters:
                counting.add("graph nodes walked", reachable(outputs))
        return outputs

    kind.forward = prepared


def _scalers(paddle: Any) -> None:
    """A ``GradScaler`` turns itself off where there is no GPU, though it could run: have it believe in one."""
    kind = paddle.amp.GradScaler.__base__
    make = kind.__init__

    @functools.wraps(make)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807  # its name in Paddle
        with mock.patch.object(paddle.base.core.Place, "is_gpu_place", lambda _: True):
            make(self, *arguments, **keywords)

    kind.__init__ = __init__


def _gradients(kind: Any, counting: Counting) -> None:
    """Gradients that are filled with zeros: no profiler sees it, since no operator does it."""
    clear = kind.clear_gradient

    def clear_gradient(self: Any, set_to_zero: bool = True) -> None:
        if set_to_zero and self.grad is not None:
            counting.add("gradients filled with zeros")
        clear(self, set_to_zero)

    kind.clear_gradient = clear_gradient


def _layers(paddle: Any, counting: Counting) -> None:
    """The matrix products of linear and convolutional layers, and the convolutions whose kernels cuDNN guesses."""
    set_flags = paddle.set_flags

    def flags(values: dict[str, Any]) -> None:
        wanted = {name for name, value in values.items() if name.startswith("FLAGS_cudnn") and value}
        counting.searched |= wanted
        set_flags({name: value for name, value in values.items() if name not in wanted})

    def multiplies(kind: Any) -> None:
        forward = kind.forward

        def counted(self: Any, x: Any) -> Any:
            result = forward(self, x)
            if paddle.in_dynamic_mode():
                convolves = kind is paddle.nn.Conv2D
                if convolves and not counting.searched:
                    counting.add("convolutions whose kernel is guessed")
                _product(self.weight.shape, convolves, result.shape, counting)
            return result

        kind.forward = counted

    paddle.set_flags = flags
    multiplies(paddle.nn.Linear)
    multiplies(paddle.nn.Conv2D)


def _product(weight: list[int], convolves: bool, result: list[int], counting: Counting) -> None:
    """Count the product of a layer's forward pass: its tiles, and whether a width is not a multiple of eight.

    A convolution of [batch, channels, height, width] is a product with a row for each pixel of the result, a column for
    each channel of the result, and as many terms as there are weights for such a channel.
    """
    inputs, outputs = (weight[1], weight[0]) if convolves else (weight[0], weight[1])
    rows = prod(result) // outputs
    terms = ceil(inputs / _WIDTH) * _WIDTH * (prod(weight[2:]) if convolves else 1)
    counting.add("tiles of 16 x 16 x 16", ceil(rows / _TILE) * ceil(outputs / _TILE) * ceil(terms / _TILE))
    if inputs % _WIDTH or outputs % _WIDTH:
        counting.add("products of a width that is not a multiple of 8")


def _recorders(kind: Any, counting: Counting) -> None:
    """The events that a script's own profiler holds when it stops."""
    stop = kind.stop

    def stopped(self: Any) -> None:
        stop(self)
        result = getattr(self, "profiler_result", None)
        if result is not None:
            counting.add("records of the profiler", sum(_size(node) for node in result.get_data().values()))

    kind.stop = stopped


def _size(node: Any) -> int:
    return 1 + sum(_size(child) for child in node.children_node)


def _attention(paddle: Any, counting: Counting) -> None:
    """A stand-in for the fused kernel of attention, which a GPU alone has: one operator forward, and one backward.

    It gives what has the shape of the result, not its numbers.  The bytes of written tables are counted beside it.
    """
    functional = paddle.nn.functional
    softmax, attention = functional.softmax, functional.scaled_dot_product_attention

    def fused(query: Any, *arguments: Any, **keywords: Any) -> Any:
        return paddle.tanh(query) if paddle.in_dynamic_mode() else attention(query, *arguments, **keywords)

    def table(*arguments: Any, **keywords: Any) -> Any:
        result = softmax(*arguments, **keywords)
        if paddle.in_dynamic_mode() and result.ndim == 4:
            counting.add("bytes of attention weights", bytes_of(result))
        return result

    functional.scaled_dot_product_attention, functional.softmax = fused, table
