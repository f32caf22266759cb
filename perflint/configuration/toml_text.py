"""Reads and writes TOML.

A stranger may have written it, so it is read in bounded time, and errors say their line: ``tomllib`` by itself takes
minutes for a key with a hundred thousand dots in it, since its time grows with the square of their number, and fails
without a line on a number of five thousand digits. Values are written for error messages and for ``perflint config``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from perflint.findings import Confidence, ImpactLevel
from perflint.text.visible import is_plain

# --- writing

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


# --- reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]  # not installed where tomllib is there

_MOST_PARTS = 100
"""How many parts a dotted key may have."""

_QUOTED = re.compile(r"""(?s:"[^"\\]*(?:\\.[^"\\]*)*"?|'[^']*'?)""")
"""A string on one line; an unclosed one extends to the end, so that the search does not restart from each place."""


class TomlError(ValueError):
    """A text that is not TOML, or cannot be read; ``line`` counts from 1, None if unknown."""

    def __init__(self, problem: str, line: int | None) -> None:
        """Store the problem, in words that follow the name of the file."""
        super().__init__(problem)
        self.line = line


def parse(text: str) -> dict[str, Any]:
    """Parse a text into its tables, keys and values.

    Raises:
        TomlError: it cannot be read.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= _MOST_PARTS and any(map(_is_long_key, _words(line))):
            raise TomlError(f"a key with more than {_MOST_PARTS} parts cannot be read", number)
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", reason)
        row = int(at[1]) if at and at[1] else len(text.removesuffix("\n").split("\n"))
        raise TomlError(f"not valid TOML: {reason[: at.start()] if at else reason}", row) from error
    except RecursionError as error:
        raise TomlError("not valid TOML: brackets nested too deeply", None) from error
    except ValueError as error:  # Python cannot read numbers with thousands of digits
        longest = max(re.finditer(r"[0-9][0-9_]*", text), key=lambda match: len(match[0]))
        row, digits = text.count("\n", 0, longest.start()) + 1, len(longest[0])
        raise TomlError(f"a number of {digits} digits cannot be read: write a smaller one", row) from error
    return data


def _words(line: str) -> list[str]:
    """The parts between brackets, commas and equals signs of a line of TOML; a quoted string becomes one character."""
    plain = _QUOTED.sub("x", line).partition("#")[0]
    return re.split(r"[\[\]{},=\s]+", re.sub(r"[ \t]+", "", plain))


def _is_long_key(word: str) -> bool:
    parts = word.split(".")
    return len(parts) > _MOST_PARTS and all(parts)
