"""How long a training step takes, by a model of two queues: the host launches kernels, and the device works on them.

The host launches one kernel after the other and goes on; the device works on them in that order. A wait makes the host
stand still until the device is done with all that was launched; until the host has launched more, the device then
stands still. So a wait at a place costs more the further the host would have been ahead there: after a backward pass,
whose kernels take the device longer than the host takes to launch them, the whole lead is lost; right behind another
wait there is none to lose.

``docs/card.md`` compares the model with measurements on GPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
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


class AdjacentWaits(NamedTuple):
    """AdjacentWaits that follow each other directly, by their keys: the last ones have nothing to wait for."""

    keys: frozenset[int]


Part = Kernels | HostWork | Wait | AdjacentWaits


class Typical(NamedTuple):
    """A step of a usual training: the kernels of its parts, and the work of the host between two steps."""

    forward: Kernels
    backward: Kernels
    optimizer: Kernels
    host_ms: float = 1.0


SMALL_KERNELS = Typical(Kernels(100, 0.03, 0.025), Kernels(200, 0.01, 0.022), Kernels(100, 0.01, 0.007))
"""A step of 7.8 ms of the device. Assumptions, not measurements: the forward pass is launched from Python, the backward
pass from C++."""

TYPICAL = (
    SMALL_KERNELS,
    # GPT-2 small, batch 4, in docs/card.md: the host is about as slow as the device in each part
    Typical(Kernels(300, 0.0227, 0.028), Kernels(600, 0.0307, 0.0282), Kernels(400, 0.0328, 0.0128), 2.4),
    # the same with batch 16 and one optimizer kernel for many weights: the device is the slower in each part
    Typical(Kernels(300, 0.0203, 0.057), Kernels(600, 0.0203, 0.0502), Kernels(20, 0.05, 0.255), 2.4),
)
"""Steps of which a wait can cost more or less: where the host is ahead of the device, and where it is not, differs."""

RESTART_MS = 0.25
"""What the host loses at most at a wait besides its lead, and no more than that again. One read in the middle of the
forward pass costs 0.3 to 0.9 ms more than its lost lead explains (PPF210 in docs/card.md, on two cards)."""

_ROOM = 1000
"""How many kernels CUDA lets the host launch ahead of the device (docs/card.md)."""
_STEPS = 12
"""How many steps are computed at most; by then the queues have filled."""
_ALIKE, _EXACT = 2, 1e-6
"""It is enough that as many in a row last equally long, to so many milliseconds."""


def loading_step_ms(parts: Sequence[Part], loads_ms: float, without: Collection[int] = ()) -> float:
    """How long a step takes if a thread of the same process loads its batches, in milliseconds.

    The interpreter lock lets the thread and the Python code of the step run only one at a time; while the device works
    and the host waits for it, the thread goes on (``python benchmarks/loader_thread.py``). So a step takes at least as
    long as both together. All that the host launches counts as such code, although part of it does not hold the lock.

    Args:
        parts: what the host does, in order.
        loads_ms: what the thread does for one batch.
        without: the keys of the waits that are left out.
    """
    works = sum(part.ms for part in parts if isinstance(part, HostWork))
    launches = sum(part.number * part.launch_ms for part in parts if isinstance(part, Kernels))
    return max(step_ms(parts, without), loads_ms + works + launches)


def step_ms(parts: Sequence[Part], without: Collection[int] = (), restart_ms: float = RESTART_MS) -> float:
    """How long a step of these parts takes once the queues have filled, in milliseconds.

    Args:
        parts: what the host does, in order.
        without: the keys of the waits that are left out.
        restart_ms: what the host loses at a wait besides its lead.
    """
    clocks, gone = _Clocks(restart_ms), frozenset(without)
    kept = list(joined(parts, gone))
    end, lasted, same = 0.0, 0.0, 0
    for _ in range(_STEPS):
        for part in kept:
            clocks.take(part)
        now = max(clocks.host, clocks.device)
        same = same + 1 if abs(now - end - lasted) < _EXACT else 0
        end, lasted = now, now - end
        if same == _ALIKE:
            break
    return lasted


def joined(parts: Iterable[Part], without: frozenset[int] = frozenset()) -> Iterator[Part]:
    """The same parts without some waits; those that follow each other are one: waits, work, kernels of one kind."""
    before: Part | None = None
    for part in parts:
        if isinstance(part, Wait | AdjacentWaits):
            keys = part.keys if isinstance(part, AdjacentWaits) else frozenset((part.key,))
            if keys <= without:
                continue
            part = AdjacentWaits(keys)
            if isinstance(before, AdjacentWaits):
                before = AdjacentWaits(before.keys | keys)
                continue
        elif isinstance(part, Kernels) and isinstance(before, Kernels) and part[1:] == before[1:]:
            before = before.times(before.number + part.number)
            continue
        elif isinstance(part, HostWork) and isinstance(before, HostWork):
            before = HostWork(before.ms + part.ms)
            continue
        if before is not None:
            yield before
        before = part
    if before is not None:
        yield before


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
        elif isinstance(part, Wait | AdjacentWaits):
            lead = max(self.device - self.host, 0.0)
            self.host += lead + min(lead, self.restart_ms)
        else:
            for kernels in _pieces(part) if part.number > _ROOM // 2 else (part,):
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


class Stretch(NamedTuple):
    """When one part of a step runs, in milliseconds from where the host begins the step.

    ``host``: from when until when the host launches, works or waits. ``device``: the same of the kernels that it
    launches; None if there are none.
    """

    part: Part
    host: tuple[float, float]
    device: tuple[float, float] | None


def stretches(parts: Sequence[Part], restart_ms: float = RESTART_MS) -> list[Stretch]:
    """When each part of a step runs once the queues have filled, for a picture of both queues."""
    clocks = _Clocks(restart_ms)
    found: list[Stretch] = []
    for _ in range(_STEPS):
        begun, found = clocks.host, []
        for part in parts:
            host, device = clocks.host, clocks.device
            clocks.take(part)
            work = None
            if isinstance(part, Kernels):
                work = (max(device, host + part.launch_ms) - begun, clocks.device - begun)
            found.append(Stretch(part, (host - begun, clocks.host - begun), work))
    return found
