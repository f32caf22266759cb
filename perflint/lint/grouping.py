"""Groups the findings of one step loop: same cause, neighbouring statements, reads that only pay off together."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from perflint import catalogue
from perflint.findings import Confidence, Fix, Level, Related, imports_of, merged, overlap
from perflint.lint.context import Draft, Shown
from perflint.lint.step_waits import FindingSteps, Loop, Rows, loop_of

# Groups the findings of a step loop whose costs are paid by one program in the same step.

TENSOR_LOG, PLAIN_LOG, READ = "tensor log", "plain log", "read"
"""Log lines that read a tensor, log lines that read none, and host reads."""


def is_read(draft: Draft) -> bool:
    """Whether a finding is about a host read, at the read itself, not at a call that leads there."""
    return role_of(draft) in (READ, TENSOR_LOG) and "place" not in draft.fields


def is_log(draft: Draft) -> bool:
    """Whether a finding is about a log line."""
    return role_of(draft) in (TENSOR_LOG, PLAIN_LOG)


def role_of(draft: Draft) -> str:
    """What a finding is among those of its step."""
    return catalogue.shipped()[draft.code].role


# Combines findings of one rule at neighbouring statements into one finding, which one edit fixes.
#
# For a step that ends with ::
#
#     losses.append(loss.item())
#     accuracies.append(accuracy.item())
#
# one finding is reported, which covers both lines.

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


# Combines findings with the same cause into one.
#
# If several lines of a loop keep a graph, one finding is reported, which names the other lines. A log line in a
# method that a step calls like a logger (``self.logger.log(step)``, which prints) is reported where the step calls
# the method: that is where the code can log less often.

_Cause = tuple[str, str, Loop, bool, str]


def without_wrapped_logs(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts of a whole project, without log lines whose calls are themselves reported as log lines."""
    logs: dict[tuple[str, int], list[Draft]] = defaultdict(list)
    for draft in drafts:
        if is_log(draft) and draft.step is not None and not draft.is_silenced:
            logs[draft.path, draft.line].append(draft)
    return [draft for draft in drafts if not any(_says_as_much(caller, draft) for caller in _callers(draft, logs))]


def _callers(draft: Draft, logs: Mapping[tuple[str, int], Sequence[Draft]]) -> Sequence[Draft]:
    """The log lines that call the function that contains a log line."""
    return logs.get(draft.step.via[-1], ()) if is_log(draft) and draft.step is not None and draft.step.via else ()


def _says_as_much(caller: Draft, draft: Draft) -> bool:
    """Whether the call of a log line is reported with the same confidence, and for a tensor if the line itself is."""
    return caller.confidence >= draft.confidence and (role_of(caller) == TENSOR_LOG or role_of(draft) == PLAIN_LOG)


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
    if not catalogue.shipped()[draft.code].same_cause or draft.step is None or draft.is_silenced:
        return None
    cause = draft.fields.get("cause", "")
    return draft.code, draft.path, loop_of(draft.step), draft.confidence is Confidence.LOW, cause


def _order(draft: Draft) -> tuple[int, int]:
    return -draft.confidence, draft.start


def _named(group: list[Draft]) -> Draft:
    """The first of some findings, with the others named in it."""
    first, *others = group
    rows = sorted({other.line for other in others} - {first.line})
    if not others:
        return first
    lines = f", at {Rows((first.path, row) for row in rows).lines(first.path)}" if rows else ""
    said = f" (and {len(others)} more{lines})"
    says = catalogue.shipped()[first.code].same_cause
    related = tuple(Related(first.path, row, says) for row in rows)
    return replace(first, fields={**first.fields, "others": said}, related=(*first.related, *related))


# Makes one fix for all host reads of a step loop, because removing only one of several gains nothing.
#
# Each check makes the fix for its own place. Here those of one loop are combined into one fix, which each of its
# findings offers. If a read of the same step has to stay, nothing is gained, and the fix only says so in words.

_MOST_TOGETHER = 50
"""How many findings of one loop may offer the same edits: each writes out those of all."""

_ONE_FIX = " (one fix for {lines})"
_STAYS = "no gain while the same step also reads the device at {lines}, which no edit removes"
_NEEDS = "no gain until the reads at {lines} are gone too; they have their own fix"
_NEEDS_CHANGES = "no gain until the reads at {lines} are gone too; what they need is only shown"
_NEEDS_GUARDS = "no gain until the log at {lines} runs less often; it has its own fix"
_NEEDS_GUARD_AROUND = (
    "no gain until the reads at {lines} are gone from most steps, with the logs around them, whose fix guards both"
)
_MOVES = "no gain while each step reads the value at {lines}: read it under the same test"
_IDLE = "no gain: the device has next to nothing to do when the step gets there"
_OVERLAP = "the edits for the reads of this loop overlap"
_Group = tuple[str, Loop, str, bool]


