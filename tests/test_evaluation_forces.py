"""PPF601 and models that ask for gradients in their own forward pass, which `no_grad` would break."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence, Level
from tests.evaluation_samples import expect_quiet, only

MODELS = """\
import paddle


class Energy(paddle.nn.Layer):
    def forward(self, x):
        return x.sum()


class Forces(paddle.nn.Layer):
    def forward(self, x):
        return paddle.grad(x.sum(), x)


class Scaler:
    def forward(self, x):
        return paddle.grad(x.sum(), x)
"""
TRAINER = """\
import paddle


class Trainer:
    def __init__(self, model):
        self.model = {model}

    def evaluate(self, loader):
        self.model.eval()
        for x, y in loader:
            self.metric.update(self.model(x).numpy(), y.numpy())
"""
MAIN = """\
from models import Energy, Forces
from trainer import Trainer

Trainer(build_model()).evaluate(loader)
"""


def _files(model: str, main: str = MAIN, models: str = MODELS) -> dict[str, str]:
    trainer = TRAINER.format(model=model)
    if "(" in model:
        trainer = trainer.replace("import paddle\n", "import paddle\nfrom models import Energy, Forces\n")
    return {"models.py": models, "trainer.py": trainer, "main.py": main}


def test_a_model_that_asks_for_gradients() -> None:
    expect_quiet(_files("Forces()"))


def test_a_model_that_does_not() -> None:
    finding = only(_files("Energy()"))
    assert finding.fix is not None
    assert finding.confidence > Confidence.LOW
    assert finding.fix.level is Level.SAFE


def test_a_model_that_may_be_either() -> None:
    finding = only(_files("model"))
    assert finding.fix is not None
    assert finding.confidence is Confidence.LOW
    assert "may be one that computes gradients" in finding.fix.reason


@pytest.mark.parametrize(
    "files",
    [
        _files("model", main=MAIN.replace("from models import Energy, Forces\n", "")),
        _files("model", models=MODELS.replace("class Forces(paddle.nn.Layer)", "class Forces")),
    ],
    ids=["no program loads both", "no layer"],
)
def test_what_another_program_asks_for(files: dict[str, str]) -> None:
    finding = only(files)
    assert finding.fix is not None
    assert finding.confidence > Confidence.LOW
    assert finding.fix.level is Level.SAFE


EVALUATE = """\
import paddle


def attack(net, x):
    net(x).mean().backward()
    return x + x.grad


def shift(net, x):
    return x + 1


def watch(layer, inputs, output):
    output.register_hook(print)


def look(layer, inputs, output):
    print(output.shape)


class Attack:
    def on_batch(self, net, x):
        attack(net, x)


class Shift:
    def before_batch(self, net, x):
        shift(net, x)


def evaluate(net, loader, change, callback):
    net.eval()
    total = 0.0
    for x, y in loader:
        {inside}
        total += float(net(x).mean())
    return total
"""


@pytest.mark.parametrize(
    ("inside", "more", "level"),
    [
        ("pass", "", Level.SAFE),
        ("x = change(net, x)", "run({'shift': shift})\n", Level.SAFE),
        ("x = change(net, x)", "attack(model, x)\n", Level.SAFE),
        ("x = change(net, x)", "run({'attack': attack})\n", Level.UNSAFE),
        ("x = change(x, y)", "run({'attack': attack})\n", Level.SAFE),
        ("callback.on_batch(net, x)", "", Level.UNSAFE),
        ("callback.before_batch(net, x)", "", Level.SAFE),
        ("pass", "model.register_forward_post_hook(look)\n", Level.SAFE),
        ("pass", "model.register_forward_post_hook(watch)\n", Level.UNSAFE),
    ],
)
def test_a_function_that_it_may_call_asks_for_gradients(inside: str, more: str, level: Level) -> None:
    fix = only(EVALUATE.format(inside=inside) + more).fix
    assert fix is not None
    assert fix.level is level


KEEPS = """\
import paddle


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(4, 4)
        self.kept = None

    def forward(self, x):
        {inside}


def evaluate(loader):
    net = Net()
    net.eval()
    total = 0.0
    for x, y in loader:
        total += float(net(x).mean())
    return total
"""
KEEP = "self.kept = self.fc(x); return self.kept * 2"


@pytest.mark.parametrize(
    ("inside", "more", "level"),
    [
        (KEEP, "", Level.SAFE),
        (KEEP, "def train(net, x):\n    loss = net(x).mean() + net.kept.mean()\n", Level.SAFE),
        (KEEP, "def train(net):\n    loss = net.kept.mean()\n", Level.UNSAFE),
        ("self.kept = x.shape; return self.fc(x)", "print(net.kept)\n", Level.SAFE),
        ("self.kept = x; return self.fc(x)", "print(net.kept)\n", Level.SAFE),
        ("out = self.fc(x) * self.kept; self.kept = out.mean(); return out", "", Level.UNSAFE),
        ("if self.kept is None: self.kept = self.fc(x).mean()\n        return x * self.kept", "", Level.UNSAFE),
    ],
)
def test_a_forward_pass_that_keeps_a_tensor(inside: str, more: str, level: Level) -> None:
    fix = only(KEEPS.format(inside=inside) + more).fix
    assert fix is not None
    assert fix.level is level
