"""Computes what the findings of one step loop cost together, and from that the impact of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from perflint import catalogue
from perflint.findings import Confidence, Fix, Impact, ImpactLevel
from perflint.lint.context import Draft
from perflint.lint.grouping import PLAIN_LOG, Loop, Trail, is_log, is_read, loop_of, may_meet, role_of, trail_of
from perflint.lint.impacts import WAITS, Cost, impact, row_from
from perflint.training.every import Arms, exclude
from perflint.training.steps import Step

_MOST_WAYS = 100
"""How many paths from one loop, or events of it, are compared; with more, all are assumed to run in one step."""

_BESIDE_A_LINE = "{reason}, fixed together with line {row}"
_PROGRESS = "progress text"
"""A text that a progress bar shows when it is drawn next: it costs little, whatever is next to it."""
_READS = frozenset({"wait", "printed wait"})
"""Events in which the host reads a value."""
_Event = tuple[float, Arms]
"""What one event costs, in milliseconds, with the arms of tests that it is in."""
_Run = tuple[str, Loop, Fix, tuple[tuple[tuple[str, int], bool], ...]]
_BEHIND = "right after another one"
_BEHIND_LOOP = "{often}, right after the waits in each iteration of the loop at line {row}"
_FOR_A_LINE = "that the log at line {row} needs at each step"


class Costs:
    """The costs of the findings of a project.

    A log line without a tensor costs little. It costs as much as a read if a value is read at each step only for it:
    the fix of that read only helps if the line, too, runs less often. The lines next to such a line, or next to one
    with a tensor, count with it, because one guard around all of them fixes it. Texts for a progress bar do not count:
    they cost almost nothing.

    A read whose value is only used by such a line costs nothing by itself: while the line runs, it has to be read.

    A wait costs little right after another one: ``print(float(a), float(b))`` waits for ``a``, and only copies ``b``.
    The same holds for a wait after a loop that waits in each iteration, if no backward pass comes between the two.

    Args:
        drafts: all drafts of the project.
    """

    def __init__(self, drafts: Iterable[Draft]) -> None:
        drafts = list(drafts)
        self._told = {place for draft in drafts if _is_log(draft) and (place := _place(draft)) is not None}
        self._waiting = _first_waits(draft for draft in drafts if self._line(draft) is None)
        self._repeated = _repeated_waits(drafts)
        self._shown = {(draft.path, start): draft.cost for draft in drafts for start in draft.logs}
        self._readers = {(draft.path, start): draft for draft in drafts for start in draft.logs}
        for draft in drafts:
            first = next(((path, start) for path, _, start in draft.read_for if (path, start) in self._told), None)
            if first is not None:  # other log lines would only show the same value again
                self._shown.setdefault(first, _read_for_it(draft, first[0]))
                self._readers.setdefault(first, draft)
        costs = [(draft, self._cost(draft)) for draft in drafts]
        self._runs = {_key(draft): run for draft in drafts if (run := _run_of(draft)) is not None}
        self._leading = _first_that_wait(costs)
        self._events: dict[tuple[Loop, str], dict[Trail, list[_Event]]] = defaultdict(lambda: defaultdict(list))
        for draft, cost in costs:
            if cost is not None and draft.step is not None:
                event = loop_of(draft.step), cost.event.name
                self._events[event][_way(draft, draft.step)].append((cost.milliseconds, draft.arms))

    def impact(self, draft: Draft) -> Impact | None:
        """The impact of a finding; None if its rule is not about anything that costs time."""
        cost = self._cost(draft)
        if cost is None:
            return None
        if draft.step is None:
            return impact(cost, 1, cost.milliseconds)
        together = self._together(draft, draft.step, cost)
        found = impact(cost, len(together), sum(together))
        # By now, the fix of the draft itself may be only words, if the read of the logged value stays.
        leading = self._leading.get(run) if (run := self._runs.get(_key(draft))) is not None else None
        if leading is None or found.level > ImpactLevel.LOW or cost.event.name == _PROGRESS:
            return found
        return replace(found, level=ImpactLevel.MEDIUM, reason=_BESIDE_A_LINE.format(reason=found.reason, row=leading))

    def reader(self, draft: Draft) -> str:
        """The row that reads from the device for a log line that contains no tensor itself; ``""`` if none does."""
        place = _place(draft)
        if role_of(draft) != PLAIN_LOG or place is None or not self._shown.get(place):
            return ""
        return row_from(self._readers[place].path, self._readers[place].line, draft.path)

    def _together(self, draft: Draft, step: Step, cost: Cost) -> list[float]:
        """The costs of the same event in the same step: a call that leads to two files reaches only one of them.

        Two arms of one test do not run in the same step either.
        """
        ways, own = self._events[loop_of(step), cost.event.name], _way(draft, step)
        every = len(ways) > _MOST_WAYS
        events = [event for way, found in ways.items() if every or may_meet(own, way) for event in found]
        few = len(events) <= _MOST_WAYS
        return [milliseconds for milliseconds, arms in events if not (few and exclude(draft.arms, arms))]

    def _drained(self, draft: Draft) -> str:
        """Where the host has just waited repeatedly for the device, in words; ``""`` if it has not."""
        cost, step = draft.cost, draft.step
        if cost is None or step is None or cost.repeat is not None or not _is_wait(draft):
            return ""
        for other in self._repeated.get(loop_of(step), ()):
            if other.cost is not None and other.cost.repeat is not None and _has_drained(other, draft):
                path, row = other.cost.repeat
                return _BEHIND_LOOP.format(often=cost.often, row=row_from(path, row, draft.path))
        return ""

    def _line(self, draft: Draft) -> tuple[str, int, int] | None:
        """The log line that a value is read for, if all such lines are reported: path, row, and start."""
        lines = draft.shown if draft.cost is not None and draft.cost.milliseconds else ()
        return lines[0] if lines and all((path, start) in self._told for path, _, start in lines) else None

    def _cost(self, draft: Draft) -> Cost | None:
        if (line := self._line(draft)) is not None:
            assert draft.cost is not None
            row = row_from(line[0], line[1], draft.path)
            return replace(draft.cost, milliseconds=0.0, often=_FOR_A_LINE.format(row=row))
        if _waits(draft) and self._waiting[draft.path, draft.line] != draft.start:
            assert draft.cost is not None
            return replace(draft.cost, milliseconds=0.0, often=_BEHIND)
        if (drained := self._drained(draft)) and draft.cost is not None:
            return _without_wait(draft.cost, drained)
        if draft.statement is None or draft.logs or is_read(draft):
            return draft.cost
        return self._shown.get((draft.path, draft.statement[0])) or draft.cost


def _without_wait(cost: Cost, often: str) -> Cost:
    """The remaining cost of a wait when the device is idle: for a log line, that of the line."""
    if cost.event.adds_up:
        line = catalogue.events()["log line"]
        return replace(cost, event=line, milliseconds=line.milliseconds, often=often)
    return replace(cost, milliseconds=0.0, often=often)


def _read_for_it(draft: Draft, path: str) -> Cost | None:
    """The cost of a log line that a value is read for; None if the read costs nothing, or is uncertain."""
    cost = draft.cost
    if cost is None or not cost.milliseconds or draft.confidence is Confidence.LOW or draft.step is None:
        return None
    return replace(cost, often=f"{cost.often}, by the read for it at line {row_from(draft.path, draft.line, path)}")


def _first_that_wait(costs: Iterable[tuple[Draft, Cost | None]]) -> dict[_Run, int]:
    """Among the log lines that one guard fixes, the row of the first one that waits for the device."""
    found: dict[_Run, int] = {}
    for draft, cost in costs:
        if cost is not None and cost.event.name in _READS and cost.milliseconds and (run := _run_of(draft)) is not None:
            found[run] = min(draft.line, found.get(run, draft.line))
    return found


def _run_of(draft: Draft) -> _Run | None:
    """A key for log lines that one guard, or one change of their test, fixes together."""
    if not _is_log(draft) or draft.step is None or draft.fix is None:
        return None
    return draft.path, loop_of(draft.step), draft.fix, tuple(draft.arms.items())


def _key(draft: Draft) -> tuple[str, str, int, int]:
    return draft.code, draft.path, draft.start, draft.end


def _is_log(draft: Draft) -> bool:
    """Whether a finding is about a log line that runs at each step, and is shown by default."""
    is_sure = draft.confidence > Confidence.LOW and not draft.is_silenced
    return is_log(draft) and draft.step is not None and draft.every is None and is_sure


def _place(draft: Draft) -> tuple[str, int] | None:
    return (draft.path, draft.statement[0]) if draft.statement is not None else None


def _first_waits(drafts: Iterable[Draft]) -> dict[tuple[str, int], int]:
    """The place of the wait that a row is reported for: the most confident, or the first of several."""
    found: dict[tuple[str, int], Draft] = {}
    for draft in drafts:
        if _waits(draft):
            known = found.setdefault((draft.path, draft.line), draft)
            if (-draft.confidence, draft.start) < (-known.confidence, known.start):
                found[draft.path, draft.line] = draft
    return {row: draft.start for row, draft in found.items()}


def _repeated_waits(drafts: Iterable[Draft]) -> dict[Loop, list[Draft]]:
    """For each step, the waits in each iteration of a loop inside the step."""
    found: dict[Loop, list[Draft]] = defaultdict(list)
    for draft in drafts:
        is_sure = draft.confidence > Confidence.LOW and not draft.is_silenced
        if is_sure and draft.step is not None and draft.cost is not None and draft.cost.again and is_read(draft):
            found[loop_of(draft.step)].append(draft)
    return found


def _is_wait(draft: Draft) -> bool:
    return draft.cost is not None and draft.cost.event.name in WAITS


def _has_drained(repeated: Draft, single: Draft) -> bool:
    """Whether a loop that waits repeatedly leaves the device little work for a later wait.

    There must be no backward pass between the two, and each step that makes the later one must make the others.
    """
    assert (
        repeated.step is not None and single.step is not None and repeated.cost is not None and single.cost is not None
    )
    if any(single.arms.get(test) is not value for test, value in repeated.arms.items()):
        return False
    first, second = trail_of(repeated, repeated.step), trail_of(single, single.step)
    return repeated.cost.passes == single.cost.passes and may_meet(first, second) and first < second


def _waits(draft: Draft) -> bool:
    """Whether a finding is about a wait in a step that is short if another wait comes right before it."""
    cost = draft.cost
    if cost is None or cost.event.adds_up or not cost.milliseconds:
        return False
    return is_read(draft) and draft.step is not None


def _way(draft: Draft, step: Step) -> Trail:
    """The path from the loop of a finding to its file."""
    return (*step.via, (draft.path, 0))
