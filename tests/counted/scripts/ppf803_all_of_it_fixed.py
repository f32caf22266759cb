"""PPF803: two processes each train on all sixteen samples in an epoch."""

from __future__ import annotations

import numpy as np
import paddle
import samples
from paddle.nn.functional import cross_entropy

COUNT = 16


class Clicks(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[object, int]:
        return np.zeros([samples.WIDTH], "float32"), index % samples.CLASSES


def train(epochs: int) -> paddle.Tensor:
    paddle.distributed.init_parallel_env()
    model = paddle.DataParallel(samples.network())
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    clicks = Clicks()
    sampler = paddle.io.DistributedBatchSampler(clicks, batch_size=samples.BATCH, shuffle=True)
    train_loader = paddle.io.DataLoader(clicks, batch_sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y in train_loader:
            loss = cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
