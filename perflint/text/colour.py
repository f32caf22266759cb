"""Terminal colours, and when to use them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

ALWAYS, NEVER = "always", "never"
WHEN = ("auto", ALWAYS, NEVER)
"""The values of ``--color``."""
_WITH_LINKS = frozenset(("iTerm.app", "vscode", "WezTerm", "ghostty"))
"""Terminals that show hyperlinks, by their TERM_PROGRAM."""
_VTE_WITH_LINKS = 5000


@dataclass(frozen=True)
class Palette:
    """Paints text with ANSI codes when ``enabled``; otherwise returns it unchanged.

    ``links``: the terminal shows hyperlinks.
    """

    enabled: bool = False
    links: bool = False

    def bold(self, text: str) -> str:
        """Bold."""
        return self._paint("1", text)

    def code(self, text: str) -> str:
        """The code that a frame points at."""
        return self._paint("1;31", text)

    def rule(self, code: str, url: str | None) -> str:
        """A rule's code, as a link to the page of the rule if the terminal supports it (OSC 8)."""
        painted = self.code(code)
        return f"\x1b]8;;{url}\x1b\\{painted}\x1b]8;;\x1b\\" if self.links and url else painted

    def level(self, text: str) -> str:
        """The mark for the level of a fix."""
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


def palette(stream: TextIO, when: str = "auto") -> Palette:
    """The palette for a stream; ``when`` is the value of ``--color``."""
    enabled = wants_colour(stream, when=when)
    return Palette(enabled, enabled and wants_links(stream))


def wants_colour(stream: TextIO, environ: Mapping[str, str] | None = None, when: str = "auto") -> bool:
    """Whether to use colour: on a terminal, unless ``when`` (``always``, ``never``) or the environment decides.

    A non-empty NO_COLOR turns it off. Otherwise a non-empty FORCE_COLOR turns it on, and so does a CLICOLOR_FORCE other
    than 0 (https://bixense.com/clicolors).
    """
    if when in (ALWAYS, NEVER):
        return when == ALWAYS
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return takes_codes(stream, environ)


def takes_codes(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a stream writes to a terminal that supports ANSI codes."""
    environ = os.environ if environ is None else environ
    if environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32" and not (environ.get("WT_SESSION") or environ.get("TERM")):
        return False  # the old console would print the codes
    return stream.isatty()


def wants_links(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Whether to write hyperlinks: on a terminal known to show them, or if FORCE_HYPERLINK is set (0: never).

    Other terminals may show the address itself, or nothing.
    """
    environ = os.environ if environ is None else environ
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return False
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if environ.get("KITTY_WINDOW_ID") or environ.get("WT_SESSION") or environ.get("TERM_PROGRAM") in _WITH_LINKS:
        return True
    version = environ.get("VTE_VERSION", "")
    return version.isascii() and version.isdigit() and int(version[:9]) >= _VTE_WITH_LINKS
