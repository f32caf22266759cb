"""``perflint check``: finds problems, fixes them if asked, and shows the rest."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.commands import CommandError, InternalError, failing_file, print_report
from perflint.commands.filters import Filter, Filters, LowImpact, OnlyNamed, of_enough_impact
from perflint.commands.read_files import STDIN, Batch, common_directory, read
from perflint.commands.write_fixes import print_diff, print_shortcomings, save_fixes
from perflint.findings import Checked, Finding, Level, by_place
from perflint.fix.fixer import Check, FixOutcome, fix_all
from perflint.inputs.projects import split
from perflint.output import summary
from perflint.output.console import Console, Progress
from perflint.output.report import Report
from perflint.run import cache
from perflint.text.source import Source
from perflint.text.visible import counted, listed, visible

if TYPE_CHECKING:
    from perflint.ranking.shares import Profiled

_MOST_NAMES = 3


class Unchecked(CommandError):
    """Some files could not be checked, because something outside perflint ended a process.

    Args:
        why: what has happened, and what to do.
        findings: those in all other files.
        lost: the paths of these files.
    """

    def __init__(self, why: str, findings: list[Finding], lost: Sequence[str]) -> None:
        self.findings = findings
        self.paths = frozenset(lost)
        what = f"{counted(len(lost), 'file')} {'was' if len(lost) == 1 else 'were'}"
        super().__init__(f"{why}. {what} not checked: {listed(lost, _MOST_NAMES)}")


def run(options: argparse.Namespace, console: Console) -> int:
    """Check, and fix if asked; return the exit status.

    Raises:
        CommandError: the paths, the configuration or an output cannot be used.
        InternalError: a rule failed.
    """
    options.fix = options.fix or options.fix_only
    print_report.wanted_outputs(options)  # report an output that cannot be written before a long check
    if options.watch:
        from perflint.commands import watch

        return watch.run(options, _once, console)
    return _timed(options, console) if options.timing else _once(options, read(options), console)


def look(options: argparse.Namespace, batch: Batch) -> Report:
    """Check without changing anything, and return what is to be reported.

    Raises:
        CommandError: the baseline or the revision cannot be used.
        InternalError: a rule failed.
    """
    shown = _filters(options, batch)
    return _reported(options, batch, _found(options, batch).findings, shown)


def _timed(options: argparse.Namespace, console: Console) -> int:
    from perflint.run import timing

    options.jobs, options.no_cache = 1, True
    with timing.measured(from_start=options.is_program) as times:
        status = _once(options, read(options), console)
    console.close()  # the findings come first, even if both streams lead to the same place
    console.write_aside("\n" + timing.table(times))
    return status


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
    profiles = print_report.given_profiles(options, batch.settings, console)
    if options.write_baseline is not None:
        from perflint.commands.old_code import refuse_with_baseline, write_baseline

        refuse_with_baseline(options)
        found = of_enough_impact(batch.paths.reported(_found(options, batch).findings), batch.settings.min_impact)
        return write_baseline(options, batch, found, console)
    shown = _filters(options, batch)
    status = _Run(options, batch, console, shown, profiles).status()
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
        print_report.print_findings(quiet, _report(options, batch, [], {}), "", console)
    return 2


@dataclass(frozen=True)
class _Run:
    """One check of the files that were read, and what follows from it."""

    options: argparse.Namespace
    batch: Batch
    console: Console
    shown: Filters
    profiles: Sequence[Profiled]

    def status(self) -> int:
        """Do what the options ask for; return the exit status."""
        if self.options.add_noqa is not None:
            return self._add_noqa()
        if self.options.diff:
            return self._diff()
        return self._fix() if self.options.fix else self._look()

    def _look(self) -> int:
        options, batch, lost = self.options, self.batch, None
        try:
            found = _found(options, batch)
        except Unchecked as error:
            lost, found = error, Checked(error.findings)
        report = _reported(options, batch, found.findings, self.shown)
        steps, names = batch.paths.steps(found.steps or ()), batch.paths.names
        report = replace(report, steps=steps, names=names, is_complete=lost is None)
        files = report.sources.keys() - (lost.paths if lost else set())
        report = print_report.ranked_report(options, report, self.profiles, self.console)
        closing = summary.found(report.findings, files, _level(options))
        if print_report.grouping(options, report) != "step":  # otherwise the steps come by what they gain
            closing += summary.most_to_win(report)
        closing = self.shown.closing(closing)
        if not report.findings and not self.shown.closing(""):
            remark = "" if options.quiet else print_report.remark_on_callers(options.paths, batch)
            closing += remark or summary.remark_on_training([report.sources[path] for path in files])
        news = options.news.since(report) if options.watch else ()
        print_report.print_findings(options, report, closing, self.console, news)
        if lost is not None:
            raise lost
        return _status(options, bool(report.findings))

    def _fix(self) -> int:
        options, batch = self.options, self.batch.shown()
        outcome, lost = self._saved(self._tried(self._check(), _level(options)))
        sources = {**batch.sources, **outcome.changed}
        remaining = [] if options.fix_only else outcome.remaining
        report = print_report.ranked_report(
            options, _report(options, batch, remaining, sources), self.profiles, self.console
        )
        closing = self.shown.closing(summary.fixed(outcome, sources) + summary.most_to_win(report))
        print_report.print_findings(
            options, report, closing, self.console, fixed=summary.lines_about_fixes(outcome, batch.sources)
        )
        is_changed = options.exit_non_zero_on_fix and bool(outcome.changed)
        return 2 if lost else _status(options, bool(remaining) or is_changed)

    def _diff(self) -> int:
        outcome, sources = self._tried(self._check(), _level(self.options)), self.batch.shown().sources
        print_diff(self.options, sources, outcome.changed, self.console, outcome)
        print_shortcomings(outcome, self.console)
        if not self.options.quiet:
            self.console.note(self.shown.closing(summary.would_fix(outcome, sources)))
        return _status(self.options, bool(outcome.changed))

    def _add_noqa(self) -> int:
        """Silence what is found, or show how with ``--diff``; then report the rest."""
        from perflint.commands.old_code import closing_of_noqa, silencing

        options, batch = self.options, self.batch.shown()
        if options.fix:
            raise CommandError(
                "--add-noqa cannot be used together with --fix: run --fix first, then silence what is left"
            )
        tried = self._tried(silencing(self._check(), options.add_noqa), Level.SAFE)
        if options.diff:
            print_diff(options, batch.sources, tried.changed, self.console)
            print_shortcomings(tried, self.console)
            if not options.quiet:
                self.console.note(closing_of_noqa(tried, batch, "Would silence"))
            return _status(options, bool(tried.changed))
        outcome, lost = self._saved(tried)
        report = _report(options, batch, outcome.remaining, {**batch.sources, **outcome.changed})
        print_report.print_findings(
            options, report, closing_of_noqa(outcome, batch, "Silenced", bool(lost)), self.console
        )
        return 2 if lost or outcome.rejected else 0

    def _check(self) -> Check:
        """A check that finds only what is shown."""
        return self.shown.check(lambda sources: _checked(self.options, self.batch, sources).findings)

    def _tried(self, check: Check, level: Level) -> FixOutcome:
        """What fixing leads to, under the names that the user gave; nothing is written."""
        return self.batch.paths.outcome(fix_all(self.batch.sources, check, level))

    def _saved(self, tried: FixOutcome) -> tuple[FixOutcome, list[str]]:
        """Write what was fixed; return the outcome without the files that could not be written, and these files."""
        lost = save_fixes(tried, self.batch.shown(), self.console)
        outcome = tried.without(lost)
        print_shortcomings(outcome, self.console)
        return outcome, lost


def _filters(options: argparse.Namespace, batch: Batch) -> Filters:
    """The filters that the options and the configuration ask for.

    Raises:
        CommandError: the baseline or the revision cannot be used.
    """
    filters: list[Filter] = []
    if options.baseline or batch.settings.baseline or options.changed_since is not None:
        from perflint.commands.old_code import filters_of_old_code

        filters = filters_of_old_code(options, batch)
    everything = not filters
    named = OnlyNamed(batch.paths, batch.settings, is_told=everything)
    return Filters([named, LowImpact(batch.settings, is_told=everything), *filters])


def _reported(options: argparse.Namespace, batch: Batch, findings: list[Finding], shown: Filters) -> Report:
    found = shown.left(by_place(findings), batch.sources)
    report = _report(options, batch, by_place(batch.paths.findings(found)), batch.shown().sources)
    return replace(report, small=by_place(batch.paths.findings(shown.small())))


def _report(
    options: argparse.Namespace, batch: Batch, findings: Sequence[Finding], sources: Mapping[str, Source]
) -> Report:
    paths = [path for path in options.paths if path != STDIN] or [options.stdin_filename or Path()]
    return Report(findings, sources, _level(options), settings=batch.settings, start=common_directory(paths))


def _level(options: argparse.Namespace) -> Level:
    return Level.UNSAFE if options.unsafe_fixes else Level.SAFE


def _status(options: argparse.Namespace, found: bool) -> int:
    return 1 if found and not options.exit_zero else 0


def _found(options: argparse.Namespace, batch: Batch) -> Checked:
    """What is found: already known, from the cache, or from a check.

    Raises:
        Unchecked: some files could not be checked; the error contains the findings of the others.
    """
    if batch.known is not None:
        return Checked([*batch.unreadable, *batch.known])
    if options.no_cache or (batch.piped is not None and not batch.paths.hidden):
        return _checked(options, batch, batch.sources)
    name = cache.key(batch.sources, batch.examined)
    known = cache.load(name, batch.sources)
    if known is None or known.steps is None:
        known = _by_project(options, batch, name)
    return replace(known, findings=[*batch.unreadable, *known.findings])


def _by_project(options: argparse.Namespace, batch: Batch, name: str) -> Checked:
    """What is found in each project, from the cache if it has them; otherwise from a check, whose results are cached.

    Projects of which no file is reported are left out.
    """
    whole = split(batch.sources)
    several = len(whole.projects) > 1
    projects = [project for project in whole.projects if batch.paths.reports_any(project)]
    names = [cache.key(project, batch.examined) if several else name for project in projects]
    known = [cache.load(each, project) if several else None for each, project in zip(names, projects, strict=True)]
    missing = [index for index, each in enumerate(known) if each is None or each.steps is None]
    checked, why = _check_projects(options, batch, [projects[index] for index in missing]) if missing else ([], "")
    for index, each in zip(missing, checked, strict=True):
        known[index] = each
        if several and each is not None:
            cache.store(names[index], each)
    found = _together(known)
    if why:
        raise Unchecked(why, [*batch.unreadable, *found.findings], _without_findings(projects, known))
    if len(projects) == len(whole.projects):
        cache.store(name, found, whole.roots)
    return found


def _checked(options: argparse.Namespace, batch: Batch, sources: Mapping[str, Source]) -> Checked:
    """What is found in files, and that some cannot be read."""
    projects = [project for project in split(sources).projects if batch.paths.reports_any(project)]
    checked, why = _check_projects(options, batch, projects)
    found = _together(checked)
    findings = by_place([*batch.unreadable, *found.findings])
    if why:
        raise Unchecked(why, findings, _without_findings(projects, checked))
    return replace(found, findings=findings)


def _together(found: Sequence[Checked | None]) -> Checked:
    """What is found in several projects."""
    known = [each for each in found if each is not None]
    return Checked(
        [item for each in known for item in each.findings], tuple(step for each in known for step in each.steps or ())
    )


def _without_findings(projects: Sequence[Mapping[str, Source]], found: Sequence[Checked | None]) -> list[str]:
    """The files of the projects that could not be checked."""
    return [path for project, each in zip(projects, found, strict=True) if each is None for path in project]


def _check_projects(
    options: argparse.Namespace, batch: Batch, projects: list[dict[str, Source]]
) -> tuple[Sequence[Checked | None], str]:
    """What is found in each project under this run's options, and why some have none (None) if a process was ended."""
    from perflint.run import engine  # imported late: a run that the cache answers does not need it

    is_fixed = options.fix or options.diff or options.add_noqa is not None
    last = options.is_program and not is_fixed
    progress = Progress(sys.stderr, sum(map(len, projects)), not options.quiet, batch.began)
    progress(0, 1)  # reading the files may have taken longer than anybody waits without a sign
    try:
        jobs = options.jobs or _cores()
        return engine.check_projects(projects, batch.examined, jobs, progress, last=last, with_steps=not is_fixed), ""
    except engine.Unfinished as error:
        return error.found, str(error.__cause__)
    except Exception as error:
        sources = {path: source for project in projects for path, source in project.items()}
        raise InternalError(failing_file(sources, batch.settings)) from error
    finally:
        progress.clear()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
