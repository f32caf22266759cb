"""The model of ``waiting.py`` beside a card made of a thread: what a read costs in the one, and in the other.

    python benchmarks/waiting_check.py

A thread takes the place of the card: it works on kernels in the order in which they were launched, and a kernel is a
pause.  The host launches them, which is a pause too, reads at one place of the step by waiting for the thread, and has
work of its own between two steps.  The kernels of the scripts about waits are taken ten at a time, and all times are
``SCALE`` times as long, so that pauses are exact enough.  Ratios of step times are compared, with those of the model.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Collection

from record import write
from waiting import FEW_KERNELS, Phase, step_ms

SCALE = 10
HOSTS = (0.3, 2.0, 4.0)
STEPS, WARMUP = 12, 4
TEN_AT_A_TIME = tuple(
    Phase(phase.name, max(1, round(phase.kernels / 10)), 10 * phase.launch_ms, 10 * phase.card_ms)
    for phase in FEW_KERNELS
)


class Card:
    """A thread that works on what it is handed, in order."""

    def __init__(self) -> None:
        self._kernels: queue.Queue[float | threading.Event] = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def launch(self, milliseconds: float) -> None:
        """Hand over a kernel."""
        self._kernels.put(milliseconds)

    def wait(self) -> None:
        """Wait until all that was handed over is done."""
        done = threading.Event()
        self._kernels.put(done)
        done.wait()

    def _work(self) -> None:
        while True:
            kernel = self._kernels.get()
            if isinstance(kernel, threading.Event):
                kernel.set()
            else:
                time.sleep(kernel / 1e3)


def measured_ms(host_ms: float, reads: Collection[int]) -> float:
    """How long a step takes with a thread as the card, in milliseconds, divided by ``SCALE``."""
    card, start = Card(), 0.0
    for step in range(STEPS):
        if step == WARMUP:
            card.wait()
            start = time.perf_counter()
        number = 0
        for phase in TEN_AT_A_TIME:
            for _ in range(phase.kernels):
                time.sleep(SCALE * phase.launch_ms / 1e3)
                card.launch(SCALE * phase.card_ms)
                number += 1
                if number in reads:
                    card.wait()
        time.sleep(SCALE * host_ms / 1e3)
    card.wait()
    return (time.perf_counter() - start) * 1e3 / (STEPS - WARMUP) / SCALE


def main() -> None:
    forward, backward, optimizer = (phase.kernels for phase in TEN_AT_A_TIME)
    places = {
        "after the forward pass": forward,
        "after the backward pass": forward + backward,
        "at the end of the step": forward + backward + optimizer,
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for host in HOSTS:
        free, told = measured_ms(host, ()), step_ms(host, (), TEN_AT_A_TIME)
        for place, count in places.items():
            found.setdefault(place, {})[f"{host} ms"] = {
                "model": round(step_ms(host, (count,), TEN_AT_A_TIME) / told, 2),
                "thread": round(measured_ms(host, (count,)) / free, 2),
            }
    write({"gain_by_host_work": found})


if __name__ == "__main__":
    main()
