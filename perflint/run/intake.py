"""Reads sources from paths, before anything is parsed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.findings import Finding, Fix
from perflint.stopwatch import phase
from perflint.text.source import Source, UnreadableSource, read


@phase("read")
def read_all(paths: Iterable[Path]) -> tuple[dict[str, Source], list[Finding]]:
    """Sources by path, and a PPF003 finding for each file that cannot be read or decoded."""
    sources: dict[str, Source] = {}
    unreadable: list[Finding] = []
    for path in paths:
        try:
            sources[str(path)] = read(path)
        except UnreadableSource as error:
            unreadable.append(unreadable_file(str(path), error))
    return sources, unreadable


def unreadable_file(path: str, error: Exception) -> Finding:
    """The finding for a file that is not readable text."""
    rule = catalogue.shipped()["PPF003"]
    return Finding("PPF003", path, 0, 0, rule.message.format(what=error), by_hand(rule))


def by_hand(rule: Rule) -> Fix:
    """The fix of a rule about files that only the user can repair."""
    return Fix(rule.fix_title, (), rule.fix_level, rule.fix_reason)
