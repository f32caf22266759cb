"""A script with the mistake of a rule, and the same with the rule's own fix, made by perflint's engine."""

from __future__ import annotations

from pathlib import Path

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix.fixer import apply
from perflint.run import engine
from perflint.text.source import Source

SHARED = ("networks.py", "photos.py", "running.py", "samples.py")
"""What the scripts import; perflint reads those beside a script along with it."""


def found(script: Path, code: str) -> list[Finding]:
    """What one rule finds in a script."""
    beside = [script.parent / name for name in SHARED if (script.parent / name).exists()]
    sources = {path.name: Source(path.name, path.read_text(encoding="utf-8")) for path in (*beside, script)}
    settings = Settings(join_lines=False, extend_select=(code,), min_impact=ImpactLevel.LOW)
    return [finding for finding in engine.check(sources, settings) if finding.code == code]


def fixed(script: Path, code: str) -> str:
    """The text of a script after the fix of a rule; a fix that is only shown is made as it is shown.

    Where the fix is words, the text is that of ``..._fixed.py`` beside the script, which was written by hand.

    Raises:
        ValueError: the rule finds nothing, or its finding has no edits and there is no such file.
    """
    findings = found(script, code)
    if not findings:
        raise ValueError(f"{script}: {code} finds nothing in it")
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    edits = [fix for fix in fixes if fix.level > Level.DISPLAY] or [fix for fix in fixes if fix.edits]
    if edits:
        return apply(script.read_text(encoding="utf-8"), edits).text
    by_hand = script.with_stem(script.stem + "_fixed")
    if not by_hand.exists():
        raise ValueError(f"{script}: the finding of {code} has no edits, so write {by_hand.name}")
    return by_hand.read_text(encoding="utf-8")
