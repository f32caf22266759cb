"""Measures what reads cost in networks as people train them, and what precision, layout and fused kernels bring.

python -m tests.ips.card.dose --out dose.jsonl --seconds 150

Reads: none, one or five a step, at its start, behind the forward pass, the backward pass or the whole step, or between
the layers; with work for the host between two steps (``--host-ms``).  All variants of a network take turns, round by
round; then the host's time and the card's are measured for each part of a step without reads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from tests.ips.card.networks_of_users import GPT, ResNet50, Training
from tests.ips.card.statistics_of_rounds import ratio_of
from tests.ips.card.timing import ON_CARD, Results, Stamps, machine, spin

READS: dict[str, dict[str, int]] = {
    "none": {},
    "1 at the start": {"start": 1},
    "5 at the start": {"start": 5},
    "1 behind the forward pass": {"forward": 1},
    "1 behind the backward pass": {"backward": 1},
    "5 behind the backward pass": {"backward": 5},
    "1 at the end": {"end": 1},
    "5 at the end": {"end": 5},
    "1 in the forward pass": {"layers": 1},
    "4 or 5 in the forward pass": {"layers": 5},
    "1 each at three places": {"forward": 1, "backward": 1, "end": 1},
    "1 at the end, every 10 steps": {"tenth": 1},
}
"""How many numbers are read at which place of each step."""

PARTS = ("start", "forward", "backward", "end")
"""Places of a step; a part of it is what lies before each of these, the host's other work before the first."""

WARMUP = 5


class _Reader:
    """Reads as many numbers at each place as it is told to."""

    def __init__(self, wanted: dict[str, int]) -> None:
        self._wanted = wanted
        self.step = 0
        self._left: dict[str, int] = {}

    def begin(self, step: int) -> None:
        self.step, self._left = step, dict(self._wanted)

    def __call__(self, place: str, value: torch.Tensor) -> None:
        if place == "end" and self.step % 10 == 9 and self._wanted.get("tenth"):
            value.item()
        if place == "layers":  # one number at each call
            if self._left.get(place, 0) > 0:
                self._left[place] -= 1
                value.item()
            return
        for number in range(self._wanted.get(place, 0)):
            (value.detach() * (number + 1)).item()


def _train(training: Training, steps: int, wanted: dict[str, int], host_ms: float) -> Stamps:
    stamps, reader = Stamps(), _Reader(wanted)
    for number in range(steps):
        stamps.stamp()
        reader.begin(number)
        training.step(number, reader)
        if host_ms:
            spin(host_ms)
    stamps.stamp()
    return stamps


def _turns(
    results: Results,
    what: str,
    of: dict[str, Any],
    runs: dict[str, Callable[[int], Stamps]],
    rounds: int,
    steps: int,
) -> None:
    """Measure variants in turns; the first is what the others are compared with."""
    for run in runs.values():
        run(WARMUP)
    found: dict[str, list[list[float]]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs) if number % 2 == 0 else reversed(list(runs)):
            stamps = runs[name](WARMUP + steps)
            found[name].append(stamps.steps_ms(WARMUP))
            cpu[name].append(stamps.cpu_ms(WARMUP))
    means = {name: [statistics.fmean(run) for run in each] for name, each in found.items()}
    first = next(iter(runs))
    for name, each in means.items():
        row = {
            "step_ms": round(statistics.fmean(each), 3),
            "times_the_first": ratio_of(each, means[first]),
            "cpu_ms": round(statistics.fmean(cpu[name]), 3),
            "steps": found[name],
        }
        results.write(what=what, **of, variant=name, **row)
        print(what, of, name, row["step_ms"], row["times_the_first"], flush=True)


def _parts(training: Training, steps: int, host_ms: float) -> dict[str, dict[str, float]]:
    """Milliseconds of the host, and of the card, for each part of a step without reads; medians over the steps.

    The host's time is that of launching alone only where the card is faster than the host.
    """
    stamps, host = Stamps(), [0.0]

    def mark(place: str, _: torch.Tensor) -> None:
        if place in PARTS:
            stamps.stamp()
            host.append(time.perf_counter())

    for number in range(WARMUP + steps):
        training.step(number, mark)
        spin(host_ms)
    first = len(PARTS) * WARMUP
    clocks = {
        "host": [(second - first) * 1e3 for first, second in pairwise(host[first:])],
        "card": stamps.steps_ms(first - 1),
    }
    return {
        clock: {part: round(statistics.median(times[of :: len(PARTS)]), 4) for of, part in enumerate(PARTS)}
        for clock, times in clocks.items()
    }


