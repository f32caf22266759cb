"""PPF405: ``paddle.Model.fit`` writes a line for each batch."""

from __future__ import annotations

import networks
import paddle
import photos
import running


def train(steps: int, batch: int, side: int) -> float:
    loader = paddle.io.DataLoader(
        paddle.io.TensorDataset(photos.in_memory(steps * batch, side)), batch_size=batch, shuffle=True
    )
    network = networks.light(side)
    optimizer = paddle.optimizer.SGD(0.01, parameters=network.parameters())
    model = paddle.Model(network)
    model.prepare(optimizer, paddle.nn.CrossEntropyLoss())
    model.fit(loader, epochs=1, log_freq=1)
    return float(model.evaluate(loader, verbose=0)["loss"][0])


if __name__ == "__main__":
    running.start(train, steps=3000, batch=4, side=16)
