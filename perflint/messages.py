"""The messages: one sentence a finding, with its loop and the other host reads of that loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from perflint import loop_fixes
from perflint.beside import Loop, Trail, is_read, lines_of, loop_of, may_meet, trail_of
from perflint.catalogue import Rule
from perflint.context import Draft
from perflint.findings import Finding, Related
from perflint.index.file import Step
from perflint.settings import Settings

_MOST_LINES = 6


def write(drafts: list[Draft], rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """Findings with their messages: a loop's host reads name each other, since they pay off only together."""
    reads: dict[Loop, set[Trail]] = defaultdict(set)
    for draft in drafts:
        if draft.step is not None and is_read(draft):
            reads[loop_of(draft.step)].add(trail_of(draft, draft.step))
    return [_finding(draft, rules[draft.code], reads, settings) for draft in loop_fixes.joined(drafts)]


def _finding(draft: Draft, rule: Rule, reads: Mapping[Loop, set[Trail]], settings: Settings) -> Finding:
    fields = {
        "workers": str(settings.default_workers),
        "interval": str(settings.log_interval),
        "where": "",
        **draft.fields,
    }
    related = draft.related
    if draft.step is not None:
        fields["where"] = _where(draft.step, draft.path) + _others(_beside(draft, draft.step, reads), draft.path)
        related = (*related, *_related(draft.step))
    message = fields.pop("message", "") or rule.message
    return Finding(
        draft.code,
        draft.path,
        draft.start,
        draft.end,
        " ".join(message.format(**fields).split()),
        draft.fix,
        related,
        draft.statement,
        draft.confidence,
    )


def _beside(draft: Draft, step: Step, reads: Mapping[Loop, set[Trail]]) -> set[tuple[str, int]]:
    """The other host reads that a program pays for together with this one."""
    if not is_read(draft):
        return set()
    own = trail_of(draft, step)
    return {other[-1] for other in reads[loop_of(step)] if may_meet(own, other)} - {own[-1]}


def _where(step: Step, path: str) -> str:
    if not step.line:
        return f"each call of {'' if step.forward else 'the training step '}{step.function}"
    loop = f"line {step.line}" if step.path == path else f"{step.path}:{step.line}"
    text = f"each step of the loop at {loop}"
    if step.via:
        caller, line = step.via[-1]
        text += f", called from {f'line {line}' if caller == path else f'{caller}:{line}'}"
    return text


def _others(others: set[tuple[str, int]], path: str) -> str:
    if not others:
        return ""
    plural = "s" if len(others) > 1 else ""
    return f" ({len(others)} more host read{plural} there: {lines_of(others, path, _MOST_LINES)})"


def _related(step: Step) -> tuple[Related, ...]:
    calls = [Related(path, line, "called here at each step") for path, line in reversed(step.via)]
    loop = [Related(step.path, step.line, "the step loop")] if step.line else []
    return (*calls, *loop)
