"""The networks that the scripts train."""

from __future__ import annotations

from paddle import nn

CLASSES = 10


def classifier(channels: int = 16, blocks: int = 2) -> nn.Layer:
    """Convolutions that halve the picture ``blocks`` times, and a linear layer on the mean of what they see."""
    layers: list[nn.Layer] = []
    wide = 3
    for _ in range(blocks):
        layers += [nn.Conv2D(wide, channels, 3, stride=2, padding=1), nn.BatchNorm2D(channels), nn.ReLU()]
        wide = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(channels, CLASSES))


def light(side: int) -> nn.Layer:
    """One convolution whose kernels do not overlap: what a step takes is what loading takes."""
    return nn.Sequential(nn.Conv2D(3, 4, side // 8, stride=side // 8), nn.ReLU(), nn.Flatten(), nn.Linear(256, CLASSES))


def segmenter(channels: int = 8) -> nn.Layer:
    """Scores of the classes for each square of four by four pixels."""
    return nn.Sequential(
        nn.Conv2D(3, channels, 4, stride=4),
        nn.ReLU(),
        nn.Conv2D(channels, channels, 3, padding=1),
        nn.ReLU(),
        nn.Conv2D(channels, CLASSES, 1),
    )


def narrow(layers: int = 40) -> nn.Layer:
    """Many small layers, which a GPU works off faster than Python can launch them."""
    deep = [layer for _ in range(layers) for layer in (nn.Linear(64, 64), nn.ReLU())]
    return nn.Sequential(nn.AdaptiveAvgPool2D(4), nn.Flatten(), nn.Linear(48, 64), *deep, nn.Linear(64, CLASSES))
