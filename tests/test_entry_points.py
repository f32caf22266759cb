"""Training entry points: which backward passes are one, and what is known of their steps."""

from __future__ import annotations

import ast

import pytest

from perflint.facts.entry_points import DeviceWork, EntryPoint, classes_of_model, entry_points, work_of
from tests.support import Files, project

LOOP = """
import paddle
def train(net, loader, opt, loss_of):
    for x, y in loader:
        x = paddle.to_tensor(x)
        out = net(x)
        loss = loss_of(out, y)
        opt.clear_grad()
        loss.backward()
        opt.step()
"""
METHOD = """
import paddle
class Trainer:
    def __init__(self, model, opt):
        self.model = model
        self.opt = opt
    def update(self, x, y):
        loss = self.model(x, y)
        loss.backward()
        self.opt.step()
    def fit(self, loader):
        for x, y in loader:
            self.update(x, y)
"""


def entries(files: Files) -> list[EntryPoint]:
    return list(entry_points(project(files)))


def only(files: Files) -> EntryPoint:
    (found,) = entries(files)
    return found


def test_the_parts_of_a_step() -> None:
    entry = only(LOOP)
    assert ast.unparse(entry.call) == "loss.backward()"
    assert [ast.unparse(node) for node in entry.forward] == ["out = net(x)", "loss = loss_of(out, y)"]
    assert (entry.models, entry.optimizers, entry.loss) == (("net",), ("opt",), "loss")
    assert entry.is_in_loop and entry.is_alone and not entry.others


def test_a_step_in_a_method_that_the_loop_calls() -> None:
    entry = only(METHOD)
    assert entry.scope.name == "update" and entry.driver.name == "fit"
    assert (entry.models, entry.optimizers) == (("self.model",), ("self.opt",))
    assert not entry.is_in_loop


def test_the_forward_pass_stands_in_a_block_further_out() -> None:
    text = LOOP.replace("        loss.backward()\n", "        if not skip:\n            loss.backward()\n")
    assert [ast.unparse(node) for node in only(text).forward] == ["out = net(x)", "loss = loss_of(out, y)"]


def test_a_second_backward_pass_in_the_step() -> None:
    text = LOOP + "        other = net(y)\n        other.backward()\n        opt.step()\n"
    assert not only(text).is_alone


def test_copies_are_one_entry_point() -> None:
    first, second = entries({"a/train.py": LOOP, "b/train.py": LOOP, "c/run.py": METHOD})
    assert len(first.others) == 1 and not second.others


def test_neighbours_with_nearly_the_same_calls_are_one_entry_point() -> None:
    """Six calls in one, seven and eight in the others: 6 of 7 are the same, and 6 of 8."""
    one = LOOP.replace("        out = net(x)\n", "        out = net(x)\n        print(out.shape)\n")
    two = LOOP.replace("        out = net(x)\n", "        out = net(x)\n        print(len(out.shape))\n")
    assert len(entries({"train_a.py": LOOP, "train_b.py": one})) == 1
    assert len(entries({"train_a.py": LOOP, "train_b.py": two})) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def train(", "def evaluate("),
        ("import paddle\n", "import paddle\nimport gym\n"),
        ("import paddle\n", "import paddle\nfrom paddle.vision.datasets import MNIST\n"),
        ("import paddle\n", "import paddle\npaddle.set_device('cpu')\n"),
        ("import paddle\n", "import paddle\npaddle.grad(u, x, create_graph=True)\n"),
        ("        opt.step()\n", ""),
    ],
)
def test_what_is_no_entry_point(old: str, new: str) -> None:
    assert LOOP.count(old) == 1
    assert entries(LOOP.replace(old, new)) == []


def test_a_program_for_paddle_1_is_no_entry_point() -> None:
    """An import of ``paddle.fluid`` that is left over in a program for Paddle 2 does not make it one for Paddle 1."""
    old = LOOP.replace("import paddle\n", "import paddle.fluid as fluid\n")
    assert entries(old.replace("paddle.to_tensor(", "fluid.dygraph.to_variable(")) == []
    assert len(entries(LOOP.replace("import paddle\n", "import paddle\nfrom paddle.fluid import layers\n"))) == 1


@pytest.mark.parametrize(
    ("layers", "work"),
    [
        ("paddle.nn.Conv2D(3, 64, 3)", {DeviceWork.CONVOLUTIONS}),
        ("paddle.nn.Conv2D(3, width, 3)", {DeviceWork.CONVOLUTIONS}),
        ("paddle.nn.Conv2D(3, 16, 3)", set()),
        ("paddle.nn.Linear(784, 512)", set()),
        ("paddle.nn.Linear(784, 1024)", {DeviceWork.PRODUCTS}),
        ("paddle.nn.TransformerEncoderLayer(64, 2, 128)", {DeviceWork.ATTENTION}),
        ("paddle.vision.models.LeNet()", set()),
        ("paddle.vision.models.resnet18()", {DeviceWork.CONVOLUTIONS}),
    ],
)
def test_what_a_step_spends_its_time_on(layers: str, work: set[DeviceWork]) -> None:
    assert work_of(only(f"{LOOP}\nnet = [{layers}, {layers}, {layers}]\n")) == work


MADE = """
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2D(3, 512, 3)

    def forward(self, x):
        return self.body(x)


class Trainer:
    def setup(self):
        model = {made}
        if self.ranks > 1:
            model = {wrapped}
        self.model = model

    def fit(self, loader, opt):
        for x, y in loader:
            loss = self.model(x, y)
            loss.backward()
            opt.step()
"""


@pytest.mark.parametrize(
    ("made", "wrapped", "known"),
    [
        ("Net()", "paddle.DataParallel(model)", {"Net"}),
        ("Net()", "unknown(3)", set()),
        ("unknown(3)", "paddle.DataParallel(model)", set()),
    ],
)
def test_a_model_that_is_wrapped_under_a_test_is_the_same(made: str, wrapped: str, known: set[str]) -> None:
    assert {owner.name for _, owner in classes_of_model(only(MADE.format(made=made, wrapped=wrapped)))} == known
