"""What is known at the statements of a project: which run at each training step, and which calls read the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from perflint.dataflow.evaluate import Env
from perflint.dataflow.flow import with_comprehensions
from perflint.dataflow.handed import Told
from perflint.index.part import Part
from perflint.index.project import FileIndex, Project
from perflint.syntax.scopes import Loop, Scope, Statement

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Step:
    """What makes a statement run at each training step.

    ``path``/``loop``: the step loop (None: a step function that is known by its name alone).  ``calls``: those that
    lead from the loop to the statement, outermost first, each with the path of its file.  ``function``: the step
    function's name where there is no loop.  ``forward``: the statement belongs to a model's forward pass.
    ``sure``: names and types lead there; a method that was found by its name alone is not.
    """

    path: str
    loop: ast.stmt | None = None
    calls: tuple[tuple[str, ast.AST], ...] = ()
    function: str = ""
    forward: bool = False
    sure: bool = True

    @property
    def line(self) -> int:
        """The row of the step loop; 0 where there is none."""
        return self.loop.lineno if self.loop is not None else 0

    @property
    def via(self) -> tuple[tuple[str, int], ...]:
        """The paths and rows of the calls."""
        return tuple((path, node.lineno) for path, node in self.calls)  # type: ignore[attr-defined]  # expressions

    def __reduce__(self) -> tuple[type[Step], tuple[Any, ...]]:
        """Tell another process the rows alone: each node would go with all that is below it."""
        loop = _at(self.line) if self.loop is not None else None
        calls = tuple((path, _at(row)) for path, row in self.via)
        return Step, (self.path, loop, calls, self.function, self.forward, self.sure)


def _at(row: int) -> ast.stmt:
    return ast.Pass(lineno=row)


@dataclass(eq=False)
class Point:
    """What is known at one statement: its step (None off the hot path) and the kinds of names before it."""

    statement: Statement
    scope: Scope
    step: Step | None
    env: Env
    loop: Loop | None
    file: FileIndex
    ways: tuple[Told, ...] = ((),)
    """What the function's parameters stand for in the calls that run the statement at a step, each way once."""
    answers: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """What ``of_point`` remembers."""

    @cached_property
    def full_env(self) -> Env:
        """``env`` with the targets of the statement's comprehensions."""
        return with_comprehensions(self.statement.node, self.env, self.file)


def of_point(work_out: Callable[Concatenate[Point, P], R]) -> Callable[Concatenate[Point, P], R]:
    """Make a function of a point, and of expressions there, remember its answers, so that a check gets its gate's."""

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

    ``sure``: False where it only happens if what the helper is handed holds some key.
    """

    file: FileIndex
    call: ast.Call
    sure: bool = True

    @property
    def path(self) -> str:
        """The file in which it stands."""
        return self.file.path

    @property
    def line(self) -> int:
        """The row on which it stands."""
        return self.file.row(self.call)


class Points(Part):
    """What ``hot.analyse`` has found out about one project, file by file: see ``points_of`` and ``reads_of``."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.points: dict[FileIndex, dict[ast.stmt, Point]] = {}
        self.reads: dict[FileIndex, dict[int, Read]] = {}

    @classmethod
    def asked(cls, file: FileIndex) -> Points:
        """Those of the project of a file, of which something asks."""
        file.project.memory.note(steps_part(file))
        return cls.of(file.project)


def steps_part(file: FileIndex) -> tuple[str, str]:
    """The name of what is known of the steps in a file, for a memory that notes who asks."""
    return file.path, "steps"


def points_of(file: FileIndex) -> dict[ast.stmt, Point]:
    """What is known at the statements of a file."""
    return Points.asked(file).points.setdefault(file, {})


def reads_of(file: FileIndex) -> dict[int, Read]:
    """The calls in step loops of a file, by offset, for which a helper reads the device; with its read."""
    return Points.asked(file).reads.setdefault(file, {})
