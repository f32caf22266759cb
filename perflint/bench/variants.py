"""The states of a project that are measured: unchanged, with each fix (or those of each rule), and with all fixes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from perflint import catalogue
from perflint.bench.results import ALL_FIXES, ALL_SHOWN
from perflint.catalogue import FILE_CODES
from perflint.findings import Finding, Fix, Level
from perflint.fix.fixer import Check, apply, fix_all
from perflint.text.source import Source


@dataclass(frozen=True)
class VariantFiles:
    """A variant to be run.

    ``changed`` has the content of its changed files by path relative to the project, ``removed`` the files that it does
    not have. ``fixes`` and ``event`` are as in `results.Variant`.
    """

    name: str
    codes: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    changed: Mapping[Path, bytes] = field(default_factory=dict)
    removed: Collection[Path] = ()
    fixes: list[str] = field(default_factory=list)
    event: str = ""


@dataclass(frozen=True)
class Fixes:
    """What can be fixed in the files that a script runs.

    ``files`` are relative to ``root``, the project; fixes in other files are not applied, since the script does not run
    them. ``level`` is the lowest level of fixes that are applied; those below it are suggestions.
    """

    sources: Mapping[str, Source]
    root: Path
    files: Collection[Path]
    check: Check
    level: Level

    def found(self) -> list[Finding]:
        """All findings in the files that the script runs, fixable or not, in order."""
        return [item for item in self._everywhere if self.place(item.path) in self.files]

    def findings(self) -> list[Finding]:
        """The findings whose fixes are applied, in order."""
        return [item for item in self.found() if self._is_made(item)]

    def suggested(self) -> list[Finding]:
        """The findings with an edit that is only shown, or that needs ``--unsafe-fixes``, in order."""
        return [item for item in self.found() if has_edit(item) and not self._is_made(item)]

    def elsewhere(self) -> int:
        """How many findings could be fixed in files that the script does not run."""
        return sum(self._is_made(item) and self.place(item.path) not in self.files for item in self._everywhere)

    def together(self, findings: Sequence[Finding], level: Level | None = None) -> VariantFiles:
        """All fixes, applied like ``perflint check --fix`` does: including those that others make possible.

        Args:
            findings: the findings that are fixed, for the names.
            level: the lowest level of fixes to apply (default: the usual one); a lower one applies suggestions as well.
        """
        outcome = fix_all(self.sources, self._checked, self.level if level is None else level)
        changed = {self.place(path): source.encode(source.text) for path, source in outcome.changed.items()}
        name = ALL_FIXES if level is None else ALL_SHOWN
        return self._variant(name, findings, changed)

    def of_one_fix(self, findings: Sequence[Finding]) -> list[list[Finding]]:
        """The findings grouped by fix, which several findings in one loop may share."""
        sharing: dict[tuple[str, str, Fix | None], list[Finding]] = {}
        for item in findings:
            sharing.setdefault((item.code, item.path, item.fix), []).append(item)
        return list(sharing.values())

    def each(self, findings: Sequence[Finding]) -> list[VariantFiles]:
        """A variant for each fix."""
        return [self.alone(self._name(group), group) for group in self.of_one_fix(findings)]

    def by_rule(self, findings: Sequence[Finding]) -> list[VariantFiles]:
        """A variant for each rule, with the fixes of all its findings; its suggestions get a separate variant."""
        groups: dict[str, list[Finding]] = {}
        for item in sorted(findings, key=lambda item: item.code):
            groups.setdefault(f"{item.code}{self._remark(item)}", []).append(item)
        return [self.alone(name, group) for name, group in groups.items()]

    def alone(self, name: str, findings: Sequence[Finding]) -> VariantFiles:
        """A variant with only the fixes of these findings; a fix that conflicts with another is left out."""
        changed: dict[Path, bytes] = {}
        left: list[Finding] = []
        for path in dict.fromkeys(item.path for item in findings):
            there = [item for item in findings if item.path == path]
            source = self.sources[path]
            made = apply(source.text, [item.fix for item in there if item.fix is not None])
            changed[self.place(path)] = source.encode(made.text)
            left += [item for item in there if item.fix not in made.skipped]
        return self._variant(name, left, changed)

    def places(self, findings: Sequence[Finding]) -> list[str]:
        """``path:row`` of each expression of some findings, without duplicates."""
        starts = ((item.path, start) for item in findings for start in item.starts)
        rows = dict.fromkeys((path, self.sources[path].lines.position(start)[0]) for path, start in starts)
        return [f"{self.place(path).as_posix()}:{row}" for path, row in rows]

    def place(self, path: str) -> Path:
        """A path relative to the project."""
        return Path(path).resolve().relative_to(self.root)

    @cached_property
    def _everywhere(self) -> list[Finding]:
        return [item for item in self.check(self.sources) if item.code not in FILE_CODES]

    def _checked(self, current: Mapping[str, Source]) -> list[Finding]:
        return [item for item in self.check(current) if self.place(item.path) in self.files]

    def _is_made(self, item: Finding) -> bool:
        return has_edit(item) and item.fix is not None and item.fix.level >= self.level

    def _variant(self, name: str, findings: Sequence[Finding], changed: Mapping[Path, bytes]) -> VariantFiles:
        return VariantFiles(
            name,
            sorted({item.code for item in findings}),
            self.places(findings),
            changed,
            fixes=[self._name(group) for group in self.of_one_fix(findings)],
            event=_event(findings[0]) if len(findings) == 1 else "",
        )

    def _name(self, group: Sequence[Finding]) -> str:
        return f"{group[0].code} {', '.join(self.places(group))}{self._remark(group[0])}"

    def _remark(self, item: Finding) -> str:
        """What is unusual about applying the fix of a finding, to be put after its name."""
        return "" if item.fix is None or self._is_made(item) else f" ({item.fix.level})"


def has_edit(item: Finding) -> bool:
    """Whether perflint has an edit for a finding, to apply or to show."""
    return item.fix is not None and bool(item.fix.edits)


def _event(item: Finding) -> str:
    """What a finding causes exactly once per step, such as ``a wait for the device``; otherwise empty."""
    event = catalogue.shipped()[item.code].event
    is_one = event is not None and item.impact is not None and item.impact.reason == f"{event.what} at each step"
    return event.what if event is not None and is_one else ""
