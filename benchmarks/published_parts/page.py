"""``docs/published-tables.md``: the figures of others, marked as theirs, beside those that were measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perflint.bench.results import BenchReport, Comparison, Variant
from perflint.catalogue import Device
from published_parts.cited import Cited
from published_parts.measuring import Measured, place
from published_parts.tables import TABLES, Table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "published-tables.md"
Results = Mapping[tuple[str, Device], Measured]
"""What was measured, by table and device."""
_WAITING = "time waiting for data"
_NAMES: dict[Device, str] = {
    "cpu": "on a CPU",
    "gpu": "on a GPU",
    "stand-in-gpu": "with the stand-in on a GPU",
}

_HEAD = """# Published tables, measured again

Guides on training speed have tables that show what a change gained. This page compares such tables with a measurement
of the same change. One command measures and writes this page:

```
python benchmarks/published_tables.py
```

`--only NAME` picks a table, `--rounds N` sets how often each variant runs, and `--device gpu` measures on a GPU.
`--device stand-in-gpu` measures the last two tables with PyTorch in place of Paddle, on a GPU for which Paddle has no
build. The scripts are in `benchmarks/published/`; they make their own data.

* Tables headed **Cited** have figures that others have published. They were not measured here, and the hardware is what
  the source names.
* Tables headed **Measured** have figures of this repository's scripts: the variants run in turn, each in its own
  process, with the engine of `perflint bench`; [how gains are measured](measuring.md) explains the interval. The files
  linked below each table hold every measured step.

Do not compare the two figure by figure, since hardware, data and usually the network differ. Compare whether the change
gains anything, and if not, why.
"""


def page(results: Results) -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_section(table, results) for table in TABLES)])


def _section(table: Table, results: Results) -> str:
    parts = [f"## {table.title}\n", _cited(table.cited), f"`benchmarks/published/{table.script.name}`: {table.about}\n"]
    for device in table.devices:
        found = results.get((table.name, device))
        parts.append(_measured(table, found) if found else f"Not measured {_NAMES[device]} yet.\n")
        if found and device in table.limits:
            parts.append(f"{table.limits[device]}\n")
    return "\n".join(parts)


def _cited(items: Sequence[Cited]) -> str:
    header = ["**Cited**", "hardware", "change", "before", "after", "ratio"]
    rows = [[item.source.link, item.source.hardware, item.change, *_figures(item)] for item in items]
    if any(item.reader for item in items):
        header.append(_WAITING)
        rows = [[*row, _shares(item)] for row, item in zip(rows, items, strict=True)]
    return _table(header, rows, words=3)


def _figures(item: Cited) -> list[str]:
    return [f"{item.before} {item.unit}", f"{item.after} {item.unit}", f"{item.ratio:.2f}"]


def _shares(item: Cited) -> str:
    return f"{item.reader[0]:.3g} % to {item.reader[1]:.3g} %" if item.reader else ""


def _measured(table: Table, found: Measured) -> str:
    file = place(found.table, found.device).name
    return measured(found.report) + "\n" + facts(found.report, found.environment, file)


def measured(report: BenchReport) -> str:
    """A row for each variant; the ratios are against the first."""
    against: dict[str, Comparison] = {item.variant: item for item in report.comparisons}
    first = report.variants[0]
    ips = {first.name: report.comparisons[0].ips_before, **{name: item.ips_after for name, item in against.items()}}
    rows = []
    for variant in report.variants:
        seconds, waiting, samples = _sums(variant)
        rate = ips[variant.name] * len(_steps(variant)) / samples
        ratio = _ratio(against[variant.name]) if variant.name in against else "1"
        speed = [_number(rate), _number(ips[variant.name])]
        rows.append([variant.name, *speed, f"{100 * waiting / seconds:.3g} %", ratio])
    header = ["**Measured**", "steps/s", "samples/s", _WAITING, "ratio (95 % interval)"]
    return _table(header, rows, words=1)


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _ratio(item: Comparison) -> str:
    verdict = "faster" if item.low > 1 else "slower" if item.high < 1 else "no difference shown"
    return f"{item.ratio:.3f} ({item.low:.3f} to {item.high:.3f}), {verdict}"


def _steps(variant: Variant) -> list[float]:
    return [time for run in variant.runs for time in run.batch_s]


def _sums(variant: Variant) -> tuple[float, float, int]:
    """Over all runs: the seconds of the steps, those of them spent in the loader, and the samples."""
    runs = variant.runs
    return sum(_steps(variant)), sum(sum(run.reader_s) for run in runs), sum(sum(run.samples) for run in runs)


def facts(report: BenchReport, environment: Mapping[str, str], file: str) -> str:
    """Where, when and how a report was made, and the file among the results that holds its steps."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    settings = ", ".join(f"`{name}={value}`" for name, value in environment.items())
    return (
        f"{report.machine}; {versions}; {report.date[:10]}; {report.rounds} rounds of {report.steps} steps"
        f"{f'; {settings}' if settings else ''}; [steps](../benchmarks/results/{file}).\n"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """``words``: how many of the columns have words; the others have figures."""
    ruler = ["---" if place < words else "---:" for place in range(len(header))]
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ruler, *rows])
