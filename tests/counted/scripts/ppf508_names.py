"""PPF508: AdamW collects the names of all parameters again for each of them."""

from __future__ import annotations

import paddle
import samples
from paddle.nn.functional import cross_entropy


def train(steps: int) -> paddle.Tensor:
    network = samples.network()
    optimizer = paddle.optimizer.AdamW(
        learning_rate=0.01,
        parameters=network.parameters(),
        apply_decay_param_fun=lambda x: x in [p.name for n, p in network.named_parameters() if "bias" not in n],
    )
    for x, y in samples.batches(steps):
        loss = cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss


if __name__ == "__main__":
    train(10)
