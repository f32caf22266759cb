"""Which files of a run are reported, and under which name: the others are read only to understand them.

The analysis needs paths relative to the context, because they determine what imports what; a user may name a file
through a link or by its absolute path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from perflint.findings import Finding
from perflint.fix.fixer import FixOutcome, Made
from perflint.text.source import Source


@dataclass(frozen=True)
class Naming:
    """Maps the paths of the files, as the analysis knows them, to the names that the user gave.

    ``hidden`` are files that the user did not name; ``names`` are those that the user named differently.
    """

    hidden: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)

    def reports_any(self, paths: Collection[str]) -> bool:
        """Whether one of these files, by its path in the analysis, is reported."""
        return not self.hidden or any(path not in self.hidden for path in paths)

    def reported(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are reported; with the paths of the analysis."""
        return [finding for finding in findings if finding.path not in self.hidden]

    def others(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings in files that were read but are not reported; with the paths of the analysis."""
        return [finding for finding in findings if finding.path in self.hidden]

    def findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are reported, under the names that the user gave."""
        found = self.reported(findings)
        return [self._renamed(finding) for finding in found] if self.names else found

    def sources(self, sources: Mapping[str, Source]) -> dict[str, Source]:
        """The files that are reported, under the names that the user gave."""
        named = {self._name(path): source for path, source in sources.items() if path not in self.hidden}
        return {name: source if source.path == name else replace(source, path=name) for name, source in named.items()}

    def outcome(self, outcome: FixOutcome) -> FixOutcome:
        """The outcome of fixing, under the names that the user gave."""
        if not self.names:
            return outcome
        return replace(
            outcome,
            first=tuple(self.findings(outcome.first)),
            changed=self.sources(outcome.changed),
            remaining=tuple(self.findings(outcome.remaining)),
            fixed={(self._name(path), code): count for (path, code), count in outcome.fixed.items()},
            applied=tuple(tuple(self._made(each)) for each in outcome.applied),
            rejected=tuple(replace(item, path=self._name(item.path)) for item in outcome.rejected),
        )

    def _made(self, made: Iterable[Made]) -> Iterator[Made]:
        return (replace(each, finding=self._renamed(each.finding)) for each in made)

    def _name(self, path: str) -> str:
        return self.names.get(path, path)

    def _renamed(self, finding: Finding) -> Finding:
        related = tuple(replace(place, path=self._name(place.path)) for place in finding.related)
        return replace(finding, path=self._name(finding.path), related=related)
