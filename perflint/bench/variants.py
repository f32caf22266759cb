"""The states of a project that are measured: unchanged, with fixes (each, those of a rule, or all), or at a revision.

A revision is a copy of the working tree in which the files tracked by git are as they were then. Untracked files, such
as data and ignored configurations, are in both as they are now: without them most scripts do not run. The user's own
tree stays unchanged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath

from perflint import catalogue
from perflint.bench.results import ALL_FIXES, ALL_SHOWN
from perflint.catalogue import FILE_CODES
from perflint.findings import Finding, Level
from perflint.fix.fixer import Check, apply, fix_all
from perflint.inputs import git
from perflint.query import gathered
from perflint.text.source import Source
from perflint.text.visible import listed

_WRITTEN = re.compile(r"(?P<code>[A-Za-z]+[0-9]+)(?:[: ](?P<path>.+))?[: ](?P<row>[0-9]+)")
_NEAR = 3
"""How many nearby findings are named instead of one that does not exist."""
NOW = "working tree"
"""The name of the current files, committed or not."""
_FILE = "100"
"""How the mode of a regular file begins; links and submodules have other modes."""
_ABSENT = "0" * 6
_STORED_ELSEWHERE = b"version https://git-lfs."
"""How the text begins that Git LFS commits instead of a large file."""
_SHORT = 9
"""The number of characters of a commit's name to show."""


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
class FixGroup:
    """Findings that are fixed together, of one fix or of one rule, with their name in reports."""

    name: str
    findings: list[Finding]


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

    def of_one_fix(self, findings: Sequence[Finding]) -> list[FixGroup]:
        """The findings grouped by fix, which several findings in one loop may share."""
        sharing = gathered(((item.code, item.path, item.fix), item) for item in findings)
        return [FixGroup(self._name(group), group) for group in sharing.values()]

    def of_one_rule(self, findings: Sequence[Finding]) -> list[FixGroup]:
        """The findings grouped by rule; its suggestions are a separate group."""
        in_order = sorted(findings, key=lambda item: item.code)
        groups = gathered((f"{item.code}{self._remark(item)}", item) for item in in_order)
        return [FixGroup(name, group) for name, group in groups.items()]

    def each(self, groups: Sequence[FixGroup]) -> list[VariantFiles]:
        """A variant for each group."""
        return [self.alone(group.name, group.findings) for group in groups]

    def alone(self, name: str, findings: Sequence[Finding]) -> VariantFiles:
        """A variant with only the fixes of these findings; a fix that conflicts with another is left out."""
        changed, left = self.made(findings)
        return self._variant(name, left, changed)

    def made(self, findings: Sequence[Finding]) -> tuple[dict[Path, bytes], list[Finding]]:
        """The content of the files that fixes change, and the findings whose fixes do not conflict with others."""
        changed: dict[Path, bytes] = {}
        left: list[Finding] = []
        for path in dict.fromkeys(item.path for item in findings):
            there = [item for item in findings if item.path == path]
            source = self.sources[path]
            made = apply(source.text, [item.fix for item in there if item.fix is not None])
            changed[self.place(path)] = source.encode(made.text)
            left += [item for item in there if item.fix not in made.skipped]
        return changed, left

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
            fixes=[group.name for group in self.of_one_fix(findings)],
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


class NotPicked(Exception):
    """A text means no finding that can be measured, or several; ``str(error)`` says which findings there are."""


@dataclass(frozen=True)
class _Place:
    """One expression of a finding."""

    finding: Finding
    path: Path
    row: int

    def __str__(self) -> str:
        return f"{self.finding.code}:{self.path.as_posix()}:{self.row}"


def picked(fixes: Fixes, wanted: Sequence[str]) -> list[Finding]:
    """The findings that texts mean, plus those that share their fixes, without duplicates.

    Args:
        fixes: the fixes to search.
        wanted: ``CODE:PATH:ROW`` or ``CODE:ROW``, or with a space after the code, as in reports.

    Raises:
        NotPicked: a text means none or several, or one without an edit.
    """
    found = fixes.found()
    places = list(_places(fixes, found))
    chosen = [_one(places, text) for text in wanted]
    groups = [group.findings for group in fixes.of_one_fix(found)]
    return [item for group in groups if any(item in chosen for item in group) for item in group]


def _places(fixes: Fixes, findings: Sequence[Finding]) -> Iterator[_Place]:
    for item in findings:
        for place in fixes.places([item]):
            path, _, row = place.rpartition(":")
            yield _Place(item, Path(path), int(row))


