"""PPF208: the area under the curve of a click model is brought up to date at each step."""

from __future__ import annotations

import numpy as np
import paddle
import photos
import running
from paddle import nn
from paddle.nn.functional import binary_cross_entropy, sigmoid

WORDS, FIELDS = 1000, 8


def clicks(count: int) -> list[photos.Array]:
    """What was shown to whom, as numbers of words, and whether it was clicked."""
    random = np.random.default_rng(0)
    words = random.integers(0, WORDS, (count, FIELDS))
    return [words, (words[:, :1] % 5 == 0).astype("float32")]


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(paddle.io.TensorDataset(clicks(steps * batch)), batch_size=batch, shuffle=True)
    network = nn.Sequential(nn.Embedding(WORDS, side), nn.Flatten(), nn.Linear(FIELDS * side, 32), nn.Linear(32, 1))
    optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
    auc = paddle.metric.Auc(num_thresholds=4095)
    for words, clicked in loader:
        click = sigmoid(network(words))
        loss = binary_cross_entropy(click, clicked)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        auc.update(preds=paddle.concat([1 - click, click], axis=1), labels=clicked)
    print("area under the curve", auc.accumulate())
    return float(loss)


if __name__ == "__main__":
    running.start(train, steps=200, batch=2048, side=8)
