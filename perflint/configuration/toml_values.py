"""Writes values as TOML, for error messages and for ``perflint config``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from perflint.findings import Confidence, ImpactLevel
from perflint.text.visible import is_plain

_LONGEST = 60
"""How many characters of a wrong value are shown."""


def with_kind(value: Any) -> str:
    """A value with its kind, such as ``3 (a whole number)``, for the errors that say what was found."""
    for kind, word in (
        (bool, "a boolean"),
        (str, "a string"),
        (int, "a whole number"),
        (float, "a decimal number"),
        (Mapping, "a table"),
        (list | tuple, "a list"),
    ):
        if isinstance(value, kind):
            return f"{quoted(value)} ({word})"
    return f"{value} (a date or time)"


def quoted(value: Any) -> str:
    """A value as TOML, shortened if it is long."""
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST:  # Python may refuse to write such a number
        return "a number of too many digits"
    try:
        return cut(toml(value))
    except (RecursionError, ValueError):  # ValueError: a nested number is too long
        return "too much to show"


def cut(text: str) -> str:
    """A text, shortened if it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def toml(value: Any) -> str:
    """A value as it is written in a TOML file."""
    if isinstance(value, (Confidence, ImpactLevel)):
        return toml(str(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "".join(map(_toml_char, json.dumps(value, ensure_ascii=False))).replace("##", r"#\u0023")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        items = ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    return str(value)


def _toml_char(char: str) -> str:
    """A character in a string of TOML; control characters become escapes."""
    if is_plain(char):
        return char
    return f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"
