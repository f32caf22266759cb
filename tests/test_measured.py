"""What pages say about measurements: figures with their device and day, a label on stand-ins, or why there are none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.catalogue import Measuring, Rule
from perflint.output import measured, rule_page, sarif
from perflint.output.measured import LABEL, Measurement, Saved
from perflint.server import diagnostics
from tests import fake_rules

CPU = Measurement(
    rule="PPF401",
    device="cpu",
    ratio=1.4213,
    low=1.3149,
    high=1.5361,
    ips_before=100.0,
    ips_after=142.13,
    machine="Some Processor, 2 cores",
    versions={"perflint": "0.1.0", "paddle": "3.3.1"},
    date="2026-11-22",
    script="ppf401_latest.py",
)
NO_GAIN = replace(CPU, ratio=1.02, low=0.97, high=1.08)
LOSS = replace(CPU, ratio=0.9, low=0.85, high=0.95)
STAND_IN = replace(CPU, device="stand-in-gpu", machine="Some Card", versions={"torch": "2.9.0"})
FIGURES = (
    "1.42x ips (1.31 to 1.54) on the CPU: Some Processor, 2 cores, Paddle 3.3.1, 2026-11-22 (evidence/cpu/PPF401.json)."
)
_THREAD = re.compile(r"(?:pull request|issue) \d+|#\d+")
_FIGURE = re.compile(r"\d (?:ms|s|seconds|%|images|samples|GB)\b|\d %|\bips of \d")


def rule(measuring: Measuring | None = None) -> Rule:
    return replace(fake_rules.RULES["PPF401"], measuring=measuring or Measuring())


def said(measuring: Measuring | None = None, *found: Measurement) -> str:
    return measured.paragraph(rule(measuring), {"PPF401": {item.device: item for item in found}})


def test_nothing_measured() -> None:
    assert said() == "Not yet measured on the CPU. Not yet measured on a GPU."
    assert measured.paragraph(rule(), {}) == said()


def test_a_gain() -> None:
    assert said(None, CPU) == f"{FIGURES} Not yet measured on a GPU."
    card = replace(CPU, device="gpu", machine="Some Card")
    assert said(None, CPU, card) == (
        f"{FIGURES} 1.42x ips (1.31 to 1.54) on a GPU: Some Card, Paddle 3.3.1, 2026-11-22 (evidence/gpu/PPF401.json)."
    )


def test_reasons() -> None:
    waits = Measuring(not_on={"cpu": "it waits"})
    assert said(waits) == "Not measured on the CPU: it waits. Not yet measured on a GPU."
    assert said(Measuring(nowhere="memory grows")) == "Not measured: memory grows."


def test_no_gain() -> None:
    start = "No gain was measured: 1.02x ips (0.97 to 1.08) on the CPU: Some Processor"
    assert said(None, NO_GAIN).startswith(start)
    admitted = said(Measuring(no_gain_on={"cpu": "too cheap"}), NO_GAIN)
    assert admitted.startswith(start)
    assert "(evidence/cpu/PPF401.json). What may explain it: too cheap. Not yet" in admitted
    assert said(None, LOSS).startswith("A loss was measured: 0.90x ips (0.85 to 0.95) on the CPU")


@pytest.mark.parametrize(
    "figures", [STAND_IN, replace(STAND_IN, low=0.9), replace(STAND_IN, ratio=0.8, low=0.7, high=0.9)]
)
def test_a_stand_in_is_labelled_and_is_no_measurement_on_a_gpu(figures: Measurement) -> None:
    text = said(None, figures)
    assert text.startswith(f"Not yet measured on the CPU. Not yet measured on a GPU. {LABEL}: ")
    assert text.count("x ips (") == text.count(LABEL) == 1
    assert text.endswith("on a GPU: Some Card, PyTorch 2.9.0, 2026-11-22 (evidence/stand-in-gpu/PPF401.json).")
    assert LABEL in measured.data(rule(), {"PPF401": {"stand-in-gpu": figures}})[-1]["text"]


def test_milliseconds() -> None:
    saved = Saved("save", 1.0, 16.04, 13.1, 18.8)
    text = said(None, replace(CPU, saved=saved, remark="Count with the milliseconds"))
    assert text == (
        f"{FIGURES} The fix saves 16.0 ms (13.1 to 18.8) for each save; with one in each step, that is 1 % of a step "
        "of 1.60 s and 5 % of one of 321 ms. Count with the milliseconds. Not yet measured on a GPU."
    )


def test_milliseconds_that_may_be_none() -> None:
    text = said(None, replace(NO_GAIN, saved=Saved("save", 0.5, 1.0, -2.0, 4.0)))
    assert "The fix saves 1.00 ms (-2.00 to 4.00) for each save, which may be nothing. Not yet" in text


def test_what_has_changed_since() -> None:
    text = said(None, replace(CPU, changed_since="the fix also cleans up"))
    assert text.startswith(f"{FIGURES} To be measured again: the fix also cleans up. Not yet")


def test_the_same_as_data() -> None:
    cpu, gpu = json.loads(json.dumps(measured.data(rule(), {"PPF401": {"cpu": CPU}})))
    assert (cpu["device"], cpu["text"]) == ("cpu", FIGURES)
    assert (cpu["figures"]["ratio"], cpu["figures"]["date"]) == (1.4213, "2026-11-22")
    assert gpu == {"device": "gpu", "text": "Not yet measured on a GPU.", "figures": None}
    nowhere = measured.data(rule(Measuring(nowhere="memory grows")), {})
    assert nowhere == [{"device": None, "text": "Not measured: memory grows.", "figures": None}]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    assert measured.read(path) == {}
    path.write_text(json.dumps({"PPF401": {"cpu": CPU.to_json(), "stand-in-gpu": STAND_IN.to_json()}}))
    assert measured.read(path) == {"PPF401": {"cpu": CPU, "stand-in-gpu": STAND_IN}}
    more = replace(CPU, saved=Saved("save", 1.0, 16.0, 13.0, 19.0), remark="So", changed_since="a fix")
    path.write_text(json.dumps({"PPF401": {"cpu": more.to_json()}}))
    assert measured.read(path) == {"PPF401": {"cpu": more}}


def test_every_page_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "shipped", lambda: {"PPF401": {"cpu": CPU}})
    page = rule_page.text(rule(), full=True)
    assert "## Measured\n\n1.42x ips (1.31 to 1.54) on the CPU: " in page
    assert page.index("## Measured") < page.index("## Evidence\n\nMeasured: 2.0x.")
    assert rule_page.data(rule())["measured"][0]["text"] == FIGURES
    assert dict(diagnostics.summary(rule()))["Measured"] == said(None, CPU)
    help_ = sarif.descriptor(rule())["help"]
    assert f"Measured:\n\n{FIGURES}" in help_["text"]
    assert f"## Measured\n\n{FIGURES}" in help_["markdown"]


def test_a_rule_without_cited_figures_has_no_heading_for_them() -> None:
    bare = replace(rule(Measuring(nowhere="memory grows")), evidence="")
    assert "## Evidence" not in rule_page.text(bare, full=True)
    assert "Evidence" not in dict(diagnostics.summary(bare))


def test_a_check_does_not_read_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    code = (
        "import sys; from perflint.cli import main; main(['check', '--no-cache', 'a.py']); "
        "print('perflint.output.measured' in sys.modules)"
    )
    root = str(Path(__file__).resolve().parents[1])
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("shown", catalogue.shipped().values(), ids=catalogue.shipped())
def test_cited_figures_are_marked_as_cited(shown: Rule) -> None:
    for paragraph in shown.evidence.split("\n\n"):
        if _THREAD.search(paragraph) and _FIGURE.search(paragraph):
            assert "Reported by others" in paragraph
