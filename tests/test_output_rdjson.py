"""``rdjson``: ranges in bytes, and suggestions that are whole fixes, applied here as the format defines them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perflint import catalogue
from perflint.catalogue import FILE_CODES
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Edit, Finding, Fix, Level, Related
from perflint.fix import fixer
from perflint.output import ci_reports
from perflint.output.report import Report
from perflint.run import engine
from perflint.text.source import Source
from tests.output_samples import PLAIN, SAFE, SHOWN, TEXT, UNSAFE, at, rendered, report
from tests.reported import CALL, FIXED, Run


def diagnostics(shown: Report) -> list[dict[str, Any]]:
    result = json.loads(rendered(ci_reports.render_rdjson, shown).encode("ascii"))
    assert result["source"] == {"name": "perflint", "url": "https://github.com/perflint-paddle/perflint"}
    assert isinstance(result["diagnostics"], list)
    return result["diagnostics"]


def offset(data: bytes, position: Mapping[str, int]) -> int:
    """The byte that a position means: rows end at any of Python's line ends, columns count bytes from 1."""
    starts = [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", data))]
    return starts[position["line"] - 1] + position["column"] - 1


def meant(data: bytes, span: Mapping[str, Mapping[str, int]]) -> slice:
    return slice(offset(data, span["start"]), offset(data, span["end"]))


def applied(data: bytes, suggestion: Mapping[str, Any]) -> bytes:
    span = meant(data, suggestion["range"])
    text: str = suggestion["text"]
    return data[: span.start] + text.encode() + data[span.stop :]


def _utf8(path: Path) -> bytes:
    data = path.read_bytes()
    return data.decode("gbk").encode() if path.name == "gbk.py" else data


def test_ranges_are_those_of_the_very_expressions(awkward_run: Run) -> None:
    calls = 0
    for item in json.loads(awkward_run.texts["rdjson"])["diagnostics"]:
        path = awkward_run.folder / item["location"]["path"]
        if item["code"]["value"] == "PPF101":
            data = _utf8(path)
            assert data[meant(data, item["location"]["range"])] == CALL.encode()
            (suggestion,) = item["suggestions"]
            assert applied(data, suggestion) == data.replace(CALL.encode(), FIXED.encode())
            calls += 1
    assert calls == len(awkward_run.places) - 2


def test_paths_are_seen_from_where_perflint_ran(awkward_run: Run) -> None:
    # reviewdog puts its own directory before relative paths (pathutil.NormalizePath).
    paths = [item["location"]["path"] for item in json.loads(awkward_run.texts["rdjson"])["diagnostics"]]
    assert {"plain.py", "../top.py"} <= set(paths)
    assert all((awkward_run.folder / path).is_file() for path in paths)


@pytest.mark.parametrize("code", [code for code in catalogue.shipped() if code not in FILE_CODES])
def test_a_suggestion_is_the_fix_as_the_fixer_makes_it(code: str) -> None:
    settings = Settings(join_lines=False, select=(code,))
    for example in catalogue.shipped()[code].examples:
        if example.bad is None:
            continue
        source = Source("a.py", example.bad)
        found = engine.check({"a.py": source}, settings)
        for finding, item in zip(found, diagnostics(Report(found, {"a.py": source})), strict=True):
            if finding.fix is None or finding.fix.level is Level.DISPLAY:
                assert "suggestions" not in item
                continue
            (suggestion,) = item["suggestions"]
            expected = fixer.apply(example.bad, [finding.fix]).text
            assert applied(example.bad.encode(), suggestion).decode() == expected


@pytest.mark.usefixtures("fake_catalogue")
def test_a_diagnostic_says_what_how_grave_and_where_to_read_on() -> None:
    related = replace(PLAIN, related=(Related("b.py", 7, "the loop"),), confidence=Confidence.LOW)
    gone = Finding("PPF003", "gone.py", 0, 0, "It cannot be read.")
    safe, low, error = diagnostics(report(SAFE, related, gone))
    assert safe["message"] == "It costs time."
    assert safe["code"] == {
        "value": "PPF201",
        "url": "https://github.com/perflint-paddle/perflint/blob/main/docs/rules/PPF201.md",
    }
    assert [item["severity"] for item in (safe, low, error)] == ["WARNING", "INFO", "ERROR"]
    assert low["related_locations"] == [
        {"message": "the loop", "location": {"path": "b.py", "range": {"start": {"line": 7}}}}
    ]
    assert error["location"]["range"]["start"] == {"line": 1, "column": 1}


@pytest.mark.usefixtures("fake_catalogue")
def test_who_is_offered_an_unsafe_fix_reads_why_it_is_unsafe() -> None:
    unsafe, shown = diagnostics(report(UNSAFE, SHOWN))
    assert unsafe["message"] == "It costs time.\nUnsafe fix: Change it (the shuffle order changes)"
    assert "suggestions" in unsafe
    assert shown["message"] == "It costs time.\nSuggestion: Change it (the shuffle order changes)"
    assert "suggestions" not in shown


@pytest.mark.usefixtures("fake_catalogue")
def test_a_fix_of_several_edits_is_one_suggestion() -> None:
    start, end = at(TEXT, "done()")
    fix = Fix("f", (Edit(start, end, "go()"), Edit(len(TEXT), len(TEXT), "end()\n")), Level.SAFE, "", ("import os",))
    (item,) = diagnostics(report(Finding("PPF201", "a.py", start, end, "m", fix)))
    (suggestion,) = item["suggestions"]
    expected = TEXT.replace("done()", "go()").replace("paddle\n", "paddle\nimport os\n") + "end()\n"
    assert applied(TEXT.encode(), suggestion).decode() == expected


@pytest.mark.usefixtures("fake_catalogue")
def test_a_fix_of_edits_that_are_far_apart_is_no_suggestion() -> None:
    source = "first()\n" + "x = 1\n" * 70 + "last()\n"
    fix = Fix("f", tuple(Edit(*at(source, part), "done()") for part in ("first()", "last()")), Level.SAFE)
    (item,) = diagnostics(report(Finding("PPF201", "a.py", 0, 7, "m", fix), source=source))
    assert "suggestions" not in item


def test_a_clean_run_has_no_diagnostics() -> None:
    assert diagnostics(report()) == []
