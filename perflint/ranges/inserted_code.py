"""The code that is inserted into a training file: an object that opens and closes ranges, and the rows that call it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

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

_HEAD = f"""\
{BEGIN} (perflint instrument --remove --write removes all of it)
"""
_PROFILER = '''\
import atexit as _perflint_atexit
import sys as _perflint_sys

import paddle.profiler as _perflint_profiler


class _PerflintRange:
    """Names the parts of a training step, and records steps {first} to {last} for chrome://tracing or Perfetto."""

    def __init__(self):
        self.event = self.profiler = None
        self.steps = 0

    def __call__(self, name=None):
        """End the range that is open, and begin one of this name."""
        if self.event is not None:
            self.event.end()
        self.event = _perflint_profiler.RecordEvent(name) if name else None
        if self.event is not None:
            self.event.begin()
'''
_RECORDS = '''
    def step(self):
        """Say that a training step begins."""
        self()
        self.steps += 1
        if self.steps == 1:
            self.profiler = _perflint_profiler.Profiler(
                scheduler=_perflint_profiler.make_scheduler(closed={closed}, ready={ready}, record={record}, repeat=1),
                on_trace_ready=_perflint_profiler.export_chrome_tracing("{traces}"),
            )
            self.profiler.start()
            _perflint_atexit.register(self.stop)
        elif self.profiler is not None:
            self.profiler.step()
            if self.steps > {last}:
                self.stop()

    def stop(self):
        """Write what was recorded; where the script ends early, that is less or nothing."""
        self()
        if self.profiler is not None and self.steps >= {first}:
            self.profiler.stop()
            says = "perflint: {traces} has steps {first} to"
            print(says, min(self.steps, {last}), file=_perflint_sys.stderr)
        elif self.profiler is not None:
            says = "steps, and step {first} would be the first to be recorded"
            print("perflint: there is no trace: the script made", self.steps, says, file=_perflint_sys.stderr)
        self.profiler = None
'''
_NVTX = '''\
import sys as _perflint_sys

import paddle as _perflint_paddle


class _PerflintRange:
    """Names the parts of a training step for Nsight Systems (NVTX ranges)."""

    def __init__(self):
        core = _perflint_paddle.framework.core  # has NVTX in a Paddle for NVIDIA GPUs alone
        self.push, self.pop = (getattr(core, "nvprof_nvtx_" + name, None) for name in ("push", "pop"))
        self.begin, self.end = (getattr(core, "nvprof_" + name, None) for name in ("start", "stop"))
        self.open = False
        self.steps = 0
        if self.push is None:
            print("perflint: this Paddle has no NVTX, so there will be no ranges", file=_perflint_sys.stderr)

    def __call__(self, name=None):
        """End the range that is open, and begin one of this name."""
        if self.push is not None:
            if self.open:
                self.pop()
            self.open = bool(name)
            if self.open:
                self.push(name)
'''
_CAPTURES = '''
    def step(self):
        """Say that a training step begins; nsys profile --capture-range=cudaProfilerApi records {first} to {last}."""
        self()
        self.steps += 1
        if self.push is not None and self.steps == {first}:
            self.begin()
        if self.push is not None and self.steps == {past}:
            self.end()
'''
_FOOT = f"""

{NAME} = _PerflintRange()


{END}
"""


@dataclass(frozen=True)
class Recording:
    """What is recorded: steps ``skip`` + 1 to ``skip`` + ``steps``, as a Chrome trace or (``nvtx``) by Nsight."""

    skip: int = 10
    steps: int = 5
    nvtx: bool = False


def block(recording: Recording, has_steps: bool) -> str:
    """The object's own code; ``has_steps``: the file has a step loop, so it starts the profiler."""
    body, steps = (_NVTX, _CAPTURES) if recording.nvtx else (_PROFILER, _RECORDS)
    values = {
        "closed": max(recording.skip - 1, 0),
        "ready": min(recording.skip, 1),
        "record": recording.steps,
        "first": recording.skip + 1,
        "last": recording.skip + recording.steps,
        "past": recording.skip + recording.steps + 1,
        "traces": TRACES,
    }
    text = _HEAD + body.format(**values) + (steps.format(**values) if has_steps else "") + _FOOT
    return text if has_steps else text.replace("import atexit as _perflint_atexit\nimport sys as _perflint_sys\n\n", "")


def row(name: str | None) -> str:
    """The call that ends the open range, and begins one with this name."""
    return f"{NAME}({'' if name is None else _quoted(name)})  {MARK}"


def step_row() -> str:
    """The call that marks the beginning of a step."""
    return f"{NAME}.step()  {MARK}"


def _quoted(name: str) -> str:
    return f'"{name}"'


# Removes from a file what ``perflint instrument`` has inserted: its rows, and the code of its object.


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
    found = sorted({*blocks, *_rows(tree, lines, blocks)})
    return [_without(first, last, lines) for first, last in _joined(found)]


def _joined(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Rows that follow each other as one piece."""
    at = 0
    while at < len(found):
        first, last = found[at]
        while at + 1 < len(found) and found[at + 1][0] == last + 1:
            at += 1
            last = found[at][1]
        yield first, last
        at += 1


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
    for node in walk(tree):
        if not isinstance(node, ast.Name) or node.id != NAME or _is_within(node.lineno, blocks):
            continue
        statement = next(
            (item for item in walk(tree) if isinstance(item, ast.Expr) and _is_call(item.value, node)),
            None,
        )
        if statement is None or not _stands_alone(statement, lines):
            raise CannotRemove(f"line {node.lineno} uses {NAME} next to other code: remove it by hand")
        yield statement.lineno, statement.end_lineno or statement.lineno


def _is_within(row: int, blocks: list[tuple[int, int]]) -> bool:
    return any(first <= row <= last for first, last in blocks)


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
