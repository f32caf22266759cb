"""The code that is inserted into a training file, and its removal.

It is an object that opens and closes ranges, and the rows that call it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from perflint.findings import Edit
from perflint.syntax.tree import walk
from perflint.text.source import LineTable

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


def block(recording: Recording, has_steps: bool) -> str:
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


def row(name: str | None) -> str:
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
    blocks = _blocks(lines)
    joined: list[tuple[int, int]] = []  # rows that follow each other are one piece
    for first, last in sorted({*blocks, *_rows(tree, lines, blocks)}):
        if joined and first == joined[-1][1] + 1:
            joined[-1] = joined[-1][0], last
        else:
            joined.append((first, last))
    return [_without(first, last, lines) for first, last in joined]


def _blocks(lines: LineTable) -> list[tuple[int, int]]:
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
