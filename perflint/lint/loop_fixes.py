"""Makes one fix for all host reads of a step loop, because removing only one of several gains nothing.

Each check makes the fix for its own place. Here those of one loop are combined into one fix, which each of its findings
offers. If a read of the same step has to stay, nothing is gained, and the fix only says so in words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from perflint.findings import Confidence, Fix, Level, imports_of, merged, overlap
from perflint.lint.beside import LOG_LINES, Loop, LoopPlaces, is_read, loop_of, may_meet, trail_of
from perflint.lint.context import Draft, Shown

_READS = "PPF201"
_TOGETHER = (_READS, "PPF212")
"""Rules whose fixes in one loop are one fix."""

_MOST_TOGETHER = 50
"""How many findings of one loop may offer the same edits: each writes out those of all."""

_ONE_FIX = " (one fix for {lines})"
_STAYS = "no gain while the same step also reads the device at {lines}, which no edit removes"
_NEEDS = "no gain until the reads at {lines} are gone too; they have their own fix"
_NEEDS_GUARDS = "no gain until the log at {lines} runs less often; it has its own fix"
_NEEDS_GUARD_AROUND = (
    "no gain until the reads at {lines} are gone from most steps, with the logs around them, whose fix guards both"
)
_MOVES = "no gain while each step reads the value at {lines}: read it under the same test"
_OVERLAP = "the edits for the reads of this loop overlap"
_Group = tuple[str, Loop, str, bool]


def joined(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts of a whole project, with a common fix for those that only help together."""
    logs = _Logs(drafts)
    drafts = [_as_its_logs_allow(draft, logs) if draft.logs else draft for draft in drafts]
    groups: dict[_Group, list[Draft]] = defaultdict(list)
    reads: dict[Loop, list[Draft]] = defaultdict(list)
    for draft in drafts:
        group = _group_of(draft)
        if group is not None:
            groups[group].append(draft)
        if draft.step is not None and is_read(draft):
            reads[loop_of(draft.step)].append(draft)
    fixes: dict[_Group | None, Fix] = {}
    for group, members in groups.items():
        code, loop, _, _ = group
        others = [other for other in reads[loop] if _group_of(other) != group] if code == _READS else []
        fix = _fix(members, others, logs)
        if len(members) <= _MOST_TOGETHER or not fix.edits:
            fixes[group] = fix
    drafts = [
        draft if (group := _group_of(draft)) not in fixes else replace(draft, fix=fixes[group]) for draft in drafts
    ]
    return _with_logs_that_win(drafts, logs)


