"""The scripts of the suite: one a rule, as it stands and with the rule's own fix made by perflint's engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix.fixer import apply
from perflint.run import engine
from perflint.text.source import Source

SCRIPTS = Path(__file__).resolve().parent / "scripts"
SHARED = ("host_and_card.py", "networks.py", "photos.py", "running.py")
"""What the scripts import; perflint reads them along with each script."""

_TWIN = "_fixed"


@dataclass(frozen=True)
class Case:
    """The script of one rule: its code and its path in ``SCRIPTS``."""

    code: str
    script: Path

    @property
    def twin(self) -> Path:
        """The script as fixed by hand; there is one only where the finding has no edits to apply."""
        return self.script.with_stem(self.script.stem + _TWIN)


@cache
def cases() -> dict[str, Case]:
    """All scripts by the code of their rule."""
    scripts = [path for path in sorted(SCRIPTS.glob("ppf*.py")) if not path.stem.endswith(_TWIN)]
    return {case.code: case for case in (Case(path.name[:6].upper(), path) for path in scripts)}


_IN_FLOAT32 = ("PPF301",)


def findings(script: str, text: str, *codes: str) -> list[Finding]:
    """What the rules that are on by default find in the text of a script, and the rules with these codes.

    All scripts train in float32, so that their weights can be compared bit for bit.
    """
    shared = {name: Source(name, (SCRIPTS / name).read_text(encoding="utf-8")) for name in SHARED}
    return engine.check(
        {**shared, script: Source(script, text)},
        Settings(join_lines=False, extend_select=codes, ignore=_IN_FLOAT32, min_impact=ImpactLevel.LOW),
    )


@cache
def fixed(case: Case) -> str:
    """The text of a script after the fix of its rule; other rules' fixes are not made.

    A fix that is only shown is made as it is shown, since no one is there to decide.

    Raises:
        ValueError: the finding shows no edits, and there is no twin.
    """
    text = case.script.read_text(encoding="utf-8")
    fixes = [
        item.fix
        for item in findings(case.script.name, text, case.code)
        if item.code == case.code and item.fix is not None
    ]
    applicable = [fix for fix in fixes if fix.level > Level.DISPLAY] or [fix for fix in fixes if fix.edits]
    if applicable:
        return apply(text, applicable).text
    if not case.twin.exists():
        raise ValueError(f"{case.script.name}: the finding of {case.code} has no edits, so write {case.twin.name}")
    return case.twin.read_text(encoding="utf-8")
