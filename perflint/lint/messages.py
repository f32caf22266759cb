"""The messages: one sentence a finding, with its loop and the other host reads of that loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from perflint.catalogue import Rule
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Related
from perflint.lint import loop_fixes
from perflint.lint.beside import Loop, LoopReads, Trail, is_read, loop_of, trail_of
from perflint.lint.context import Draft
from perflint.lint.costs import Costs
from perflint.training.arms import Arms
from perflint.training.cadence import Interval
from perflint.training.steps import Step


def write(drafts: list[Draft], rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """Findings with their messages: a loop's host reads name each other, since they pay off only together."""
    trails: dict[Loop, dict[Trail, Arms]] = defaultdict(dict)
    for draft in drafts:
        if draft.step is not None and is_read(draft):
            trails[loop_of(draft.step)][trail_of(draft, draft.step)] = draft.arms
    reads = {loop: LoopReads(found) for loop, found in trails.items()}
    costs = Costs(drafts)
    return [_finding(draft, rules[draft.code], reads, costs, settings) for draft in loop_fixes.joined(drafts)]


def _finding(draft: Draft, rule: Rule, reads: Mapping[Loop, LoopReads], costs: Costs, settings: Settings) -> Finding:
    usual = {"workers": str(settings.default_workers), "interval": str(settings.log_interval), "where": ""}
    fields, related = {**usual, **draft.fields}, draft.related
    if draft.step is not None:
        fields["where"] = _where(draft.step, draft.path, draft.every) + _beside(draft, draft.step, reads)
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
    return f" ({count} more host read{'s' if count > 1 else ''} there: {shown})"


def _where(step: Step, path: str, every: Interval | None) -> str:
    if not step.line:
        return f"each call of {'' if step.forward else 'the training step '}{step.function}"
    loop = f"line {step.line}" if step.path == path else f"{step.path}:{step.line}"
    text = f"{every.text if every is not None else 'each step'} of the loop at {loop}"
    if step.via:
        caller, line = step.via[-1]
        text += f", called from {f'line {line}' if caller == path else f'{caller}:{line}'}"
    return text


def _related(step: Step, every: Interval | None) -> tuple[Related, ...]:
    called = "called here at each step" if every is None else "called here"
    calls = [Related(path, line, called) for path, line in reversed(step.via)]
    loop = [Related(step.path, step.line, "the step loop")] if step.line else []
    return (*calls, *loop)
