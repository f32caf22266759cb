"""``--diff``: what ``--fix`` would write, as a unified diff for ``patch -p0`` and ``git apply -p0``.

It follows ``git diff``. A name with control characters, a quote or a backslash is put in quotes, as in C
(``"a\nb.py"``), which git and patch both read. The lines of a file are written byte for byte if a program reads the
diff, since it would not apply otherwise; on a terminal, control characters are escaped.

Lines above the diff of a file say which findings its edits repair, and why some are unsafe; ``patch`` and ``git apply``
skip them, since they ignore text that stands before a diff:

    # train.py:91 PPF101: load in worker processes (unsafe: with a fixed seed the shuffle order changes)
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from difflib import unified_diff

from perflint.findings import Level
from perflint.fix.fixer import FixOutcome
from perflint.text.source import BOM, Source
from perflint.text.visible import Palette, pieces, visible, visible_line

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
