"""A process that stays up: one file is edited, and its findings are there again without checking the others.

The index is kept.  Each answer in it knows which parts of an edited file it was worked out from (``index/tracking``),
so that an edit drops those answers and no others; the steps are followed again only from where they may lead into the
file (``index/retrace``).
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from perflint import catalogue, engine, gates, messages, noqa, selection, units
from perflint.checks import load_checks
from perflint.context import Draft
from perflint.examination import Examination
from perflint.findings import Finding
from perflint.index.file import Step
from perflint.index.retrace import Steps, Trail, changed_nodes
from perflint.index.splice import Window
from perflint.index.watched import KeptProject
from perflint.projects import split
from perflint.settings import Settings
from perflint.source import Source


class Session:
    """The findings of a set of files, kept up to date while files are edited.

    Args:
        sources: the files by path, as ``engine.check`` takes them; checked at once.
        settings: which rules, and what the user has declared.
    """

    def __init__(self, sources: Mapping[str, Source], settings: Settings) -> None:
        load_checks()
        self._settings = settings
        self._codes = selection.selected(settings, catalogue.shipped())
        self._sources = dict(sources)
        self._kept: list[_Kept] = []
        self._check_all()

    def findings(self) -> list[Finding]:
        """All findings, sorted by path and place: as of the last edit of each file, and of the last check."""
        return _in_order(finding for kept in self._kept for found in kept.found.values() for finding in found)

    def edit(self, path: str, text: str) -> list[Finding]:
        """The findings of one file with another text, as ``engine.check`` of all files would give them, but for this:

        A message counts the other host reads of its loop.  Those in other files are counted as the last full check has
        found them.  Which files belong to one project stays as it was, too.

        Args:
            path: one of the files; any other is new, and leads to a full check.
            text: all of the file, without a byte order mark.
        """
        before = self._sources.get(path)
        self._sources[path] = Source(path, text) if before is None else replace(before, text=text)
        if before is None:
            return [finding for finding in self.settle() if finding.path == path]
        with _undisturbed():
            return self._owner(path).edit(self._sources[path])

    def settle(self) -> list[Finding]:
        """All findings, by a full check: what other files say of an edited one may have changed as well."""
        self._check_all()
        return self.findings()

    def _check_all(self) -> None:
        """Index all files anew, but for the trees of those whose text is the same."""
        before = {path: kept for kept in self._kept for path in kept.sources}
        with _undisturbed():
            self._kept = []
            for sources in split(self._sources).projects:
                earlier = next((before[path] for path in sources if path in before), None)
                kept = _Kept(sources, self._settings, self._codes)
                kept.check(earlier)
                self._kept.append(kept)

    def _owner(self, path: str) -> _Kept:
        return next(kept for kept in self._kept if path in kept.sources)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the collector, which would look through the whole index, and without what Python says of the code."""
    with engine.collector_paused(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class _Kept:
    """One project that is kept: its index, and the drafts and findings of each file."""

    def __init__(self, sources: dict[str, Source], settings: Settings, codes: frozenset[str]) -> None:
        self.sources = sources
        self.found: dict[str, list[Finding]] = {}
        self._settings = settings
        self._codes = codes
        self._drafts: dict[str, list[Draft]] = {}
        self._unparsed: dict[str, str] = {}
        """The texts that the index has not taken, since they do not parse."""
        self._look: _Look | None = None

    def check(self, earlier: _Kept | None) -> None:
        """Check everything."""
        before = earlier._look.project if earlier is not None and earlier._look is not None else None
        watched = before.paths & self.sources.keys() if before is not None else frozenset()
        self._look = self._opened(frozenset(watched), before)
        broken: dict[str, Exception] = {}
        for path in self.sources:
            self._drafts[path], error = self._look.examination.find_in(path)
            if error is not None:
                broken[path] = error
        drafts = [draft for drafts in self._drafts.values() for draft in drafts]
        self.found = {path: [] for path in self.sources}
        for finding in self._findings(drafts, broken):
            self.found[finding.path].append(finding)
        self._look.rest()

    def edit(self, source: Source) -> list[Finding]:
        """The findings of one file with another text."""
        path = source.path
        look = self._look
        if look is None or path not in look.project.paths:
            watched = look.project.paths if look is not None else frozenset()
            look = self._look = self._opened(frozenset({*watched, path}), look.project if look is not None else None)
            look.rest()
            gc.freeze()
        look.examination.readers.setdefault(path, units.Reader())
        self.sources[path] = source
        error = look.project.watched(path).parse(source.text)
        if error is not None:
            return self._unparsable(path, error)
        self._unparsed.pop(path, None)
        for other, text in self._unparsed.items():
            look.replace(other, text)
        self._unparsed.clear()
        self._move(path, look.project.watched(path).window)
        look.replace(path, source.text)
        self._drafts[path], error = look.examination.find_in(path)
        drafts = [*self._drafts[path], *(draft for other in self._others(path) for draft in other)]
        found = self._findings(drafts, {path: error} if error is not None else {}, path)
        self.found[path] = _in_order(found)
        look.rest()
        return self.found[path]

    def _unparsable(self, path: str, error: Exception) -> list[Finding]:
        """What a text says that does not parse; the index stays as it is until one does, or another file is edited."""
        self._unparsed[path] = self.sources[path].text
        self._drafts[path] = []
        broken = {} if noqa.skips_file(self.sources[path]) else {path: error}
        self.found[path] = self._findings([], broken, path)
        return self.found[path]

    def _opened(self, watched: frozenset[str], before: KeptProject | None) -> _Look:
        project = KeptProject(self.sources, self._settings.loaders, watched, before)
        return _Look(project, Examination(project, self._settings, self._codes, gated=True))

    def _others(self, path: str) -> Iterator[list[Draft]]:
        return (drafts for other, drafts in self._drafts.items() if other != path)

    def _findings(self, drafts: list[Draft], broken: Mapping[str, Exception], path: str | None = None) -> list[Finding]:
        """The findings of drafts, or of those of one file, where the others are there for its messages alone."""
        found = messages.write(drafts, catalogue.shipped(), self._settings)
        if path is not None:
            found = [finding for finding in found if finding.path == path]
        if "PPF001" in self._codes:
            found += [engine.syntax_error(self.sources[at], error) for at, error in broken.items()]
        return _in_order(engine.kept(found, self.sources, self._settings))

    def _move(self, path: str, rows: Window) -> None:
        """Let the drafts of other files say where the rows of an edited file are now."""
        for other, drafts in self._drafts.items():
            if other != path and any(_leads_through(draft, path) for draft in drafts):
                moved = (_moved(draft, path, rows) if _leads_through(draft, path) else draft for draft in drafts)
                self._drafts[other] = [draft for draft in moved if draft is not None]


@dataclass
class _Look:
    """The index of a project with where its steps lead."""

    project: KeptProject
    examination: Examination
    trail: Trail = field(init=False)

    def __post_init__(self) -> None:
        self.trail = Trail(self.project)
        self._clues = gates.forward_clues(self.examination.codes)
        Steps(self.project, self._clues, self.trail).run()

    def replace(self, path: str, text: str) -> None:
        """Put another text in the place of a file, and follow the steps that may lead into it again."""
        file = self.project.files[path]
        dropped = self.project.replace(path, text)
        leading = self.trail.leading(file, changed_nodes(self.trail, dropped))
        self.trail.forget(file, self.project.watched(path).window.new)
        Steps(self.project, self._clues, self.trail, file, leading).run()

    def rest(self) -> None:
        """Let go of what only the last question needed."""
        self.project.log.rest()
        self.examination.rows.clear()
        for file in self.project.files.values():
            file.points.clear()
            file.reading_calls.clear()


def _leads_through(draft: Draft, path: str) -> bool:
    step = draft.step
    return step is not None and (step.path == path or any(where == path for where, _ in step.via))


def _moved(draft: Draft, path: str, rows: Window) -> Draft | None:
    step = draft.step
    assert step is not None
    line = rows.now(step.line) if step.path == path and step.line else step.line
    via = [(where, rows.now(row) if where == path else row) for where, row in step.via]
    if line is None or any(row is None for _, row in via):
        return None
    return replace(draft, step=_at(step, line, via))


def _at(step: Step, line: int, via: list[tuple[str, int | None]]) -> Step:
    return replace(step, line=line, via=tuple((where, row or 0) for where, row in via))


def _in_order(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda item: (item.path, item.start, item.end, item.code))