def joined(drafts: Sequence[Draft], steps: FindingSteps) -> list[Draft]:
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
        others = (
            [other for other in reads[loop] if _group_of(other) != group]
            if catalogue.shipped()[code].role == READ
            else []
        )
        fix = _fix(members, others, logs, steps)
        if len(members) <= _MOST_TOGETHER or not fix.edits:
            fixes[group] = fix
    drafts = [
        draft if (group := _group_of(draft)) not in fixes else replace(draft, fix=fixes[group]) for draft in drafts
    ]
    return _with_logs_that_win(drafts, logs, steps)


def _with_logs_that_win(drafts: Sequence[Draft], logs: _Logs, steps: FindingSteps) -> list[Draft]:
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
            found.append(replace(draft, fix=_where_it_wins(draft, staying[loop], steps)))
    return found


def _where_it_wins(log: Draft, staying: Sequence[Draft], steps: FindingSteps) -> Fix | None:
    """The fix of a log line, in words if the read of its value stays.

    Args:
        log: the log line, with edits.
        staying: the reads of its loop that no edit takes away.
        steps: the steps of the project.
    """
    own = [read for read in _beside([log], staying, steps) if _is_for(read.shown, log)]
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
            if is_log(draft) and draft.statement is not None and _has_edits(draft):
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
    if not catalogue.shipped()[draft.code].joint_fix or step is None or draft.is_silenced or fix is None:
        return None
    if not fix.edits or fix.level is Level.DISPLAY:
        return None
    return draft.code, loop_of(step), draft.path, draft.confidence is Confidence.LOW


def _fix(members: Sequence[Draft], others: Sequence[Draft], logs: _Logs, steps: FindingSteps) -> Fix:
    """One fix for the members of a group; ``others``: the other host reads of the loop."""
    own = list(dict.fromkeys(draft.fix for draft in members if draft.fix is not None))
    title, path = "; ".join(dict.fromkeys(fix.message for fix in own)), members[0].path
    if len(own) > 1:
        title += _said(_ONE_FIX, members, path)
    edits = merged(edit for fix in own for edit in fix.edits)
    beside = _beside(members, others, steps)
    without_edits = [other for other in beside if not _has_edits(other)]
    staying = [other for other in without_edits if not logs.hold(other)]
    if overlap(edits):
        return Fix(title, (), Level.DISPLAY, _OVERLAP)
    pays_off = steps.pay_off(members)
    if pays_off is False or (pays_off is None and staying):
        stays = Rows([*((other.path, other.line) for other in staying), *steps.staying(members)])
        return Fix(title, (), Level.DISPLAY, _STAYS.format(lines=stays.lines(path)) if stays.count else _IDLE)
    with_edits = [other for other in beside if _has_edits(other) and other.fix and other.fix.level < Level.SAFE]
    needs = [_said(_NEEDS, with_edits, path)] if with_edits else []
    held = [other for other in without_edits if other not in staying]
    needs += [_said(_NEEDS_CHANGES, staying, path)] if staying else []
    needs += [_said(_NEEDS_GUARD_AROUND, held, path)] if held else []
    imports, unneeded = imports_of(own)
    return Fix(title, tuple(edits), *_trust(own, needs), imports, unneeded=unneeded)


def _trust(fixes: Sequence[Fix], needs: Sequence[str]) -> tuple[Level, str]:
    """The level of several fixes combined into one, and the reason; ``needs``: what else has to be done."""
    level = min(fix.level for fix in fixes)
    reasons = dict.fromkeys((*(fix.reason for fix in fixes if fix.reason), *needs))
    return min(level, Level.UNSAFE) if needs else level, "; ".join(reasons)


def _beside(members: Sequence[Draft], others: Iterable[Draft], steps: FindingSteps) -> list[Draft]:
    """The other reads that the same step has, if they are at least as certain as those of a group."""
    least = min(Confidence.MEDIUM, min(draft.confidence for draft in members))
    sure = [other for other in others if other.confidence >= least]
    return steps.together(members, sure)


def _has_edits(draft: Draft) -> bool:
    fix = draft.fix
    return not draft.is_silenced and fix is not None and bool(fix.edits) and fix.level > Level.DISPLAY


def _said(words: str, drafts: Iterable[Draft], path: str) -> str:
    return words.format(lines=Rows((draft.path, draft.line) for draft in drafts).lines(path))
