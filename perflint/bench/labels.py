"""Names of variants, shortened to fit, and safe to show in a terminal or on a page."""

from __future__ import annotations

from html import escape

from perflint.text.visible import char_width, visible


def width(text: str) -> int:
    """The number of terminal columns that a text takes."""
    return sum(map(char_width, text))


def shortened(text: str, columns: int) -> str:
    """Text shortened to at most ``columns`` columns by cutting out its middle; control characters are escaped."""
    text = visible(text)
    if width(text) <= columns:
        return text
    head = max(0, columns - 1) // 3
    tail = max(0, columns - 1 - head)
    return f"{_fitting(text, head)}…{_fitting(text[::-1], tail)[::-1]}"


def start_of(text: str, columns: int) -> str:
    """The beginning of a text, in at most ``columns`` columns; control characters are escaped."""
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

    A path may contain control characters, which neither allows, and half of a surrogate pair, which UTF-8 does not
    allow.
    """
    return escape(visible(text))
