"""What steps may have at most: budgets of the configuration, and loops and functions that a comment calls sync-free.

Both are judged by the trace of the step, so a wait counts wherever the calls of the step lead to::

    for x, y in loader:  # perflint: sync-free
        train_step(x, y)     # which calls record(loss), which calls loss.item(): the comment is wrong
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from perflint.flow.branches import Often
from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.scopes import LOOPS
from perflint.text.source import code_lines
from perflint.trace.events import EventKind, StepEvent
from perflint.trace.step_trace import (
    LoopOrFunction,
    Occurrence,
    StepTrace,
    Unknown,
    most_at_each_step,
    occurrences,
    of_function,
    of_loop,
    reached,
    traces,
    unknown_calls,
)


class Counted(NamedTuple):
    """Something that a step can have several times: its name for one and for many, and which events are meant."""

    one: str
    many: str
    wanted: Callable[[StepEvent], bool]


COUNTS: Mapping[str, Counted] = {
    "waits": Counted("wait for the device", "waits for the device", lambda event: event.kind.waits),
    "copies": Counted("copy to the device", "copies to the device", lambda event: event.kind is EventKind.COPY),
    "logs": Counted("log line", "log lines", lambda event: event.kind is EventKind.LOG),
    "saves": Counted("save", "saves", lambda event: event.kind is EventKind.SAVE),
    "collectives": Counted("collective", "collectives", lambda event: event.kind is EventKind.COLLECTIVE),
}
"""What a budget can limit. A copy to the device also counts as a wait, since the host waits for it."""


def counts(trace: StepTrace) -> dict[str, int]:
    """How many events of each kind a step has at most, at each step."""
    return {name: most_at_each_step(trace.nodes, each.wanted) for name, each in COUNTS.items()}


# Budgets of the configuration.


@dataclass(frozen=True)
class OverBudget:
    """A step with more of something than it may have. ``events``: those that it has at each step, in order."""

    trace: StepTrace
    name: str
    limit: int
    count: int
    events: tuple[Occurrence, ...]


def limits_of(file: FileIndex) -> dict[str, int]:
    """What the steps of a file may have: budgets name the file, or a program that loads it."""
    project = file.project
    if not project.budgets.table:
        return {}
    return project.budgets.of(sorted(each.path for each in Imports.of(project).users([file])))


def over_budget(trace: StepTrace) -> Iterator[OverBudget]:
    """What a step has too much of."""
    limits = limits_of(trace.place.file)
    known = counts(trace) if limits else {}
    for name, limit in limits.items():
        if known[name] > limit:
            yield OverBudget(trace, name, limit, known[name], tuple(_at_each_step(trace, COUNTS[name].wanted)))


def _at_each_step(trace: StepTrace, wanted: Callable[[StepEvent], bool]) -> Iterable[Occurrence]:
    """The events of a kind that a step has at each step, each once."""
    found = (each for each in occurrences(trace) if each.is_at_each_step and wanted(each.event))
    return {each.event.node: each for each in found}.values()


# Loops and functions that must not wait.

SYNC_FREE = re.compile(r"#\s*perflint:\s*sync-free(?![\w-])")
"""The comment that says that a loop, or a function, never waits for the device."""


class SyncFree(LoopOrFunction):
    """A loop, or a function, that a comment on its header calls sync-free."""


@dataclass(frozen=True)
class SyncVerdict:
    """What the trace says of a loop or a function that a comment calls sync-free.

    ``waits``: where it surely waits, at each run or depending on a test. ``perhaps``: where it waits if a method is the
    one that its name suggests. ``rare``: where it waits every n steps or less often, which it may.
    """

    claim: SyncFree
    waits: tuple[Occurrence, ...]
    perhaps: tuple[Occurrence, ...]
    rare: tuple[Occurrence, ...]
    unknown: tuple[Unknown, ...]

    @property
    def is_kept(self) -> bool:
        """Whether it waits nowhere, as far as calls can be followed."""
        return not self.waits

    @property
    def is_proved(self) -> bool:
        """Whether nothing could be otherwise."""
        return not (self.waits or self.perhaps or self.unknown)


@query
def sync_free(file: FileIndex) -> tuple[SyncFree, ...]:
    """The loops and functions of a file that a comment calls sync-free, by their rows."""
    if not file.matches(SYNC_FREE):
        return ()
    text = file.source.text
    rows = {
        line.statement or line.first
        for line in code_lines(file.source) or ()
        if line.comment is not None and SYNC_FREE.match(text, line.comment)
    }
    found = []
    for scope in file.scopes.scopes:
        if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)) and scope.node.lineno in rows:
            found.append(SyncFree(Place(file, scope), None))
        for statement in scope.statements:
            if isinstance(statement.node, LOOPS) and file.row(statement.node) in rows:
                found.append(SyncFree(Place(file, scope), statement.node))
    return tuple(sorted(found, key=lambda claim: claim.row))


@query
def steps_of(project: Project) -> tuple[StepTrace, ...]:
    """The steps of a project."""
    return tuple(traces(project))


@query
def exceeded(project: Project) -> tuple[OverBudget, ...]:
    """What the steps of a project have too much of."""
    return tuple(each for trace in steps_of(project) for each in over_budget(trace)) if project.budgets.table else ()


@query
def verdicts_of(file: FileIndex) -> tuple[SyncVerdict, ...]:
    """A verdict for each loop and each function of a file that a comment calls sync-free."""
    return tuple(_verdict(claim) for claim in sync_free(file))


def verdicts_about(trace: StepTrace) -> list[SyncVerdict]:
    """The verdicts about a step itself, and about the functions that it runs."""
    places = [trace.place, *(each.function for each in reached(trace.nodes))]
    scopes = {place.scope for place in (places[1:] if trace.loop is not None else places)}
    files = dict.fromkeys(place.file for place in places)
    return [
        each
        for file in files
        for each in verdicts_of(file)
        if (each.claim.loop is trace.loop if each.claim.loop is not None else each.claim.place.scope in scopes)
    ]


def _verdict(claim: SyncFree) -> SyncVerdict:
    """What the traces say of a loop or a function: of a function, all calls of it that steps make are looked at."""
    met: dict[ast.expr, Occurrence] = {}
    unknown: dict[ast.Call, Unknown] = {}
    for run in runs_of(claim):
        unknown |= {each.node: each for each in unknown_calls(run.nodes)}
        for each in occurrences(run):
            known = met.get(each.event.node)
            if each.event.kind.waits and (known is None or _weight(each) > _weight(known)):
                met[each.event.node] = each
    found = sorted(met.values(), key=lambda each: (each.event.point.file is not claim.place.file, each.event.row))
    often = [each for each in found if each.every.often >= Often.SOMETIMES]
    return SyncVerdict(
        claim,
        tuple(each for each in often if _is_sure(each)),
        tuple(each for each in often if not _is_sure(each)),
        tuple(each for each in found if Often.NEVER < each.every.often < Often.SOMETIMES),
        tuple(unknown.values()),
    )


def _weight(each: Occurrence) -> tuple[bool, bool, Often]:
    return each.every.often >= Often.SOMETIMES, _is_sure(each), each.every.often


def _is_sure(each: Occurrence) -> bool:
    return all(call.is_sure for call in each.calls)


def runs_of(claim: SyncFree) -> list[StepTrace]:
    """What an iteration of a loop does; of a function, what each call does that steps make of it."""
    steps = steps_of(claim.place.file.project)
    if claim.loop is not None:
        known = next((trace for trace in steps if trace.loop is claim.loop), None)
        return [known or of_loop(claim.place, claim.loop)]
    scope = claim.place.scope
    found = [each.nodes for trace in steps for each in reached(trace.nodes) if each.function.scope is scope]
    own = [trace.nodes for trace in steps if trace.loop is None and trace.place.scope is scope]
    return [StepTrace(claim.place, None, nodes) for nodes in (*found, *own)] or [of_function(claim.place)]
