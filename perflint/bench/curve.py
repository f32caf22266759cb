"""A curve as SVG: how the ips of a script depend on the value of one argument."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perflint.bench.drawing import Scale, box, colour, element, line, picture, text, ticks
from perflint.bench.figures import figures, number
from perflint.bench.labels import markup
from perflint.bench.recommending import TunedPoint, points
from perflint.bench.results import BenchReport
from perflint.bench.tuning import Tuned

_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 64.0, 16.0, 24.0, 44.0, 260.0
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
    scale = Scale(0, highest * 1.05, _HEIGHT - _BOTTOM, _TOP)
    room = (width - _LEFT - _RIGHT) / len(shown)
    parts = [*_axis(scale, width, tuned.wanted.name)]
    middles = [(_LEFT + (at + 0.5) * room, scale(_ends(point)[1])) for at, point in enumerate(shown)]
    current = next((point for point in shown if point.comparison is None), None)
    if current is not None:
        level = scale(_ends(current)[1])
        parts.append(line(_LEFT, level, width - _RIGHT, level, "one"))
    joined = [middle for middle, point in zip(middles, shown, strict=True) if point.value is not None]
    parts.append(
        element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in joined), class_=f"trace {colour(1)}")
    )
    for (x, _), point in zip(middles, shown, strict=True):
        parts += _mark(point, x, scale)
    desc = " ".join(f"{_label(point)}: {number(_ends(point)[1])} samples a second." for point in shown)
    return picture(name, f"Samples a second by {tuned.wanted.name}", desc, (width, _HEIGHT), parts, class_)


def _ends(point: TunedPoint) -> tuple[float, float, float]:
    """The ips of the slowest round, the mean of all, and that of the fastest."""
    found = figures(point.variant)
    assert found is not None
    return found.slowest, found.ips, found.fastest


def _label(point: TunedPoint) -> str:
    return "as it is" if point.value is None else f"{point.value}"


def _axis(scale: Scale, width: float, name: str) -> Iterator[str]:
    for tick in ticks(scale.high, 5):
        yield line(_LEFT, scale(tick), width - _RIGHT, scale(tick), "grid")
        yield text(_LEFT - 6, scale(tick) + 4, f"{tick:g}", "label dim", "end")
    yield text(_LEFT - 6, 14, "ips", "label dim", "end")
    yield text((_LEFT + width - _RIGHT) / 2, _HEIGHT - 6, name, "label dim", "middle")


def _mark(point: TunedPoint, x: float, scale: Scale) -> Sequence[str]:
    low, middle, high = map(scale, _ends(point))
    mark = element(
        "g",
        element("title", markup(f"{_label(point)}: {number(_ends(point)[1])} samples a second")),
        line(x, low, x, high, "whisker"),
        box(x - 5, middle - 5, 10, 10, "bar"),
        class_=colour(0 if point.comparison is None else 1),
    )
    return mark, text(x, _HEIGHT - _BOTTOM + 16, _label(point), "label", "middle")
