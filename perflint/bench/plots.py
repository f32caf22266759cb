"""Step times as SVG: a histogram for each variant, and the part of a step spent waiting for the loader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perflint.bench.drawing import CHARACTER, Scale, box, colour, element, line, picture, text, ticks
from perflint.bench.figures import Figures, figures, number, quantile
from perflint.bench.labels import shortened
from perflint.bench.results import BenchReport, Variant

_SIDE, _TOP, _AXIS = 10.0, 4.0, 34.0
_ROW = 66.0
"""The height of the row of a variant."""
_BINS = 40


def distribution(report: BenchReport, name: str, width: float, class_: str) -> str:
    """A histogram of step times for each variant, on one axis; empty text if no step was measured."""
    rows = [(index, variant, _steps_ms(variant)) for index, variant in enumerate(report.variants)]
    rows = [row for row in rows if row[2]]
    every = [step for *_, steps in rows for step in steps]
    if not every or max(every) <= 0:
        return ""
    scale = Scale(0, _upper(every), _SIDE, width - _SIDE)
    parts: list[str] = []
    for at, (index, variant, steps) in enumerate(rows):
        parts += _histogram(variant.name, steps, scale, _TOP + at * _ROW, colour(index))
    height = _TOP + len(rows) * _ROW + _AXIS
    parts += _axis(scale, height, "ms a step")
    desc = " ".join(f"{variant.name}: {_spread(steps)}." for _, variant, steps in rows)
    return picture(name, "How the times of the steps are spread", desc, (width, height), parts, class_)


def _steps_ms(variant: Variant) -> list[float]:
    return [1000 * second for run in variant.runs for second in run.batch_s]


def _upper(steps: Sequence[float]) -> float:
    """The end of the axis. Longer steps are counted in the last bar, so that the others are not squeezed."""
    return min(max(steps), 2 * quantile(steps, 0.95)) * 1.04 or max(steps)


def _spread(steps: Sequence[float]) -> str:
    low, middle, high = (number(quantile(steps, part)) for part in (0.25, 0.5, 0.75))
    return f"median {middle} ms, half of {len(steps)} steps between {low} and {high} ms"


def _histogram(name: str, steps: Sequence[float], scale: Scale, top: float, class_: str) -> Iterator[str]:
    floor = top + _ROW - 8
    counts = [0] * _BINS
    for step in steps:
        counts[min(_BINS - 1, int(step / scale.high * _BINS))] += 1
    room = (scale.end - scale.start) / _BINS
    yield from _heading(name, f"median {number(quantile(steps, 0.5))} ms", scale, top)
    bars = [
        box(scale.start + at * room, floor - tall, room - 1, tall, "bar")
        for at, count in enumerate(counts)
        if count
        for tall in [max(1.5, (_ROW - 34) * count / max(counts))]
    ]
    middle = scale(quantile(steps, 0.5))
    bars.append(line(middle, floor - (_ROW - 32), middle, floor + 3, "median"))
    yield element("g", element("title", _spread(steps)), *bars, class_=class_)
    yield line(scale.start, floor, scale.end, floor, "grid")


def _heading(name: str, words: str, scale: Scale, top: float) -> Iterator[str]:
    """The row's name on the left and its figure on the right, above the row."""
    room = int((scale.end - scale.start) / CHARACTER) - len(words) - 2
    yield text(scale.start, top + 14, shortened(name, max(6, room)))
    yield text(scale.end, top + 14, words, "label dim", "end")


def _axis(scale: Scale, height: float, unit: str) -> Iterator[str]:
    for tick in ticks(scale.high, 5):
        anchor = "start" if scale(tick) < scale.start + 8 else "end" if scale(tick) > scale.end - 12 else "middle"
        yield line(scale(tick), height - _AXIS - 4, scale(tick), height - _AXIS + 1, "axis")
        yield text(scale(tick), height - _AXIS + 14, f"{tick:g}", "label dim", anchor)
    yield text((scale.start + scale.end) / 2, height - 4, unit, "label dim", "middle")


def reader_share(report: BenchReport, name: str, width: float, class_: str) -> str:
    """A bar for each variant: a step's mean time, and the part of it spent waiting for the loader."""
    found = [(index, variant, figures(variant)) for index, variant in enumerate(report.variants)]
    rows = [(index, variant, measured) for index, variant, measured in found if measured is not None]
    if not rows:
        return ""
    scale = Scale(0, max(measured.batch_ms for *_, measured in rows) * 1.02, _SIDE, width - _SIDE)
    parts: list[str] = []
    for at, (index, variant, measured) in enumerate(rows):
        parts += _share(variant.name, measured, scale, _TOP + at * _ROW, colour(index))
    height = _TOP + len(rows) * _ROW + _AXIS
    parts += _axis(scale, height, "ms a step, mean; solid: waiting for the loader")
    desc = " ".join(f"{variant.name}: {_waits(measured)}." for _, variant, measured in rows)
    return picture(name, "How much of a step waits for the loader", desc, (width, height), parts, class_)


def _waits(measured: Figures) -> str:
    return f"{number(measured.reader_ms)} of {number(measured.batch_ms)} ms ({100 * measured.reader_share:.0f} %)"


def _share(name: str, measured: Figures, scale: Scale, top: float, class_: str) -> Iterator[str]:
    yield from _heading(name, _waits(measured), scale, top)
    reader, whole = scale(min(measured.reader_ms, measured.batch_ms)), scale(measured.batch_ms)
    yield element(
        "g",
        box(scale.start, top + 24, whole - scale.start, 24, "rest"),
        box(scale.start, top + 24, reader - scale.start, 24, "bar"),
        class_=class_,
    )
