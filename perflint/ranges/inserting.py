"""Inserts ranges into a file: finds its training steps, and adds the rows that mark their parts.

At most one range is open at a time, and a row that begins one ends the one before it. So no row of the file changes, no
block has to be indented, and however a step ends (``continue``, an exception), at most one range is too long.

The code that is inserted is an object that opens and closes ranges, and the rows that call it; `removal` removes it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.flow.values import Values
from perflint.index.project import FileIndex, Place
from perflint.ranges import phases
from perflint.syntax.names import dotted
from perflint.syntax.scopes import LOOPS, Function, Loop, Scope
from perflint.syntax.tree import first_row, walk
from perflint.text.source import LineTable
from perflint.training.evidence import over_batches
from perflint.training.step_loops import step_loops
from perflint.training.training_calls import TrainingCalls

NAME = "_perflint_range"
"""The name of the object in the training file."""
BEGIN = "# perflint instrument: begin"
END = "# perflint instrument: end"
MARK = "# perflint instrument"
"""The comment on each inserted row, and the first and last row of the object's own code."""
TRACES = "perflint_trace"
"""The directory that traces are written to, below the directory in which the script was started."""

_STEPS = "# step loop\n"
"""The row of a template after which the methods begin that only a file with a step loop needs."""


@dataclass(frozen=True)
class Recording:
    """What is recorded: steps ``skip`` + 1 to ``skip`` + ``steps``, as a Chrome trace or (``nvtx``) by Nsight."""

    skip: int = 10
    steps: int = 5
    nvtx: bool = False


def inserted_block(recording: Recording, has_steps: bool) -> str:
    """The object's own code; ``has_steps``: the file has a step loop, so it starts the profiler."""
    template = Path(__file__).with_name("inserted_nvtx.txt" if recording.nvtx else "inserted_profiler.txt")
    body, steps = template.read_text(encoding="utf-8").split(_STEPS)
    if has_steps:
        body += steps
    else:
        body = body.replace("import atexit as _perflint_atexit\nimport sys as _perflint_sys\n\n", "")
    code = body.format(
        closed=max(recording.skip - 1, 0),
        ready=min(recording.skip, 1),
        record=recording.steps,
        first=recording.skip + 1,
        last=recording.skip + recording.steps,
        past=recording.skip + recording.steps + 1,
        traces=TRACES,
    )
    head = f"{BEGIN} (perflint instrument --remove --write removes all of it)"
    return f"{head}\n{code}\n\n{NAME} = _PerflintRange()\n\n\n{END}\n"


def range_row(name: str | None) -> str:
    """The call that ends the open range, and begins one with this name."""
    quoted = "" if name is None else f'"{name}"'
    return f"{NAME}({quoted})  {MARK}"


def step_row() -> str:
    """The call that marks the beginning of a step."""
    return f"{NAME}.step()  {MARK}"


class CannotRemove(Exception):
    """Something cannot be removed; ``str(error)`` says where and why."""


def is_instrumented(text: str) -> bool:
    """Whether a text may contain ranges of perflint."""
    return NAME in text or BEGIN in text


def removal(text: str) -> list[Edit]:
    """The edits that remove all of it; none if there is nothing.

    Raises:
        CannotRemove: the text is not Python, or a call shares its row with something else.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CannotRemove(f"it does not parse: {error}") from error
    lines = LineTable(text)
    blocks = _inserted_blocks(lines)
    joined: list[tuple[int, int]] = []  # rows that follow each other are one piece
    for first, last in sorted({*blocks, *_rows(tree, lines, blocks)}):
        if joined and first == joined[-1][1] + 1:
            joined[-1] = joined[-1][0], last
        else:
            joined.append((first, last))
    return [_without(first, last, lines) for first, last in joined]


def _inserted_blocks(lines: LineTable) -> list[tuple[int, int]]:
    """The first and last rows of the object's code."""
    found: list[tuple[int, int]] = []
    begin = 0
    for row in range(1, lines.rows + 1):
        line = lines.line(row)
        if line.startswith(BEGIN):
            begin = row
        elif line.rstrip() == END and begin:
            found.append((begin, row))
            begin = 0
    if begin:
        raise CannotRemove(f"line {begin} begins code of perflint, but no row marks its end ({END})")
    return found


