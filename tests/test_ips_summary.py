"""The summary that pages show: it is what the measured steps give, and it is noticed when it is not any more."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from perflint import catalogue
from perflint.catalogue import Measuring
from perflint.output import measured
from perflint.output.measured import LABEL, Measured
from tests.evidence_samples import CODE, changed, sample
from tests.ips import evidence, summary, trials
from tests.ips.evidence import Evidence

ROOT = summary.ROOT
RULES = dict(catalogue.shipped())


def found(*items: Evidence) -> Measured:
    return {CODE: {item.device: summary.measurement(item) for item in items}}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The rules as they are, with made-up evidence for one."""
    shutil.copytree(ROOT / "rules", tmp_path / "rules")
    (tmp_path / "docs").mkdir()
    sample().write(tmp_path / "evidence")
    return tmp_path


def test_what_is_committed_is_up_to_date() -> None:
    again = [evidence.read(path) for path in evidence.committed()]
    texts = summary.outputs(summary.collect(), RULES, list(trials.committed()), again)
    assert summary.stale(texts) == [], "run python -m tests.ips.summary"


def test_figures_come_from_the_steps() -> None:
    item = sample()
    stated = replace(item.report.comparisons[0], ratio=2.5, ips_after=9.0)
    figures = summary.measurement(changed(item, comparisons=[stated]))
    # A step takes 20.15 ms before, the median of 20 to 20.3, and 10 ms after; with 8 samples.
    assert figures.ratio == pytest.approx(2.015, rel=1e-4)
    assert figures.ips_after == pytest.approx(8 / (0.01 * 1.01), rel=1e-4)
    assert (figures.rule, figures.device, figures.date) == (CODE, "cpu", "2026-01-02")
    assert figures.made_with == "made-up cpu, Paddle 3.3.1"


def test_milliseconds_come_from_the_steps() -> None:
    saved = summary.measurement(sample()).saved
    assert saved is not None
    # PPF704 searches once a step: 20 to 20.3 ms and 10 ms, times 1.01.
    assert (saved.what, saved.per_step) == ("search", 1)
    assert saved.milliseconds == pytest.approx(10.15 * 1.01, rel=1e-6)
    # Four rounds 0.1 ms apart: s = 0.129, t = 3.182, so half an interval is 3.182 * 0.129 * 1.01 / 2.
    assert saved.high - saved.milliseconds == pytest.approx(3.182 * 0.1291 * 1.01 / 2, rel=1e-3)


def test_the_page_tells_of_earlier_measurements(tmp_path: Path) -> None:
    first = changed(sample(after=0.02015), date="2026-01-01T00:00:00Z")
    first.write(tmp_path)
    again = evidence.read(sample().write(tmp_path, why="the fix is another one"))
    page = summary.outputs(found(sample()), RULES, (), [again])[summary.PAGE]
    (line,) = (line for line in rows(page, "Changed after a first look").splitlines() if line.startswith("* "))
    assert line.startswith(f"* {CODE}: 1.0")
    assert line.endswith(" on 2026-01-01; changed: nobody kept what it was measured of; why: the fix is another one.")


def test_no_evidence_at_all(tmp_path: Path) -> None:
    nothing = summary.collect(tmp_path / "evidence")
    assert nothing == {}
    texts = summary.outputs(nothing, RULES)
    assert texts[Path("rules", measured.FILE)] == "{}\n"
    page = texts[summary.PAGE]
    assert "| [PPF704](rules/PPF704.md) gc-collect-in-step | not yet measured | not yet measured |" in page
    assert all(f"[{code}]" in page for code in RULES)


def test_files_are_brought_up_to_date(repository: Path) -> None:
    assert {"rules/measured.json", "docs/measured.md", f"rules/{CODE}.yaml"} <= set(summary.write(repository))
    assert summary.write(repository) == []
    (again,) = measured.read(repository / "rules" / measured.FILE)[CODE].values()
    assert again == summary.measurement(sample())
    sample(after=0.02015).write(repository / "evidence")
    assert summary.write(repository) == ["rules/measured.json", "docs/measured.md", f"rules/{CODE}.yaml"]


def test_what_is_stale_is_noticed(repository: Path) -> None:
    summary.write(repository)
    path = repository / "rules" / measured.FILE
    data = json.loads(path.read_text())
    data[CODE]["cpu"]["ratio"] = 9.0
    path.write_text(json.dumps(data, indent=1) + "\n")
    (repository / summary.PAGE).unlink()
    texts = summary.outputs(summary.collect(repository / "evidence"), catalogue.load(repository / "rules"))
    assert summary.stale(texts, repository) == ["rules/measured.json", "docs/measured.md"]


