"""Facts about the statements of a project: which run at each training step, and which calls read from the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from perflint.flow.by_statement import with_comprehensions
from perflint.flow.evaluate import Env
from perflint.flow.known_arguments import Told
from perflint.index.project import FileIndex, Part, Place, Project
from perflint.syntax.scopes import Loop, Scope, Statement

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Step:
    """What makes a statement run at each training step.

    ``path``/``loop``: the step loop (None: a step function that is only known by its name). ``calls``: the calls from
    the loop to the statement, outermost first, each with the path of its file. ``function``: the step function's name
    if there is no loop. ``forward``: the statement belongs to a model's forward pass.
    ``sure``: names and types lead there; a method found only by its name is not. ``led_from``: path and row of a step
    loop that runs the forward pass.
    """

    path: str
    loop: ast.stmt | None = None
    calls: tuple[tuple[str, ast.AST], ...] = ()
    function: str = ""
    forward: bool = False
    sure: bool = True
    led_from: tuple[str, int] | None = None

    @property
    def line(self) -> int:
        """The row of the step loop; 0 if there is none."""
        return self.loop.lineno if self.loop is not None else 0

    @property
    def via(self) -> tuple[tuple[str, int], ...]:
        """The paths and rows of the calls."""
        return tuple((path, node.lineno) for path, node in self.calls)  # type: ignore[attr-defined]  # expressions

    def __reduce__(self) -> tuple[type[Step], tuple[Any, ...]]:
        """Send only the rows to another process: each node would be sent with everything below it."""
        loop = _at(self.line) if self.loop is not None else None
        calls = tuple((path, _at(row)) for path, row in self.via)
        return Step, (self.path, loop, calls, self.function, self.forward, self.sure, self.led_from)


def _at(row: int) -> ast.stmt:
    return ast.Pass(lineno=row)


@dataclass(eq=False)
class Point:
    """The facts at one statement: its step (None off the hot path) and the kinds of names before it."""

    statement: Statement
    scope: Scope
    step: Step | None
    env: Env
    loop: Loop | None
    file: FileIndex
    ways: tuple[Told, ...] = ((),)
    """The different meanings of the function's parameters in the calls that run the statement at a step."""
    answers: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """The cache of ``of_point``."""

    @cached_property
    def function(self) -> Place:
        """Anywhere in the function."""
        return Place(self.file, self.scope)

    @property
    def place(self) -> Place:
        """The statement, for questions about a value there."""
        return Place(self.file, self.scope, self.statement)

    @cached_property
    def full_env(self) -> Env:
        """``env`` with the targets of the statement's comprehensions."""
        return with_comprehensions(self.statement.node, self.env, self.file)


def of_point(work_out: Callable[Concatenate[Point, P], R]) -> Callable[Concatenate[Point, P], R]:
    """Cache the answers of a function of a point and of expressions there, so that several can ask."""

    def ask(point: Point, /, *about: P.args, **named: P.kwargs) -> R:
        key = (work_out, about, tuple(named.items()))
        if key not in point.answers:
            point.answers[key] = work_out(point, *about, **named)
        found: R = point.answers[key]
        return found

    return ask


@dataclass(frozen=True)
class Read:
    """A host read in a helper: the call that makes it.

    ``sure``: False if it only happens when an argument of the helper has some key.
    """

    file: FileIndex
    call: ast.Call
    sure: bool = True

    @property
    def path(self) -> str:
        """The file that contains it."""
        return self.file.path

    @property
    def line(self) -> int:
        """The row that contains it."""
        return self.file.row(self.call)


class Points(Part):
    """The results of ``hot_path.analyse`` for one project, by file: see ``points_of`` and ``reads_of``."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.points: dict[FileIndex, dict[ast.stmt, Point]] = {}
        self.reads: dict[FileIndex, dict[int, Read]] = {}

    @classmethod
    def asked(cls, file: FileIndex) -> Points:
        """The points of the project of a file; notes that they are used."""
        file.project.memory.note(steps_part(file))
        return cls.of(file.project)


def steps_part(file: FileIndex) -> tuple[str, str]:
    """The part name of the steps in a file, for a memory that records who uses it."""
    return file.path, "steps"


def points_of(file: FileIndex) -> dict[ast.stmt, Point]:
    """The points of the statements of a file."""
    return Points.asked(file).points.setdefault(file, {})


def reads_of(file: FileIndex) -> dict[int, Read]:
    """The calls in step loops of a file whose helper reads from the device, by offset, with the read."""
    return Points.asked(file).reads.setdefault(file, {})
