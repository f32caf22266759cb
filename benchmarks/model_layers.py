"""What the ways to write a part of a model cost that PPF901 to PPF912 compare, forward and backward.

Run it with `python benchmarks/model_layers.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import paddle
from paddle import nn
from paddle.nn import functional

ROUNDS = 20


def main() -> None:
    """Print a line for each way: milliseconds, the median of some rounds."""
    paddle.seed(0)
    for rows, classes in ((256, 10), (1024, 1000)):
        show_likelihoods(rows, classes)
    logits, targets = trained([256, 1000]), paddle.rand([256, 1000])
    show(
        "binary_cross_entropy(sigmoid(x))", lambda: functional.binary_cross_entropy(functional.sigmoid(logits), targets)
    )
    show("binary_cross_entropy_with_logits(x)", lambda: functional.binary_cross_entropy_with_logits(logits, targets))
    show_parts()


def show_likelihoods(rows: int, classes: int) -> None:
    """The cross entropy of some rows, in two calls and in one."""
    logits, labels = trained([rows, classes]), paddle.randint(0, classes, [rows])
    size = f"{rows} x {classes}"
    show(f"nll_loss(log_softmax(x)), {size}", lambda: functional.nll_loss(functional.log_softmax(logits), labels))
    show(
        f"cross_entropy(softmax(x), use_softmax=False), {size}",
        lambda: functional.cross_entropy(functional.softmax(logits), labels, use_softmax=False),
    )
    show(f"cross_entropy(x), {size}", lambda: functional.cross_entropy(logits, labels))


def show_parts() -> None:
    """The same for tensors that are put together, looked up, or gone through one by one."""
    parts = [trained([16, 256]) for _ in range(200)]
    show("concat in a loop, 200 parts of [16, 256]", lambda: grown(parts).sum())
    show("concat once, 200 parts of [16, 256]", lambda: paddle.concat(parts, axis=0).sum())
    rows = parts[:50]
    show("50 parts of [16, 256] written one by one", lambda: filled(rows).sum())
    show("one stack of 50 parts of [16, 256]", lambda: paddle.stack(rows, axis=1).sum())
    layer = nn.Linear(256, 256)
    show("a linear layer of each of 50 parts of [16, 256]", lambda: paddle.stack([layer(row) for row in rows]).sum())
    show("the same layer of one stack of them", lambda: layer(paddle.stack(rows)).sum())
    samples = [trained([1, 30, 768]) for _ in range(24)]
    show("concat in a loop, 24 samples of [30, 768]", lambda: grown(samples).sum())
    show("concat once, 24 samples of [30, 768]", lambda: paddle.concat(samples, axis=0).sum())
    rows, body = paddle.rand([256, 256]), nn.Sequential(*(nn.Linear(256, 256) for _ in range(8)))
    head = nn.Linear(256, 16)
    show("a part of 8 linear layers that is trained, and a head", lambda: head(body(rows)).sum())
    for parameter in body.parameters():
        parameter.stop_gradient = True
    show("the same part, its parameters frozen, and a head", lambda: head(body(rows)).sum())
    images = trained([8, 3, 128, 128])
    show("fft2 and angle of 8 images of 128 x 128", lambda: paddle.angle(paddle.fft.fft2(images)).sum())
    table, ids = trained([20000, 64]), paddle.randint(0, 20000, [256])
    show("matmul(one_hot(ids), W), 20,000 x 64", lambda: paddle.matmul(functional.one_hot(ids, 20000), table).sum())
    show("embedding(ids, W), 20,000 x 64", lambda: functional.embedding(ids, table).sum())
    logits, labels = trained([64, 1000]), paddle.randint(0, 1000, [64])
    show(
        "(one_hot(labels) * log_softmax(x)).sum(-1), 64 x 1000",
        lambda: (functional.one_hot(labels, 1000) * functional.log_softmax(logits)).sum(-1).sum(),
    )
    show(
        "take_along_axis(log_softmax(x), labels), 64 x 1000",
        lambda: paddle.take_along_axis(functional.log_softmax(logits), labels.unsqueeze(-1), axis=-1).sum(),
    )
    image = trained([16, 32, 64, 64])
    biased, plain = convolution(None), convolution(False)
    show("a convolution with a bias, and batch norm", lambda: (biased(image) ** 2).sum())
    show("a convolution without a bias, and batch norm", lambda: (plain(image) ** 2).sum())
    batch = trained([64, 32, 32])
    show("a product for each sample of 64", lambda: one_by_one(batch).sum())
    show("one product of the batch of 64", lambda: paddle.matmul(batch, batch).sum())
    pairs, four = trained([64, 64]), paddle.arange(64) // 4
    mask = four.unsqueeze(0) == four.unsqueeze(1)
    show(
        "the largest of 4 masked values, for each of 64 rows",
        lambda: paddle.stack([paddle.max(pairs[row][mask[row]]) for row in range(64)]).sum(),
    )
    show(
        "the same for all rows, with where",
        lambda: paddle.where(mask, pairs, paddle.full_like(pairs, -1e9)).max(axis=1).sum(),
    )
    show("x[i, labels[i]] for each of 64 rows", lambda: picked(logits, labels))
    show("x[arange(64), labels]", lambda: logits[paddle.arange(64), labels].sum())


def convolution(bias: bool | None) -> paddle.nn.Layer:
    """A convolution with the default bias or without one, and batch norm."""
    return paddle.nn.Sequential(paddle.nn.Conv2D(32, 32, 1, bias_attr=bias), paddle.nn.BatchNorm2D(32))


def grown(parts: list[paddle.Tensor]) -> paddle.Tensor:
    """All parts behind each other, each put behind those before it."""
    out = parts[0]
    for part in parts[1:]:
        out = paddle.concat([out, part], axis=0)
    return out


def filled(parts: list[paddle.Tensor]) -> paddle.Tensor:
    """All parts side by side, each written into a tensor of zeros."""
    out = paddle.zeros([parts[0].shape[0], len(parts), parts[0].shape[1]])
    for place, part in enumerate(parts):
        out[:, place] = part
    return out


def one_by_one(batch: paddle.Tensor) -> paddle.Tensor:
    """The square of each matrix of a batch, one after the other."""
    return paddle.stack([paddle.matmul(batch[sample], batch[sample]) for sample in range(batch.shape[0])])


def picked(values: paddle.Tensor, labels: paddle.Tensor) -> paddle.Tensor:
    """The sum of the values that labels choose, one for each row."""
    return paddle.add_n([values[row, label] for row, label in enumerate(labels)])


def trained(shape: list[int]) -> paddle.Tensor:
    """Numbers that get a gradient."""
    tensor = paddle.randn(shape)
    tensor.stop_gradient = False
    return tensor


def show(what: str, loss: Callable[[], paddle.Tensor]) -> None:
    """Print how long a loss and its gradients take."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        value = loss()
        value.backward()
        float(value)
        taken.append(time.perf_counter() - start)
    print(f"{median(taken) * 1000:9.2f} ms  {what}")


if __name__ == "__main__":
    main()
