"""A wait behind a loop that makes the host wait at each of its passes has little left to wait for."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent

import pytest

from perflint.catalogue import MEDIUM_FROM_MS
from perflint.findings import Impact, ImpactLevel
from tests.support import check

LOW, MEDIUM, HIGH = ImpactLevel
RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "waiting.json"

STEP = """\
import paddle
import paddle.nn.functional as F


def train(model, loader, optimizer, args):
    for step, (x, y) in enumerate(loader):
        out = model(x)
{before}
        loss = F.cross_entropy(out, y)
{between}
        loss.backward()
{behind}
        optimizer.step()
        optimizer.clear_grad()
{end}
"""
SAMPLES = "for sample in out:\n    if (sample > 0).any():\n        out = out * 2"
"""A loop that waits at each pass, for the comparison that the device makes in that pass."""

READ = "args.seen(loss.numpy())"


def _step(before: str = "", between: str = "", behind: str = "", end: str = "") -> str:
    parts = {"before": before, "between": between, "behind": behind, "end": end}
    return STEP.format(**{name: indent(part or "pass", " " * 8) for name, part in parts.items()})


def _impact(text: str, code: str = "PPF201", of: str = "loss") -> Impact:
    """The impact of the one finding of a rule that is about the loss."""
    [impact] = [found.impact for found in check(text, code, "PPF203") if found.code == code and of in found.message]
    assert impact is not None
    return impact


def test_the_model_says_where_one_more_wait_costs_little() -> None:
    """The figures of ``benchmarks/waiting.py`` by which the impact goes: how often the loop waits does not matter."""
    model = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]["milliseconds_of_one_more_by_waits"]
    most = {place: max(most for _, most in costs.values()) for place, costs in model.items()}
    assert {place for place, cost in most.items() if cost < MEDIUM_FROM_MS} == {
        "of the loss, behind a loop in the loss",
        "at the end, behind a loop over the parameters",
    }
    assert all(set(costs) == {"1 waits", "4 waits", "8 waits", "32 waits"} for costs in model.values())


def test_the_waits_of_the_loop_keep_their_impact() -> None:
    [found] = check(_step(SAMPLES, READ), "PPF203")
    assert found.impact is not None
    assert found.impact.level is MEDIUM


@pytest.mark.parametrize(
    "text",
    [
        _step(SAMPLES, behind=READ),  # a backward pass lies between the two
        _step(SAMPLES, end=READ),
        _step(READ.replace("loss", "out"), SAMPLES).replace("out.numpy", "(out * loss).numpy"),  # it comes first
        _step(f"if args.more:\n{indent(SAMPLES, '    ')}", READ),  # the loop need not run
        _step(SAMPLES.replace("    if", "    if args.more:\n        break\n    if"), READ).replace(
            "if (sample > 0).any():\n        out = out * 2",
            "if args.more:\n        if (sample > 0).any():\n            out = out * 2",
        ),
        _step(SAMPLES.replace("in out:", "in (out, x):"), READ),  # two passes
        _step("for i in range(3):\n    if (out[i] > 0).any():\n        out = out * 2", READ),
        _step("for part in out:\n    args.seen(part.numpy())", READ),  # the first pass has waited for all of them
        _step("for key, part in args.parts.items():\n    if (part > 0).any():\n        out = out * 2", READ),
        _step(SAMPLES.replace("():\n", "():  # noqa: PPF203\n"), READ),
    ],
)
def test_a_read_that_keeps_its_impact(text: str) -> None:
    assert _impact(text).level is MEDIUM


MOVING_AVERAGE = """\
import paddle.fluid as fluid


def update(average, model, decay):
    known = dict(average.named_parameters())
    for name, parameter in model.named_parameters():
        known[name].set_value(decay * known[name] + (1 - decay) * parameter)


def train(model, average, loader, optimizer, args):
    for x in loader:
        loss = fluid.layers.mean(model(x))
        loss.backward()
        {before}
        optimizer.minimize(loss)
        update(average, model, 0.99)
        {behind}
"""


def test_a_moving_average_in_paddle_1_waits_for_each_parameter() -> None:
    for before, behind in (("pass", "print(loss)"), ("print(loss)", "pass")):
        found = check(MOVING_AVERAGE.format(before=before, behind=behind), "PPF201", "PPF202")
        assert [(each.code, each.impact and each.impact.level) for each in found] == [
            ("PPF201", MEDIUM),
            ("PPF202", MEDIUM),
        ]


@pytest.mark.parametrize(
    ("source", "is_known"),
    [
        ("model.named_parameters()", True),
        ("args.net.named_buffers()", True),
        ("[('a', 0.5)]", False),
        ("Settings(join_lines=False).named_parameters()", False),
    ],
)
def test_the_parameters_of_what_is_handed_over_are_tensors(source: str, is_known: bool) -> None:
    text = f"""\
    import paddle


    class Settings:
        def named_parameters(self):
            return [("a", 0.5)]


    def train(model, loader, optimizer, args):
        for x in loader:
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            for name, value in {source}:
                args.seen(float(value))
    """
    assert bool(check(text, "PPF201")) is is_known
