"""A small convolutional network on CIFAR-10 sized images, written the way many first training scripts are.

The images are generated, so it trains anywhere in seconds:

    python examples/cifar10.py --epochs 1 --steps 20

What slows it down on a GPU is for `perflint check examples/cifar10.py` to say.
"""

import argparse
from pathlib import Path

import numpy as np
import paddle
import paddle.nn as nn
from paddle.io import DataLoader, Dataset

CLASSES = 10


class GeneratedImages(Dataset):
    """Each class is a colour pattern of its own under noise; training images are flipped now and then."""

    def __init__(self, count, flip):
        generator = np.random.default_rng(0)
        self.patterns = generator.random((CLASSES, 3, 32, 32), dtype="float32")
        self.labels = generator.integers(0, CLASSES, count)
        self.flip = flip

    def __getitem__(self, index):
        noise = np.random.default_rng(index).normal(0, 0.3, (3, 32, 32)).astype("float32")
        label = self.labels[index]
        image = (self.patterns[label] + noise - 0.5) / 0.5
        if self.flip and np.random.rand() < 0.5:
            image = image[:, :, ::-1].copy()
        return image, label

    def __len__(self):
        return len(self.labels)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(3, 16, kernel_size=3, padding=1),
            nn.BatchNorm2D(16),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Conv2D(16, 32, kernel_size=3, padding=1),
            nn.BatchNorm2D(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2D(4),
        )
        self.hidden = nn.Linear(512, 250)
        self.relu = nn.ReLU()
        self.head = nn.Linear(250, CLASSES)

    def forward(self, x):
        x = self.features(x)
        x = paddle.flatten(x, start_axis=1)
        x = self.relu(self.hidden(x))
        return self.head(x)


def evaluate(model, loader):
    model.eval()
    correct = 0
    seen = 0
    with paddle.no_grad():
        for images, labels in loader:
            predicted = model(images).argmax(axis=1)
            correct += int((predicted == labels).sum())
            seen += labels.shape[0]
    model.train()
    return correct / seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40, help="batches in an epoch")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--output", type=Path, default=Path("output"), help="where the checkpoints go")
    args = parser.parse_args()

    paddle.seed(2024)
    np.random.seed(2024)
    train_set = GeneratedImages(args.steps * args.batch_size, flip=True)
    test_set = GeneratedImages(2 * args.batch_size, flip=False)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=args.batch_size, num_workers=0)

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = paddle.optimizer.Momentum(learning_rate=0.01, momentum=0.9, parameters=model.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024)

    for epoch in range(args.epochs):
        total_loss = 0.0
        for step, (images, labels) in enumerate(train_loader):
            with paddle.amp.auto_cast(level="O1"):
                logits = model(images)
                loss = criterion(logits, labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
            total_loss += loss.item()
            print(f"epoch {epoch} step {step} loss {float(loss):.4f}")
        accuracy = evaluate(model, test_loader)
        print(f"epoch {epoch} mean loss {total_loss / len(train_loader):.4f} accuracy {accuracy:.3f}")
        paddle.save(model.state_dict(), str(args.output / f"cifar10-{epoch}.pdparams"))


if __name__ == "__main__":
    main()
