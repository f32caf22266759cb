"""The messages: one sentence a finding, with its loop and the other host reads of that loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from perflint.catalogue import Rule
from perflint.context import Draft
from perflint.findings import Finding, Related
from perflint.index.file import Step
from perflint.settings import Settings

HOST_READS = frozenset({"PPF201", "PPF202", "PPF203", "PPF206", "PPF208", "PPF209"})
_MOST_LINES = 6
_Trail = tuple[tuple[str, int], ...]
"""The way from a loop to a place: path and line of each call, then of the place."""


def write(drafts: list[Draft], rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """Findings with their messages: a loop's host reads name each other, since they pay off only together."""
    reads: dict[tuple[str, int, str], set[_Trail]] = defaultdict(set)
    for draft in drafts:
        if draft.step is not None and draft.code in HOST_READS and "place" not in draft.fields:
            reads[_loop(draft.step)].add(_trail(draft, draft.step))
    return [_finding(draft, rules[draft.code], reads, settings) for draft in drafts]


def _loop(step: Step) -> tuple[str, int, str]:
    return step.path, step.line, step.function


def _trail(draft: Draft, step: Step) -> _Trail:
    return (*step.via, (draft.path, draft.line))


def _may_meet(first: _Trail, second: _Trail) -> bool:
    """Whether two places run in one program: a call that leads to two files reaches one of two implementations."""
    for (path, line), (other_path, other_line) in zip(first, second, strict=False):
        if path != other_path or line != other_line:
            return path == other_path
    return True


def _finding(
    draft: Draft, rule: Rule, reads: Mapping[tuple[str, int, str], set[_Trail]], settings: Settings
) -> Finding:
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


def _beside(draft: Draft, step: Step, reads: Mapping[tuple[str, int, str], set[_Trail]]) -> set[tuple[str, int]]:
    """The other host reads that a program pays for together with this one."""
    if draft.code not in HOST_READS or "place" in draft.fields:
        return set()
    own = _trail(draft, step)
    return {other[-1] for other in reads[_loop(step)] if _may_meet(own, other)} - {own[-1]}


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
    places = [str(line) for where, line in sorted(others) if where == path]
    places += [f"{where}:{line}" for where, line in sorted(others) if where != path]
    shown = ", ".join(places[:_MOST_LINES]) + (", ..." if len(places) > _MOST_LINES else "")
    plural = "s" if len(others) > 1 else ""
    return f" ({len(others)} more host read{plural} there: line{plural} {shown})"


def _related(step: Step) -> tuple[Related, ...]:
    calls = [Related(path, line, "called here at each step") for path, line in reversed(step.via)]
    loop = [Related(step.path, step.line, "the step loop")] if step.line else []
    return (*calls, *loop)
