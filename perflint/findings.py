"""What perflint reports: findings, and the edits that fix them.

Positions are character offsets into the decoded text of a file (half-open, ``start <= i < end``), because
one list of edits then feeds every output; ``perflint.text.source.LineTable`` turns them into rows and columns.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise


class Level(enum.IntEnum):
    """How far a fix may be trusted; ordered, so that ``level >= Level.UNSAFE`` means "may be applied on request"."""

    DISPLAY = 0
    """A suggestion: shown, never applied, because the user has to decide or fill in something."""
    UNSAFE = 1
    """Applied with ``--unsafe-fixes``; ``Fix.reason`` says what can differ."""
    SAFE = 2
    """Applied with ``--fix``: the trained weights stay bit-identical, nothing new can fail, comments survive."""

    def __str__(self) -> str:
        return "suggestion" if self is Level.DISPLAY else self.name.lower()

    @property
    def applicability(self) -> str:
        """Ruff's word for it, for the formats whose readers know Ruff's."""
        return self.name.lower()


class Confidence(enum.IntEnum):
    """How sure perflint is that a finding is right; ordered, so that ``--min-confidence`` is a comparison."""

    LOW = 0
    """A place worth a look: too many of these are harmless to report them by default."""
    MEDIUM = 1
    """Rests on a name or a convention (``loss``, ``train_step``) that is rarely wrong."""
    HIGH = 2
    """Follows from what the code says: imports, types of values, loops and calls."""

    def __str__(self) -> str:
        return self.name.lower()


class ImpactLevel(enum.IntEnum):
    """How much of a training step a finding can cost; ordered, so that ``--min-impact`` is a comparison."""

    LOW = 0
    """Less than a thousandth of a step of 100 ms: true, but hardly worth an edit."""
    MEDIUM = 1
    """Up to a fortieth of it."""
    HIGH = 2
    """More than that, or the risk of running out of memory."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Impact:
    """What a finding can cost, as far as the code shows: a level, and the reason for it in a clause.

    ``milliseconds``: the typical cost per step, used to sort findings of one level; not shown, since users' steps
    differ.
    """

    level: ImpactLevel
    reason: str
    milliseconds: float = 0.0


@dataclass(frozen=True, order=True)
class Edit:
    """Replace ``text[start:end]`` with ``content``; ``start == end`` inserts."""

    start: int
    end: int
    content: str


Edits = tuple[Edit, ...]


@dataclass(frozen=True)
class Fix:
    """The repair of one finding: applied whole or not at all.

    ``imports`` holds whole import statements (``"import paddle"``) that the edited file needs; the fix engine
    adds those that are missing.  ``reason`` says in words why a fix is not ``safe`` (empty for safe ones).
    ``unneeded`` names imports, as pyflakes does, that nothing else needs; the fix engine removes those that all edits
    together leave unused.
    ``paddle`` is the earliest release of Paddle that has what the edit uses, such as ``"2.5"`` (empty: each since 2.0).
    """

    message: str
    edits: Edits
    level: Level
    reason: str = ""
    imports: tuple[str, ...] = ()
    paddle: str = ""
    unneeded: tuple[str, ...] = ()


def imports_of(fixes: Iterable[Fix]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The imports that some fixes need together, and those that they leave unneeded."""
    known = list(fixes)
    needed = dict.fromkeys(statement for fix in known for statement in fix.imports)
    return tuple(needed), tuple(dict.fromkeys(name for fix in known for name in fix.unneeded))


@dataclass(frozen=True)
class Related:
    """Another place that explains a finding: the loop that makes it hot, the call that leads there."""

    path: str
    line: int
    message: str


@dataclass(frozen=True)
class Finding:
    """One costly place in one file.

    ``start``/``end``: the expression itself, as character offsets. ``statement``: the offsets of the statement around
    it; its first and last lines may carry the ``# noqa``, as may each line of the expression. ``impact``: None if there
    is nothing to gain, as in a file that is not Python. ``places``: the offsets of each of its expressions, if it is
    about several neighbouring lines: the first one begins at ``start``, the last one ends at ``end``. ``step``: the
    step that it belongs to, with what that waits for, in words; empty if it belongs to none.
    """

    code: str
    path: str
    start: int
    end: int
    message: str
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    statement: tuple[int, int] | None = field(default=None, compare=False)
    confidence: Confidence = field(default=Confidence.HIGH, compare=False)
    impact: Impact | None = field(default=None, compare=False)
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    step: str = field(default="", compare=False)

    @property
    def starts(self) -> tuple[int, ...]:
        """The offsets at which its expressions begin."""
        return tuple(start for start, _ in self.places) or (self.start,)


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by path and place."""
    return sorted(findings, key=lambda item: (item.path, item.start, item.end, item.code))


def in_order(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits by their places; those at the same place keep their order."""
    return tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether some edits, by their places, overlap."""
    return any(first.end > second.start for first, second in pairwise(edits))


def merged(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits sorted by place, without duplicates; insertions at the same place are merged into one.

    Report formats do not define the order of two insertions at one place.
    """
    found: list[Edit] = []
    for edit in in_order(dict.fromkeys(edits)):
        if found and edit.start == edit.end == found[-1].start == found[-1].end:
            edit = Edit(edit.start, edit.end, found.pop().content + edit.content)
        found.append(edit)
    return tuple(found)
