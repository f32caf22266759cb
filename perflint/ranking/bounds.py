"""How much a finding can save by a profile: its share of the step, how certain that is, and the resulting bound."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass

from perflint.ranking.shares import MOST_SHARE
from perflint.text.visible import counted


class Grade(enum.IntEnum):
    """How exactly a profile matches a finding; ordered, so that the best match is the largest."""

    NONE = 0
    """Nothing: its share is not known."""
    PHASE = 1
    """The phase of the step that its rule is about."""
    CLASS = 2
    """The layer, or the named range, that contains its place."""
    EXACT = 3
    """Its line, in the current text."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Bound:
    """What one finding can save, according to one profile.

    ``share`` is its share of the step's time, from 0 to 1 (None: not known); ``by`` names what was found, such as
    ``phase reader``; ``key`` is the same for findings that share it, and ``shared`` counts them; ``profile`` is the
    name of the file. ``more`` says in a clause why the fix may save more than that, if it may.
    """

    grade: Grade = Grade.NONE
    share: float | None = None
    by: str = ""
    key: Hashable = None
    profile: str = ""
    more: str = ""
    shared: int = 1

    @property
    def at_most(self) -> float | None:
        """How many times as fast a step can get, ``1 / (1 - share)``; None if nothing limits it."""
        if self.share is None or self.more or self.share >= MOST_SHARE:
            return None
        return 1 / (1 - self.share)

    def is_below(self, share: float) -> bool:
        """Whether it is known that the finding can save less than a share of the step."""
        return self.share is not None and not self.more and self.share < share

    @property
    def text(self) -> str:
        """The bound in words; empty if nothing is known.

        >>> Bound(Grade.EXACT, 0.033).text
        '3.3 % of the step (exact): at most 1.03x'
        """
        if self.share is None:
            return ""
        found = "exact" if self.grade is Grade.EXACT else self.by
        shared = f", shared by {counted(self.shared, 'finding')}" if self.shared > 1 else ""
        begun = f"{percent(self.share)} of the step ({found}{shared})"
        if self.more:
            return f"{begun}, and it may gain more: {self.more}"
        return begun if self.at_most is None else f"{begun}: at most {self.at_most:.2f}x"


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.0333), percent(0.0001), percent(0.0)
    ('3.3 %', 'under 0.1 %', '0.0 %')
    """
    return "under 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"
