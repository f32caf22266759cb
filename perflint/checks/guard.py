"""The fix for what should run now and then: put it under ``if step % n == 0:``."""

from __future__ import annotations

import ast
import re

import libcst as cst

from perflint.checks import rarer
from perflint.checks.aligned import keep_aligned
from perflint.checks.edits import block_and_line, indent_rows, indentation, rows_inside_strings
from perflint.checks.log_run import LogRun, run_of
from perflint.facts.handed_counter import handed_counter
from perflint.facts.step_index import StepIndex, step_index
from perflint.findings import Edit, Fix
from perflint.lint.context import TOO_MANY, Context, shorten
from perflint.syntax.scopes import LOOPS
from perflint.training.around import deciding_test
from perflint.training.batch_loops import says_predict

_CHECKPOINT_INTERVAL = 1000
_NAMES = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_FAMILIES = {"text": rarer.LINES, "progress": rarer.BAR, "record": rarer.POINTS, "declared": rarer.CALLS}


def fix(call: cst.Call, family: str, context: Context) -> Fix:
    """Log every n-th step: the statement, and the log statements next to it, under one guard."""
    interval = context.settings.log_interval
    title = f"log every {rarer.ordinal(interval)} step"
    advice = _against(context) if context.may_look_around() else TOO_MANY
    if advice:
        return rarer.words(title, advice)
    run = run_of(call, family, context)
    counter = _counter(context, _names_in(run, context) if run is not None else frozenset())
    if run is None or counter is None:
        return rarer.words(title, _how_to_count(context, counter))
    edits = [*_header_edits(context, counter), *guard_edits((run.first, run.last), _test(counter, interval), context)]
    also = [*run.beside, _in_one_branch(context)]
    return rarer.fix(title, edits, (_FAMILIES[item] for item in run.families), interval, also)


def format_fix(context: Context) -> Fix:
    """Making text of a tensor: told in words, since what uses the text has to go under the guard too."""
    nth = rarer.ordinal(context.settings.log_interval)
    advice = "make the text where it is used, and use it at some steps only"
    return rarer.words(f"make the text every {nth} step", _against(context) or advice)


def checkpoint_fix(context: Context) -> Fix:
    """Saving every n-th step: shown where a counter is at hand, and how often is for the person to say."""
    title, yours = "save every so many steps", "how often to save is your choice"
    if not context.may_look_around():
        return rarer.words(title, TOO_MANY)
    against, counter, line = _against(context), _counter(context), _own_line(context)
    if against or counter is None or line is None:
        return rarer.words(title, f"{yours}: {against or _how_to_count(context, counter)}")
    edits = [
        *_header_edits(context, counter),
        *guard_edits((line, line), _test(counter, _CHECKPOINT_INTERVAL), context),
    ]
    return rarer.shown(title, edits, [rarer.SAVES], _CHECKPOINT_INTERVAL, [yours])


def sample_fix(title: str, what: str, also: str, context: Context) -> Fix:
    """Make the current call every n-th step only.

    Args:
        what: what becomes rarer, as ``rarer`` says it.
        also: what else is lost, in words.
    """
    interval = context.settings.log_interval
    if not context.may_look_around():
        return rarer.words(title, TOO_MANY)
    against, counter, line = _against(context), _counter(context), _own_line(context)
    if against or counter is None:
        return rarer.words(title, against or _how_to_count(context, counter))
    if line is None:
        return rarer.words(title, f"what uses the result must move too, and {rarer.reason([what], interval, [also])}")
    edits = [*_header_edits(context, counter), *guard_edits((line, line), _test(counter, interval), context)]
    return rarer.fix(title, edits, [what], interval, [also])


def _test(counter: StepIndex, interval: int) -> str:
    return f"if {counter.name} % {interval} == 0:"


