"""Where the forward pass of a step begins, which is where PPF301 is reported."""

from __future__ import annotations

import pytest

from tests.support import check

HEAD = """\
import argparse
import paddle
import paddle.nn.functional as F
from paddle.vision.models import resnet50

net = resnet50()
opt = paddle.optimizer.Momentum(parameters=net.parameters())
"""
LAYER = """\
class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Conv2D(3, 512, 3)

    def forward(self, x):
        return self.body(x)


"""


def marked(text: str) -> int:
    """The row that ends with ``# here``."""
    return next(row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# here"))


IN_THE_LOOP = """\
for x, y in loader:
    x = x / 255
    out = net(x)  # here
    loss = F.cross_entropy(out, y)
    loss.backward()
    opt.step()
"""
IN_A_BLOCK = """\
for x, y in loader:
    out = net(x)  # here
    loss = F.cross_entropy(out, y)
    if scale:
        scaled = loss * 8
        scaled.backward()
    else:
        loss.backward()
    opt.step()
"""
IN_A_FUNCTION = """\
def render(rays):
    return paddle.clip(net(rays), 0, 1)


for x, y in loader:
    rays = x.astype("float32")
    image = render(rays)  # here
    loss = F.mse_loss(image, y)
    loss.backward()
    opt.step()
"""
IN_A_METHOD = """\
class Trainer:
    def __init__(self):
        self.net = Net()

    def compute(self, x):
        self.out = self.net(x)

    def learn(self, x, y):
        self.compute(x)  # here
        self.descend(y)

    def descend(self, y):
        self.loss = F.mse_loss(self.out, y)
        self.loss.backward()
        opt.step()


trainer = Trainer()
for x, y in loader:
    trainer.learn(x, y)
"""


@pytest.mark.parametrize("step", [IN_THE_LOOP, IN_A_BLOCK, IN_A_FUNCTION, IN_A_METHOD])
def test_the_finding_is_where_the_edit_begins(step: str) -> None:
    text = HEAD + LAYER + step
    (finding,) = check(text, "PPF301")
    assert text.count("\n", 0, finding.start) + 1 == marked(text)
    rows = [place.line for place in finding.related if place.message == "its backward pass"]
    lines = text.splitlines()
    assert rows and "backward()" in lines[rows[0] - 1]


@pytest.mark.parametrize(("step", "count"), [(IN_THE_LOOP, 1), (IN_A_BLOCK, 0), (IN_A_METHOD, 0)])
def test_an_edit_needs_the_forward_pass_and_the_loss_in_one_block(step: str, count: int) -> None:
    """Under ``auto_cast`` the loss has to be as well: a part of it elsewhere is for a person."""
    (finding,) = check(HEAD + LAYER + step, "PPF301")
    assert finding.fix is not None and bool(finding.fix.edits) == bool(count)


OPTION = """\
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amp", action="store_true")  # here
    return parser.parse_args()


args = options()
for x, y in loader:
    with paddle.amp.auto_cast(enable=args.amp):
        loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""
DEFAULT = """\
def train(loader, amp=False):  # here
    for x, y in loader:
        with paddle.amp.auto_cast(enable=amp):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()


train(loader)
"""


@pytest.mark.parametrize("text", [HEAD + OPTION, HEAD + DEFAULT])
def test_what_leaves_it_off_is_where_it_is_turned_on(text: str) -> None:
    (finding,) = check(text, "PPF301")
    assert text.count("\n", 0, finding.start) + 1 == marked(text)
    row = next(row for row, line in enumerate(text.splitlines(), 1) if "backward" in line)
    assert f"The step at line {row} trains `net` in float32" in finding.message


def test_an_option_in_another_file_is_reported_there() -> None:
    """And a comment there silences it."""
    options = "import argparse\n\n\n" + OPTION.partition("\n\n\n")[0] + "\n"
    step = HEAD + "from options import options\n\n" + OPTION.partition("\n\n\n")[2]
    (finding,) = check({"train.py": step, "options.py": options}, "PPF301")
    assert finding.path == "options.py" and "The step at train.py:" in finding.message
    quiet = options.replace("# here", "# noqa: PPF301")
    assert check({"train.py": step, "options.py": quiet}, "PPF301") == []


def test_functions_that_call_each_other_are_searched_once() -> None:
    text = (
        LAYER
        + """\
def step(net, x, y, again):
    if again:
        step(net, x, y, again - 1)
    go(net, x, y, again)


def go(net, x, y, again):
    if again > 3:
        step(net, x, y, again)
    loss = run(net, x, y)  # here
    loss.backward()


def run(net, x, y):
    return paddle.nn.functional.cross_entropy(net(x).mean([2, 3]), y)


def train(loader):
    net = Net()
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    for x, y in loader:
        step(net, x, y, 2)
        optimizer.step()


train(paddle.io.DataLoader(data, num_workers=4))
"""
    )
    text = "import paddle\n\n" + text
    (found,) = check(text, "PPF301")
    assert text.count("\n", 0, found.start) + 1 == marked(text)
