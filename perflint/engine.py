"""From sources to findings: index the project, parse what can hold a finding, walk it once, write the messages."""

from __future__ import annotations

import gc
import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from perflint import catalogue, gates, messages, noqa, registry, selection, units
from perflint.checks import load_checks
from perflint.context import Context, Draft
from perflint.findings import Finding
from perflint.index import hot
from perflint.index.project import Project
from perflint.intake import by_hand
from perflint.settings import Settings
from perflint.source import Source
from perflint.walk import Walk

Progress = Callable[[int, int], None]
_PARALLEL_FROM = 24
"""Files with something to parse below which starting processes costs more than it saves."""


def check(
    sources: Mapping[str, Source],
    settings: Settings,
    jobs: int = 1,
    progress: Progress | None = None,
    gated: bool = True,
) -> list[Finding]:
    """All findings of the selected rules in a project, sorted by path and place.

    Args:
        sources: the files of the project by path; they are read as one project, so a helper is checked as part
            of the loop that calls it.
        jobs: processes to use.
        progress: called with files done and files in all.
        gated: parse only what can hold a finding.  False parses everything, which must find the same.
    """
    with _collector_paused(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python says of the checked code ("invalid escape sequence")
        return _check(sources, settings, jobs, progress, gated)


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
    sources: Mapping[str, Source], settings: Settings, jobs: int, progress: Progress | None, gated: bool
) -> list[Finding]:
    load_checks()
    codes = selection.selected(settings, catalogue.shipped())
    project = Project(sources, settings.loaders)
    try:
        found = _found(_Run(project, settings, codes, gated), sources, jobs, progress)
    finally:
        project.close()
    kept = _kept(found, sources, settings)
    return sorted(kept, key=lambda item: (item.path, item.start, item.end, item.code))


def _found(run: _Run, sources: Mapping[str, Source], jobs: int, progress: Progress | None) -> list[Finding]:
    project, codes = run.project, run.codes
    hot.analyse(project, gates.forward_names(codes))
    found = [
        _syntax_error(sources[path], error)
        for path, error in project.broken.items()
        if "PPF001" in codes and not noqa.skips_file(sources[path])
    ]
    paths = [path for path, file in project.files.items() if not noqa.skips_file(file.source)]
    run.rows = {
        path: gates.rows(project.files[path], codes, run.settings) for path in paths if not project.files[path].is_quiet
    }
    busy = [path for path, rows in run.rows.items() if rows or not run.gated]
    drafts = _drafts(run, busy, jobs, progress)
    return found + messages.write(drafts, catalogue.shipped(), run.settings)


@dataclass
class _Run:
    """What one process needs to check files of the project.

    ``rows`` holds, for each file, the rows of the statements that can hold a finding.
    """

    project: Project
    settings: Settings
    codes: frozenset[str]
    gated: bool
    rows: dict[str, set[int]] = field(default_factory=dict)

    def check_file(self, path: str) -> list[Draft]:
        """The drafts of one file."""
        file = self.project.files[path]
        pieces = units.units_of(file.tree)
        if self.gated:
            pieces = units.chosen(pieces, self.rows[path])
        else:
            gates.type_all(file)
        lines = file.source.lines
        points = {lines.offset(node.lineno, node.col_offset): point for node, point in file.points.items()}
        drafts: list[Draft] = []
        for piece in pieces:
            if piece.is_too_deep:
                continue
            try:
                context = Context(
                    file, units.parse(file.source, piece), self.settings, catalogue.shipped(), self.codes, points
                )
                Walk(context, registry.checks, self.rows[path] if self.gated else None).run()
            except (units.UnparsableError, RecursionError):
                continue  # ast has accepted the file, so the rest of it is still worth checking
            drafts += context.drafts
        return drafts


_forked: _Run | None = None


def _drafts(run: _Run, paths: list[str], jobs: int, progress: Progress | None) -> list[Draft]:
    jobs = min(jobs, len(paths) // (_PARALLEL_FROM // 2))
    if jobs <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        drafts: list[Draft] = []
        for done, path in enumerate(paths, 1):
            drafts += run.check_file(path)
            if progress:
                progress(done, len(paths))
        return drafts
    return _drafts_in_processes(run, paths, jobs, progress)


def _drafts_in_processes(run: _Run, paths: list[str], jobs: int, progress: Progress | None) -> list[Draft]:
    """The index is shared by forking: it is built once and never copied or sent."""
    global _forked
    _forked = run
    try:
        context = multiprocessing.get_context("fork")
        by_size = sorted(paths, key=lambda path: -len(run.project.files[path].source.text))
        drafts: list[Draft] = []
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            for done, found in enumerate(pool.map(_check_forked, by_size, chunksize=4), 1):
                drafts += found
                if progress:
                    progress(done, len(paths))
        return drafts
    finally:
        _forked = None


def _check_forked(path: str) -> list[Draft]:
    assert _forked is not None
    return _forked.check_file(path)


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
