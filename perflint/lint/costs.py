"""What the findings of one step loop cost together, and so what impact each of them has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from perflint.findings import Impact
from perflint.lint.beside import Loop, is_read, loop_of
from perflint.lint.context import Draft
from perflint.lint.impacts import Cost, impact


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
        self._counts = Counter[tuple[Loop, str]]()
        self._milliseconds: dict[tuple[Loop, str], float] = defaultdict(float)
        for draft in drafts:
            cost = self._cost(draft)
            if cost is not None and draft.step is not None:
                event = loop_of(draft.step), cost.event.name
                self._counts[event] += 1
                self._milliseconds[event] += cost.milliseconds

    def impact(self, draft: Draft) -> Impact | None:
        """The impact of a finding; None where its rule is about nothing that costs time."""
        cost = self._cost(draft)
        if cost is None:
            return None
        if draft.step is None:
            return impact(cost, 1, cost.milliseconds)
        event = loop_of(draft.step), cost.event.name
        return impact(cost, self._counts[event], self._milliseconds[event])

    def _cost(self, draft: Draft) -> Cost | None:
        if draft.statement is None or draft.logs or is_read(draft):
            return draft.cost
        return self._shown.get((draft.path, draft.statement[0])) or draft.cost
