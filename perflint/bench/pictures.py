"""A forest plot as SVG: the ratio of each fix with its interval, on a logarithmic axis. The steps of every run over time, round by round, as SVG. Step times as SVG: a histogram for each variant, and the part of a step spent waiting for the loader. A curve as SVG: how the ips of a script depend on the value of one argument."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perflint.bench.figures import Figures, figures, interval, number, quantile, ratio, sentence
from perflint.bench.labels import markup, shortened
from perflint.bench.results import BenchReport, Comparison, Variant
from perflint.bench.tuning import Tuned, TunedPoint, points
from perflint.bench.web_page import CHARACTER, Scale, box, colour, element, line, picture, text, ticks

# A forest plot as SVG: the ratio of each fix with its interval, on a logarithmic axis.

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


# The steps of every run over time, round by round, as SVG.

_TIMELINE_TOP, _BOTTOM, _LEFT, _RIGHT, _HEIGHT = 24.0, 22.0, 46.0, 8.0, 260.0
_HEADROOM = 2.5
"""Steps longer than this many times the 95th percentile are marked at the upper edge; or all others would look flat."""


@dataclass(frozen=True)
class _Run:
    round: int
    index: int
    name: str
    steps_ms: Sequence[float]


def timeline(report: BenchReport, name: str, width: float, class_: str) -> str:
    """The picture, ``width`` pixels wide; empty text if no step was measured."""
    runs = list(_in_turn(report))
    every = [step for run in runs for step in run.steps_ms]
    if not every or max(every) <= 0:
        return ""
    top = min(max(every), _HEADROOM * quantile(every, 0.95)) or max(every)
    scale = Scale(0, top * 1.05, _HEIGHT - _BOTTOM, _TIMELINE_TOP)
    parts = [*_rounds(runs, width), *_timeline_axis(scale, width)]
    for at, run in enumerate(runs):
        start, end = _slot(at, len(runs), width)
        parts.append(_run(run, scale, start, end))
    rounds = max(run.round for run in runs)
    desc = f"{len(every)} steps in {len(runs)} runs, {rounds} round{'s' * (rounds > 1)}. " + " ".join(
        f"Round {run.round}, {run.name}: median {number(quantile(run.steps_ms, 0.5))} ms." for run in runs
    )
    return picture(
        name, "Time of each step, in the order in which the runs took turns", desc, (width, _HEIGHT), parts, class_
    )


def _in_turn(report: BenchReport) -> Iterator[_Run]:
    for at in range(max((len(variant.runs) for variant in report.variants), default=0)):
        for index, variant in enumerate(report.variants):
            if at < len(variant.runs) and variant.runs[at].batch_s:
                yield _Run(at + 1, index, variant.name, [1000 * second for second in variant.runs[at].batch_s])


def _slot(at: int, count: int, width: float) -> tuple[float, float]:
    room = (width - _LEFT - _RIGHT) / count
    return _LEFT + at * room, _LEFT + (at + 1) * room


def _rounds(runs: Sequence[_Run], width: float) -> Iterator[str]:
    for number_ in sorted({run.round for run in runs}):
        places = [at for at, run in enumerate(runs) if run.round == number_]
        start, end = _slot(places[0], len(runs), width)[0], _slot(places[-1], len(runs), width)[1]
        yield box(
            start,
            _TIMELINE_TOP - 4,
            end - start,
            _HEIGHT - _BOTTOM - _TIMELINE_TOP + 4,
            "band" if number_ % 2 else "band even",
        )
        words = f"round {number_}" if end - start > 56 else str(number_)
        if end - start > 12:
            yield text((start + end) / 2, 14, words, "label dim", "middle")


def _timeline_axis(scale: Scale, width: float) -> Iterator[str]:
    for tick in ticks(scale.high, 5):
        yield line(_LEFT, scale(tick), width - _RIGHT, scale(tick), "grid")
        yield text(_LEFT - 6, scale(tick) + 4, f"{tick:g}", "label dim", "end")
    yield text(_LEFT - 6, 14, "ms", "label dim", "end")
    yield text((_LEFT + width - _RIGHT) / 2, _HEIGHT - 6, "rounds in the order of time", "label dim", "middle")


def _run(run: _Run, scale: Scale, start: float, end: float) -> str:
    gap = min(6.0, (end - start) * 0.12)
    start, end = start + gap, end - gap
    room = (end - start) / len(run.steps_ms)
    points = [(start + (at + 0.5) * room, step) for at, step in enumerate(run.steps_ms)]
    median = quantile(run.steps_ms, 0.5)
    parts = [element("title", f"round {run.round}, {markup(run.name)}: median {number(median)} ms a step")]
    if room < 3 and len(points) > 1:
        parts.append(element("polyline", points=_path(_thinned(points, end - start), scale), class_="trace"))
    else:
        parts += [
            element("circle", cx=x, cy=scale(step), r=min(2.4, max(1.4, room / 3)), class_="dot") for x, step in points
        ]
    parts += [_above(x, step) for x, step in points if step > scale.high]
    parts.append(line(start, scale(median), end, scale(median), "median"))
    return element("g", *parts, class_=colour(run.index))


def _path(points: Sequence[tuple[float, float]], scale: Scale) -> str:
    return " ".join(f"{x:.1f},{scale(step):.1f}" for x, step in points)


def _thinned(points: Sequence[tuple[float, float]], pixels: float) -> list[tuple[float, float]]:
    """The shortest and the longest step of each pixel column, so that pictures stay small and no peak is lost."""
    size = max(1, int(len(points) / max(1.0, pixels)))
    if size < 3:
        return list(points)
    kept: list[tuple[float, float]] = []
    for at in range(0, len(points), size):
        group = points[at : at + size]
        ends = {min(group, key=lambda point: point[1]), max(group, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept


def _above(x: float, step: float) -> str:
    title = element("title", f"{number(step)} ms")
    return element(
        "path",
        title,
        d=f"M{x - 4:.1f} {_TIMELINE_TOP + 4} L{x + 4:.1f} {_TIMELINE_TOP + 4} L{x:.1f} {_TIMELINE_TOP - 3} Z",
        class_="beyond",
    )


# Step times as SVG: a histogram for each variant, and the part of a step spent waiting for the loader.

_SIDE, _PLOTS_TOP, _PLOTS_AXIS = 10.0, 4.0, 34.0
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
        parts += _histogram(variant.name, steps, scale, _PLOTS_TOP + at * _ROW, colour(index))
    height = _PLOTS_TOP + len(rows) * _ROW + _PLOTS_AXIS
    parts += _plots_axis(scale, height, "ms a step")
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


def _plots_axis(scale: Scale, height: float, unit: str) -> Iterator[str]:
    for tick in ticks(scale.high, 5):
        anchor = "start" if scale(tick) < scale.start + 8 else "end" if scale(tick) > scale.end - 12 else "middle"
        yield line(scale(tick), height - _PLOTS_AXIS - 4, scale(tick), height - _PLOTS_AXIS + 1, "axis")
        yield text(scale(tick), height - _PLOTS_AXIS + 14, f"{tick:g}", "label dim", anchor)
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
        parts += _share(variant.name, measured, scale, _PLOTS_TOP + at * _ROW, colour(index))
    height = _PLOTS_TOP + len(rows) * _ROW + _PLOTS_AXIS
    parts += _plots_axis(scale, height, "ms a step, mean; solid: waiting for the loader")
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


# A curve as SVG: how the ips of a script depend on the value of one argument.

_CURVE_LEFT, _CURVE_RIGHT, _CURVE_TOP, _CURVE_BOTTOM, _CURVE_HEIGHT = 64.0, 16.0, 24.0, 44.0, 260.0
_WIDE, _NARROW = 720.0, 340.0


def section(report: BenchReport, tuned: Tuned) -> str:
    """The curve for a page, with its heading, in a wide and a narrow version; empty if nothing was measured."""
    pictures = _curve(report, tuned, "curve-wide", _WIDE, "wide") + _curve(
        report, tuned, "curve-narrow", _NARROW, "narrow"
    )
    if not pictures:
        return ""
    name = markup(tuned.wanted.name)
    return (
        f"<h2>ips by {name}</h2><figure><figcaption>The square is the mean ips of a value; the line reaches from its "
        f"slowest to its fastest round. The dashed line is the script as it is.</figcaption>{pictures}</figure>"
    )


def _curve(report: BenchReport, tuned: Tuned, name: str, width: float, class_: str) -> str:
    shown = [point for point in points(report, tuned) if figures(point.variant) is not None]
    highest = max((_ends(point)[2] for point in shown), default=0.0)
    if not shown or not 0 < highest < math.inf:
        return ""
    scale = Scale(0, highest * 1.05, _CURVE_HEIGHT - _CURVE_BOTTOM, _CURVE_TOP)
    room = (width - _CURVE_LEFT - _CURVE_RIGHT) / len(shown)
    parts = [*_curve_axis(scale, width, tuned.wanted.name)]
    middles = [(_CURVE_LEFT + (at + 0.5) * room, scale(_ends(point)[1])) for at, point in enumerate(shown)]
    current = next((point for point in shown if point.comparison is None), None)
    if current is not None:
        level = scale(_ends(current)[1])
        parts.append(line(_CURVE_LEFT, level, width - _CURVE_RIGHT, level, "one"))
    joined = [middle for middle, point in zip(middles, shown, strict=True) if point.value is not None]
    parts.append(
        element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in joined), class_=f"trace {colour(1)}")
    )
    for (x, _), point in zip(middles, shown, strict=True):
        parts += _mark(point, x, scale)
    desc = " ".join(f"{_label(point)}: {number(_ends(point)[1])} samples a second." for point in shown)
    return picture(name, f"Samples a second by {tuned.wanted.name}", desc, (width, _CURVE_HEIGHT), parts, class_)


def _ends(point: TunedPoint) -> tuple[float, float, float]:
    """The ips of the slowest round, the mean of all, and that of the fastest."""
    found = figures(point.variant)
    assert found is not None
    return found.slowest, found.ips, found.fastest


def _label(point: TunedPoint) -> str:
    return "as it is" if point.value is None else f"{point.value}"


def _curve_axis(scale: Scale, width: float, name: str) -> Iterator[str]:
    for tick in ticks(scale.high, 5):
        yield line(_CURVE_LEFT, scale(tick), width - _CURVE_RIGHT, scale(tick), "grid")
        yield text(_CURVE_LEFT - 6, scale(tick) + 4, f"{tick:g}", "label dim", "end")
    yield text(_CURVE_LEFT - 6, 14, "ips", "label dim", "end")
    yield text((_CURVE_LEFT + width - _CURVE_RIGHT) / 2, _CURVE_HEIGHT - 6, name, "label dim", "middle")


def _mark(point: TunedPoint, x: float, scale: Scale) -> Sequence[str]:
    low, middle, high = map(scale, _ends(point))
    mark = element(
        "g",
        element("title", markup(f"{_label(point)}: {number(_ends(point)[1])} samples a second")),
        line(x, low, x, high, "whisker"),
        box(x - 5, middle - 5, 10, 10, "bar"),
        class_=colour(0 if point.comparison is None else 1),
    )
    return mark, text(x, _CURVE_HEIGHT - _CURVE_BOTTOM + 16, _label(point), "label", "middle")
