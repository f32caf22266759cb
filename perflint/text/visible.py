r"""Makes text from outside (file names, source, messages, configuration) safe to print; no other module does.

perflint reads text that anybody may have written, and prints it to terminals and logs of CI systems, which execute some
of what they get. Every writer passes such text through one of the functions here:

- what controls a terminal (ESC, the other control characters) or hides or reverses the text next to it (zero-width
  characters, bidirectional overrides) becomes an escape such as ``\x1b`` or ``\u202e``, as in a Python string;
- a line end becomes ``\n``, so that no name can start a new line;
- an undecodable byte of a path becomes ``\xff``;
- what CI systems would treat as a command is broken up: ``##vso[`` becomes ``#\x23vso[``, and a line that would begin
  with ``::`` does not.

A backslash is not escaped, since paths on Windows are full of them.

It also has what else makes text fit for a terminal: widths, colours, and numbers and lists in sentences.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control and format characters, lone surrogates, separators of lines and paragraphs."""
_ALSO_HIDDEN = frozenset((0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0xFFFE, 0xFFFF))
"""Letters that are invisible, and two characters that XML does not allow."""
_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""Azure Pipelines, GitHub and TeamCity search for these anywhere in a line."""
_HASH = r"\x23"


def is_plain(char: str) -> bool:
    """Whether a character is shown unchanged: it is visible, and not a control character."""
    return unicodedata.category(char) not in _HIDDEN and ord(char) not in _ALSO_HIDDEN


def pieces(text: str) -> list[str]:
    """What is shown for each character of ``text``, in its order."""
    shown = [_TABLE[ord(char)] for char in text]
    for match in _COMMAND.finditer(text):
        shown[match.start() + 1] = _HASH
    return shown


def visible(text: str, keep: str = "") -> str:
    r"""``text`` made safe to print within a line.

    >>> print(visible("a\n::error::\x1b[2J"))
    a\n::error::\x1b[2J

    Args:
        text: text from outside.
        keep: control characters to keep, such as a tab.
    """
    if text.isascii() and text.isprintable() and "##" not in text:
        return text
    return "".join(char if char in keep else shown for char, shown in zip(text, pieces(text), strict=True))


def visible_line(text: str, keep: str = "") -> str:
    r"""The same for a whole line: GitHub treats one that begins with ``::`` as a command."""
    shown = visible(text, keep)
    return shown.replace("::", r"\x3a:", 1) if _is_command(shown) else shown


def visible_path(path: str) -> str:
    """``path`` made safe to begin a line: the name ``::error::.py`` becomes ``./::error::.py``."""
    shown = visible(path)
    return f"./{shown}" if _is_command(shown) else shown


def _is_command(shown: str) -> bool:
    return shown.lstrip().startswith("::")


class _Table(dict[int, str]):
    """What is shown for a character, by its code; computed when it first occurs."""

    def __missing__(self, code: int) -> str:
        self[code] = shown = chr(code) if is_plain(chr(code)) else escaped(chr(code))
        return shown


_TABLE = _Table()


def escaped(char: str) -> str:
    """A character as an escape, as in a Python string; a byte that ``os.fsdecode`` could not decode as that byte."""
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


# --- width on a terminal

TAB = 4
LIMIT = 160
"""How many columns of a code line are shown; longer lines are cut around the relevant part."""
_LEAD = 30
_AROUND = 1000
"""How many characters on either side of the relevant part are examined."""


class Shown(NamedTuple):
    """A line as it is shown; character ``i`` of the source is at display column ``columns[i]``, from 0."""

    text: str
    columns: Sequence[int]


def char_width(char: str) -> int:
    """The number of columns that a character takes: 2 for wide (CJK) ones, 0 for combining ones, else 1."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def show(line: str) -> Shown:
    """A source line with tabs expanded and other control characters escaped."""
    parts, columns, at = [], [], 0
    for char, piece in zip(line, pieces(line), strict=True):
        columns.append(at)
        shown = " " * (TAB - at % TAB) if char == "\t" else piece
        parts.append(shown)
        at += sum(map(char_width, shown))
    return Shown("".join(parts), [*columns, at])


def clip(line: str, start: int, end: int, limit: int = LIMIT) -> tuple[str, int, int]:
    """A line to show, and the display columns of its characters ``start:end``.

    If the line is longer than ``limit`` columns, only the part around ``start`` is kept, with an ellipsis for the rest.
    """
    if len(line) > 2 * _AROUND:  # only the part that can be shown is examined: a line may have megabytes
        low = max(0, start - _AROUND)
        near = line[low : start + _AROUND]
        text, left, right = _clipped(near, start - low, min(end - low, len(near)), limit)
        head = "" if low == 0 or text.startswith("…") else "…"
        tail = "" if low + len(near) == len(line) or text.endswith("…") else "…"
        return head + text + tail, len(head) + left, len(head) + right
    return _clipped(line, start, end, limit)


def _clipped(line: str, start: int, end: int, limit: int) -> tuple[str, int, int]:
    whole = show(line)
    if whole.columns[-1] <= limit:
        return whole.text, whole.columns[start], whole.columns[end]
    first = next(i for i, column in enumerate(whole.columns) if column >= max(0, whole.columns[start] - _LEAD))
    head = "…" if first else ""
    last = first
    while last < len(line) and whole.columns[last + 1] - whole.columns[first] <= limit:
        last += 1
    part = show(line[first:last])
    text = head + part.text + ("…" if last < len(line) else "")
    return text, len(head) + part.columns[start - first], len(head) + part.columns[min(end, last) - first]


# --- numbers and lists in sentences


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counted_of(some: int, total: int, noun: str) -> str:
    """Some of a number of things: ``2 of 3 files``, or ``3 files`` if it is all of them."""
    return counted(some, noun) if some == total else f"{some} of {counted(total, noun)}"


def listed(names: Sequence[str], most: int) -> str:
    """The first ``most`` names, and how many more there are.

    >>> listed(["a.py", "b.py", "c.py"], 2)
    'a.py, b.py and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# --- colours

ALWAYS, NEVER = "always", "never"
WHEN = ("auto", ALWAYS, NEVER)
"""The values of ``--color``."""
_WITH_LINKS = frozenset(("iTerm.app", "vscode", "WezTerm", "ghostty"))
"""Terminals that show hyperlinks, by their TERM_PROGRAM."""
_VTE_WITH_LINKS = 5000


class Palette(NamedTuple):
    """Paints text with ANSI codes when ``enabled``; otherwise returns it unchanged.

    ``links``: the terminal shows hyperlinks.
    """

    enabled: bool = False
    links: bool = False

    def bold(self, text: str) -> str:
        """Bold."""
        return self._paint("1", text)

    def code(self, text: str) -> str:
        """The code that a frame points at."""
        return self._paint("1;31", text)

    def rule(self, code: str, url: str | None) -> str:
        """A rule's code, as a link to the page of the rule if the terminal supports it (OSC 8)."""
        painted = self.code(code)
        return f"\x1b]8;;{url}\x1b\\{painted}\x1b]8;;\x1b\\" if self.links and url else painted

    def level(self, text: str) -> str:
        """The mark for the level of a fix."""
        return self._paint("33", text)

    def frame(self, text: str) -> str:
        """Row numbers, bars and headings."""
        return self._paint("36", text)

    def added(self, text: str) -> str:
        """A line that a fix adds."""
        return self._paint("32", text)

    def removed(self, text: str) -> str:
        """A line that a fix removes."""
        return self._paint("31", text)

    def _paint(self, sgr: str, text: str) -> str:
        return f"\x1b[{sgr}m{text}\x1b[0m" if self.enabled and text else text


def palette(stream: TextIO, when: str = "auto") -> Palette:
    """The palette for a stream; ``when`` is the value of ``--color``."""
    enabled = wants_colour(stream, when=when)
    return Palette(enabled, enabled and wants_links(stream))


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ, when: str = "auto") -> bool:
    """Whether to use colour: on a terminal, unless ``when`` (``always``, ``never``) or the environment decides.

    A non-empty NO_COLOR turns it off. Otherwise a non-empty FORCE_COLOR turns it on, and so does a CLICOLOR_FORCE other
    than 0 (https://bixense.com/clicolors).
    """
    if when in (ALWAYS, NEVER):
        return when == ALWAYS
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return takes_codes(stream, environ)


def takes_codes(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream writes to a terminal that supports ANSI codes."""
    if environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32" and not (environ.get("WT_SESSION") or environ.get("TERM")):
        return False  # the old console would print the codes
    return stream.isatty()


def wants_links(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write hyperlinks: on a terminal known to show them, or if FORCE_HYPERLINK is set (0: never).

    Other terminals may show the address itself, or nothing.
    """
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return False
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if environ.get("KITTY_WINDOW_ID") or environ.get("WT_SESSION") or environ.get("TERM_PROGRAM") in _WITH_LINKS:
        return True
    version = environ.get("VTE_VERSION", "")
    return version.isascii() and version.isdigit() and int(version[:9]) >= _VTE_WITH_LINKS