def reads(
    results: Results,
    make: Callable[[], Training],
    of: dict[str, Any],
    host_ms: float,
    names: list[str],
    rounds: int,
    steps: int,
) -> None:
    """Measure those of ``READS`` that are named in one network, then the parts of its step."""
    training = make()

    def run(wanted: dict[str, int]) -> Callable[[int], Stamps]:
        return lambda steps: _train(training, steps, wanted, host_ms)

    of = {**of, "host_ms": host_ms}
    _turns(results, "reads", of, {name: run(READS[name]) for name in names}, rounds, steps)
    results.write(what="parts", **of, steps=steps, **_parts(training, steps, host_ms))


def kernels(results: Results, of: str, made: dict[str, Callable[[], Training]], rounds: int) -> None:
    """Measure variants of a network's kernels; each is made when its turn comes, since memory is short."""
    trainings = {name: make() for name, make in made.items()}

    def run(one: Training) -> Callable[[int], Stamps]:
        return lambda steps: _train(one, steps, {}, 0.0)

    runs = {name: run(each) for name, each in trainings.items()}
    _turns(results, "kernels", {"network": of}, runs, rounds, 10 if ON_CARD else 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=150, help="begin nothing after so long")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20 if ON_CARD else 2, help="measured steps of a run with reads")
    parser.add_argument("--batches", default="32,128", help="of the ResNet-50; the GPT's are an eighth of these")
    parser.add_argument("--host-ms", default="2,0", help="work of the host between two steps")
    parser.add_argument("--reads", default=",".join(READS), help="the variants, first the one to compare with")
    parser.add_argument("--only", default="", help="only parts whose name has this text")
    parser.add_argument("--small", action="store_true", help="networks that a CPU can train, to see that all runs")
    given = parser.parse_args()
    results = Results(given.out, given.seconds)
    results.write(what="machine", **machine())
    small = given.small
    side, length, blocks = (32, 16, 3) if small else (224, 1024, 12)

    def resnet(size: int, **how: Any) -> Callable[[], Training]:
        return lambda: Training(ResNet50(side), 2 if small else size, **how)

    def gpt(size: int, words: int = 50304, fused: bool = True, **how: Any) -> Callable[[], Training]:
        return lambda: Training(
            GPT(length, (128 + words % 8) if small else words, fused, blocks), 2 if small else size, **how
        )

    def plan() -> Iterator[tuple[str, Callable[[], None]]]:
        """The parts, most useful first."""
        for number, host in enumerate(map(float, given.host_ms.split(","))):
            for size in map(int, given.batches.split(",")):
                for name, make, batch in (("ResNet-50", resnet, size), ("GPT-2 small", gpt, size // 8)):
                    of, names = {"network": name, "batch": batch}, given.reads.split(",")
                    part = partial(reads, results, make(batch), of, host, names, given.rounds, given.steps)
                    yield f"reads in {name}, batch {batch}, host work {host:g} ms", part
            if number == 0:
                yield "kernels of ResNet-50", partial(kernels, results, "ResNet-50, batch 64", pictures, given.rounds)
                yield "kernels of GPT-2", partial(kernels, results, "GPT-2 small, batch 8", words, given.rounds)

    pictures = {
        "float32": resnet(64, precision="float32"),
        "tf32": resnet(64, precision="tf32"),
        "bfloat16": resnet(64),
        "bfloat16, channels last": resnet(64, channels_last=True),
        "bfloat16, channels last, one optimizer kernel": resnet(64, channels_last=True, each_alone=False),
    }
    words = {
        "float32, attention written out": gpt(8, fused=False, precision="float32"),
        "tf32, attention written out": gpt(8, fused=False, precision="tf32"),
        "bfloat16, attention written out": gpt(8, fused=False),
        "bfloat16, fused attention": gpt(8),
        "bfloat16, fused attention, 50257 words": gpt(8, words=50257),
        "bfloat16, fused attention, one optimizer kernel": gpt(8, each_alone=False),
    }
    for name, part in plan():
        if given.only not in name:
            continue
        if results.is_out_of_time():
            print("out of time before", name, flush=True)
            break
        try:
            part()
        except Exception as error:
            results.write(what="error", part=name, error=repr(error))
            print(name, "FAILED", repr(error)[:300], flush=True)
        if ON_CARD:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
