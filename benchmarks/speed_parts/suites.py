"""Paddle projects made up for timing: step loops, datasets, layers and what they call in other files.

The same seed gives the same files, and a larger project starts with the files of a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from textwrap import dedent

THEMES = ("detection", "segmentation", "recognition", "translation", "ranking", "speech", "pose", "restoration")
OPERATIONS = ("relu", "gelu", "sigmoid", "hardswish", "silu", "leaky_relu")
HOOKS = ("profile", "checkpoint", "schedule", "freeze", "summary", "export", "warm_up", "resume", "prune", "quantize")
QUANTITIES = ("scale", "offset", "margin", "ratio", "weight", "threshold", "momentum", "radius")
_PACKAGE_INIT = '"""Models, data and training of one task."""\n'


def write_project(directory: Path, lines: int, seed: int = 0) -> dict[str, int]:
    """Write at least so many lines of Python, at most one file more.

    Returns:
        The numbers of files and of lines that were written.
    """
    files = written = 0
    for path, text in project(seed):
        if written >= lines:
            break
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        files, written = files + 1, written + text.count("\n")
    return {"files": files, "lines": written}


def write_near_empty(directory: Path, files: int) -> None:
    """Write so many files with a line or none, a hundred to a directory."""
    texts = ("", "", '"""A part of the package."""\n', "import paddle\n", "from . import models\n", "VERSION = 1\n")
    for number in range(files):
        place = directory / f"package_{number // 100:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"module_{number % 100:02d}.py").write_text(texts[number % len(texts)], encoding="utf-8")


def project(seed: int) -> Iterator[tuple[str, str]]:
    """Path and text of one file after the other, without end."""
    number = 0
    while True:
        random = Random(f"{seed}-{number}")
        yield from package(f"{random.choice(THEMES)}_{number:04d}", random, long_trainer=number == 0)
        number += 1


def package(name: str, random: Random, *, long_trainer: bool) -> Iterator[tuple[str, str]]:
    """Path and text of the files of one package, and of the script that trains with it."""
    yield f"{name}/__init__.py", _PACKAGE_INIT
    yield f"{name}/engine/__init__.py", f"from {name}.engine.trainer import Trainer\n\n__all__ = ['Trainer']\n"
    yield f"{name}/engine/trainer.py", _trainer(name, random, 143 if long_trainer else random.randint(2, 25))
    yield f"{name}/utils/__init__.py", ""
    yield f"{name}/utils/meters.py", METERS
    yield f"{name}/utils/logger.py", LOGGER
    yield f"tools/train_{name}.py", _text(MAIN, package=name, workers=random.choice((2, 4, 4, 8, 0)))
    yield f"{name}/data/__init__.py", ""
    yield f"{name}/data/dataset.py", _text(DATASET, package=name, size=random.choice((64, 128, 224, 256)))
    yield f"{name}/data/transforms.py", TRANSFORMS + _repeated(TRANSFORM, random, 20, 100)
    yield f"{name}/models/__init__.py", ""
    yield f"{name}/models/backbone.py", BACKBONE + _repeated(BLOCK, random, 8, 50)
    yield f"{name}/models/losses.py", LOSSES + _repeated(LOSS, random, 4, 40)
    yield f"{name}/config.py", "DEFAULTS = {}\n" + _repeated(SETTINGS, random, 10, 80)
    yield f"{name}/utils/metrics.py", METRICS + _repeated(METRIC, random, 8, 50)


def _trainer(name: str, random: Random, hooks: int) -> str:
    # Most trainers read the loss now and then; some do at each step, as real ones do.
    log = LOG_EACH_STEP if random.random() < 0.2 else LOG_SOMETIMES
    return _text(TRAINER, package=name, log=log) + _repeated(HOOK, random, hooks, hooks)


def _repeated(template: str, random: Random, least: int, most: int) -> str:
    return "".join(_varied(template, random, number) for number in range(random.randint(least, most)))


def _varied(template: str, random: Random, number: int) -> str:
    pick: dict[str, Callable[[], str]] = {
        "operation": lambda: random.choice(OPERATIONS),
        "hook": lambda: random.choice(HOOKS),
        "first": lambda: random.choice(QUANTITIES[:4]),
        "second": lambda: random.choice(QUANTITIES[4:]),
        "width": lambda: str(random.choice((64, 96, 128, 256, 512))),
        "factor": lambda: f"{random.uniform(0.01, 4):.3f}",
    }
    return _text(template, number=str(number), **{key: choose() for key, choose in pick.items()})


def _text(template: str, **values: object) -> str:
    for key, value in values.items():
        template = template.replace(f"@{key}@", str(value))
    return template


def _source(text: str) -> str:
    return dedent(text).lstrip("\n")


TRAINER = _source('''
    """The training loop of the task."""

    import os
    import time

    import paddle

    from @package@.models.losses import TotalLoss
    from @package@.utils.logger import Logger
    from @package@.utils.meters import AverageMeter
    from @package@.utils.metrics import TopK


    class Trainer:
        """Trains a model on batches of a loader, and evaluates it after each epoch."""

        def __init__(self, model, loader, optimizer, scheduler, settings):
            self.model = model
            self.loader = loader
            self.optimizer = optimizer
            self.scheduler = scheduler
            self.settings = settings
            self.criterion = TotalLoss(settings)
            self.logger = Logger(settings.get('log_file'))
            self.meter = AverageMeter()
            self.best = 0.0

        def train(self, epochs, evaluation_loader=None):
            for epoch in range(epochs):
                self.model.train()
                self.train_epoch(epoch)
                if evaluation_loader is not None:
                    score = self.evaluate(evaluation_loader)
                    if score > self.best:
                        self.best = score
                        self.save(epoch)
                self.scheduler.step()

        def train_epoch(self, epoch):
            started = time.time()
            for step, (images, labels) in enumerate(self.loader):
                outputs = self.model(images)
                loss = self.criterion(outputs, labels)
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
    @log@
                if step % self.settings['log_interval'] == 0:
                    self.logger.info('epoch %d step %d %.1f s', epoch, step, time.time() - started)

        @paddle.no_grad()
        def evaluate(self, loader):
            self.model.eval()
            metric = TopK(self.settings.get('top_k', 1))
            for images, labels in loader:
                metric.update(self.model(images), labels)
            return metric.accumulate()

        def save(self, epoch):
            path = os.path.join(self.settings['output'], 'epoch_%d' % epoch)
            paddle.save(self.model.state_dict(), path + '.pdparams')
            paddle.save(self.optimizer.state_dict(), path + '.pdopt')
''')
LOG_EACH_STEP = "            self.meter.update(loss.item(), len(labels))"
LOG_SOMETIMES = """\
            if step % self.settings['log_interval'] == 0:
                self.meter.update(float(loss), len(labels))"""
HOOK = '''
    def @hook@_@number@(self, epoch, @first@=@factor@, @second@=None):
        """Called by name from the settings."""
        if @second@ is None:
            @second@ = self.settings.get('@second@', @width@)
        if epoch < self.settings.get('@hook@_epochs', 0):
            return @first@
        @first@ = min(@first@ * (epoch + 1) / max(1, @second@), 1.0)
        self.logger.info('@hook@: %s', @first@)
        return @first@
'''
METERS = _source('''
    """Running averages of what a step reports."""


    class AverageMeter:
        """The average of all values since it was reset."""

        def __init__(self):
            self.reset()

        def reset(self):
            self.total = 0.0
            self.count = 0

        def update(self, value, count=1):
            self.total += value * count
            self.count += count

        @property
        def average(self):
            return self.total / max(1, self.count)
''')
LOGGER = _source('''
    """Messages to the terminal and to a file."""

    import logging


    class Logger:
        """Writes on the first process only."""

        def __init__(self, path=None, rank=0):
            self.rank = rank
            self.logger = logging.getLogger(__name__)
            if path:
                self.logger.addHandler(logging.FileHandler(path))

        def info(self, message, *values):
            if self.rank == 0:
                self.logger.info(message, *values)
''')
MAIN = _source('''
    """Trains the task from the command line."""

    import argparse

    import paddle
    from @package@.config import DEFAULTS
    from @package@.data.dataset import ImageDataset
    from @package@.engine.trainer import Trainer
    from @package@.models.backbone import Backbone


    def parse():
        parser = argparse.ArgumentParser()
        parser.add_argument('--data', required=True)
        parser.add_argument('--epochs', type=int, default=90)
        parser.add_argument('--batch-size', type=int, default=32)
        parser.add_argument('--workers', type=int, default=@workers@)
        parser.add_argument('--learning-rate', type=float, default=0.1)
        return parser.parse_args()


    def main():
        args = parse()
        dataset = ImageDataset(args.data)
        loader = paddle.io.DataLoader(dataset, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
        model = Backbone(classes=1000)
        scheduler = paddle.optimizer.lr.CosineAnnealingDecay(args.learning_rate, args.epochs)
        optimizer = paddle.optimizer.Momentum(scheduler, parameters=model.parameters())
        settings = dict(DEFAULTS, log_interval=20, output='output')
        Trainer(model, loader, optimizer, scheduler, settings).train(args.epochs)


    if __name__ == '__main__':
        main()
''')
DATASET = _source('''
    """Images and labels from a list file."""

    import os

    import numpy as np
    from paddle.io import Dataset
    from PIL import Image

    from @package@.data.transforms import Compose


    class ImageDataset(Dataset):
        """Pairs of an image and its label."""

        def __init__(self, root, transforms=(), size=@size@):
            super().__init__()
            self.root = root
            self.size = size
            self.transforms = Compose(transforms)
            with open(os.path.join(root, 'list.txt')) as file:
                self.rows = [line.split() for line in file]

        def __getitem__(self, index):
            path, label = self.rows[index]
            image = Image.open(os.path.join(self.root, path)).convert('RGB')
            image = np.asarray(image.resize((self.size, self.size)), dtype='float32')
            return self.transforms(image), np.int64(label)

        def __len__(self):
            return len(self.rows)
''')
TRANSFORMS = _source('''
    """What is done to an image before it enters a batch."""

    import numpy as np


    class Compose:
        """One transform after the other."""

        def __init__(self, transforms):
            self.transforms = list(transforms)

        def __call__(self, image):
            for transform in self.transforms:
                image = transform(image)
            return image
''')
TRANSFORM = '''

class Adjust@number@:
    """Changes the @first@ of an image, and sometimes its @second@."""

    def __init__(self, @first@=@factor@, @second@=0.5, seed=None):
        self.@first@ = @first@
        self.@second@ = @second@
        self.random = np.random.RandomState(seed)

    def __call__(self, image):
        if self.random.rand() > self.@second@:
            return image
        height, width = image.shape[:2]
        top = self.random.randint(0, max(1, height - int(height * self.@first@)) + 1)
        left = self.random.randint(0, max(1, width - int(width * self.@first@)) + 1)
        patch = image[top:top + @width@, left:left + @width@]
        image = image.copy()
        image[top:top + @width@, left:left + @width@] = np.clip(patch * @factor@, 0, 255)
        return np.ascontiguousarray(image)
'''
BACKBONE = _source('''
    """The layers of the model."""

    import paddle
    import paddle.nn as nn
    import paddle.nn.functional as F


    class Backbone(nn.Layer):
        """Blocks of growing width, and a classifier."""

        def __init__(self, classes, width=64, blocks=None):
            super().__init__()
            self.stem = nn.Conv2D(3, width, 3, stride=2, padding=1)
            self.blocks = nn.LayerList(blocks or [Block0(width)])
            self.pool = nn.AdaptiveAvgPool2D(1)
            self.classifier = nn.Linear(width, classes)

        def forward(self, images):
            features = F.relu(self.stem(images))
            for block in self.blocks:
                features = block(features)
            return self.classifier(paddle.flatten(self.pool(features), 1))
''')
BLOCK = '''

class Block@number@(nn.Layer):
    """A residual block with @operation@."""

    def __init__(self, channels=@width@, @first@=@factor@):
        super().__init__()
        self.@first@ = @first@
        self.conv1 = nn.Conv2D(channels, channels, 3, padding=1, bias_attr=False)
        self.norm1 = nn.BatchNorm2D(channels)
        self.conv2 = nn.Conv2D(channels, channels, 1)
        self.norm2 = nn.BatchNorm2D(channels)

    def forward(self, features):
        residual = features
        features = F.@operation@(self.norm1(self.conv1(features)))
        features = self.norm2(self.conv2(features))
        if self.training and self.@first@ < 1.0:
            features = F.dropout(features, p=0.1)
        shape = features.shape
        attention = paddle.mean(features, axis=[2, 3], keepdim=True)
        features = features * F.sigmoid(attention.reshape([shape[0], shape[1], 1, 1]))
        return residual + self.@first@ * features
'''
LOSSES = _source('''
    """What the model is trained on."""

    import paddle
    import paddle.nn.functional as F


    class TotalLoss(paddle.nn.Layer):
        """The weighted sum of the losses that the settings name."""

        def __init__(self, settings):
            super().__init__()
            self.weights = settings.get('losses', {})

        def forward(self, outputs, labels):
            loss = F.cross_entropy(outputs, labels)
            for name, weight in self.weights.items():
                loss = loss + weight * globals()[name](outputs, labels)
            return loss
''')
LOSS = '''

def loss_@number@(outputs, labels, @first@=@factor@, @second@=@width@):
    """Penalises what is far from the label by more than the @first@."""
    target = F.one_hot(labels, outputs.shape[-1])
    distance = paddle.abs(F.softmax(outputs) - target)
    near = paddle.where(distance < @first@, distance * distance / @first@, distance)
    weight = paddle.clip(paddle.sum(near, axis=-1, keepdim=True), max=float(@second@))
    return paddle.mean(near * weight)
'''
SETTINGS = """
DEFAULTS.update({
    '@first@_@number@': @factor@,
    '@second@_@number@': [@width@, @width@, @factor@],
    'schedule_@number@': {'name': '@operation@', 'epochs': [30, 60, 80], 'values': (@factor@, 0.1, 0.01)},
})
"""
METRICS = _source('''
    """How good the model is."""

    import numpy as np


    class TopK:
        """The share of samples whose label is among the best guesses."""

        def __init__(self, k=1):
            self.k = k
            self.right = self.count = 0

        def update(self, outputs, labels):
            best = np.argsort(-outputs.numpy(), axis=-1)[:, :self.k]
            self.right += int((best == labels.numpy().reshape(-1, 1)).any(axis=1).sum())
            self.count += len(best)

        def accumulate(self):
            return self.right / max(1, self.count)
''')
METRIC = '''

def measure_@number@(predictions, labels, @first@=@factor@):
    """The @second@ of predictions above the @first@."""
    chosen = [index for index, value in enumerate(predictions) if value > @first@]
    right = sum(1 for index in chosen if labels[index] == 1)
    wrong = len(chosen) - right
    missed = sum(1 for label in labels if label == 1) - right
    precision = right / max(1, right + wrong)
    recall = right / max(1, right + missed)
    if precision + recall == 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)
'''
