"""Writes docs/card.md from the raw files of evidence/card.

PYTHONPATH=benchmarks python -m tests.ips.card.page

Every figure is computed from the measured steps; ``tests/test_ips_card.py`` compares the page with them.
"""

from __future__ import annotations

import json
import statistics
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from waiting import FEW_KERNELS, Phase, step_ms  # benchmarks/waiting.py

from perflint import catalogue
from perflint.bench.results import half_width
from tests.ips.card import NO_KERNEL
from tests.ips.card.statistics_of_rounds import ratio_of

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "evidence" / "card"
PAGE = ROOT / "docs" / "card.md"
SLOW_CARD = {"ResNet-50": 128, "GPT-2 small": 16}
"""The smallest measured batch of each network with which the card is slower than the host."""
_KINDS = {
    "matrix products and convolutions": ("nvjet", "gemm", "xmma", "cutlass", "splitK", "wgrad"),
    "attention": ("sdpa", "cudnn::fusion"),
    "softmax and loss": ("SoftMax", "nll_loss"),
    "normalization": ("layer_norm", "GammaBeta", "batch_norm"),
    "copies, casts and layouts": ("copy", "Copy", "Memcpy", "Memset", "nchwToNhwc", "nhwcToNchw"),
    "sums": ("reduce_kernel",),
    "the rest, mostly element by element": ("",),
}
"""What the names of kernels have in them, by what the kernels do; the first that fits counts."""

_QUEUE = "https://forums.developer.nvidia.com/t/cuda-stream-are-blocked-when-luanch-lots-of-kernels-1000/68937"
_HEAD = """\
# What a card does

perflint's rules are about Paddle, and **no rule has been measured on a GPU with Paddle yet**: PyPI's last GPU build has
no code for the cards that could be had ([why](gpu-day.md#no-build-of-paddle-on-pypi-runs-on-hopper)). The figures here
are of PyTorch, in which a [stand-in](measuring.md#the-stand-in-for-paddle) runs the scripts of the suite. They show
what a wait, a copy or a kernel costs on that card, which does not depend on the framework, with the host code of
PyTorch, which does. They are no evidence that a fix raises the ips of a Paddle program.

`PYTHONPATH=benchmarks python -m tests.ips.card.page` writes this page from `evidence/card/`, which has each measured
step; [a day with a GPU](gpu-day.md) has the commands that measured them.
"""


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of results."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def page(folder: Path = FOLDER) -> str:
    """The whole page."""
    days = sorted((path for path in folder.iterdir() if path.is_dir()), reverse=True)
    parts = [_HEAD, _summary([row for day in days for row in rows(day / "dose.jsonl")])]
    for day in days:
        parts.append("\n".join(map(_wrapped, _day(day))))
    return "\n".join(parts).rstrip("\n") + "\n"


def _wrapped(part: str) -> str:
    """Sentences in rows of 120 characters; tables and headings as they are."""
    if part.lstrip("\n").startswith(("|", "#")):
        return part
    before, after = part[: len(part) - len(part.lstrip("\n"))], part[len(part.rstrip("\n")) :]
    return before + textwrap.fill(part.strip(), 120, break_long_words=False, break_on_hyphens=False) + after


def means(steps: Sequence[Sequence[float]]) -> list[float]:
    """The mean step of each round."""
    return [statistics.fmean(run) for run in steps]


def slowed(found: list[dict[str, Any]], variant: str) -> tuple[list[float], list[float]]:
    """How many times as long reads make a step, and how many milliseconds longer, where the card is slower.

    Each list has the least and the most of the networks, batches and work of the host in ``found``.
    """
    times, costs = [], []
    without: list[float] = []
    for row in found:
        if row["what"] == "reads" and row["variant"] == "none":
            without = means(row["steps"])
        if row["what"] == "reads" and row["variant"] == variant and row["batch"] >= SLOW_CARD[row["network"]]:
            times.append(ratio_of(means(row["steps"]), without)[0])
            costs.append(statistics.fmean(means(row["steps"])) - statistics.fmean(without))
    return [min(times), max(times)], [min(costs), max(costs)]


def _summary(found: list[dict[str, Any]]) -> str:
    places = {
        "1 at the start": "a read at the start of a step made it",
        "1 behind the backward pass": "one right behind the backward pass, before the optimizer's launches,",
        "1 at the end": "one at the end",
    }
    costs = []
    for variant, words in places.items():
        (low, high), (least, most) = slowed(found, variant)
        costs.append(f"{words} {low:.2f} to {high:.2f} times as long ({least:.1f} to {most:.1f} ms more)")
    return _wrapped(
        "What the measurements of reads say: a read costs what the host could have done while the card was still at "
        "work. In a step in which the host is slower than the card (the small batches), the card waits anyway, and a "
        "read costs nothing that could be measured. Where the card is slower, over all loans, "
        f"{'; '.join(costs)}. Five reads in a row cost hardly more than one.\n"
    )


