"""Budgets and sync-free comments against a profile: what a run did at each step, and what the static trace missed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflint.bench.runner import watched_calls
from perflint.configuration.settings import Settings
from perflint.flow.resolving import opened
from perflint.index.project import Place
from perflint.profile.profile_report import ProfileEvent, ProfileReport
from perflint.syntax.scopes import last_row
from perflint.text.source import Source
from perflint.trace.budget import COUNTS, SyncFree, runs_of, steps_of, sync_free
from perflint.trace.step_trace import StepTrace, occurrences, reached

OFTEN = 0.5
"""The calls per step from which on something counts as happening at each step."""
_WAITING = frozenset({watched_calls.READ, watched_calls.SIZED, watched_calls.WAIT, watched_calls.COPY})
_KINDS = {
    "waits": _WAITING,
    "copies": frozenset({watched_calls.COPY}),
    "logs": frozenset({watched_calls.LOG}),
    "saves": frozenset({watched_calls.SAVE}),
}
"""The kinds of a profile that a budget is about. It does not record collectives."""


@dataclass(frozen=True)
class Measured:
    """A budget, or a sync-free loop or function (``claim``), and what a run did of it, the most frequent first."""

    name: str
    limit: int
    events: tuple[ProfileEvent, ...]
    claim: str = ""

    @property
    def count(self) -> float:
        """How many there were in a step."""
        return round(sum(each.times for each in self.events), 2)

    @property
    def is_exceeded(self) -> bool:
        """Whether there were more than allowed."""
        return self.count > self.limit


@dataclass(frozen=True)
class MeasuredBudget:
    """All of them; ``missed``: the lines that did something at each step of which the static trace knows nothing.

    ``unmeasured``: the parts of the budget that a profile does not record.
    """

    measured: tuple[Measured, ...]
    missed: tuple[ProfileEvent, ...]
    unmeasured: tuple[str, ...]

    @property
    def is_exceeded(self) -> bool:
        """Whether a run did more than allowed."""
        return any(each.is_exceeded for each in self.measured)

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "exceeded": self.is_exceeded,
            "measured": [
                {
                    "what": each.name,
                    "sync_free": each.claim or None,
                    "limit": each.limit,
                    "times": each.count,
                    "lines": [event.place for event in each.events],
                }
                for each in self.measured
            ],
            "not_in_static_trace": [event.place for event in self.missed],
            "not_measured": [*self.unmeasured],
        }


def measured_budget(
    report: ProfileReport, root: Path, sources: Mapping[str, Source], settings: Settings
) -> MeasuredBudget:
    """Compare a profile with the budgets of a project.

    Args:
        report: the profile.
        root: the directory that the paths of the report are relative to.
        sources: the files that the script has loaded, by their full paths.
        settings: those of the project.
    """
    done = [each for each in report.events if each.times >= OFTEN and not each.evaluating]
    project = opened(sources, settings)
    steps = steps_of(project)
    ran = [trace for trace in steps if any(_is_within(each, trace.node, trace.place, root) for each in report.events)]
    places = [str(root / report.script), *(trace.place.file.path for trace in ran)]
    limits = settings.budgets.of(dict.fromkeys(places))
    found = [
        Measured(name, limit, tuple(each for each in done if each.kind in _KINDS[name]))
        for name, limit in limits.items()
        if name in _KINDS
    ]
    for file in project.files.values():
        for claim in sync_free(file):
            waits = [each for each in done if each.kind in _WAITING]
            own = [each for each in waits if _is_about(each, claim, root) or _is_alone(claim, ran)]
            if own or any(_is_within(each, claim.node, claim.place, root) for each in report.events):
                found.append(Measured("waits", 0, tuple(own), _named(claim, root)))
    kinds = frozenset().union(*_KINDS.values())
    known = _known(steps, root)
    missed = tuple(each for each in done if each.kind in kinds and (each.path, each.line) not in known)
    return MeasuredBudget(tuple(found), missed, tuple(name for name in limits if name not in _KINDS))


def _is_within(event: ProfileEvent, node: ast.AST, place: Place, root: Path) -> bool:
    """Whether the line of an event is in a loop or in a function."""
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None) or event.line
    return place.file.path == str(root / event.path) and first <= event.line <= last


def _is_about(event: ProfileEvent, claim: SyncFree, root: Path) -> bool:
    """Whether the line of an event is in a sync-free loop or function, or in a function that is known to run in it."""
    if _is_within(event, claim.node, claim.place, root):
        return True
    functions = {each.function.scope: each.function for run in runs_of(claim) for each in reached(run.nodes)}
    return any(_is_within(event, scope.node, place, root) for scope, place in functions.items())


def _is_alone(claim: SyncFree, ran: Sequence[StepTrace]) -> bool:
    """Whether a loop is the only step that was running: then all that was recorded belongs to it."""
    return claim.loop is not None and [trace.loop for trace in ran] == [claim.loop]


def _known(steps: Iterable[StepTrace], root: Path) -> set[tuple[str, int]]:
    """The rows of the statements with events of the static traces."""
    found = set[tuple[str, int]]()
    for step in steps:
        for each in occurrences(step):
            path = _short(each.event.point.file.path, root)
            node = each.event.point.statement.node
            found |= {(path, row) for row in range(node.lineno, last_row(node) + 1)}
    return found


def _named(claim: SyncFree, root: Path) -> str:
    what = "loop" if claim.loop is not None else claim.place.scope.qualname
    return f"{_short(claim.place.file.path, root)}:{claim.row}, {what}"


def _short(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path


def budget_lines(found: MeasuredBudget) -> Iterator[str]:
    """What the run did of each budget, by line, and what ``perflint step`` does not know."""
    for each in found.measured:
        one, many, _ = COUNTS[each.name]
        what = one if each.count == 1 else many
        over = ": too many" if each.is_exceeded else ""
        about = f"{each.claim}: sync-free" if each.claim else "Budget"
        yield f"{about}: {each.count:g} {what} a step, {each.limit} allowed{over}."
        for event in each.events if each.is_exceeded else ():
            yield f"  {event.place}  {event.what}  {event.times:g} a step{_source(event)}"
    for name in found.unmeasured:
        yield f"Budget: {COUNTS[name].many} are not recorded in a profile; perflint check counts them in the source."
    if found.missed:
        yield "The static trace (perflint step) does not know that each step does this:"
        for event in found.missed:
            yield f"  {event.place}  {event.what}  {event.times:g} a step{_source(event)}"


def _source(event: ProfileEvent) -> str:
    return f"  {event.source}" if event.source else ""
