"""Matches findings with a profile: by their line, by the layer or range around it, or by the phase of their rule."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from perflint.catalogue import Rule
from perflint.findings import Finding
from perflint.ranking.bounds import Bound, Grade
from perflint.ranking.named_blocks import LAYER, Block, blocks
from perflint.ranking.shares import AT_LINE, AT_PLACE, LineShare, Profiled
from perflint.text.source import Source

_NOTHING_LEFT = 0.0005
"""The largest share that may only be lost by rounding."""


class Matcher:
    """Matches one profile with the files of a run.

    Args:
        profile: the profile.
        sources: the files, by the paths that findings have.
        rules: the rules by code.
    """

    def __init__(self, profile: Profiled, sources: Mapping[str, Source], rules: Mapping[str, Rule]) -> None:
        self._profile = profile
        self._sources = sources
        self._rules = rules
        self._blocks: dict[str, list[Block]] = {}
        self.stale: set[str] = set()
        """The files with findings whose text differs from the profiled one."""

    def bounds(self, findings: Iterable[Finding]) -> list[Bound]:
        """What each finding can save by this profile."""
        findings = list(findings)
        lines = [self._lines(finding) for finding in findings]
        claimed = {line for found in lines for line in found}
        return [
            self._exact(finding, found) if found else self._around(finding, claimed)
            for finding, found in zip(findings, lines, strict=True)
        ]

    def _lines(self, finding: Finding) -> list[LineShare]:
        """The events of the profile at the rows of a finding, if its file is the same as when it was profiled."""
        known = self._known.get(finding.path)
        phases = self._phases(finding) & AT_LINE
        if known is None or not phases:
            return []
        if not self._is_fresh(finding.path, known):
            self.stale.add(finding.path)
            return []
        rows = _rows(finding, self._sources[finding.path])
        return [line for line in self._by_path.get(known, ()) if line.row in rows and {line.kind, line.phase} & phases]

    def _exact(self, finding: Finding, lines: Sequence[LineShare]) -> Bound:
        named = list(dict.fromkeys(f"{line.what or line.kind} in line {line.row}" for line in lines))
        key = finding.path, frozenset(lines)
        share = min(sum(line.share for line in lines), 1.0)
        more = self._rules[finding.code].beyond_line
        return Bound(Grade.EXACT, share, " and ".join(named), key, self._profile.name, more)

    def _around(self, finding: Finding, claimed: set[LineShare]) -> Bound:
        """The tightest bound from the layer, the range and the phase of a finding."""
        rule = self._rules.get(finding.code)
        if rule is None or not rule.phase:
            return Bound()
        name, more = self._profile.name, rule.beyond_line
        found = [
            Bound(Grade.CLASS, share, f"{block.kind} {block.name}", (name, block.kind, block.name), name, more)
            for block, share in self._shares_around(finding, rule)
        ]
        left = self._left_of_phase(rule, claimed)
        if left is not None:
            share, phases = left
            by = f"phase {' and '.join(phases)}"
            found.append(Bound(Grade.PHASE, share, by, (name, by), name, more or rule.beyond_phase))
        return min(found, key=lambda bound: (bound.share, -bound.grade), default=Bound())

    def _shares_around(self, finding: Finding, rule: Rule) -> list[tuple[Block, float]]:
        profile, source = self._profile, self._sources.get(finding.path)
        if source is None or not AT_PLACE.issuperset(rule.phase) or not (profile.classes or profile.names):
            return []
        if finding.path not in self._blocks:
            self._blocks[finding.path] = blocks(source)
        row = source.lines.position(finding.start)[0]
        around = [block for block in self._blocks[finding.path] if block.first <= row <= block.last]
        known = {block: (profile.classes if block.kind == LAYER else profile.names).get(block.name) for block in around}
        return [(block, share) for block, share in known.items() if share is not None]

    def _left_of_phase(self, rule: Rule, claimed: set[LineShare]) -> tuple[float, tuple[str, ...]] | None:
        """The share of a rule's phases without the lines of other findings, and the names of the phases."""
        found = self._profile.share_of(rule.phase)
        if found is None or not AT_PLACE.issuperset(rule.phase):
            return found
        share, phases = found
        others = sum(line.share for line in claimed if {line.kind, line.phase} & {*phases})
        if not others:
            return found
        return (share - others, phases) if share - others > _NOTHING_LEFT else None

    def _phases(self, finding: Finding) -> set[str]:
        rule = self._rules.get(finding.code)
        return {*rule.phase} if rule is not None else set()

    @cached_property
    def _by_path(self) -> dict[str, list[LineShare]]:
        found: dict[str, list[LineShare]] = {}
        for line in self._profile.lines:
            found.setdefault(line.path, []).append(line)
        return found

    @cached_property
    def _known(self) -> dict[str, str]:
        """The paths of files in the profile, by those of the run: relative to the directory that fits most of them."""
        by_name: dict[str, list[str]] = {}
        for path in {*self._profile.files, *self._by_path}:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        found: dict[str, dict[str, str]] = {}
        for path in self._sources if by_name else ():
            whole = Path(path).absolute().as_posix()
            for known in by_name.get(whole.rpartition("/")[2], ()):
                if whole.endswith(f"/{known}"):
                    found.setdefault(whole.removesuffix(known), {})[path] = known
        return max(found.values(), key=self._fits, default={})

    def _fits(self, paths: Mapping[str, str]) -> tuple[int, int]:
        counts = Counter(self._is_fresh(path, known) for path, known in paths.items())
        return counts[True], counts[False]

    def _is_fresh(self, path: str, known: str) -> bool:
        return self._profile.files.get(known) == _sum(self._sources[path])


def _rows(finding: Finding, source: Source) -> set[int]:
    """The rows of a finding: those of its expressions, and of its statement if that is a simple one."""
    spans = [*(finding.places or [(finding.start, finding.end)]), *([finding.statement] if finding.statement else [])]
    rows: set[int] = set()
    for start, end in spans:
        first, last = source.lines.position(start)[0], source.lines.position(max(start, end - 1))[0]
        rows.update(range(first, last + 1))
    return rows


def _sum(source: Source) -> str:
    try:
        return hashlib.sha256(source.encode(source.text)).hexdigest()
    except UnicodeEncodeError:
        return ""
