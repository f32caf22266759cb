"""Whether the images of a training have one size, as what makes its samples says."""

from __future__ import annotations

import pytest

from perflint.facts.entry_points import entry_points
from perflint.rules.cudnn_search import Sizes, sizes_of_images
from tests.support import Files, project

TRAIN = """
import paddle
from data import Photos, pad
from paddle.vision import transforms
def main(net, opt, args):
    crop = transforms.Compose([{transforms}])
    train_set = Photos(args.root, transform=crop, mode="train", size=args.size)
    test_set = Photos(args.root, transform=transforms.CenterCrop(224), mode="test", size=224)
    loader = paddle.io.DataLoader(train_set, batch_size=8, shuffle=True{loader})
    for x, y in enumerate(loader()):
        loss = net(x, y)
        loss.backward()
        opt.step()
"""
DATA = """
import random
import cv2
import numpy as np
import paddle
class Photos(paddle.io.Dataset):
    def __init__(self, root, transform=None, mode="train", size=64):
        self.transform = transform
        self.mode = mode
        self.size = size
        self.files = []
    def __getitem__(self, index):
        image = cv2.imread(self.files[index])
        {body}
        return image
def pad(batch):
    width = max(each.shape[1] for each in batch)
    return [cv2.resize(each, (width, 32)) for each in batch]
"""
CALLED = "image = self.transform(image)"


def sizes(transforms: str = "", body: str = CALLED, loader: str = "") -> Sizes:
    files: Files = {
        "train.py": TRAIN.format(transforms=transforms, loader=loader),
        "data.py": DATA.format(body=body.replace("\n", "\n        ")),
    }
    (entry,) = entry_points(project(files))
    return sizes_of_images(entry)


@pytest.mark.parametrize(
    ("transforms", "expected"),
    [
        ("transforms.RandomCrop(224)", Sizes.ONE),
        ("transforms.Resize(256), transforms.RandomCrop(224), transforms.ToTensor()", Sizes.ONE),
        ("transforms.Resize((256, args.width))", Sizes.ONE),
        ("transforms.Resize(256)", Sizes.UNKNOWN),
        ("transforms.RandomCrop(224), transforms.Resize(random.choice([(64, 64), (96, 96)]))", Sizes.MANY),
        ("transforms.Resize((random.randint(8, 9) * 32, 256))", Sizes.MANY),
        ("transforms.ToTensor()", Sizes.UNKNOWN),
    ],
)
def test_the_last_transform_that_changes_sizes_decides(transforms: str, expected: Sizes) -> None:
    assert sizes(transforms) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("image = cv2.resize(image, (224, 224))", Sizes.ONE),
        ("image = cv2.resize(image, (self.size, self.size))", Sizes.ONE),
        ("h, w = image.shape[:2]\nimage = cv2.resize(image, (w // 2, h // 2))", Sizes.MANY),
        ("w = int(image.shape[1] * 32 / image.shape[0])\nimage = cv2.resize(image, (w, 32))", Sizes.MANY),
        ("x = random.randint(0, 9)\nimage = image[x:x + self.size, x:x + self.size]", Sizes.ONE),
        ("if self.mode == 'train':\n    image = cv2.resize(image, (64, 64))", Sizes.ONE),
        ("if self.mode == 'test':\n    image = cv2.resize(image, (64, 64))", Sizes.UNKNOWN),
        ("if self.mode != 'test':\n    pass\nelse:\n    image = cv2.resize(image, (64, 64))", Sizes.UNKNOWN),
        ("if random.random() < 0.5:\n    image = cv2.resize(image, (64, 64))", Sizes.UNKNOWN),
        ("if image.shape[0] > 64:\n    image = cv2.resize(image, (64, 64))", Sizes.UNKNOWN),
        ("image = cv2.resize(image, (self.width, 32))", Sizes.ONE),
        ("image = cv2.resize(image, (image.width, 32))", Sizes.MANY),
        ("image = np.reshape(image, (3, 32, 32))", Sizes.ONE),
        ("image = image.reshape([3, -1])", Sizes.UNKNOWN),
        ("if self.transform is None:\n    image = cv2.resize(image, (64, 64))", Sizes.UNKNOWN),
    ],
)
def test_what_a_dataset_does_with_an_image(body: str, expected: Sizes) -> None:
    assert sizes(body=body) is expected


def test_a_transform_for_evaluation_says_nothing_about_training() -> None:
    """The test set alone is given a crop; what a transform of the project does is read in its own code."""
    assert sizes("transforms.ToTensor()") is Sizes.UNKNOWN
    assert sizes("Own()") is Sizes.UNKNOWN


def test_what_collates_batches_runs_last() -> None:
    assert sizes("transforms.RandomCrop(224)", loader=", collate_fn=pad") is Sizes.MANY


def test_a_dataset_inside_of_another_one() -> None:
    text = """
import paddle
from paddle.vision.datasets import Cifar10, Flowers
class Part(paddle.io.Dataset):
    def __init__(self, whole, indices):
        self.whole = whole
        self.indices = indices
    def __getitem__(self, index):
        image, label = self.whole[self.indices[index]]
        return image, label
def main(net, opt):
    loader = paddle.io.DataLoader(Part(Cifar10(mode="train"), range(100)), batch_size=8)
    for x, y in loader:
        loss = net(x, y)
        loss.backward()
        opt.step()
"""
    (one,) = entry_points(project({"train.py": text}))
    (other,) = entry_points(project({"train.py": text.replace("Part(Cifar10(", "Part(Flowers(")}))
    assert (sizes_of_images(one), sizes_of_images(other)) == (Sizes.ONE, Sizes.UNKNOWN)


def test_a_loader_that_cannot_be_followed() -> None:
    text = """
import paddle
def train(net, opt, loader, resize):
    for x, y in loader:
        loss = net(x, y)
        loss.backward()
        opt.step()
"""
    (entry,) = entry_points(project({"train.py": text}))
    assert sizes_of_images(entry) is Sizes.UNKNOWN


@pytest.mark.parametrize(("branches", "expected"), [(3, Sizes.ONE), (40, Sizes.UNKNOWN)])
def test_a_question_ends_where_each_branch_multiplies_the_ways(branches: int, expected: Sizes) -> None:
    wrapped = "".join(f"    if a{number}:\n        crop = same(crop)\n" for number in range(branches))
    text = f"""
import paddle
from paddle.vision.datasets import Flowers
from paddle.vision.transforms import RandomCrop
def same(crop):
    return crop
def main(net, opt):
    crop = RandomCrop(64)
{wrapped}
    for x, y in paddle.io.DataLoader(Flowers(transform=crop), batch_size=8):
        loss = net(x, y)
        loss.backward()
        opt.step()
"""
    (entry,) = entry_points(project({"train.py": text}))
    assert sizes_of_images(entry) is expected
