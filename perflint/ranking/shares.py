"""What a profile says of a training step, whatever has made the profile: which share of the step went where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perflint.text.wording import counted

MOST_SHARE = 0.999
"""The largest share that a bound is worked out from: at most 1000 times as fast."""

LOG = "a training log"

GAP = "gap"
"""The phase from the end of the optimizer's step to the next batch: traces do not say what happens there."""

INSTEAD: Mapping[str, tuple[str, ...]] = {
    "sized": ("read",),
    "save": (GAP,),
    "log": (GAP,),
    "collect": (GAP,),
    "sleep": (GAP,),
}
"""Where a phase is looked for in a profile that does not tell it apart, by the phase."""

HOST_ONLY = frozenset({"forward", "backward", "optimizer", "other"})
"""Phases whose time on the host bounds nothing on a GPU, which does their work later."""

AT_PLACE = frozenset({"read", "sized", "wait", "copy", "save", "log", "collect", "sleep"})
"""Phases whose time is spent at the line that a finding is about, so that the block around it bounds it too."""

AT_LINE = AT_PLACE | {"reader", "optimizer", "evaluate"}
"""Phases that a line has by a call on it; of ``other`` a loop has a part on each of its lines."""


class UnusableProfile(Exception):
    """A file cannot be used as a profile; ``str(error)`` says what is wrong and what to do, without the file's name."""


@dataclass(frozen=True)
class LineShare:
    """What one line costs: the share of a step, on average.

    ``path`` is seen from the project's root, with ``/``; ``kind`` and ``phase`` are words of ``measuring.PHASES``;
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
    """A profile, as far as findings can be ranked by it.

    ``name`` is the file as a person has named it, ``made_by`` what has written it, in words.  ``steps`` are those that
    its shares are means of, or the rows of a log (0: not known).  ``device`` is ``cpu``, ``gpu``, or empty where the
    file does not say.  Shares are of a step's time, from 0 to 1; what a mapping does not
    hold is not known.  ``classes`` has layers by the name of their class, ``names`` the blocks that the program has
    named (``RecordEvent("name")``); ``files`` the SHA-256 of the texts that ran, by path.  ``notes`` are sentences that
    a person should read.  ``tells_all``: a phase that is not there took no time, where else it may not be told apart.
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
        """What the file was taken for, in a sentence."""
        steps = f", {counted(self.steps, 'row' if self.made_by == LOG else 'step')}" if self.steps else ""
        return f"{self.name} is {self.made_by}{steps}{f', on a {self.device.upper()}' if self.device else ''}"

    def share_of(self, phases: tuple[str, ...]) -> tuple[float, tuple[str, ...]] | None:
        """The share of some phases together, and those that it was found under; None where that is not known."""
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
    """A number out of a file as a share from 0 to 1; None for what is no number, or none that can be."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return float(min(max(value, 0), 1))
