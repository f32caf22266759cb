"""Layers, with Paddle's shapes, defaults and ways to draw the first weights."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import AdaptiveAvgPool2d as AdaptiveAvgPool2D
from torch.nn import Flatten, ReLU, Sequential
from torch.nn import Module as Layer
from torch.nn import ModuleList as LayerList

from ..place import DEVICE
from ..tensors import Tensor
from ..unknown import refuse
from . import functional

__all__ = [
    "AdaptiveAvgPool2D",
    "BatchNorm2D",
    "Conv2D",
    "Flatten",
    "Layer",
    "LayerList",
    "Linear",
    "ReLU",
    "Sequential",
    "functional",
]


class Linear(Layer):  # type: ignore[misc]  # torch is unseen
    """A product with a matrix, which has a row for each feature that comes in; torch's has a column."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(in_features, out_features, device=DEVICE))
        self.bias = torch.nn.Parameter(torch.zeros(out_features, device=DEVICE))
        torch.nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, self.weight.t(), self.bias)


class Conv2D(torch.nn.Conv2d):  # type: ignore[misc]  # torch is unseen
    """A convolution of pictures, channels first."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, device=DEVICE)
        torch.nn.init.normal_(self.weight, std=math.sqrt(2 / (in_channels * kernel_size**2)))
        torch.nn.init.zeros_(self.bias)


class BatchNorm2D(torch.nn.BatchNorm2d):  # type: ignore[misc]  # torch is unseen
    """Normalization over a batch.  ``momentum`` is the share of the old mean that is kept; torch's is the new one's."""

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-5) -> None:
        super().__init__(num_features, eps=epsilon, momentum=1 - momentum, device=DEVICE)
        self.num_batches_tracked = None  # Paddle does not count, and counting is one more kernel for the host to launch


def __getattr__(name: str) -> Any:
    refuse(__name__, name)
