"""What fixes change: written to the files (``--fix``, ``--add-noqa``), or shown as a diff (``--diff``).

The result goes to standard output if the text came from standard input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from perflint import REPORT_TO
from perflint.commands.read_files import Batch
from perflint.files import plain_files
from perflint.files.plain_files import outside, project_around
from perflint.files.writing import replace_file
from perflint.fix.fixer import FixOutcome
from perflint.output.console import Console
from perflint.text.source import Source
from perflint.text.visible import palette

_INEXACT = "its text cannot be encoded back to the same bytes"


def save_fixes(outcome: FixOutcome, batch: Batch, console: Console) -> list[str]:
    """Write all changed files; return the paths of those that could not be written (each is reported)."""
    if batch.piped is not None:
        return _pass_on(outcome, batch, batch.piped, console)
    return [path for path, after in outcome.changed.items() if not write_source(batch.sources[path], after, console)]


def write_source(before: Source, after: Source, console: Console) -> bool:
    """Write one file, if it is still the same as when it was read; otherwise report it and return False."""
    path = Path(after.path)
    try:
        data, new = plain_files.read(path), after.encode(after.text)
        if data == new:
            return True  # it was already written under another name (a hard link)
        if not _is_exact(before, data):
            console.note(f"error: {path} was left unchanged: it changed during the run, or {_INEXACT}")
            return False
        replace_file(path, new)
    except OSError as error:
        console.note(f"error: {path} was left unchanged: it could not be written: {error.strerror or error}")
        return False
    project = project_around(path)
    elsewhere = outside(path, project)
    if elsewhere is not None:
        console.note(f"warning: {path} leads out of {project} through a link: {elsewhere} was changed")
    return True


def _pass_on(outcome: FixOutcome, batch: Batch, data: bytes, console: Console) -> list[str]:
    lost = [path for path in outcome.changed if not _is_exact(batch.sources[path], data)]
    for path in lost:
        console.note(f"error: {path} was passed on unchanged: {_INEXACT}")
    fixed = [after.encode(after.text) for path, after in outcome.changed.items() if path not in lost]
    console.write_bytes(fixed[0] if fixed else data)
    return lost


def _is_exact(source: Source, data: bytes) -> bool:
    """Whether the source encodes to exactly these bytes, so that a fix changes nothing but its edits."""
    try:
        return source.encode(source.text) == data
    except UnicodeEncodeError:
        return False


def print_diff(
    options: argparse.Namespace,
    before: Mapping[str, Source],
    after: Mapping[str, Source],
    console: Console,
    outcome: FixOutcome | None = None,
) -> None:
    """A unified diff of each file of ``after``: for people, and for ``patch``.

    Args:
        options: the arguments.
        before: the files as they are.
        after: the files that would be written.
        console: where the diff goes.
        outcome: the findings whose edits these are; the diff then says above each file what it repairs.
    """
    from perflint.output import diff

    colours = palette(sys.stdout, options.color)
    for path in sorted(after):
        lines = diff.unified(before[path], after[path])
        why = list(diff.reasons(outcome, before[path])) if outcome is not None else []
        if colours.enabled or sys.stdout.isatty():
            console.write("".join([*map(colours.frame, why), *diff.paint(lines, colours)]))
        else:
            console.write_bytes("".join(why).encode("utf-8", "surrogateescape") + diff.encode(lines, before[path]))


def print_shortcomings(outcome: FixOutcome, console: Console) -> None:
    """Report what fixing could not do, one line each."""
    for rejected in outcome.rejected:
        what = f"{rejected.path}: the fix for {', '.join(rejected.codes)} was not made: {rejected.reason}"
        if rejected.bug:
            console.note(f"error: {what}. This is a bug in perflint: please report it, with the file, at {REPORT_TO}")
        else:
            console.note(f"warning: {what}")
    if not outcome.settled:
        console.note("warning: there is more to fix: run the same command again")
