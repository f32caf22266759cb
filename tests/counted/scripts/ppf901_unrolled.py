"""PPF901: the outputs of a sequence are copied for each step that is put behind them."""

from __future__ import annotations

import paddle
import samples
from paddle import nn

LENGTH = 12


def unroll(cell: nn.Layer, inputs: paddle.Tensor, state: paddle.Tensor) -> paddle.Tensor:
    outputs = paddle.zeros([inputs.shape[0], 0, samples.WIDTH])
    for step in range(inputs.shape[1]):
        state = cell(inputs[:, step] + state)
        outputs = paddle.concat([outputs, state.unsqueeze(1)], axis=1)
    return outputs


def train(steps: int) -> paddle.Tensor:
    cell = nn.Linear(samples.WIDTH, samples.WIDTH)
    optimizer = paddle.optimizer.SGD(0.01, parameters=cell.parameters())
    for x, _ in samples.batches(steps):
        loss = unroll(cell, x.unsqueeze(1).expand([-1, LENGTH, -1]), x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
