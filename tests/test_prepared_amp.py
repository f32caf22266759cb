"""PPF301 of ``paddle.Model``: which calls of ``prepare`` leave the training in float32."""

from __future__ import annotations

import pytest

from tests.support import check

PREPARED = """\
import paddle
from paddle.io import DataLoader
from paddle.vision.models import resnet50
from paddle.nn import Conv2D, CrossEntropyLoss


class Small(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = Conv2D(1, 8, 3)

    def forward(self, x):
        return self.conv(x).mean([2, 3])


def train(train_set, options):
    net = {network}
    model = paddle.Model(net)
    opt = paddle.optimizer.Adam(parameters=model.parameters())
    {prepare}
    {fit}
"""
PREPARE = "model.prepare(opt, CrossEntropyLoss())"
FIT = "model.fit(train_set, batch_size=64, num_workers=4)"


def said(network: str = "resnet50()", prepare: str = PREPARE, fit: str = FIT) -> list[tuple[str, str]]:
    """The messages of PPF301, each with what the impact is."""
    text = PREPARED.format(network=network, prepare=prepare, fit=fit)
    return [(each.message, each.impact.level.name.lower() if each.impact else "") for each in check(text, "PPF301")]


def test_a_wide_network_is_reported_at_prepare() -> None:
    [(message, level)] = said()
    assert message.startswith("`model.fit` trains in float32.")
    assert "First" not in message
    assert level == "high"


@pytest.mark.parametrize(
    "prepare",
    [
        'model.prepare(opt, CrossEntropyLoss(), amp_configs="O1")',
        "model.prepare(opt, CrossEntropyLoss(), None, options.amp)",
        "model.prepare(opt, CrossEntropyLoss(), **options)",
        "model.prepare(metrics=paddle.metric.Accuracy())",
    ],
)
def test_a_prepare_that_may_train_otherwise_is_not(prepare: str) -> None:
    assert said(prepare=prepare) == []


@pytest.mark.parametrize("fit", ["model.evaluate(train_set)", "options.fit(train_set)"])
def test_a_model_that_is_not_fitted_there_is_not(fit: str) -> None:
    assert said(fit=fit) == []


@pytest.mark.parametrize("network", ["Small()", "options.network", "paddle.vision.models.LeNet()"])
def test_a_narrow_or_unknown_network_is_not(network: str) -> None:
    assert said(network=network) == []


@pytest.mark.parametrize(
    ("fit", "first"),
    [
        ("model.fit(train_set, batch_size=64)", "First give `fit` at line 21 workers"),
        ("model.fit(DataLoader(train_set, batch_size=64))", "First give the DataLoader at line 21 workers"),
        ("model.fit(DataLoader(train_set, batch_size=64, num_workers=2))", ""),
        ("model.fit(train_set, batch_size=64, num_workers=options.workers)", ""),
    ],
)
def test_it_says_what_comes_first(fit: str, first: str) -> None:
    [(message, level)] = said(fit=fit)
    assert first in message
    assert level == ("medium" if first else "high")


def test_a_program_for_the_cpu_or_for_an_exercise_is_not_reported() -> None:
    text = PREPARED.format(network="resnet50()", prepare=PREPARE, fit=FIT)
    assert check(text.replace("def train", 'paddle.set_device("cpu")\n\n\ndef train', 1), "PPF301") == []
    assert (
        check(text.replace("train_set, options", "options, train_set=paddle.vision.datasets.MNIST()"), "PPF301") == []
    )
