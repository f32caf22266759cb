"""What ``tests.programs.judge`` takes from the reasons of fixes is what the checks say today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.programs.judge import ADMITTED

ROOT = Path(__file__).resolve().parents[1]
_BREAK = re.compile(r'"\s*\n\s*f?"')
"""Where a long text goes on in the next row."""
_ALTERNATIVE = re.compile(r"\|(?![^(]*\))")
"""A ``|`` outside of parentheses."""


def _said() -> str:
    """All texts of perflint, each in one row, with ``{are}`` as ``are``."""
    paths = [*sorted((ROOT / "perflint").rglob("*.py")), *sorted((ROOT / "rules").glob("*.yaml"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return re.sub(r"\{(\w+)\}", r"\1", _BREAK.sub("", text))


SAID = _said()


@pytest.mark.parametrize("pattern", [each for pattern, _ in ADMITTED for each in _ALTERNATIVE.split(pattern)])
def test_a_reason_that_the_judge_looks_for_is_one_that_perflint_gives(pattern: str) -> None:
    """A reason that is reworded has to be reworded there too, or the judge no longer admits what it says."""
    assert re.search(pattern, SAID), f"no check says {pattern!r}: write it in tests/programs/judge.py as the check does"
