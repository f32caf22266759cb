"""``sarif``: SARIF 2.1.0, for GitHub code scanning and for viewers.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.  Columns count code points, ends are
exclusive, a byte order mark does not count.  GitHub shows no fixes; other viewers apply them.
"""

from __future__ import annotations

import re
import sys
import textwrap
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from perflint import __version__, catalogue
from perflint.catalogue import FILE_CODES, HOME, Example, Rule
from perflint.configuration.settings import selected
from perflint.findings import Edit, Finding, ImpactLevel, Level, Related
from perflint.fix.fixer import complete_edits
from perflint.output import measured, rule_page
from perflint.output.json import gain_data
from perflint.output.report import Report, facts, json_text, message, severity, valid
from perflint.text.source import LineTable

_RANKS = {ImpactLevel.LOW: 10.0, ImpactLevel.MEDIUM: 50.0, ImpactLevel.HIGH: 90.0}
"""The rank by which viewers sort results, from 0 to 100."""

MOST_RESULTS = 25_000
"""The most results in one run that GitHub accepts (it shows the first 5,000)."""

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_DRIVER = {"name": "perflint", "version": __version__, "semanticVersion": __version__, "informationUri": HOME}
_BASE = "%SRCROOT%"
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")
"""What starts a link in the text of a SARIF message; in our texts it is an index, followed by a call."""


def render(report: Report) -> Iterator[str]:
    """One log with one run."""
    yield json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report)]}, indent=2) + "\n"


def shortcomings(report: Report) -> Iterator[str]:
    """Warnings about this report."""
    if len(report.findings) > MOST_RESULTS:
        yield (
            f"{len(report.findings)} findings are in the SARIF report, and GitHub accepts at most {MOST_RESULTS}: "
            "check fewer paths at once, or select fewer rules"
        )


def _run(report: Report) -> dict[str, Any]:
    rules = _rules(report)
    codes, hashes = list(rules), _line_hashes(report)
    prints = report.fingerprints()
    return {
        "tool": {"driver": {**_DRIVER, "rules": [descriptor(rule) for rule in rules.values()]}},
        "automationDetails": {"id": "perflint/"},
        "invocations": [{"executionSuccessful": report.is_complete}],
        "originalUriBaseIds": {_BASE: {"uri": report.places.root_uri}},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "results": [_result(report, *pair, codes, hashes) for pair in zip(report.findings, prints, strict=True)],
    }


def _line_hashes(report: Report) -> dict[str, Sequence[str]]:
    """Line hashes by path; without files that could not be read, or that have unsaved changes."""
    found: dict[str, Sequence[str]] = {}
    for path in {finding.path for finding in report.findings} & report.sources.keys():
        source = report.sources[path]
        with suppress(UnicodeEncodeError):
            found[path] = line_hashes(source.encode(source.text))
    return found


def _rules(report: Report) -> Mapping[str, Rule]:
    """The rules that the run could report, in order of their codes."""
    shipped = catalogue.shipped()
    wanted = selected(report.settings, shipped) | {finding.code for finding in report.findings}
    return {code: rule for code, rule in sorted(shipped.items()) if code in wanted}


