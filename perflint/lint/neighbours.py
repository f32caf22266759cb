"""Combines findings of one rule at neighbouring statements into one finding, which one edit fixes.

For a step that ends with ::

    losses.append(loss.item())
    accuracies.append(accuracy.item())

one finding is reported, which covers both lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from perflint.findings import Fix, imports_of, merged, overlap
from perflint.lint.beside import loop_of
from perflint.lint.context import Draft

_MOST = 50
"""How many places one finding may be about."""


def grouped(drafts: Iterable[Draft], said: Callable[[Draft], Hashable]) -> list[list[Draft]]:
    """Drafts grouped by the finding that reports them: most alone, neighbours together.

    Args:
        drafts: the drafts of a project.
        said: what a draft says without its own expression; drafts that say different things are reported separately.
    """
    runs: dict[Hashable, list[Draft]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        # A silenced draft is reported separately, because other programs read the comment as well.
        if draft.nth is None or draft.step is None or draft.has_noqa:
            runs[number].append(draft)
        else:
            step = loop_of(draft.step), draft.step.via
            runs[draft.code, draft.path, draft.nth[0], step, draft.confidence, said(draft)].append(draft)
    return [group for run in runs.values() for group in _cut(sorted(run, key=lambda draft: (draft.start, draft.end)))]


def _cut(run: Sequence[Draft]) -> Iterator[list[Draft]]:
    """A run of drafts of one block, split where statements without a draft lie between, or where their fixes differ."""
    group: list[Draft] = []
    for draft in run:
        if group and not (_are_next(group[-1], draft) and len(group) < _MOST and _may_join([*group, draft])):
            yield group
            group = []
        group.append(draft)
    yield group


def _are_next(first: Draft, second: Draft) -> bool:
    return first.nth is not None and second.nth is not None and second.nth[1] - first.nth[1] <= 1


def _may_join(group: Sequence[Draft]) -> bool:
    """Whether the fixes of some drafts are of one kind, and can be applied together."""
    sorts = {(draft.fix is None, draft.fix and (bool(draft.fix.edits), draft.fix.level)) for draft in group}
    return len(sorts) == 1 and not overlap(merged(edit for fix in _fixes(group) for edit in fix.edits))


def fix_of(group: Sequence[Draft]) -> Fix | None:
    """One fix for all drafts of a group."""
    fixes = _fixes(group)
    if len(fixes) <= 1:
        return fixes[0] if fixes else None
    title, reason = ("; ".join(dict.fromkeys(filter(None, words))) for words in _words(fixes))
    edits = merged(edit for fix in fixes for edit in fix.edits)
    imports, unneeded = imports_of(fixes)
    newest = max((fix.paddle for fix in fixes), key=_release)
    return Fix(title, edits, fixes[0].level, reason, imports, newest, unneeded)


def _words(fixes: Sequence[Fix]) -> tuple[list[str], list[str]]:
    return [fix.message for fix in fixes], [fix.reason for fix in fixes]


def _fixes(group: Sequence[Draft]) -> list[Fix]:
    """The different fixes of some drafts: the drafts of one loop often share a fix."""
    return list(dict.fromkeys(draft.fix for draft in group if draft.fix is not None))


def _release(version: str) -> tuple[int, ...]:
    """A release such as ``"2.10"`` as numbers, for sorting."""
    return tuple(int(part) for part in version.split(".") if part)
