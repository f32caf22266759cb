"""What the renderers are handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perflint.findings import Finding, Level
from perflint.output.colour import Palette
from perflint.source import LineTable, Source


@dataclass(frozen=True)
class Report:
    """Findings with the sources they point into.

    ``applicable`` is the lowest level that ``--fix`` would apply under the options of this run.
    """

    findings: Sequence[Finding]
    sources: Mapping[str, Source]
    applicable: Level = Level.SAFE
    palette: Palette = field(default_factory=Palette)

    def lines(self, path: str) -> LineTable:
        """The line table of a file; an empty one if the file could not be read."""
        source = self.sources.get(path)
        return source.lines if source else LineTable("")

    def would_fix(self, finding: Finding) -> bool:
        """Whether ``--fix`` would apply the fix of this finding."""
        return finding.fix is not None and finding.fix.level >= self.applicable
