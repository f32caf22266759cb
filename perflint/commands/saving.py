"""Writes what ``--fix`` made: to the files, or to standard output for what came through standard input."""

from __future__ import annotations

from pathlib import Path

from perflint.commands.reading import Batch
from perflint.files import plain_files
from perflint.files.inside import outside, project_around
from perflint.files.writing import replace_file
from perflint.fix.fixer import FixOutcome
from perflint.output.console import Console
from perflint.text.source import Source

_INEXACT = "its encoding does not give the same bytes back"


def save(outcome: FixOutcome, batch: Batch, console: Console) -> list[str]:
    """Write all changed files; the paths of those that had to stay as they were (each is explained)."""
    if batch.piped is not None:
        return _pass_on(outcome, batch, batch.piped, console)
    return [path for path, after in outcome.changed.items() if not write_source(batch.sources[path], after, console)]


def write_source(before: Source, after: Source, console: Console) -> bool:
    """Write one file, if it still is what was read; False where it had to stay as it was, which is explained."""
    path = Path(after.path)
    try:
        data, new = plain_files.read(path), after.encode(after.text)
        if data == new:
            return True  # it was written under another name that it has (a hard link)
        if not _is_exact(before, data):
            console.note(f"error: {path} was left as it is: it changed during the run, or {_INEXACT}")
            return False
        replace_file(path, new)
    except OSError as error:
        console.note(f"error: {path} was left as it is: it could not be written: {error.strerror or error}")
        return False
    project = project_around(path)
    elsewhere = outside(path, project)
    if elsewhere is not None:
        console.note(f"warning: {path} leads out of {project} through a link: {elsewhere} was changed")
    return True


def _pass_on(outcome: FixOutcome, batch: Batch, data: bytes, console: Console) -> list[str]:
    lost = [path for path in outcome.changed if not _is_exact(batch.sources[path], data)]
    for path in lost:
        console.note(f"error: {path} was passed on as it came: {_INEXACT}")
    fixed = [after.encode(after.text) for path, after in outcome.changed.items() if path not in lost]
    console.write_bytes(fixed[0] if fixed else data)
    return lost


def _is_exact(source: Source, data: bytes) -> bool:
    """Whether the source still is these bytes, so that all but the edits will come out as it went in."""
    try:
        return source.encode(source.text) == data
    except UnicodeEncodeError:
        return False
