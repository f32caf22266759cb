"""Text edits that keep the surrounding style: arguments, blocks, and rows that are aligned with a bracket."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from perflint.findings import Edit
from perflint.lint.context import Context
from perflint.lint.statement_code import StatementEdit
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.text.source import Source
from perflint.training.evidence import EVIDENCE, STEPS

if TYPE_CHECKING:
    import libcst as cst

# Arguments of calls.


class WithArgument(StatementEdit):
    """A call with one more argument after the last: on its own row if the last is, with a comma if the last has one."""

    def __init__(self, call: ast.Call, argument: str) -> None:
        super().__init__(call)
        self.argument = argument

    def leave_Call(self, call: cst.Call, _: cst.Call) -> cst.Call:
        """The call with the argument; a comment on the row of the last one stays there."""
        import libcst as cst

        [added] = cst.ensure_type(self.expression(f"f({self.argument})"), cst.Call).args
        if not call.args:
            return call.with_changes(args=[added])
        *others, last = call.args
        commas = [each.comma if isinstance(each.comma, cst.Comma) else None for each in call.args]
        comma, earlier = commas[-1], commas[-2] if others else None
        before = earlier.whitespace_after if earlier is not None else call.whitespace_before_args
        behind = comma.whitespace_after if comma is not None else last.whitespace_after_arg
        between: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
        if isinstance(before, cst.ParenthesizedWhitespace):
            between = before.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
            if isinstance(behind, cst.ParenthesizedWhitespace):
                between = between.with_changes(first_line=behind.first_line)
                behind = behind.with_changes(first_line=cst.TrailingWhitespace())
        end = {"comma": cst.Comma(whitespace_after=behind)} if comma is not None else {"whitespace_after_arg": behind}
        comma, nothing = (comma or cst.Comma()).with_changes(whitespace_after=between), cst.SimpleWhitespace("")
        last = last.with_changes(comma=comma, whitespace_after_arg=nothing)
        return call.with_changes(args=[*others, last, added.with_changes(**end)])


class WithoutArgument(StatementEdit):
    """A call (found first) without one of its arguments (second), and the comma and the space next to it."""

    def leave_Call(self, call: cst.Call, _: cst.Call) -> cst.Call:
        """The call without the argument; the one before the last ends as the last did, unless a comment is there."""
        import libcst as cst

        args = list(call.args)
        at = next(at for at, argument in enumerate(args) if argument.value is self.nodes[1])
        own = args.pop(at)
        if args and at == len(args):
            space = getattr(own.comma, "whitespace_after", own.whitespace_after_arg)
            before = cst.ensure_type(args[-1].comma, cst.Comma).whitespace_after
            if "#" not in cst.Module([]).code_for_node(before):
                args[-1] = args[-1].with_changes(comma=own.comma, whitespace_after_arg=own.whitespace_after_arg)
            elif isinstance(space, cst.ParenthesizedWhitespace):
                args[-1] = args[-1].with_deep_changes(before, last_line=space.last_line)
        return call.with_changes(args=args)


# Text edits that keep the surrounding style.

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def indentation(source: Source, row: int) -> str:
    """The indentation of a row; after a form feed, where Python restarts counting it."""
    return _space(source, row).rpartition("\f")[2]


def indentation_start(source: Source, row: int) -> int:
    """The offset at which the indentation of a row begins."""
    ahead, form_feed, _ = _space(source, row).rpartition("\f")
    return source.lines.line_start(row) + len(ahead) + len(form_feed)


def _space(source: Source, row: int) -> str:
    line = source.lines.line(row)
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def insert_row_above(source: Source, node: ast.stmt, line: str) -> Edit:
    """A new row above a statement, with its indentation."""
    at = source.lines.line_start(node.lineno)
    return Edit(at, at, f"{indentation(source, node.lineno)}{line}{source.newline}")


def insert_row_after(source: Source, row: int, line: str) -> Edit:
    """A new line below a row (and a missing line end of the last row)."""
    at = source.lines.line_end(row)
    ended = source.text[:at].endswith(("\n", "\r"))
    return Edit(at, at, f"{line}{source.newline}" if ended else f"{source.newline}{line}")


def insert_row_after_loop(source: Source, loop: ast.stmt, line: str) -> Edit:
    """A new line just below a loop, with the indentation of the loop."""
    return insert_row_after(source, loop.end_lineno or loop.lineno, indentation(source, loop.lineno) + line)


def put_under(
    header: str, run: tuple[ast.stmt, ast.stmt], scope: Scope, statement: Statement, source: Source
) -> list[Edit]:
    """Put the statements of a block, from one to another, under a header line; ``statement``: one of them."""
    first, last = run[0].lineno, run[1].end_lineno or run[1].lineno
    around = [*(link.node.lineno for link in statement.around), scope.row]
    unit = one_level(indentation(source, first), *(indentation(source, row) for row in around))
    return indent_rows(source, first, last, unit, header)


def indent_rows(source: Source, first: int, last: int, unit: str, header: str) -> list[Edit]:
    """Put rows under a header line: one edit for each row, except for those that begin inside a string."""
    edits, fixed_rows = [], rows_inside_strings(source, first, last)
    for row in range(first, last + 1):
        start = indentation_start(source, row)
        if row == first:
            edits.append(Edit(start, start, f"{indentation(source, row)}{header}{source.newline}{unit}"))
        elif row not in fixed_rows and source.lines.line(row).strip():
            edits.append(Edit(start, start, unit))
    return edits


def one_level(inner: str, *outers: str) -> str:
    """One level of indentation: that of a block relative to the first of its parents, otherwise the usual one."""
    beyond = (inner.removeprefix(outer) for outer in outers if len(outer) < len(inner) and inner.startswith(outer))
    return next(beyond, "\t" if inner.startswith("\t") else "    ")


def call_in(statement: ast.stmt | None) -> ast.Call | None:
    """The call that a statement consists of."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value if isinstance(value, ast.Call) else None


