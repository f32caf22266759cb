"""A forest plot as SVG: the ratio of each fix with its interval, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perflint.bench.drawing import CHARACTER, Scale, box, colour, element, line, picture, text
from perflint.bench.figures import interval, ratio, sentence
from perflint.bench.labels import shortened
from perflint.bench.results import BenchReport, Comparison

_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.67, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
_APART = 40.0
"""Pixels between the numbers on the axis."""
_SMALLEST, _LARGEST = 1e-3, 1e3
_TOP, _AXIS = 8.0, 40.0


def forest(report: BenchReport, name: str, width: float, class_: str) -> str:
    """The picture, ``width`` pixels wide; if it is narrow, names are above their intervals instead of beside them.

    Empty text if nothing was compared.
    """
    rows = report.comparisons
    if not rows:
        return ""
    beside = width >= 600
    row_height = 34.0 if beside else 48.0
    scale = _scale(rows, width, beside)
    height = _TOP + len(rows) * row_height + _AXIS
    parts = [*_axis(scale, height)]
    names = [variant.name for variant in report.variants]
    for at, row in enumerate(rows):
        top = _TOP + at * row_height
        middle = top + (row_height / 2 if beside else 32)
        index = names.index(row.variant) if row.variant in names else at + 1
        parts += _rules(scale, middle, row_height / 2 if beside else 11)
        parts += _words(row, width, scale, middle + 4 if beside else top + 14, beside)
        parts.append(_interval(row, scale, middle, colour(index)))
    desc = " ".join(f"{row.variant}: {sentence(row)}." for row in rows)
    return picture(name, "Ratio of ips, after to before, with its 95 % interval", desc, (width, height), parts, class_)


def _scale(rows: Sequence[Comparison], width: float, beside: bool) -> Scale:
    ends = [_drawn(end) for row in rows for end in (row.low, row.high, row.ratio)]
    low, high = min(0.95, *ends), max(1.05, *ends)
    room = math.log(high / low) * 0.06
    start, end = (0.34 * width, width - 165) if beside else (12, width - 12)
    return Scale(low / math.exp(room), high * math.exp(room), start, end, logarithmic=True)


def _drawn(value: float) -> float:
    return min(max(value, _SMALLEST), _LARGEST) if not math.isnan(value) else 1.0


def _axis(scale: Scale, height: float) -> Iterator[str]:
    floor = height - _AXIS
    for tick in _shown_ticks(scale):
        yield text(scale(tick), floor + 15, f"{tick:g}", "label dim", "middle")
    one = scale(1)
    if one - scale.start > 60:
        yield text(one - 10, height - 6, "slower", "label dim", "end")
    if scale.end - one > 60:
        yield text(one + 10, height - 6, "faster", "label dim", "start")


def _rules(scale: Scale, y: float, reach: float) -> Iterator[str]:
    """The grid lines behind one interval, which do not cross the names."""
    for tick in _shown_ticks(scale):
        yield line(scale(tick), y - reach, scale(tick), y + reach, "one" if tick == 1 else "grid")


def _shown_ticks(scale: Scale) -> list[float]:
    """The tick at 1, and those of the others in range that have room, going outwards from 1."""
    shown = [1.0]
    for tick in sorted(_TICKS, key=lambda tick: abs(math.log(tick))):
        if scale.low <= tick <= scale.high and all(abs(scale(tick) - scale(other)) >= _APART for other in shown):
            shown.append(tick)
    return sorted(shown)


def _words(row: Comparison, width: float, scale: Scale, y: float, beside: bool) -> Iterator[str]:
    figure = f"{ratio(row)} ({interval(row)})"
    room = (scale.start - 16) if beside else (width - 24 - (len(figure) + 2) * CHARACTER)
    yield text(0 if beside else 12, y, shortened(row.variant, max(6, int(room / CHARACTER))))
    yield text(width if beside else width - 12, y, figure, "label", "end")


def _interval(row: Comparison, scale: Scale, y: float, class_: str) -> str:
    low, high, middle = (scale(_drawn(value)) for value in (row.low, row.high, row.ratio))
    return element(
        "g",
        element("title", sentence(row)),
        line(low, y, high, y, "whisker"),
        line(low, y - 5, low, y + 5, "whisker"),
        line(high, y - 5, high, y + 5, "whisker"),
        box(middle - 5, y - 5, 10, 10, "bar"),
        class_=class_,
    )
