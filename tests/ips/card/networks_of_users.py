"""Two networks as people train them, in plain PyTorch: a ResNet-50 and a GPT of 124 million weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.ips.card.timing import ON_CARD

DEVICE = torch.device("cuda" if ON_CARD else "cpu")
Read = Callable[[str, torch.Tensor], None]
"""Called with the name of a place of the step, and a number on the card that is known there."""


class _Bottleneck(nn.Module):  # type: ignore[misc]  # torch is unseen
    def __init__(self, wide: int, narrow: int, stride: int) -> None:
        super().__init__()
        out = narrow * 4
        self.body = nn.Sequential(
            nn.Conv2d(wide, narrow, 1, bias=False),
            nn.BatchNorm2d(narrow),
            nn.ReLU(inplace=True),
            nn.Conv2d(narrow, narrow, 3, stride, 1, bias=False),
            nn.BatchNorm2d(narrow),
            nn.ReLU(inplace=True),
            nn.Conv2d(narrow, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.short: nn.Module = nn.Identity()
        if stride != 1 or wide != out:
            self.short = nn.Sequential(nn.Conv2d(wide, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.body(x) + self.short(x))


class ResNet50(nn.Module):  # type: ignore[misc]  # torch is unseen
    """K. He and others, Deep residual learning for image recognition (2015), with the stride in the 3x3 convolution."""

    def __init__(self, side: int = 224) -> None:
        super().__init__()
        self.side = side
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        layers: list[nn.Module] = []
        wide = 64
        for narrow, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for number in range(blocks):
                layers.append(_Bottleneck(wide, narrow, stride if number == 0 else 1))
                wide = narrow * 4
        self.layers = nn.ModuleList(layers)
        self.last = nn.Linear(wide, 1000)

    def batch(self, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Random pictures with labels, on the device."""
        pictures = torch.randn(size, 3, self.side, self.side, device=DEVICE)
        return pictures, torch.randint(0, 1000, (size,), device=DEVICE)

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor], read: Read) -> torch.Tensor:
        """The loss; ``read`` is called behind every third block."""
        x = self.stem(batch[0])
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number % 3 == 2:
                read("layers", x[0, 0, 0, 0])
        return functional.cross_entropy(self.last(x.mean((2, 3))).float(), batch[1])


class _Block(nn.Module):  # type: ignore[misc]  # torch is unseen
    def __init__(self, width: int, heads: int, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        size, length, width = x.shape
        q, k, v = (
            each.view(size, length, self.heads, -1).transpose(1, 2) for each in self.qkv(self.first(x)).chunk(3, -1)
        )
        if self.fused:
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
            seen = functional.softmax(scores.masked_fill(mask[:length, :length], float("-inf")), -1) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(size, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.second(x))))


class GPT(nn.Module):  # type: ignore[misc]  # torch is unseen
    """The smallest GPT-2: 12 blocks of width 768, with a vocabulary of ``words``."""

    def __init__(self, length: int = 1024, words: int = 50304, fused: bool = True, blocks: int = 12) -> None:
        super().__init__()
        self.length, self.words = length, words
        self.words_in = nn.Embedding(words, 768)
        self.places = nn.Embedding(length, 768)
        self.layers = nn.ModuleList([_Block(768, 12, fused) for _ in range(blocks)])
        self.norm = nn.LayerNorm(768)
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))

    def batch(self, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Random words with those that follow, on the device."""
        words = torch.randint(0, min(self.words, 50257), (size, self.length + 1), device=DEVICE)
        return words[:, :-1], words[:, 1:]

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor], read: Read) -> torch.Tensor:
        """The loss; ``read`` is called behind every third block."""
        x = self.words_in(batch[0]) + self.places.weight[: self.length]
        for number, layer in enumerate(self.layers):
            x = layer(x, self.mask)
            if number % 3 == 2:
                read("layers", x[0, 0, 0])
        scores = functional.linear(self.norm(x), self.words_in.weight)
        return functional.cross_entropy(scores.float().reshape(-1, self.words), batch[1].reshape(-1))


class Training:
    """Trains a network step by step.

    Args:
        network: a ``ResNet50`` or a ``GPT``.
        size: samples of a batch.
        precision: ``float32``, ``tf32`` or ``bfloat16`` (with ``torch.autocast``).
        channels_last: whether pictures and weights have their channels last.
        each_alone: whether the optimizer updates one parameter after the other, as Paddle's does.
        ready: batches that are on the device from the start.
    """

    def __init__(
        self,
        network: Any,
        size: int,
        precision: str = "bfloat16",
        channels_last: bool = False,
        each_alone: bool = True,
        ready: int = 2,
    ) -> None:
        torch.manual_seed(0)
        self.network, self.precision = network.to(DEVICE), precision
        self._batches = [network.batch(size) for _ in range(ready)]
        if channels_last:
            self.network = self.network.to(memory_format=torch.channels_last)
            self._batches = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in self._batches]
        self._known = torch.zeros((), device=DEVICE)
        self._optimizer = torch.optim.AdamW(self.network.parameters(), 1e-4, foreach=not each_alone)

    def step(self, number: int, read: Read) -> None:
        """One step; ``read`` is called at each place where a number may be read."""
        read("start", self._known)
        tf32 = self.precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            loss = self.network.loss(self._batches[number % len(self._batches)], read)
        read("forward", loss)
        loss.backward()
        read("backward", loss)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=False)
        read("end", loss)
