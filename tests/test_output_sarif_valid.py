"""``sarif``: valid by its schema, and without a complaint of the validator that GitHub's rules are part of."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Related
from perflint.output import sarif
from perflint.output.report import Report
from perflint.run import engine
from perflint.text.source import Source
from tests.output_samples import rendered, report
from tests.reported import Run
from tests.tools import npm_package

MULTITOOL = "@microsoft/sarif-multitool-linux"
EVERYTHING = Settings(join_lines=False, select=("ALL",), min_impact=ImpactLevel.LOW)


@pytest.fixture(scope="module")
def logs(awkward_run: Run) -> dict[str, str]:
    """SARIF by name: of a clean run, of the examples of all rules, and of files that are hard to report on."""
    examples = {
        f"{rule.code}/{number}.py": example.bad
        for rule in catalogue.shipped().values()
        for number, example in enumerate(rule.examples)
        if example.bad is not None
    }
    sources = {path: Source(path, text) for path, text in examples.items()}
    found = [finding for path, source in sources.items() for finding in engine.check({path: source}, EVERYTHING)]
    assert {finding.code for finding in found} >= set(catalogue.shipped()) - {"PPF003"}
    found[0] = replace(found[0], related=(Related("other.py", 3, "the loop"),))
    found.append(Finding("PPF003", "gone.py", 0, 0, "This file could not be read."))
    return {
        "clean": rendered(sarif.render, report()),
        "examples": rendered(sarif.render, Report(found, sources, settings=EVERYTHING)),
        "awkward": awkward_run.texts["sarif"],
    }


def broken(text: str) -> str:
    """A report with a mistake of each kind that the validators must see, or they see nothing."""
    log = json.loads(text)
    result = log["runs"][0]["results"][0]
    result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "not percent-encoded.py"
    result["ruleIndex"] = 10_000
    del log["runs"][0]["tool"]["driver"]["rules"][0]["help"]
    return json.dumps(log)


@pytest.mark.parametrize("name", ["clean", "examples", "awkward"])
def test_reports_are_valid_by_the_schema(name: str, logs: dict[str, str]) -> None:
    schema = json.loads((npm_package(MULTITOOL) / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    log = json.loads(logs[name])
    assert [error.message for error in validator.iter_errors(log)] == []
    log["runs"][0]["columnKind"] = "bytes"
    assert len(list(validator.iter_errors(log))) == 1


def test_the_validator_has_no_complaint(logs: dict[str, str], tmp_path: Path) -> None:
    for name, text in {**logs, "broken": broken(logs["awkward"])}.items():
        (tmp_path / f"{name}.sarif").write_text(text, encoding="utf-8")
    complaints = _complaints(tmp_path)
    assert complaints.pop("broken").keys() == {"SARIF1002", "SARIF1009", "GH2012"}
    assert complaints == {}


def _complaints(folder: Path) -> dict[str, dict[str, Any]]:
    """What the validator says about the reports in a folder: by report, then by the validator's rule.

    It exits 0 whatever it finds.
    """
    program = npm_package(MULTITOOL) / "Sarif.Multitool"
    output = folder / "validated.json"
    # Without ICU, .NET starts only like this.
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    command = [str(program), "validate", str(folder / "*.sarif"), "--rule-kind", "Sarif;Ghas", "--output", str(output)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert f"{len(list(folder.glob('*.sarif')))} files scanned" in done.stdout
    run = json.loads(output.read_text(encoding="utf-8-sig"))["runs"][0]
    found: dict[str, dict[str, Any]] = {}
    for result in run["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        found.setdefault(Path(uri).stem, {})[result["ruleId"]] = result
    return found
