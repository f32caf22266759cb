"""The page of a bench report: its results, conditions, all steps as numbers, and its pictures as SVG.

The pictures are the ratios with their intervals, the steps over time, the step times, and a curve.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perflint.bench import figures
from perflint.bench.figures import Figures, Verdict, interval, number, quantile, ratio, sentence, shortened, summary
from perflint.bench.notes import advice
from perflint.bench.results import BenchReport, Comparison, Variant
from perflint.bench.tuning import Tuned, TunedPoint, points
from perflint.bench.web_page import (
    CHARACTER,
    STYLE,
    Picture,
    Scale,
    box,
    colour,
    conditions,
    document,
    element,
    line,
    markup,
    templates,
    text,
    ticks,
    two_widths,
)
from perflint.text.visible import counted

_PARTS = templates(Path(__file__).with_name("bench_page.html"))
_WIDE, _CURVE, _HALF = 1080.0, 720.0, 520.0
_TONES = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.NO_GAIN: "none"}
_COMPARED = ("Ratio (95 % interval)", "Saved a step (95 % interval)", "Losses", "Verdict")
_HEADINGS = ("Variant", "ips", "batch_cost", "reader_cost", "Memory", *_COMPARED)
_STEPS = ("variant", "round", "step", "batch_s", "reader_s", "samples", "loss")


def page(report: BenchReport, *sections: str) -> str:
    """The whole page. All text from the report is escaped; paths that UTF-8 cannot hold are shown with backslashes.

    ``sections`` are parts of HTML to put above the table.
    """
    parts = (_opening(report), *sections, _results(report), *_pictures(report), _conditions(report), _numbers(report))
    return document(f"perflint bench: {report.script}", STYLE, parts, "perflint-bench", report.to_json())


def curve_section(report: BenchReport, tuned: Tuned) -> str:
    """A section about a tuned argument: the ips by its value; empty if nothing was measured."""
    drawn = two_widths(partial(curve, report, tuned), "curve", _CURVE)
    return _PARTS["curve"].substitute(name=markup(tuned.wanted.name), pictures=drawn) if drawn else ""


def _opening(report: BenchReport) -> str:
    last = figures.headline(report)
    lines = ['<p class="headline none">No fix was measured.</p>']
    if last is not None:
        tone = _TONES[figures.verdict(last)]
        lines = [f'<p class="headline {tone}">{markup(last.variant)}: {figures.sentence(last)}.</p>']
        if last.same_losses is False:
            lines.append('<p class="slower">The losses did not stay the same: look at what the fix changes.</p>')
    lines += [f"<p>{markup(note)}</p>" for note in (*report.notes, *advice(report))]
    script, date = markup(report.script), markup(report.date)
    return _PARTS["opening"].substitute(script=script, date=date, lines="\n".join(lines))


def _results(report: BenchReport) -> str:
    comparisons = figures.by_name(report)
    headings = "".join(f'<th scope="col" role="columnheader">{heading}</th>' for heading in _HEADINGS)
    rows = "".join(f"{_row(variant, comparisons.get(variant.name))}\n" for variant in report.variants)
    return _PARTS["results"].substitute(headings=headings, rows=rows)


def _row(variant: Variant, comparison: Comparison | None) -> str:
    fixes = variant.fixes or variant.places
    places = "".join(f"<li>{markup(place)}</li>" for place in fixes)
    listed = f"<ul>{places}</ul>" if len(fixes) > 1 or (variant.fixes and variant.fixes != [variant.name]) else ""
    cells = zip(_HEADINGS[1:], (*_measured(variant), *_compared(comparison)), strict=True)
    return _PARTS["variant"].substitute(
        name=f"<code>{markup(variant.name)}</code>{listed}",
        cells="".join(f'<td role="cell" class="n" data-label="{heading}">{cell}</td>' for heading, cell in cells),
    )


def _measured(variant: Variant) -> Iterator[str]:
    measured = figures.summary(variant)
    if measured is None:
        yield from ("not measured", "", "", "")
        return
    share = f"<small>{100 * measured.reader_share:.0f} % of the step</small>"
    for figure, after in ((measured.ips, ""), (measured.batch_ms, " ms"), (measured.reader_ms, " ms")):
        ends = f"<small>{figure.ends}</small>" if figure.ends else ""
        yield f"<span>{number(figure.mean)}{after}{ends}{share if figure is measured.reader_ms else ''}</span>"
    yield f"{number(measured.memory_mib)} MiB" if measured.memory_mib is not None else "not measured"


def _compared(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        yield from [""] * len(_COMPARED)
        return
    yield f"<span>{figures.ratio(comparison)}<small>{figures.interval(comparison)}</small></span>"
    milliseconds, _, around = figures.saved(comparison).partition(" (")
    yield f"<span>{milliseconds}<small>{around.rstrip(')')}</small></span>" if milliseconds else "not known"
    where = f"<small>{figures.difference(comparison)}</small>" if figures.difference(comparison) else ""
    tone = ' class="slower"' if comparison.same_losses is False else ""
    yield f"<span{tone}>{figures.losses(comparison)}{where}</span>"
    yield f'<strong class="{_TONES[figures.verdict(comparison)]}">{figures.verdict(comparison).value}</strong>'


def _pictures(report: BenchReport) -> Iterator[str]:
    """The sections with pictures, without those that have nothing to show."""
    ratios = two_widths(partial(forest, report), "ratio", _WIDE)
    if ratios:
        yield _PARTS["ratios"].substitute(pictures=ratios)
    steps = two_widths(partial(timeline, report), "steps", _WIDE)
    if steps:
        names = enumerate(markup(variant.name) for variant in report.variants)
        rows = (f'<li><span class="swatch {colour(index)}"></span>{name}</li>\n' for index, name in names)
        yield _PARTS["steps"].substitute(legend="".join(rows), pictures=steps)
    spread = two_widths(partial(distribution, report), "spread", _HALF)
    share = two_widths(partial(reader_share, report), "share", _HALF)
    if spread and share:
        yield _PARTS["summary"].substitute(spread=spread, share=share)


def _conditions(report: BenchReport) -> str:
    devices = sorted({run.device for variant in report.variants for run in variant.runs})
    rounds = counted(report.rounds, "round")
    known = conditions(
        "bench",
        report.script,
        report.arguments,
        machine=report.machine,
        device=", ".join(devices),
        versions=", ".join(f"{name} {version}" for name, version in report.versions.items()),
        measured=f"{counted(report.steps, 'step')} a run after {report.warmup} of warm-up, {rounds}",
    )
    return _PARTS["conditions"].substitute(facts=known)


def _numbers(report: BenchReport) -> str:
    headings = "".join(f'<th scope="col">{heading}</th>' for heading in _STEPS)
    rows: list[str] = []
    for variant in report.variants:
        for at, run in enumerate(variant.runs, 1):
            steps = zip(run.batch_s, run.reader_s, run.samples, run.losses, strict=False)
            for step, (batch, reader, samples, loss) in enumerate(steps, 1):
                shown = "" if loss is None else f"{loss:.6g}"
                cells = (markup(variant.name), at, step, f"{batch:.6f}", f"{reader:.6f}", samples, shown)
                rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n")
    return _PARTS["numbers"].substitute(headings=headings, rows="".join(rows))


_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.67, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
"""The numbers that the axis of ratios may have."""
_APART = 40.0
"""Pixels between the numbers on that axis."""
_SMALLEST, _LARGEST = 1e-3, 1e3
_FOREST_TOP, _FOREST_AXIS = 8.0, 40.0

_HEIGHT, _TOP = 260.0, 24.0
"""The height of a picture with a vertical axis, and its margin at the top."""
_TIME_BOTTOM, _TIME_LEFT, _TIME_RIGHT = 22.0, 46.0, 8.0
_CURVE_BOTTOM, _CURVE_LEFT, _CURVE_RIGHT = 44.0, 64.0, 16.0
_HEADROOM = 2.5
"""Steps longer than this many times the 95th percentile are marked at the upper edge; or all others would look flat."""

_SIDE, _ROWS_TOP, _ROWS_AXIS = 10.0, 4.0, 34.0
_ROW = 66.0
"""The height of the row of a variant."""
_BINS = 40


def forest(report: BenchReport, width: float) -> Picture | None:
    """A forest plot: the ratio of each fix with its interval, on a logarithmic axis; None if nothing was compared.

    If it is narrow, names are above their intervals instead of beside them.
    """
    rows = report.comparisons
    if not rows:
        return None
    beside = width >= 600
    row_height = 34.0 if beside else 48.0
    scale = _ratio_scale(rows, width, beside)
    height = _FOREST_TOP + len(rows) * row_height + _FOREST_AXIS
    parts = [*_ratio_axis(scale, height)]
    names = [variant.name for variant in report.variants]
    for at, row in enumerate(rows):
        top = _FOREST_TOP + at * row_height
        middle, reach = (top + row_height / 2, row_height / 2) if beside else (top + 32, 11.0)
        index = names.index(row.variant) if row.variant in names else at + 1
        # the grid lines behind one interval, which do not cross the names
        for tick in _ratio_ticks(scale):
            x = scale(tick)
            parts.append(line(x, middle - reach, x, middle + reach, "one" if tick == 1 else "grid"))
        parts += _ratio_words(row, width, scale, middle + 4 if beside else top + 14, beside)
        parts.append(_interval(row, scale, middle, colour(index)))
    desc = " ".join(f"{row.variant}: {sentence(row)}." for row in rows)
    return Picture("Ratio of ips, after to before, with its 95 % interval", desc, (width, height), parts)


def _ratio_scale(rows: Sequence[Comparison], width: float, beside: bool) -> Scale:
    ends = [_drawn(end) for row in rows for end in (row.low, row.high, row.ratio)]
    low, high = min(0.95, *ends), max(1.05, *ends)
    room = math.log(high / low) * 0.06
    start, end = (0.34 * width, width - 165) if beside else (12, width - 12)
    return Scale(low / math.exp(room), high * math.exp(room), start, end, logarithmic=True)


def _drawn(value: float) -> float:
    return min(max(value, _SMALLEST), _LARGEST) if not math.isnan(value) else 1.0


def _ratio_axis(scale: Scale, height: float) -> Iterator[str]:
    for tick in _ratio_ticks(scale):
        yield text(scale(tick), height - _FOREST_AXIS + 15, f"{tick:g}", "label dim", "middle")
    one = scale(1)
    if one - scale.start > 60:
        yield text(one - 10, height - 6, "slower", "label dim", "end")
    if scale.end - one > 60:
        yield text(one + 10, height - 6, "faster", "label dim", "start")


def _ratio_ticks(scale: Scale) -> list[float]:
    """The tick at 1, and those of the others in range that have room, going outwards from 1."""
    shown = [1.0]
    for tick in sorted(_RATIOS, key=lambda tick: abs(math.log(tick))):
        if scale.low <= tick <= scale.high and all(abs(scale(tick) - scale(other)) >= _APART for other in shown):
            shown.append(tick)
    return sorted(shown)


def _ratio_words(row: Comparison, width: float, scale: Scale, y: float, beside: bool) -> Iterator[str]:
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


def _vertical_axis(scale: Scale, left: float, right: float, unit: str, caption: str) -> Iterator[str]:
    """The axis on the left of a picture, with grid lines up to ``right``, and a caption below."""
    for tick in ticks(scale.high):
        yield line(left, scale(tick), right, scale(tick), "grid")
        yield text(left - 6, scale(tick) + 4, f"{tick:g}", "label dim", "end")
    yield text(left - 6, 14, unit, "label dim", "end")
    yield text((left + right) / 2, _HEIGHT - 6, caption, "label dim", "middle")


def _path(points: Sequence[tuple[float, float]], class_: str) -> str:
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


@dataclass(frozen=True)
class _Run:
    round: int
    index: int
    name: str
    steps_ms: Sequence[float]


def timeline(report: BenchReport, width: float) -> Picture | None:
    """The steps of every run over time, round by round; None if no step was measured."""
    runs = [
        _Run(at + 1, index, variant.name, [1000 * second for second in variant.runs[at].batch_s])
        for at in range(max((len(variant.runs) for variant in report.variants), default=0))
        for index, variant in enumerate(report.variants)
        if at < len(variant.runs) and variant.runs[at].batch_s
    ]
    every = [step for run in runs for step in run.steps_ms]
    if not every or max(every) <= 0:
        return None
    top = min(max(every), _HEADROOM * quantile(every, 0.95)) or max(every)
    scale = Scale(0, top * 1.05, _HEIGHT - _TIME_BOTTOM, _TOP)
    room = (width - _TIME_LEFT - _TIME_RIGHT) / len(runs)
    slots = [(_TIME_LEFT + at * room, _TIME_LEFT + (at + 1) * room) for at in range(len(runs))]
    parts = [*_rounds(runs, slots)]
    parts += _vertical_axis(scale, _TIME_LEFT, width - _TIME_RIGHT, "ms", "rounds in the order of time")
    parts += [_run(run, scale, *slot) for run, slot in zip(runs, slots, strict=True)]
    rounds = max(run.round for run in runs)
    desc = f"{len(every)} steps in {len(runs)} runs, {rounds} round{'s' * (rounds > 1)}. " + " ".join(
        f"Round {run.round}, {run.name}: median {number(quantile(run.steps_ms, 0.5))} ms." for run in runs
    )
    return Picture("Time of each step, in the order in which the runs took turns", desc, (width, _HEIGHT), parts)


def _rounds(runs: Sequence[_Run], slots: Sequence[tuple[float, float]]) -> Iterator[str]:
    for number_ in sorted({run.round for run in runs}):
        places = [slot for run, slot in zip(runs, slots, strict=True) if run.round == number_]
        start, end = places[0][0], places[-1][1]
        band = "band" if number_ % 2 else "band even"
        yield box(start, _TOP - 4, end - start, _HEIGHT - _TIME_BOTTOM - _TOP + 4, band)
        if end - start > 12:
            words = f"round {number_}" if end - start > 56 else str(number_)
            yield text((start + end) / 2, 14, words, "label dim", "middle")


def _run(run: _Run, scale: Scale, start: float, end: float) -> str:
    gap = min(6.0, (end - start) * 0.12)
    start, end = start + gap, end - gap
    room = (end - start) / len(run.steps_ms)
    points = [(start + (at + 0.5) * room, step) for at, step in enumerate(run.steps_ms)]
    median = quantile(run.steps_ms, 0.5)
    parts = [element("title", f"round {run.round}, {markup(run.name)}: median {number(median)} ms a step")]
    if room < 3 and len(points) > 1:
        parts.append(_path([(x, scale(step)) for x, step in _thinned(points, end - start)], "trace"))
    else:
        parts += [
            element("circle", cx=x, cy=scale(step), r=min(2.4, max(1.4, room / 3)), class_="dot") for x, step in points
        ]
    for x, step in points:
        if step > scale.high:
            title = element("title", f"{number(step)} ms")
            corners = f"M{x - 4:.1f} {_TOP + 4} L{x + 4:.1f} {_TOP + 4} L{x:.1f} {_TOP - 3} Z"
            parts.append(element("path", title, d=corners, class_="beyond"))
    parts.append(line(start, scale(median), end, scale(median), "median"))
    return element("g", *parts, class_=colour(run.index))


def _thinned(points: Sequence[tuple[float, float]], pixels: float) -> Sequence[tuple[float, float]]:
    """The shortest and the longest step of each pixel column, so that pictures stay small and no peak is lost."""
    size = max(1, int(len(points) / max(1.0, pixels)))
    if size < 3:
        return points
    kept: list[tuple[float, float]] = []
    for at in range(0, len(points), size):
        group = points[at : at + size]
        kept += sorted({min(group, key=lambda point: point[1]), max(group, key=lambda point: point[1])})
    return kept


def distribution(report: BenchReport, width: float) -> Picture | None:
    """A histogram of step times for each variant, on one axis; None if no step was measured."""
    rows = [
        (index, variant.name, [1000 * second for run in variant.runs for second in run.batch_s])
        for index, variant in enumerate(report.variants)
    ]
    rows = [row for row in rows if row[2]]
    every = [step for *_, steps in rows for step in steps]
    if not every or max(every) <= 0:
        return None
    # longer steps are counted in the last bar, so that the others are not squeezed
    upper = min(max(every), 2 * quantile(every, 0.95)) * 1.04 or max(every)
    scale = Scale(0, upper, _SIDE, width - _SIDE)
    parts: list[str] = []
    for at, (index, title, steps) in enumerate(rows):
        parts += _histogram(title, steps, scale, _ROWS_TOP + at * _ROW, colour(index))
    height = _ROWS_TOP + len(rows) * _ROW + _ROWS_AXIS
    parts += _horizontal_axis(scale, height, "ms a step")
    desc = " ".join(f"{title}: {_spread(steps)}." for _, title, steps in rows)
    return Picture("How the times of the steps are spread", desc, (width, height), parts)


def _spread(steps: Sequence[float]) -> str:
    low, middle, high = (number(quantile(steps, part)) for part in (0.25, 0.5, 0.75))
    return f"median {middle} ms, half of {len(steps)} steps between {low} and {high} ms"


def _histogram(name: str, steps: Sequence[float], scale: Scale, top: float, class_: str) -> Iterator[str]:
    floor = top + _ROW - 8
    counts = Counter(min(_BINS - 1, int(step / scale.high * _BINS)) for step in steps)
    room = (scale.end - scale.start) / _BINS
    yield from _heading(name, f"median {number(quantile(steps, 0.5))} ms", scale, top)
    bars = []
    for at, count in sorted(counts.items()):
        height = max(1.5, (_ROW - 34) * count / max(counts.values()))
        bars.append(box(scale.start + at * room, floor - height, room - 1, height, "bar"))
    middle = scale(quantile(steps, 0.5))
    bars.append(line(middle, floor - (_ROW - 32), middle, floor + 3, "median"))
    yield element("g", element("title", _spread(steps)), *bars, class_=class_)
    yield line(scale.start, floor, scale.end, floor, "grid")


def _heading(name: str, words: str, scale: Scale, top: float) -> Iterator[str]:
    """The row's name on the left and its figure on the right, above the row."""
    room = int((scale.end - scale.start) / CHARACTER) - len(words) - 2
    yield text(scale.start, top + 14, shortened(name, max(6, room)))
    yield text(scale.end, top + 14, words, "label dim", "end")


