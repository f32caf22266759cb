"""What a step of a GAN costs more if it computes gradients that are cleared unused (PPF509), on the CPU.

    python benchmarks/dropped_gradients.py

A generator and a discriminator of five convolutions each, 64 x 64 pixels, batches of 16.  Three versions of one step:
as GANs are trained ("plain": the result is detached for the discriminator), with the discriminator's weights frozen
while the generator is trained ("frozen"), and with a result that is not detached ("not detached").  The weights of
the generator and of the discriminator are equal after the first two, to the last bit.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

import paddle
from paddle import nn
from paddle.nn.functional import binary_cross_entropy_with_logits as cross_entropy

RESULT = Path(__file__).parent / "results" / "dropped_gradients.json"
BATCH, WIDTH, STEPS, ROUNDS = 16, 32, 6, 5


def generator() -> nn.Layer:
    """From 100 numbers to 64 x 64 pixels."""
    layers: list[nn.Layer] = []
    for before, after in ((100, 8 * WIDTH), (8 * WIDTH, 4 * WIDTH), (4 * WIDTH, 2 * WIDTH), (2 * WIDTH, WIDTH)):
        stride, padding = (1, 0) if before == 100 else (2, 1)
        layers += [nn.Conv2DTranspose(before, after, 4, stride, padding), nn.BatchNorm2D(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2DTranspose(WIDTH, 3, 4, 2, 1), nn.Tanh())


def discriminator() -> nn.Layer:
    """From 64 x 64 pixels to one number."""
    layers: list[nn.Layer] = []
    for before, after in ((3, WIDTH), (WIDTH, 2 * WIDTH), (2 * WIDTH, 4 * WIDTH), (4 * WIDTH, 8 * WIDTH)):
        layers += [nn.Conv2D(before, after, 4, 2, 1), nn.BatchNorm2D(after), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2D(8 * WIDTH, 1, 4), nn.Flatten(0))


class Gan:
    """Both networks, with their optimizers."""

    def __init__(self) -> None:
        paddle.seed(1)
        self.g, self.d = generator(), discriminator()
        self.optimizer_g = paddle.optimizer.Adam(2e-4, parameters=self.g.parameters())
        self.optimizer_d = paddle.optimizer.Adam(2e-4, parameters=self.d.parameters())

    def step(self, real: paddle.Tensor, noise: paddle.Tensor, version: str) -> None:
        """One step of both."""
        ones, zeros = paddle.ones([BATCH]), paddle.zeros([BATCH])
        self._freeze(False)
        fake = self.g(noise)
        self.optimizer_d.clear_grad()
        given = fake if version == "not detached" else fake.detach()
        loss = cross_entropy(self.d(real), ones)
        loss += cross_entropy(self.d(given), zeros)
        loss.backward(retain_graph=version == "not detached")
        self.optimizer_d.step()
        self._freeze(version == "frozen")
        self.optimizer_g.clear_grad()
        cross_entropy(self.d(fake), ones).backward()
        self.optimizer_g.step()

    def _freeze(self, value: bool) -> None:
        for parameter in self.d.parameters():
            parameter.stop_gradient = value

    def weights(self) -> list[bytes]:
        """The bytes of all weights."""
        return [each.numpy().tobytes() for net in (self.g, self.d) for each in net.parameters()]


def milliseconds(version: str) -> tuple[float, list[bytes]]:
    """The processor time of a step, and the weights after all of them."""
    gan = Gan()
    paddle.seed(2)
    batches = [(paddle.randn([BATCH, 3, 64, 64]), paddle.randn([BATCH, 100, 1, 1])) for _ in range(STEPS)]
    gan.step(*batches[0], version)
    start = time.process_time()
    for batch in batches[1:]:
        gan.step(*batch, version)
    return 1000 * (time.process_time() - start) / (STEPS - 1), gan.weights()


def main() -> None:
    """Measure the versions in turn, and write the medians."""
    found: dict[str, list[float]] = {"plain": [], "frozen": [], "not detached": []}
    weights = {}
    for _ in range(ROUNDS):
        for version, times in found.items():
            each, weights[version] = milliseconds(version)
            times.append(each)
    result = {
        "paddle": paddle.__version__,
        "milliseconds of the processor": {
            version: round(statistics.median(times), 1) for version, times in found.items()
        },
        "weights equal after plain and frozen": weights["plain"] == weights["frozen"],
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
