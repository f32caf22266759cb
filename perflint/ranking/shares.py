"""What a profile says about a training step: which share of the step was spent where, also as computed from a trace."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from perflint.text.visible import counted

MOST_SHARE = 0.999
"""The largest share for which a bound is computed: at most 1000 times as fast."""

LOG = "a training log"

GAP = "gap"
"""The phase from the end of the optimizer's step to the next batch: traces do not show what happens there."""

INSTEAD: Mapping[str, tuple[str, ...]] = {
    "sized": ("read",),
    "save": (GAP,),
    "log": (GAP,),
    "collect": (GAP,),
    "sleep": (GAP,),
}
"""Where to look for a phase in a profile that does not distinguish it, by phase."""

HOST_ONLY = frozenset({"forward", "backward", "optimizer", "other"})
"""Phases whose time on the host limits nothing on a GPU, which does their work later."""

AT_PLACE = frozenset({"read", "sized", "wait", "copy", "save", "log", "collect", "sleep"})
"""Phases whose time is spent at the line that a finding is about, so the block around it limits it too."""

AT_LINE = AT_PLACE | {"reader", "optimizer", "evaluate"}
"""Phases that a line has because of a call on it; the time of ``other`` is spread over the lines of a loop."""


Span = tuple[float, float]
"""A start and an end, in the same unit."""
_ENOUGH = 3
"""With at least this many steps, the first one, which creates things that stay, is left out."""
_MOST_STEPS = 1_000_000
_MOST_NAMES = 10_000
"""How many names of layers, or of blocks, are distinguished: a program may number its blocks."""


class UnusableProfile(Exception):
    """A file cannot be used as a profile; ``str(error)`` says what is wrong and what to do, without the file's name."""


@dataclass(frozen=True)
class LineShare:
    """What one line costs: the share of a step, on average.

    ``path`` is relative to the project's root, with ``/``; ``kind`` and ``phase`` are words of ``catalogue.PHASES``;
    ``what`` names the call, such as ``paddle.save``.
    """

    path: str
    row: int
    kind: str
    phase: str
    what: str
    share: float


@dataclass(frozen=True)
class Profiled:
    """A profile, with what is needed to rank findings.

    ``name`` is the file as named by the user, ``made_by`` what has written it, in words. ``steps`` is the number of
    steps that its shares are averaged over, or of rows of a log (0: not known). ``device`` is ``cpu``, ``gpu``, or
    empty if the file does not say. Shares are of a step's time, from 0 to 1; what a mapping does not contain is not
    known. ``classes`` has layers by the name of their class, ``names`` the blocks that the program has named
    (``RecordEvent("name")``); ``files`` the SHA-256 of the texts that ran, by path. ``notes`` are sentences for the
    user. ``tells_all``: a missing phase took no time; otherwise the profile may not distinguish it.
    """

    name: str
    made_by: str
    steps: int
    device: str = ""
    phases: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[LineShare, ...] = ()
    classes: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tells_all: bool = False

    @property
    def described(self) -> str:
        """A sentence on what kind of file it is."""
        steps = f", {counted(self.steps, 'row' if self.made_by == LOG else 'step')}" if self.steps else ""
        return f"{self.name} is {self.made_by}{steps}{f', on a {self.device.upper()}' if self.device else ''}"

    def share_of(self, phases: tuple[str, ...]) -> tuple[float, tuple[str, ...]] | None:
        """The share of some phases together, and those under which it was found; None if that is not known."""
        found: dict[str, float] = {}
        for phase in phases:
            if self.device == "gpu" and phase in HOST_ONLY:
                return None
            known = next((name for name in (phase, *INSTEAD.get(phase, ())) if name in self.phases), None)
            if known is not None:
                found[known] = self.phases[known]
            elif not self.tells_all:
                return None
        return (min(sum(found.values()), 1.0), tuple(found)) if found else None


