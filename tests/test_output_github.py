"""``github``: workflow commands, read as GitHub's runner reads them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perflint.findings import Confidence, Finding
from perflint.output import ci_reports
from perflint.output.report import Report
from perflint.text.source import Source
from tests.output_samples import SAFE, TEXT, at, rendered, report

pytestmark = pytest.mark.usefixtures("fake_catalogue")


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with perflint running in one of its directories."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    return tmp_path


def commands(shown: Report) -> list[tuple[str, dict[str, str], str]]:
    """Name, properties and message of each line, unescaped in the order in which actions/runner does it."""
    found = []
    for line in rendered(ci_reports.render_github, shown).split("\n")[:-1]:
        match = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
        assert match, line
        properties = dict(part.split("=", 1) for part in match[2].split(","))
        found.append((match[1], {name: _unescaped(value) for name, value in properties.items()}, _unescaped(match[3])))
    return found


def _unescaped(value: str) -> str:
    for escaped, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        value = value.replace(escaped, char)
    return value


def test_a_finding_is_a_warning_at_its_place_in_the_repository() -> None:
    assert commands(report(SAFE)) == [
        (
            "warning",
            {
                "title": "perflint (PPF201)",
                "file": "sub/a.py",
                "line": "3",
                "col": "14",
                "endLine": "3",
                "endColumn": "25",
            },
            "sub/a.py:3:14: PPF201 It costs time.",
        )
    ]


def test_a_finding_of_several_rows_has_no_columns() -> None:
    start, end = at(TEXT, "loss.item()\n    done()")
    ((_, properties, _),) = commands(report(Finding("PPF201", "a.py", start, end, "m")))
    assert properties == {"title": "perflint (PPF201)", "file": "sub/a.py", "line": "3", "endLine": "4"}


@pytest.mark.parametrize(
    ("finding", "name"),
    [
        (Finding("PPF003", "gone.py", 0, 0, "m"), "error"),
        (Finding("PPF201", "a.py", 0, 1, "m", confidence=Confidence.MEDIUM), "warning"),
        (Finding("PPF201", "a.py", 0, 1, "m", confidence=Confidence.LOW), "notice"),
    ],
)
def test_the_command_says_how_grave_it_is(finding: Finding, name: str) -> None:
    assert [command for command, _, _ in commands(report(finding))] == [name]


def test_what_would_end_a_command_or_a_property_is_escaped() -> None:
    path = "100%25, a::b\n.py"
    message = "first::second\r\n50% of, all: that"
    shown = Report([Finding("PPF201", path, 0, 1, message)], {path: Source(path, TEXT)})
    ((_, properties, said),) = commands(shown)
    assert properties["file"] == f"sub/{path}"
    wanted = (r"sub/100%25, a::b\n.py", r"first::second\r\n50% of, all: that")
    assert said == f"{wanted[0]}:1:1: PPF201 {wanted[1]}"


def test_a_clean_run_says_nothing() -> None:
    assert rendered(ci_reports.render_github, report()) == ""
