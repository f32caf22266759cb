"""The states of a project that are measured: as it is, with each fix (or those of each rule), and with all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflint.bench.results import ALL_FIXES
from perflint.findings import Finding, Fix, Level
from perflint.fix.fixer import Check, apply, fix_all
from perflint.text.source import Source


@dataclass(frozen=True)
class VariantFiles:
    """A variant before it is run; ``changed`` has the content of its changed files by path seen from the project."""

    name: str
    codes: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    changed: Mapping[Path, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Fixes:
    """What can be fixed in the files that a script runs.

    ``files`` are seen from ``root``, the project; fixes in other files are not made, since the script would not meet
    them.  ``level`` is the least level of the fixes that are made.
    """

    sources: Mapping[str, Source]
    root: Path
    files: Collection[Path]
    check: Check
    level: Level

    def findings(self) -> list[Finding]:
        """The findings whose fixes are made, in order."""
        return [item for item in self._checked(self.sources) if self._is_made(item)]

    def elsewhere(self) -> int:
        """How many findings could be fixed in files that the script does not run."""
        found = self.check(self.sources)
        return sum(self._is_made(item) and self._place(item.path) not in self.files for item in found)

    def together(self, findings: Sequence[Finding]) -> VariantFiles:
        """All fixes, made as ``perflint check --fix`` makes them: with those that become possible by others."""
        outcome = fix_all(self.sources, self._checked, self.level)
        changed = {self._place(path): source.encode(source.text) for path, source in outcome.changed.items()}
        return VariantFiles(ALL_FIXES, sorted({item.code for item in findings}), self._places(findings), changed)

    def of_one_fix(self, findings: Sequence[Finding]) -> list[list[Finding]]:
        """The findings by their fix, which several of one loop may share."""
        sharing: dict[tuple[str, str, Fix | None], list[Finding]] = {}
        for item in findings:
            sharing.setdefault((item.code, item.path, item.fix), []).append(item)
        return list(sharing.values())

    def each(self, findings: Sequence[Finding]) -> list[VariantFiles]:
        """A state for each fix."""
        groups = self.of_one_fix(findings)
        return [self._state(f"{group[0].code} {', '.join(self._places(group))}", group) for group in groups]

    def by_rule(self, findings: Sequence[Finding]) -> list[VariantFiles]:
        """A state for each rule, with the fixes of all its findings."""
        codes = sorted({item.code for item in findings})
        return [self._state(code, [item for item in findings if item.code == code]) for code in codes]

    def _checked(self, current: Mapping[str, Source]) -> list[Finding]:
        return [item for item in self.check(current) if self._place(item.path) in self.files]

    def _is_made(self, item: Finding) -> bool:
        return item.fix is not None and bool(item.fix.edits) and item.fix.level >= self.level

    def _state(self, name: str, findings: Sequence[Finding]) -> VariantFiles:
        changed = {}
        for path in dict.fromkeys(item.path for item in findings):
            fixes = [item.fix for item in findings if item.path == path and item.fix is not None]
            source = self.sources[path]
            changed[self._place(path)] = source.encode(apply(source.text, fixes).text)
        return VariantFiles(name, sorted({item.code for item in findings}), self._places(findings), changed)

    def _places(self, findings: Sequence[Finding]) -> list[str]:
        starts = ((item.path, start) for item in findings for start in item.starts)
        rows = dict.fromkeys((path, self.sources[path].lines.position(start)[0]) for path, start in starts)
        return [f"{self._place(path).as_posix()}:{row}" for path, row in rows]

    def _place(self, path: str) -> Path:
        return Path(path).resolve().relative_to(self.root)
