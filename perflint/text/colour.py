"""Terminal colours, and when to use them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Palette:
    """Paints text with ANSI codes when ``enabled``; otherwise hands it back as it is."""

    enabled: bool = False

    def bold(self, text: str) -> str:
        """Bold."""
        return self._paint("1", text)

    def code(self, text: str) -> str:
        """A rule's code, and what the frame points at."""
        return self._paint("1;31", text)

    def level(self, text: str) -> str:
        """How far a fix may be trusted."""
        return self._paint("33", text)

    def frame(self, text: str) -> str:
        """Row numbers, bars and headings."""
        return self._paint("36", text)

    def added(self, text: str) -> str:
        """A line that a fix adds."""
        return self._paint("32", text)

    def removed(self, text: str) -> str:
        """A line that a fix removes."""
        return self._paint("31", text)

    def _paint(self, sgr: str, text: str) -> str:
        return f"\x1b[{sgr}m{text}\x1b[0m" if self.enabled and text else text


def wants_colour(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Colour on a terminal, unless the environment says otherwise.

    A NO_COLOR that is not empty turns it off.  Else a FORCE_COLOR that is not empty turns it on, and so does a
    CLICOLOR_FORCE that is not 0 (https://bixense.com/clicolors).
    """
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32" and not (environ.get("WT_SESSION") or environ.get("TERM")):
        return False  # the old console prints the codes themselves
    return stream.isatty()