def _horizontal_axis(scale: Scale, height: float, unit: str) -> Iterator[str]:
    for tick in ticks(scale.high):
        anchor = "start" if scale(tick) < scale.start + 8 else "end" if scale(tick) > scale.end - 12 else "middle"
        yield line(scale(tick), height - _ROWS_AXIS - 4, scale(tick), height - _ROWS_AXIS + 1, "axis")
        yield text(scale(tick), height - _ROWS_AXIS + 14, f"{tick:g}", "label dim", anchor)
    yield text((scale.start + scale.end) / 2, height - 4, unit, "label dim", "middle")


def reader_share(report: BenchReport, width: float) -> Picture | None:
    """A bar for each variant: a step's mean time, and the part of it spent waiting for the loader."""
    found = [(index, variant.name, summary(variant)) for index, variant in enumerate(report.variants)]
    rows = [(index, title, measured) for index, title, measured in found if measured is not None]
    if not rows:
        return None
    scale = Scale(0, max(measured.batch_ms.mean for *_, measured in rows) * 1.02, _SIDE, width - _SIDE)
    parts: list[str] = []
    for at, (index, title, measured) in enumerate(rows):
        top = _ROWS_TOP + at * _ROW
        parts += _heading(title, _waits(measured), scale, top)
        batch, reader = measured.batch_ms.mean, measured.reader_ms.mean
        bars = (batch, "rest"), (min(reader, batch), "bar")
        drawn = (box(scale.start, top + 24, scale(ms) - scale.start, 24, part) for ms, part in bars)
        parts.append(element("g", *drawn, class_=colour(index)))
    height = _ROWS_TOP + len(rows) * _ROW + _ROWS_AXIS
    parts += _horizontal_axis(scale, height, "ms a step, mean; solid: waiting for the loader")
    desc = " ".join(f"{title}: {_waits(measured)}." for _, title, measured in rows)
    return Picture("How much of a step waits for the loader", desc, (width, height), parts)


