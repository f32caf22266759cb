"""Parts of SVG: elements, scales and ticks. Colours are CSS classes, so the page's style can be light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perflint.bench.labels import markup

COLOURS = 8
"""The number of classes ``c0``, ``c1``, ... that have a colour in the page's style."""
CHARACTER = 6.6
"""Approximate pixels for each column of a label; labels are 12 px high."""


def element(name: str, *children: str, **attributes: str | float) -> str:
    """An SVG element. ``children`` are markup; attribute values are escaped here; ``class_`` becomes ``class``."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(children)}</{name}>"


def _value(value: str | float) -> str:
    return markup(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, class_: str = "label", anchor: str = "start") -> str:
    """One line of text; ``y`` is its base line."""
    return element("text", markup(words), x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, *children: str) -> str:
    """A rectangle; a child may be its title."""
    return element("rect", *children, x=x, y=y, width=max(0.0, width), height=max(0.0, height), class_=class_)


def colour(index: int) -> str:
    """The class of the variant at ``index`` of the report."""
    return f"c{index % COLOURS}"


def picture(name: str, title: str, desc: str, size: tuple[float, float], parts: Sequence[str], class_: str) -> str:
    """A whole SVG image, with a name for screen readers; ``name`` is unique in the page."""
    return element(
        "svg",
        element("title", markup(title), id=f"{name}-title"),
        element("desc", markup(desc), id=f"{name}-desc"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_value(size[0])} {_value(size[1])}",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
        class_=class_,
    )


@dataclass(frozen=True)
class Scale:
    """Maps values from ``low`` to ``high`` to pixels from ``start`` to ``end``; values outside go to the nearer end."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        value = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def ticks(high: float, count: int) -> list[float]:
    """About ``count`` round values from 0 up to at most ``high``, which is above 0."""
    rough = high / max(1, count)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [at * step for at in range(math.floor(high / step * 1.000001) + 1)]
