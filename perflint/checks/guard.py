"""The fix for what should run now and then: put it under ``if step % n == 0:``."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.checks.edits import indent_rows, indentation, rows_inside_strings
from perflint.context import TOO_MANY, Context, local_name
from perflint.findings import Edit, Fix, Level
from perflint.index.step_index import StepIndex, step_index
from perflint.source import LineTable

_CHECKPOINT_INTERVAL = 1000
# Calls that only look: leaving them out on most steps changes nothing but the log.
_PURE = frozenset(
    {
        "item",
        "numpy",
        "tolist",
        "float",
        "int",
        "bool",
        "len",
        "str",
        "repr",
        "round",
        "format",
        "join",
        "mean",
        "sum",
        "max",
    }
    | {
        "min",
        "abs",
        "time",
        "perf_counter",
        "get_lr",
        "get_last_lr",
        "items",
        "keys",
        "values",
        "get",
        "astype",
        "cast",
    }
    | {
        "detach",
        "cpu",
        "list",
        "dict",
        "tuple",
        "zip",
        "range",
        "sorted",
        "type",
        "now",
        "strftime",
        "basename",
        "ljust",
    }
    | {
        "rjust",
        "center",
        "clone",
        "squeeze",
        "reshape",
        "get_rank",
        "get_world_size",
        "array",
        "asarray",
        "exp",
        "sqrt",
    }
)
_PLAIN_LOGGERS = frozenset({"info", "warning", "warn", "error", "critical"})
_RECORD_REASON = "the recorded curve keeps only every {interval}th point"


def fix(call: cst.Call, family: str, context: Context) -> Fix:
    """Log every n-th step: the statement, and the log statements next to it, under one guard."""
    interval = context.settings.log_interval
    title = f"log every {interval}th step"
    if not context.may_look_around():
        return Fix(title, (), Level.DISPLAY, TOO_MANY)
    level, reason = _level(call, family, context)
    index = _index(context)
    run = _run(context, family) if index is not None else None
    if run is None or index is None:
        return _display(context, title, interval, _no_guard_reason(context))
    edits = [*_header_edits(context, index), *guard_edits(run, f"if {index.name} % {interval} == 0:", context)]
    return Fix(title, tuple(edits), level, reason)


def format_fix(node: cst.BaseExpression, tensor: cst.BaseExpression, context: Context) -> Fix:
    """Making text of a tensor: shown under a guard, since what uses the text has to go there too."""
    interval = context.settings.log_interval
    return _display(
        context, f"make the text every {interval}th step", interval, "what uses the text must move under the guard too"
    )


def checkpoint_fix(call: cst.Call, context: Context) -> Fix:
    """Saving every n-th step: how often is for the person to say."""
    return _display(context, "save every so many steps", _CHECKPOINT_INTERVAL, "how often to save is your choice")


def sample_fix(title: str, reason: str, context: Context) -> Fix:
    """Make the current call every n-th step only: unsafe for ``reason``, shown where it is no statement of its own."""
    interval = context.settings.log_interval
    if not context.may_look_around():
        return Fix(title, (), Level.DISPLAY, TOO_MANY)
    index, statement = _index(context), context.statement
    line = block_and_line(context)[1] if isinstance(statement, cst.Expr) and statement.value is context.node else None
    if index is None:
        return _display(context, title, interval, _no_guard_reason(context))
    if line is None:
        return _display(context, title, interval, f"what uses the result must move too, and {reason}")
    edits = [
        *_header_edits(context, index),
        *guard_edits((line, line), f"if {index.name} % {interval} == 0:", context),
    ]
    return Fix(title, tuple(edits), Level.UNSAFE, reason)


def _level(call: cst.Call, family: str, context: Context) -> tuple[Level, str]:
    if family == "record":
        return Level.UNSAFE, _RECORD_REASON.format(interval=context.settings.log_interval)
    if family == "declared":
        return Level.UNSAFE, f"what `{local_name(call.func)}` does besides logging is not known"
    if isinstance(call.func, cst.Attribute) and family == "text" and call.func.attr.value not in _PLAIN_LOGGERS:
        return (
            Level.UNSAFE,
            f"what `{local_name(call.func) or context.text(call.func)}` does with each line is not known",
        )
    impure = _impure(call, context)
    if impure:
        return Level.UNSAFE, f"`{impure}` would no longer run at each step"
    return Level.SAFE, ""


def _impure(call: cst.Call, context: Context) -> str:
    stack: list[cst.CSTNode] = [argument.value for argument in call.args]
    while stack:
        node = stack.pop()
        if isinstance(node, (cst.NamedExpr, cst.Yield, cst.Await)):
            return context.text(node)
        if isinstance(node, cst.Call):
            name = node.func.attr.value if isinstance(node.func, cst.Attribute) else local_name(node.func)
            if name not in _PURE:
                return f"{local_name(node.func) or name}()"
        stack.extend(node.children)
    return ""


def _index(context: Context) -> StepIndex | None:
    point = context.point
    if point is None or point.loop is None:
        return None
    scope, loop = point.scope, point.loop
    return context.once((step_index, loop), lambda: step_index(scope, loop, context.file.identifiers))


def _no_guard_reason(context: Context) -> str:
    point = context.point
    if point is None or point.loop is None:
        return "the step is counted in another function: pass it here, or guard the call"
    return "put it under a guard that counts steps"


def _run(context: Context, family: str) -> tuple[cst.SimpleStatementLine, cst.SimpleStatementLine] | None:
    """The log statements around the current one that stand directly below each other in one block."""
    block, line = block_and_line(context)
    if block is None or line is None:
        return None
    lines = list(block.body)
    at = next(i for i, item in enumerate(lines) if item is line)
    first = last = at
    while first > 0 and _same_log(lines[first - 1], family, context):
        first -= 1
    while last + 1 < len(lines) and _same_log(lines[last + 1], family, context):
        last += 1
    start, end = lines[first], lines[last]
    assert isinstance(start, cst.SimpleStatementLine) and isinstance(end, cst.SimpleStatementLine)
    return start, end


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


def _same_log(line: cst.BaseStatement | cst.BaseSmallStatement, family: str, context: Context) -> bool:
    from perflint.checks.step_log import code_of, log_family  # the two files describe one another

    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return False
    statement = line.body[0]
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call):
        return False
    other = log_family(statement.value, context)
    if not other or code_of(statement.value, context) not in context.codes or _is_kept(line, context):
        return False
    current = context.statement
    assert isinstance(current, cst.Expr) and isinstance(current.value, cst.Call)
    return _level(statement.value, other, context) == _level(current.value, family, context)


def _is_kept(line: cst.SimpleStatementLine, context: Context) -> bool:
    """Whether a ``# noqa`` asks to leave a statement as it is."""
    lines = context.file.source.lines
    start, end = context.range(line)
    return any("noqa" in lines.line(lines.position(offset)[0]) for offset in (start, end))


