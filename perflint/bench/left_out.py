"""A note about findings that are not measured, so that nobody thinks the measured ones are all."""

from __future__ import annotations

from collections.abc import Sequence

from perflint.bench.variants import Fixes, has_edit
from perflint.findings import Finding, Level
from perflint.text.visible import counted, listed

_SHOWN = 3
"""How many places of each kind are named; the others are only counted."""


def not_measured(fixes: Fixes, with_suggestions: bool) -> list[str]:
    """A sentence about the findings in files that the script runs that are not part of any variant, if there are any.

    Args:
        fixes: all findings.
        with_suggestions: whether edits that perflint only shows are measured too.
    """
    left = [] if with_suggestions else fixes.suggested()
    bare = [item for item in fixes.found() if not has_edit(item)]
    kinds = [
        (_of_level(left, Level.UNSAFE), "needs --unsafe-fixes", "need --unsafe-fixes"),
        (
            _of_level(left, Level.DISPLAY),
            "is a suggestion, which --suggestions measures as it is shown",
            "are suggestions, which --suggestions measures as they are shown",
        ),
        (bare, "has no edit", "have no edit"),
    ]
    parts = [
        f"{len(items)} {one if len(items) == 1 else many} ({listed(_named(fixes, items), _SHOWN)})"
        for items, one, many in kinds
        if items
    ]
    count = len(left) + len(bare)
    verb = "was" if count == 1 else "were"
    return [f"{counted(count, 'finding')} {verb} not measured: {'; '.join(parts)}."] if parts else []


def _of_level(findings: Sequence[Finding], level: Level) -> list[Finding]:
    return [item for item in findings if item.fix is not None and item.fix.level is level]


def _named(fixes: Fixes, findings: Sequence[Finding]) -> list[str]:
    return [f"{item.code} {fixes.places([item])[0]}" for item in findings]
