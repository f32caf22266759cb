"""What people read is written as docs/style.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STYLE = ROOT / "docs" / "style.md"
FILES = sorted(
    path
    for pattern in ("rules/*.yaml", "docs/*.md", "docs/rules/*.md", "*.md", "perflint/**/*.py", "editors/**/README.md")
    for path in ROOT.glob(pattern)
    if path not in (STYLE, ROOT / "CHANGELOG.md") and "_cn" not in path.stem and "node_modules" not in path.parts
)


def _words() -> dict[str, str]:
    """What we do not write, and what we write instead."""
    table = STYLE.read_text(encoding="utf-8").partition("## Words that we do not use")[2]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines() if row.startswith("| ")]
    return {row[0]: row[1] for row in rows[1:]}


def _found(text: str, words: dict[str, str]) -> list[str]:
    """``12: "for ever" should be "forever"``; a phrase may be broken over two lines, also of a comment or a string."""
    found = []
    for phrase, instead in words.items():
        gap = r"(?:\s|\"|#)+"
        for match in re.finditer(rf"\b{gap.join(map(re.escape, phrase.split()))}\b", text):
            found.append(f'{text.count(chr(10), 0, match.start()) + 1}: "{phrase}" should be "{instead}"')
    return found


def test_the_table_is_read() -> None:
    words = _words()
    assert len(words) > 10
    assert words["for ever"] == "forever"


def test_a_phrase_is_found_also_over_two_lines() -> None:
    assert _found("a\nwaits for\n    # ever", _words()) == ['2: "for ever" should be "forever"']
    assert _found("whatever it waits for, every time", _words()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_word_is_used_that_we_do_not_use(path: Path) -> None:
    assert _found(path.read_text(encoding="utf-8"), _words()) == []
