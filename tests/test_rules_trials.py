"""The edits of all rules pass their trials by themselves: the trial is a net, and no rule may lean on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import Fix
from perflint.fix.trial import Trials
from perflint.run import engine
from perflint.text.source import Source

EXAMPLES = [
    pytest.param(example.bad, id=f"{rule.code}-{example.title}")
    for rule in catalogue.shipped().values()
    for example in rule.examples
    if example.bad is not None
]
SCRIPTS = sorted((Path(__file__).parent / "training").glob("*.py"))
TRAINED = [pytest.param(path.read_text(encoding="utf-8"), id=path.stem) for path in SCRIPTS]


@pytest.mark.parametrize("text", [*EXAMPLES, *TRAINED])
def test_no_fix_loses_its_edit_or_its_level(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[tuple[Fix, Fix]] = []
    tried = Trials.tried

    def noted(self: Trials, fix: Fix | None) -> Fix | None:
        result = tried(self, fix)
        if fix is not None and result is not None:
            pairs.append((fix, result))
        return result

    monkeypatch.setattr(Trials, "tried", noted)
    engine.check({"example.py": Source("example.py", text)}, Settings(join_lines=False, select=("ALL",)))
    for fix, result in pairs:
        assert result.level is fix.level, f"{fix.message}: {result.reason}"
        assert bool(result.edits) == bool(fix.edits), f"{fix.message}: {result.reason}"
