"""One run of flake8: checks the paths that flake8 was given once, like ``perflint check``, and keeps the findings.

flake8 may check the files in several processes. Forked processes inherit the findings of the first process; spawned
processes read them from a file whose name is in their environment.
"""

from __future__ import annotations

import argparse
import atexit
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from flake8.exceptions import ExecutionError

from perflint import catalogue, cli
from perflint.commands import CommandError, as_command_error, check, internal_error, is_debugging, read_files
from perflint.commands.read_files import Batch
from perflint.findings import Finding
from perflint.flake8_shared import STDIN, is_worth_checking, left_behind
from perflint.output.report import Report, message
from perflint.query import gathered
from perflint.text.visible import visible

Row = tuple[int, int, str]
"""Row from 1, column from 0, code and message."""

_NAMELESS = "stdin"
"""The name that flake8 uses for standard input if nobody has given it another."""


@dataclass(frozen=True)
class Run:
    """The findings for the paths in ``asked``, by the real path of each file."""

    options: argparse.Namespace
    asked: Sequence[str]
    rows: Mapping[str, Sequence[Row]]

    @classmethod
    def of(cls, options: argparse.Namespace) -> Run:
        """The run for these options of flake8: taken over from the first process, or checked now.

        Raises:
            ExecutionError: the configuration cannot be used.
        """
        rows = _shared(options.filenames)
        return cls(options, [*options.filenames], _check_paths(options) if rows is None else rows)

    def found(self, filename: str, lines: Sequence[str]) -> Sequence[Row]:
        """The findings of a file, by the name that flake8 uses for it, or those of standard input.

        Raises:
            ExecutionError: the configuration cannot be used.
        """
        if STDIN in self.asked and filename == self.options.stdin_display_name:
            return _check_text(self.options, filename, "".join(lines))
        return self.rows.get(os.path.realpath(filename), ())

    def written(self) -> str:
        """Write the findings to a file, which exists until this process ends, and return its path."""
        with tempfile.NamedTemporaryFile("w", prefix="perflint-", suffix=".json", delete=False) as file:
            json.dump({"asked": self.asked, "rows": self.rows}, file)
        atexit.register(_remove, file.name)
        return file.name


def _remove(path: str) -> None:
    with suppress(OSError):
        Path(path).unlink()


def _shared(asked: Sequence[str]) -> Mapping[str, Sequence[Row]] | None:
    """The findings that the parent process has left for these paths; None if it has left none."""
    path = left_behind()
    if not path:
        return None
    try:
        data = json.loads(Path(path).read_bytes())
    except OSError:
        return None
    rows: Mapping[str, Sequence[Row]] = data["rows"]
    return rows if data["asked"] == asked else None


def _check_paths(options: argparse.Namespace) -> dict[str, list[Row]]:
    # flake8 itself reports paths that do not exist.
    paths = [name for name in options.filenames or ["."] if name != STDIN and Path(name).exists()]
    if not paths:
        return {}
    # flake8 decides which files are Python.
    report = _checked(options, paths, lambda namespace: read_files.read(namespace, any_name=True))
    return gathered((os.path.realpath(finding.path), _row(finding, report)) for finding in report.findings)


def _check_text(options: argparse.Namespace, name: str, text: str) -> list[Row]:
    path = Path(STDIN if name == _NAMELESS else name)
    report = _checked(options, [], lambda namespace: read_files.read_text(namespace, path, text))
    return [_row(finding, report) for finding in report.findings]


def _row(finding: Finding, report: Report) -> Row:
    row, column = report.lines(finding.path).position(finding.start)
    return row, column - 1, f"{finding.code} {visible(message(finding))}"


def _checked(options: argparse.Namespace, paths: list[str], read: Callable[[argparse.Namespace], Batch]) -> Report:
    """The findings of a check under flake8's options; none, and a line on standard error, if perflint fails."""
    try:
        with as_command_error(catalogue.CatalogueError):
            namespace = _namespace(options, paths)
        batch = read(namespace)
        if options.disable_noqa:
            batch = replace(batch, settings=replace(batch.settings, noqa=False))
        if not _can_hold_any(batch):
            batch = replace(batch, known=[])
        return check.look(namespace, batch)
    except CommandError as error:
        lines = [f"perflint: {error}", *error.more]
        raise ExecutionError("\n".join(visible(_as_option(line)) for line in lines)) from error
    except Exception as error:  # the other plugins of flake8 should still run
        if is_debugging():
            raise
        print(internal_error(error), file=sys.stderr)
        return Report([], {})


def _can_hold_any(batch: Batch) -> bool:
    settings = batch.settings
    if settings.loaders or settings.sync_calls or settings.checkpoint_calls or settings.logging_calls:
        return True
    return any(is_worth_checking(source.text) for source in batch.sources.values())


def _namespace(options: argparse.Namespace, paths: list[str]) -> argparse.Namespace:
    """The options of ``perflint check`` that correspond to these options of flake8."""
    namespace = cli.parse(["check", "--quiet", "--", *paths])
    if multiprocessing.parent_process() is not None:
        namespace.jobs = 1  # processes started by flake8 may not start processes themselves
    elif not options.jobs.is_auto:
        namespace.jobs = max(options.jobs.n_jobs, 1)
    for name in ("select", "ignore", "min_confidence", "min_impact", "isolated"):
        setattr(namespace, name, getattr(options, f"ppf_{name}"))
    namespace.extend_select = [*(options.ppf_extend_select or ()), *_named(options)] or None
    namespace.config = Path(options.ppf_config) if options.ppf_config else None
    namespace.context = None if options.ppf_context is None else [Path(name) for name in options.ppf_context]
    return namespace


def _named(options: argparse.Namespace) -> list[str]:
    """The rules that are off by default and that flake8's options select by their full codes."""
    off = {code for code, rule in catalogue.shipped().items() if not rule.default}
    return [code for code in (*(options.select or ()), *(options.extend_select or ())) if code in off]


def _as_option(message: str) -> str:
    """A message about an option of perflint, with the option named as in flake8."""
    return message.replace("perflint: --", "perflint: --ppf-", 1) if message.startswith("perflint: --") else message
