"""Writes the JSON schema of the settings: ``python -m tests.config_schema`` makes ``schemas/perflint.json``.

Editors use it to complete and check ``[tool.perflint]``. ``perflint/configuration/keys.py`` reads the same keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from perflint import catalogue
from perflint.configuration import toml_text
from perflint.configuration.config_files import DEFAULT_EXCLUDE, describe
from perflint.configuration.keys import MOST_NUMBER
from perflint.configuration.settings import BUDGETED, Settings

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "schemas" / "perflint.json"


Schema = Mapping[str, Any]

_WORD_START = r"[^\u0000-@\[-\^`{-\u007f]"
_WORD = rf"{_WORD_START}[^\u0000-/:-@\[-\^`{{-\u007f]*"
r"""A Python name, which need not be ASCII. (The meaning of ``\w`` differs between readers of schemas.)"""


URL = "https://raw.githubusercontent.com/perflint-paddle/perflint/main/schemas/perflint.json"


def _number(least: int) -> Schema:
    """The schema of a whole number from ``least`` to ``MOST_NUMBER``."""
    return {"type": "integer", "minimum": least, "maximum": MOST_NUMBER}


def _named(definition: str) -> Schema:
    """A reference to one of the shared definitions."""
    return {"$ref": f"#/definitions/{definition}"}


def _array_of(definition: str) -> Schema:
    """A list of values that match a definition."""
    return {"type": "array", "items": _named(definition)}


def _table_of(key: str, value: str) -> Schema:
    """A table whose keys match one definition and whose values match another."""
    return {"type": "object", "propertyNames": _named(key), "additionalProperties": _named(value)}


def _call(first: str, *others: str, required: Iterable[str] = ()) -> Schema:
    """The declaration of a function: the name of a parameter, or a table with that and with numbers."""
    numbers = {key: _number(0) for key in others}
    table = {"type": "object", "properties": {first: _named("parameter"), **numbers}, "additionalProperties": False}
    return {"anyOf": [_named("parameter"), {**table, "required": [*required]} if required else table]}


_SHARED: Mapping[str, Schema] = {
    "text": {"type": "string", "pattern": r"^[^\u0000]*$"},
    "pattern": {
        "description": "A pattern as in a .gitignore file.",
        "type": "string",
        "pattern": r"^(?!!?\s*$)[^\u0000]*$",
    },
    "release": {
        "description": "The number of a release, or nothing.",
        "type": "string",
        "pattern": r"^((?![0.]*$)[0-9]{1,4}(\.[0-9]{1,4}){0,3})?$",
    },
    "parameter": {"description": "The name of a parameter.", "type": "string", "pattern": rf"^{_WORD}$"},
    "function": {
        "description": "The qualified name of a function, as in an import.",
        "type": "string",
        "pattern": rf"^{_WORD}(\.{_WORD})+$",
    },
    "loader": _call("workers", "position", "default", required=["workers"]),
    "call": _call("tensor", "position"),
}


def _rule(known: Mapping[str, Iterable[str]]) -> Schema:
    """Everything that can select rules, including each prefix of a code."""
    beginnings = {code[:length] for code in known for length in range(1, len(code) + 1)}
    words = {word for words in known.values() for word in words}
    text = "The code of a rule, the beginning of codes, a name, a group, or ALL."
    return {"description": text, "type": "string", "enum": ["ALL", *sorted(beginnings), *sorted(words)]}


_RULES = _array_of("rule")
_PATTERNS = _array_of("pattern")
_SWITCH = {"type": "boolean"}
_LEVEL = {"type": "string", "enum": ["low", "medium", "high"]}
_CALLS = {"anyOf": [_array_of("function"), _table_of("function", "call")]}
_LIMITS = {"type": "object", "properties": {name: _number(0) for name in BUDGETED}, "additionalProperties": False}
_BUDGET = {
    "type": "object",
    "properties": {name: {"anyOf": [_number(0), _LIMITS]} for name in BUDGETED},
    "propertyNames": {"anyOf": [{"enum": [*BUDGETED]}, _named("pattern")]},
    "additionalProperties": _LIMITS,
}
SCHEMAS: Mapping[str, Schema] = {
    "select": _RULES,
    "ignore": _RULES,
    "extend-select": _RULES,
    "per-file-ignores": {**_table_of("pattern", "rule"), "additionalProperties": _RULES},
    "exclude": _PATTERNS,
    "extend-exclude": _PATTERNS,
    "respect-gitignore": _SWITCH,
    "context": _array_of("text"),
    "baseline": _named("text"),
    "profile": _named("text"),
    "budget": _BUDGET,
    "default-workers": _number(1),
    "log-interval": _number(2),
    "min-confidence": _LEVEL,
    "min-impact": _LEVEL,
    "join-lines": _SWITCH,
    "extend-safe-fixes": _RULES,
    "extend-unsafe-fixes": _RULES,
    "loaders": _table_of("function", "loader"),
    "sync-calls": _CALLS,
    "checkpoint-calls": _array_of("function"),
    "logging-calls": _CALLS,
    "line-length": _number(40),
    "target-paddle": _named("release"),
}
"""The values that each key may have."""


@cache
def table(page: str = "settings.md") -> Mapping[str, tuple[str, str]]:
    """What a page says of each key: its default, as TOML or in words, and what it is for."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*) \|$", text, re.MULTILINE)
    return {key: (default, about) for key, default, about in rows}


@cache
def defaults() -> dict[str, Any]:
    """The values of the keys where nobody has set any; without those that have none."""
    return toml_text.parse(describe(Settings(exclude=DEFAULT_EXCLUDE)))


def made(known: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Any]:
    """The schema, in draft 7 of JSON Schema.

    Args:
        known: the words that select each rule, by code; None: those of the rules that perflint has.
    """
    about = {key: plain(text) for key, (_, text) in table().items()}
    rules = catalogue.selectors(catalogue.shipped()) if known is None else known
    properties = {}
    for key, schema in SCHEMAS.items():
        # In draft 7, everything next to a "$ref" is ignored.
        shape = {"allOf": [schema]} if "$ref" in schema else schema
        default = {"default": defaults()[key]} if key in defaults() else {}
        properties[key] = {"description": about[key], **shape, **default}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": URL,
        "title": "perflint",
        "description": "Settings of perflint: perflint.toml, or the table tool.perflint of pyproject.toml.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "definitions": {"rule": _rule(rules), **_SHARED},
    }


_LEFT_OUT = (
    re.compile(r"= \d+\.0$"),  # JSON has one kind of numbers: 4.0 is 4
    re.compile(r"= \[?0x\w{5000}"),  # a number that jsonschema cannot write into its message
    re.compile(r'^exclude = \["\[+"\]$'),  # which brackets git can read, no regular expression says
)
"""Lines that perflint refuses and that are not held against the schema."""


def insist_agreed(text: str, known: Mapping[str, tuple[str, ...]], is_right: bool) -> None:
    """Fail where the schema thinks otherwise than perflint about the text of a perflint.toml; no TOML: nothing."""
    try:
        data = toml_text.parse(text)
    except toml_text.TomlError:
        return
    if not is_right and any(pattern.search(line) for pattern in _LEFT_OUT for line in text.splitlines()):
        return
    validator = jsonschema.Draft7Validator(made(known))
    assert validator.is_valid(data) is is_right, text[:1000]


def plain(text: str) -> str:
    """A sentence of a page without its links and marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def text() -> str:
    """The text of the file."""
    return json.dumps(made(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), encoding="utf-8")
    print(f"wrote {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
