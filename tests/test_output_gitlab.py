"""``gitlab``: what GitLab's own schema and its reader ask of a code quality report.

The schema is ``app/validators/json_schemas/codeclimate.json`` of https://gitlab.com/gitlab-org/gitlab.  Beyond it
https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format asks for a known severity, a relative path
that does not begin with ``./``, one JSON list without a byte order mark, and a fingerprint of its own for each finding.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema
import pytest

from perflint.findings import Finding, Impact, ImpactLevel
from perflint.output import ci_reports
from perflint.output.report import Report
from perflint.text.source import Source
from tests.output_samples import BATCH, PLAIN, SAFE, TEXT, UNSAFE, rendered, report
from tests.reported import Run

_POSITION = {
    "type": "object",
    "required": ["line"],
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
}
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": "^PPF[0-9]{3}$"},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "positions"],
                "properties": {
                    "path": {"type": "string", "minLength": 1},
                    "positions": {"type": "object", "properties": {"begin": _POSITION, "end": _POSITION}},
                },
            },
        },
    },
}


def issues(shown: Report) -> list[dict[str, Any]]:
    written = json.loads(rendered(ci_reports.render_gitlab, shown))
    jsonschema.validate(written, SCHEMA)
    assert isinstance(written, list)
    return written


def test_a_run_is_valid_and_its_paths_are_relative_to_the_repository(awkward_run: Run) -> None:
    text = awkward_run.texts["gitlab"]
    assert text.startswith("[")
    written = json.loads(text)
    jsonschema.validate(written, SCHEMA)
    for issue in written:
        path = PurePosixPath(issue["location"]["path"])
        assert str(path) == issue["location"]["path"]
        assert (awkward_run.root / path).is_file()
    prints = [issue["fingerprint"] for issue in written]
    assert len(set(prints)) == len(prints) == len(awkward_run.places)


@pytest.mark.usefixtures("fake_catalogue")
def test_an_issue_says_what_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (issue,) = issues(report(replace(UNSAFE, impact=BATCH)))
    assert len(issue.pop("fingerprint")) == 32
    assert issue == {
        "check_name": "PPF101",
        "description": "PPF101 It costs time. (high impact: a batch)",
        "severity": "major",
        "location": {
            "path": "a.py",
            "positions": {"begin": {"line": 5, "column": 10}, "end": {"line": 5, "column": 26}},
        },
    }


@pytest.mark.usefixtures("fake_catalogue")
def test_severity_follows_the_impact() -> None:
    shown = [replace(SAFE, impact=Impact(level, "a wait")) for level in ImpactLevel]
    gone = Finding("PPF003", "gone.py", 0, 0, "m")
    assert [issue["severity"] for issue in issues(report(*shown, gone))] == ["info", "minor", "major", "critical"]


@pytest.mark.usefixtures("fake_catalogue")
def test_a_finding_keeps_its_fingerprint_when_rows_come_before_it() -> None:
    moved = "import sys\n\n" + TEXT
    by = len(moved) - len(TEXT)
    later = replace(PLAIN, start=PLAIN.start + by, end=PLAIN.end + by)
    (before,), (after,) = issues(report(PLAIN)), issues(report(later, source=moved))
    assert before["location"] != after["location"]
    assert before["fingerprint"] == after["fingerprint"]


@pytest.mark.usefixtures("fake_catalogue")
def test_a_path_that_is_no_text_breaks_no_reader() -> None:
    strange = Finding("PPF201", "/\u8bad\u7ec3/\udcff.py", 0, 0, "\ud800")
    written = rendered(ci_reports.render_gitlab, Report([strange], {strange.path: Source(strange.path, TEXT)}))
    (issue,) = json.loads(written.encode("ascii"))
    assert issue["location"]["path"] == "/\u8bad\u7ec3/\\xff.py"
    assert issue["description"] == "PPF201 \\ud800"


def test_a_clean_run_is_an_empty_list() -> None:
    assert issues(report()) == []
