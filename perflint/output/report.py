"""A report: the findings of a run, with all that the output formats show of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.text.colour import Palette
from perflint.text.source import LineTable, Source

if TYPE_CHECKING:
    from perflint.output.places import Places


@dataclass(frozen=True)
class Report:
    """Findings with the sources they point into.

    ``applicable`` is the lowest level that ``--fix`` would apply under the options of this run; ``start`` is the
    deepest directory above all that was to be checked.  ``is_complete``: all of them were.
    """

    findings: Sequence[Finding]
    sources: Mapping[str, Source]
    applicable: Level = Level.SAFE
    palette: Palette = field(default_factory=Palette)
    settings: Settings = field(default_factory=Settings)
    start: Path = field(default_factory=Path)
    is_complete: bool = True

    @cached_property
    def places(self) -> Places:
        """How files are named to programs that know the repository."""
        from perflint.output.places import Places, repository  # which reports for people do without

        return Places(repository(self.start, self.settings.root))

    def lines(self, path: str) -> LineTable:
        """The line table of a file; an empty one if the file could not be read."""
        source = self.sources.get(path)
        return source.lines if source else LineTable("")

    def would_fix(self, finding: Finding) -> bool:
        """Whether ``--fix`` would apply the fix of this finding."""
        return finding.fix is not None and finding.fix.level >= self.applicable