def _against(context: Context) -> str:
    """What a person should do where a guard must not be written around the current statement; ``""`` where it may."""
    point = context.point
    if point is None:
        return "put it under a test of a step counter"
    if says_predict(context.file.parts[-1], point.scope.name):
        return "leave it if its lines are the predictions that this program is run for"
    links = point.statement.around
    if any(link.branch == "finally" for link in links):
        return "it stands in a `finally`, where it also runs for a step that fails: log in the step itself"
    deciding = deciding_test(context.file.project, point)
    if deciding is None:
        return ""
    test = shorten(ast.unparse(deciding.test))
    if deciding.interval is None:
        return (
            f"`{test}` decides at which steps this runs: make it hold more rarely, rather than put a second test inside"
        )
    return (
        f"`{test}` decides how often this runs: raise `{shorten(ast.unparse(deciding.interval))}`, "
        "rather than put a second interval inside"
    )


def _how_to_count(context: Context, counter: StepIndex | None) -> str:
    """How to guard the current statement by hand, in words: code would name a counter that is not there."""
    point = context.point
    if counter is not None and not counter.enumerate and counter.unnamed is None:
        return f"put it on a row of its own, under a test of `{counter.name}`"
    if point is None or point.loop is None:
        return "guard it with a step counter: the steps are counted elsewhere, so pass the count here or guard the call"
    return "guard it with a step counter, which this loop does not have yet"


def _in_one_branch(context: Context) -> str:
    """Says so where the statement is in one branch of an ``if`` that has others."""
    point = context.point
    for link in point.statement.around if point is not None else ():
        if isinstance(link.node, LOOPS) and link.node is link.loop:
            return ""
        if isinstance(link.node, ast.If) and link.node.orelse:
            return f"the other branch of `{shorten(ast.unparse(link.node.test))}` stays as it is"
    return ""


def _names_in(run: LogRun, context: Context) -> frozenset[str]:
    """The names, dotted ones too, that some statements mention."""
    text = context.file.source.text[context.range(run.first)[0] : context.range(run.last)[1]]
    return frozenset(_NAMES.findall(text))


def _counter(context: Context, named: frozenset[str] = frozenset()) -> StepIndex | None:
    """What counts the steps where the current statement stands; of several, one of the names in ``named``."""
    point = context.point
    if point is None:
        return None
    if point.loop is not None:
        scope, loop, used = point.scope, point.loop, context.file.identifiers
        return context.once((step_index, loop, named), lambda: step_index(scope, loop, used, named))
    name = handed_counter(context.file.project, point)
    return StepIndex(name) if name is not None else None


def _own_line(context: Context) -> cst.SimpleStatementLine | None:
    """The row of the current statement, where the call at hand is all of it."""
    statement = context.statement
    if not isinstance(statement, cst.Expr) or statement.value is not context.node:
        return None
    return block_and_line(context)[1]


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


def _header_edits(context: Context, counter: StepIndex) -> list[Edit]:
    """Make the loop count: ``for x in it:`` to ``for step, x in enumerate(it):``."""
    point = context.point
    source = context.file.source
    if point is None or not isinstance(point.loop, ast.For):
        return []
    loop = point.loop
    last = max(loop.iter.end_lineno or loop.lineno, loop.body[0].lineno - 1)
    if counter.unnamed is not None:
        return keep_aligned(source, [Edit(*source.lines.span(counter.unnamed), counter.name)], loop.lineno, last)
    if not counter.enumerate:
        return []
    target, iterated = source.lines.span(loop.target), source.lines.span(loop.iter)
    bare = isinstance(loop.target, ast.Tuple) and not source.text[target[0] : target[1]].startswith("(")
    opening, closing = ("(", ")") if bare else ("", "")
    edits = [
        Edit(target[0], target[0], f"{counter.name}, {opening}"),
        *([Edit(target[1], target[1], closing)] if closing else []),
        Edit(iterated[0], iterated[0], "enumerate("),
        Edit(iterated[1], iterated[1], ")"),
    ]
    return keep_aligned(source, edits, loop.lineno, last)
