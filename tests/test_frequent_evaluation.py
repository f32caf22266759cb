"""PPF603 and the evaluations of `perflint step`: which calls evaluate as a whole, how often, and which do not."""

from __future__ import annotations

import pytest

from perflint.facts.evaluations import Evaluations
from perflint.findings import ImpactLevel
from perflint.flow.branches import Often
from perflint.flow.resolving import opened
from perflint.index.project import Place
from perflint.trace.events import EventKind
from perflint.trace.step_trace import occurrences, traces
from tests.support import check, sources

EVALUATE = """\
import argparse
import paddle
import paddle.nn.functional as F


@paddle.no_grad()
def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        F.cross_entropy(model(x), y)
    model.train()


def train(model, loader, dev_loader, optimizer, args):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def _train(body: str) -> str:
    """A training whose step ends with some rows."""
    return EVALUATE + "".join(f"        {row}\n" for row in body.splitlines())


def _levels(text: str) -> list[ImpactLevel]:
    return [finding.impact.level for finding in check(text, "PPF603") if finding.impact is not None]


@pytest.mark.parametrize(
    ("interval", "level"),
    [
        ("100", ImpactLevel.HIGH),  # 3000 ms / 100 steps = 30 ms a step
        ("300", ImpactLevel.HIGH),  # 10 ms: a tenth of a step of 100 ms
        ("400", ImpactLevel.LOW),
        ("args.steps", ImpactLevel.LOW),  # nothing says how many, so 1000
    ],
)
def test_the_impact_is_that_of_the_interval(interval: str, level: ImpactLevel) -> None:
    assert _levels(_train(f"if step % {interval} == 0:\n    evaluate(model, dev_loader)")) == [level]


def test_an_interval_on_the_way_to_the_call_counts() -> None:
    text = EVALUATE.replace(
        "def train", "def report(model, dev_loader):\n    evaluate(model, dev_loader)\n\n\ndef train"
    )
    assert _levels(text + "        if step % 50 == 0:\n            report(model, dev_loader)\n") == [ImpactLevel.HIGH]


def test_loops_around_the_call_count() -> None:
    body = "if step % 2500 == 0:\n    for name in {}:\n        evaluate(model, dev_loader[name])"
    # 9 evaluations every 2500 steps are one every 278 steps; 2 are one every 1250
    assert _levels(_train(body.format([*"abcdefghi"]))) == [ImpactLevel.HIGH]
    assert _levels(_train(body.format([*"ab"]))) == [ImpactLevel.LOW]


def test_evaluations_that_run_together_are_one_finding() -> None:
    both = "if step % 500 == 0:\n    evaluate(model, dev_loader)\n    {}evaluate(model, args.test_loader)"
    assert _levels(_train(both.format(""))) == [ImpactLevel.HIGH]
    # the second one runs only if an option says so
    assert _levels(_train(both.format("if args.tests: "))) == [ImpactLevel.LOW]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    for x, y in loader:\n        F.", "    for x, y in loader:\n        break\n        F."),  # a first look
        ("F.cross_entropy(model(x), y)", "print(x.shape, y.shape)"),  # runs no model
        ("    for x, y in loader:\n        F.", "    for x, y in [(0, 0), (1, 1)]:\n        F."),  # two samples
        ("F.cross_entropy(model(x), y)\n    model.train", "F.cross_entropy(model(x), y).backward()\n    model.train"),
    ],
)
def test_what_is_no_evaluation_of_a_data_set(old: str, new: str) -> None:
    text = _train("if step % 100 == 0:\n    evaluate(model, dev_loader)")
    assert _levels(text) == [ImpactLevel.HIGH]
    changed = text.replace(old, new, 1)
    assert changed != text
    assert _levels(changed) == []


def test_a_name_alone_is_no_evaluation() -> None:
    text = _train("if step % 100 == 0:\n    args.evaluate(model, dev_loader)")
    assert _levels(text) == []


@pytest.mark.parametrize(("size", "level"), [("1", ImpactLevel.HIGH), ("8", ImpactLevel.LOW)])
def test_batches_of_one_sample_take_longer(size: str, level: ImpactLevel) -> None:
    made = f"    dev_loader = paddle.io.DataLoader(args.dev, batch_size={size})\n    for step"
    text = _train("if step % 800 == 0:\n    evaluate(model, dev_loader)").replace("    for step", made)
    assert _levels(text) == [level]  # 9000 ms / 800 steps = 11 ms


@pytest.mark.parametrize(
    ("length", "level"),
    [
        ("len(dev)", ImpactLevel.HIGH),
        ("len(dev) // size", ImpactLevel.LOW),
        ("math.ceil(len(dev) / size)", ImpactLevel.LOW),
        ("steps", ImpactLevel.LOW),
    ],
)
def test_a_loop_over_numbers_may_count_batches(length: str, level: ImpactLevel) -> None:
    counted = f"    steps = len(dev) // size\n    for i in range({length}):\n        x, y = dev[i]\n"
    old = "    for x, y in loader:\n"
    text = _train("if step % 800 == 0:\n    evaluate(model, dev_loader)")
    assert text.count(old) == 1
    assert _levels(text.replace("model, loader):", "model, dev, size=8):", 1).replace(old, counted)) == [level]


def test_after_each_epoch_only_the_data_of_the_epoch_is_reported() -> None:
    text = EVALUATE.replace("    for step", "    for epoch in range(9):\n      for step")
    body = "      evaluate(model, dev_loader)\n      evaluate(model, {})\n"
    found = check(text + body.format("loader"), "PPF603")
    assert ["on `loader`" in finding.message for finding in found] == [True]
    assert check(text + body.format("args.test_loader"), "PPF603") == []


def test_a_trace_has_the_evaluation_with_its_interval() -> None:
    project = opened(sources(_train("if step % args.steps == 0:\n    evaluate(model, dev_loader)")))
    [trace] = traces(project)
    [found] = [each for each in occurrences(trace) if each.event.kind is EventKind.EVALUATION]
    assert found.every.often is Often.EVERY_N
    assert not found.event.kind.waits


def test_a_function_that_only_calls_one_evaluates_as_well() -> None:
    text = EVALUATE + "\n\nclass Run:\n    def validate(self):\n        evaluate(self.model, self.loader)\n"
    project = opened(sources(text + "\n\n    def go(self):\n        self.validate()\n"))
    [file] = project.files.values()
    [(scope, _, call)] = file.calls_named("validate")
    found = Evaluations.of(project).by_call(Place(file, scope), call)
    assert found is not None
    assert found.at.scope.name == "evaluate"


IN_THE_STEP = """\
if step % {interval} == 0:
    model.eval()
    for a, b in dev_loader:
        F.cross_entropy(model(a), b)
    model.train()"""


def test_a_loop_of_the_step_itself_evaluates_as_well() -> None:
    assert _levels(_train(IN_THE_STEP.format(interval=100))) == [ImpactLevel.HIGH]
    assert _levels(_train(IN_THE_STEP.format(interval=400))) == [ImpactLevel.LOW]
    [found] = check(_train(IN_THE_STEP.format(interval=100)), "PPF603")
    assert "`for a, b in dev_loader` evaluates" in found.message
    [trace] = traces(opened(sources(_train(IN_THE_STEP.format(interval=100)))))
    [event] = [each for each in occurrences(trace) if each.event.kind is EventKind.EVALUATION]
    assert event.every.often is Often.EVERY_N


def test_a_loop_over_loaders_that_calls_an_evaluation_is_none_by_itself() -> None:
    body = "if step % 100 == 0:\n    for test_loader in args.test_loaders:\n        evaluate(model, test_loader)"
    [found] = check(_train(body), "PPF603")
    assert found.message.startswith("`evaluate(model, test_loader)`")


def test_a_loop_after_each_epoch_over_the_data_of_the_epoch() -> None:
    text = EVALUATE.replace("    for step", "    for epoch in range(9):\n      for step")
    loop = "      model.eval()\n      for n, (a, b) in enumerate({}):\n        model(a)\n"
    [found] = check(text + loop.format("loader"), "PPF603")
    assert "after each epoch on `loader`" in found.message
    assert check(text + loop.format("dev_loader"), "PPF603") == []
