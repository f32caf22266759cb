"""What a host read in a step costs on a card, worked out from a model of two queues: no card is needed, or used.

    python benchmarks/waiting.py

The host launches kernels one after the other and goes on; the card works on them in that order.  A read makes the host
wait until the card is done with all that was launched.  Between two steps the host has work of its own (the loader,
logs, Python).  Without a read the host runs ahead, and a step takes as long as the slower of the two; after a read the
card stands still until the host has launched more.  The model says what that costs by the host's work, and by where
the read stands.  The figures of ``PHASES`` are assumptions about a step of a few milliseconds, not measurements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from record import write

HOST_MS = (0.3, 1.0, 2.0, 4.0)
"""The host's work between two steps."""

STEPS = 200


@dataclass(frozen=True)
class Phase:
    """A part of a step: how many kernels, and the milliseconds that the host and the card need for each."""

    name: str
    kernels: int
    launch_ms: float
    card_ms: float


PHASES = (
    Phase("the forward pass", 100, 0.03, 0.025),  # launched from Python
    Phase("the backward pass", 200, 0.01, 0.022),  # launched from C++
    Phase("the optimizer", 100, 0.01, 0.007),
)


@dataclass
class _Clocks:
    """When the host, and the card, are done with what they were given so far, in milliseconds."""

    host: float = 0.0
    card: float = 0.0

    def launch(self, phase: Phase) -> None:
        """Launch one kernel."""
        self.host += phase.launch_ms
        self.card = max(self.card, self.host) + phase.card_ms

    def read(self) -> None:
        """Wait for the card."""
        self.host = max(self.host, self.card)


def step_ms(host_ms: float, read_after: int | None = None) -> float:
    """How long a step takes once the queues have filled, in milliseconds.

    Args:
        host_ms: the host's work between two steps.
        read_after: the number of kernels before the read; None without one.
    """
    clocks = _Clocks()
    ends: list[float] = []
    for _ in range(STEPS):
        for number, phase in enumerate(_kernels(), 1):
            clocks.launch(phase)
            if number == read_after:
                clocks.read()
        clocks.host += host_ms
        ends.append(clocks.card)
    half = STEPS // 2
    return (ends[-1] - ends[half - 1]) / (STEPS - half)


def _kernels() -> Iterator[Phase]:
    for phase in PHASES:
        yield from [phase] * phase.kernels


def costs(hosts: Sequence[float] = HOST_MS) -> dict[str, dict[str, float]]:
    """What one read in each step costs, in milliseconds, by its place and by the host's work."""
    forward, backward, optimizer = (phase.kernels for phase in PHASES)
    places = {
        "in the middle of the forward pass": forward // 2,
        "after the backward pass": forward + backward,
        "at the end of the step": forward + backward + optimizer,
    }
    return {
        place: {f"{host} ms": round(step_ms(host, count) - step_ms(host), 2) for host in hosts}
        for place, count in places.items()
    }


def main() -> None:
    write({"milliseconds_by_host_work": costs(), "step_without_a_read": {f"{h} ms": step_ms(h) for h in HOST_MS}})


if __name__ == "__main__":
    main()