def _one(places: Sequence[_Place], text: str) -> Finding:
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise NotPicked(
            f"--fix {text}: write the rule, the file and the line, as in --fix PPF201:train.py:70 "
            "(or PPF201:70, if only one file has it)"
        )
    code, path, row = written["code"].upper(), written["path"], int(written["row"])
    there = [each for each in places if each.finding.code == code and each.row == row and _is(each.path, path)]
    if not there:
        raise NotPicked(
            f"--fix {text}: there is no finding there in the files that the script runs{_near(places, code, path, row)}"
        )
    files = dict.fromkeys(each.path for each in there)
    if len(files) > 1:
        raise NotPicked(f"--fix {text} means several: {listed([*map(str, there)], _NEAR)}; name the file too")
    with_edit = [each for each in there if has_edit(each.finding)]
    if not with_edit:
        raise NotPicked(f"--fix {text}: perflint has no edit for this finding, so there is nothing to measure")
    return with_edit[0].finding


def _is(path: Path, written: str | None) -> bool:
    """Whether a file of the project is meant; the end of its path, or a path from the current directory, is enough."""
    if written is None:
        return True
    meant = [part for part in PurePath(written).parts if part != "."]
    mine = [*path.parts]
    if PurePath(written).is_absolute():
        return meant[-len(mine) :] == mine
    return mine[-len(meant) :] == meant


def _near(places: Sequence[_Place], code: str, path: str | None, row: int) -> str:
    def distance(place: _Place) -> tuple[bool, bool, int]:
        return not _is(place.path, path), place.finding.code != code, abs(place.row - row)

    names = dict.fromkeys(str(place) for place in sorted(places, key=distance))
    return f"; near it: {', '.join([*names][:_NEAR])}" if names else ""


@dataclass
class Revisions:
    """The states of a project at two revisions.

    ``differing`` are the files that differ between them, ``left_alone`` those for which git has no content (links,
    submodules, files in Git LFS): both variants have them as they are now.
    """

    before: VariantFiles
    after: VariantFiles
    differing: list[Path]
    left_alone: list[str]


def revisions(root: Path, wanted: str) -> Revisions:
    """The states for ``REV`` (against the working tree) or ``A..B`` (commit against commit).

    Args:
        root: the top of the repository.
        wanted: a revision, or two with ``..`` between them, where a missing one means HEAD; ``A...`` is the commit
            where the checked-out branch left ``A``.

    Raises:
        git.GitError: there is no such revision, or git cannot list the differences.
    """
    git.top_of(root)  # git reports it in words if there is no repository
    first, second = _split(wanted)
    older, left = _then(root, first)
    newer, more = (VariantFiles(NOW), []) if second is None else _then(root, second)
    touched = {*older.changed, *older.removed, *newer.changed, *newer.removed}
    differing = sorted(path for path in touched if _content(older, path) != _content(newer, path))
    return Revisions(older, newer, differing, sorted({*left, *more}))


def _content(files: VariantFiles, path: Path) -> bytes | bool | None:
    """The content of a file; False if it does not exist then, None if it is that of the working tree."""
    return False if path in files.removed else files.changed.get(path)


def _split(wanted: str) -> tuple[str, str | None]:
    first, dots, second = wanted.partition("..")
    if not dots or second.startswith("."):  # ``A...`` is one revision
        return wanted, None
    return first or "HEAD", second or "HEAD"


def _then(root: Path, revision: str) -> tuple[VariantFiles, list[str]]:
    """A revision, and the files that are left alone in it."""
    commit = git.commit_of(root, revision)
    changed: dict[Path, bytes] = {}
    removed: set[Path] = set()
    left_alone: list[str] = []
    # mode and object at the commit, and path, of each file that differs from the working tree
    said = git.diff(root, "--raw", "-z", "--no-renames", "--no-abbrev", commit, "--").split(b"\0")
    for what, name in zip(said[::2], said[1::2], strict=False):
        path = Path(os.fsdecode(name))
        mode, _, blob, *_ = os.fsdecode(what).removeprefix(":").split(" ")
        if mode == _ABSENT:
            removed.add(path)
            continue
        data = git.ask(root, "cat-file", "blob", blob) if mode.startswith(_FILE) else _STORED_ELSEWHERE
        if data.startswith(_STORED_ELSEWHERE):
            left_alone.append(path.as_posix())
        elif not _is_now(root / path, data):
            changed[path] = data
    return VariantFiles(f"{revision} ({commit[:_SHORT]})", changed=changed, removed=removed), left_alone


def _is_now(path: Path, data: bytes) -> bool:
    """Whether a file already has this content, so that git has only reported another mode."""
    try:
        return not path.is_symlink() and path.read_bytes() == data
    except OSError:
        return False
