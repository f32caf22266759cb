"""The messages: one sentence a finding, with its loop and the other host reads of that loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from perflint.catalogue import Rule
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Related
from perflint.lint import causes, loop_fixes
from perflint.lint.beside import Loop, LoopReads, Trail, is_read, loop_of, trail_of
from perflint.lint.context import Draft
from perflint.lint.costs import Costs
from perflint.training.arms import Arms
from perflint.training.cadence import Interval
from perflint.training.steps import Step

_READ_FOR_IT = ", for which line {row} reads the device"
_MOST_CALLS = 3
"""Calls between a loop and a place that a message names; the related places name all of them."""


def write(drafts: list[Draft], rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """Findings with their messages: a loop's host reads name each other, since they pay off only together."""
    drafts = causes.without_wrapped_logs(drafts)
    trails: dict[Loop, dict[Trail, Arms]] = defaultdict(dict)
    for draft in drafts:
        if draft.step is not None and is_read(draft):
            trails[loop_of(draft.step)][trail_of(draft, draft.step)] = draft.arms
    reads = {loop: LoopReads(found) for loop, found in trails.items()}
    costs = Costs(drafts)
    told = causes.told_once(loop_fixes.joined(drafts))
    return [_finding(draft, rules[draft.code], reads, costs, settings) for draft in told]


def _finding(draft: Draft, rule: Rule, reads: Mapping[Loop, LoopReads], costs: Costs, settings: Settings) -> Finding:
    usual = {
        "workers": str(settings.default_workers),
        "interval": str(settings.log_interval),
        "where": "",
        "others": "",
    }
    fields, related = {**usual, **draft.fields}, draft.related
    if draft.step is not None:
        where = draft.fields.get("where") or _where(draft.step, draft.path, draft.every)
        reader = costs.reader(draft)
        by_reader = _READ_FOR_IT.format(row=reader) if reader else ""
        fields["where"] = where + by_reader + _beside(draft, draft.step, reads)
        related = (*related, *_related(draft.step, draft.every))
    message = " ".join((fields.pop("message", "") or rule.message).format(**fields).split())
    place = (draft.code, draft.path, draft.start, draft.end)
    impact = costs.impact(draft)
    return Finding(*place, message, draft.fix, related, draft.statement, draft.confidence, impact)


def _beside(draft: Draft, step: Step, reads: Mapping[Loop, LoopReads]) -> str:
    """The other host reads that a program pays for together with this one, in words."""
    if not is_read(draft):
        return ""
    trail = trail_of(draft, step)
    others = reads[loop_of(step)].beside(trail)
    count = others.count - 1
    if not count:
        return ""
    shown = others.lines(draft.path, trail[-1])
    return f" ({count} more host read{'s' if count > 1 else ''} in the same step: {shown})"


def _where(step: Step, path: str, every: Interval | None) -> str:
    """When a place runs, in words, with the calls on the way: at each step of a loop, at every 100 steps."""
    if not step.line:
        return f"each call of {'' if step.forward else 'the training step '}{step.function}"
    places = [(step.path, step.line), *step.via]
    is_here = all(other == path for other, _ in places)  # else a bare line could be taken for one of the other file
    loop, *calls = (f"line {line}" if is_here else f"{_named(other, path)}:{line}" for other, line in places)
    often = f"{every.text} of the loop at {loop}" if every is not None else f"each step of the loop at {loop}"
    if not calls:
        return often
    shown = ", ".join(calls if len(calls) <= _MOST_CALLS else [*calls[: _MOST_CALLS - 1], "...", calls[-1]])
    return (
        f"each call reached from the loop at {loop} through {shown}" if every is None else f"{often}, through {shown}"
    )


def _named(other: str, path: str) -> str:
    """A file as a message in another one names it: by its name alone where both are in one folder."""
    folder, _, name = other.rpartition("/")
    return name if folder == path.rpartition("/")[0] else other


def _related(step: Step, every: Interval | None) -> tuple[Related, ...]:
    calls = [Related(path, line, "called here, on the way from the loop") for path, line in reversed(step.via)]
    loop = [Related(step.path, step.line, "the step loop")] if step.line else []
    return (*calls, *loop)
