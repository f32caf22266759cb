"""``docs/step-runs.md``: how much of what programs did in a step the static traces show, program by program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .against import KINDS, total

Rows = Mapping[str, Mapping[str, list[int]]]

_HEAD = """# Steps against recorded runs, program by program

What `perflint step` says of {programs} public programs, against what they did when they ran under a recorder, on a CPU
with Paddle 3.3.1 and small random data. Nobody of this project wrote any of them. The eleven of
[traces.md](traces.md) had been looked at before; the others are set aside or not by a sum of the letters of their
names, and nothing was mended because of those set aside. `benchmarks/trace_parts/programs.py` says how each is run:

```
python benchmarks/traces.py CHECKOUTS --programs         # runs them, and keeps benchmarks/results/runs.json
python benchmarks/step_against_runs.py CHECKOUTS         # compares, and runs nothing
python benchmarks/step_against_runs.py CHECKOUTS --page  # writes this page
```

* A **recorded** line is one that waited, copied, loaded a batch, logged or saved in at least every second step. It is
  **shown** if the static trace has an event of that kind on its statement, or what a call may run that could not be
  followed ("perhaps"). A load is shown if the trace names the line that makes the loader, with its workers.
* A line is **claimed** if the trace says that each step has it, through calls that are certain and not under a test.
  It **happened** if the run had an event of that kind there.
* **Times** are right if the run did it as often as the trace says: within its limits, and more than once for a loop of
  unknown length. A loop that ran once there counts as wrong.
* Left out: reads that Paddle does only in its build for CPUs (`std`, `randperm`). Sizes of `paddle.shape` are in host
  memory, so that reading them does not wait; the recorder cannot tell, and they count as missed.

In each cell: shown of recorded, then happened of claimed, at first and now.
"""


def page(kept: Mapping[str, Mapping[str, Rows]]) -> str:
    """The whole page, from the figures at first and the last ones."""
    programs = sum(len(rows) for rows in kept["last"].values())
    parts = [_HEAD.format(programs=programs)]
    for half, title in (("tuned", "Tuned"), ("aside", "Set aside")):
        parts += [f"## {title}\n", *_table(kept["first"].get(half, {}), kept["last"][half]), ""]
    return "\n".join(parts)


def _table(first: Rows, last: Rows) -> Iterator[str]:
    kinds = [*KINDS, "times"]
    yield f"| program | {' | '.join(kinds)} |"
    yield f"| --- | {' | '.join('---' for _ in kinds)} |"
    for name, row in last.items():
        yield _row(name, first.get(name), row, kinds)
    known = {name: row for name, row in first.items() if name in last}
    yield _row("**all**", total(known.values()), total(last.values()), kinds)
    yield _rates("**shares**", total(known.values()), total(last.values()))


def _row(name: str, first: Mapping[str, Any] | None, last: Mapping[str, Any], kinds: list[str]) -> str:
    return f"| {name} | {' | '.join(_cell(first[kind] if first else None, last[kind]) for kind in kinds)} |"


def _cell(first: list[int] | None, last: list[int]) -> str:
    before, now = _counts(first or []), _counts(last)
    return now if before in ("", now) else f"{before} → {now}"


def _counts(counts: list[int]) -> str:
    pairs = [(counts[at], counts[at + 1]) for at in range(0, len(counts), 2)]
    return ", ".join(f"{part}/{whole}" for whole, part in pairs if whole)


def _rates(name: str, first: Mapping[str, list[int]], last: Mapping[str, list[int]]) -> str:
    cells = (_cell_of_shares(first[kind], last[kind]) for kind in [*KINDS, "times"])
    return f"| {name} | {' | '.join(cells)} |"


def _cell_of_shares(first: list[int], last: list[int]) -> str:
    before, now = (", ".join(_shares(counts)) for counts in (first, last))
    return now if before == now else f"{before} → {now}"


def _shares(counts: list[int]) -> Iterator[str]:
    for at in range(0, len(counts), 2):
        if counts[at]:
            yield f"{counts[at + 1] / counts[at]:.2f}"
