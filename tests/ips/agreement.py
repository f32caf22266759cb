"""Trains scripts of the suite from given weights and writes their losses: what Paddle and the stand-in are compared by.

python agreement.py FOLDER RESULT NAME...

It runs in the interpreter of either, with FOLDER, which has the scripts, and needs NumPy beside them.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEPS, BATCH, SIDE = 6, 8, 32
EVALUATED = "evaluated"
"""A training of this file's own, of what no script does."""


def main(folder: str, result: str, names: Sequence[str]) -> None:
    """Write the losses of each script, by its name.

    Args:
        folder: the directory of the scripts and of what they import.
        result: the file to write.
        names: the scripts, without ``.py``; ``EVALUATED`` for the training of this file.
    """
    sys.path.insert(0, folder)
    import numpy as np
    import paddle

    seen = _prepared(paddle)
    losses = {}
    for name in names:
        paddle.seed(0)
        np.random.seed(0)
        train = evaluated if name == EVALUATED else importlib.import_module(name).train
        last = float(train(STEPS, BATCH, SIDE))
        losses[name] = [*map(float, seen), last]
        seen.clear()
    Path(result).write_text(json.dumps({"paddle": paddle.__version__, "losses": losses}), encoding="utf-8")


def evaluated(steps: int, batch: int, side: int) -> float:
    """The loss of a network that is evaluated after training.

    Labels have an axis for the class, and each branch of a ``where``, each bound of a ``clip`` and the rounding of an
    ``astype`` have a part in the loss.
    """
    import networks
    import paddle
    import photos
    from paddle.nn.functional import cross_entropy

    images, labels = (paddle.to_tensor(each) for each in photos.in_memory(batch, side))
    whole = (images * 3).astype("int64").astype("float32").mean([1, 2, 3])
    network = networks.classifier()
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())

    def loss() -> Any:
        scores = network(images)
        scores = paddle.where(scores > 0, scores.clip(max=0.2), scores.clip(min=-0.1) / 2)
        losses = cross_entropy(scores, labels.reshape([-1, 1]), reduction="none").squeeze(1)
        return (losses * whole.clip(min=-0.5)).mean()

    for _ in range(steps):
        found = loss()
        found.backward()
        optimizer.minimize(found)
        optimizer.clear_grad()
    network.eval()
    with paddle.no_grad():
        return float(loss())


def _prepared(paddle: Any) -> list[Any]:
    """Have the losses noted in the list that is returned, and new optimizers begin from the same weights."""
    seen: list[Any] = []
    backward = paddle.Tensor.backward

    def record(self: Any) -> None:
        seen.append(self.detach())
        backward(self)

    paddle.Tensor.backward = record
    for kind in (paddle.optimizer.SGD, paddle.optimizer.Momentum):
        _begin_alike(paddle, kind)
    paddle.device.synchronize = lambda: None  # a build of Paddle for the CPU refuses it
    return seen


def _begin_alike(paddle: Any, kind: Any) -> None:
    begin = kind.__init__

    def begin_alike(self: Any, learning_rate: float, parameters: Any) -> None:
        known = list(parameters)
        _fill(paddle, [each for each in known if not getattr(each, "stop_gradient", False)])  # running means are not
        begin(self, learning_rate, parameters=known)

    kind.__init__ = begin_alike


def _fill(paddle: Any, parameters: Sequence[Any]) -> None:
    """Weights that neither let a signal die away nor let it grow; a matrix has a row for each value that comes in."""
    import numpy as np

    random = np.random.default_rng(0)
    for each in parameters:
        shape = list(each.shape)
        inputs = shape[0] if len(shape) == 2 else math.prod(shape[1:])
        scale = 0.1 if len(shape) == 1 else math.sqrt(2 / inputs)
        with paddle.no_grad():
            each.copy_(paddle.to_tensor(random.normal(0, scale, shape).astype("float32")), False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
