"""Functions of ``paddle.nn.functional``, with those of Paddle's arguments that the scripts use."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as wrapped

from ..tensors import Tensor
from ..unknown import refuse


def cross_entropy(input: Tensor, label: Tensor, axis: int = -1, reduction: str = "mean") -> Tensor:
    """The loss of scores, for whole numbers as labels; these may keep the axis of the classes, then so does the loss.

    Raises:
        NotImplementedError: the labels are probabilities.
    """
    if label.is_floating_point():
        raise NotImplementedError("the stand-in for Paddle has no cross_entropy of labels that are probabilities")
    kept = label.ndim == input.ndim
    scores = input if axis % input.ndim == 1 else input.movedim(axis, 1)
    losses = wrapped.cross_entropy(scores, label.squeeze(axis) if kept else label, reduction=reduction)
    return losses.unsqueeze(axis) if kept and reduction == "none" else losses


def mse_loss(input: Tensor, label: Tensor) -> Tensor:
    """The mean of the squared differences."""
    return wrapped.mse_loss(input, label)


def smooth_l1_loss(input: Tensor, label: Tensor) -> Tensor:
    """The mean of Huber's loss with delta 1, for which it is the smooth L1 loss as well."""
    return wrapped.smooth_l1_loss(input, label)


def relu(x: Tensor) -> Tensor:
    """What is above 0."""
    return wrapped.relu(x)


def avg_pool2d(x: Tensor, kernel_size: int) -> Tensor:
    """The means of squares that do not overlap."""
    return wrapped.avg_pool2d(x, kernel_size)


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
