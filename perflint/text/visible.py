r"""Text from outside (file names, source, messages, configuration), made safe to be shown: the one place that does it.

perflint reads what anybody may have written and shows it to terminals and to the logs of CI systems, which obey some
of what they are shown.  Every writer hands such text to one of the functions here:

- what steers a terminal (ESC, the other control characters) or hides or turns round the text beside it (zero-width
  characters, bidirectional overrides) becomes an escape such as ``\x1b`` or ``\u202e``, as in a Python string;
- a line end becomes ``\n``, so that no name can begin a line of its own;
- a byte of a path that is no text becomes ``\xff``;
- what CI systems take for a command is broken up: ``##vso[`` becomes ``#\x23vso[``, and a line that would begin with
  ``::`` does not.

A backslash stays as it is, since paths of Windows are full of them.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control and format characters, lone surrogates, separators of lines and paragraphs."""
_BLANK_LETTERS = frozenset((0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0))
"""Letters that show nothing."""
_NO_CHARACTERS = frozenset((0xFFFE, 0xFFFF))
"""Which XML cannot hold."""
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}
_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""Azure Pipelines, GitHub and TeamCity look for these anywhere in a line."""
_HASH = r"\x23"


def is_plain(char: str) -> bool:
    """Whether a character is shown as itself: it takes room, and steers nothing."""
    code = ord(char)
    return unicodedata.category(char) not in _HIDDEN and code not in _BLANK_LETTERS and code not in _NO_CHARACTERS


def pieces(text: str) -> list[str]:
    """What is shown for each character of ``text``, in its order."""
    shown = [_TABLE[ord(char)] for char in text]
    for match in _COMMAND.finditer(text):
        shown[match.start() + 1] = _HASH
    return shown


def visible(text: str, keep: str = "") -> str:
    r"""``text`` as it can be shown within a line.

    >>> print(visible("a\n::error::\x1b[2J"))
    a\n::error::\x1b[2J

    Args:
        text: what somebody else has written.
        keep: control characters that stay, such as a tab.
    """
    if text.isascii() and text.isprintable() and "##" not in text:
        return text
    return "".join(char if char in keep else shown for char, shown in zip(text, pieces(text), strict=True))


def visible_line(text: str, keep: str = "") -> str:
    r"""The same for a whole line: GitHub takes one that begins with ``::`` for a command."""
    shown = visible(text, keep)
    return shown.replace("::", r"\x3a:", 1) if _is_command(shown) else shown


def visible_path(path: str) -> str:
    """``path`` as a line can begin with it: the name ``::error::.py`` becomes ``./::error::.py``."""
    shown = visible(path)
    return f"./{shown}" if _is_command(shown) else shown


def _is_command(shown: str) -> bool:
    return shown.lstrip().startswith("::")


class _Table(dict[int, str]):
    """What is shown for a character, by its code; worked out when it is met first."""

    def __missing__(self, code: int) -> str:
        self[code] = shown = chr(code) if is_plain(chr(code)) else _escape(code)
        return shown


_TABLE = _Table()


def _escape(code: int) -> str:
    if chr(code) in _SHORT:
        return _SHORT[chr(code)]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that os.fsdecode could not decode
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
