"""``sarif``: what GitHub asks of it, and fixes that other programs can apply."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from perflint import __version__, catalogue
from perflint.catalogue import FILE_CODES
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Edit, Finding, Fix, Level, Related
from perflint.fix import fixer
from perflint.output import sarif
from perflint.output.report import Report
from perflint.output.sarif import line_hashes
from perflint.run import engine
from perflint.suppress.baseline import fingerprints
from perflint.text.source import Source, read
from tests.output_samples import PLAIN, SAFE, SHOWN, TEXT, UNSAFE, at, rendered, report
from tests.reported import CALL, Run, perflint
from tests.sarif_reading import applied, meant


def run_of(shown: Report) -> dict[str, Any]:
    log = json.loads(rendered(sarif.render, shown).encode("ascii"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def results(shown: Report) -> list[dict[str, Any]]:
    found = run_of(shown)["results"]
    assert isinstance(found, list)
    return found


def test_regions_are_those_of_the_very_expressions(awkward_run: Run) -> None:
    run = json.loads(awkward_run.texts["sarif"])["runs"][0]
    calls = 0
    for result in run["results"]:
        location = result["locations"][0]["physicalLocation"]
        source = read(awkward_run.root / unquote(location["artifactLocation"]["uri"])) if "fixes" in result else None
        if source is not None:
            assert source.text[meant(source.text, location["region"], run["newlineSequences"])] == CALL
            calls += 1
    assert calls == len(awkward_run.places) - 2


def test_the_fixes_of_a_run_write_what_perflint_writes(awkward_run: Run, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed"
    shutil.copytree(awkward_run.root, fixed)
    folder = fixed / awkward_run.folder.name
    perflint(folder, "--fix", "--unsafe-fixes")
    run = json.loads(awkward_run.texts["sarif"])["runs"][0]
    changed = set()
    for result in run["results"]:
        for fix in result.get("fixes", ()):
            name = unquote(fix["artifactChanges"][0]["artifactLocation"]["uri"])
            source = read(awkward_run.root / name)
            after = applied(source.text, fix, run["newlineSequences"])
            assert (fixed / name).read_bytes() == source.encode(after)
            changed.add(name)
    assert len(changed) == len(awkward_run.places) - 2


@pytest.mark.parametrize("code", [code for code in catalogue.shipped() if code not in FILE_CODES])
def test_a_fix_is_that_of_the_fixer(code: str) -> None:
    for example in catalogue.shipped()[code].examples:
        if example.bad is None:
            continue
        source = Source("a.py", example.bad)
        found = engine.check({"a.py": source}, Settings(join_lines=False, select=(code,)))
        run = run_of(Report(found, {"a.py": source}))
        for finding, result in zip(found, run["results"], strict=True):
            if finding.fix is None or finding.fix.level is Level.DISPLAY:
                assert "fixes" not in result
                continue
            (fix,) = result["fixes"]
            expected = fixer.apply(example.bad, [finding.fix]).text
            assert applied(example.bad, fix, run["newlineSequences"]) == expected


@pytest.mark.usefixtures("fake_catalogue")
def test_a_result_says_what_where_and_how_sure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    related = (Related("../b.py", 7, "the loop"), Related("a.py", 2, "the call"))
    shown = report(replace(UNSAFE, related=related, confidence=Confidence.MEDIUM))
    run = run_of(shown)
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": tmp_path.as_uri() + "/"}}
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["automationDetails"] == {"id": "perflint/"}
    assert run["invocations"] == [{"executionSuccessful": True}]
    (result,) = run["results"]
    (fix,) = result.pop("fixes")
    assert fix["description"] == {"text": "Change it (unsafe: the shuffle order changes)"}
    assert run["tool"]["driver"]["rules"][result.pop("ruleIndex")]["id"] == "PPF101"
    (fingerprint,) = fingerprints(shown.findings, shown.sources, str(tmp_path))
    place = {"uri": "sub/a.py", "uriBaseId": "%SRCROOT%"}
    region = {"startLine": 5, "startColumn": 10, "endLine": 5, "endColumn": 26}
    assert result == {
        "ruleId": "PPF101",
        "level": "warning",
        "message": {"text": "It costs time."},
        "locations": [{"physicalLocation": {"artifactLocation": place, "region": region}}],
        "partialFingerprints": {"perflint/v1": fingerprint, "primaryLocationLineHash": line_hashes(TEXT.encode())[4]},
        "relatedLocations": [
            {
                "id": 0,
                "physicalLocation": {
                    "artifactLocation": {"uri": "b.py", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7},
                },
                "message": {"text": "the loop"},
            },
            {
                "id": 1,
                "physicalLocation": {"artifactLocation": place, "region": {"startLine": 2}},
                "message": {"text": "the call"},
            },
        ],
        "properties": {
            "confidence": "medium",
            "bottleneck": "I/O",
            "fix": {"applicability": "unsafe", "message": "Change it", "reason": "the shuffle order changes"},
        },
    }


def test_every_result_on_a_readable_file_has_the_hash_that_github_computes(awkward_run: Run) -> None:
    for result in json.loads(awkward_run.texts["sarif"])["runs"][0]["results"]:
        location = result["locations"][0]["physicalLocation"]
        path = awkward_run.root / unquote(location["artifactLocation"]["uri"])
        prints = result["partialFingerprints"]
        if result["ruleId"] == "PPF003":
            assert prints.keys() == {"perflint/v1"}
        else:
            expected = line_hashes(path.read_bytes())[location["region"]["startLine"] - 1]
            assert prints["primaryLocationLineHash"] == expected


@pytest.mark.usefixtures("fake_catalogue")
def test_the_level_follows_what_is_known() -> None:
    unsure = replace(PLAIN, confidence=Confidence.LOW)
    gone = Finding("PPF003", "gone.py", 0, 0, "m")
    assert [result["level"] for result in results(report(SAFE, unsure, gone))] == ["warning", "note", "error"]


@pytest.mark.usefixtures("fake_catalogue")
def test_a_fix_that_is_only_shown_is_no_fix_to_apply() -> None:
    (result,) = results(report(SHOWN))
    assert "fixes" not in result
    assert result["properties"]["fix"] == {
        "applicability": "display",
        "message": "Change it",
        "reason": "the shuffle order changes",
    }


@pytest.mark.usefixtures("fake_catalogue")
def test_a_fix_of_several_edits_comes_whole() -> None:
    start, end = at(TEXT, "done()")
    fix = Fix("f", (Edit(start, end, "go()"), Edit(len(TEXT), len(TEXT), "end()\n")), Level.SAFE, "", ("import os",))
    (result,) = results(report(Finding("PPF201", "a.py", start, end, "m", fix)))
    (written,) = result["fixes"]
    expected = TEXT.replace("done()", "go()").replace("paddle\n", "paddle\nimport os\n") + "end()\n"
    assert applied(TEXT, written, ["\n"]) == expected


@pytest.mark.usefixtures("fake_catalogue")
@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        (Settings(join_lines=False), ["PPF001", "PPF003", "PPF101", "PPF201"]),
        (
            Settings(join_lines=False, extend_select=("PPF4",), ignore=("PPF1",)),
            ["PPF001", "PPF003", "PPF201", "PPF401"],
        ),
        (Settings(join_lines=False, select=("PPF101",)), ["PPF101", "PPF401"]),
    ],
)
def test_the_rules_are_those_that_the_run_could_report(settings: Settings, codes: list[str]) -> None:
    found = [SHOWN] if "PPF401" in codes else []
    driver = run_of(replace(report(*found), settings=settings))["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == codes
    assert (driver["name"], driver["version"], driver["semanticVersion"]) == ("perflint", __version__, __version__)


def test_the_shipped_rules_are_within_what_github_takes() -> None:
    # https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
    rules = run_of(replace(report(), settings=Settings(join_lines=False, select=("ALL",))))["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(catalogue.shipped())
    for rule in rules:
        assert len(rule["name"]) <= 255
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert "Why it costs" in rule["help"]["text"]
        assert "## Why it costs" in rule["help"]["markdown"]
        for reference in catalogue.shipped()[rule["id"]].references:
            assert f"- {reference.url}\n  " in rule["help"]["markdown"]
        properties = rule["properties"]
        assert 1 <= len(properties["tags"]) <= 20
        assert properties["precision"] in ("very-high", "high", "medium", "low")
        assert properties["problem.severity"] in ("error", "warning", "recommendation")
    described = {rule["id"]: rule for rule in rules}
    assert described["PPF101"]["properties"]["tags"] == ["performance", "I/O"]
    assert described["PPF001"]["defaultConfiguration"] == {"level": "error"}
    assert described["PPF402"]["properties"]["precision"] == "medium"  # off by default
    assert "train_loader = DataLoader(" in described["PPF101"]["help"]["markdown"]


@pytest.mark.usefixtures("fake_catalogue")
def test_a_description_that_is_too_long_is_cut_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests import fake_rules

    rule = replace(fake_rules.RULES["PPF201"], why="word " * 400)
    monkeypatch.setattr(catalogue, "shipped", lambda: {"PPF201": rule})
    (described,) = run_of(report())["tool"]["driver"]["rules"]
    assert described["fullDescription"]["text"] == "word " * 203 + "word\u2026"


@pytest.mark.usefixtures("fake_catalogue")
def test_an_index_that_is_called_is_no_link() -> None:
    called = replace(PLAIN, message="`fs[i](x)` and `a[0]` and `d[k].item()`")
    (result,) = results(report(called))
    assert result["message"]["text"] == "`fs\\[i](x)` and `a[0]` and `d[k].item()`"


@pytest.mark.usefixtures("fake_catalogue")
def test_a_report_that_github_would_refuse_says_so() -> None:
    assert list(sarif.shortcomings(report(*[PLAIN] * 25_000))) == []
    (line,) = sarif.shortcomings(report(*[PLAIN] * 25_001))
    assert "25001" in line
    assert "25000" in line
