"""From sources to findings: each project of the run by itself, in as many processes as there are."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from perflint import catalogue, noqa, selection
from perflint.checks import load_checks
from perflint.examination import PARALLEL_FROM, examine
from perflint.findings import Finding
from perflint.intake import by_hand
from perflint.processes import can_fork, in_turn
from perflint.projects import split
from perflint.settings import Settings
from perflint.source import Source

Progress = Callable[[int, int], None]
_BUNDLES = 16
"""Pieces of work for each process: enough that none waits long for the last one."""


def check(
    sources: Mapping[str, Source],
    settings: Settings,
    jobs: int = 1,
    progress: Progress | None = None,
    gated: bool = True,
    last: bool = False,
) -> list[Finding]:
    """All findings of the selected rules in a project, sorted by path and place.

    Args:
        sources: the files of the project by path; they are read as one project, so a helper is checked as part
            of the loop that calls it.
        jobs: processes to use.
        progress: called with files done and files in all.
        gated: parse only what can hold a finding.  False parses everything, which must find the same.
        last: the process ends after this check, so that nothing has to be freed.
    """
    with _collector_paused(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python says of the checked code ("invalid escape sequence")
        return _check(sources, settings, jobs, progress, gated, last)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """The index is millions of objects that all stay: looking for garbage among them doubles the time it takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _check(
    sources: Mapping[str, Source], settings: Settings, jobs: int, progress: Progress | None, gated: bool, last: bool
) -> list[Finding]:
    load_checks()
    run = _Run(settings, selection.selected(settings, catalogue.shipped()), gated, len(sources), progress, last)
    kept = _kept(run.found(split(sources), jobs), sources, settings)
    return sorted(kept, key=lambda item: (item.path, item.start, item.end, item.code))


@dataclass
class _Run:
    """One run over all projects."""

    settings: Settings
    codes: frozenset[str]
    gated: bool
    files: int
    progress: Progress | None
    last: bool
    files_done: int = 0

    def found(self, projects: list[dict[str, Source]], jobs: int) -> list[Finding]:
        """The findings of all projects; those that are large for their number are checked by all processes at once."""
        sizes = [sum(len(source.text) for source in project.values()) for project in projects]
        order = sorted(range(len(projects)), key=lambda index: -sizes[index])
        alone = [projects[index] for index in order if jobs < 2 or sizes[index] * jobs > sum(sizes)]
        others = [projects[index] for index in order[len(alone) :]]
        if sum(map(len, others)) < PARALLEL_FROM or not can_fork():
            alone, others = alone + others, []
        found = [finding for project in alone for finding in self._examined(project, jobs, self.last)]
        return found + self._in_processes(_bundles(others, sum(sizes) // (jobs * _BUNDLES)), jobs)

    def _examined(self, project: Mapping[str, Source], jobs: int, last: bool) -> list[Finding]:
        found, broken = examine(project, self.settings, self.codes, jobs, self.gated, self._done, last)
        if "PPF001" in self.codes:
            found += [_syntax_error(project[path], error) for path, error in broken.items()]
        return found

    def _done(self, count: int) -> None:
        self.files_done += count
        if self.progress:
            self.progress(self.files_done, self.files)

    def _in_processes(self, bundles: list[list[dict[str, Source]]], jobs: int) -> list[Finding]:
        found: list[Finding] = []
        for number, findings in in_turn([partial(self._bundle, bundle) for bundle in bundles], jobs):
            found += findings
            self._done(sum(map(len, bundles[number])))
        return found

    def _bundle(self, bundle: list[dict[str, Source]]) -> list[Finding]:
        self.progress = None  # this is another process: the first one tells
        return [finding for project in bundle for finding in self._examined(project, 1, last=True)]


def _bundles(projects: list[dict[str, Source]], size: int) -> list[list[dict[str, Source]]]:
    """Projects for one process each: large ones by themselves, small ones together, in the order to start them.

    Large and small ones take turns, so that the largest are not all in memory at once.
    """
    bundles: list[list[dict[str, Source]]] = []
    room = 0
    for project in projects:
        if room <= 0:
            bundles.append([])
            room = size
        bundles[-1].append(project)
        room -= sum(len(source.text) for source in project.values())
    half = (len(bundles) + 1) // 2
    turns = zip_longest(bundles[:half], reversed(bundles[half:]))
    return [bundle for pair in turns for bundle in pair if bundle is not None]


def _syntax_error(source: Source, error: Exception) -> Finding:
    line, column, what = 1, 1, str(error) or type(error).__name__
    if isinstance(error, SyntaxError):
        line, column, what = error.lineno or 1, max(error.offset or 1, 1), error.msg or "invalid syntax"
    elif isinstance(error, (RecursionError, MemoryError)):
        what = "it is nested too deeply to be parsed"
    line = min(max(line, 1), source.lines.rows)
    start = source.lines.line_start(line) + min(column - 1, len(source.lines.line(line)))
    rule = catalogue.shipped()["PPF001"]
    return Finding("PPF001", source.path, start, start, rule.message.format(what=what, line=line), by_hand(rule))


def _kept(found: list[Finding], sources: Mapping[str, Source], settings: Settings) -> list[Finding]:
    kept: list[Finding] = []
    for finding in found:
        if finding.confidence < settings.min_confidence:
            continue
        if finding.code in selection.ignored_for(finding.path, settings):
            continue
        if finding.code != "PPF001" and noqa.suppressed(finding, sources[finding.path]):
            continue
        if finding.fix is not None:
            level = selection.level_for(finding.code, finding.fix.level, settings)
            finding = replace(finding, fix=replace(finding.fix, level=level))
        kept.append(finding)
    return kept
