"""``perflint bench``: run a training script before and after its fixes, and report what they gain.

The one command that runs the code it is given.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from perflint.bench import serialize
from perflint.bench.figures import by_name, interval, ratio
from perflint.bench.measure import Bench
from perflint.bench.page import page
from perflint.bench.results import BenchReport
from perflint.bench.script_run import Plan
from perflint.bench.serialize import as_text
from perflint.bench.table import table
from perflint.commands import CommandError, script_runs
from perflint.commands.bench_choosing import Choice, insist_on_what_is_chosen, search, tune
from perflint.commands.bench_variants import OfFixes, OfRevisions
from perflint.commands.measuring_progress import MeasuringProgress
from perflint.commands.run_settings import resolve
from perflint.configuration.settings import Settings
from perflint.output.console import Console
from perflint.text.visible import palette


def run(options: argparse.Namespace) -> int:
    """Measure and report; return 0, or 1 if ``--fail-under`` says so.

    Raises:
        CommandError: the script does not exist or fails, there is nothing to compare, or a file cannot be written.
    """
    console = Console()
    script: Path = options.script
    options.json = options.json or options.resume
    script_runs.insist_possible(options)
    _insist_on_what_goes_together(options)
    insist_on_what_is_chosen(options)
    settings = resolve(options, [script])
    plan = script_runs.plan(options, settings.root, None if options.no_seed else 0)
    console.note(f"perflint bench RUNS {script}, in copies of {plan.root}")
    try:
        with script_runs.errors_for_people(), closing(MeasuringProgress(console)) as progress:
            choice = _choice(options, settings, plan, progress)
    except KeyboardInterrupt:
        if progress.resumes_with:
            console.note(f"the finished rounds are kept: --resume {progress.resumes_with} continues with them")
        raise
    console.write(table(choice.report, shutil.get_terminal_size().columns, palette(sys.stdout, options.color)))
    console.close()
    script_runs.write(
        options,
        lambda: as_text({**choice.report.to_json(), **choice.extra}),
        lambda: page(choice.report, *choice.sections),
    )
    return judged(options.fail_under, choice.report, choice.overall, console)


def _choice(options: argparse.Namespace, settings: Settings, plan: Plan, progress: MeasuringProgress) -> Choice:
    """Measure what the options ask for."""
    if options.tune:
        return tune(options, settings, plan, progress)
    if options.search:
        return search(options, settings, plan, progress)
    return _measured(options, settings, plan, progress)


def _measured(options: argparse.Namespace, settings: Settings, plan: Plan, progress: MeasuringProgress) -> Choice:
    """Compare the script with its fixes, or at two revisions."""
    bench = Bench(plan, options.time_limit)
    bench.waiting = progress.tell
    progress.tell("asking git what differs" if options.against else "looking for what can be fixed")
    source = OfRevisions(options, plan) if options.against else OfFixes(options, settings, plan)
    progress.tell("a first run, to see which files the script runs, and how long it takes")
    first = bench.run(source.first)
    chosen = source.chosen(first)
    conditions = serialize.conditions(plan, chosen.states, first)
    earlier = serialize.read(options.resume, conditions) if options.resume else None

    def kept(report: BenchReport) -> BenchReport:
        return replace(report, conditions=conditions, notes=[*report.notes, *chosen.notes])

    def keep(report: BenchReport) -> None:
        if options.json:
            with suppress(CommandError):  # the end of the report says so, and names what could not be kept
                script_runs.write_file(options.json, as_text(kept(report).to_json()))
                progress.resumes_with = options.json

    left = options.time_limit - first.seconds
    missing = max(0, options.rounds - (earlier.rounds if earlier else 0))
    progress.start(len(chosen.states) * missing, first.seconds, missing, left, options.until is not None)
    report = bench.measure(chosen.states, options.rounds, progress.run, keep, earlier, options.until)
    return Choice(kept(report), overall=chosen.overall)


def _insist_on_what_goes_together(options: argparse.Namespace) -> None:
    """Reject options about fixes together with ``--against``, where they would do nothing.

    Raises:
        CommandError: both are asked for.
    """
    given = {
        "--fix": options.fix,
        "--suggestions": options.suggestions,
        "--unsafe-fixes": options.unsafe_fixes,
        "--by": options.by,
    }
    for option in (name for name, value in given.items() if value):
        if options.against:
            raise CommandError(f"--against compares revisions and makes no fixes: leave out {option}")
        if options.fix and option in ("--by", "--suggestions"):
            raise CommandError(f"--fix already chooses what is measured: leave out {option}")


def judged(least: float | None, report: BenchReport, overall: str, console: Console) -> int:
    """The exit status for ``--fail-under``: 1 if the upper end of the interval is below it.

    Args:
        least: the ratio that was asked for; None: nothing is judged.
        report: what was measured.
        overall: the name of the variant that is judged.
        console: where to print how it was judged.

    Raises:
        CommandError: the variant that it judges could not be measured.
    """
    if least is None:
        return 0
    found = by_name(report).get(overall)
    if found is None:
        raise CommandError(f"--fail-under {least:g}: {overall} could not be measured, so there is nothing to judge")
    if found.high < least:
        says = "is below it with its whole interval"
    elif found.low < least:
        says = "may be below it: the interval includes values above and below"
    else:
        says = "is not below it with any part of its interval"
    console.note(f"--fail-under {least:g}: {overall}, {ratio(found)} ({interval(found)}), {says}")
    return 1 if found.high < least else 0