def _result(
    report: Report, finding: Finding, fingerprint: str, rules: Sequence[str], hashes: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    region = _region(report.lines(finding.path), finding.start, finding.end)
    prints = {"perflint/v1": fingerprint}
    if finding.path in hashes:
        prints["primaryLocationLineHash"] = hashes[finding.path][region["startLine"] - 1]
    result = {
        "ruleId": finding.code,
        "level": severity(finding),
        "message": {"text": _message(message(finding))},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(report, finding.path), "region": region}}],
        "partialFingerprints": prints,
        "properties": _properties(report, finding),
        "rank": _rank(report, finding),
        "ruleIndex": rules.index(finding.code) if finding.code in rules else None,
        "relatedLocations": [_related(report, *pair) for pair in enumerate(finding.related)] or None,
        "fixes": [fix] if (fix := _fix(report, finding)) else None,
    }
    return _known(result)


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are known: viewers expect no ``null``."""
    return {key: value for key, value in values.items() if value is not None}


def _rank(report: Report, finding: Finding) -> float | None:
    """The rank by which viewers sort a result: the share of the step in the given profile, or the impact."""
    if report.ranking is not None:
        return round(100 * (report.ranking.of(finding).share or 0.0), 3)
    return _RANKS[finding.impact.level] if finding.impact else None


def _properties(report: Report, finding: Finding) -> dict[str, Any]:
    fix, impact, ranking = finding.fix, finding.impact, report.ranking
    properties = {
        "confidence": str(finding.confidence),
        "profile": gain_data(ranking.of(finding)) if ranking is not None else None,
        "impact": {"level": str(impact.level), "reason": impact.reason} if impact else None,
        "bottleneck": facts(finding.code).bottleneck or None,
    }
    if fix:
        about = {"applicability": fix.level.applicability, "message": valid(fix.message), "reason": fix.reason or None}
        properties["fix"] = _known(about)
    return _known(properties)


def _fix(report: Report, finding: Finding) -> dict[str, Any] | None:
    """The edits that a viewer may apply; a suggestion is given in the properties instead."""
    if finding.fix is None or finding.fix.level is Level.DISPLAY:
        return None
    lines = report.lines(finding.path)
    replacements = [_replacement(lines, edit) for edit in complete_edits(lines.text, finding.fix)]
    if not replacements:
        return None
    reason = f" (unsafe: {finding.fix.reason})" if finding.fix.level is Level.UNSAFE else ""
    change = {"artifactLocation": _artifact(report, finding.path), "replacements": replacements}
    return {"description": {"text": _message(finding.fix.message + reason)}, "artifactChanges": [change]}


def _replacement(lines: LineTable, edit: Edit) -> dict[str, Any]:
    region = _region(lines, edit.start, edit.end)
    return {"deletedRegion": region, "insertedContent": {"text": valid(edit.content)}}


def _related(report: Report, number: int, place: Related) -> dict[str, Any]:
    location = {"artifactLocation": _artifact(report, place.path), "region": {"startLine": place.line}}
    return {"id": number, "physicalLocation": location, "message": {"text": _message(place.message)}}


def _artifact(report: Report, path: str) -> dict[str, Any]:
    uri, is_relative = report.places.uri(path)
    return {"uri": uri, "uriBaseId": _BASE} if is_relative else {"uri": uri}


def _region(lines: LineTable, start: int, end: int) -> dict[str, int]:
    row, column = lines.position(start)
    end_row, end_column = lines.position(end)
    return {"startLine": row, "startColumn": column, "endLine": end_row, "endColumn": end_column}


def _message(text: str) -> str:
    return _LINK.sub(r"\\[", valid(text))


# -- the rules of a run -----------------------------------------------------------------------------------------------
#
# GitHub's limits and the properties that it reads:
# https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning

LONGEST_DESCRIPTION = 1024
"""The most characters of a description that GitHub accepts."""


def descriptor(rule: Rule) -> dict[str, Any]:
    """The ``reportingDescriptor`` of a rule."""
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": _cut(rule.summary)},
        "fullDescription": {"text": _cut(_first_paragraph(rule.why))},
        "help": {"text": "\n".join(_help(rule, "{}:")), "markdown": "\n".join(_help(rule, "## {}"))},
        "helpUri": rule.url,
        "defaultConfiguration": {"level": "error" if rule.code in FILE_CODES else "warning"},
        "properties": {
            "tags": ["performance", rule.bottleneck] if rule.code not in FILE_CODES else ["unchecked"],
            "precision": "high" if rule.default else "medium",
            "problem.severity": _severity(rule),
        },
    }


def _severity(rule: Rule) -> str:
    if rule.code in FILE_CODES:
        return "error"
    return "warning" if rule.default else "recommendation"


def _help(rule: Rule, heading: str) -> Iterator[str]:
    yield from (rule.summary.strip(), "")
    yield from (heading.format("Why it costs"), "", rule.why.strip(), "")
    yield from (heading.format("When to ignore it"), "", rule.ignore_when.strip(), "")
    yield from (heading.format("The fix"), "", f"{rule.fix_title} ({rule.fix_level})")
    if rule.fix_reason:
        yield from ("", rule.fix_reason.strip())
    example = next((example for example in rule.examples if example.bad), None)
    if example is not None:
        yield from ("", heading.format("Example"), "", *_example(example))
    yield from ("", heading.format("Measured"), "", measured.paragraph(rule))
    if rule.references:
        yield from ("", heading.format("References"), "", *rule_page.references(rule))
    yield from ("", f"More: {rule.url}")


def _example(example: Example) -> Iterator[str]:
    """An example, indented: that is code in Markdown, and also readable as plain text."""
    yield textwrap.indent((example.bad or "").strip("\n"), "    ")
    if example.fixed:
        yield from ("", "After the fix:", "", textwrap.indent(example.fixed.strip("\n"), "    "))


def _first_paragraph(prose: str) -> str:
    return " ".join(prose.strip().split("\n\n")[0].split())


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 1].rsplit(" ", 1)[0] + "\u2026"


# -- the hashes by which GitHub code scanning recognizes lines --------------------------------------------------------
#
# The upload action of GitHub computes these as well, and warns about each result with a different hash.
# https://github.com/github/codeql-action/blob/main/src/fingerprints.ts defines them: for a line and those after it, the
# first 100 UTF-16 code units that are neither blank nor tab, taken as digits to the base 37, modulo 2 to the 64th.
# Every line end counts as one line feed, and the file ends with 65535.

_SPAN = 100
_RADIX = 37
_MASK = 2**64 - 1
_END = 0xFFFF
_LINE_FEED = ord("\n")


def line_hashes(data: bytes) -> list[str]:
    """The hash of each line of a file, numbered among equal ones: ``c129715d7a2bc9a3:1``."""
    units = [*_code_units(data), _END, *([0] * _SPAN)]
    heads = list(accumulate(units, lambda value, unit: (value * _RADIX + unit) & _MASK, initial=0))
    above = pow(_RADIX, _SPAN, _MASK + 1)
    starts = [0, *(place + 1 for place, unit in enumerate(units) if unit == _LINE_FEED)]
    seen: Counter[int] = Counter()
    hashes = []
    for start in starts:
        value = (heads[start + _SPAN] - heads[start] * above) & _MASK
        seen[value] += 1
        hashes.append(f"{value:x}:{seen[value]}")
    return hashes


def _code_units(data: bytes) -> array[int]:
    # The action reads every file as UTF-8, and treats a byte order mark as a character.
    text = re.sub("[ \t]", "", re.sub("\r\n?", "\n", data.decode("utf-8", "replace")))
    return array("H", text.encode(f"utf-16-{sys.byteorder[0]}e"))
