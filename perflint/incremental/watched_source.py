"""The text of a file that is edited: it tells who asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from perflint.text.source import LineTable, Source


class WatchedSource(Source):
    """A source that tells when somebody asks for its text (its path stays as it is)."""

    @classmethod
    def of(cls, source: Source) -> WatchedSource:
        """A source that tells, of one that does not."""
        return cls(source.path, source.text, source.encoding, source.bom)

    @property
    def told(self) -> Callable[[], None] | None:
        """Called when somebody asks."""
        return cast("Callable[[], None] | None", vars(self).get("_told"))

    @told.setter
    def told(self, call: Callable[[], None]) -> None:
        vars(self)["_told"] = call

    @property
    def plain_text(self) -> str:
        """The text, without telling."""
        return cast("str", vars(self)["text"])

    @property
    def lines(self) -> LineTable:
        """The line table of the text."""
        _tell(self)
        known = vars(self)
        if "lines" not in known:
            known["lines"] = LineTable(known["text"])
        return cast("LineTable", known["lines"])


def _tell(source: WatchedSource) -> None:
    told = vars(source).get("_told")
    if told is not None:
        told()


def _text(self: WatchedSource) -> str:
    _tell(self)
    return cast("str", vars(self)["text"])


def _put_text(self: WatchedSource, text: str) -> None:
    vars(self)["text"] = text


WatchedSource.text = property(_text, _put_text)  # type: ignore[assignment]  # a field of its base, as a property here
