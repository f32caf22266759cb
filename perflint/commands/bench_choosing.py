"""What ``perflint bench --tune`` and ``--search`` do: they measure, choose the best, and print it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflint.bench.measure import Bench
from perflint.bench.page import curve_section
from perflint.bench.results import BEFORE, BenchReport
from perflint.bench.script_run import Outcome, Plan
from perflint.bench.searching import CannotSearch, Search, candidates, most_runs
from perflint.bench.searching import said as said_of_search
from perflint.bench.tuning import CannotTune, Tuned, recommendation, said, tuned, wanted
from perflint.bench.variants import VariantFiles
from perflint.commands import CommandError
from perflint.commands.bench_variants import OfFixes
from perflint.commands.measuring_progress import MeasuringProgress
from perflint.configuration.settings import Settings
from perflint.inputs.projects import split
from perflint.run import discovery
from perflint.text.source import Source
from perflint.text.visible import counted


@dataclass(frozen=True)
class Choice:
    """What was measured, and what was chosen: parts of the HTML page, and entries for the JSON file."""

    report: BenchReport
    sections: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    overall: str = ""
    """The name of the variant that ``--fail-under`` judges."""


def insist_on_what_is_chosen(options: argparse.Namespace) -> None:
    """Reject options that have no effect together with ``--tune`` or ``--search``.

    Raises:
        CommandError: such an option is given.
    """
    if options.loader and not options.tune:
        raise CommandError("--loader says which loader --tune changes: give --tune too, or leave out --loader")
    if options.tolerance is not None and not options.search:
        raise CommandError(
            "--tolerance says how far --search may change the losses: give --search too, or leave out --tolerance"
        )
    if not (options.tune or options.search):
        return
    asked = "--tune" if options.tune else "--search"
    given = {
        "--search": options.tune and options.search,
        "--against": options.against,
        "--fix": options.fix,
        "--suggestions": options.suggestions,
        "--by": options.by,
        "--unsafe-fixes": options.tune and options.unsafe_fixes,
        "--until": options.search and options.until,
        "--fail-under": options.fail_under,
        "--resume": options.resume,
    }
    for option in (name for name, value in given.items() if value):
        raise CommandError(f"{asked} decides what is measured, and how: leave out {option}")


def tune(options: argparse.Namespace, settings: Settings, plan: Plan, progress: MeasuringProgress) -> Choice:
    """Measure the values of ``--tune``.

    Raises:
        CommandError: there is no such argument, or no loader to write it to.
        RunFailed: the script failed, or the time was too short.
        OSError: the script cannot be started.
    """
    try:
        asked = wanted(options.tune)  # report a mistake before anything runs
        bench = _bench(options, plan, progress)
        progress.tell("a first run, to see which files the script runs")
        first = bench.run(VariantFiles(BEFORE))
        run = _run_by(first, plan)
        varied = tuned(asked, _sources(settings, plan, run), run, plan.root, settings, options.loader or "")
    except CannotTune as error:
        raise CommandError(str(error)) from error
    progress.start(len(varied.states) * options.rounds, first.seconds)
    report = bench.measure(varied.states, options.rounds, progress.run, until=options.until)
    report.notes[:0] = said(report, varied)
    return Choice(report, [curve_section(report, varied)], {"tuned": _kept(report, varied)})


def search(options: argparse.Namespace, settings: Settings, plan: Plan, progress: MeasuringProgress) -> Choice:
    """Search for the best combination of fixes, and measure it against the script as it is.

    Raises:
        CommandError: no fix applies to what the script runs, or the losses cannot be compared.
        RunFailed: the script failed, or the time was too short.
        OSError: the script cannot be started.
    """
    bench = _bench(options, plan, progress)
    progress.tell("looking for what can be fixed")
    source = OfFixes(options, settings, plan)
    progress.tell("a first run, to see which files the script runs")
    first = bench.run(source.first)
    fixes, seconds = source.run_by(first), first.seconds
    if not fixes.findings():
        raise source.nothing(fixes)
    given = candidates(fixes)
    runs = most_runs(len(given), options.rounds)
    progress.tell(f"searching among {counted(len(given), 'candidate')}, which takes at most")
    progress.start(runs, seconds)
    end: float = time.monotonic() + options.time_limit - seconds
    done = 0

    def measure(states: Sequence[VariantFiles], rounds: int) -> BenchReport:
        nonlocal done
        before, done = done, done + len(states) * rounds
        return bench.measure(states, rounds, lambda count, _, name: progress.run(before + count, runs, name))

    def has_time(more: int) -> bool:
        finish: float = time.monotonic() + (more + 2 * options.rounds) * seconds
        return finish < end

    try:
        found = Search(fixes, measure, has_time, options.tolerance).run(given)
    except CannotSearch as error:
        raise CommandError(str(error)) from error
    report = measure([VariantFiles(BEFORE), found.winner], options.rounds) if found.winner is not None else found.alone
    report.notes[:0] = said_of_search(found, report if found.winner is not None else None, options.tolerance)
    return Choice(report, [], {"search": found.to_json()})


def _bench(options: argparse.Namespace, plan: Plan, progress: MeasuringProgress) -> Bench:
    bench = Bench(plan, options.time_limit)
    bench.waiting = progress.tell
    return bench


def _kept(report: BenchReport, varied: Tuned) -> dict[str, Any]:
    found = recommendation(report, varied)
    return {
        "argument": varied.wanted.name,
        "place": varied.place,
        "written": varied.written,
        "values": list(varied.wanted.values),
        "recommended": found.value,
        "keep": found.keep,
        "as_good": found.as_good,
    }


def _run_by(first: Outcome, plan: Plan) -> set[Path]:
    """The files that the script runs, relative to the project."""
    return {Path(file) for file in first.files} | {plan.script}


def _sources(settings: Settings, plan: Plan, run: Collection[Path]) -> Mapping[str, Source]:
    """All files of the projects whose files the script runs."""
    files = {file.resolve() for file in discovery.python_files([plan.root], settings).files}
    sources, _ = discovery.read_all(sorted(files | {plan.root / plan.script}))
    paths = {str(plan.root / file) for file in run}
    together = [project for project in split(sources).projects if not paths.isdisjoint(project)]
    return {path: source for project in together for path, source in project.items()}
