"""``json``: Ruff's objects, with what perflint adds to them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from perflint.findings import Edit, Finding, Fix, Level, Related, StepPlace
from perflint.output import json as json_output
from perflint.output.report import Report
from tests import fake_rules
from tests.output_samples import BATCH, PLAIN, SAFE, TEXT, UNSAFE, at, rendered, report

pytestmark = pytest.mark.usefixtures("fake_catalogue")


def only(shown: Report) -> dict[str, object]:
    (item,) = json.loads(rendered(json_output.render, shown))
    assert isinstance(item, dict)
    return item


def test_json_says_which_paddle_an_edit_needs() -> None:
    fix = Fix("fill it", (Edit(0, 1, "y"),), Level.SAFE, paddle="2.5")
    assert only(report(Finding("PPF101", "a.py", 0, 1, "It costs time.", fix)))["fix"]["paddle"] == "2.5"  # type: ignore[index]


def test_json_has_ruffs_keys_and_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    start, end = UNSAFE.start, UNSAFE.end
    related = (Related("b.py", 7, "the loop"),)
    item = only(
        report(
            Finding(
                "PPF101",
                "a.py",
                start,
                end,
                "It costs time.",
                UNSAFE.fix,
                related,
                impact=BATCH,
                step=StepPlace("b.py", 7),
            )
        )
    )
    assert item == {
        "cell": None,
        "code": "PPF101",
        "name": "dataloader-no-workers",
        "message": "It costs time.",
        "severity": "warning",
        "bottleneck": "I/O",
        "confidence": "high",
        "impact": {"level": "high", "reason": "a batch"},
        "filename": str(tmp_path / "a.py"),
        "location": {"row": 5, "column": 10},
        "end_location": {"row": 5, "column": 26},
        "noqa_row": 5,
        "fix": {
            "applicability": "unsafe",
            "message": "Change it",
            "reason": "the shuffle order changes",
            "edits": [
                {
                    "content": "DataLoader(data, num_workers=4)",
                    "location": {"row": 5, "column": 10},
                    "end_location": {"row": 5, "column": 26},
                }
            ],
        },
        "rows": [5],
        "related": [{"filename": str(tmp_path / "b.py"), "row": 7, "message": "the loop"}],
        "step": {"filename": str(tmp_path / "b.py"), "row": 7, "function": ""},
        "url": fake_rules.RULES["PPF101"].url,
    }


def test_json_has_the_keys_that_ruff_writes(tmp_path: Path) -> None:
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    (tmp_path / "a.py").write_text("import os\n")
    command = [ruff, "check", "--isolated", "--output-format", "json", "a.py"]
    theirs = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout)[0]
    ours = only(report(SAFE))
    assert theirs.keys() <= ours.keys()
    assert ours.keys() - theirs.keys() <= {"bottleneck", "confidence", "impact", "related", "rows", "severity", "step"}
    fix = ours["fix"]
    assert isinstance(fix, dict)
    assert fix.keys() - theirs["fix"].keys() == {"reason"}
    assert fix["edits"][0].keys() == theirs["fix"]["edits"][0].keys()
    assert fix["edits"][0]["location"].keys() == theirs["location"].keys()


def test_json_of_a_finding_without_an_impact() -> None:
    assert only(report(PLAIN))["impact"] is None


def test_json_without_findings_is_an_empty_list() -> None:
    assert json.loads(rendered(json_output.render, report())) == []


def test_json_of_a_finding_without_a_fix() -> None:
    assert only(report(PLAIN))["fix"] is None


def test_json_columns_are_code_points_and_rows_count_every_line_end() -> None:
    source = "a = 1\r\n\u635f\u5931\U0001f600 = f(\r\n    x)\r\n"
    start, end = at(source, "f(\r\n    x)")
    item = only(report(Finding("PPF201", "a.py", start, end, "m"), source=source))
    assert item["location"] == {"row": 2, "column": 7}
    assert item["end_location"] == {"row": 3, "column": 7}


def test_json_noqa_row_is_the_first_row_of_the_statement() -> None:
    source = "f(\n    g(x),\n)\n"
    start, end = at(source, "g(x)")
    item = only(report(Finding("PPF201", "a.py", start, end, "m", statement=(0, len(source) - 1)), source=source))
    assert item["location"] == {"row": 2, "column": 5}
    assert item["noqa_row"] == 1


def test_json_of_a_file_that_could_not_be_checked() -> None:
    item = only(report(Finding("PPF003", "/gone.py", 0, 0, "m")))
    assert (item["noqa_row"], item["bottleneck"], item["severity"]) == (None, None, "error")
    assert item["location"] == item["end_location"] == {"row": 1, "column": 1}


def test_json_edits_give_the_fixed_text_when_another_program_applies_them() -> None:
    start, end = at(TEXT, "done()")
    fix = Fix("f", (Edit(start, end, "go()"), Edit(len(TEXT), len(TEXT), "end()\n")), Level.SAFE, "", ("import os",))
    item = only(report(Finding("PPF201", "a.py", start, end, "m", fix)))
    lines = TEXT.splitlines(keepends=True)

    def offset(place: Mapping[str, int]) -> int:
        return sum(map(len, lines[: place["row"] - 1])) + place["column"] - 1

    result = TEXT
    written = item["fix"]
    assert isinstance(written, dict)
    for edit in reversed(written["edits"]):
        result = result[: offset(edit["location"])] + edit["content"] + result[offset(edit["end_location"]) :]
    assert result == TEXT.replace("done()", "go()").replace("paddle\n", "paddle\nimport os\n") + "end()\n"


def test_json_is_ascii_whatever_the_path_and_the_text() -> None:
    strange = Finding("PPF201", "/\u8bad\u7ec3/\udcff.py", 0, 0, "\u635f")
    written = rendered(json_output.render, report(strange))
    assert written.isascii()
    assert json.loads(written)[0]["filename"] == "/\u8bad\u7ec3/\udcff.py"


def test_json_lines_are_the_objects_of_json_one_by_one() -> None:
    strange = Finding("PPF201", "/\u8bad\u7ec3/\udcff.py", 0, 0, "first\nsecond\u2028")
    shown = report(SAFE, UNSAFE, PLAIN, strange)
    lines = list(json_output.render_lines(shown))
    assert len(lines) == 4
    assert all(line.isascii() and line.index("\n") == len(line) - 1 for line in lines)
    assert [json.loads(line) for line in lines] == json.loads(rendered(json_output.render, shown))
    assert rendered(json_output.render_lines, report()) == ""
