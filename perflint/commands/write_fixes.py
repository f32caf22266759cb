"""What fixes change: written to the files (``--fix``, ``--add-noqa``), or shown as a diff (``--diff``).

The result goes to standard output if the text came from standard input.

A diff is a unified one, for ``patch -p0`` and ``git apply -p0``. It follows ``git diff``. A name with control
characters, a quote or a backslash is put in quotes, as in C (``"a\\nb.py"``), which git and patch both read. The lines
of a file are written byte for byte if a program reads the diff, since it would not apply otherwise; on a terminal,
control characters are escaped.

Lines above the diff of a file say which findings its edits repair, and why some are unsafe; ``patch`` and ``git apply``
skip them, since they ignore text that stands before a diff:

    # train.py:91 PPF101: load in worker processes (unsafe: with a fixed seed the shuffle order changes)
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from perflint import REPORT_TO
from perflint.commands.read_files import Batch
from perflint.files import plain_files
from perflint.files.plain_files import outside, project_around
from perflint.files.writing import replace_file
from perflint.findings import Level
from perflint.fix.fixer import FixOutcome
from perflint.output.console import Console
from perflint.text.source import BOM, Source
from perflint.text.visible import Palette, palette, pieces, visible, visible_line

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
    colours = palette(sys.stdout, options.color)
    for path in sorted(after):
        lines = unified(before[path], after[path])
        why = list(reasons(outcome, before[path])) if outcome is not None else []
        if colours.enabled or sys.stdout.isatty():
            console.write("".join([*map(colours.frame, why), *paint(lines, colours)]))
        else:
            console.write_bytes("".join(why).encode("utf-8", "surrogateescape") + encode(lines, before[path]))


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


_ESCAPES = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\"}
"""How git escapes these bytes of a name; any other byte to be escaped becomes three octal digits."""


def unified(before: Source, after: Source) -> list[str]:
    """The diff of two states of one file, line by line with line ends; the first two lines are the names."""
    name = quoted(before.path)
    # as git does: without the tab, patch would take the name to end at its first space
    if " " in name and name == before.path:
        name += "\t"
    pairs = unified_diff(_lines(before), _lines(after), name, name, lineterm="\n")
    return [part for line in pairs for part in _ended(line)]


def quoted(name: str) -> str:
    r"""A file's name as git shows it: unchanged, or in quotes with escapes.

    >>> print(quoted("train.py"), quoted("a\nb.py"), quoted("\x1b.py"))
    train.py "a\nb.py" "\033.py"
    """
    shown = [_escaped(char, piece) for char, piece in zip(name, pieces(name), strict=True)]
    is_plain = shown == list(name) and not name.startswith(" ")  # a newline would make patch skip the file
    return name if is_plain else f'"{"".join(shown)}"'


def _ended(line: str) -> list[str]:
    return [line] if line.endswith("\n") else [line + "\n", "\\ No newline at end of file\n"]


def _escaped(char: str, piece: str) -> str:
    if piece == char and char not in '"\\':
        return char
    return "".join(_ESCAPES.get(byte, f"\\{byte:03o}") for byte in os.fsencode(char))


def encode(lines: list[str], source: Source) -> bytes:
    """The diff encoded like the file itself, so that it applies whatever the encoding is."""
    encoding = "utf-8" if source.bom else source.encoding
    return b"".join([*map(os.fsencode, lines[:2]), *(line.encode(encoding) for line in lines[2:])])


def paint(lines: list[str], palette: Palette) -> Iterator[str]:
    """The diff for a terminal."""
    paints = {"@": palette.frame, "+": palette.added, "-": palette.removed}
    for number, line in enumerate(lines):
        painted = palette.bold if number < 2 else paints.get(line[:1], str)
        yield painted(visible_line(line.rstrip("\r\n"), keep="\t")) + "\n"


def _lines(source: Source) -> list[str]:
    """The lines as ``patch`` counts them: only ``\\n`` ends one."""
    return list(io.StringIO((BOM if source.bom else "") + source.text, newline="\n"))


def reasons(outcome: FixOutcome, source: Source) -> Iterator[str]:
    """One line for each finding of the first check whose fix is part of the diff of this file.

    Args:
        outcome: what was fixed.
        source: the file before.
    """
    for finding in outcome.first:
        fix = finding.fix
        if fix is None or fix.level < outcome.level or finding.path != source.path:
            continue
        if (source.path, finding.code) not in outcome.fixed:
            continue
        row, _ = source.lines.position(finding.start)
        why = f" (unsafe: {fix.reason})" if fix.level is Level.UNSAFE and fix.reason else ""
        yield f"# {visible(source.path)}:{row} {finding.code}: {visible(fix.message + why)}\n"