def only_calls(statement: ast.stmt, names: Collection[str]) -> bool:
    """Whether a statement is only a call of something with one of these last names."""
    call = call_in(statement)
    return call is not None and terminal(call) in names


def has_own_rows(node: ast.stmt, source: Source) -> bool:
    """Whether a simple statement shares its rows with no other code."""
    start, end = source.lines.span(node)
    before = source.text[source.lines.line_start(node.lineno) : start]
    behind = source.text[end : source.lines.line_end(node.end_lineno or node.lineno)].lstrip(" \t\f;").rstrip()
    return not before.strip() and (not behind or behind.startswith("#"))


def block_of(statement: Statement, scope: Scope) -> list[ast.stmt]:
    """The statements of the block that a statement is in."""
    links = (link.block for link in statement.around if link.branch != "after")
    return next((block for block in (*links, scope.node.body) if statement.node in block), [statement.node])


def rows_inside_strings(source: Source, first: int, last: int) -> set[int]:
    """The rows of some statements that begin inside a string, where added space would change the string."""
    rows: set[int] = set()
    with suppress(tokenize.TokenError, IndentationError):
        for token in tokenize.generate_tokens(io.StringIO(source.lines.between(first, last)).readline):
            kind = tokenize.tok_name[token.type]
            if kind in ("STRING", "FSTRING_MIDDLE", "FSTRING_END"):
                rows.update(range(token.start[0] + 1, token.end[0] + 1))
    return {first + row - 1 for row in rows}


def source_of(node: ast.expr, context: Context) -> str:
    """The source of an expression, in parentheses if a method is to be called on it."""
    return as_operand(node, context.text(node))


def as_operand(node: ast.expr, text: str) -> str:
    """The text of an expression, in parentheses if a method cannot be called on it otherwise."""
    return text if isinstance(node, _ATOMS) else f"({text})"


def on_device(tensor: ast.expr) -> ast.expr:
    """A tensor without the ``.detach()`` and ``.cpu()`` that precede its read."""
    while isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        if tensor.args or tensor.keywords or tensor.func.attr not in ("cpu", "detach", "clone"):
            break
        tensor = tensor.func.value
    return tensor


# Edits inside brackets that span several rows: aligned rows below are moved as well.

_OPENING, _CLOSING = "([{", ")]}"
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


