"""Parts of SVG: elements, scales and ticks. Colours are CSS classes, so the page's style can be light or dark. The parts that all pages share: a head with a policy, and the figures for programs."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from perflint.bench.labels import markup

# Parts of SVG: elements, scales and ticks. Colours are CSS classes, so the page's style can be light or dark.

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


# The parts that all pages share: a head with a policy, and the figures for programs.


def head(title: str, style: str) -> Iterator[str]:
    """The head of a page that loads nothing: its policy allows only this style, by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{markup(title)}</title>"
    yield f"<style>{style}</style></head>"


def data_block(name: str, data: Any) -> str:
    """A block of JSON, which browsers do not run.

    ``<`` is written as an escape, so that no text can end the block.

    Args:
        name: the id of the block.
        data: a value for ``json.dumps``.
    """
    written = json.dumps(_finite(data), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{written}</script>'


def _finite(value: Any) -> Any:
    """A value with NaN and infinity replaced by None, since JSON has neither."""
    if isinstance(value, dict):
        return {key: _finite(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(child) for child in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
