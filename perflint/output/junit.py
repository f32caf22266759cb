"""``junit``: a failed test case for each finding, for CI systems that show test results (Jenkins, GitLab, ...).

There is no standard; the elements are those that all readers support, as collected in
https://github.com/testmoapp/junitxml. A reader may keep only one of several cases with the same name, so the names
contain the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from perflint.catalogue import FILE_CODES
from perflint.findings import Finding
from perflint.output.report import Report, facts
from perflint.text.visible import visible


def render(report: Report) -> Iterator[str]:
    """One XML document in ASCII, with a test suite for each file that has findings."""
    root = ElementTree.Element("testsuites", {"name": "perflint", **_counts(report.findings)})
    by_path: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_path.setdefault(finding.path, []).append(finding)
    for path, findings in by_path.items():
        _add_suite(root, report, path, findings)
    if not report.findings:
        suite = ElementTree.SubElement(root, "testsuite", {"name": "perflint", "tests": "1", **_NONE})
        ElementTree.SubElement(suite, "testcase", {"classname": "perflint", "name": "no findings"})
        root.set("tests", "1")
    ElementTree.indent(root)
    yield ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii") + "\n"


_NONE = {"failures": "0", "errors": "0"}


def _add_suite(root: ElementTree.Element, report: Report, path: str, findings: Sequence[Finding]) -> None:
    place = visible(report.places.shown(path))
    suite = ElementTree.SubElement(root, "testsuite", {"name": place, **_counts(findings)})
    for finding in findings:
        row, column = report.lines(path).position(finding.start)
        case = {
            "classname": place,
            "name": f"{finding.code} {facts(finding.code).name} ({row}:{column})",
            "file": place,
            "line": str(row),
        }
        failed = ElementTree.SubElement(
            ElementTree.SubElement(suite, "testcase", case),
            "error" if finding.code in FILE_CODES else "failure",
            {"message": visible(report.message(finding)), "type": finding.code},
        )
        failed.text = "\n".join(map(visible, _text(report, finding, f"{place}:{row}:{column}")))


def _text(report: Report, finding: Finding, place: str) -> Iterator[str]:
    yield f"{place}: {finding.code} {report.message(finding)}"
    if finding.fix:
        yield f"fix ({finding.fix.level}): {finding.fix.message}"
    for related in finding.related:
        yield f"see {report.places.shown(related.path)}:{related.line}: {related.message}"
    url = facts(finding.code).url
    if url:
        yield url


def _counts(findings: Sequence[Finding]) -> dict[str, str]:
    errors = sum(finding.code in FILE_CODES for finding in findings)
    return {"tests": str(len(findings)), "failures": str(len(findings) - errors), "errors": str(errors)}
