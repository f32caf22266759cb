"""Words that we do not use: docs, rules, help texts and docstrings are searched for them (docs/style.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from perflint import cli

ROOT = Path(__file__).resolve().parents[1]
STYLE = ROOT / "docs" / "style.md"


class Unwanted(NamedTuple):
    """A phrase that a native reader stops at: as a regular expression, with the reason and what to write."""

    phrase: str
    reason: str
    instead: str


UNWANTED = (
    Unwanted(r"at least so sure of", "a riddle", "of at least this confidence"),
    Unwanted(r"means no workers", "a call means nothing, it does something", "starts no worker processes"),
    Unwanted(r"(is|are) gone are told", "'told' needs a listener", "perflint lists ... whose finding is gone"),
    Unwanted(r"no bound is told", "'told' needs a listener", "perflint gives no bound"),
    Unwanted(r"is told as well", "'told' needs a listener", "also report"),
    Unwanted(r"no fresh draw", "a private word", "not a new sample"),
    Unwanted(r"for want of", "old-fashioned", "because ... ran out, without"),
    Unwanted(r"whatever becomes of", "old-fashioned", "even if ... is killed"),
    Unwanted(r"of one's own", "stilted", "of the project, of your own"),
    Unwanted(r"there PPF\d+ speaks", "rules do not speak", "PPFnnn reports"),
    Unwanted(r"by an operation of its own", "stilted", "with a separate operation"),
)


def faults(text: str, name: str, first: int = 1) -> list[str]:
    """Each unwanted phrase of a text, with its file and line; a phrase may go on in the next line."""
    found = []
    for item in UNWANTED:
        for match in re.finditer(item.phrase.replace(" ", r"\s+"), text, re.IGNORECASE):
            line = first + text.count("\n", 0, match.start())
            found.append(f"{name}:{line}: {match[0]!r} ({item.reason}): write {item.instead!r}")
    return found


def _written() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "rules").glob("*.yaml"))
    yield from (
        page for page in sorted((ROOT / "docs").glob("*.md")) if not page.stem.endswith("_cn") and page != STYLE
    )


def _docstrings(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value, node.lineno


def test_docs_and_rules() -> None:
    texts = ((path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()) for path in _written())
    assert [fault for text, name in texts for fault in faults(text, name)] == []


def test_docstrings() -> None:
    found = []
    for path in sorted((ROOT / "perflint").rglob("*.py")):
        for text, line in _docstrings(path):
            found += faults(text, path.relative_to(ROOT).as_posix(), line)
    assert found == []


def test_help_texts() -> None:
    parser, commands = cli._parser()
    found = faults(parser.format_help(), "perflint --help")
    for name, command in commands.items():
        found += faults(command.format_help(), f"perflint {name} --help")
    assert found == []


@pytest.mark.parametrize("text", ["what it is at least so\nsure of", "`fit()` means no workers", "for want of memory"])
def test_a_phrase_is_found_with_its_line_and_replacement(text: str) -> None:
    (fault,) = faults(f"Fine.\n{text}", "a.md")
    assert fault.startswith("a.md:2: ")
    assert "write '" in fault
