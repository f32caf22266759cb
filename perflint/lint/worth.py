"""What findings are worth: of waits, by the model of the step that they belong to; of everything else, by its cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from perflint.findings import Confidence, Fix, Impact, ImpactLevel
from perflint.lint.context import Draft
from perflint.lint.grouping import PLAIN_LOG, is_log, is_read, role_of
from perflint.lint.impacts import Cost, impact, row_from
from perflint.lint.step_waits import Edits, FindingSteps, Loop, Rows, is_wait, loop_of
from perflint.trace.modelled_step import WORTH_MS, ModelledStep

_TOGETHER = "{reason}, which pays off together with {lines}"
_BEHIND = "{reason}, right after another one"
_BESIDE = "{reason}, where nothing is gained while it also waits at {lines}"
_BESIDE_A_LINE = "{reason}, fixed together with line {row}"
_FOR_A_LINE = "that the log at line {row} needs at each step"
_PROGRESS = "progress text"
"""A text that a progress bar shows when it is drawn next: it costs little, whatever is next to it."""
_READS = frozenset({"wait", "printed wait"})
"""Events in which the host reads a value."""
_Run = tuple[str, Loop, Fix]


class FindingWorth:
    """What the findings of a project are worth.

    A log line without a tensor costs little. It costs as much as a read if a value is read at each step only for it:
    the fix of that read only helps if the line, too, runs less often. The lines next to such a line, or next to one
    with a tensor, count with it, because one guard around all of them fixes it. Texts for a progress bar do not count:
    they cost almost nothing.

    A read whose value is only used by such a line costs nothing by itself: while the line runs, it has to be read.

    Args:
        drafts: all drafts of the project.
        steps: their steps.
    """

    def __init__(self, drafts: Sequence[Draft], steps: FindingSteps) -> None:
        self._steps = steps
        self._totals: dict[int, tuple[list[Draft], float]] = {}
        self._told = {place for draft in drafts if _is_log(draft) and (place := _place(draft)) is not None}
        self._shown = {(draft.path, start): draft.cost for draft in drafts for start in draft.logs}
        self._readers = {(draft.path, start): draft for draft in drafts for start in draft.logs}
        for draft in drafts:
            first = next(((path, start) for path, _, start in draft.read_for if (path, start) in self._told), None)
            if first is not None:  # other log lines would only show the same value again
                self._shown.setdefault(first, _read_for_it(draft, first[0]))
                self._readers.setdefault(first, draft)
        self._leading: dict[_Run, int] = {}
        for draft in drafts:
            cost, run = self._cost(draft), _run_of(draft)
            if cost is not None and cost.event.name in _READS and cost.milliseconds and run is not None:
                self._leading[run] = min(draft.line, self._leading.get(run, draft.line))

    def impact(self, draft: Draft) -> Impact | None:
        """The impact of a finding; None if its rule is not about anything that costs time."""
        cost = self._cost(draft)
        if cost is None:
            return None
        if draft.step is None or draft.every is not None or not cost.milliseconds:
            return impact(cost, 1, cost.milliseconds)
        if is_wait(draft) and cost is draft.cost:
            return self._of_wait(draft, cost)
        same = self._steps.same_event(draft) if cost.event.adds_up and cost is draft.cost else [draft]
        found = impact(cost, len(same), self._total(same))
        # By now, the fix of the draft itself may be only words, if the read of the logged value stays.
        run = _run_of(draft)
        leading = self._leading.get(run) if run is not None else None
        if leading is None or found.level > ImpactLevel.LOW or cost.event.name == _PROGRESS:
            return found
        return replace(found, level=ImpactLevel.MEDIUM, reason=_BESIDE_A_LINE.format(reason=found.reason, row=leading))

    def reader(self, draft: Draft) -> str:
        """The row that reads from the device for a log line that contains no tensor itself; ``""`` if none does."""
        place = _place(draft)
        if role_of(draft) != PLAIN_LOG or place is None or not self._shown.get(place):
            return ""
        return row_from(self._readers[place].path, self._readers[place].line, draft.path)

    def _of_wait(self, draft: Draft, cost: Cost) -> Impact:
        """The impact of a wait: what it brings alone, or in the smallest set of edits that brings nearly all."""
        waits = self._steps.waits(draft)
        if waits is None:
            return impact(cost, 1, cost.milliseconds)
        step, keys, _ = waits
        edits = self._steps.edits(waits)
        own = impact(cost, 1, cost.milliseconds)
        if step.is_long:
            return self._of_many(cost, own, edits)
        others = edits.all - keys
        usual = max(step.usual_gain(keys), step.usual_gain(keys, gone=others))
        level = max(cost.event.level_of(usual), ImpactLevel.MEDIUM)
        if step.gain(keys) >= WORTH_MS:
            return Impact(level, own.reason, usual)
        if step.pays_off(keys, edits.all, edits.fewest):
            lines = _lines(step, edits.fewest - keys, draft)
            return Impact(level, _TOGETHER.format(reason=own.reason, lines=lines) if lines else own.reason, usual)
        staying = _lines(step, step.waits - edits.all - keys, draft)
        reason = _BESIDE.format(reason=own.reason, lines=staying) if staying else _BEHIND.format(reason=own.reason)
        return Impact(ImpactLevel.LOW, reason, usual)

    def _total(self, drafts: list[Draft]) -> float:
        """What some findings cost together; kept, since all findings of a large step ask for the same list."""
        if id(drafts) not in self._totals:
            total = sum(each.cost.milliseconds for each in drafts if each.cost is not None)
            self._totals[id(drafts)] = drafts, total
        return self._totals[id(drafts)][1]

    def _of_many(self, cost: Cost, own: Impact, edits: Edits) -> Impact:
        """The impact of one of so many waits that only what they cost together is computed."""
        count = len(edits.step.waits)
        each = edits.step.usual_gain(edits.all) / count
        is_worth_it = edits.step.gain(edits.all) >= WORTH_MS
        level = max(cost.event.level_of(each), ImpactLevel.MEDIUM) if is_worth_it else ImpactLevel.LOW
        return Impact(level, f"{own.reason}, one of {count} there", each)

    def _line(self, draft: Draft) -> tuple[str, int, int] | None:
        """The log line that a value is read for, if all such lines are reported: path, row, and start."""
        lines = draft.shown if draft.cost is not None and draft.cost.milliseconds else ()
        return lines[0] if lines and all((path, start) in self._told for path, _, start in lines) else None

    def _cost(self, draft: Draft) -> Cost | None:
        if (line := self._line(draft)) is not None:
            assert draft.cost is not None
            row = row_from(line[0], line[1], draft.path)
            return replace(draft.cost, milliseconds=0.0, often=_FOR_A_LINE.format(row=row))
        if draft.statement is None or draft.logs or is_read(draft):
            return draft.cost
        return self._shown.get((draft.path, draft.statement[0])) or draft.cost


def _lines(step: ModelledStep, keys: Iterable[int], draft: Draft) -> str:
    """The rows of some waits in a message about another one, without its own row."""
    found = Rows({step.events[key].row for key in keys} - {(draft.path, draft.line)})
    return found.lines(draft.path) if found.count else ""


def _read_for_it(draft: Draft, path: str) -> Cost | None:
    """The cost of a log line that a value is read for; None if the read costs nothing, or is uncertain."""
    cost = draft.cost
    if cost is None or not cost.milliseconds or draft.confidence is Confidence.LOW or draft.step is None:
        return None
    return replace(cost, often=f"{cost.often}, by the read for it at line {row_from(draft.path, draft.line, path)}")


def _run_of(draft: Draft) -> _Run | None:
    """A key for log lines that one guard, or one change of their test, fixes together."""
    if not _is_log(draft) or draft.step is None or draft.fix is None:
        return None
    return draft.path, loop_of(draft.step), draft.fix


def _is_log(draft: Draft) -> bool:
    """Whether a finding is about a log line that runs at each step, and is shown by default."""
    is_sure = draft.confidence > Confidence.LOW and not draft.is_silenced
    return is_log(draft) and draft.step is not None and draft.every is None and is_sure


def _place(draft: Draft) -> tuple[str, int] | None:
    return (draft.path, draft.statement[0]) if draft.statement is not None else None
