"""Trains by a script on a few batches, before a fix and after it."""

from __future__ import annotations

import contextlib
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle

BATCHES = 23
SUM = 'total += loss.detach().astype("float64")'
"""How ``total += loss.item()`` is fixed."""

READ = "total = float(total)"
"""What then stands after the loop."""


def run(text: str) -> tuple[list[str], Any, bytes]:
    """Printed lines, result and weights of a script's ``train`` on a few batches."""
    paddle.seed(7)
    random = np.random.default_rng(7)
    model = paddle.nn.Linear(4, 3)
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    loader = [
        (paddle.to_tensor(random.random((2, 4), dtype="float32")), paddle.to_tensor(random.integers(0, 3, 2)))
        for _ in range(BATCHES)
    ]
    names: dict[str, Any] = {}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(text, "train.py", "exec"), names)
        result = names["train"](model, loader, optimizer, SimpleNamespace(weight=0.5, verbose=True))
    return output.getvalue().splitlines(), result, model.weight.numpy().tobytes()
