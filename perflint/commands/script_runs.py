"""What the commands that run a script share: where it is copied from, checks before the run, errors, and outputs."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perflint.bench.script_run import Plan, RunFailed
from perflint.commands import CommandError
from perflint.commands.outputs import insist_inside
from perflint.files import writing
from perflint.inputs import git


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


def plan(options: argparse.Namespace, configured: Path, seed: int | None, profile: bool = False) -> Plan:
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


def write(options: argparse.Namespace, as_json: Callable[[], str], as_html: Callable[[], str]) -> None:
    """Write the files that ``--json`` and ``--html`` name.

    Raises:
        CommandError: a file cannot be written.
    """
    for path, text in ((options.json, as_json), (options.html, as_html)):
        if path is not None:
            write_file(path, text())


def write_file(path: Path, text: str) -> None:
    """Write one file completely, or not at all.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        writing.write_whole(path, text.encode())
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
