"""One finding for all places of one cause: what several lines of a loop keep is told once, and names the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perflint.findings import Confidence, Related
from perflint.lint.beside import Loop, LoopPlaces, loop_of
from perflint.lint.context import Draft

_TOLD_ONCE = {"PPF212": "keeps a graph, too"}
"""Rules whose places in one loop have one cause, and one edit: mending some of them wins nothing."""

_Cause = tuple[str, str, Loop, bool]


def told_once(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts of a whole project: of those with one cause the surest, and of several the first."""
    groups: dict[_Cause, list[Draft]] = defaultdict(list)
    for draft in drafts:
        cause = _cause(draft)
        if cause is not None:
            groups[cause].append(draft)
    told = {cause: _named(sorted(group, key=_order)) for cause, group in groups.items()}
    found = []
    for draft in drafts:
        cause = _cause(draft)
        if cause is None:
            found.append(draft)
        elif draft.start == told[cause].start:
            found.append(told[cause])
    return found


def _cause(draft: Draft) -> _Cause | None:
    """What a finding is told together with; None for one that stands for itself, such as a silenced one."""
    if draft.code not in _TOLD_ONCE or draft.step is None or draft.is_silenced:
        return None
    return draft.code, draft.path, loop_of(draft.step), draft.confidence is Confidence.LOW


def _order(draft: Draft) -> tuple[int, int]:
    return -draft.confidence, draft.start


def _named(group: list[Draft]) -> Draft:
    """The first of some findings, which names the others."""
    first, *others = group
    rows = sorted({other.line for other in others} - {first.line})
    if not others:
        return first
    lines = f", at {LoopPlaces((first.path, row) for row in rows).lines(first.path)}" if rows else ""
    said = f" (and {len(others)} more{lines})"
    related = tuple(Related(first.path, row, _TOLD_ONCE[first.code]) for row in rows)
    return replace(first, fields={**first.fields, "others": said}, related=(*first.related, *related))
