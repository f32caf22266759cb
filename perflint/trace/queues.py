"""How long a training step takes, by a model of two queues: the host launches kernels, and the device works on them.

The host launches one kernel after the other and goes on; the device works on them in that order. A wait makes the host
stand still until the device is done with all that was launched; until the host has launched more, the device then
stands still. So a wait at a place costs more the further the host would have been ahead there: after a backward pass,
whose kernels take the device longer than the host takes to launch them, the whole lead is lost; right behind another
wait there is none to lose.

``docs/card.md`` compares the model with measurements on GPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Kernels(NamedTuple):
    """Some kernels, with the milliseconds that the host takes to launch one, and the device to compute it."""

    number: int
    launch_ms: float
    device_ms: float

    def times(self, count: int) -> Kernels:
        """As many kernels of the same kind."""
        return self._replace(number=count)


class HostWork(NamedTuple):
    """Work of the host, in milliseconds, during which it launches nothing."""

    ms: float


class Wait(NamedTuple):
    """A wait of the host for the device; ``key`` tells it from others."""

    key: int


Part = Kernels | HostWork | Wait

# A typical step: 7.8 ms of the device. Assumptions, not measurements; docs/card.md has those of two networks.
FORWARD = Kernels(100, 0.03, 0.025)  # launched from Python
BACKWARD = Kernels(200, 0.01, 0.022)  # launched from C++
OPTIMIZER = Kernels(100, 0.01, 0.007)
HOST_MS = 1.0
"""The work of the host between two steps, besides what is known to cost more."""

RESTART_MS = 0.25
"""What the host loses at a wait besides its lead. One read in the middle of the forward pass costs 0.3 to 0.9 ms more
than its lost lead explains (PPF210 in docs/card.md, on two cards)."""

_ROOM = 1000
"""How many kernels CUDA lets the host launch ahead of the device (docs/card.md)."""
_STEPS, _COUNTED = 12, 4
"""How many steps are computed, and how many of the last ones count: the queues have filled by then."""


def step_ms(parts: Sequence[Part], without: Collection[int] = (), restart_ms: float = RESTART_MS) -> float:
    """How long a step of these parts takes once the queues have filled, in milliseconds.

    Args:
        parts: what the host does, in order.
        without: the keys of the waits that are left out.
        restart_ms: what the host loses at a wait besides its lead.
    """
    clocks = _Clocks(restart_ms)
    ends: list[float] = []
    kept = [part for part in parts if not (isinstance(part, Wait) and part.key in without)]
    for _ in range(_STEPS):
        for part in kept:
            clocks.take(part)
        ends.append(max(clocks.host, clocks.device))
    return (ends[-1] - ends[-1 - _COUNTED]) / _COUNTED


@dataclass
class _Clocks:
    """When the host, and the device, are done with what they were given so far, in milliseconds."""

    restart_ms: float
    host: float = 0.0
    device: float = 0.0
    launched: int = 0
    _done: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])
    """How many kernels are done at some times of the device."""

    def take(self, part: Part) -> None:
        """Do one part of a step."""
        if isinstance(part, HostWork):
            self.host += part.ms
        elif isinstance(part, Wait):
            if self.device > self.host:
                self.host = self.device + self.restart_ms
        else:
            for kernels in _pieces(part):
                self._launch(kernels)

    def _launch(self, kernels: Kernels) -> None:
        # The device begins when the first is launched, and ends no earlier than a kernel after the last is launched.
        count, launch, work = kernels
        first, last = self.host + launch, self.host + count * launch
        self.device = max(max(self.device, first) + count * work, last + work)
        self.launched += count
        self._done.append((self.launched, self.device))
        self.host = max(last, self._time_of(self.launched - _ROOM))

    def _time_of(self, number: int) -> float:
        """When the device is done with a kernel, by its number."""
        while len(self._done) > 1 and self._done[1][0] <= number:
            self._done.pop(0)
        (before, began), (after, ended) = self._done[0], self._done[min(1, len(self._done) - 1)]
        if number <= before:
            return began if before else 0.0
        return began + (ended - began) * (number - before) / (after - before)


def _pieces(kernels: Kernels) -> Iterator[Kernels]:
    """The same kernels in pieces that fit into the queue."""
    whole, rest = divmod(kernels.number, _ROOM // 2)
    yield from [kernels.times(_ROOM // 2)] * whole
    if rest:
        yield kernels.times(rest)
