"""What every output says about a code: its name, its class of bottleneck, and the link to its page."""

from __future__ import annotations

from dataclasses import dataclass

from perflint import catalogue
from perflint.catalogue import FILE_CODES
from perflint.findings import Confidence, Finding

_NO_BOTTLENECK = FILE_CODES | {"PPF002"}
"""PPF002 is about comments."""


@dataclass(frozen=True)
class Facts:
    """``bottleneck`` is None for codes that are not about code; ``url`` is empty for codes without a rule."""

    name: str
    bottleneck: str | None
    url: str | None


def facts(code: str) -> Facts:
    """The facts of a code; a code without a rule file is its own name."""
    rule = catalogue.shipped().get(code)
    if rule is None:
        return Facts(code, None, None)
    return Facts(rule.name, None if code in _NO_BOTTLENECK else rule.bottleneck, rule.url)


def message(finding: Finding) -> str:
    """The message of a finding and what it can cost, for formats without a separate field for that."""
    if finding.impact is None:
        return finding.message
    return f"{finding.message} ({finding.impact.level} impact: {finding.impact.reason})"


def severity(finding: Finding) -> str:
    """``error``: a file that could not be checked; ``note``: perflint is not sure; ``warning``: any other finding."""
    if finding.code in FILE_CODES:
        return "error"
    return "note" if finding.confidence is Confidence.LOW else "warning"