def _rows(tree: ast.Module, lines: LineTable, blocks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The rows of the calls; each must have its own row or rows."""
    expressions = [item for item in walk(tree) if isinstance(item, ast.Expr)]
    names = [item for item in walk(tree) if isinstance(item, ast.Name) and item.id == NAME]
    for node in names:
        if any(first <= node.lineno <= last for first, last in blocks):
            continue
        statement = next((item for item in expressions if _is_call(item.value, node)), None)
        if statement is None or not _stands_alone(statement, lines):
            raise CannotRemove(f"line {node.lineno} uses {NAME} next to other code: remove it by hand")
        yield statement.lineno, statement.end_lineno or statement.lineno


def _is_call(value: ast.expr, name: ast.Name) -> bool:
    """Whether a value is ``_perflint_range("forward")`` or ``_perflint_range.step()``."""
    if not isinstance(value, ast.Call):
        return False
    return value.func is name or (isinstance(value.func, ast.Attribute) and value.func.value is name)


def _stands_alone(statement: ast.stmt, lines: LineTable) -> bool:
    before = lines.line(statement.lineno)[: statement.col_offset]
    end = lines.offset(statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    after = lines.text[end : lines.line_end(statement.end_lineno or statement.lineno)].strip()
    return not before.strip() and (not after or after.startswith("#"))


def _without(first: int, last: int, lines: LineTable) -> Edit:
    """The edit that removes rows; if the last row has no line end, the line end before it is removed too."""
    start, end = lines.line_start(first), lines.line_end(last)
    if end == len(lines.text) and not lines.text.endswith(("\n", "\r")) and start:
        start -= 2 if lines.text[start - 2 : start] == "\r\n" else 1
    return Edit(start, end, "")


_UNKNOWN = "?"
"""Marks that the open range depends on the path that the step took."""
_State = str | None
"""The name of the open range; None if there is none."""
_JUMPS = (ast.Continue, ast.Break, ast.Return, ast.Raise)


class CannotPlace(Exception):
    """Rows cannot be inserted; ``str(error)`` says why."""


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
    functions = _functions(file, {scope for scope, _ in loops})
    if not loops and not functions:
        raise CannotPlace(_nothing(file))
    if file.is_static:
        raise CannotPlace(
            "it builds a static graph: forward, backward and optimizer are one call of Executor.run there, which "
            "Paddle's profiler takes apart by itself"
        )
    # the rows of statements without nested statements, where a "#" may be in a string
    simple = (node for node in walk(file.tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    covered = frozenset(row for node in simple for row in range(node.lineno, _end(node) + 1))
    placings = [_Placing(Place(file, scope), covered).in_loop(loop) for scope, loop in loops]
    placings += [_Placing(Place(file, scope), covered).in_function(node) for scope, node in functions]
    rows = [loop.lineno for _, loop in loops], [node.lineno for _, node in functions]
    # the object's code comes before the first statement of the module that uses it
    first = next(node for node in file.tree.body if _end(node) >= min([*rows[0], *rows[1]]))
    text = _with_rows(file, placings, placings[0].above(first), inserted_block(recording, bool(loops)))
    _insist_same(file, text)
    names = dict.fromkeys(name for placing in placings for name in placing.names)
    notes = [note for placing in placings for note in placing.notes]
    return Instrumented(text, *rows, list(names), _elsewhere(file, loops), notes)


def _loops(file: FileIndex) -> Iterator[tuple[Scope, Loop]]:
    """The step loops of a file, in order; a nested one belongs to the step of the outer one."""
    found = [(scope, loop) for scope in file.scopes.scopes for loop in step_loops(Place(file, scope))]
    found.sort(key=lambda each: each[1].lineno)
    end = 0
    for scope, loop in found:
        if loop.lineno > end:
            yield scope, loop
            end = _end(loop)


def _functions(file: FileIndex, around: Collection[Scope]) -> list[tuple[Scope, Function]]:
    """The functions one call of which is a training step, or a part of it, without those around step loops."""
    trains = TrainingCalls.of(file.project).trains
    return [
        (scope, scope.node)
        for scope in file.scopes.scopes
        if not isinstance(scope.node, ast.Module)
        and scope not in around
        and phases.can_hold_ranges(Place(file, scope))
        and trains(Place(file, scope))
    ]


@dataclass(frozen=True)
class _Row:
    """A row to insert before the row ``at`` of the file (from 1), with the indentation of the row ``like``.

    ``order``: of two at the same place, the one with the lower order comes first.
    """

    at: int
    like: int
    text: str
    order: int = 0


class _Placing:
    """Decides where ranges begin and end in one step loop or step function.

    Args:
        file: the file.
        scope: the function around the loop, or that function itself.
        covered: the rows of simple statements, where a ``#`` may be in a string.
    """

    def __init__(self, at: Place, covered: Collection[int]) -> None:
        self._phases = phases.Phases(at)
        self._scope = at.scope
        self._lines = at.file.source.lines
        self._covered = covered
        self._rows: list[_Row] = []
        self.names: list[str] = []
        """The ranges, in the order of the file."""
        self.notes: list[str] = []
        """Notes for the user."""

    @property
    def rows(self) -> list[_Row]:
        """The rows in order; of those with the same order, parts that come first in a step were added first."""
        return sorted(self._rows, key=lambda row: (row.at, row.order))

    def in_loop(self, loop: Loop) -> _Placing:
        """Add the rows for a step loop.

        Raises:
            CannotPlace: its body is on the row of its header.
        """
        body, reads = loop.body, _draws(loop)
        if not _begins_row(body[0], self._lines):
            raise CannotPlace(
                f"line {loop.lineno}: the loop's body is on the row of its header; put it on separate rows"
            )
        if reads:
            self._put(self.above(loop), phases.READER, loop.lineno)
        self._rows.append(_Row(self.above(body[0]), body[0].lineno, step_row()))
        state = self._block(body, None, None)
        if not reads:
            self._end_block(body, state)
        elif not isinstance(body[-1], _JUMPS):
            self._put(_end(body[-1]) + 1, phases.READER, body[0].lineno)
        self._jumps(loop, reads)
        self._put(_end(loop) + 1, None, loop.lineno, order=1)
        return self

    def in_function(self, node: Function) -> _Placing:
        """Add the rows for a function that does parts of a step.

        Raises:
            CannotPlace: its body is on the row of its header.
        """
        if not _begins_row(node.body[0], self._lines):
            raise CannotPlace(f"line {node.lineno}: the function's body is on the row of its header")
        self._end_block(node.body, self._block(node.body, None, None))
        self._jumps(None, False)
        return self

    # -- the parts of the step ----------------------------------------------------------------------------------

    def _in_order(self, body: Sequence[ast.stmt]) -> Iterator[phases.Part]:
        """The parts in the order of the file; within one statement, those of its own expressions first."""
        for node in body:
            yield from sorted(self._phases.own(node), key=str)
            for block in _blocks(node):
                yield from self._in_order(block)

    def _block(self, body: Sequence[ast.stmt], state: _State, after: phases.Part | None) -> _State:
        """Put the rows into a block.

        Args:
            body: its statements.
            state: the range that is open at its beginning.
            after: the part that comes next after it.

        Returns:
            The range that is open at its end.
        """
        units: list[list[ast.stmt]] = []  # the statements, grouped by shared rows
        for node in body:
            if units and first_row(node) <= _end(units[-1][-1]):
                units[-1].append(node)
            else:
                units.append([node])
        for index, unit in enumerate(units):
            later = self._in_order([node for other in units[index + 1 :] for node in other])
            following = next((part for part in later if part != phases.CLEAR), after)
            state = self._unit(unit, state, following)
        return state

    def _unit(self, unit: Sequence[ast.stmt], state: _State, following: phases.Part | None) -> _State:
        """Put the rows around the statements of one row, or around one statement of several."""
        parts = frozenset[phases.Part]().union(*map(self._phases.inside, unit))
        node = unit[0]
        if not parts:
            if _passes(node):
                return state
            # right before the backward pass, code that is not a part by itself counts as the loss, so as forward
            return self._switch(node, state, phases.FORWARD if following == phases.BACKWARD else None)
        if self._is_to_open(unit, parts):
            return self._opened(node, state, following)
        # a model may be run for something other than this step's loss; and functions of this file have their own ranges
        is_other = parts == {phases.FORWARD} and following not in (phases.FORWARD, phases.BACKWARD)
        has_none = is_other or all(isinstance(part, phases.Inside) for part in parts)
        return self._switch(node, state, None if has_none else phases.named(parts))

    def _is_to_open(self, unit: Sequence[ast.stmt], parts: frozenset[phases.Part]) -> bool:
        """Whether rows are put into the blocks of a statement, rather than around the whole statement."""
        node = unit[0]
        blocks = list(_blocks(node))
        if len(unit) > 1 or not blocks or not self._has_rows(node) or self._phases.own(node) - {phases.FORWARD}:
            return False
        if (
            len(parts - {phases.CLEAR}) > 1
            or (parts > {phases.CLEAR} and phases.OPTIMIZER not in parts)
            or any(isinstance(part, phases.Inside) for part in parts)
        ):
            return True
        return parts != {phases.FORWARD} and any(
            not self._phases.inside(item) and not _passes(item) for block in blocks for item in block
        )

    def _has_rows(self, node: ast.stmt) -> bool:
        """Whether the blocks of a statement are on separate rows, including those of each ``elif``."""
        return all(
            _begins_row(block[0], self._lines)
            and (not (isinstance(block[0], ast.If) and self._is_elif(block[0])) or self._has_rows(block[0]))
            for block in _blocks(node)
        )

    def _opened(self, node: ast.stmt, state: _State, following: phases.Part | None) -> _State:
        """Put the rows into the blocks of a statement."""
        blocks = list(_blocks(node))
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._block(node.body, state, following)
        is_if = isinstance(node, ast.If)
        if not is_if:
            state = self._switch(node, state, None)
        if isinstance(node, LOOPS):
            for block in blocks:
                begin = _UNKNOWN if any(isinstance(item, ast.Continue) for item in walk(node)) else None
                self._end_block(block, self._block(block, begin, following))
            return None
        ends: list[_State] = []
        for at, block in enumerate(blocks):
            first = block[0]
            begin = state if is_if or at == 0 else _UNKNOWN
            if is_if and at and len(block) == 1 and isinstance(first, ast.If) and self._is_elif(first):
                ends.append(self._opened(first, state, following))
            else:
                ends.append(self._block(block, begin, following))
        if is_if and len(blocks) == 1:
            ends.append(state)
        return ends[0] if len(set(ends)) == 1 else _UNKNOWN

    def _end_block(self, block: Sequence[ast.stmt], state: _State) -> None:
        if state is not None and not isinstance(block[-1], _JUMPS):
            self._put(_end(block[-1]) + 1, None, block[0].lineno)

    def _is_elif(self, node: ast.If) -> bool:
        start = self._lines.offset(node.lineno, node.col_offset)
        return self._lines.text.startswith("elif", start)

    # -- rows ---------------------------------------------------------------------------------------------------

    def _switch(self, node: ast.stmt, state: _State, name: str | None) -> _State:
        """Make this the open range from a statement on."""
        if state != name:
            self._put(self.above(node), name, node.lineno)
        return name

    def _put(self, at: int, name: str | None, like: int, order: int = 0) -> None:
        if name is not None:
            self.names.append(name)
        self._rows.append(_Row(at, like, range_row(name), order))

    def above(self, node: ast.stmt) -> int:
        """The row of a statement, or that of the comment above it, which belongs to it."""
        row = first_row(node)
        indent = _indent(self._lines.line(row))
        while row > 1 and row - 1 not in self._covered and self._lines.line(row - 1).startswith(f"{indent}#"):
            row -= 1
        return row

    def _jumps(self, loop: Loop | None, reads: bool) -> None:
        """Add the rows before statements that leave an iteration of the loop, or the function, early."""
        for statement in self._scope.statements:
            node = statement.node
            goes_on = isinstance(node, ast.Continue) and loop is not None and statement.loop is loop and reads
            leaves = isinstance(node, ast.Return) and (loop is None or statement.is_in(loop))
            if not (goes_on or leaves) or self._phases.own(node):
                continue
            if _begins_row(node, self._lines):
                self._put(first_row(node), phases.READER if goes_on else None, node.lineno, order=2)
            elif goes_on:
                self.notes.append(
                    f"line {node.lineno}: `continue` shares its row, so the wait for a batch after it has no range"
                )


def _draws(loop: Loop) -> bool:
    """Whether the header of a loop draws the batches: ``for batch in loader``, but not ``for step in range(n)``."""
    if isinstance(loop, ast.While) or over_batches(loop):
        return not isinstance(loop, ast.While)
    counts = (dotted(item.func) for item in walk(loop.iter) if isinstance(item, ast.Call))
    return not any(name and name.rpartition(".")[2] in ("range", "trange", "count") for name in counts)


def _passes(node: ast.stmt) -> bool:
    """Whether a statement does so little that the open range may stay open."""
    return isinstance(node, (*_JUMPS, ast.Pass, ast.Global, ast.Nonlocal)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement, in the order of the file; without definitions in it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    handlers = getattr(node, "handlers", getattr(node, "cases", ()))
    inner: list[list[ast.stmt]] = [getattr(node, "body", []), *(handler.body for handler in handlers)]
    yield from filter(None, (*inner, getattr(node, "orelse", []), getattr(node, "finalbody", [])))


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _begins_row(node: ast.stmt, lines: LineTable) -> bool:
    row = first_row(node)
    return lines.line(row)[: node.col_offset if row == node.lineno else None].strip()[:1] in ("", "@")


def _indent(row: str) -> str:
    """The indentation of a row."""
    return row[: len(row) - len(row.lstrip(" \t\f"))]


def _with_rows(file: FileIndex, placings: list[_Placing], first: int, block: str) -> str:
    """The text of a file with all rows, and with the object's code before the row ``first``."""
    source, lines = file.source, file.source.lines
    edits = [_inserted(first, block.removesuffix("\n"), lines, source.newline)]
    for row in sorted((row for placing in placings for row in placing.rows), key=lambda row: row.at):
        edits.append(_inserted(row.at, _indent(lines.line(row.like)) + row.text, lines, source.newline))
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
    parts = (part for scope, loop in loops for part in phases.Phases(Place(file, scope)).inside(loop))
    files = (part.file for part in parts if isinstance(part, phases.Elsewhere))
    return sorted({other.path for other in files if other is not None and other is not file})


def _nothing(file: FileIndex) -> str:
    """Why no ranges can be inserted into a file."""
    for scope, _, call in file.calls_named("fit"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and Values.of(file.project).lasting_kind(Place(file, scope), owner).type == "paddle.Model":
            return (
                f"line {file.row(call)} trains with paddle.Model.fit, whose steps are made in Paddle, not in this "
                "file: run the script under paddle.profiler.Profiler instead"
            )
    if file.is_static:
        return "it builds a static graph, whose steps are one call of Executor.run each: there are no parts to name"
    return "no training step was found in it: name the file with the loop that trains, or with the function it calls"
