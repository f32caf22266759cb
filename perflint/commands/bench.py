"""``perflint bench``: run a training script before and after its fixes, and say what they win.

The one command that runs the code it is given.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from perflint import discovery, engine, git, intake, writing
from perflint.bench.child import Plan, RunFailed
from perflint.bench.measure import measure
from perflint.bench.results import Report
from perflint.bench.variants import State, states
from perflint.commands import CommandError
from perflint.commands.settings import resolve
from perflint.findings import Finding, Level
from perflint.output.console import Console
from perflint.projects import split
from perflint.settings import Settings
from perflint.source import Source


def run(options: argparse.Namespace) -> int:
    """Measure and report; 0.

    Raises:
        CommandError: the script does not exist or fails, no fix applies, or a file cannot be written.
    """
    console = Console()
    script: Path = options.script
    if not script.is_file():
        raise CommandError(f"{script} is no file: name the script that trains")
    if options.html and _extra("page") is None:
        raise CommandError("--html: this perflint cannot write pages; use --json")
    settings = resolve(options, [script])
    root = _root(script, settings)
    plan = _plan(options, script, root)
    found = _states(options, settings, root, script)
    names = ", ".join(state.name for state in found)
    console.note(f"perflint bench RUNS {script}: {options.rounds} times each of {names}, in copies of {root}")
    try:
        report = measure(plan, found, options.rounds, partial(_tell, console))
    except RunFailed as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"the script could not be run: {error}") from error
    _write(options, report)
    console.write(_table(report))
    console.close()
    return 0


def _root(script: Path, settings: Settings) -> Path:
    """The project around a script: its repository, or else the directory of its configuration, or its own."""
    directory = script.resolve().parent
    try:
        return git.top_of(directory)
    except git.GitError:
        root = settings.root.resolve()
        return root if directory.is_relative_to(root) else directory


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
        options.time_limit,
        None if options.no_seed else 0,
    )


def _states(options: argparse.Namespace, settings: Settings, root: Path, script: Path) -> list[State]:
    files = {file.resolve() for file in discovery.python_files([root], settings).files} | {script.resolve()}
    sources, _ = intake.read_all(sorted(files))
    mine = next(each for each in split(sources).projects if str(script.resolve()) in each)

    def check(current: Mapping[str, Source]) -> list[Finding]:
        return engine.check(current, settings)

    level = Level.UNSAFE if options.unsafe_fixes else Level.SAFE
    found = states(mine, root, check, level, options.each)
    if not found:
        more = "" if options.unsafe_fixes else "; --unsafe-fixes adds those that can change results"
        raise CommandError(f"nothing to compare: no fix applies to {script} and what belongs to it{more}")
    return found


def _tell(console: Console, done: int, runs: int, name: str) -> None:
    console.note(f"run {done + 1} of {runs}: {name}")


def _extra(name: str) -> Any:
    """A function of a module of the same name that shows a report; None where this perflint has none."""
    place = f"perflint.bench.{name}"
    return getattr(importlib.import_module(place), name) if importlib.util.find_spec(place) else None


def _table(report: Report) -> str:
    table = _extra("table")
    return str(table(report, shutil.get_terminal_size().columns)) if table else plain(report)


def plain(report: Report) -> str:
    """A line for each comparison, and the notes."""
    rows = []
    for item in report.comparisons:
        verdict = "faster" if item.gains else "slower" if item.high < 1 else "no gain measured"
        losses = {True: "same losses", False: "other losses", None: "losses not compared"}[item.same_losses]
        rows.append(
            f"{item.variant}: {item.ips_before:.4g} to {item.ips_after:.4g} ips, "
            f"{item.ratio:.3f}x ({item.low:.3f} to {item.high:.3f}): {verdict}; {losses}\n"
        )
    return "".join([*rows, *(f"{note}\n" for note in report.notes)])


def _write(options: argparse.Namespace, report: Report) -> None:
    wanted = {options.json: json.dumps(report.to_json(), indent=1) + "\n"} if options.json else {}
    if options.html:
        wanted[options.html] = _extra("page")(report)
    for path, text in wanted.items():
        try:
            writing.write_whole(path, text.encode())
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