def share(value: object) -> float | None:
    """A number from a file as a share from 0 to 1; None if it is not a number, or not a possible one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return float(min(max(value, 0), 1))


class Spans:
    """Time spans that are added one by one; sixteen bytes each, and none for one inside the previous one."""

    def __init__(self) -> None:
        self._starts = array("d")
        self._ends = array("d")

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: float, end: float) -> None:
        """Add a span; one that begins within the last one extends it, or is part of it."""
        if self._starts and self._starts[-1] <= start <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], end)
        else:
            self._starts.append(start)
            self._ends.append(end)

    def joined(self) -> list[Span]:
        """All of them in order, as spans that do not touch."""
        return joined(zip(self._starts, self._ends, strict=True))


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, with those that touch or overlap joined.

    >>> joined([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0)])
    [(0.0, 3.0), (5.0, 7.0)]
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def within(spans: Sequence[Span], windows: Sequence[Span]) -> float:
    """How much of some spans is within some windows; both in order, and without overlaps.

    >>> within([(0.0, 3.0), (5.0, 7.0)], [(2.0, 6.0)])
    2.0
    """
    total, index = 0.0, 0
    for start, end in windows:
        while index < len(spans) and spans[index][1] <= start:
            index += 1
        at = index
        while at < len(spans) and spans[at][0] < end:
            total += min(spans[at][1], end) - max(spans[at][0], start)
            at += 1
    return total


def length(spans: Iterable[Span]) -> float:
    """The total length of spans that do not overlap."""
    return sum(end - start for start, end in spans)


def _spans() -> defaultdict[str, Spans]:
    return defaultdict(Spans)


@dataclass
class TracedSteps:
    """The contents of a trace for the training thread. All times are in one unit.

    ``marks``: the host was in a phase (``reader``, ``forward``, ``backward``, ``optimizer``), by phase.  ``calls``: it
    was in a call to the device's runtime that may wait (``read``, ``copy``, ``wait``).  ``classes``, ``names``: see
    ``shares.Profiled``.
    """

    steps: list[Span] = field(default_factory=list)
    marks: defaultdict[str, Spans] = field(default_factory=_spans)
    calls: defaultdict[str, Spans] = field(default_factory=_spans)
    classes: defaultdict[str, Spans] = field(default_factory=_spans)
    names: defaultdict[str, Spans] = field(default_factory=_spans)

    def add_step(self, span: Span) -> None:
        """Add a step.

        Raises:
            UnusableProfile: there are far too many.
        """
        if len(self.steps) >= _MOST_STEPS:
            raise UnusableProfile(f"it has more than {_MOST_STEPS:,} steps: record fewer of them")
        self.steps.append(span)

    def add(self, kind: defaultdict[str, Spans], name: str, start: float, end: float) -> None:
        """Add a span under a name, unless there are very many names already."""
        if name in kind or len(kind) < _MOST_NAMES:
            kind[name].add(start, end)

    def windows(self) -> list[Span]:
        """The steps that count, in order: without the first of several, and without a last one that did not train."""
        steps = _in_order(self.steps)
        marks = [self.marks[name] for name in ("forward", "optimizer") if name in self.marks]
        training = joined(span for spans in marks for span in spans.joined())
        if len(steps) >= _ENOUGH and training and within(training, steps[-1:]) == 0:
            del steps[-1]
        return steps[1:] if len(steps) >= _ENOUGH else steps

    def profiled(self, name: str, made_by: str, device: str, notes: Iterable[str] = ()) -> Profiled:
        """Which share of the steps was spent where; nothing is known about what took no time in them.

        Raises:
            UnusableProfile: no step took any time.
        """
        windows = self.windows()
        total = length(windows)
        if total <= 0:
            raise UnusableProfile("its steps take no time: profile some steps of a training")

        def shares(kind: Mapping[str, list[Span]]) -> dict[str, float]:
            found = {name: within(spans, windows) / total for name, spans in kind.items()}
            return {name: min(share, 1.0) for name, share in found.items() if share > 0}

        marks, calls, classes, names = map(_joined, (self.marks, self.calls, self.classes, self.names))
        gaps = {GAP: _gaps(marks, windows[-1][1])} if "optimizer" in marks else {}
        # a read may wait in a separate call
        waiting = {call: joined([*spans, *calls.get("wait", ())]) for call, spans in calls.items()}
        phases = shares({**marks, **gaps, **waiting})
        outside = 1 - within(joined(chain(*marks.values())), windows) / total
        if marks and outside > 0:
            phases["other"] = outside
        steps = len(windows)
        return Profiled(
            name, made_by, steps, device, phases, classes=shares(classes), names=shares(names), notes=tuple(notes)
        )


def _joined(kind: Mapping[str, Spans]) -> dict[str, list[Span]]:
    return {name: spans.joined() for name, spans in kind.items()}


def _in_order(steps: list[Span]) -> list[Span]:
    """Steps in order; if two overlap, the later one begins where the earlier one ends."""
    found: list[Span] = []
    for start, end in sorted(steps):
        start = max(start, found[-1][1]) if found else start
        if end > start:
            found.append((start, end))
    return found


def _gaps(marks: Mapping[str, list[Span]], last: float) -> list[Span]:
    """The spans from the end of each optimizer step to whatever comes next."""
    begins = sorted((start, end, name) for name, spans in marks.items() for start, end in spans)
    pairs = pairwise([*begins, (last, last, "")])
    return joined((end, max(start, end)) for (_, end, name), (start, _, _) in pairs if name == "optimizer")
