"""PPF901: an array that a loop copies in each iteration, to append one more part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.edits import indentation, insert_row_after_loop, one_level
from perflint.dataflow.switches import Switches
from perflint.facts.grown_arrays import Grown, grown_arrays
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.bindings import bindings_of
from perflint.syntax.scopes import Statement
from perflint.syntax.tree import alike, walk
from perflint.text.source import Source

CODE = "PPF901"
_SMALL = "small grown array"
"""The event if there are as many parts as samples in a batch."""
_TITLE = "collect the parts in a list, and concatenate them after the loop"
_KEPT = "all parts are kept until the loop ends, and the array does not exist before"
_NO_PASS = (
    "if the loop has no iteration, there is nothing to concatenate, and the edited code stops with an error there"
)
_LEAVES = "a return in the loop, or a caller that stops a generator early, would skip the code after the loop"


@statement_gate(CODE)
def _places(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for found in grown_arrays(file):
        yield found.statement, Confidence.HIGH


@check("Assign")
def grown_array(assign: cst.Assign, context: Context) -> None:
    """Report ``x = paddle.concat([x, y])`` in a loop of many iterations."""
    point, file = context.point, context.file
    if point is None or file.is_offline:
        return
    known = context.once(CODE, lambda: {item.statement.node: item for item in grown_arrays(file)})
    found = known.get(point.statement.node)
    if found is not None:
        confidence = _confidence(found, context.hot is not None, file)
        event = _SMALL if found.is_of_a_batch else ""
        context.report(
            CODE,
            assign,
            _fix(found, file),
            confidence=confidence,
            claims=False,
            costs_on_cpu=True,
            event=event,
            name=found.name,
        )


def _confidence(found: Grown, is_hot: bool, file: FileIndex) -> Confidence:
    """Low if the array may be small, or never created: in a ``while``, in inference, under a flag that is never set."""
    matters = is_hot or found.goes_over_batches or not found.is_of_numpy(file)
    if not matters or isinstance(found.loop, ast.While) or found.predicts:
        return Confidence.LOW
    is_off = Switches.of(file.project).is_left_off(found.statement, found.scope, file)
    return Confidence.LOW if is_off else Confidence.HIGH


def _fix(found: Grown, file: FileIndex) -> Fix:
    """The edits that collect the parts, and concatenate them after the loop."""
    source = file.source
    if any(isinstance(item, (ast.Return, ast.Yield, ast.YieldFrom)) for item in walk(found.loop)):
        return Fix(_TITLE, (), Level.DISPLAY, _LEAVES)
    name = _free_name(found, file)
    inside = _appending(found, name, source)
    loop_row = found.loop.lineno
    start = source.lines.line_start(loop_row)
    begun = "[]" if found.choice is not None else f"[{found.name}]"
    above = Edit(start, start, f"{indentation(source, loop_row)}{name} = {begun}{source.newline}")
    below = insert_row_after_loop(source, found.loop, _put_together(found, name, source))
    if inside is None or _begins_within_a_row(found.loop, source):
        return Fix(_TITLE, (), Level.DISPLAY, "there is a comment in the lines that would change")
    reason = _KEPT if found.choice is None or _may_stay_empty(found) else f"{_KEPT}; {_NO_PASS}"
    return Fix(_TITLE, tuple(sorted((above, *inside, below))), Level.UNSAFE, reason)


def _free_name(found: Grown, file: FileIndex) -> str:
    name = f"{found.name}_parts"
    while name in file.identifiers:
        name += "_"
    return name


def _appending(found: Grown, name: str, source: Source) -> list[Edit] | None:
    """The edits that add a part to the list, and the first one too; None if a comment would be lost."""
    first, choice, text = found.first, found.choice, source.text
    row = Edit(*source.lines.span(found.statement.node), f"{name}.append({_source(found.part, source)})")
    if first is None or choice is None:
        return None if _has_comment(row, text) else [row]
    if _does_nothing_else(choice) and alike(first.value, found.part):
        whole = Edit(*source.lines.span(choice), row.content)
        return None if _has_comment(whole, text) or _is_elif(choice, source) else [whole]
    other = Edit(*source.lines.span(first), f"{name}.append({_source(first.value, source)})")
    reads = found.name in {item.id for item in walk(choice.test) if isinstance(item, ast.Name)}
    if reads or _has_comment(row, text) or _has_comment(other, text):
        return _with_test(found, name, [row, other], source) if reads else None
    return [row, other]


def _with_test(found: Grown, name: str, rows: list[Edit], source: Source) -> list[Edit] | None:
    """The same if a test checks whether there is a first part: it then checks the list instead."""
    choice = found.choice
    if choice is None or any(_has_comment(edit, source.text) for edit in rows):
        return None
    is_none = isinstance(choice.test, ast.Compare) and isinstance(choice.test.ops[0], ast.Is)
    before = [one for one in bindings_of(found.scope).get(found.name, ()) if one.start < found.at.start]
    if not before:
        return None
    return [*rows, Edit(*source.lines.span(choice.test), f"not {name}" if is_none else name)]


def _does_nothing_else(choice: ast.If) -> bool:
    return len(choice.body) == len(choice.orelse) == 1


def _is_elif(choice: ast.If, source: Source) -> bool:
    start, _ = source.lines.span(choice)
    return source.text.startswith("elif", start)


def _put_together(found: Grown, name: str, source: Source) -> str:
    """The row after the loop, with the arguments of the call in it; under a test if there may be no parts."""
    end = source.lines.span(found.call)[1]
    rest = source.text[source.lines.span(found.call.args[0])[1] : end]
    joined = f"{_source(found.call.func, source)}({name}{' '.join(rest.split())}"
    row = f"{found.name} = {joined}"
    if not _may_stay_empty(found):
        return row
    outer = indentation(source, found.loop.lineno)
    unit = one_level(indentation(source, found.loop.body[0].lineno), outer)
    return f"if {name}:{source.newline}{outer}{unit}{row}"


def _may_stay_empty(found: Grown) -> bool:
    """Whether the program continues if no iteration has added a part, because of an earlier value or a test."""
    if found.choice is None:
        return False
    before = any(one.start < found.at.start for one in bindings_of(found.scope).get(found.name, ()))
    return before or not any(one is found.choice for one in found.loop.body)


def _source(node: ast.expr, source: Source) -> str:
    return source.text[slice(*source.lines.span(node))]


def _has_comment(edit: Edit, text: str) -> bool:
    return "#" in text[edit.start : edit.end]


def _begins_within_a_row(loop: ast.stmt, source: Source) -> bool:
    """Whether other code precedes a loop on its row."""
    start, _ = source.lines.span(loop)
    return bool(source.text[source.lines.line_start(loop.lineno) : start].strip())
