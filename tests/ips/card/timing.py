"""Times steps on a card without stopping it: events on the card where there is one, a clock otherwise."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

ON_CARD = torch.cuda.is_available()

SYNCHRONIZING = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
COPYING = ("cudaMemcpyAsync", "cudaMemcpy")
LAUNCHING = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")
_COUNTED = {"waits": SYNCHRONIZING, "copies": COPYING, "launches": LAUNCHING}


@dataclass
class Stamps:
    """When steps began: on the card, as it reached that point of its queue, and by the CPU time of the process."""

    card: list[Any] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def stamp(self) -> None:
        """A step begins here; this does not wait for the card."""
        if ON_CARD:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.card.append(event)
        else:
            self.card.append(time.perf_counter())
        self.cpu.append(time.process_time())

    def steps_ms(self, warmup: int) -> list[float]:
        """Milliseconds of each step after the first ``warmup``; waits for the card."""
        wait()
        pairs = list(zip(self.card[warmup:], self.card[warmup + 1 :], strict=False))
        if ON_CARD:
            return [round(first.elapsed_time(second), 4) for first, second in pairs]
        return [round((second - first) * 1e3, 4) for first, second in pairs]

    def cpu_ms(self, warmup: int) -> float:
        """CPU milliseconds of the process for a step, on average."""
        cpu = self.cpu[warmup:]
        return (cpu[-1] - cpu[0]) / (len(cpu) - 1) * 1e3

    def each(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches, with a stamp as each is drawn."""
        for batch in batches:
            self.stamp()
            yield batch


def wait() -> None:
    """Wait until the card has done all that it was given."""
    if ON_CARD:
        torch.cuda.synchronize()


def spin(milliseconds: float) -> None:
    """Work of the host for so long."""
    end = time.perf_counter() + milliseconds / 1e3
    while time.perf_counter() < end:
        pass


def counted(run: Callable[[int], object], short: int, long: int) -> dict[str, float] | None:
    """Waits, copies and launches of a step, by the profiler; None without a card.

    ``run`` trains so many steps; the difference of a short and a long training is divided by its steps.
    """
    if not ON_CARD:
        return None
    found = []
    for steps in (short, long):
        wait()
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        ) as profile:
            run(steps)
            wait()
        events = profile.key_averages()
        found.append({what: sum(e.count for e in events if e.key in names) for what, names in _COUNTED.items()})
    return {what: round((found[1][what] - found[0][what]) / (long - short), 3) for what in _COUNTED}


class Results:
    """A file of JSON lines; each is on disk before the next is measured."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._end = time.monotonic() + seconds

    def is_out_of_time(self) -> bool:
        """Whether no more should be begun."""
        return time.monotonic() > self._end

    def write(self, **row: Any) -> None:
        """Write one line."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()


def machine() -> dict[str, str]:
    """What measured."""
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),
        "device": torch.cuda.get_device_name() if ON_CARD else "cpu",
        "cpu": platform.processor() or platform.machine(),
    }
