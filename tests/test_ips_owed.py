"""A rule has a script and a measurement, or says in its file why not; whoever adds one is told what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.catalogue import CatalogueError, Device, Rule
from perflint.output.measured import Measurement
from tests.evidence_samples import sample
from tests.ips import owed, summary

RULE = """\
code: PPF900
name: some-thing
summary: A summary.
bottleneck: CPU
default: {default}
why: Because.
ignore_when: Never.
message: It is slow.
fix: {{level: suggestion, title: change it, reason: by hand}}
examples: []
references: []
{measuring}
"""
GAIN = summary.measurement(sample())
NO_GAIN = summary.measurement(sample(after=0.02015))
LOSS = summary.measurement(sample(after=0.04))


def made(folder: Path, measuring: str = "", default: bool = True) -> Rule:
    (folder / "PPF900.yaml").write_text(RULE.format(measuring=measuring, default=str(default).lower()))
    return catalogue.load(folder)["PPF900"]


def on(device: Device, measurement: Measurement) -> dict[Device, Measurement]:
    return {device: replace(measurement, rule="PPF900", device=device)}


def test_a_rule_with_neither_is_refused(tmp_path: Path) -> None:
    rule = made(tmp_path)
    (text,) = owed.script(rule, has_script=False)
    assert text.startswith("PPF900: write tests/ips/scripts/ppf900_<what>.py")
    assert "`measuring: {nowhere: <why>}`" in text
    (text,) = owed.measurements(rule, {})
    assert "python -m pytest -m ips --device cpu -k PPF900" in text
    assert "`measuring: {not_on: {cpu: <why>}}`" in text


def test_what_the_messages_say_helps(tmp_path: Path) -> None:
    nowhere = made(tmp_path, "measuring: {nowhere: memory grows}")
    assert owed.script(nowhere, has_script=False) == []
    assert owed.measurements(nowhere, {}) == []
    waits = made(tmp_path, "measuring: {not_on: {cpu: it waits}}")
    assert owed.script(waits, has_script=True) == []
    assert owed.measurements(waits, {}) == []


def test_evidence_is_enough(tmp_path: Path) -> None:
    rule = made(tmp_path)
    assert owed.script(rule, has_script=True) == []
    assert owed.measurements(rule, on("cpu", GAIN)) == []


def test_a_gpu_or_a_stand_in_does_not_make_up_for_the_cpu(tmp_path: Path) -> None:
    rule = made(tmp_path)
    assert len(owed.measurements(rule, {**on("gpu", GAIN), **on("stand-in-gpu", GAIN)})) == 1


def test_a_script_that_nothing_runs(tmp_path: Path) -> None:
    (text,) = owed.script(made(tmp_path, "measuring: {nowhere: memory grows}"), has_script=True)
    assert text == "PPF900 has a script, and rules/PPF900.yaml says that it is measured nowhere: take one out"
    (text,) = owed.script(made(tmp_path, "measuring: {not_on: {cpu: a, gpu: b}}"), has_script=True)
    assert text.startswith("PPF900 has a script that no device runs: say `nowhere`")


@pytest.mark.parametrize("measurement", [NO_GAIN, LOSS])
def test_a_rule_that_shows_none_loses_its_default_or_its_claim(tmp_path: Path, measurement: Measurement) -> None:
    (text,) = owed.measurements(made(tmp_path), on("cpu", measurement))
    assert text.startswith(f"PPF900 shows no gain on the cpu: {measurement.figures}; turn it off (`default: false`)")
    assert owed.measurements(made(tmp_path, default=False), on("cpu", measurement)) == []
    admitted = made(tmp_path, "measuring: {no_gain_on: {cpu: too cheap}}")
    assert owed.measurements(admitted, on("cpu", measurement)) == []


def test_a_stand_in_without_a_gain_says_nothing_about_the_rule(tmp_path: Path) -> None:
    assert owed.measurements(made(tmp_path), {**on("cpu", GAIN), **on("stand-in-gpu", NO_GAIN)}) == []


def test_what_is_admitted_has_to_be_so(tmp_path: Path) -> None:
    admitted = made(tmp_path, "measuring: {not_on: {cpu: it waits}, no_gain_on: {gpu: too cheap}}")
    (text,) = owed.measurements(admitted, on("gpu", GAIN))
    assert text == "rules/PPF900.yaml says that there is no gain on the gpu, and there is: take it out"
    (text,) = owed.measurements(admitted, {})
    assert text.endswith("says that there is no gain on the gpu, and nobody has measured it there")


@pytest.mark.parametrize(
    ("measuring", "message"),
    [
        ("measuring: {cpu: it waits}", "unknown key 'cpu'"),
        ("measuring: {not_on: {tpu: it waits}}", "unknown key 'tpu'"),
        ("measuring: {not_on: {cpu: }}", "cpu is None, expected str"),
        ("measuring: {not_on: cpu}", "not_on is 'cpu', expected dict"),
        ("measuring: no", "measuring is False, expected dict"),
        ("measuring: {nowhere: a, not_on: {cpu: b}}", "measuring says nowhere, which leaves no device to speak of"),
        ("measuring: {not_on: {gpu: a}, no_gain_on: {gpu: b}}", "measuring has gpu in not_on and in no_gain_on"),
    ],
)
def test_a_key_that_says_nothing_useful(tmp_path: Path, measuring: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=rf"PPF900\.yaml: {message}"):
        made(tmp_path, measuring)


@pytest.mark.parametrize("rule", catalogue.shipped().values(), ids=catalogue.shipped())
def test_a_reason_is_a_clause(rule: Rule) -> None:
    parts = rule.measuring
    for reason in filter(None, [parts.nowhere, *parts.not_on.values(), *parts.no_gain_on.values()]):
        assert reason[-1] not in ".!?", "the full stop comes with the sentence around it"
        assert "\n" not in reason
