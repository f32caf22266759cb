"""Meters that take whatever a step hands them by keyword: which of its calls a host read in them is due to."""

from __future__ import annotations

import pytest

from perflint.findings import Finding, ImpactLevel
from tests.support import check, in_step

METERS = """

class Meters:
    def __init__(self):
        self.meters = {}

    def update(self, name=None, **kwargs):
        for key, value in kwargs.items():
            if isinstance(value, paddle.Tensor):
                value = value.item()
            self.meters[key] = value
"""


def read_for(calls: str, meters: str = METERS) -> list[tuple[Finding, str]]:
    """The reads of the meter, each with the statement of the step that leads there, as the message says."""
    text = in_step(calls).replace("def train(", "meters = Meters()\n\n\ndef train(") + meters
    rows = text.splitlines()
    found = [item for item in check(text, "PPF201") if "value.item()" in item.message]
    return [
        (item, rows[int(item.message.split(" through line ")[1].split(" ")[0].strip(";,")) - 1].strip())
        for item in found
    ]


@pytest.mark.parametrize(
    "calls",
    [
        "number = 0.5\nmeters.update(number=number)\nmeters.update(loss=loss)",
        "meters.update(loss=loss)\nnumber = 0.5\nmeters.update(number=number)",
        # Nothing is known of it.
        "meters.update(rate=args.rate())\nmeters.update(loss=loss)",
        "meters.update(rate=args.rate())\nmeters.update(loss=loss)\nmeters.update(more=x * 2)",
        # The only one that may be a tensor.
        "number = 0.5\nmeters.update(number=number)\nmeters.update(loss=args.loss())",
        # What else it is told makes no difference.
        'meters.update(name="a", rate=args.rate())\nmeters.update(name="a", loss=loss)',
    ],
)
def test_a_read_is_due_to_the_call_that_hands_over_a_tensor(calls: str) -> None:
    [(_, call)] = read_for(calls)
    assert "loss=" in call


def test_numbers_alone_lead_to_no_read() -> None:
    assert read_for("number = 0.5\nmeters.update(number=number)\nmeters.update(step=step)") == []


@pytest.mark.parametrize(
    ("calls", "often"),
    [
        ("meters.update(loss=loss)", "at each step"),
        ('meters.update(name="a", loss=loss)', "at each step"),
        ("meters.update(loss=loss, momentum=0.9)", "at each step"),
        ("meters.update(loss=loss, last=x * 2)", "several times at each step"),
        ('meters.update(**{"loss": loss, "last": x * 2})', "several times at each step"),
    ],
)
def test_how_often_a_loop_over_keywords_reads(calls: str, often: str) -> None:
    [(found, _)] = read_for(calls)
    assert found.impact is not None and found.impact.level is ImpactLevel.MEDIUM
    assert found.impact.reason == f"a wait for the device {often}"


def test_a_loop_over_keywords_that_the_function_adds_to() -> None:
    meters = METERS.replace("        for key", '        kwargs["last"] = kwargs["loss"] * 2\n        for key')
    [(found, _)] = read_for("meters.update(loss=loss)", meters)
    assert found.impact is not None
    assert found.impact.reason == "a wait for the device several times at each step"
