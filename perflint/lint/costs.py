"""What the findings of one step loop cost together, and so what impact each of them has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from perflint.findings import Impact
from perflint.lint.beside import Loop, Trail, is_read, loop_of, may_meet
from perflint.lint.context import Draft
from perflint.lint.impacts import Cost, impact
from perflint.training.steps import Step

_MOST_WAYS = 100
"""Ways from one loop that are compared; where there are more, all are taken to run in one program."""


class Costs:
    """The costs of the findings of a project.

    A log line without a tensor costs little.  It costs as much as a read where a read at each step is made for its sake
    alone: the fix of that read leaves nothing to read only if the line, too, is written more rarely.

    Args:
        drafts: all of them.
    """

    def __init__(self, drafts: Iterable[Draft]) -> None:
        drafts = list(drafts)
        self._shown = {(draft.path, start): draft.cost for draft in drafts for start in draft.logs}
        self._events: dict[tuple[Loop, str], dict[Trail, list[float]]] = defaultdict(lambda: defaultdict(list))
        for draft in drafts:
            cost = self._cost(draft)
            if cost is not None and draft.step is not None:
                event = loop_of(draft.step), cost.event.name
                self._events[event][_way(draft, draft.step)].append(cost.milliseconds)

    def impact(self, draft: Draft) -> Impact | None:
        """The impact of a finding; None where its rule is about nothing that costs time."""
        cost = self._cost(draft)
        if cost is None:
            return None
        if draft.step is None:
            return impact(cost, 1, cost.milliseconds)
        together = self._together(draft, draft.step, cost)
        return impact(cost, len(together), sum(together))

    def _together(self, draft: Draft, step: Step, cost: Cost) -> list[float]:
        """The costs of the same event in the same step: a call that leads to two files reaches one of them alone."""
        ways, own = self._events[loop_of(step), cost.event.name], _way(draft, step)
        every = len(ways) > _MOST_WAYS
        return [each for way, costs in ways.items() if every or may_meet(own, way) for each in costs]

    def _cost(self, draft: Draft) -> Cost | None:
        if draft.statement is None or draft.logs or is_read(draft):
            return draft.cost
        return self._shown.get((draft.path, draft.statement[0])) or draft.cost


def _way(draft: Draft, step: Step) -> Trail:
    """The way from the loop of a finding to its file."""
    return (*step.via, (draft.path, 0))
