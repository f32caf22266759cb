"""Measures the scripts of the stand-in, before and after their fixes, alternating in one process.

python -m tests.ips.card.rules --texts build/card --out rules.jsonl

Each line of the result has the milliseconds of each measured step, by events on the card, of both sides in each round;
the ratio with its interval; CPU milliseconds of a step; and by the profiler the waits, copies and launches of a step.
The step of the scripts about waits is first brought to ``--step-ms`` by the number of their layers.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import re
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.ips.card.statistics_of_rounds import interval, ratio_of
from tests.ips.card.timing import Results, Stamps, counted, machine, wait

TRIALS = ("PPF201_itself", "PPF306_itself", "planted")
WAITS = ("PPF201", "PPF203", "PPF204", "PPF206", "PPF210")
OTHERS = ("PPF205", "PPF207", "PPF306", "PPF703")
WARMUP = 10
"""Steps of a run that do not count."""
SIDES = ("before", "after")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="the folder that tests.ips.card.texts has written")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300, help="begin nothing after so long")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40, help="measured steps of a run")
    parser.add_argument("--rules", default=",".join(WAITS + OTHERS), help="the rules to measure")
    parser.add_argument("--host-ms", default="2,6,0", help="work of the host between two steps")
    parser.add_argument("--step-ms", type=float, default=7.5, help="the step that host and card take turns in")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--side", type=int)
    given = parser.parse_args()
    sys.path.insert(0, str(given.texts))
    bench = _Bench(given)
    hosts = [float(each) for each in given.host_ms.split(",")]
    bench.choose_layers()
    rules = given.rules.split(",")
    waits = [name for name in rules if name in WAITS]
    trials = [name for name in TRIALS if name.partition("_")[0] in (*rules, "planted")]
    plan: list[tuple[str, float | None]] = [(name, hosts[0] if "201" in name else None) for name in trials]
    plan += [(name, hosts[0] if name in waits else None) for name in rules]
    plan += [(name, host) for host in hosts[1:] for name in waits]
    for name, host in plan:
        if bench.results.is_out_of_time():
            print("out of time before", name, host, flush=True)
            break
        bench.measure(name, host)


class _Bench:
    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self.results = Results(given.out, given.seconds)
        self._card = importlib.import_module("host_and_card")
        self._paddle = importlib.import_module("paddle")
        self._stamps = Stamps()
        photos: Any = importlib.import_module("photos")
        photos.in_memory = functools.cache(photos.in_memory)  # the same pictures for every run
        loader, drawn = self._paddle.io.DataLoader, self._paddle.io.DataLoader.__iter__
        loader.__iter__ = lambda one: self._stamps.each(drawn(one))
        self.results.write(what="machine", layers=None, **machine())

    def choose_layers(self) -> None:
        """Choose the number of layers that brings a step near ``--step-ms``."""
        self._card._given.host_ms = 0.0
        modules = self._modules("PPF204")
        size = self._size(modules[0])
        for _ in range(2):
            self._run(modules[0], *size)
            stamps = self._run(modules[0], *size)
            found = statistics.median(stamps.steps_ms(WARMUP))
            self.results.write(what="layers", layers=self._card._given.layers, step_ms=found)
            print(f"{self._card._given.layers} layers: {found:.2f} ms a step", flush=True)
            if self._given.side is None:
                wanted = self._card._given.layers * self._given.step_ms / found
                self._card._given.layers = max(1, min(200, round(wanted)))

    def measure(self, name: str, host: float | None) -> None:
        """Measure one pair; what fails is written, too."""
        began = time.monotonic()
        try:
            row = self._measured(name, host)
        except Exception as error:
            row = {"error": repr(error)}
            print(name, host, "FAILED", repr(error)[:300], flush=True)
        self.results.write(what="rule", name=name, host_ms=host, seconds=round(time.monotonic() - began, 1), **row)

    def _measured(self, name: str, host: float | None) -> dict[str, Any]:
        modules = self._modules(name)
        size = self._size(modules[0])
        self._card._given.host_ms = 2.0 if host is None else host
        for module in modules:
            self._run(module, *size)
        steps: list[list[list[float]]] = [[], []]
        cpu: list[list[float]] = [[], []]
        losses: list[set[float]] = [set(), set()]
        for number in range(self._given.rounds):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                stamps = self._run(modules[side], *size, losses=losses[side])
                steps[side].append(stamps.steps_ms(WARMUP))
                cpu[side].append(stamps.cpu_ms(WARMUP))
        means = [[statistics.fmean(run) for run in side] for side in steps]
        saved = interval([before - after for before, after in zip(*means, strict=True)])
        row = {
            "layers": self._card._given.layers,
            "batch": size[0],
            "side": size[1],
            "step_ms": [round(statistics.fmean(each), 4) for each in means],
            "ratio": ratio_of(*means),
            "saved_ms": [round(each, 4) for each in saved],
            "cpu_ms": [round(statistics.fmean(each), 4) for each in cpu],
            "cpu_ratio": ratio_of(*cpu),
            "losses": [sorted(each) for each in losses],
            "counted": [counted(functools.partial(self._for, module, size), 8, 16) for module in modules],
            "steps": steps,
        }
        low, high = row["ratio"][1:]
        print(
            f"{name} host {host}: {row['step_ms']} ms, ratio {row['ratio'][0]:.3f} ({low:.3f} to {high:.3f}), "
            f"saved {saved[0]:.2f} ms, cpu {row['cpu_ms']}, {row['counted']}",
            flush=True,
        )
        return row

    def _run(
        self, module: ModuleType, batch: int, side: int, length: int = 0, losses: set[float] | None = None
    ) -> Stamps:
        importlib.import_module("numpy").random.seed(0)
        self._paddle.seed(0)
        wait()
        self._stamps = Stamps()
        loss = module.train(length or self._given.steps + WARMUP + 1, batch, side)
        wait()
        if losses is not None:
            losses.add(float(loss))
        return self._stamps

    def _for(self, module: ModuleType, size: tuple[int, int], length: int) -> None:
        self._run(module, *size, length=length)

    def _modules(self, name: str) -> list[ModuleType]:
        return [importlib.import_module(f"{name}_{side}") for side in SIDES]

    def _size(self, module: ModuleType) -> tuple[int, int]:
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        written = re.search(r"start\(train, steps=\d+, batch=(\d+), side=(\d+)", text)
        assert written is not None, module.__file__
        return self._given.batch or int(written[1]), self._given.side or int(written[2])


if __name__ == "__main__":
    main()
