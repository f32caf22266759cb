"""What a host read in a step costs on a card, worked out from a model of two queues: no card is needed, or used.

    python benchmarks/waiting.py

The host launches kernels one after the other and goes on; the card works on them in that order.  A read makes the host
wait until the card is done with all that was launched.  Between two steps the host has work of its own (the loader,
logs, Python).  Without a read the host runs ahead, and a step takes as long as the slower of the two; after a read the
card stands still until the host has launched more.  The model says what that costs by the host's work, and by where
the read stands; and what one more read costs in a step with a loop that waits at each of its passes.  The figures of
``PHASES`` are assumptions about a step of a few milliseconds, not measurements.

The same for a step of few and large kernels, ``FEW_KERNELS``, which is that of the scripts about waits in
``tests/ips/scripts``: ``python -m tests.ips.sweep`` measures on a card what this table foretells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from record import write

HOST_MS = (0.3, 1.0, 2.0, 4.0)
"""The host's work between two steps."""

SWEPT_MS = (0.3, 1.0, 2.0, 4.0, 8.0)
"""The same, for the table of gains."""

STEPS = 200

WAITS = (1, 4, 8, 32)
"""How often a loop inside the step waits."""

LOSS_LOOP = (80, 95)
PARAMETER_LOOP = (310, 390)
"""The kernels between which it runs: a loop over samples in the loss, or one over parameters behind ``backward``."""


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


FEW_KERNELS = (
    Phase("the forward pass", 30, 0.03, 0.085),
    Phase("the backward pass", 60, 0.01, 0.084),
    Phase("the optimizer", 26, 0.01, 0.007),
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


def step_ms(host_ms: float, reads: Collection[int] = (), phases: Sequence[Phase] = PHASES) -> float:
    """How long a step takes once the queues have filled, in milliseconds.

    Args:
        host_ms: the host's work between two steps.
        reads: the number of kernels before each read.
        phases: the parts of the step.
    """
    clocks = _Clocks()
    ends: list[float] = []
    for _ in range(STEPS):
        for number, phase in enumerate(_kernels(phases), 1):
            clocks.launch(phase)
            if number in reads:
                clocks.read()
        clocks.host += host_ms
        ends.append(clocks.card)
    half = STEPS // 2
    return (ends[-1] - ends[half - 1]) / (STEPS - half)


def _kernels(phases: Sequence[Phase]) -> Iterator[Phase]:
    for phase in phases:
        yield from [phase] * phase.kernels


def gains(phases: Sequence[Phase], hosts: Sequence[float] = SWEPT_MS) -> dict[str, dict[str, float]]:
    """How many times the ips a step has without its one read, by the read's place and by the host's work."""
    forward, backward, optimizer = (phase.kernels for phase in phases)
    places = {
        "in the middle of the forward pass": forward // 2,
        "after the forward pass": forward,
        "after the backward pass": forward + backward,
        "at the end of the step": forward + backward + optimizer,
    }
    return {
        place: {f"{host} ms": round(step_ms(host, (count,), phases) / step_ms(host, (), phases), 2) for host in hosts}
        for place, count in places.items()
    }


def table(found: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The gains as rows of a table in Markdown."""
    hosts = list(next(iter(found.values())))
    yield f"| the read | {' | '.join(f'host work of {host}' for host in hosts)} |"
    yield "| --- |" + " --- |" * len(hosts)
    for place, by_host in found.items():
        yield f"| {place} | {' | '.join(f'{gain:.2f}' for gain in by_host.values())} |"


def costs(hosts: Sequence[float] = HOST_MS) -> dict[str, dict[str, float]]:
    """What one read in each step costs, in milliseconds, by its place and by the host's work."""
    forward, backward, optimizer = (phase.kernels for phase in PHASES)
    places = {
        "in the middle of the forward pass": forward // 2,
        "after the backward pass": forward + backward,
        "at the end of the step": forward + backward + optimizer,
    }
    return {
        place: {f"{host} ms": round(step_ms(host, (count,)) - step_ms(host), 2) for host in hosts}
        for place, count in places.items()
    }


def costs_of_one_more(hosts: Sequence[float] = HOST_MS) -> dict[str, dict[str, list[float]]]:
    """What one more read costs, in milliseconds from the least to the most, by how often a loop waits already."""
    forward, backward, optimizer = (phase.kernels for phase in PHASES)
    places = {
        "of the loss, behind a loop in the loss": (LOSS_LOOP, forward),
        "at the end, behind a loop over the parameters": (PARAMETER_LOOP, forward + backward + optimizer),
        "after the backward pass, which follows a loop in the loss": (LOSS_LOOP, forward + backward),
        "in the forward pass, before a loop in the loss": (LOSS_LOOP, forward // 2),
    }
    found: dict[str, dict[str, list[float]]] = {}
    for place, (loop, count) in places.items():
        for waits in WAITS:
            known = _in_loop(*loop, waits)
            more = [round(step_ms(host, {*known, count}) - step_ms(host, known), 2) for host in hosts]
            found.setdefault(place, {})[f"{waits} waits"] = [min(more), max(more)]
    return found


def _in_loop(first: int, last: int, waits: int) -> set[int]:
    """The numbers of kernels before each wait of a loop, as evenly as they fit between two."""
    return {first + round((last - first) * number / waits) for number in range(1, waits + 1)}


def costs_in_an_evaluation(hosts: Sequence[float] = SWEPT_MS) -> dict[str, dict[str, list[float]]]:
    """What a read after each forward pass costs a batch of an evaluation, and how long the batch lasts without it."""
    found: dict[str, dict[str, list[float]]] = {}
    for words, phases in (("many kernels", PHASES[:1]), ("few kernels", FEW_KERNELS[:1])):
        for host in hosts:
            without, last = step_ms(host, (), phases), phases[0].kernels
            both = [round(step_ms(host, (last,), phases) - without, 2), round(without, 2)]
            found.setdefault(words, {})[f"{host} ms"] = both
    return found


def main() -> None:
    without = {f"{host} ms": step_ms(host) for host in HOST_MS}
    write(
        {
            "milliseconds_by_host_work": costs(),
            "milliseconds_of_one_more_by_waits": costs_of_one_more(),
            "step_without_a_read": without,
            "milliseconds_and_batch_of_an_evaluation": costs_in_an_evaluation(),
            "gain_by_host_work": gains(PHASES),
            "gain_by_host_work_with_few_kernels": gains(FEW_KERNELS),
        }
    )
    for words, phases in (("many kernels", PHASES), ("few kernels, as in tests/ips/scripts", FEW_KERNELS)):
        busy = sum(phase.kernels * phase.card_ms for phase in phases)
        launching = sum(phase.kernels * phase.launch_ms for phase in phases)
        print(f"\n{words}: the card works {busy:.1f} ms a step, the host launches for {launching:.1f} ms\n")
        print("\n".join(table(gains(phases))))


if __name__ == "__main__":
    main()
