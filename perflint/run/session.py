"""Keeps findings up to date in a long-running process: after an edit, only what it may have changed is checked again.

The index is kept. Each answer in it knows which parts of an edited file it depends on (``incremental/revisions``), and
so does the check of each file, which is an answer like any other. After an edit the steps are followed again, and only
the functions that have changed are examined again.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from perflint import catalogue
from perflint.configuration.settings import Settings, selected, with_waits
from perflint.findings import Finding, by_path, by_place
from perflint.flow.evaluate import Env
from perflint.incremental.kept_project import KeptProject
from perflint.incremental.revisions import Part, RevisedMemory
from perflint.index.project import FileIndex
from perflint.inputs.projects import split
from perflint.lint.context import Draft
from perflint.query import query
from perflint.rules import load_checks
from perflint.run import engine
from perflint.run.engine import Around, Examination
from perflint.suppress import noqa
from perflint.syntax.scopes import Loop, Scope
from perflint.text.source import Source
from perflint.trace import hot_path
from perflint.training.steps import Read, Step, points_of, reads_of, steps_part


class Session:
    """The findings of a set of files, kept up to date while files are edited.

    Args:
        sources: the files by path, as for ``engine.check``; checked at once.
        settings: which rules, and what the user has declared.
        edited: the paths of files that are expected to be edited. The first edit of any other file takes about as long
            as a full check, and so does the first ``catch_up`` after it.
    """

    def __init__(self, sources: Mapping[str, Source], settings: Settings, edited: Collection[str] = ()) -> None:
        load_checks()
        self.settings = settings
        self.codes = selected(settings, catalogue.shipped())
        self._sources = dict(sources)
        self._kept: list[_Kept] = []
        self._check_all(frozenset(edited))

    def findings(self) -> list[Finding]:
        """All findings, sorted by path and place: for each file, as of its last edit or check.

        After ``catch_up`` they are the same as those of ``engine.check``.
        """
        return by_place(finding for kept in self._kept for found in kept.found.values() for finding in found)

    def edit(self, path: str, text: str) -> list[Finding]:
        """The findings of one file with another text, as from ``engine.check`` of all files, with these exceptions:

        A message counts the other host reads of its loop. Those in other files are counted as last found. The split
        into projects is not updated either. ``catch_up`` updates both, and the other files.

        Args:
            path: one of the files; any other path is new, and leads to a full check.
            text: the whole text, without a byte order mark.
        """
        before = self._sources.get(path)
        self._sources[path] = Source(path, text) if before is None else replace(before, text=text)
        if before is None:
            return [finding for finding in self.settle() if finding.path == path]
        with engine.undisturbed():
            owner = next(kept for kept in self._kept if path in kept.sources)
            return owner.edit(self._sources[path])

    @property
    def unparsed(self) -> list[str]:
        """The edited files that do not parse: the index still has their previous text."""
        return [path for kept in self._kept for path in kept.unparsed]

    def catch_up(self) -> list[str]:
        """Check the files again whose findings may have changed by the edits so far; then see ``findings``.

        Everything is checked again if these are unknown: after the first edit of a file (unless the edit was expected),
        as long as an edited file does not parse, and if an edit, or a new README next to the files, changes the split
        into projects.

        Returns:
            The paths of the files that were checked again, without the edited ones, in the order of the files.
        """
        projects = [list(project) for project in split(self._sources).projects]
        if projects != [list(kept.sources) for kept in self._kept]:
            self._check_all()
            return list(self._sources)
        with engine.undisturbed():
            return [path for kept in self._kept for path in kept.catch_up()]

    def update(self, sources: Mapping[str, Source], edited: Collection[str] = ()) -> None:
        """Check everything again with other files, after several of them were changed, added or removed at once.

        What the index knows about the text of a single file is kept if the text is the same.

        Args:
            sources: all files by path, instead of the previous ones.
            edited: the paths of files that are expected to be edited, besides those that were.
        """
        self._sources = dict(sources)
        self._check_all(frozenset(edited))

    def settle(self) -> list[Finding]:
        """All findings, from a full check that reuses nothing except for the trees of the files."""
        self._check_all()
        return self.findings()

    def _check_all(self, edited: frozenset[str] = frozenset()) -> None:
        """Index all files again, except for the trees of files with the same text."""
        before = {path: kept for kept in self._kept for path in kept.sources}
        with engine.undisturbed():
            self._kept = []
            for sources in split(self._sources).projects:
                earlier = next((before[path].project for path in sources if path in before), None)
                self._kept.append(_Kept(sources, self, earlier, edited))


_Steps = tuple[dict[ast.stmt, tuple[Scope, Step | None, Loop | None, Env]], dict[int, Read]]
"""The facts about the steps in a file."""


class _Kept:
    """One kept project: its index with the code that its steps reach, and the drafts and findings of each file.

    ``before``: an earlier index, whose files with the same source are not parsed again. ``edited``: the paths of files
    that are expected to be edited, besides those of ``before``.
    """

    def __init__(
        self, sources: dict[str, Source], session: Session, before: KeptProject | None, edited: frozenset[str]
    ) -> None:
        self._around: Around = {}
        self.sources = sources
        self.found: dict[str, list[Finding]] = {}
        self._settings = session.settings
        self._codes = session.codes
        self._drafts: dict[str, list[Draft]] = {}
        self._broken: dict[str, Exception] = {}
        self.unparsed: dict[str, str] = {}
        """The texts that are not in the index, because they do not parse."""
        self._is_behind = False
        self._checked: list[str] = []
        """The files checked since ``_rest``, though they may be checked again after more edits."""
        watched = edited | before.paths if before is not None else edited
        self._open(watched & sources.keys(), before)
        self._check_files(self.project.files.values())
        self._write()
        self._rest()

    @property
    def memory(self) -> RevisedMemory:
        """The memory of the index, which has the drafts of each file as well."""
        return self.project.memory

    def edit(self, source: Source) -> list[Finding]:
        """The findings of one file with another text."""
        path = source.path
        if path not in self.project.paths:
            self._open(frozenset({*self.project.paths, path}), self.project)
            self._rest()
            gc.freeze()
        self.sources[path] = source
        self._is_behind = True
        error = self.project.put(path, source.text)
        if error is not None:
            return self._unparsable(path, error)
        self.unparsed.pop(path, None)
        for other, text in self.unparsed.items():
            self.project.put(other, text, anyway=True)
        self.unparsed.clear()
        self._follow([self.project.files[path]])
        self._check_files([self.project.files[path]])
        others = (draft for other, drafts in self._drafts.items() if other != path for draft in drafts)
        self.found[path] = self._findings([*self._drafts[path], *others], path)
        self._rest()
        return self.found[path]

    def catch_up(self) -> list[str]:
        """Check again what the edits since the last time may have changed; return the files that were checked."""
        if not self._is_behind:
            return []
        self._is_behind = False
        if self.unparsed:  # check everything in a separate index: this one still has the previous texts
            self._enter(engine.check_projects([self.sources], self._settings)[0].findings)
            return list(self.sources)
        since = self.memory.revision
        self._follow()
        self._check_files(self.project.files.values())
        self._write()
        checked = list(self._checked)
        self._rest()
        self.memory.sweep(since)
        return checked

    def _open(self, watched: frozenset[str], before: KeptProject | None) -> None:
        """Index the files again."""
        self.project = KeptProject(self.sources, self._settings, watched, before)
        self._examination = Examination(self.project, self._settings, with_waits(self._codes, catalogue.shipped()))
        self._steps: dict[str, _Steps] = {}
        self._follow()

    @query
    def _check(self, file: FileIndex) -> tuple[list[Draft], Exception | None]:
        """The drafts of a file, and its syntax error."""
        self._checked.append(file.path)
        return self._examination.check_file(file.path), self._examination.broken([file.path]).get(file.path)

    def _check_files(self, files: Iterable[FileIndex]) -> None:
        """Update the drafts of some files."""
        for file in files:
            self._drafts[file.path], error = self._check(file)
            self._broken.pop(file.path, None)
            if error is not None:
                self._broken[file.path] = error

    def _unparsable(self, path: str, error: Exception) -> list[Finding]:
        """The finding for a text that does not parse; the index is not updated until one does or another file is
        edited.
        """
        self.unparsed[path] = self.sources[path].text
        self._drafts[path] = []
        self._broken.pop(path, None)
        if not noqa.skips_file(self.sources[path]):
            self._broken[path] = error
        self.found[path] = self._findings([], path)
        return self.found[path]

    def _write(self) -> None:
        """The findings of all drafts."""
        self._enter(self._findings([draft for drafts in self._drafts.values() for draft in drafts]))

    def _enter(self, findings: Iterable[Finding]) -> None:
        self.found = {**{path: [] for path in self.sources}, **by_path(findings)}

    def _findings(self, drafts: list[Draft], path: str | None = None) -> list[Finding]:
        """The findings of drafts, or only of those in one file, for whose messages the others are needed."""
        found = engine.findings_of(drafts, self._broken, self.sources, self.project, self._settings, self._codes, path)
        return by_place(engine.kept(found, self.sources, self._settings, self._around))

    def _follow(self, only: Collection[FileIndex] | None = None) -> None:
        """Find the code that runs at each step, in some files or in all of them."""
        hot_path.analyse(self.project, self._examination.clues(), only)
        changed: list[Part] = []
        for file in self.project.files.values() if only is None else only:
            points = points_of(file).items()
            now = {node: (at.scope, at.step, at.loop, at.env) for node, at in points}, dict(reads_of(file))
            if self._steps.get(file.path) != now:
                self._steps[file.path] = now
                changed.append(steps_part(file))
        self.memory.rest()
        if changed:
            self.memory.change(changed)

    def _rest(self) -> None:
        """Free what only the last question needed."""
        self.memory.rest()
        self._checked.clear()
        for file in self.project.files.values():
            points_of(file).clear()
            reads_of(file).clear()
        self.memory.rest()
