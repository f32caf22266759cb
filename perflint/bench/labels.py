"""Names of variants, cut to the room there is, and safe to stand in a terminal or in a page."""

from __future__ import annotations

from html import escape

from perflint.text.visible import visible
from perflint.text.width import char_width


def width(text: str) -> int:
    """Display columns that a text takes."""
    return sum(map(char_width, text))


def shortened(text: str, columns: int) -> str:
    """Text for at most ``columns`` display columns, its middle cut out if need be; control characters are shown."""
    text = visible(text)
    if width(text) <= columns:
        return text
    head = max(0, columns - 1) // 3
    tail = max(0, columns - 1 - head)
    return f"{_fitting(text, head)}…{_fitting(text[::-1], tail)[::-1]}"


def start_of(text: str, columns: int) -> str:
    """The beginning of a text, in at most ``columns`` display columns; control characters are shown."""
    text = visible(text)
    return text if width(text) <= columns else f"{_fitting(text, columns - 1)}…"[: max(0, columns)]


def _fitting(text: str, columns: int) -> str:
    taken = 0
    for at, char in enumerate(text):
        taken += char_width(char)
        if taken > columns:
            return text[:at]
    return text


def markup(text: str) -> str:
    """Text for HTML or SVG, between tags or in a quoted attribute.

    A path may hold control characters, which neither allows, and half of a surrogate pair, which UTF-8 does not.
    """
    return escape(visible(text))
