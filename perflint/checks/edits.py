"""Text edits that keep the style around them."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.findings import Edit
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.text.source import Source


def insert_argument(call: cst.Call, argument: str, context: Context) -> list[Edit]:
    """Add an argument after the last one: on a line of its own where the last one has one, trailing comma kept."""
    source = context.file.source
    if not call.args:
        _, end = context.range(call)
        return [Edit(end - 1, end - 1, argument)]
    last = call.args[-1]
    start, end = context.range(last)
    before = source.text[source.lines.line_start(source.lines.position(start)[0]) : start]
    comma = isinstance(last.comma, cst.Comma)
    at = context.range(last.comma)[1] if isinstance(last.comma, cst.Comma) else end
    if before.strip():
        return [Edit(at, at, f" {argument}," if comma else f", {argument}")]
    return _insert_own_line(source, at, before + argument, comma, context.range(call)[1])


def _insert_own_line(source: Source, at: int, line: str, comma: bool, call_end: int) -> list[Edit]:
    """The new line goes below a comment that follows the last argument on its row."""
    row = source.lines.position(at)[0]
    row_end = source.lines.line_start(row) + len(source.lines.line(row))
    tail = f"{source.newline}{line}{',' if comma else ''}"
    if row_end >= call_end or not source.text[at:row_end].strip():
        return [Edit(at, at, ("" if comma else ",") + tail)]
    edits = [Edit(row_end, row_end, tail)]
    return edits if comma else [Edit(at, at, ","), *edits]


def indentation(source: Source, row: int) -> str:
    """The space that indents a row: what stands behind a form feed, where Python begins to count it anew."""
    return _space(source, row).rpartition("\f")[2]


def indentation_start(source: Source, row: int) -> int:
    """The offset at which the indentation of a row begins."""
    ahead, form_feed, _ = _space(source, row).rpartition("\f")
    return source.lines.line_start(row) + len(ahead) + len(form_feed)


def _space(source: Source, row: int) -> str:
    line = source.lines.line(row)
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def insert_row_after(source: Source, row: int, line: str) -> Edit:
    """A new line below a row (and the line end that a last row lacks)."""
    at = source.lines.line_end(row)
    ended = source.text[:at].endswith(("\n", "\r"))
    return Edit(at, at, f"{line}{source.newline}" if ended else f"{source.newline}{line}")


def insert_row_after_loop(source: Source, loop: ast.stmt, line: str) -> Edit:
    """A new line just below a loop, indented as the loop is."""
    return insert_row_after(source, loop.end_lineno or loop.lineno, indentation(source, loop.lineno) + line)


def indent_rows(source: Source, first: int, last: int, unit: str, header: str, fixed_rows: set[int]) -> list[Edit]:
    """Put rows under a header line: one edit a row, those in ``fixed_rows`` (inside strings) left as they are."""
    edits = []
    for row in range(first, last + 1):
        start = indentation_start(source, row)
        if row == first:
            edits.append(Edit(start, start, f"{indentation(source, row)}{header}{source.newline}{unit}"))
        elif row not in fixed_rows and source.lines.line(row).strip():
            edits.append(Edit(start, start, unit))
    return edits


def block_and_line(context: Context) -> tuple[cst.IndentedBlock | None, cst.SimpleStatementLine | None]:
    """The current statement, if it is a call on a row of its own, and the block that it is in."""
    statement = context.statement
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call):
        return None, None
    position = next(
        (i for i in range(len(context.parents) - 1, -1, -1) if context.parents[i] is statement), len(context.parents)
    )
    line = context.parents[position - 1] if position >= 1 else None
    block = context.parents[position - 2] if position >= 2 else None
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(block, cst.IndentedBlock) or len(line.body) != 1:
        return None, None
    return block, line


def rows_inside_strings(node: cst.CSTNode, context: Context) -> set[int]:
    """Rows that begin inside a string literal of ``node``, where added space would change the string."""
    rows: set[int] = set()
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, (cst.SimpleString, cst.FormattedString)):
            start, end = context.range(item)
            first, last = context.file.source.lines.position(start)[0], context.file.source.lines.position(end)[0]
            rows.update(range(first + 1, last + 1))
        stack.extend(child for child in item.children if not isinstance(child, cst.BaseParenthesizableWhitespace))
    return rows


def source_of(node: cst.BaseExpression, context: Context) -> str:
    """The source of an expression, in parentheses where a method is to be called on it."""
    text = context.text(node)
    atoms = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
    return text if isinstance(node, atoms) and "\n" not in text else f"({text})"


def on_device(tensor: cst.BaseExpression) -> cst.BaseExpression:
    """A tensor without the ``.detach()`` and ``.cpu()`` that lead to its read."""
    while (
        isinstance(tensor, cst.Call)
        and not tensor.args
        and isinstance(tensor.func, cst.Attribute)
        and tensor.func.attr.value in ("cpu", "detach", "clone")
    ):
        tensor = tensor.func.value
    return tensor


def name_of_paddle(file: FileIndex) -> str | None:
    """The name that a file's own imports give to Paddle (``pd`` after ``import paddle as pd``); None without one."""
    for node in file.tree.body:
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name == "paddle" or (alias.name.startswith("paddle.") and not alias.asname):
                name = alias.asname or "paddle"
                return name if file.names.resolve(name) == "paddle" else None
    return None
