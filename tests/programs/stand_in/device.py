"""What the stand-in's device does: it counts kernels, waits of the host for them, and backward passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


def _nothing() -> None:
    return None


def _ignored(_: str) -> None:
    return None


@dataclass
class Device:
    """One device for one run.

    ``waits`` counts reads by the host that had to wait: two reads with nothing computed in between wait once.
    ``on_backward`` is called before each backward pass and may raise, which is how a run is interrupted;
    ``saved`` is told the path of each file that ``save`` or ``async_save`` is asked for; ``flags`` are Paddle's, as the
    environment set them when it was imported.
    """

    waits: int = 0
    busy: bool = False
    on_backward: Callable[[], None] = _nothing
    saved: Callable[[str], None] = _ignored
    flags: dict[str, str] = field(default_factory=dict)
    unfinished: list[Callable[[], None]] = field(default_factory=list)
    """Writes that ``async_save`` has promised and not yet made."""

    def launch(self) -> None:
        """Note that a kernel was launched."""
        self.busy = True

    def read(self) -> None:
        """Note that the host reads a value, and waits for it if anything was launched since the last read."""
        self.waits += self.busy
        self.busy = False

    def finish_writes(self) -> None:
        """Make the writes that were promised, with the values that the tensors hold now."""
        while self.unfinished:
            self.unfinished.pop(0)()


class _Current:
    """The device of the run that is going on; replaced by ``use``."""

    device = Device()


def current() -> Device:
    """The device of the run that is going on."""
    return _Current.device


def use(device: Device) -> None:
    """Let the tensors count on this device from now on."""
    _Current.device = device
