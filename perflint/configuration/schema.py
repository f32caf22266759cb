"""The JSON schema of ``[tool.perflint]``, which editors use to complete and check settings.

``keys`` has the allowed values of each key, next to the function that reads them; this module has the parts that keys
share, and builds the whole schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_WORD_START = r"[^\u0000-@\[-\^`{-\u007f]"
_WORD = rf"{_WORD_START}[^\u0000-/:-@\[-\^`{{-\u007f]*"
r"""A Python name, which need not be ASCII. (The meaning of ``\w`` differs between readers of schemas.)"""


URL = "https://raw.githubusercontent.com/perflint-paddle/perflint/main/schemas/perflint.json"

MOST_NUMBER = 1_000_000
"""The largest number for anything that is counted; a larger one is a mistake, or an attempt to exhaust the memory."""


def number(least: int) -> Schema:
    """The schema of a whole number from ``least`` to ``MOST_NUMBER``."""
    return {"type": "integer", "minimum": least, "maximum": MOST_NUMBER}


def named(definition: str) -> Schema:
    """A reference to one of the shared definitions."""
    return {"$ref": f"#/definitions/{definition}"}


def array_of(definition: str) -> Schema:
    """A list of values that match a definition."""
    return {"type": "array", "items": named(definition)}


def table_of(key: str, value: str) -> Schema:
    """A table whose keys match one definition and whose values match another."""
    return {"type": "object", "propertyNames": named(key), "additionalProperties": named(value)}


def _call(first: str, *others: str, required: Iterable[str] = ()) -> Schema:
    """The declaration of a function: the name of a parameter, or a table with that and with numbers."""
    numbers = {key: number(0) for key in others}
    table = {"type": "object", "properties": {first: named("parameter"), **numbers}, "additionalProperties": False}
    return {"anyOf": [named("parameter"), {**table, "required": [*required]} if required else table]}


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


def whole(
    keys: Mapping[str, Schema],
    about: Mapping[str, str],
    defaults: Mapping[str, Any],
    known: Mapping[str, Iterable[str]],
) -> dict[str, Any]:
    """The whole schema, in draft 7 of JSON Schema.

    Args:
        keys: which values each key may have.
        about: what each key is for, in a sentence.
        defaults: the default values, by key.
        known: the words that select each rule besides its code, by code.
    """
    properties = {}
    for key, schema in keys.items():
        # In draft 7, everything next to a "$ref" is ignored.
        shape = {"allOf": [schema]} if "$ref" in schema else schema
        default = {"default": defaults[key]} if key in defaults else {}
        properties[key] = {"description": about[key], **shape, **default}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": URL,
        "title": "perflint",
        "description": "Settings of perflint: perflint.toml, or the table tool.perflint of pyproject.toml.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "definitions": {"rule": _rule(known), **_SHARED},
    }


def _rule(known: Mapping[str, Iterable[str]]) -> Schema:
    """Everything that can select rules, including each prefix of a code."""
    beginnings = {code[:length] for code in known for length in range(1, len(code) + 1)}
    words = {word for words in known.values() for word in words}
    text = "The code of a rule, the beginning of codes, a name, a group, or ALL."
    return {"description": text, "type": "string", "enum": ["ALL", *sorted(beginnings), *sorted(words)]}
