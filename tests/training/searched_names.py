"""A lambda that AdamW calls for each parameter: it searches a list of the names of those with weight decay."""

import sys

import numpy as np
import paddle
from paddle import nn


def make_loader(batch_size: int) -> paddle.io.DataLoader:
    generator = np.random.default_rng(7)
    features = generator.random((96, 16), dtype="float32")
    labels = generator.integers(0, 4, (96,))
    dataset = paddle.io.TensorDataset([features, labels])
    return paddle.io.DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=0)


def accuracy(net: nn.Layer, loader: paddle.io.DataLoader) -> float:
    net.eval()
    with paddle.no_grad():
        right = [(net(x).argmax(axis=-1) == y).astype("float32").mean() for x, y in loader]
    net.train()
    return float(paddle.stack(right).mean())


def train(net: nn.Layer, epochs: int) -> None:
    loader = make_loader(batch_size=8)
    decay_params = [p.name for n, p in net.named_parameters() if not any(part in n for part in ["bias", "norm"])]
    optimizer = paddle.optimizer.AdamW(
        learning_rate=0.01,
        parameters=net.parameters(),
        weight_decay=5.0,  # strong, so that a parameter with another decay shows
        apply_decay_param_fun=lambda name: name in decay_params,
    )
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        accuracy(net, loader)


if __name__ == "__main__":
    paddle.seed(7)
    np.random.seed(7)
    network = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 4))
    train(network, 2)
    np.savez(sys.argv[1] + ".npz", **{name: value.numpy() for name, value in network.state_dict().items()})
