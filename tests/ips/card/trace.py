"""Records which kernels a step runs, how long each takes, and how long the card stands still between them.

python -m tests.ips.card.trace --texts build/card --out kernels.jsonl

For PPF201 before and after its fix, and for a ResNet-50 and GPTs with one read a step and with none.  The table of
kernel times is what a simulation of a card needs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.ips.card import NO_KERNEL
from tests.ips.card.networks_of_users import GPT, ResNet50, Training
from tests.ips.card.timing import ON_CARD, Results, machine, wait

STEPS = 20


def record(results: Results, name: str, run: Callable[[int], object], steps: int) -> None:
    """Record ``steps`` steps after as many without the profiler, and write what the card did."""
    run(steps)
    wait()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if ON_CARD:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        began = time.perf_counter()
        run(steps)
        wait()
        wall = time.perf_counter() - began
    spans, kernels = [], defaultdict(list)
    host: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            if event.name.startswith(NO_KERNEL):
                continue
            spans.append((event.time_range.start, event.time_range.end))
            kernels[event.name].append(event.time_range.end - event.time_range.start)
        elif event.name.startswith(("aten::", "cuda")):
            key = event.name, str(event.input_shapes) if event.name.startswith("aten::") else ""
            host[key].append(event.time_range.end - event.time_range.start)
    busy, end = 0.0, 0.0
    idle: list[float] = []
    for start, stop in sorted(spans):
        if end and start > end:
            idle.append(start - end)
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    results.write(
        what="trace",
        name=name,
        steps=steps,
        wall_ms=round(wall / steps * 1e3, 4),
        busy_ms=round(busy / steps / 1e3, 4),
        idle_ms=round(sum(idle) / steps / 1e3, 4),
        longest_idle_us=sorted((round(each, 1) for each in idle), reverse=True)[: 2 * steps],
        kernels=_table({(key, ""): times for key, times in kernels.items()}, steps),
        host=_table(host, steps),
    )
    print(f"{name}: {wall / steps * 1e3:.2f} ms a step, busy {busy / steps / 1e3:.2f}", flush=True)


def _table(found: dict[tuple[str, str], list[float]], steps: int) -> list[dict[str, Any]]:
    """Names with shapes, how many a step, and microseconds of one, most time first."""
    rows = sorted(found.items(), key=lambda item: -sum(item[1]))[:150]
    return [
        {
            "name": name[:160],
            **({"shapes": shapes[:200]} if shapes else {}),
            "per_step": round(len(times) / steps, 2),
            "microseconds": round(sum(times) / len(times), 2),
        }
        for (name, shapes), times in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="the folder that tests.ips.card.texts has written")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60, help="begin nothing after so long")
    parser.add_argument("--only", default="", help="only traces whose name has one of these texts: PPF201,GPT")
    parser.add_argument("--layers", type=int, help="layers of the scripts about waits")
    parser.add_argument("--small", action="store_true", help="networks that a CPU can train, to see that all runs")
    given = parser.parse_args()
    sys.path.insert(0, str(given.texts))
    results = Results(given.out, given.seconds)
    results.write(what="machine", **machine())
    card: Any = importlib.import_module("host_and_card")
    card._given.layers = given.layers or card._given.layers
    card._given.host_ms = 2.0
    steps = 2 if given.small else STEPS
    batch, side = (4, 16) if given.small else (32, 64)

    def script(name: str) -> Callable[[int], object]:
        return lambda count: importlib.import_module(name).train(count, batch, side)

    def steps_of(training: Training, where: str | None = None) -> Callable[[int], object]:
        def run(count: int) -> None:
            for number in range(count):
                training.step(number, lambda place, value: value.item() if place == where else None)

        return run

    resnet = Training(ResNet50(32 if given.small else 224), 2 if given.small else 64)
    gpt, large = (Training(GPT(16, 128, blocks=3), 2) if given.small else Training(GPT(), size) for size in (8, 16))
    plan = {
        "PPF201 before": script("PPF201_before"),
        "PPF201 after": script("PPF201_after"),
        "ResNet-50 in bfloat16, batch 64, no read": steps_of(resnet),
        "ResNet-50 in bfloat16, batch 64, one read at the end": steps_of(resnet, "end"),
        "GPT-2 small in bfloat16, batch 8, no read": steps_of(gpt),
        "GPT-2 small in bfloat16, batch 8, one read at the end": steps_of(gpt, "end"),
        "GPT-2 small in bfloat16, batch 16, no read": steps_of(large),
        "GPT-2 small in bfloat16, batch 16, one read behind the backward pass": steps_of(large, "backward"),
    }
    for name, run in plan.items():
        if not any(text in name for text in given.only.split(",")):
            continue
        if results.is_out_of_time():
            print("out of time before", name, flush=True)
            break
        record(results, name, run, steps)


if __name__ == "__main__":
    main()
