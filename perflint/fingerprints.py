"""What a finding is known by once rows have moved: its rule, its file, its words, and which of several alike it is."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from perflint.findings import Finding
from perflint.patterns import relative
from perflint.source import Source

_LENGTH = 32


def fingerprints(findings: Sequence[Finding], sources: Mapping[str, Source], root: str) -> list[str]:
    """The fingerprint of each finding: 32 hexadecimal digits, no two alike.

    They stay as they are when other lines come or go, and when lines are indented otherwise.
    The message has no part in it, since it names rows and counts other findings.  Of several findings of one rule in
    the same words, the fingerprints are those of the first, second, ... in the order of ``findings``.

    Args:
        findings: in the order of their places in each file.
        sources: the texts that they point into, by path; a file that could not be read may be missing.
        root: the directory that paths are seen from, so that a checkout elsewhere gives the same.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for finding in findings:
        key = (finding.code, relative(finding.path, root), _words(finding, sources.get(finding.path)))
        found.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass")).hexdigest())
        seen[key] += 1
    return [digest[:_LENGTH] for digest in found]


def _words(finding: Finding, source: Source | None) -> str:
    """The lines of a finding, without what only lays them out."""
    if source is None:
        return ""
    table = source.lines
    first, last = (table.position(offset)[0] for offset in (finding.start, max(finding.start, finding.end - 1)))
    return " ".join(" ".join(table.line(row) for row in range(first, last + 1)).split())