def _day(day: Path) -> Iterator[str]:
    rules = rows(day / "rules.jsonl")
    machine = rules[0]
    yield f"## {machine['device']}, {machine['date'][:10]}, {machine['date'][11:16]} UTC\n"
    yield (
        f"PyTorch {machine['torch']}, cuDNN {machine['cudnn']}, one CPU thread for the libraries. Ratios above 1 mean "
        "that the fix makes the step shorter; in brackets the 95 % interval over the rounds.\n"
    )
    yield from _rules(rules)
    traces = [row for row in rows(day / "trace.jsonl") if row["what"] == "trace"]
    yield from _model(rules, traces)
    yield from _kinds([row for row in traces if row["name"].endswith(("after", "no read"))])
    dose = rows(day / "dose.jsonl")
    found = {what: [row for row in dose if row["what"] == what] for what in ("reads", "parts", "kernels")}
    yield from _reads(found["reads"])
    if found["parts"]:
        yield from _parts(found["parts"])
    if found["kernels"]:
        yield from _kernels(found["kernels"])


def _rules(found: list[dict[str, Any]]) -> Iterator[str]:
    rules = [row for row in found if row["what"] == "rule" and "error" not in row]
    layers = rules[0]["layers"]
    yield "### The scripts of the suite, before and after their fixes\n"
    yield (
        f"Scripts about waits train {layers} convolutions (`--layers`), chosen so that a step in which host and card "
        "take turns lasts 7 to 8 ms, with the given work of the host between two steps. Waits, copies and launches are "
        "counted for each step by the profiler. The first rows are trials of the measurement itself: a script against "
        "itself must give 1.00, and of a planted 0.50 ms, 0.50 must be found.\n"
    )
    yield "| script | host work, ms | step before, ms | ratio | saved per step, ms | waits | copies | launches |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rules:
        before, after = (means(side) for side in row["steps"])
        times, low, high = ratio_of(before, after)
        saved = [first - second for first, second in zip(before, after, strict=True)]
        centre, half = statistics.fmean(saved), half_width(saved)
        counts = " | ".join(
            f"{row['counted'][0][what]:.0f} → {row['counted'][1][what]:.0f}" for what in ("waits", "copies", "launches")
        )
        host = "" if row["host_ms"] is None else f"{row['host_ms']:g}"
        yield (
            f"| {_script(row['name'])} | {host} | {statistics.fmean(before):.2f} | {times:.2f} ({low:.2f} to "
            f"{high:.2f}) | {centre:.2f} ({centre - half:.2f} to {centre + half:.2f}) | {counts} |"
        )
    yield ""
    if "PPF306" not in {row["name"] for row in rules}:
        return
    yield (
        "The profiler does not count the wait inside `synchronize()` (PPF204) and `empty_cache()` (PPF703) the same "
        "way on all versions; the times show it. The interval of PPF205, PPF207 and PPF306 contains 1: no gain was "
        "shown for these here. PPF306's script is too small for this card, which is done before the host has launched "
        "the next kernels; what a width costs that fills it, the vocabulary of the GPT below shows.\n"
    )


def _script(name: str) -> str:
    if name == "planted":
        return "0.50 ms planted in each step"
    code, _, itself = name.partition("_")
    return f"{code}'s fixed script against itself" if itself else f"{code} ({catalogue.shipped()[code].name})"


def _model(found: list[dict[str, Any]], traces: list[dict[str, Any]]) -> Iterator[str]:
    """What the model of two queues says with the times that were measured."""
    rules = {(row["name"], row["host_ms"]): row for row in found if row["what"] == "rule" and "error" not in row}
    trace = next(row for row in traces if row.get("name") == "PPF201 after")
    card = sum(row["per_step"] * row["microseconds"] for row in trace["kernels"] if NO_KERNEL not in row["name"]) / 1e3
    after = statistics.fmean(means(rules["PPF201", 2.0]["steps"][1]))
    launching = after - 2.0
    yield "### The model of two queues\n"
    yield (
        f"Here the card needs {card:.1f} ms for the kernels of such a step (the sum of the profiler's table), and the "
        f"host launches them in {launching:.1f} ms (the step of PPF201's fixed script, {after:.1f} ms, minus 2 ms of "
        "other work). The model of [measuring.md](measuring.md#waits-for-a-gpu) assumed 7.8 and 1.8 ms, and foretold "
        "1.27 for a read after the backward pass with 2 ms of host work. With the measured times it says:\n"
    )
    yield "| script | host work, ms | by the model | measured |"
    yield "| --- | --- | --- | --- |"
    places = {"PPF210": 0, "PPF201": 1, "PPF203": 1, "PPF206": 1, "PPF204": 2}
    for (name, host), row in rules.items():
        if name in places:
            said = modelled(launching, card, host)[places[name]]
            times, low, high = ratio_of(*(means(side) for side in row["steps"]))
            yield f"| {name} | {host:g} | {said:.2f} | {times:.2f} ({low:.2f} to {high:.2f}) |"
    yield ""