def guard_edits(
    run: tuple[cst.SimpleStatementLine, cst.SimpleStatementLine], header: str, context: Context
) -> list[Edit]:
    """Put the statements of the current block, from one to another, under a header line."""
    source = context.file.source
    lines = source.lines
    first = lines.position(context.range(run[0])[0])[0]
    last = lines.position(context.range(run[1])[1])[0]
    fixed: set[int] = set()
    block = next(parent for parent in reversed(context.parents) if isinstance(parent, cst.IndentedBlock))
    for item in block.body:
        if first <= lines.position(context.range(item)[0])[0] <= last:
            fixed |= rows_inside_strings(item, context)
    return indent_rows(source, first, last, _unit(context, first), header, fixed)


def _unit(context: Context, row: int) -> str:
    """One level of indentation as this block has it."""
    source = context.file.source
    own = indentation(source, row)
    for parent in reversed(context.parents):
        if isinstance(parent, cst.BaseCompoundStatement):
            outer = indentation(source, source.lines.position(context.range(parent)[0])[0])
            if len(outer) < len(own) and own.startswith(outer):
                return own[len(outer) :]
    return "\t" if own.startswith("\t") else "    "


def _header_edits(context: Context, index: StepIndex) -> list[Edit]:
    """Make the loop count: ``for x in it:`` to ``for step, x in enumerate(it):``."""
    point = context.point
    lines = context.file.source.lines
    if index.unnamed is not None:
        return [Edit(*_span(lines, index.unnamed), index.name)]
    if not index.enumerate or point is None or not isinstance(point.loop, ast.For):
        return []
    loop = point.loop
    target, iterated = _span(lines, loop.target), _span(lines, loop.iter)
    text = context.file.source.text
    opening, closing = "", ""
    bare = isinstance(loop.target, ast.Tuple) and not text[target[0] : target[1]].startswith("(")
    if bare:
        opening, closing = "(", ")"
    edits = [Edit(target[0], target[0], f"{index.name}, {opening}"), Edit(iterated[0], iterated[0], "enumerate(")]
    if closing:
        edits.append(Edit(target[1], target[1], closing))
    edits.append(Edit(iterated[1], iterated[1], ")"))
    return sorted(edits)


def _span(lines: LineTable, node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return lines.offset(node.lineno, node.col_offset), lines.offset(node.end_lineno, node.end_col_offset)


def _display(context: Context, title: str, interval: int, reason: str) -> Fix:
    """The guard as it would be written, with a step that a person must supply."""
    source = context.file.source
    statement = context.statement
    index = _index(context)
    name = index.name if index is not None else "step"
    if statement is None:
        return Fix(title, (), Level.DISPLAY, reason)
    first = source.lines.position(context.range(statement)[0])[0]
    last = source.lines.position(context.range(statement)[1])[0]
    if isinstance(statement, cst.BaseCompoundStatement):
        last = first
    edits = indent_rows(source, first, last, "    ", f"if {name} % {interval} == 0:", set())
    return Fix(title, tuple(edits), Level.DISPLAY, reason)
