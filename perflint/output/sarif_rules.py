"""The rules of a run in SARIF, within the limits of GitHub code scanning.

GitHub's limits and the properties that it reads:
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from perflint.catalogue import FILE_CODES, Example, Rule
from perflint.output import measured, rule_page

LONGEST = 1024
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
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rsplit(" ", 1)[0] + "\u2026"