def keep_aligned(source: Source, edits: Sequence[Edit], first: int, last: int) -> list[Edit]:
    """The edits, plus edits that move the rows of a statement that were aligned with moved code.

    ``for _, (a,`` with ``b)`` below ``a``: once ``_`` has become ``step``, ``b`` moves by as many columns.

    Each edit is within one of the rows of the statement's header, ``first`` to ``last``.
    """
    text = source.text[source.lines.line_start(first) : source.lines.line_end(last)]
    moved: dict[int, int] = {}
    for row, anchor_row, anchor_column in _aligned_rows(text):
        shift = moved.get(anchor_row, 0)
        for edit in edits:
            edited, column = source.lines.position(edit.start)
            if edited - first + 1 == anchor_row and column - 1 <= anchor_column:
                shift += len(edit.content) - (edit.end - edit.start)
        if shift > 0:
            moved[row] = shift
    starts = {row: source.lines.line_start(first + row - 1) + len(_space(source, first + row - 1)) for row in moved}
    return sorted([*edits, *(Edit(starts[row], starts[row], " " * shift) for row, shift in moved.items())])


def _aligned_rows(text: str) -> list[tuple[int, int, int]]:
    """The rows aligned with the code after an open bracket: row, and row and column (from 0) of that code."""
    found: list[tuple[int, int, int]] = []
    anchors: list[tuple[int, int] | None] = []  # of the open brackets; None until code follows
    row = 0
    with suppress(tokenize.TokenError, IndentationError):  # the text ends inside the statement
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _LAYOUT:
                continue
            if anchors and anchors[-1] is None:
                anchors[-1] = token.start if token.start[0] == row else (0, -1)
            elif anchors and anchors[-1] and token.start == (max(token.start[0], row + 1), anchors[-1][1]):
                found += [(token.start[0], *anchors[-1])] if token.string not in _CLOSING else []
            row = token.end[0]
            if token.type == tokenize.OP and token.string in _OPENING:
                anchors.append(None)
            elif token.type == tokenize.OP and token.string in _CLOSING and anchors:
                anchors.pop()
    return found


# The fix that deletes a statement: its comments stay, and no block is left empty.

Deletable = Callable[[ast.stmt], bool]


def deletion(context: Context, deletable: Deletable) -> list[Edit] | None:
    """The edits that delete the current statement; None if the statement is more than the current node.

    Also None if a call on the same row may get a guard.

    Args:
        deletable: whether a statement may be deleted together with this one. If all statements of a block may, the last
            of them becomes ``pass``.
    """
    point, source = context.here, context.file.source
    statement = point.statement.node
    if call_in(statement) is not context.node:
        return None
    start, end = source.lines.span(statement)
    if "#" in source.text[start:end]:
        return None
    block = block_of(point.statement, point.scope)
    is_needed = block[-1] is statement and all(other is statement or deletable(other) for other in block)
    row = [other for other in block if _share_rows(other, statement)]
    if len(row) == 1 and has_own_rows(statement, source):
        return [Edit(start, end, "pass")] if is_needed else [whole_rows(start, end, source)]
    is_suite = bool(source.text[source.lines.line_start(block[0].lineno) : source.lines.span(block[0])[0]].strip())
    others = (other for other in row if other is not statement)
    if not is_suite and any(_may_get_a_guard(other) and not deletable(other) for other in others):
        return None  # when it is alone on its row: that would be a second change of the same row
    at = row.index(statement)
    if is_needed:
        return [Edit(start, end, "pass")]
    if at + 1 < len(row):
        return [Edit(start, source.lines.span(row[at + 1])[0], "")]
    return [Edit(source.lines.span(row[at - 1])[1], end, "")]


def _share_rows(one: ast.stmt, other: ast.stmt) -> bool:
    return one.lineno <= (other.end_lineno or other.lineno) and other.lineno <= (one.end_lineno or one.lineno)


def _may_get_a_guard(statement: ast.stmt) -> bool:
    """Whether a statement is only a call that may log, save or measure, and not part of a training step."""
    call = call_in(statement)
    name = call.func.attr if call is not None and isinstance(call.func, ast.Attribute) else ""
    return call is not None and name not in STEPS | EVIDENCE


def whole_rows(start: int, end: int, source: Source) -> Edit:
    """Delete the rows of a statement, and one of two blank rows that would become adjacent; a comment keeps its row."""
    lines = source.lines
    first, last = lines.position(start)[0], lines.position(end)[0]
    comment = source.text.find("#", end, lines.line_end(last))
    if comment >= 0:
        return Edit(start, comment, "")
    above = lines.line(first - 1).strip()  # there is always one: code that runs at each step is in a block
    if (not above or above.endswith(":")) and last < lines.rows and not lines.line(last + 1).strip():
        last += 1
    return Edit(lines.line_start(first), lines.line_end(last), "")
