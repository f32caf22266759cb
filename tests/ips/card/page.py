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
from perflint.bench.statistics import half_width
from tests.ips.card import NO_KERNEL
from tests.ips.card.statistics_of_rounds import ratio_of

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "evidence" / "card"
PAGE = ROOT / "docs" / "card.md"

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
    parts = [_HEAD]
    for day in sorted((path for path in folder.iterdir() if path.is_dir()), reverse=True):
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


def _day(day: Path) -> Iterator[str]:
    rules = rows(day / "rules.jsonl")
    machine = rules[0]
    yield f"## {machine['device']}, {machine['date'][:10]}\n"
    yield (
        f"PyTorch {machine['torch']}, cuDNN {machine['cudnn']}, one CPU thread for the libraries. Ratios above 1 mean "
        "that the fix makes the step shorter; in brackets the 95 % interval over the rounds.\n"
    )
    yield from _rules(rules)
    yield from _model(rules, rows(day / "trace.jsonl"))
    dose = rows(day / "dose.jsonl")
    yield from _reads([row for row in dose if row["what"] == "reads"])
    yield from _kernels([row for row in dose if row["what"] == "kernels"])


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
    yield (
        "\nThe profiler does not count the wait inside `synchronize()` (PPF204) and `empty_cache()` (PPF703) the same "
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


def _reads(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "### Reads in networks as people train them\n"
    yield (
        "bfloat16 with autocast, AdamW that updates one parameter after the other. How many times as long a step takes "
        "as without reads, for numbers of reads and places:\n"
    )
    columns = list(dict.fromkeys((row["network"], row["batch"], row["host_ms"]) for row in found))
    tables: dict[str, dict[Any, str]] = {}
    for row in found:
        column = row["network"], row["batch"], row["host_ms"]
        first = next(r for r in found if (r["network"], r["batch"], r["host_ms"]) == column)
        if row is first:
            tables.setdefault("none: milliseconds", {})[column] = f"{statistics.fmean(means(row['steps'])):.1f} ms"
            continue
        times, low, high = ratio_of(means(row["steps"]), means(first["steps"]))
        tables.setdefault(row["variant"], {})[column] = f"{times:.2f} ({low:.2f} to {high:.2f})"
    columns = [column for column in columns if column in tables.get("5 at the end", {})]
    heads = [f"{name}, batch {batch}, host work {host:g} ms" for name, batch, host in columns]
    yield f"| reads in a step | {' | '.join(heads)} |"
    yield "| --- |" + " --- |" * len(columns)
    for name, cells in tables.items():
        yield f"| {name} | {' | '.join(cells[column] for column in columns)} |"
    yield (
        "\nWhat this says: a read costs what the host could have done while the card was still at work. Right after "
        "the backward pass that is the whole of the optimizer's launches, about a fifth of these steps; at the end of "
        "the step little is left to do; in a step in which the host is slower than the card (the small batches), the "
        "card waits anyway and a read costs nothing that could be measured. Five reads in a row cost no more than "
        "one.\n"
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
