"""What rules say about measurements: the cost of each kind of event, and where and why a fix is not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from perflint.findings import ImpactLevel

Device = Literal["cpu", "gpu", "stand-in-gpu"]
"""The devices on which fixes are measured; ``stand-in-gpu`` has PyTorch in place of Paddle (docs/measuring.md)."""

DEVICES: tuple[Device, ...] = ("cpu", "gpu", "stand-in-gpu")
PADDLE_DEVICES: tuple[Device, ...] = ("cpu", "gpu")
"""The devices on which Paddle itself is measured; only these show what a rule is worth."""

PHASES = (
    *("reader", "forward", "backward", "optimizer"),
    *("read", "sized", "wait", "copy", "save", "log", "collect", "sleep", "evaluate", "other"),
)
"""What the time of a step is spent on, in the words of ``perflint profile``: ``read`` is reading a tensor on the host,
``sized`` an operation whose result has a size that depends on values, ``copy`` a copy to the device, and ``other``
anything else.
"""

MEDIUM_FROM_MS = 0.1
HIGH_FROM_MS = 2.5
"""From how many milliseconds per step an impact is medium, or high: a thousandth, and a fortieth, of 100 ms."""


@dataclass(frozen=True)
class Event:
    """Something that costs time whenever it happens, such as a wait for the device: an entry of ``rules/events.yaml``.

    ``what``: in words, such as "a wait for the device". ``milliseconds``: a typical cost; ``forward``: the same within
    a forward pass. ``adds_up``: whether several in one step cost several times as much. ``level``: used instead of a
    time, for costs that are not time. ``source``: where the figure is from. ``medium_from``: from how many milliseconds
    per step the impact is medium; higher if the fix takes away something that people look at.
    """

    name: str
    what: str
    milliseconds: float
    forward: float
    level: ImpactLevel | None
    source: str
    adds_up: bool = True
    medium_from: float = MEDIUM_FROM_MS

    def level_of(self, milliseconds: float) -> ImpactLevel:
        """The level of an impact, given in milliseconds per step."""
        if self.level is not None:
            return self.level
        if milliseconds >= HIGH_FROM_MS:
            return ImpactLevel.HIGH
        return ImpactLevel.MEDIUM if milliseconds >= self.medium_from else ImpactLevel.LOW


@dataclass(frozen=True)
class Measuring:
    """The key ``measuring`` of a rule's file; each reason is a clause without a capital and without a full stop.

    ``nowhere``: why the fix is not measured on any device, "" if it is measured on one; ``not_on``: the devices on
    which it is not measured, with the reason; ``no_gain_on``: those on which it was measured without showing a gain,
    with the explanation.
    """

    nowhere: str = ""
    not_on: Mapping[Device, str] = field(default_factory=dict)
    no_gain_on: Mapping[Device, str] = field(default_factory=dict)

    def why_not(self, device: Device) -> str:
        """Why the fix is not measured on a device, "" if it is."""
        return self.nowhere or self.not_on.get(device, "")

    def conflict(self) -> str:
        """What contradicts itself, such as a device that is both measured and not measured; "" if nothing does."""
        if self.nowhere and (self.not_on or self.no_gain_on):
            return "says nowhere, which leaves no device to speak of"
        both = sorted(set(self.not_on) & set(self.no_gain_on))
        return f"has {both[0]} in not_on and in no_gain_on" if both else ""
