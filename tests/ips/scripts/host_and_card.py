"""A step that keeps a card busy for some milliseconds, and a host with work of its own between two steps.

A wait for the card costs most where both have much to do: the host could prepare the next step while the card is at
work, and after a read it cannot.  A network that the card is done with before Python has launched it shows nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import running
from paddle import nn

CLASSES = 10
_given = argparse.Namespace(layers=12, host_ms=2.0)


def network(side: int) -> nn.Layer:
    """Convolutions of many channels: few launches for the host, and much work for the card.

    At 64 pixels and a batch of 32 a step is 1.4 TFLOP (12 layers, 32 pictures of 32 x 32 squares, 2 x 9 x 256 x 256 for
    each, and three times that with the backward pass), which takes 7 ms at 200 TFLOPS.  It has not been timed on a card
    yet: ``--layers`` makes it more or less.  Small pictures get fewer channels, so that a CPU can run it as well.
    """
    channels = 4 * side
    deep = [layer for _ in range(_given.layers) for layer in (nn.Conv2D(channels, channels, 3, padding=1), nn.ReLU())]
    return nn.Sequential(
        nn.Conv2D(3, channels, 3, stride=2, padding=1),
        nn.ReLU(),
        *deep,
        nn.AdaptiveAvgPool2D(1),
        nn.Flatten(),
        nn.Linear(channels, CLASSES),
    )


def between_steps() -> None:
    """The host's own work between two steps, such as a loader's or a log's: ``--host-ms`` says how long it takes."""
    end = time.perf_counter() + _given.host_ms / 1000
    while time.perf_counter() < end:
        pass


def start(train: Callable[[int, int, int], object], steps: int, batch: int, side: int) -> None:
    """As ``running.start``, with two more arguments on the command line."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--layers", type=int, default=_given.layers)
    parser.add_argument("--host-ms", type=float, default=_given.host_ms)
    _, rest = parser.parse_known_args(namespace=_given)
    sys.argv[1:] = rest
    running.start(train, steps, batch, side)
