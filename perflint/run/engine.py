"""Turns sources into findings: each project of the run separately, in several processes if wanted."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from perflint import catalogue
from perflint.configuration import selection
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level, by_place
from perflint.inputs.projects import split
from perflint.lint import unused_noqa
from perflint.rules import load_checks
from perflint.run.intake import by_hand
from perflint.run.one_project import PARALLEL_FROM, SHARES, examine
from perflint.run.processes import WorkerKilled, can_fork, in_turn
from perflint.run.unread import Around, Unread
from perflint.suppress import noqa
from perflint.text.source import Source

Progress = Callable[[int, int], None]
_AT_ONCE = 6_500_000
"""Characters of source to work on at a time if processes share the projects; each takes 60 to 70 bytes."""

_BUNDLES = 64
"""Pieces of work for each process: enough that none waits long for the last one."""


class Unfinished(Exception):
    """Some projects could not be checked, because something outside perflint ended a process (see ``__cause__``).

    ``found`` has the findings of each project, None for those that were not checked.
    """

    def __init__(self, found: list[list[Finding] | None]) -> None:
        super().__init__(found)
        self.found = found


def check(
    sources: Mapping[str, Source],
    settings: Settings,
    jobs: int = 1,
    progress: Progress | None = None,
    last: bool = False,
) -> list[Finding]:
    """All findings of the selected rules in a project, sorted by path and place.

    Args:
        sources: the files of the project by path; they are read as one project, so a helper is checked as part of the
            loop that calls it.
        jobs: the number of processes to use.
        progress: called with the work that is done and all work, as `SHARES` of a file.
        last: the process ends after this check, so nothing has to be freed.

    Raises:
        Unfinished: something outside perflint ended a process.
    """
    found = check_projects(split(sources).projects, settings, jobs, progress, last)
    return by_place(item for items in found for item in items)


def check_projects(
    projects: list[dict[str, Source]],
    settings: Settings,
    jobs: int = 1,
    progress: Progress | None = None,
    last: bool = False,
) -> list[list[Finding]]:
    """The findings of each project, sorted by path and place; the arguments and errors are those of ``check``."""
    with collector_paused(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's warnings about the checked code ("invalid escape sequence")
        load_checks()
        codes = selection.selected(settings, catalogue.shipped())
        run = _Run(settings, codes, sum(map(len, projects)), progress, last)
        found = run.found(projects, jobs)
        shown = {index: by_place(kept(items, projects[index], settings)) for index, items in found.items()}
        if run.killed is not None:
            raise Unfinished([shown.get(index) for index in range(len(projects))]) from run.killed
        return [shown[index] for index in range(len(projects))]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause garbage collection: the index is millions of objects that all stay, and searching them doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass
class _Run:
    """One run over all projects; ``killed``: why some projects could not be checked."""

    settings: Settings
    codes: frozenset[str]
    files: int
    progress: Progress | None
    last: bool
    work_done: int = 0
    killed: WorkerKilled | None = None

    def found(self, projects: list[dict[str, Source]], jobs: int) -> dict[int, list[Finding]]:
        """The findings of each project, by its index, without projects that could not be checked.

        Projects that are large compared to the others are checked by all processes together.
        """
        sizes = [_size(project) for project in projects]
        order = sorted(range(len(projects)), key=lambda index: -sizes[index])
        alone = [index for index in order if jobs < 2 or sizes[index] * jobs > sum(sizes)]
        others = order[len(alone) :]
        if sum(len(projects[index]) for index in others) < PARALLEL_FROM or not can_fork():
            alone, others = alone + others, []
        found = {}
        for index in alone:
            try:
                found[index] = self._examined(projects[index], jobs, self.last)
            except WorkerKilled as error:
                self.killed = error
        if others:
            bundles = _bundles(others, sizes, sum(sizes) // (jobs * _BUNDLES))
            found |= self._in_processes(bundles, projects, sizes, jobs)
        return found

    def _examined(self, project: Mapping[str, Source], jobs: int, last: bool) -> list[Finding]:
        found, broken = examine(project, self.settings, self.codes, jobs, self._done, last)
        if "PPF001" in self.codes:
            found += [syntax_error(project[path], error) for path, error in broken.items()]
        is_whole = self.settings.whole_project and not broken
        return found + unused_noqa.find(project.values(), found, self.settings, self.codes, is_whole)

    def _done(self, count: int) -> None:
        """Count more work."""
        self.work_done += count
        if self.progress:
            self.progress(self.work_done, SHARES * self.files)

    def _in_processes(
        self, bundles: list[list[int]], projects: list[dict[str, Source]], sizes: list[int], jobs: int
    ) -> dict[int, list[Finding]]:
        found: dict[int, list[Finding]] = {}
        import libcst

        libcst.Module  # noqa: B018 - loaded once, here, rather than by each process
        work = [partial(self._bundle, [projects[index] for index in bundle]) for bundle in bundles]
        weights = [sum(sizes[index] for index in bundle) for bundle in bundles]
        for number, findings in in_turn(work, weights, jobs, _AT_ONCE):
            if isinstance(findings, WorkerKilled):
                self.killed = findings
            else:
                found |= dict(zip(bundles[number], findings, strict=True))
            self._done(SHARES * sum(len(projects[index]) for index in bundles[number]))
        return found

    def _bundle(self, bundle: list[dict[str, Source]]) -> list[list[Finding]]:
        self.progress = None  # this is another process: the first one reports progress
        return [self._examined(project, 1, last=True) for project in bundle]


def _size(project: Mapping[str, Source]) -> int:
    return sum(len(source.text) for source in project.values())


def _bundles(order: list[int], sizes: list[int], size: int) -> list[list[int]]:
    """Groups of projects, each for one process: large projects alone, small ones together."""
    bundles: list[list[int]] = []
    room = 0
    for index in order:
        if room <= 0:
            bundles.append([])
            room = size
        bundles[-1].append(index)
        room -= sizes[index]
    return bundles


def syntax_error(source: Source, error: Exception) -> Finding:
    """The finding for a file that does not parse."""
    line, column, what = 1, 1, str(error) or type(error).__name__
    if isinstance(error, SyntaxError):
        line, column, what = error.lineno or 1, max(error.offset or 1, 1), error.msg or "invalid syntax"
    elif isinstance(error, (RecursionError, MemoryError)):
        what = "it is nested too deeply to be parsed"
    line = min(max(line, 1), source.lines.rows)
    start = source.lines.line_start(line) + min(column - 1, len(source.lines.line(line)))
    rule = catalogue.shipped()["PPF001"]
    return Finding("PPF001", source.path, start, start, rule.message.format(what=what, line=line), by_hand(rule))


def kept(
    found: list[Finding], sources: Mapping[str, Source], settings: Settings, around: Around | None = None
) -> list[Finding]:
    """The findings that the settings and the comments in the sources (by path) do not hide, with their fix levels.

    ``around``: the files around the sources that were found before.
    """
    shown: list[Finding] = []
    silenced: dict[tuple[str, str], list[Finding]] = {}
    unread = Unread(sources, settings, around)
    for finding in found:
        if finding.confidence < settings.min_confidence:
            continue
        if finding.impact is not None and finding.impact.level < settings.min_impact:
            continue
        if finding.code in selection.ignored_for(finding.path, settings):
            continue
        if settings.noqa and finding.code != "PPF001" and noqa.suppressed(finding, sources[finding.path]):
            silenced.setdefault((finding.path, finding.code), []).append(finding)
            continue
        if finding.fix is not None:
            level = selection.level_for(finding.code, finding.fix.level, settings)
            finding = replace(finding, fix=replace(finding.fix, level=level))
        shown.append(unread.spared(finding))
    return [
        _withheld(finding, silenced[finding.path, finding.code], sources[finding.path])
        if (finding.path, finding.code) in silenced
        else finding
        for finding in shown
    ]


def _withheld(finding: Finding, silenced: list[Finding], source: Source) -> Finding:
    """A finding whose fix becomes a suggestion if it would change a line where a comment silences this rule."""
    fix = finding.fix
    if fix is None or fix.level is Level.DISPLAY:
        return finding
    for other in silenced:
        if any(edit.start < other.end and other.start < edit.end for edit in fix.edits):
            line = source.lines.position(other.start)[0]
            reason = (
                f"the edit also changes line {line}, where a # noqa says to leave {finding.code}: silence both or none"
            )
            return replace(finding, fix=replace(fix, level=Level.DISPLAY, reason=reason))
    return finding
