"""The report by step: what is said of a step before its findings, in which order, and what a long report leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.findings import (
    HOST_READ,
    Edit,
    Finding,
    Fix,
    Impact,
    ImpactLevel,
    Level,
    Related,
    StepEdit,
    StepPlace,
    StepReport,
    StepVerdict,
)
from perflint.output import full
from perflint.output.grouped import render_steps
from perflint.output.report import Report
from perflint.text.source import Source

ENGINE = """\
import paddle.nn.functional as F


def train(loader, model, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print(loss.item())
"""
STARTS = """\
import paddle
from engine import train

if __name__ == "__main__":
    train(paddle.io.DataLoader(data, batch_size=8), model, optimizer)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("perflint.toml").write_text("")
    return tmp_path


def _write(**texts: str) -> None:
    for name, text in texts.items():
        Path(f"{name}.py").write_text(text)


def _shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["check", *arguments]) == 1
    return capsys.readouterr().out.splitlines()


def test_a_step_comes_with_its_programs_its_verdict_and_its_plan(capsys: pytest.CaptureFixture[str]) -> None:
    _write(engine=ENGINE, main=STARTS)
    lines = _shown(capsys)
    assert lines[0] == "engine.py:5, started by main.py: 2 findings"
    assert lines[1].startswith("  Verdict: likely bound by loading: ")
    assert lines[2].startswith("    1. give the DataLoader at main.py:5 worker processes: at most ")
    assert lines[3].startswith("    2. then remove the waits at engine.py:10: at most ")
    found = [line.split()[1] for line in lines if line.startswith(("main.py:", "engine.py:10"))]
    assert found == ["PPF101", "PPF202"]  # the loader's finding belongs to the step that draws from it


def test_the_small_findings_of_a_step_are_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    _write(engine=ENGINE, main=STARTS)
    lines = _shown(capsys, "--extend-select", "PPF501")
    small = "Of low impact: gradients-filled-with-zeros (PPF501) at engine.py:9"
    assert lines.count(small) == 1
    assert lines.index(small) > next(number for number, line in enumerate(lines) if line.startswith("engine.py:10"))
    assert "1 finding of low impact is not shown (--min-impact low)." in lines[-2]
    assert small not in _shown(capsys, "--extend-select", "PPF501", "--min-impact", "low")  # it is shown as a finding
    assert small not in _shown(capsys, "--extend-select", "PPF501", "--group-by", "rule")
    assert main(["check", "--write-baseline=known.json"]) == 0
    Path("engine.py").write_text(ENGINE.replace("print(loss.item())", "print(loss.item(), y.sum().item())"))
    capsys.readouterr()
    main(["check", "--extend-select", "PPF501", "--baseline", "known.json"])
    assert "Of low impact" not in capsys.readouterr().out  # a run for what is new says nothing of the rest


def test_many_rules_of_small_findings_are_counted() -> None:
    codes = ["PPF101", "PPF201", "PPF202", "PPF203", "PPF205", "PPF206", "PPF207", "PPF501"]
    small = [
        replace(_finding("train.py", row, StepPlace("train.py", 1)), code=code) for row, code in enumerate(codes, 2)
    ]
    shown = _finding("train.py", 2, StepPlace("train.py", 1))
    report = Report([shown], {"train.py": Source("train.py", "x = 1\n" * 20)}, small=small)
    (line,) = [row for row in "".join(render_steps(report, full.render)).splitlines() if row.startswith("Of low")]
    assert line.count(" (PPF") == 6
    assert line.endswith("; and 2 more rules")


