"""Inserts ranges into a file: finds its training steps, and adds the rows that mark their parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.flow.values import Values
from perflint.index.project import FileIndex
from perflint.ranges import inserted_code, placing
from perflint.ranges.inserted_code import Recording
from perflint.ranges.phases import Elsewhere, Phases, can_hold_ranges
from perflint.ranges.placing import CannotPlace, Placed, indent_of
from perflint.ranges.removal import removal
from perflint.syntax.scopes import Loop, Scope
from perflint.syntax.tree import first_row, walk
from perflint.text.source import LineTable
from perflint.training.looks import step_loops
from perflint.training.training_calls import TrainingCalls


@dataclass(frozen=True)
class Instrumented:
    """A file with ranges.

    ``loops`` and ``functions``: the original rows of the step loops and of the functions that get ranges.
    ``ranges``: their names. ``elsewhere``: other files of the project with a part of the step, by path.
    """

    text: str
    loops: list[int]
    functions: list[int]
    ranges: list[str]
    elsewhere: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def instrumented(file: FileIndex, recording: Recording) -> Instrumented:
    """Insert ranges around the parts of a file's training steps.

    Raises:
        CannotPlace: it contains no step to put ranges around; the error says why.
    """
    loops = list(_loops(file))
    functions = _functions(file, loops)
    if not loops and not functions:
        raise CannotPlace(_nothing(file))
    if file.is_static:
        raise CannotPlace(
            "it builds a static graph: forward, backward and optimizer are one call of Executor.run there, which "
            "Paddle's profiler takes apart by itself"
        )
    lines = file.source.lines
    covered = _covered(file.tree)
    placed = [placing.in_loop(Phases(file, scope), scope, loop, lines, covered) for scope, loop in loops]
    placed += [placing.in_function(Phases(file, scope), scope, lines, covered) for scope in functions]
    text = _with_rows(file, placed, _first(file, loops, functions), inserted_code.block(recording, bool(loops)))
    _insist_same(file, text)
    return Instrumented(
        text,
        [loop.lineno for _, loop in loops],
        [scope.node.lineno for scope in functions if not isinstance(scope.node, ast.Module)],
        list(dict.fromkeys(name for one in placed for name in one.names)),
        _elsewhere(file, loops),
        [note for one in placed for note in one.notes],
    )


def _loops(file: FileIndex) -> Iterator[tuple[Scope, Loop]]:
    """The step loops of a file, in order; a nested one belongs to the step of the outer one."""
    found = [(scope, loop) for scope in file.scopes.scopes for loop in step_loops(file, scope)]
    found.sort(key=lambda each: each[1].lineno)
    end = 0
    for scope, loop in found:
        if loop.lineno > end:
            yield scope, loop
            end = loop.end_lineno or loop.lineno


def _functions(file: FileIndex, loops: list[tuple[Scope, Loop]]) -> list[Scope]:
    """The functions one call of which is a training step, or a part of it."""
    trains = TrainingCalls.of(file.project).trains
    around = {scope for scope, _ in loops}
    found = [scope for scope in file.scopes.scopes if scope not in around and can_hold_ranges(file, scope)]
    return [scope for scope in found if trains(file, scope)]


def _first(file: FileIndex, loops: list[tuple[Scope, Loop]], functions: list[Scope]) -> int:
    """The row before which the object's code is inserted: that of the first statement of the module that uses it."""
    rows = [loop.lineno for _, loop in loops]
    rows += [scope.node.lineno for scope in functions if not isinstance(scope.node, ast.Module)]
    holder = next(node for node in file.tree.body if (node.end_lineno or node.lineno) >= min(rows))
    return first_row(holder)


def _covered(tree: ast.Module) -> frozenset[int]:
    """The rows of statements without nested statements."""
    simple = (node for node in walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    return frozenset(row for node in simple for row in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _with_rows(file: FileIndex, placed: list[Placed], first: int, block: str) -> str:
    """The text of a file with all rows."""
    source, lines = file.source, file.source.lines
    rows = sorted((row for one in placed for row in one.rows), key=lambda row: row.at)
    covered = _covered(file.tree)
    while first > 1 and first - 1 not in covered and lines.line(first - 1).startswith("#"):
        first -= 1  # the comment above belongs to the statement
    edits = [_inserted(first, block.removesuffix("\n"), lines, source.newline)]
    for row in rows:
        edits.append(_inserted(row.at, indent_of(lines.line(row.like)) + row.text, lines, source.newline))
    edits.sort(key=lambda edit: edit.start)  # stable: rows at the same place stay in order
    return spliced(source.text, 0, len(source.text), edits)


def _inserted(at: int, text: str, lines: LineTable, newline: str) -> Edit:
    """Insert rows before a row, or after the last one."""
    text = text.replace("\n", newline)
    last = len(lines.text)
    if at <= lines.rows and lines.line_start(at) < last:
        start = lines.line_start(at)
        return Edit(start, start, text + newline)
    ended = lines.text.endswith(("\n", "\r"))
    return Edit(last, last, text + newline if ended else newline + text)


def _insist_same(file: FileIndex, text: str) -> None:
    """Check that the ranges can be removed again, and that nothing else in the code has changed.

    Raises:
        CannotPlace: that is not so; then nothing is written.
    """
    if spliced(text, 0, len(text), removal(text)) != file.source.text:
        raise CannotPlace("the ranges could not be removed again; please report this file")
    try:
        compile(text, file.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise CannotPlace(f"with ranges it would not compile ({error}); please report this file") from error


def _elsewhere(file: FileIndex, loops: list[tuple[Scope, Loop]]) -> list[str]:
    """The other files of the project with a function that a step calls."""
    parts = (part for scope, loop in loops for part in Phases(file, scope).inside(loop))
    files = (part.file for part in parts if isinstance(part, Elsewhere))
    return sorted({other.path for other in files if other is not None and other is not file})


def _nothing(file: FileIndex) -> str:
    """Why no ranges can be inserted into a file."""
    for scope in file.scopes.scopes:
        for statement in scope.statements:
            for call in statement.calls:
                if not isinstance(call.func, ast.Attribute) or call.func.attr != "fit":
                    continue
                kind = Values.of(file.project).lasting_kind(file, scope, call.func.value)
                if kind.type == "paddle.Model":
                    return (
                        f"line {file.row(call)} trains with paddle.Model.fit, whose steps are made in Paddle, not in "
                        "this file: run the script under paddle.profiler.Profiler instead"
                    )
    if file.is_static:
        return "it builds a static graph, whose steps are one call of Executor.run each: there are no parts to name"
    return "no training step was found in it: name the file with the loop that trains, or with the function it calls"
