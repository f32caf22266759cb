"""``perflint profile``: run a training script once, and show where the time of a step goes.

Only this command and ``perflint bench`` run the code that they are given. What both need is here as well: where the
script is copied from, checks before the run, errors, and outputs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perflint.bench import notes
from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE
from perflint.bench.script_run import Plan, RunFailed
from perflint.bench.variants import VariantFiles
from perflint.commands import CommandError, as_command_error
from perflint.commands.print_report import insist_inside
from perflint.commands.read_files import resolve_settings
from perflint.configuration.settings import Settings
from perflint.files import writing
from perflint.inputs import git
from perflint.inputs.projects import imported_files
from perflint.output.console import Console
from perflint.profile.measured_budget import budget_lines, measured_budget
from perflint.profile.profile_page import profile_page
from perflint.profile.profile_report import ProfileReport, profile_table, summed_up
from perflint.run import discovery
from perflint.text.source import Source
from perflint.text.visible import palette, visible_line
from perflint.trace.budget import SYNC_FREE


def run(options: argparse.Namespace, console: Console) -> int:
    """Run the script and report; return 1 with ``--budget`` if a step did more than it may, else 0.

    Raises:
        CommandError: the script does not exist, fails or makes no steps, or a file cannot be written.
    """
    insist_possible(options)
    settings = resolve_settings(options, [options.script])
    plan = plan_run(options, settings.root, seed=None, profile=True)
    if options.budget:
        _insist_on_budget(options.script, settings)
    console.note(f"perflint profile RUNS {options.script}, in a copy of {plan.root}")
    bench = Bench(plan, options.time_limit)
    with errors_for_people():
        outcome = bench.run(VariantFiles(BEFORE))
    made = len(outcome.steps.batch_s)
    few = [f"The script made {made} of the {plan.steps} steps to be measured."] if made < plan.steps else []
    report = summed_up(plan, outcome, [*few, *notes.of_files(*bench.linked_and_written())])
    console.write(
        profile_table(report, shutil.get_terminal_size().columns, options.top, palette(sys.stdout, options.color))
    )
    found = measured_budget(report, plan.root, _loaded(report, plan.root), settings) if options.budget else None
    for line in budget_lines(found) if found is not None else ():
        console.write(f"{visible_line(line)}\n")
    if options.json:
        data = {**report.to_json(), **({"budget": found.to_json()} if found is not None else {})}
        write_file(options.json, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    if options.html:
        write_file(options.html, profile_page(report, options.top))
    return 1 if found is not None and found.is_exceeded else 0


def _insist_on_budget(script: Path, settings: Settings) -> None:
    """Raises CommandError if nothing says what a step may do, before a run that could take long."""
    files = [script, *imported_files([script], settings.root)]
    sources, _ = discovery.read_all(files)
    if not settings.budget and not any(SYNC_FREE.search(source.text) for source in sources.values()):
        raise CommandError(
            "--budget: nothing says what a step may do: set waits = 2 in [tool.perflint.budget], or mark a loop with "
            "# perflint: sync-free"
        )


def _loaded(report: ProfileReport, root: Path) -> dict[str, Source]:
    """The files of the project that a script has loaded, by their full paths."""
    sources, _ = discovery.read_all(sorted(root / path for path in report.files))
    return sources


# -- what all commands that run a script share ------------------------------------------------------------------------


def insist_possible(options: argparse.Namespace) -> None:
    """Check before the run that the script and its interpreter exist and that the output files can be written.

    Raises:
        CommandError: one of these is not so.
    """
    if not options.script.is_file():
        raise CommandError(f"{options.script} is not a file: name the script that trains")
    if options.python and shutil.which(options.python) is None:
        raise CommandError(f"--python {options.python}: there is no program of this name")
    for option, path in (("--json", options.json), ("--html", options.html)):
        if path is None:
            continue
        insist_inside(f"{option} {path}", path)
        if not path.absolute().parent.is_dir():
            raise CommandError(f"{path} cannot be written: {path.absolute().parent} is not a directory")


def plan_run(options: argparse.Namespace, configured: Path, seed: int | None, profile: bool = False) -> Plan:
    """How the script is run.

    Args:
        options: those of the command line.
        configured: the directory of the configuration that applies to the script, or of any other.
        seed: None leaves the seeds alone.
        profile: whether to record what the time of the steps is spent on.

    Raises:
        CommandError: a whole home directory would have to be copied.
    """
    root = _root(options.script, configured)
    here = Path.cwd().resolve()
    real = options.script.resolve()
    directory = here if here.is_relative_to(root) else real.parent
    return Plan(
        root,
        real.relative_to(root),
        directory.relative_to(root),
        options.arguments,
        _interpreter(options.python),
        options.warmup,
        options.steps,
        seed,
        stall_limit=options.stall_limit,
        launch=shlex.split(getattr(options, "launch", None) or ""),
        profile=profile,
    )


def _interpreter(named: str | None) -> str:
    """The interpreter that runs the script: a path is relative to here, and not to the copy of the project.

    A link is not followed, because the interpreter of a virtual environment is one.
    """
    if not named:
        return sys.executable
    return str(Path(named).absolute()) if Path(named).name != named else named


def _root(script: Path, configured: Path) -> Path:
    """The project around a script: its repository, else the directory of its configuration, else its own directory."""
    directory = script.resolve().parent
    try:
        return git.top_of(directory)
    except git.GitError:
        root = configured.resolve()
        found = root if directory.is_relative_to(root) else directory
    if found in (Path.home().resolve(), Path(found.anchor)):
        raise CommandError(f"{script} would need a copy of all of {found}: move it to its own directory")
    return found


@contextmanager
def errors_for_people() -> Iterator[None]:
    """A context for runs that turns their failures into errors with what the script has printed.

    Raises:
        CommandError: a run has failed.
    """
    try:
        yield
    except RunFailed as error:
        first, *more = str(error).split("\n")
        raise CommandError(first, [f"  | {line}" for line in more]) from error
    except OSError as error:
        raise CommandError(f"the script could not be run: {error}") from error


def write_file(path: Path, text: str) -> None:
    """Write one file completely, or not at all.

    Raises:
        CommandError: it cannot be written.
    """
    with as_command_error(OSError, place=f"{path} cannot be written: "):
        writing.write_whole(path, text.encode())
