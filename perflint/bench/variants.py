"""The states of a project that are measured: with all fixes, and with each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflint.bench.results import ALL_FIXES, BEFORE
from perflint.findings import Finding, Level
from perflint.fixer import Check, apply, fix_all
from perflint.source import Source


@dataclass(frozen=True)
class State:
    """A variant before it is run; ``changed`` has the content of its changed files by path seen from the project."""

    name: str
    codes: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    changed: Mapping[Path, bytes] = field(default_factory=dict)


def states(sources: Mapping[str, Source], root: Path, check: Check, level: Level, each: bool) -> list[State]:
    """``before``, each fix alone (if asked for, and there are several), and all fixes; none where no fix applies.

    Args:
        sources: the files by path.
        root: the project.
        check: what finds.
        level: the least level of the fixes that are made.
        each: whether to measure each fix by itself too.
    """
    outcome = fix_all(sources, check, level)
    if not outcome.changed:
        return []
    fixable = [item for item in outcome.first if item.fix and item.fix.edits and item.fix.level >= level]
    changed = {_place(path, root): source.encode(source.text) for path, source in outcome.changed.items()}
    whole = State(ALL_FIXES, sorted({item.code for item in fixable}), _places(fixable, sources, root), changed)
    alone = [_alone(item, sources, root) for item in fixable] if each and len(fixable) > 1 else []
    return [State(BEFORE), *alone, whole]


def _alone(finding: Finding, sources: Mapping[str, Source], root: Path) -> State:
    source = sources[finding.path]
    assert finding.fix is not None
    places = _places([finding], sources, root)
    text = apply(source.text, [finding.fix]).text
    return State(
        f"{finding.code} {places[0]}", [finding.code], places, {_place(finding.path, root): source.encode(text)}
    )


def _places(findings: Sequence[Finding], sources: Mapping[str, Source], root: Path) -> list[str]:
    rows = [(_place(item.path, root), sources[item.path].lines.position(item.start)[0]) for item in findings]
    return [f"{place.as_posix()}:{row}" for place, row in rows]


def _place(path: str, root: Path) -> Path:
    return Path(path).resolve().relative_to(root)