def test_what_the_cache_knows_is_shown_alike(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFLINT_CACHE_DIR", str(place / "kept"))
    _write(engine=ENGINE, main=STARTS)
    first = _shown(capsys)
    assert list((place / "kept").glob("*.entry"))
    assert _shown(capsys) == first


def test_a_report_without_steps_has_no_headings(capsys: pytest.CaptureFixture[str]) -> None:
    _write(a="import paddle\nfor epoch in range(9):\n    paddle.save(model.state_dict(), 'a')\n(\n")
    assert _shown(capsys)[0].startswith("a.py:4:")


def test_without_groups_the_closing_line_says_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    saves = ENGINE.replace("print(loss.item())", "paddle.save(model.state_dict(), 'last')")
    runs = "\n\ntrain(paddle.io.DataLoader(data, batch_size=8), model, optimizer)\n"
    _write(engine=ENGINE, main=STARTS, a="import paddle\n" + saves + runs)
    assert "Start with: " not in "\n".join(_shown(capsys))
    assert "Start with: a.py:11 PPF401 (high)" in "\n".join(_shown(capsys, "--group-by", "none"))


def _finding(path: str, row: int, step: StepPlace | None, milliseconds: float = 1.0) -> Finding:
    start = 2 * (row - 1)
    impact = Impact(ImpactLevel.MEDIUM, "a wait", milliseconds)
    return Finding("PPF201", path, start, start + 1, f"finding {row}", impact=impact, step=step)


def _text(findings: Sequence[Finding], steps: Sequence[StepReport] = (), width: int | None = None) -> list[str]:
    paths = {finding.path for finding in findings}
    files = {path: Source(path, "x\n" * 99) for path in paths}
    report = Report(findings, files, steps=steps, width=width)
    return "".join(render_steps(report, full.render)).splitlines()


def _report(place: StepPlace, share: float, programs: Sequence[str] = ()) -> StepReport:
    edit = StepEdit("waits", ((place.path, 3),), share, share, 1.0)
    return StepReport(place, tuple(programs), StepVerdict((edit,), (), (), 1, (), ()))


def test_the_step_with_most_to_gain_comes_first_and_in_it_the_finding() -> None:
    little, much = StepPlace("a.py", 2), StepPlace("b.py", 2)
    findings = [_finding("a.py", 3, little, 9.0), _finding("b.py", 3, much, 1.0), _finding("b.py", 4, much, 2.0)]
    lines = _text(findings, [_report(little, 0.1), _report(much, 0.2)])
    assert [line[:6] for line in lines if line.startswith(("a.py", "b.py"))] == [
        *("b.py:2", "b.py:4", "b.py:3"),
        *("a.py:2", "a.py:3"),
    ]


def test_a_long_report_shows_five_findings_of_a_step_and_names_the_others() -> None:
    step = StepPlace("a.py", 2)
    lines = _text([_finding("a.py", row, step, row) for row in range(1, 22)], [_report(step, 0.5, ["a.py"])])
    assert lines[0] == "a.py:2, a script: 21 findings"
    assert [line for line in lines if "PPF201 finding" in line] == [
        f"a.py:{row}:1 PPF201 finding {row}" for row in (21, 20, 19, 18, 17)
    ]
    assert f"and PPF201 at a.py:{', '.join(map(str, range(1, 17)))}" in lines
    assert lines[-1].startswith("All of them, with code and edits: ")


def test_a_long_report_names_the_steps_that_gain_least() -> None:
    places = [StepPlace(f"f{number:02}.py", 1) for number in range(30)]
    findings = [_finding(place.path, 5, place) for place in places]
    lines = _text(findings, [_report(place, 0.9 - number / 100) for number, place in enumerate(places)])
    assert [line for line in lines if line.endswith(": 1 finding")] == [
        f"f{n:02}.py:1, started by code that is not here: 1 finding" for n in range(12)
    ]
    assert "18 more steps:" in lines
    assert "  f29.py:1: PPF201 at 5" in lines


def test_a_step_that_shares_its_findings_is_named_with_what_is_said_of_it() -> None:
    told, other, fine = StepPlace("a.py", 2), StepPlace("b.py", 7), StepPlace("c.py", 9)
    nothing = StepReport(fine, ("c.py",), StepVerdict((), (), (), 0, (), ()))
    lines = _text(
        [_finding("loss.py", 3, told)], [_report(told, 0.5, ["a.py"]), _report(other, 0.3, ["x.py"]), nothing]
    )
    at = lines.index("Without findings of their own: 1 step")
    assert lines[at + 1].startswith("  b.py:7, started by x.py: likely held up by waits")
    assert not any("c.py" in line for line in lines)


def test_a_long_report_names_the_functions_that_a_configuration_chooses() -> None:
    head, loss = StepPlace("head.py", 0, "Head.forward"), StepPlace("loss.py", 0, "Loss.forward")
    findings = [_finding("head.py", row, head, 9.0) for row in range(1, 18)]
    lines = _text([*findings, *(_finding(path, 5, loss) for path in ("loss.py", "boxes.py", "x.py", "y.py"))])
    shown = [line for line in lines if "PPF201 finding" in line]
    assert len(shown) == 5
    assert "2 more functions:" in lines
    assert f"  head.py, Head.forward: PPF201 at {', '.join(map(str, range(6, 18)))}" in lines
    assert "  loss.py, Loss.forward: PPF201 at 5, boxes.py:5, x.py:5, y.py:5" in lines


def test_what_no_known_loop_runs_comes_last_and_together() -> None:
    loop, layer = StepPlace("a.py", 2), StepPlace("b.py", 0, "Block.forward")
    lines = _text([_finding("b.py", 1, layer, 9.0), _finding("c.py", 1, None), _finding("a.py", 3, loop)])
    headings = [line for line in lines if line.endswith(": 1 finding")]
    assert headings == [
        "a.py:2: 1 finding",
        "In models and functions that a configuration or a caller chooses: 1 finding",
        "Elsewhere: 1 finding",
    ]


def test_the_plan_is_wrapped_for_a_terminal() -> None:
    step = StepPlace("folder/with/a/long/name/train.py", 2)
    programs = ["one.py", "two.py", "three.py"]
    lines = _text([_finding(step.path, 3, step)], [_report(step, 0.5, programs)], width=70)
    assert lines[0] == f"{step.text}, started by one.py, two.py and 1 more: 1 finding"
    assert lines[2:4] == [
        "    1. remove the waits at folder/with/a/long/name/train.py:3: at most",
        "        50% of the step",
    ]


def test_steps_in_copies_of_a_file_are_shown_once_in_a_long_report() -> None:
    copies = [StepPlace(f"{folder}/train.py", 2) for folder in ("a", "b", "c")]
    findings = [_finding(place.path, row, place) for place in copies for row in range(10, 20)]
    findings.append(_finding("c/train.py", 40, copies[2]))
    lines = _text(findings, [_report(place, 0.5) for place in copies])
    assert [line for line in lines if "started by" in line] == [
        "a/train.py:2, started by code that is not here: 10 findings",
        "c/train.py:2, started by code that is not here: 11 findings",
    ]
    assert [line for line in lines if "The same in" in line] == ["  The same in b/train.py:2"]


FIT = """\
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader


def batches(data):
    return DataLoader(data, batch_size=8)


def save(model):
    paddle.save(model.state_dict(), "last")


def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


def fit(data):
    paddle.distributed.init_parallel_env()
    model = paddle.DataParallel(paddle.nn.Linear(3, 3))
    optimizer = paddle.optimizer.SGD(parameters=model.parameters())
    for epoch in range(9):
        train(model, batches(data), optimizer)
        save(model)


if __name__ == "__main__":
    fit([])
"""


def test_what_stands_beside_a_step_belongs_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A checkpoint is saved by a function that the caller of the step's function calls."""
    _write(main=FIT)
    lines = _shown(capsys)
    assert lines[0].startswith("main.py:16, a script: ")
    assert not any(line.startswith("Elsewhere") for line in lines)
    assert [line.split()[1] for line in lines if line.startswith("main.py:11:")] == ["PPF403"]


def test_what_stands_beside_two_steps_belongs_to_neither(capsys: pytest.CaptureFixture[str]) -> None:
    loop = FIT[FIT.index("def train(") : FIT.index("def fit(")]
    second = loop.replace("def train(", "def tune(")
    more = "        tune(model, batches(data), optimizer)\n        save("
    _write(main=FIT.replace(loop, loop + second).replace("        save(", more))
    assert _shown(capsys)[0].startswith("main.py:11:5 PPF403 ")  # no heading


def test_calls_that_lead_to_a_read_beside_them_are_named_after_it() -> None:
    step = StepPlace("a.py", 2)
    call = replace(_finding("a.py", 4, step), related=(Related("b.py", 9, HOST_READ),))
    alone = replace(_finding("a.py", 5, step), related=(Related("c.py", 9, HOST_READ),))
    editable = replace(call, start=10, end=11, fix=Fix("edit", (Edit(10, 11, "y"),), Level.UNSAFE, "why"))
    lines = _text([call, alone, editable, _finding("b.py", 9, step)], [_report(step, 0.5)])
    shown = [line.split(":1 ")[0] for line in lines if ":1 PPF201" in line]
    assert shown == ["a.py:5", "a.py:6", "b.py:9"]
    assert "and PPF201 at a.py:4, which lead to these reads" in lines
    assert lines[0].endswith(": 4 findings")
