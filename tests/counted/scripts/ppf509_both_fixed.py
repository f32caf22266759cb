"""PPF509: the loss of one network also gives another one gradients, which are cleared unused."""

from __future__ import annotations

import paddle
import samples
from paddle import nn


def train(steps: int) -> paddle.Tensor:
    maker, critic = nn.Linear(samples.WIDTH, samples.WIDTH), nn.Linear(samples.WIDTH, 1)
    makes = paddle.optimizer.SGD(0.01, parameters=maker.parameters())
    judges = paddle.optimizer.SGD(0.01, parameters=critic.parameters())
    for x, _ in samples.batches(steps):
        for weight in critic.parameters():
            weight.stop_gradient = False
        judges.clear_grad()
        judged = critic(maker(x).detach()).mean() - critic(x).mean()
        judged.backward()
        judges.step()
        for weight in critic.parameters():
            weight.stop_gradient = True
        makes.clear_grad()
        loss = -critic(maker(x)).mean()
        loss.backward()
        makes.step()
    return loss


if __name__ == "__main__":
    train(10)
