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
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control and format characters, lone surrogates, separators of lines and paragraphs."""
_BLANK_LETTERS = frozenset((0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0))
"""Letters that are invisible."""
_NO_CHARACTERS = frozenset((0xFFFE, 0xFFFF))
"""Characters that XML does not allow."""
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}
_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""Azure Pipelines, GitHub and TeamCity search for these anywhere in a line."""
_HASH = r"\x23"


def is_plain(char: str) -> bool:
    """Whether a character is shown unchanged: it is visible, and not a control character."""
    code = ord(char)
    return unicodedata.category(char) not in _HIDDEN and code not in _BLANK_LETTERS and code not in _NO_CHARACTERS


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