def modelled(launching: float, card: float, host: float) -> list[float]:
    """The gain without a read after the forward pass, after the backward pass and at the end, by the two queues."""
    launched = sum(phase.kernels * phase.launch_ms for phase in FEW_KERNELS)
    worked = sum(phase.kernels * phase.card_ms for phase in FEW_KERNELS)
    phases = [
        Phase(each.name, each.kernels, each.launch_ms * launching / launched, each.card_ms * card / worked)
        for each in FEW_KERNELS
    ]
    forward, backward, optimizer = (phase.kernels for phase in phases)
    places = (forward, forward + backward, forward + backward + optimizer)
    without = step_ms(host, (), phases)
    return [step_ms(host, (place,), phases) / without for place in places]


def _kinds(traces: list[dict[str, Any]]) -> Iterator[str]:
    """What the card spends its time on."""
    yield "### The kernels of a step\n"
    yield "Milliseconds of the card for a step without reads, by the profiler; in brackets the number of kernels:\n"
    cells: dict[str, list[str]] = {kind: [] for kind in (*_KINDS, "all")}
    for trace in traces:
        sums = {kind: [0.0, 0.0] for kind in cells}
        for row in trace["kernels"]:
            if row["name"].startswith(NO_KERNEL):
                continue
            kind = next(kind for kind, texts in _KINDS.items() if any(text in row["name"] for text in texts))
            for each in (kind, "all"):
                sums[each][0] += row["per_step"] * row["microseconds"] / 1e3
                sums[each][1] += row["per_step"]
        for kind, (milliseconds, count) in sums.items():
            cells[kind].append(f"{milliseconds:.2f} ({count:.0f})" if count else "")
    yield f"| | {' | '.join(trace['name'].removesuffix(', no read') for trace in traces)} |"
    yield "| --- |" + " --- |" * len(traces)
    for kind, sizes in cells.items():
        yield f"| {kind} | {' | '.join(sizes)} |"
    yield ""


def _reads(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "### Reads in networks as people train them\n"
    yield (
        "bfloat16 with autocast, AdamW that updates one parameter after the other. How many times as long a step takes "
        "as without reads, for numbers of reads and places:\n"
    )
    for host in dict.fromkeys(row["host_ms"] for row in found):
        own: dict[str, dict[tuple[str, int], list[float]]] = {}
        for row in found:
            if row["host_ms"] == host:
                own.setdefault(row["variant"], {})[row["network"], row["batch"]] = means(row["steps"])
        without = own.pop("none")
        columns = sorted({column for each in own.values() for column in each})
        yield f"| host work {host:g} ms | {' | '.join(f'{name}, batch {batch}' for name, batch in columns)} |"
        yield "| --- |" + " --- |" * len(columns)
        yield f"| none | {' | '.join(f'{statistics.fmean(without[column]):.1f} ms' for column in columns)} |"
        for variant, steps in own.items():
            ratios = [ratio_of(steps[column], without[column]) for column in columns]
            cells = [f"{times:.2f} ({low:.2f} to {high:.2f})" for times, low, high in ratios]
            yield f"| {variant} | {' | '.join(cells)} |"
        yield ""


def _parts(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "### The host and the card in the parts of a step\n"
    yield (
        "Milliseconds, without reads, as median over the steps: how long the host was at each part (with its waits for "
        "room in the queue of launches), and how long the card was from the end of the part before to its end. *Other* "
        "is the work of the host between two steps.\n"
    )
    parts = {"start": "other", "forward": "forward", "backward": "backward", "end": "optimizer"}
    heads = [f"{clock}: {part}" for clock in ("host", "card") for part in parts.values()]
    yield f"| network | {' | '.join(heads)} |"
    yield "| --- |" + " --- |" * len(heads)
    for row in sorted(found, key=lambda row: (row["network"], row["batch"], row["host_ms"])):
        cells = [f"{row[clock][part]:.1f}" for clock in ("host", "card") for part in parts]
        yield f"| {row['network']}, batch {row['batch']}, host work {row['host_ms']:g} ms | {' | '.join(cells)} |"
    yield (
        "\nWith large batches the host is at the optimizer for several times as long as with small ones, with the same "
        "launches: it waits there, probably because CUDA takes only "
        f"[some 1000 launches]({_QUEUE}) ahead of the card. So the host is hardly ahead at the end of the step: a read "
        "there costs next to nothing, and the host's other work makes the step longer although the card is the slower "
        "of the two. A read behind the backward pass takes away its whole lead. The queue of launches was not measured "
        "by itself.\n"
    )


def _kernels(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "### Precision, layout and fused kernels\n"
    yield "No reads and no other work of the host. How long a step takes, and as a part of the first row's:\n"
    for network in dict.fromkeys(row["network"] for row in found):
        own = [row for row in found if row["network"] == network]
        yield f"| {network} | step, ms | of the first |"
        yield "| --- | --- | --- |"
        for row in own:
            times, low, high = ratio_of(means(row["steps"]), means(own[0]["steps"]))
            of_first = "" if row is own[0] else f"{times:.2f} ({low:.2f} to {high:.2f})"
            yield f"| {row['variant']} | {statistics.fmean(means(row['steps'])):.1f} | {of_first} |"
        yield ""


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
