"""Reads a page strictly, as a browser's parser would stumble over it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

_VOID = {"meta", "link", "br", "hr", "img", "input"}
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text; `AssertionError` where a tag is not closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.markup = markup
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), attrs
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def text(self) -> str:
        """All that a person reads, and the titles of pictures."""
        return "\n".join(data for tag, data in self.texts if tag not in ("script", "style"))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def inside(self, tag: str) -> str:
        """The text of all elements of that name."""
        return "".join(data for name, data in self.texts if name == tag)

    def pictures(self) -> list[ElementTree.Element]:
        """The pictures, read as XML."""
        return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", self.markup, re.DOTALL)]
