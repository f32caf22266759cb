"""What perflint makes of a program: each fix alone, all safe ones, and all that may be applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source
from tests.programs.texts import Program

SETTINGS = Settings(join_lines=False, select=("ALL",), min_impact=ImpactLevel.LOW)
_Round = tuple[Mapping[str, Source], list[Finding]]


@dataclass(frozen=True)
class Variant:
    """A program after some fixes.

    ``name`` says which: ``PPF201 alone``, ``all safe fixes``.  ``level`` is the least trusted of them, ``reasons`` are
    what they admit to.  ``complaints`` are what is wrong with it without running it.
    """

    name: str
    program: Program
    level: Level
    reasons: tuple[str, ...]
    complaints: tuple[str, ...] = ()


def findings(program: Program) -> list[Finding]:
    """What perflint finds in a program, by all of its rules."""
    return _checked(program.by_path)


def variants(program: Program, only: str = "") -> list[Variant]:
    """What the fixes make of a program; none where it has no fix that may be applied.

    Args:
        only: the name of the variants that are wanted (empty: all).
    """
    first = findings(program)
    alone = [] if only.startswith("all ") else [item for item in _alone(program, first) if only in ("", item.name)]
    levels = [level for level in (Level.SAFE, Level.UNSAFE) if only in ("", _all(level))]
    return [*alone, *(variant for level in levels for variant in _together(program, first, level))]


def _checked(given: Mapping[str, Source]) -> list[Finding]:
    return list(_found(tuple(given.values())))


@lru_cache(maxsize=8)
def _found(sources: tuple[Source, ...]) -> tuple[Finding, ...]:
    """Both levels begin with the same check, and what is checked a second time was checked at the end of the first."""
    return tuple(engine.check({source.path: source for source in sources}, SETTINGS))


def _all(level: Level) -> str:
    return f"all {level} fixes"


def _alone(program: Program, first: Iterable[Finding]) -> Iterator[Variant]:
    seen: set[Program] = set()
    for finding in first:
        fix = finding.fix
        if fix is None or fix.level < Level.UNSAFE:
            continue
        applied = fixer.apply(program.by_path[finding.path].text, [fix])
        changed = program.having({finding.path: applied.text})
        if changed in seen:
            continue
        seen.add(changed)
        complaints = () if applied.fixes else (f"{finding.code}: its own edits clash, so it cannot be applied",)
        reasons = (fix.reason,) if fix.level is Level.UNSAFE else ()
        yield Variant(f"{finding.code} alone", changed, fix.level, reasons, complaints)


def _together(program: Program, first: list[Finding], level: Level) -> Iterator[Variant]:
    if not any(finding.fix and finding.fix.level is level for finding in first):
        return
    rounds: list[_Round] = []

    def check(given: Mapping[str, Source]) -> list[Finding]:
        found = _checked(given)
        rounds.append((given, found))
        return found

    outcome = fixer.fix_all(program.by_path, check, level)
    result = program.having({path: source.text for path, source in outcome.changed.items()})
    fixes = [finding.fix for _, found in rounds for finding in found if finding.fix]
    reasons = [fix.reason for fix in fixes if fix.level is level is Level.UNSAFE]
    complaints = [*_unsettled(outcome, result, level), *_promoted(rounds, level)]
    yield Variant(_all(level), result, level, tuple(dict.fromkeys(reasons)), tuple(complaints))


def _unsettled(outcome: fixer.FixOutcome, result: Program, level: Level) -> Iterator[str]:
    for rejected in outcome.rejected:
        if not rejected.bug:
            continue  # the file keeps its old text, as where another file may take a name that an edit changes
        yield f"{', '.join(rejected.codes)}: rejected, {rejected.reason}"
    if not outcome.settled:
        yield "the rounds of fixes do not come to an end"
    elif fixer.fix_all(result.by_path, _checked, level).changed:
        yield "a second run of --fix changes the file again"


def _promoted(rounds: list[_Round], level: Level) -> Iterator[str]:
    """Fixes that the first pass showed as ``display`` and a later pass applied."""
    if not rounds:
        return
    sources, first = rounds[0]
    shown = {_place(sources, item) for item in first if item.fix and item.fix.level is Level.DISPLAY}
    shown -= {_place(sources, item) for item in first if item.fix and item.fix.level >= level}
    for later, found in rounds[1:-1]:
        for item in found:
            if item.fix and item.fix.level >= level and _place(later, item) in shown:
                yield f"{item.code}: shown as display first, applied as {item.fix.level} in a later pass"


def _place(sources: Mapping[str, Source], finding: Finding) -> tuple[str, str, str]:
    source = sources[finding.path]
    row, _ = source.lines.position(finding.start)
    return finding.path, finding.code, source.lines.line(row).strip()
