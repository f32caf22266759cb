"""Groups the findings of a step loop whose costs are paid by one program in the same step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import chain, islice

from perflint.lint.context import Draft
from perflint.training.arms import Arms, exclude
from perflint.training.steps import Step

TENSOR_LOG, PLAIN_LOG = "PPF202", "PPF405"
"""Log lines that read a tensor, and log lines that read none."""

LOG_LINES = frozenset({TENSOR_LOG, PLAIN_LOG})
HOST_READS = frozenset({TENSOR_LOG, "PPF201", "PPF203", "PPF206", "PPF208", "PPF209"})
_MOST_LINES = 6
_MOST_TRAILS = 500
"""How many paths from one loop to its reads are compared; with more, all are assumed to run in one program."""
Loop = tuple[str, int, str]
"""Path and line of a step loop, and the function of the step."""

Trail = tuple[tuple[str, int], ...]
"""The path from a loop to a place: path and line of each call, then of the place."""


def loop_of(step: Step) -> Loop:
    """The loop of a step."""
    return step.path, step.line, step.function


def trail_of(draft: Draft, step: Step) -> Trail:
    """The path from the loop of a step to a finding."""
    return (*step.via, (draft.path, draft.line))


def may_meet(first: Trail, second: Trail) -> bool:
    """Whether two places can run in one program: a call that leads to two files reaches only one of them."""
    for (path, line), (other_path, other_line) in zip(first, second, strict=False):
        if path != other_path or line != other_line:
            return path == other_path
    return True


def is_read(draft: Draft) -> bool:
    """Whether a finding is about a host read, at the read itself, not at a call that leads there."""
    return draft.code in HOST_READS and "place" not in draft.fields


class LoopReads:
    """The host reads of one loop, by the paths that lead to them."""

    def __init__(self, trails: Mapping[Trail, Arms]) -> None:
        self._trails = trails
        self._places: dict[tuple[object, ...], LoopPlaces] = {}
        self._files: dict[Trail, set[str]] = defaultdict(set)
        """Which calls follow the same calls."""
        for trail in trails if len(trails) <= _MOST_TRAILS else ():
            for at, (path, _) in enumerate(trail):
                self._files[trail[:at]].add(path)

    def beside(self, trail: Trail) -> LoopPlaces:
        """The reads that a program pays for in the same step as one of them, including that one."""
        # They depend only on the calls that lead to several files, which file this one goes to, and which arms of the
        # tests it is in that not all reads share.
        forks = [at for at in range(len(trail)) if len(self._files.get(trail[:at], ())) > 1]
        arms = {test: value for test, value in self._trails[trail].items() if test in self._divided}
        way = (tuple((trail[:at], trail[at][0]) for at in forks), tuple(arms.items()))
        if way not in self._places:
            met = [other for other in self._trails if not forks or may_meet(trail, other)]
            self._places[way] = LoopPlaces(other[-1] for other in met if not exclude(arms, self._trails[other]))
        return self._places[way]

    @cached_property
    def _divided(self) -> frozenset[tuple[str, int]]:
        """The tests that have some of the reads in one arm, and others in the other."""
        known = self._trails if len(self._trails) <= _MOST_TRAILS else {}
        values: dict[tuple[str, int], set[bool]] = defaultdict(set)
        for arms in known.values():
            for test, value in arms.items():
                values[test].add(value)
        return frozenset(test for test, found in values.items() if len(found) > 1)


class LoopPlaces:
    """Rows of files, in order; messages name a few of them."""

    def __init__(self, places: Iterable[tuple[str, int]]) -> None:
        known = sorted(set(places))
        self.count = len(known)
        self._rows: dict[str, list[int]] = defaultdict(list)
        for path, row in known:
            self._rows[path].append(row)

    def without(self, places: Collection[tuple[str, int]]) -> int:
        """The number of places without some of them."""
        return self.count - sum(row in self._rows.get(path, ()) for path, row in places)

    def lines(self, path: str, without: Collection[tuple[str, int]] = ()) -> str:
        """The places as text for a message in a file: ``lines 3, 8``, ``line other.py:4``."""
        here = (str(row) for row in self._rows.get(path, ()) if (path, row) not in without)
        others = ((where, row) for where, rows in self._rows.items() if where != path for row in rows)
        elsewhere = (f"{where}:{row}" for where, row in others if (where, row) not in without)
        count = self.without(without)
        shown = ", ".join(islice(chain(here, elsewhere), _MOST_LINES))
        return f"line{'s' if count > 1 else ''} {shown}{', ...' if count > _MOST_LINES else ''}"
