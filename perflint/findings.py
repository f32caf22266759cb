"""What perflint reports: findings, and the edits that fix them.

Positions are character offsets into the decoded text of a file (half-open, ``start <= i < end``), because
one list of edits then feeds every output; ``perflint.text.source.LineTable`` turns them into rows and columns.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from perflint.query import gathered


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


HOST_READ = "the host read"
"""The message at the read of a tensor to which the call of a finding leads."""
Row = tuple[str, int]
"""The path of a file, and a row."""


@dataclass(frozen=True)
class StepPlace:
    """Where a training step is: the loop in a row of a file; with row 0, each call of the function is a step."""

    path: str
    row: int
    function: str = ""

    @property
    def text(self) -> str:
        """It in words, as ``train.py:58`` or ``layers.py, Block.forward``."""
        return f"{self.path}:{self.row}" if self.row else f"{self.path}, {self.function}"


EDIT_KINDS = ("loading", "waits", "kernels")
"""What can be done about a step: workers for its loader, fewer waits, mixed precision."""
ADVISED = ("evaluations", "in evaluations", "others")
"""What findings advise besides: to evaluate less often, to evaluate in less time, and anything else."""
_MUCH = 0.1
"""The least share of a step that is said to bound it."""


@dataclass(frozen=True)
class StepEdit:
    """Something to do about a step.

    Attributes:
        kind: one of `EDIT_KINDS`.
        rows: the places that it is about.
        usual: the share of the step that it gains, as mean over the typical trainings, after the edits before it.
        most: the same for the training that gains most.
        milliseconds: what that is.
        switch: what leaves mixed precision off: ``--amp``, ``amp: False``.
        repeated: those of the rows that are in loops of unknown length.
        title: what a finding advises to do, and ``reason``: what it costs, in words; the kind is then one of `ADVISED`.
    """

    kind: str
    rows: tuple[Row, ...]
    usual: float
    most: float
    milliseconds: float
    switch: str = ""
    title: str = ""
    reason: str = ""
    repeated: tuple[Row, ...] = ()

    @property
    def is_large(self) -> bool:
        """Whether it brings much of the step, at most."""
        return self.most >= _MUCH


@dataclass(frozen=True)
class LoaderChoice:
    """The test that decides which of several loaders a step draws from, with its result for one of them."""

    test: str
    holds: bool
    at: Row


@dataclass(frozen=True)
class Possibly:
    """Something to do about a step if it draws from a loader, which is one of several.

    ``decides``: the test that says whether it does; None if none is known, as where callers pass different loaders.
    """

    edit: StepEdit
    decides: LoaderChoice | None


@dataclass(frozen=True)
class RunsOne:
    """A call that runs one of so many functions, which a configuration or a caller chooses; and the one that counts."""

    at: Row
    function: str
    number: int


@dataclass(frozen=True)
class LeftOff:
    """A test with waits in an arm that runs only if the user changes a default: ``if args.amp:``.

    ``set_by``: the row of a configuration file that decides it; None if the code does.
    """

    at: Row
    test: str
    set_by: Row | None = None


@dataclass(frozen=True)
class StepVerdict:
    """What to do about a step.

    Attributes:
        plan: the edits that are worth it, in order.
        rest: those that are not.
        possibly: what is worth it if the step draws from one of its loaders, and not from another.
        waits: at how many places the step waits.
        inside: the waits that Paddle makes itself, which stay; ``made_by`` what of Paddle: ``GradScaler.step``.
        assumed: calls that may run one of several functions, of which the one with most waits counts.
        left_off: the tests of which the arms count that run by default.
        unknown: the calls that could not be followed, which may wait as well.
        needed: the waits for values that the host needs to go on, which stay.
        carried: copies of what the host computes from values that it reads: they go with these reads.
        idle: the waits whose removal gains nothing, since the step waits right beside them anyway.
        launched: how many operations the step launches at least, 0 for few; ``loop``: that with most of them, if any.
    """

    plan: tuple[StepEdit, ...]
    rest: tuple[StepEdit, ...]
    possibly: tuple[Possibly, ...]
    waits: int
    inside: tuple[Row, ...]
    unknown: tuple[Row, ...]
    made_by: tuple[str, ...] = ()
    assumed: tuple[RunsOne, ...] = ()
    left_off: tuple[LeftOff, ...] = ()
    needed: tuple[Row, ...] = ()
    carried: tuple[Row, ...] = ()
    idle: tuple[Row, ...] = ()
    launched: int = 0
    loop: Row | None = None

    @property
    def edits(self) -> tuple[StepEdit, ...]:
        """All that it names."""
        return (*self.plan, *self.rest, *(each.edit for each in self.possibly))

    @property
    def gain(self) -> float:
        """The share of the step that the plan usually gains."""
        left = 1.0
        for edit in self.plan:
            left *= 1 - edit.usual
        return 1 - left


@dataclass(frozen=True)
class StepReport:
    """What is said of a step before its findings; ``programs``: the paths of the files that lead to it when started."""

    place: StepPlace
    programs: tuple[str, ...]
    verdict: StepVerdict


@dataclass(frozen=True)
class Finding:
    """One costly place in one file.

    ``start``/``end``: the expression itself, as character offsets. ``statement``: the offsets of the statement around
    it; its first and last lines may carry the ``# noqa``, as may each line of the expression. ``impact``: None if there
    is nothing to gain, as in a file that is not Python. ``places``: the offsets of each of its expressions, if it is
    about several neighbouring lines: the first one begins at ``start``, the last one ends at ``end``. ``step``: the
    step that it belongs to; None if it belongs to none.
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
    step: StepPlace | None = field(default=None, compare=False)

    @property
    def starts(self) -> tuple[int, ...]:
        """The offsets at which its expressions begin."""
        return tuple(start for start, _ in self.places) or (self.start,)


@dataclass(frozen=True)
class Checked:
    """What a check says: its findings, and what is to be said of the steps; None if nobody asked for that."""

    findings: list[Finding]
    steps: tuple[StepReport, ...] | None = None


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by path and place."""
    return sorted(findings, key=lambda item: (item.path, item.start, item.end, item.code))


def by_path(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings of each file, in their order."""
    return gathered((finding.path, finding) for finding in findings)


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