def test_evidence_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = changed(sample(), machine="").write(tmp_path)
    with pytest.raises(ValueError, match=r"PPF704\.json: machine is missing"):
        summary.collect(tmp_path)
    path.unlink()
    assert summary.collect(tmp_path) == {}


def test_the_comment_in_a_rule_changes_nothing_in_it() -> None:
    rule = RULES[CODE]
    text = rule.path.read_text(encoding="utf-8")
    once = summary.commented(text, rule, found(sample()))
    assert summary.commented(once, rule, found(sample())) == once
    assert yaml.safe_load(once) == yaml.safe_load(text)
    head, _, comment = once.partition("# Measured (written by python -m tests.ips.summary):\n")
    assert head.endswith("\n")
    assert comment.startswith("#   2.0")
    assert "x ips (" in comment.split("examples:")[0]
    assert summary.commented(once, rule, {}) == summary.commented(text, rule, {})


def test_a_rule_does_not_say_a_reason_twice() -> None:
    waits, nowhere = RULES["PPF201"], RULES["PPF212"]
    text = summary.commented(waits.path.read_text(encoding="utf-8"), waits, {})
    assert text.count(waits.measuring.not_on["cpu"]) == 1
    assert "#   Not yet measured on a GPU.\nexamples:" in text
    assert "# Measured" not in summary.commented(nowhere.path.read_text(encoding="utf-8"), nowhere, {})


def test_a_rule_file_without_examples() -> None:
    with pytest.raises(ValueError, match="there is no key `examples`"):
        summary.commented("code: PPF704\n", RULES[CODE], {})


def rows(page: str, heading: str) -> str:
    return page.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_the_page_puts_a_rule_where_it_belongs() -> None:
    link = f"[{CODE}](rules/{CODE}.md)"
    for item, heading, cell in (
        (sample(), "A gain was measured", "[2.0"),
        (sample(after=0.02015), "No gain was measured", "no gain, [1.0"),
        (sample(after=0.04), "No gain was measured", "a loss, [0.5"),
    ):
        page = summary.outputs(found(item), RULES)[summary.PAGE]
        row = next(line for line in rows(page, heading).splitlines() if link in line)
        assert f"| {cell}" in row
        assert "(../evidence/cpu/PPF704.json), 2026-01-02 | not yet measured |" in row
        assert link not in rows(page, "Not yet measured")
        assert "* On the CPU: made-up cpu, Paddle 3.3.1. PPF704." in rows(page, "Machines")


def test_the_page_keeps_stand_ins_apart() -> None:
    page = summary.outputs(found(sample(device="stand-in-gpu")), RULES)[summary.PAGE]
    assert f"[{CODE}]" in rows(page, "Not yet measured")
    assert "evidence/stand-in-gpu" in rows(page, LABEL)
    assert page.count("x (") == rows(page, LABEL).count("x (") == 1
    assert f"* On a GPU ({LABEL}): made-up gpu, PyTorch 2.9.0." in rows(page, "Machines")
    assert LABEL not in summary.outputs({}, RULES)[summary.PAGE]


def test_the_comment_in_a_rule_labels_a_stand_in() -> None:
    rule = RULES[CODE]
    text = rule.path.read_text(encoding="utf-8")
    comment = summary.commented(text, rule, found(sample(device="stand-in-gpu"))).split("# Measured (")[1]
    assert f"#   Not yet measured on a GPU.\n#   {LABEL}: 2.0" in comment


def test_the_page_says_what_explains_that_there_is_no_gain() -> None:
    admitted = replace(RULES[CODE], measuring=Measuring(no_gain_on={"cpu": "a | b"}))
    for item, is_said in ((sample(after=0.02015), True), (sample(), False)):
        page = summary.outputs(found(item), {CODE: admitted})[summary.PAGE]
        assert ("2026-01-02; a \\| b |" in page) is is_said


def test_the_command(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write = summary.write
    monkeypatch.setattr(summary, "write", lambda: write(repository))
    assert summary.main() == 0
    assert "wrote docs/measured.md\n" in capsys.readouterr().out
    assert summary.main() == 0
    assert capsys.readouterr().out == "all is up to date\n"
    changed(sample(), machine="").write(repository / "evidence")
    assert summary.main() == 1
    assert "PPF704.json: machine is missing" in capsys.readouterr().err
