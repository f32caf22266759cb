"""Self-contained HTML pages with SVG pictures: no network, no script, and every text escaped.

Colours are CSS classes, so a page's style can be light or dark. The fixed text of a page is in a file beside its
module, which has a `Template` for each part.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from perflint.text.visible import visible

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
"""The style that all pages share."""
COLOURS = 8
"""The number of classes ``c0``, ``c1``, ... that have a colour in `STYLE`."""
CHARACTER = 6.6
"""Approximate pixels for each column of a label; labels are 12 px high."""


def templates(file: Path) -> dict[str, Template]:
    """The parts of a file of HTML by name; each begins with a row ``<!-- part NAME -->``."""
    _, *found = re.split(r"<!-- part (\w+) -->\n", file.read_text(encoding="utf-8"))
    return {name: Template(text.removesuffix("\n")) for name, text in zip(found[::2], found[1::2], strict=True)}


_DOCUMENT = templates(Path(__file__).with_name("page.html"))["document"]


def document(title: str, style: str, parts: Iterable[str], name: str, data: Any) -> str:
    """A whole page.

    Its policy (Content-Security-Policy in a meta element) allows only its own style, by hash. At its end are the
    figures for programs, in a block of JSON, which browsers do not run.

    Args:
        title: its title.
        style: CSS.
        parts: the rows of its body.
        name: the id of the block of JSON.
        data: its contents, for ``json.dumps``.
    """
    # JSON has neither NaN nor infinity
    finite = json.loads(json.dumps(data), parse_constant=lambda _: None)
    found = _DOCUMENT.substitute(
        title=markup(title),
        style=style,
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        body="\n".join(parts),
        name=name,
        # so that no text can end the block
        data=json.dumps(finite, allow_nan=False).replace("<", "\\u003c"),
    )
    return f"{found}\n"


def markup(text: str) -> str:
    """Text for HTML or SVG, between tags or in a quoted attribute.

    A path may contain control characters, which neither allows, and half of a surrogate pair, which UTF-8 does not
    allow.
    """
    return escape(visible(text))


def conditions(command: str, script: str, arguments: Sequence[str], **known: str) -> str:
    """The rows of a list of facts about a run, beginning with its command; those that are empty are left out."""
    line = shlex.join(["perflint", command, script, *(["--", *arguments] if arguments else [])])
    rows = {"Command": f"<code>{markup(line)}</code>", **{name.title(): markup(value) for name, value in known.items()}}
    return "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items() if value)


def two_widths(draw: Callable[[float], Picture | None], name: str, wide: float) -> str:
    """A wide and a narrow version of a picture, of which the style shows one; empty if there is nothing to show.

    Args:
        draw: makes one of a width in pixels.
        name: the beginning of the names.
        wide: the width of the wide one.
    """
    drawn = {"wide": draw(wide), "narrow": draw(340.0)}
    return "".join(each.svg(f"{name}-{class_}", class_) for class_, each in drawn.items() if each is not None)


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


@dataclass(frozen=True)
class Picture:
    """A whole SVG image, with a title and a description for screen readers; ``size`` is its width and height."""

    title: str
    desc: str
    size: tuple[float, float]
    parts: Sequence[str]

    def svg(self, name: str, class_: str) -> str:
        """The element; ``name`` is unique in the page."""
        return element(
            "svg",
            element("title", markup(self.title), id=f"{name}-title"),
            element("desc", markup(self.desc), id=f"{name}-desc"),
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {' '.join(map(_value, self.size))}",
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


def ticks(high: float) -> list[float]:
    """About five round values from 0 up to at most ``high``, which is above 0."""
    rough = high / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [at * step for at in range(math.floor(high / step * 1.000001) + 1)]
