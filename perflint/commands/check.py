"""``perflint check``: finds problems, fixes them if asked, and shows the rest."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.commands import (
    CommandError,
    InternalError,
    failing_file,
    outputs,
    profiled,
    saving,
    showing,
    unread_callers,
)
from perflint.commands.low_impact import LowImpact
from perflint.commands.narrowing import Narrowing, narrowing
from perflint.commands.reading import STDIN, Batch, read
from perflint.commands.run_settings import common_directory
from perflint.findings import Finding, Level, by_place
from perflint.fix.fixer import Check, FixOutcome, fix_all
from perflint.inputs.projects import split
from perflint.output import made_fixes, no_training, summary
from perflint.output.console import Console
from perflint.output.progress import Progress
from perflint.output.report import Report
from perflint.run import cache
from perflint.text.source import Source
from perflint.text.visible import visible
from perflint.text.wording import counted, listed

if TYPE_CHECKING:
    from perflint.ranking.shares import Profiled

_MOST_NAMES = 3


class Unchecked(CommandError):
    """Some files could not be checked, because something outside perflint ended a process.

    Args:
        why: what has happened, and what to do.
        projects: the projects that should have been checked.
        found: the findings of each; None if it could not be checked.
        others: other findings.
    """

    def __init__(
        self,
        why: str,
        projects: Sequence[Mapping[str, Source]],
        found: Sequence[list[Finding] | None],
        others: Sequence[Finding] = (),
    ) -> None:
        self.found = found
        self.findings = [*others, *(finding for findings in found for finding in findings or ())]
        lost = [path for project, each in zip(projects, found, strict=True) if each is None for path in project]
        self.paths = frozenset(lost)
        what = f"{counted(len(lost), 'file')} {'was' if len(lost) == 1 else 'were'}"
        super().__init__(f"{why}. {what} not checked: {listed(lost, _MOST_NAMES)}")


ProjectCheck = Callable[[list[dict[str, Source]]], list[list[Finding]]]


def run(options: argparse.Namespace) -> int:
    """Check, and fix if asked; return the exit status.

    Raises:
        CommandError: the paths, the configuration or an output cannot be used.
        InternalError: a rule failed.
    """
    console = Console()
    options.fix = options.fix or options.fix_only
    outputs.wanted(options)  # report an output that cannot be written before a long check
    try:
        if options.watch:
            from perflint.commands import watch

            return watch.run(options, _once, console)
        return _timed(options, console) if options.timing else _once(options, read(options), console)
    finally:
        console.close()


def _timed(options: argparse.Namespace, console: Console) -> int:
    from perflint.run import timing

    options.jobs, options.no_cache = 1, True
    with timing.measured(from_start=options.is_program, outside=_phases) as times:
        status = _once(options, read(options), console)
    console.close()  # the findings come first, even if both streams lead to the same place
    console.write_aside("\n" + timing.table(times))
    return status


def _phases() -> dict[object, str]:
    """The functions that ``--timing`` shows separately."""
    from perflint.commands import run_settings

    return {run_settings.resolve: "settings", showing.findings: "output"}


def _once(options: argparse.Namespace, batch: Batch, console: Console) -> int:
    if batch.is_nothing_checked:
        return _nothing_checked(options, batch, console)
    if options.show_files:
        console.write("".join(f"{visible(path)}\n" for path in sorted(batch.shown().sources)))
        return 0
    for line in () if options.quiet else (*batch.skipped, *batch.settings.inputs.problems):
        console.note(f"warning: {line}")
    for path in () if options.quiet else batch.finished:
        console.note(f"note: {path}: a run that was killed had left fixes half written; they are complete now")
    # report options that cannot be used before a long check
    profiles = profiled.given(options, batch.settings, console)
    if options.write_baseline is not None:
        return _write_baseline(options, batch, console)
    shown = narrowing(options, batch)
    status = _run(options, batch, shown, profiles, console)
    shown.tell(options, console)
    return status


def _nothing_checked(options: argparse.Namespace, batch: Batch, console: Console) -> int:
    """Report that nothing was checked, and write the requested reports without findings."""
    for line in batch.skipped:
        console.note(f"error: {line}")
    where = ", ".join(map(str, options.paths)) or "."
    console.note("error: nothing was checked" if batch.skipped else f"error: there are no Python files in {where}")
    changes = options.fix or options.add_noqa is not None
    if batch.piped is not None and changes:
        console.write_bytes(batch.piped)
    elif not (changes or options.diff or options.write_baseline is not None):
        quiet = argparse.Namespace(**{**vars(options), "quiet": True})
        showing.findings(quiet, _report(options, batch, [], {}), "", console)
    return 2


def _run(
    options: argparse.Namespace, batch: Batch, shown: Narrowing, profiles: Sequence[Profiled], console: Console
) -> int:
    if options.add_noqa is not None:
        from perflint.commands import adding

        report = partial(_report, options, batch)
        return adding.run(options, batch, shown.check(_checker(options, batch)), report, console)
    if options.diff:
        return _diff(options, batch, shown, console)
    return (_fix if options.fix else _look)(options, batch, shown, profiles, console)


def _write_baseline(options: argparse.Namespace, batch: Batch, console: Console) -> int:
    from perflint.commands import baselining

    baselining.refuse(options)
    found = LowImpact(batch.settings).left(batch.naming.reported(_found(options, batch)), batch.sources)
    return baselining.write(options, batch, found, console)


def look(options: argparse.Namespace, batch: Batch, shown: Narrowing | None = None) -> Report:
    """Check without changing anything, and return what is to be reported.

    Args:
        options: the arguments.
        batch: the files.
        shown: the filters (default: those that the options and the configuration ask for).

    Raises:
        CommandError: the baseline or the revision cannot be used.
        InternalError: a rule failed.
    """
    shown = narrowing(options, batch) if shown is None else shown
    return _reported(options, batch, _found(options, batch), shown)


def _reported(options: argparse.Namespace, batch: Batch, findings: list[Finding], shown: Narrowing) -> Report:
    found = shown.left(by_place(findings), batch.sources)
    return _report(options, batch, by_place(batch.naming.findings(found)), batch.shown().sources)


def _look(
    options: argparse.Namespace, batch: Batch, shown: Narrowing, profiles: Sequence[Profiled], console: Console
) -> int:
    lost: Unchecked | None = None
    try:
        report = look(options, batch, shown)
    except Unchecked as error:
        lost = error
        report = replace(_reported(options, batch, error.findings, shown), is_complete=False)
    files = report.sources.keys() - (lost.paths if lost else set())
    report = profiled.ranked(options, report, profiles, console)
    closing = shown.closing(summary.found(report.findings, files, _level(options)) + summary.most_to_win(report))
    if not report.findings and not shown.closing(""):
        remark = "" if options.quiet else unread_callers.remark(options.paths, batch)
        closing += remark or no_training.remark([report.sources[path] for path in files])
    news = options.news.since(report) if options.watch else ()
    showing.findings(options, report, closing, console, news)
    if lost is not None:
        raise lost
    return _status(options, bool(report.findings))


def _found(options: argparse.Namespace, batch: Batch) -> list[Finding]:
    """The findings: already known, from the cache, or from a check.

    Raises:
        Unchecked: some files could not be checked; the error contains the findings of the others.
    """
    if batch.known is not None:
        return [*batch.unreadable, *batch.known]
    if options.no_cache or (batch.piped is not None and not batch.naming.hidden):
        return _checker(options, batch)(batch.sources)
    name = cache.key(batch.sources, batch.examined)
    known = cache.load(name, batch.sources)
    if known is None:
        known = _by_project(options, batch, name)
    return [*batch.unreadable, *known]


def _by_project(options: argparse.Namespace, batch: Batch, name: str) -> list[Finding]:
    """The findings of each project, from the cache if it has them; otherwise from a check, whose results are cached.

    Projects of which no file is reported are left out.
    """
    whole = split(batch.sources)
    several = len(whole.projects) > 1
    projects = [project for project in whole.projects if batch.naming.reports_any(project)]
    names = [cache.key(project, batch.examined) if several else name for project in projects]
    known = [cache.load(each, project) if several else None for each, project in zip(names, projects, strict=True)]
    missing = [index for index, findings in enumerate(known) if findings is None]
    lost: Unchecked | None = None
    try:
        checked: Sequence[list[Finding] | None] = (
            _project_checker(options, batch)([projects[index] for index in missing]) if missing else []
        )
    except Unchecked as error:
        lost, checked = error, error.found
    for index, findings in zip(missing, checked, strict=True):
        known[index] = findings
        if several and findings is not None:
            cache.store(names[index], findings)
    found = [finding for findings in known for finding in findings or ()]
    if lost is not None:
        lost.findings = [*batch.unreadable, *found]
        raise lost
    if len(projects) == len(whole.projects):
        cache.store(name, found, whole.roots)
    return found


def _fix(
    options: argparse.Namespace, batch: Batch, shown: Narrowing, profiles: Sequence[Profiled], console: Console
) -> int:
    tried = _fixed(options, batch, shown)
    batch = batch.shown()
    lost = saving.save(tried, batch, console)
    outcome = tried.without(lost)
    showing.shortcomings(outcome, console)
    sources = {**batch.sources, **outcome.changed}
    remaining = [] if options.fix_only else outcome.remaining
    report = profiled.ranked(options, _report(options, batch, remaining, sources), profiles, console)
    closing = summary.fixed(outcome, sources) + summary.most_to_win(report)
    showing.findings(options, report, shown.closing(closing), console, fixed=made_fixes.lines(outcome, batch.sources))
    is_changed = options.exit_non_zero_on_fix and bool(outcome.changed)
    return 2 if lost else _status(options, bool(remaining) or is_changed)


def _diff(options: argparse.Namespace, batch: Batch, shown: Narrowing, console: Console) -> int:
    outcome = _fixed(options, batch, shown)
    showing.changes(options, batch.shown().sources, outcome.changed, console, outcome)
    showing.shortcomings(outcome, console)
    if not options.quiet:
        console.note(shown.closing(summary.would_fix(outcome, batch.shown().sources)))
    return _status(options, bool(outcome.changed))


def _report(
    options: argparse.Namespace, batch: Batch, findings: Sequence[Finding], sources: Mapping[str, Source]
) -> Report:
    paths = [path for path in options.paths if path != STDIN] or [options.stdin_filename or Path()]
    return Report(findings, sources, _level(options), settings=batch.settings, start=common_directory(paths))


def _fixed(options: argparse.Namespace, batch: Batch, shown: Narrowing) -> FixOutcome:
    return batch.naming.outcome(fix_all(batch.sources, shown.check(_checker(options, batch)), _level(options)))


def _level(options: argparse.Namespace) -> Level:
    return Level.UNSAFE if options.unsafe_fixes else Level.SAFE


def _status(options: argparse.Namespace, found: bool) -> int:
    return 1 if found and not options.exit_zero else 0


def _checker(options: argparse.Namespace, batch: Batch) -> Check:
    """The function that checks files under this run's options, including findings about unreadable files."""
    check_projects = _project_checker(options, batch)

    def check(sources: Mapping[str, Source]) -> list[Finding]:
        projects = [project for project in split(sources).projects if batch.naming.reports_any(project)]
        found = [*batch.unreadable, *(finding for findings in check_projects(projects) for finding in findings)]
        return by_place(found)

    return check


def _project_checker(options: argparse.Namespace, batch: Batch) -> ProjectCheck:
    """The function that checks projects under this run's options."""
    jobs = options.jobs or _cores()
    last = options.is_program and not options.fix and not options.diff and options.add_noqa is None

    def check(projects: list[dict[str, Source]]) -> list[list[Finding]]:
        from perflint.run import engine  # imported late: a run that the cache answers does not need it

        progress = Progress(sys.stderr, sum(map(len, projects)), not options.quiet, batch.began)
        progress(0, 1)  # reading the files may have taken longer than anybody waits without a sign
        try:
            return engine.check_projects(projects, batch.examined, jobs, progress, last=last)
        except engine.Unfinished as error:
            raise Unchecked(str(error.__cause__), projects, error.found, batch.unreadable) from error
        except Exception as error:
            sources = {path: source for project in projects for path, source in project.items()}
            raise InternalError(failing_file(sources, batch.settings)) from error
        finally:
            progress.clear()

    return check


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
