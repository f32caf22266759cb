"""Combines findings with the same cause into one.

If several lines of a loop keep a graph, one finding is reported, which names the other lines. A log line in a method
that a step calls like a logger (``self.logger.log(step)``, which prints) is reported where the step calls the method:
that is where the code can log less often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perflint.findings import Confidence, Related
from perflint.lint.beside import LOG_LINES, PLAIN_LOG, TENSOR_LOG, Loop, LoopPlaces, loop_of
from perflint.lint.context import Draft

_TOLD_ONCE = {"PPF212": "keeps a graph, too"}
"""Rules whose places in one loop share one cause and one edit: fixing only some of them gains nothing."""

_Cause = tuple[str, str, Loop, bool]


def without_wrapped_logs(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts of a whole project, without log lines whose calls are themselves reported as log lines."""
    logs: dict[tuple[str, int], list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.code in LOG_LINES and draft.step is not None and not draft.is_silenced:
            logs[draft.path, draft.line].append(draft)
    return [draft for draft in drafts if not any(_says_as_much(caller, draft) for caller in _callers(draft, logs))]


def _callers(draft: Draft, logs: Mapping[tuple[str, int], Sequence[Draft]]) -> Sequence[Draft]:
    """The log lines that call the function that contains a log line."""
    is_log = draft.code in LOG_LINES
    return logs.get(draft.step.via[-1], ()) if is_log and draft.step is not None and draft.step.via else ()


def _says_as_much(caller: Draft, draft: Draft) -> bool:
    """Whether the call of a log line is reported with the same confidence, and for a tensor if the line itself is."""
    return caller.confidence >= draft.confidence and (caller.code == TENSOR_LOG or draft.code == PLAIN_LOG)


def told_once(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts of a whole project, reduced to the most confident one for each cause, or the first of several."""
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
    """The key by which findings are combined; None for one that is reported separately, such as a silenced one."""
    if draft.code not in _TOLD_ONCE or draft.step is None or draft.is_silenced:
        return None
    return draft.code, draft.path, loop_of(draft.step), draft.confidence is Confidence.LOW


def _order(draft: Draft) -> tuple[int, int]:
    return -draft.confidence, draft.start


def _named(group: list[Draft]) -> Draft:
    """The first of some findings, with the others named in it."""
    first, *others = group
    rows = sorted({other.line for other in others} - {first.line})
    if not others:
        return first
    lines = f", at {LoopPlaces((first.path, row) for row in rows).lines(first.path)}" if rows else ""
    said = f" (and {len(others)} more{lines})"
    related = tuple(Related(first.path, row, _TOLD_ONCE[first.code]) for row in rows)
    return replace(first, fields={**first.fields, "others": said}, related=(*first.related, *related))
