"""``--diff``: what ``--fix`` would write, as a unified diff that ``patch -p0`` and ``git apply -p0`` take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import unified_diff

from perflint.output.colour import Palette
from perflint.source import BOM, Source


def unified(before: Source, after: Source) -> list[str]:
    """The diff of two states of one file, line by line with line ends; the first two lines are the names."""
    # git does the same: without the tab, patch takes a name to end at its first blank.
    name = before.path + ("\t" if " " in before.path else "")
    pairs = unified_diff(_lines(before), _lines(after), name, name, lineterm="\n")
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in pairs]


def encode(lines: list[str], source: Source) -> bytes:
    """The diff in the bytes of the file itself, so that it applies whatever the file's encoding is."""
    encoding = "utf-8" if source.bom else source.encoding
    return b"".join([*map(os.fsencode, lines[:2]), *(line.encode(encoding) for line in lines[2:])])


def paint(lines: list[str], palette: Palette) -> Iterator[str]:
    """The diff for a terminal."""
    for number, line in enumerate(lines):
        text, end = line.rstrip("\r\n"), "\n"
        if number < 2:
            yield palette.bold(text) + end
        elif line.startswith("@@"):
            yield palette.frame(text) + end
        elif line.startswith("+"):
            yield palette.added(text) + end
        else:
            yield (palette.removed(text) if line.startswith("-") else text) + end


def _lines(source: Source) -> list[str]:
    """The lines as patch counts them: only ``\\n`` ends one."""
    text = (BOM if source.bom else "") + source.text
    parts = text.split("\n")
    return [*(part + "\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