def _with_logs_that_win(drafts: Sequence[Draft], logs: _Logs) -> list[Draft]:
    """The drafts, with words instead of guards that would leave the host waiting for the same value at each step.

    A guard around ``writer.add_scalar("loss", value)`` alone drops points of the curve, and gains nothing while ``value
    = loss.item()`` is read at each step further up.
    """
    reads: dict[Loop, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.step is not None and draft.every is None and is_read(draft):
            reads[loop_of(draft.step)].append(draft)
    staying = {
        loop: [one for one in found if not _has_edits(one) and not logs.hold(one)] for loop, found in reads.items()
    }
    found = []
    for draft in drafts:
        loop = loop_of(draft.step) if draft.step is not None and draft.guarded is not None else None
        if loop is None or not staying.get(loop) or not _has_edits(draft):
            found.append(draft)
        else:
            found.append(replace(draft, fix=_where_it_wins(draft, staying[loop])))
    return found


def _where_it_wins(log: Draft, staying: Sequence[Draft]) -> Fix | None:
    """The fix of a log line, in words if the read of its value stays.

    Args:
        log: the log line, with edits.
        staying: the reads of its loop that no edit takes away.
    """
    own = [read for read in _beside([log], staying) if _is_for(read.shown, log)]
    if log.fix is None or not own:
        return log.fix
    return Fix(log.fix.message, (), Level.DISPLAY, _said(_MOVES, own, log.path))


def _is_for(shown: Shown, log: Draft) -> bool:
    """Whether a guard is put around one of these log lines."""
    first, last = log.guarded or (0, 0)
    return any(path == log.path and first <= start < last for path, _, start in shown)


class _Logs:
    """The log statements with a fix that makes them run only at some steps."""

    def __init__(self, drafts: Iterable[Draft]) -> None:
        self._at: dict[tuple[str, int], Draft] = {}
        guarded: dict[tuple[str, Fix | None], list[Draft]] = defaultdict(list)
        for draft in drafts:
            if draft.code in LOG_LINES and draft.statement is not None and _has_edits(draft):
                self._at[draft.path, draft.statement[0]] = draft
                guarded[draft.path, draft.fix].append(draft)
        self._runs: dict[str, list[tuple[int, int, Confidence]]] = defaultdict(list)
        for (path, _), logs in guarded.items():
            places = [place for log in logs for place in (log.statement, log.guarded) if place is not None]
            last = max(end for _, end in places)
            self._runs[path].append((min(places)[0], last, min(log.confidence for log in logs)))
        for runs in self._runs.values():
            runs.sort()

    def at(self, path: str, start: int) -> Draft | None:
        """The log statement that begins at an offset of a file."""
        return self._at.get((path, start))

    def hold(self, draft: Draft) -> bool:
        """Whether a finding is between log statements that get one guard, so that it is moved under the guard, too."""
        runs = self._runs.get(draft.path, [])
        before = bisect_right(runs, draft.start, key=lambda run: run[0])  # they do not overlap
        return before > 0 and draft.start < runs[before - 1][1] and draft.confidence <= runs[before - 1][2]


def _as_its_logs_allow(draft: Draft, guarded: _Logs) -> Draft:
    """A read whose value is logged at each step: with its edits if those logs have a fix, too, otherwise in words."""
    found = [guarded.at(draft.path, start) for start in draft.logs]
    logs = [log for log in found if log is not None and log.confidence >= draft.confidence]
    if draft.fix is None or not draft.fix.edits or len(logs) < len(found):
        return replace(draft, fix=draft.otherwise)
    needs = _said(_NEEDS_GUARDS, logs, draft.path)
    reason = f"{draft.fix.reason}; {needs}" if draft.fix.reason else needs
    return replace(draft, fix=replace(draft.fix, level=min(draft.fix.level, Level.UNSAFE), reason=reason))


def _group_of(draft: Draft) -> _Group | None:
    """The group whose fix a draft joins; None if it has no edits, or none that may be applied."""
    fix, step = draft.fix, draft.step
    if draft.code not in _TOGETHER or step is None or draft.is_silenced or fix is None:
        return None
    if not fix.edits or fix.level is Level.DISPLAY:
        return None
    return draft.code, loop_of(step), draft.path, draft.confidence is Confidence.LOW


def _fix(members: Sequence[Draft], others: Sequence[Draft], logs: _Logs) -> Fix:
    """One fix for the members of a group; ``others``: the other host reads of the loop."""
    own = list(dict.fromkeys(draft.fix for draft in members if draft.fix is not None))
    title, path = "; ".join(dict.fromkeys(fix.message for fix in own)), members[0].path
    if len(own) > 1:
        title += _said(_ONE_FIX, members, path)
    edits = merged(edit for fix in own for edit in fix.edits)
    beside = _beside(members, others)
    without_edits = [other for other in beside if not _has_edits(other)]
    staying = [other for other in without_edits if not logs.hold(other)]
    if staying or overlap(edits):
        return Fix(title, (), Level.DISPLAY, _said(_STAYS, staying, path) if staying else _OVERLAP)
    with_edits = [other for other in beside if _has_edits(other) and other.fix and other.fix.level < Level.SAFE]
    needs = [_said(_NEEDS, with_edits, path)] if with_edits else []
    needs += [_said(_NEEDS_GUARD_AROUND, without_edits, path)] if without_edits else []
    imports, unneeded = imports_of(own)
    return Fix(title, tuple(edits), *_trust(own, needs), imports, unneeded=unneeded)


def _trust(fixes: Sequence[Fix], needs: Sequence[str]) -> tuple[Level, str]:
    """The level of several fixes combined into one, and the reason; ``needs``: what else has to be done."""
    level = min(fix.level for fix in fixes)
    reasons = dict.fromkeys((*(fix.reason for fix in fixes if fix.reason), *needs))
    return min(level, Level.UNSAFE) if needs else level, "; ".join(reasons)


def _beside(members: Sequence[Draft], others: Iterable[Draft]) -> list[Draft]:
    """The other reads that a program pays for together with those of a group, if they are at least as certain."""
    least = min(Confidence.MEDIUM, min(draft.confidence for draft in members))
    ways = {draft.step.via: trail_of(draft, draft.step) for draft in members if draft.step is not None}
    return [
        other
        for other in others
        if other.confidence >= least and other.step is not None
        if any(may_meet(way, trail_of(other, other.step)) for way in ways.values())
    ]


def _has_edits(draft: Draft) -> bool:
    fix = draft.fix
    return not draft.is_silenced and fix is not None and bool(fix.edits) and fix.level > Level.DISPLAY


def _said(words: str, drafts: Iterable[Draft], path: str) -> str:
    return words.format(lines=LoopPlaces((draft.path, draft.line) for draft in drafts).lines(path))
