"""The rows of ``rules.yaml``: what the fix of each rule removes, and how that is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

FOLDER = Path(__file__).resolve().parent
TABLE = FOLDER / "rules.yaml"
IPS_SCRIPTS = FOLDER.parent / "ips" / "scripts"
SCRIPTS = FOLDER / "scripts"

_PAIRS = ("removes", "raises", "keeps")
Pairs = dict[str, tuple[float, float]]
"""By the name of a figure, how much of it there is before and after the fix."""
Way = Literal["run", "build", "two processes"]


@dataclass(frozen=True)
class Row:
    """How the fix of one rule is counted; ``rules.yaml`` says what the keys mean."""

    code: str
    removes: Pairs = field(default_factory=dict)
    raises: Pairs = field(default_factory=dict)
    keeps: Pairs = field(default_factory=dict)
    launches: float = 0
    because: str = ""
    per: str = "step"
    every: int = 1
    steps: tuple[int, int] = (2, 6)
    arguments: tuple[int, ...] = ()
    calls: dict[str, str] = field(default_factory=dict)
    way: Way = "run"
    note: str = ""
    launched: bool = True
    cuda: bool = False

    @property
    def figures(self) -> Pairs:
        """All figures that the row says something about."""
        return {**self.removes, **self.raises, **self.keeps}

    @property
    def script(self) -> Path:
        """The script with the mistake of the rule: one of its own, or else that of the suite in tests/ips."""
        found = [path for folder in (SCRIPTS, IPS_SCRIPTS) for path in sorted(folder.glob(f"{self.code.lower()}_*.py"))]
        return next(path for path in found if not path.stem.endswith("_fixed"))

    @property
    def by_hand(self) -> Path:
        """The script as fixed by hand, which is there only where the finding has no edits to make."""
        return self.script.with_stem(self.script.stem + "_fixed")


@cache
def rows() -> dict[str, Row]:
    """All rows by the code of their rule."""
    data: dict[str, dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {code: _row(code, values) for code, values in data.items()}


def _row(code: str, values: dict[str, Any]) -> Row:
    changed: dict[str, Any] = {key: tuple(values[key]) for key in ("steps", "arguments") if key in values}
    for key in _PAIRS:
        changed[key] = {name: tuple(pair) for name, pair in values.get(key, {}).items()}
    for key in ("because", "note"):
        changed[key] = " ".join(values.get(key, "").split())
    return Row(code, **{**values, **changed})
