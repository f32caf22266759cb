"""A segmentation network with a trainer class and helpers, in the style of the larger Paddle suites.

The images (bright discs on a noisy ground) are generated, so it trains anywhere in seconds:

    python examples/segmentation.py --epochs 1 --steps 20

The costly lines are spread over the trainer, its step method and a helper; `perflint check examples/segmentation.py`
follows the calls to find them.
"""

import argparse
import logging
import sys
from pathlib import Path

import numpy as np
import paddle
import paddle.nn as nn

logger = logging.getLogger("segmentation")


class GeneratedDiscs(paddle.io.Dataset):
    """Grey images of 48 x 48 pixels with one disc each, and the mask of the disc."""

    def __init__(self, count, size=48):
        super().__init__()
        self.count = count
        self.size = size

    def __getitem__(self, index):
        generator = np.random.default_rng(index)
        row, column = generator.integers(12, self.size - 12, 2)
        radius = generator.integers(6, 12)
        rows, columns = np.ogrid[: self.size, : self.size]
        mask = (rows - row) ** 2 + (columns - column) ** 2 < radius**2
        image = mask + generator.normal(0, 0.4, mask.shape)
        return image[None].astype("float32"), mask.astype("int64")

    def __len__(self):
        return self.count


class EncoderDecoder(nn.Layer):
    def __init__(self, num_classes=2):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2D(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2D(16, 32, 3, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Conv2D(32, num_classes, 1)

    def forward(self, x):
        logits = self.head(self.encoder(x))
        return nn.functional.interpolate(logits, size=x.shape[2:], mode="bilinear")


class Average:
    """A running mean."""

    def __init__(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def value(self):
        return self.sum / max(self.count, 1)


def mean_iou(logits, masks):
    """Mean intersection over union of the two classes."""
    predicted = logits.argmax(axis=1).numpy()
    expected = masks.numpy()
    scores = []
    for label in range(2):
        union = np.logical_or(predicted == label, expected == label).sum()
        both = np.logical_and(predicted == label, expected == label).sum()
        scores.append(both / max(union, 1))
    return float(np.mean(scores))


class Trainer:
    def __init__(self, model, loader, args):
        self.model = model
        self.loader = loader
        self.args = args
        self.criterion = nn.CrossEntropyLoss(axis=1)
        self.optimizer = paddle.optimizer.Adam(learning_rate=0.005, parameters=model.parameters())
        self.loss = Average()
        self.iou = Average()

    def train_step(self, images, masks):
        logits = self.model(images)
        loss = self.criterion(logits, masks)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.loss.update(loss.item(), images.shape[0])
        self.iou.update(mean_iou(logits, masks))
        return loss

    def train(self):
        for epoch in range(self.args.epochs):
            for step, (images, masks) in enumerate(self.loader):
                loss = self.train_step(images, masks)
                logger.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
                paddle.save(self.model.state_dict(), str(self.args.output / "latest.pdparams"))
            logger.info("epoch %d mean loss %.4f mean IoU %.3f", epoch, self.loss.value, self.iou.value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40, help="batches in an epoch")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--output", type=Path, default=Path("output"), help="where the checkpoints go")
    args = parser.parse_args()

    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s", force=True)
    paddle.seed(2024)
    np.random.seed(2024)
    dataset = GeneratedDiscs(args.steps * args.batch_size)
    loader = paddle.io.DataLoader(dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)
    Trainer(EncoderDecoder(), loader, args).train()


if __name__ == "__main__":
    main()
