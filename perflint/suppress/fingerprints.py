"""Identifies a finding even if rows move: by its rule, its file, its text, and its number among equal ones."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from perflint.findings import Finding
from perflint.inputs.patterns import relative
from perflint.text.source import Source

_LENGTH = 32


def fingerprints(findings: Sequence[Finding], sources: Mapping[str, Source], root: str) -> list[str]:
    """The fingerprint of each finding: 32 hexadecimal digits, all different.

    They stay the same when other lines are added or removed, or when the indentation changes. The message is not part
    of it, since it names rows and counts other findings. Findings of one rule with the same text are numbered in the
    order of ``findings``.

    Args:
        findings: in the order of their places in each file.
        sources: the texts that they point into, by path; a file that could not be read may be missing.
        root: the directory that paths are relative to, so that a checkout elsewhere gives the same fingerprints.
    """
    seen: Counter[bytes] = Counter()
    begun: dict[tuple[str, str, int, int], hashlib._Hash] = {}
    found = []
    for finding in findings:
        source = sources.get(finding.path)
        first, last = _rows(finding, source) if source is not None else (0, 0)
        place = finding.code, finding.path, first, last
        if place not in begun:  # the row may be megabytes long, and contain thousands of findings
            words = _words(source, first, last) if source is not None else ""
            text = "\0".join((finding.code, relative(finding.path, root), words, ""))
            begun[place] = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
        alike = begun[place].digest()
        digest = begun[place].copy()
        digest.update(str(seen[alike]).encode())
        seen[alike] += 1
        found.append(digest.hexdigest()[:_LENGTH])
    return found


def _rows(finding: Finding, source: Source) -> tuple[int, int]:
    table = source.lines
    return table.position(finding.start)[0], table.position(max(finding.start, finding.end - 1))[0]


def _words(source: Source, first: int, last: int) -> str:
    """The text of some rows, without formatting."""
    return " ".join(" ".join(source.lines.line(row) for row in range(first, last + 1)).split())
