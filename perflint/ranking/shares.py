"""What any profile says about a training step: which share of the step was spent where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