def _waits(measured: Figures) -> str:
    reader, batch = number(measured.reader_ms.mean), number(measured.batch_ms.mean)
    return f"{reader} of {batch} ms ({100 * measured.reader_share:.0f} %)"


def curve(report: BenchReport, tuned: Tuned, width: float) -> Picture | None:
    """How the ips depend on the value of one argument; None if nothing was measured."""
    shown = [(point, found) for point in points(report, tuned) if (found := summary(point.variant)) is not None]
    highest = max((max(found.ips.rounds) for _, found in shown), default=0.0)
    if not shown or not 0 < highest < math.inf:
        return None
    scale = Scale(0, highest * 1.05, _HEIGHT - _CURVE_BOTTOM, _TOP)
    right = width - _CURVE_RIGHT
    room = (right - _CURVE_LEFT) / len(shown)
    placed = [(_CURVE_LEFT + (at + 0.5) * room, *each) for at, each in enumerate(shown)]
    parts = [*_vertical_axis(scale, _CURVE_LEFT, right, "ips", tuned.wanted.name)]
    for level in [scale(found.ips.mean) for point, found in shown if point.comparison is None][:1]:
        parts.append(line(_CURVE_LEFT, level, right, level, "one"))
    known = [(x, scale(found.ips.mean)) for x, point, found in placed if point.value is not None]
    parts.append(_path(known, f"trace {colour(1)}"))
    for x, point, found in placed:
        parts += _mark(point, found, x, scale)
    desc = " ".join(f"{_label(point)}: {number(found.ips.mean)} samples a second." for point, found in shown)
    return Picture(f"Samples a second by {tuned.wanted.name}", desc, (width, _HEIGHT), parts)


def _label(point: TunedPoint) -> str:
    return "as it is" if point.value is None else f"{point.value}"


def _mark(point: TunedPoint, found: Figures, x: float, scale: Scale) -> Sequence[str]:
    low, middle, high = map(scale, (min(found.ips.rounds), found.ips.mean, max(found.ips.rounds)))
    mark = element(
        "g",
        element("title", markup(f"{_label(point)}: {number(found.ips.mean)} samples a second")),
        line(x, low, x, high, "whisker"),
        box(x - 5, middle - 5, 10, 10, "bar"),
        class_=colour(0 if point.comparison is None else 1),
    )
    return mark, text(x, _HEIGHT - _CURVE_BOTTOM + 16, _label(point), "label", "middle")
