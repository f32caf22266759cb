"""PPF310: which evaluations run a network in float32 that training runs under AMP."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main
from tests.support import check

PROGRAM = """\
import argparse

import paddle
import paddle.nn.functional as F
from paddle.vision.models import resnet50

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()


@paddle.no_grad()
def evaluate(net, dev_loader, metric):
    net.eval()
    for x, y in dev_loader:
        {evaluated}
        metric.update(metric.compute(out, y))


def train(loader, dev_loader, other, metric, epochs):
    model = resnet50()
    opt = paddle.optimizer.Momentum(parameters=model.parameters())
    scaler = paddle.amp.GradScaler()
    for epoch in range(epochs):
        for x, y in loader:
            with {cast}:
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            opt.clear_grad()
        {call}
    {after}
"""
CALL = "evaluate(model, dev_loader, metric)"


def rows(
    evaluated: str = "out = net(x)", cast: str = "paddle.amp.auto_cast()", call: str = CALL, after: str = "pass"
) -> list[int]:
    """The rows of the findings."""
    text = PROGRAM.format(evaluated=evaluated, cast=cast, call=call, after=after)
    return [text.count("\n", 0, each.start) + 1 for each in check(text, "PPF310")]


def test_the_call_of_the_network_is_reported() -> None:
    assert rows() == [16]
    assert rows(evaluated="out = paddle.argmax(net(x), -1)") == [16]
    assert rows(cast='paddle.amp.auto_cast(dtype="bfloat16", enable=True)') == [16]


@pytest.mark.parametrize(
    "cast",
    [
        "paddle.no_grad()",
        "paddle.amp.auto_cast(enable=False)",
        "paddle.amp.auto_cast(enable=args.fp16)",  # off, and nothing turns it on
        "paddle.amp.auto_cast(enable=other.fp16)",
    ],
)
def test_a_step_without_amp_has_an_evaluation_without(cast: str) -> None:
    assert rows(cast=cast) == []


@pytest.mark.parametrize(
    "evaluated",
    [
        "with paddle.amp.auto_cast(): out = net(x)",
        "with net.autocast(): out = net(x)",
        "with net.mixed_precision(): out = net(x)",
    ],
)
def test_an_evaluation_that_may_be_under_amp_is_not_reported(evaluated: str) -> None:
    assert rows(evaluated=evaluated) == []


@pytest.mark.parametrize(
    "call",
    [
        "evaluate(other, dev_loader, metric)",  # another network
        f"with paddle.amp.auto_cast(): {CALL}",
        "pass",
    ],
)
def test_other_evaluations_are_not_reported(call: str) -> None:
    assert rows(call=call) == []


def test_an_evaluation_at_the_end_is_not_reported() -> None:
    assert rows(call="pass", after=CALL) == []


def test_weights_of_level_o2_are_no_float32() -> None:
    text = PROGRAM.format(evaluated="out = net(x)", cast='paddle.amp.auto_cast(level="O2")', call=CALL, after="pass")
    decorated = '    model = paddle.amp.decorate(models=model, level="O2")\n    scaler ='
    assert check(text.replace("    scaler =", decorated), "PPF310") == []


@pytest.mark.parametrize(("line", "count"), [("python train.py --fp16\n", 1), ("python train.py\n", 0)])
def test_a_script_may_turn_amp_on(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, count: int) -> None:
    cast = "paddle.amp.auto_cast(enable=args.fp16)"
    text = PROGRAM.format(evaluated="out = net(x)", cast=cast, call=CALL, after="pass")
    (tmp_path / "train.py").write_text(text + "\n\ntrain([], [], None, None, 2)\n", encoding="utf-8")
    (tmp_path / "run.sh").write_text(line, encoding="utf-8")
    main(["check", "--select", "PPF310", "--no-cache", "--output-format", "concise", str(tmp_path)])
    assert capsys.readouterr().out.count(": PPF310") == count
