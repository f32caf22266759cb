"""A report: the findings of a run, with everything that the output formats show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level, by_place
from perflint.output.rule_facts import message
from perflint.text.source import LineTable, Source
from perflint.text.visible import Palette, visible

if TYPE_CHECKING:
    from perflint.output.places import Places
    from perflint.ranking.ranked import Ranking


@dataclass(frozen=True)
class Report:
    """Findings with the sources they point into.

    ``applicable`` is the lowest level that ``--fix`` would apply under the options of this run; ``start`` is the
    deepest directory above all paths to check. ``is_complete``: all of them were checked. ``ranking``: what profiles
    say about the findings, which are then in its order (None: no profile was given). ``width``: width of the terminal
    that shows the report (None: a file or a pipe, for which no line is wrapped).
    """

    findings: Sequence[Finding]
    sources: Mapping[str, Source]
    applicable: Level = Level.SAFE
    palette: Palette = field(default_factory=Palette)
    settings: Settings = field(default_factory=Settings)
    start: Path = field(default_factory=Path)
    is_complete: bool = True
    ranking: Ranking | None = None
    width: int | None = None

    @cached_property
    def places(self) -> Places:
        """The paths of files for programs that know the repository."""
        from perflint.output.places import Places, repository  # reports for people do not need it

        return Places(repository(self.start, self.settings.root))

    def lines(self, path: str) -> LineTable:
        """The line table of a file; an empty one if the file could not be read."""
        source = self.sources.get(path)
        return source.lines if source else LineTable("")

    def gain(self, finding: Finding) -> str:
        """What a finding can save by the profile, such as ``3.3 % of the step (exact): at most 1.03x``; or ""."""
        return visible(self.ranking.of(finding).text) if self.ranking is not None else ""

    def message(self, finding: Finding) -> str:
        """The message of a finding and what it can save, for formats without a separate field for that."""
        gain = self.gain(finding)
        return f"{message(finding)} Profile: {gain}." if gain else message(finding)

    def fingerprints(self) -> list[str]:
        """The fingerprint of each finding, independent of the order of the findings."""
        from perflint.suppress.baseline import fingerprints  # reports for people do not need it

        placed = by_place(self.findings) if self.ranking is not None else self.findings
        prints = fingerprints(placed, self.sources, self.places.root)
        by_finding = {id(finding): each for finding, each in zip(placed, prints, strict=True)}
        return [by_finding[id(finding)] for finding in self.findings]

    def would_fix(self, finding: Finding) -> bool:
        """Whether ``--fix`` would apply the fix of this finding."""
        return finding.fix is not None and finding.fix.level >= self.applicable
