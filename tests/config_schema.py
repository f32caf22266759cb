"""Writes the JSON schema of the settings: ``python -m tests.config_schema`` makes ``schemas/perflint.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from perflint import catalogue
from perflint.configuration import keys, toml_text
from perflint.configuration.config_files import DEFAULT_EXCLUDE, describe
from perflint.configuration.keys import SCHEMAS
from perflint.configuration.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "schemas" / "perflint.json"


@cache
def table(page: str = "settings.md") -> Mapping[str, tuple[str, str]]:
    """What a page says of each key: its default, as TOML or in words, and what it is for."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*) \|$", text, re.MULTILINE)
    return {key: (default, about) for key, default, about in rows}


def defaults() -> dict[str, Any]:
    """The values of the keys where nobody has set any; without those that have none."""
    return toml_text.parse(describe(Settings(exclude=DEFAULT_EXCLUDE)))


def made(known: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Any]:
    """The schema.

    Args:
        known: the words that select each rule, by code; None: those of the rules that perflint has.
    """
    about = {key: plain(text) for key, (_, text) in table().items()}
    rules = catalogue.selectors(catalogue.shipped()) if known is None else known
    return keys.whole(SCHEMAS, about, defaults(), rules)


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
