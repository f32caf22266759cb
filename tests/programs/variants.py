"""The texts that perflint makes of a program: each fix alone, all safe ones, and all that may be applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source

PATH = "train.py"
SETTINGS = Settings(join_lines=False, select=("ALL",), min_impact=ImpactLevel.LOW)


@dataclass(frozen=True)
class Variant:
    """A program after some fixes.

    ``name`` says which: ``PPF201 alone``, ``all safe fixes``.  ``level`` is the least trusted of them, ``reasons`` are
    what they admit to.  ``complaints`` are what is wrong with it without running it.
    """

    name: str
    text: str
    level: Level
    reasons: tuple[str, ...]
    complaints: tuple[str, ...] = ()


class Unfixable(Exception):
    """perflint could not check the program at all; the message is its finding."""


def findings(text: str) -> list[Finding]:
    """What perflint finds in a program, by all of its rules."""
    return engine.check({PATH: Source(PATH, text)}, SETTINGS)


def variants(text: str, only: str = "") -> list[Variant]:
    """What the fixes make of a program; none where it has no fix that may be applied.

    Args:
        only: the name of the variants that are wanted (empty: all).
    """
    first = findings(text)
    alone = [] if only.startswith("all ") else [item for item in _alone(text, first) if only in ("", item.name)]
    levels = [level for level in (Level.SAFE, Level.UNSAFE) if only in ("", _all(level))]
    return [*alone, *(variant for level in levels for variant in _together(text, first, level))]


def _all(level: Level) -> str:
    return f"all {level} fixes"


def _alone(text: str, first: Iterable[Finding]) -> Iterator[Variant]:
    seen: set[str] = set()
    for finding in first:
        fix = finding.fix
        if fix is None or fix.level < Level.UNSAFE:
            continue
        applied = fixer.apply(text, [fix])
        if applied.text in seen:
            continue
        seen.add(applied.text)
        complaints = () if applied.fixes else (f"{finding.code}: its own edits clash, so it cannot be applied",)
        reasons = (fix.reason,) if fix.level is Level.UNSAFE else ()
        yield Variant(f"{finding.code} alone", applied.text, fix.level, reasons, complaints)


def _together(text: str, first: list[Finding], level: Level) -> Iterator[Variant]:
    if not any(finding.fix and finding.fix.level is level for finding in first):
        return
    rounds: list[tuple[str, list[Finding]]] = []

    def check(given: Mapping[str, Source]) -> list[Finding]:
        found = engine.check(given, SETTINGS)
        rounds.append((given[PATH].text, found))
        return found

    outcome = fixer.fix_all({PATH: Source(PATH, text)}, check, level)
    result = outcome.changed[PATH].text if outcome.changed else text
    fixes = [finding.fix for _, found in rounds for finding in found if finding.fix]
    reasons = [fix.reason for fix in fixes if fix.level is level is Level.UNSAFE]
    complaints = [*_unsettled(outcome, result, level), *_promoted(rounds, level)]
    yield Variant(_all(level), result, level, tuple(dict.fromkeys(reasons)), tuple(complaints))


def _unsettled(outcome: fixer.FixOutcome, text: str, level: Level) -> Iterator[str]:
    for rejected in outcome.rejected:
        yield f"{', '.join(rejected.codes)}: rejected, {rejected.reason}"
    if not outcome.settled:
        yield "the rounds of fixes do not come to an end"
    elif fixer.fix_all({PATH: Source(PATH, text)}, lambda given: engine.check(given, SETTINGS), level).changed:
        yield "a second run of --fix changes the file again"


def _promoted(rounds: list[tuple[str, list[Finding]]], level: Level) -> Iterator[str]:
    """Fixes that the first pass showed as ``display`` and a later pass applied."""
    if not rounds:
        return
    text, first = rounds[0]
    shown = {_place(text, item) for item in first if item.fix and item.fix.level is Level.DISPLAY}
    shown -= {_place(text, item) for item in first if item.fix and item.fix.level >= level}
    for later, found in rounds[1:-1]:
        for item in found:
            if item.fix and item.fix.level >= level and _place(later, item) in shown:
                yield f"{item.code}: shown as display first, applied as {item.fix.level} in a later pass"


def _place(text: str, finding: Finding) -> tuple[str, str]:
    source = Source(PATH, text)
    row, _ = source.lines.position(finding.start)
    return finding.code, source.lines.line(row).strip()
