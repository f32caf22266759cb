"""The steps of every run over time, round by round, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perflint.bench.drawing import Scale, box, colour, element, line, picture, text, ticks
from perflint.bench.figures import number, quantile
from perflint.bench.labels import markup
from perflint.bench.results import BenchReport

_TOP, _BOTTOM, _LEFT, _RIGHT, _HEIGHT = 24.0, 22.0, 46.0, 8.0, 260.0
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
    scale = Scale(0, top * 1.05, _HEIGHT - _BOTTOM, _TOP)
    parts = [*_rounds(runs, width), *_axis(scale, width)]
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
        yield box(start, _TOP - 4, end - start, _HEIGHT - _BOTTOM - _TOP + 4, "band" if number_ % 2 else "band even")
        words = f"round {number_}" if end - start > 56 else str(number_)
        if end - start > 12:
            yield text((start + end) / 2, 14, words, "label dim", "middle")


def _axis(scale: Scale, width: float) -> Iterator[str]:
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
        "path", title, d=f"M{x - 4:.1f} {_TOP + 4} L{x + 4:.1f} {_TOP + 4} L{x:.1f} {_TOP - 3} Z", class_="beyond"
    )
