"""What is known at the statements of a project: which run at each training step, and which calls read the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from perflint.dataflow.evaluate import Env
from perflint.dataflow.flow import with_comprehensions
from perflint.index.part import Part
from perflint.index.project import FileIndex, Project
from perflint.syntax.scopes import Loop, Scope, Statement

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Step:
    """What makes a statement run at each training step.

    ``path``/``line``: the step loop (line 0: a step function that is known by its name alone).  ``via``: the calls
    that lead from the loop to the statement, outermost first, as (path, line).  ``function``: the step function's
    name where ``line`` is 0.  ``forward``: the statement belongs to a model's forward pass.
    ``sure``: names and types lead there; a method that was found by its name alone is not.
    """

    path: str
    line: int
    via: tuple[tuple[str, int], ...] = ()
    function: str = ""
    forward: bool = False
    sure: bool = True


@dataclass(eq=False)
class Point:
    """What is known at one statement: its step (None off the hot path) and the kinds of names before it."""

    statement: Statement
    scope: Scope
    step: Step | None
    env: Env
    loop: Loop | None
    file: FileIndex
    answers: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """What ``of_point`` remembers."""

    @cached_property
    def full_env(self) -> Env:
        """``env`` with the targets of the statement's comprehensions."""
        return with_comprehensions(self.statement.node, self.env, self.file)


def of_point(work_out: Callable[Concatenate[Point, P], R]) -> Callable[Concatenate[Point, P], R]:
    """Let a function of a point, and of expressions there, remember its answers: a check takes those of its gate."""

    def ask(point: Point, /, *about: P.args, **named: P.kwargs) -> R:
        key = (work_out, *about)
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

    moves_along = True
    """It holds no rows, so it stays what it is where the helper moves."""

    @property
    def path(self) -> str:
        """The file in which it stands."""
        return self.file.source.path

    @property
    def line(self) -> int:
        """The row on which it stands."""
        return self.call.lineno


class Points(Part):
    """What ``hot.analyse`` has found out about one project, file by file."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._points: dict[FileIndex, dict[ast.stmt, Point]] = {}
        self._reads: dict[FileIndex, dict[int, Read]] = {}

    def points(self, file: FileIndex) -> dict[ast.stmt, Point]:
        """What is known at the statements of a file."""
        return self._points.setdefault(file, {})

    def reads(self, file: FileIndex) -> dict[int, Read]:
        """The calls in step loops of a file, by offset, for which a helper reads the device; with its read."""
        return self._reads.setdefault(file, {})

    def forget(self, file: FileIndex) -> None:
        """Forget what is known of a file."""
        self._points.pop(file, None)
        self._reads.pop(file, None)


def points_of(file: FileIndex) -> dict[ast.stmt, Point]:
    """What is known at the statements of a file."""
    return Points.of(file.project).points(file)


def reads_of(file: FileIndex) -> dict[int, Read]:
    """The calls in step loops of a file, by offset, for which a helper reads the device; with its read."""
    return Points.of(file.project).reads(file)
