"""Writes the results of ``--fix`` and ``--add-noqa``.

They go to the files, or to standard output if the text came from standard input. ``--add-noqa`` is a fix that adds a
``# noqa`` for each finding, so that only new ones are reported from now on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from perflint.commands.read_files import Batch
from perflint.files import plain_files
from perflint.files.inside import outside, project_around
from perflint.files.writing import replace_file
from perflint.findings import Finding, by_place
from perflint.fix.fixer import Check, FixOutcome
from perflint.lint.unused_noqa import CODE as UNUSED
from perflint.output import summary
from perflint.output.console import Console
from perflint.suppress.silencing import with_noqa_as_fix
from perflint.text.source import Source

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


# -- --add-noqa -------------------------------------------------------------------------------------------------------


def silencing(check: Check, reason: str) -> Check:
    """The check, with a ``# noqa`` as the fix of each finding; an unused ``# noqa`` is removed as usual."""

    def checked(sources: Mapping[str, Source]) -> list[Finding]:
        by_path: dict[str, list[Finding]] = defaultdict(list)
        found = []
        for finding in check(sources):
            if finding.code == UNUSED:
                found.append(finding)
            else:
                by_path[finding.path].append(finding)
        for path, findings in by_path.items():
            source = sources.get(path) or Source(path, "")  # the file could not be read
            found += with_noqa_as_fix(source, findings, reason)
        return by_place(found)

    return checked


def closing_of_noqa(outcome: FixOutcome, batch: Batch, what: str, is_lost: bool = False) -> str:
    """The closing line of ``--add-noqa``: how many findings were silenced, and how many are left.

    Args:
        outcome: what was silenced.
        batch: the files that are reported.
        what: the first word, such as "Silenced".
        is_lost: whether a file could not be written.
    """
    left = len(outcome.remaining)
    why = "" if is_lost or outcome.rejected else ", which no comment can silence"
    out = sum(count for (_, code), count in outcome.fixed.items() if code == UNUSED)
    counts = summary.in_files(outcome.fixed_count - out, outcome.changed.keys(), batch.sources)
    notes = [f"{out} unused # noqa removed"] if out else []
    notes += [f"{left} left{why}"] if left else []
    return f"{what} {counts}" + (f" ({'; '.join(notes)})." if notes else ".")
