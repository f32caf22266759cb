"""``perflint bench``: run a training script before and after its fixes, and say what they win.

The one command that runs the code it is given.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from perflint.bench.keeping import as_text
from perflint.bench.measure import Bench
from perflint.bench.page import page
from perflint.bench.plan import Plan, RunFailed
from perflint.bench.results import BEFORE, BenchReport
from perflint.bench.table import table
from perflint.bench.variants import Fixes, VariantFiles
from perflint.commands import CommandError
from perflint.commands.measuring_progress import MeasuringProgress
from perflint.commands.outputs import insist_inside
from perflint.commands.run_settings import resolve
from perflint.configuration.settings import Settings
from perflint.files import writing
from perflint.findings import Finding, Level
from perflint.inputs import git
from perflint.inputs.projects import split
from perflint.output.console import Console
from perflint.run import discovery, engine, intake
from perflint.text.colour import Palette, wants_colour
from perflint.text.source import Source

_MANY = 8
"""Fixes from which the rules are measured rather than each fix, unless somebody asks for these."""


def run(options: argparse.Namespace) -> int:
    """Measure and report; 0.

    Raises:
        CommandError: the script does not exist or fails, no fix applies, or a file cannot be written.
    """
    console = Console()
    script: Path = options.script
    if not script.is_file():
        raise CommandError(f"{script} is no file: name the script that trains")
    for option, path in (("--json", options.json), ("--html", options.html)):
        if path is None:
            continue
        insist_inside(f"{option} {path}", path)
        if not path.absolute().parent.is_dir():  # said before the runs, and not after
            raise CommandError(f"{path} cannot be written: {path.absolute().parent} is no directory")
    settings = resolve(options, [script])
    plan = _plan(options, script, _root(script, settings))
    console.note(f"perflint bench RUNS {script}, in copies of {plan.root}")
    try:
        with closing(MeasuringProgress(console)) as progress:
            report = _measured(options, settings, plan, progress)
    except RunFailed as error:
        first, *more = str(error).split("\n")
        raise CommandError(first, [f"  | {line}" for line in more]) from error  # what the script has said
    except OSError as error:
        raise CommandError(f"the script could not be run: {error}") from error
    console.write(table(report, shutil.get_terminal_size().columns, Palette(wants_colour(sys.stdout))))
    console.close()
    _write(options, report)
    return 0


def _measured(options: argparse.Namespace, settings: Settings, plan: Plan, progress: MeasuringProgress) -> BenchReport:
    bench = Bench(plan, options.time_limit)
    progress.tell("looking for what can be fixed")
    fixes = _fixes(options, settings, plan)
    if not fixes.findings():
        raise CommandError(_nothing(options, plan))
    progress.tell("a first run, to see which files the script runs")
    first = bench.run(VariantFiles(BEFORE))
    fixes = _run_by(fixes, {Path(file) for file in first.files} | {plan.script})
    states, notes = _states(options, fixes, plan)
    progress.start(len(states) * options.rounds, first.seconds)
    report = bench.measure(states, options.rounds, progress.run)
    report.notes.extend(notes)
    return report


def _root(script: Path, settings: Settings) -> Path:
    """The project around a script: its repository, or else the directory of its configuration, or its own."""
    directory = script.resolve().parent
    try:
        return git.top_of(directory)
    except git.GitError:
        root = settings.root.resolve()
        found = root if directory.is_relative_to(root) else directory
    if found in (Path.home().resolve(), Path(found.anchor)):
        raise CommandError(f"{script} would need a copy of all of {found}: move it to a directory of its own")
    return found


def _plan(options: argparse.Namespace, script: Path, root: Path) -> Plan:
    here = Path.cwd().resolve()
    real = script.resolve()
    directory = here if here.is_relative_to(root) else real.parent
    return Plan(
        root,
        real.relative_to(root),
        directory.relative_to(root),
        options.arguments,
        options.python or sys.executable,
        options.warmup,
        options.steps,
        None if options.no_seed else 0,
    )


def _fixes(options: argparse.Namespace, settings: Settings, plan: Plan) -> Fixes:
    """What can be fixed around the script."""
    files = {file.resolve() for file in discovery.python_files([plan.root], settings).files}
    sources, _ = intake.read_all(sorted(files | {plan.root / plan.script}))

    def check(current: Mapping[str, Source]) -> list[Finding]:
        return engine.check(current, settings)

    level = Level.UNSAFE if options.unsafe_fixes else Level.SAFE
    return Fixes(sources, plan.root, {Path(path).relative_to(plan.root) for path in sources}, check, level)


def _run_by(fixes: Fixes, files: Collection[Path]) -> Fixes:
    """Those of the fixes in files that the script runs; projects without such a file are not looked at again."""
    paths = {str(fixes.root / file) for file in files}
    together = [project for project in split(fixes.sources).projects if not paths.isdisjoint(project)]
    sources = {path: source for project in together for path, source in project.items()}
    return replace(fixes, sources=sources, files=files)


def _states(options: argparse.Namespace, fixes: Fixes, plan: Plan) -> tuple[list[VariantFiles], list[str]]:
    """The variants, and what is to be said about their choice.

    Raises:
        CommandError: no fix applies to what the script runs.
    """
    findings = fixes.findings()
    elsewhere = fixes.elsewhere()
    notes = [f"{elsewhere} more fixes are in files that the script does not run."] if elsewhere else []
    if not findings:
        raise CommandError(_nothing(options, plan, elsewhere))
    count = len(fixes.of_one_fix(findings))
    way = options.by or ("fix" if count < _MANY else "rule")
    if not options.by and way == "rule":
        notes.append(f"{count} fixes are measured by rule; --by fix measures each.")
    alone = fixes.each(findings) if way == "fix" else fixes.by_rule(findings) if way == "rule" else []
    return [VariantFiles(BEFORE), *(alone if len(alone) > 1 else []), fixes.together(findings)], notes


def _nothing(options: argparse.Namespace, plan: Plan, elsewhere: int = 0) -> str:
    what = f"nothing to compare: no fix applies to {plan.script} and the files that it runs"
    others = f"; {elsewhere} apply to other files of the project" if elsewhere else ""
    return what + others + ("" if options.unsafe_fixes else "; --unsafe-fixes adds those that can change results")


def _write(options: argparse.Namespace, report: BenchReport) -> None:
    wanted = {options.json: as_text(report.to_json())} if options.json else {}
    if options.html:
        wanted[options.html] = page(report)
    for path, text in wanted.items():
        try:
            writing.write_whole(path, text.encode())
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
