"""What a rule's file says about measuring its fix: where that is not done, where no gain shows, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Device = Literal["cpu", "gpu", "stand-in-gpu"]
"""Where a fix is measured; ``stand-in-gpu`` is a GPU with PyTorch in Paddle's place (docs/measuring.md)."""

DEVICES: tuple[Device, ...] = ("cpu", "gpu", "stand-in-gpu")
PADDLE_DEVICES: tuple[Device, ...] = ("cpu", "gpu")
"""Those on which Paddle itself is measured; no other says what a rule is worth."""


@dataclass(frozen=True)
class Measuring:
    """The key ``measuring`` of a rule's file; each reason is a clause without a capital and without a full stop.

    ``nowhere``: why the fix is measured on no device, "" where it is on one; ``not_on``: the devices on which it is not
    measured, with the reason; ``no_gain_on``: those on which it was measured and no gain showed, with what explains it.
    """

    nowhere: str = ""
    not_on: Mapping[Device, str] = field(default_factory=dict)
    no_gain_on: Mapping[Device, str] = field(default_factory=dict)

    def why_not(self, device: Device) -> str:
        """Why the fix is not measured on a device, "" where it is."""
        return self.nowhere or self.not_on.get(device, "")

    def conflict(self) -> str:
        """What two parts say that cannot both be, "" where they agree."""
        if self.nowhere and (self.not_on or self.no_gain_on):
            return "says nowhere, which leaves no device to speak of"
        both = sorted(set(self.not_on) & set(self.no_gain_on))
        return f"has {both[0]} in not_on and in no_gain_on" if both else ""
