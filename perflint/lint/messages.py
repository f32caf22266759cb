"""Writes the messages: one sentence for each finding, with its loop and the other host reads of that loop."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from perflint.catalogue import Rule
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Related
from perflint.index.project import Project
from perflint.lint import grouping
from perflint.lint.context import Draft
from perflint.lint.grouping import is_read
from perflint.lint.step_waits import FindingSteps, Rows
from perflint.lint.worth import FindingWorth
from perflint.stopwatch import phase
from perflint.training.every import Interval
from perflint.training.steps import Step

_READ_FOR_IT = ", for which line {row} reads the device"
_MOST_CALLS = 3
"""How many calls between a loop and a place a message names; the related places name all of them."""


@phase("messages")
def write(drafts: list[Draft], project: Project, rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """Findings with their messages: those about waits name the others of the step, which only pay off together."""
    drafts = grouping.without_wrapped_logs(drafts)
    steps = FindingSteps(project, drafts)
    writer = _Writer(drafts, steps, rules, settings)
    told = grouping.told_once(grouping.joined(drafts, steps))
    groups = grouping.grouped(told, writer.gist) if settings.join_lines else [[draft] for draft in told]
    return [writer.finding(group) for group in groups]


class _Writer:
    """Writes the findings of a project.

    Args:
        drafts: all drafts of the project.
        steps: their steps; messages name other waits of the same one.
        rules: the rules by their codes.
        settings: the settings of the project.
    """

    def __init__(self, drafts: list[Draft], steps: FindingSteps, rules: Mapping[str, Rule], settings: Settings) -> None:
        self._steps = steps
        self._worth = FindingWorth(drafts, steps)
        self._rules = rules
        self._usual = {
            "workers": str(settings.default_workers),
            "interval": str(settings.log_interval),
            "where": "",
            "others": "",
        }

    def gist(self, draft: Draft) -> Hashable:
        """The message and impact level of a finding, without its own expression and the other reads of its loop."""
        impact = self._worth.impact(draft)
        return self._message(draft, {"what": ""}, ""), None if impact is None else impact.level

    def finding(self, group: Sequence[Draft]) -> Finding:
        """The finding of a draft, or of several at neighbouring lines."""
        first, last = group[0], group[-1]
        beside = self._beside(group)
        message = self._message(first, {}, beside) + _more(group) + (f" {first.doubt}" if first.doubt else "")
        related = tuple(dict.fromkeys(place for draft in group for place in draft.related))
        if first.step is not None:
            related = (*related, *_related(first.step))
        statement = first.statement
        if len(group) > 1 and first.statement is not None and last.statement is not None:
            statement = first.statement[0], last.statement[1]
        place = first.code, first.path, first.start, max(draft.end for draft in group)
        impacts = [impact for draft in group if (impact := self._worth.impact(draft)) is not None]
        impact = max(impacts, key=lambda found: found.milliseconds, default=None)
        places = tuple((draft.start, draft.end) for draft in group) if len(group) > 1 else ()
        fix = grouping.fix_of(group)
        step = self._steps.step_of(first)
        return Finding(*place, message, fix, related, statement, first.confidence, impact, places, step)

    def _beside(self, group: Sequence[Draft]) -> str:
        """The other waits of the same step, in words."""
        if not is_read(group[0]):
            return ""
        count, lines = self._steps.beside(group)
        more = "1 more wait" if count == 1 else f"{count} more waits"
        return f" ({more} in the same step: {lines})" if count else ""

    def _message(self, draft: Draft, other: Mapping[str, str], beside: str) -> str:
        fields = {**self._usual, **draft.fields, **other}
        if draft.step is not None:
            where = draft.fields.get("where") or _where(draft.step, draft.path, draft.every)
            reader = self._worth.reader(draft)
            fields["where"] = where + (_READ_FOR_IT.format(row=reader) if reader else "") + beside
        return " ".join((fields.pop("message", "") or self._rules[draft.code].message).format(**fields).split())


def _more(group: Sequence[Draft]) -> str:
    """A sentence on the other places of a group, by their rows; ``""`` for a single draft."""
    first, *others = group
    rows = {draft.line for draft in others} - {first.line}
    if not rows:
        return f" This line has {len(group)} of these." if others else ""
    return f" The same goes for {Rows((first.path, row) for row in rows).lines(first.path)}."


def _where(step: Step, path: str, every: Interval | None) -> str:
    """When a place runs, in words, with the calls on the way: at each step of a loop, at every 100 steps."""
    if not step.line:
        return f"each call of {'' if step.forward else 'the training step '}{step.function}"
    places = [(step.path, step.line), *step.via]
    # otherwise a plain row could be mistaken for one in the other file
    is_here = all(other == path for other, _ in places)
    loop, *calls = (f"line {line}" if is_here else f"{_named(other, path)}:{line}" for other, line in places)
    often = f"{every.text} of the loop at {loop}" if every is not None else f"each step of the loop at {loop}"
    if not calls:
        return often
    shown = ", ".join(calls if len(calls) <= _MOST_CALLS else [*calls[: _MOST_CALLS - 1], "...", calls[-1]])
    return (
        f"each call reached from the loop at {loop} through {shown}" if every is None else f"{often}, through {shown}"
    )


def _named(other: str, path: str) -> str:
    """A file as named in a message in another one: by its name alone if both are in one folder."""
    folder, _, name = other.rpartition("/")
    return name if folder == path.rpartition("/")[0] else other


def _related(step: Step) -> tuple[Related, ...]:
    calls = [Related(path, line, "called here, on the way from the loop") for path, line in reversed(step.via)]
    loop = [Related(step.path, step.line, "the step loop")] if step.line else []
    return (*calls, *loop)
