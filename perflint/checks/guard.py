"""The fix for code that should run only at some steps: put it under ``if step % n == 0:``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

import libcst as cst

from perflint.checks import rarer
from perflint.checks.aligned import keep_aligned
from perflint.checks.edits import block_and_line, indent_rows, indentation, one_level, rows_inside_strings
from perflint.checks.log_run import more_than, more_than_logs, run_of
from perflint.facts.handed_counter import handed_counter
from perflint.facts.step_index import StepIndex, step_index
from perflint.findings import Edit, Fix, Level
from perflint.lint.context import TOO_MANY, Context, shorten
from perflint.syntax.bindings import bound_in
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import LOOPS
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_settings
from perflint.training.around import deciding_test
from perflint.training.batch_loops import says_predict

_CHECKPOINT_INTERVAL = 1000
_ONCE_TITLE = "set the text once, before the loop"
_ONCE = "nothing in it changes from step to step: pass it as `tqdm(..., desc=...)`"
_APART = "{more}: do that on a row of its own first"
_NAMES = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
Run = tuple["cst.BaseStatement", "cst.BaseStatement"]
"""The first and the last of some statements of one block."""

_FAMILIES = {"text": rarer.LINES, "progress": rarer.BAR, "record": rarer.POINTS, "declared": rarer.CALLS}


@dataclass(frozen=True)
class Guarded:
    """A fix that puts log lines under a guard, and the places of all statements under it; None for one in words."""

    fix: Fix
    span: tuple[int, int] | None = None


def fix(call: cst.Call, family: str, context: Context) -> Guarded:
    """Log every n-th step: the statement, and the log statements next to it, under one guard."""
    interval = context.settings.log_interval
    title = f"log every {rarer.ordinal(interval)} step"
    advice = _against(context) if context.may_look_around() else TOO_MANY
    if advice:
        return Guarded(rarer.words(title, advice))
    if family == "progress" and _says_the_same(call, context):
        return Guarded(rarer.words(_ONCE_TITLE, _ONCE))
    more = more_than_logs(context.expression(call), context.here)
    if more:
        return Guarded(rarer.words(title, _APART.format(more=more)))
    run = run_of(call, family, context)
    names = _NAMES.findall(context.file.source.text, *run.range(context)) if run is not None else ()
    counter = counter_here(context, frozenset(names))
    if run is None or counter is None:
        return Guarded(rarer.words(title, _how_to_count(context, counter)))
    edits = _every_nth((run.first, run.last), counter, interval, context)
    also = [*run.beside, _in_one_branch(context)]
    made = rarer.fix(title, edits, (_FAMILIES[item] for item in run.families), interval, also)
    return Guarded(made, run.range(context))


def _says_the_same(call: cst.Call, context: Context) -> bool:
    """Whether a call says the same at each step of the loop around it: ``bar.set_description(f"epoch {epoch}")``.

    It does if it only shows settings, and names that the loop does not bind.
    """
    expression, loop = context.expression(call), context.here.loop
    if not isinstance(expression, ast.Call) or not isinstance(loop, ast.For):
        return False
    changing = bound_in([loop])
    return bool(expression.args) and all(
        not isinstance(item, (ast.Call, ast.Subscript, ast.NamedExpr, ast.Await, ast.Starred))
        and not (isinstance(item, ast.Attribute) and not means_settings(dotted(item.value) or ""))
        and not (isinstance(item, ast.Name) and item.id in changing)
        for given in arguments_of(expression)
        for item in walk(given)
    )


def format_fix(context: Context) -> Fix:
    """The fix for converting a tensor to text: only words, since the code that uses the text has to be guarded too."""
    nth = rarer.ordinal(context.settings.log_interval)
    advice = "format the text where it is used, and only at some steps"
    return rarer.words(f"format the text every {nth} step", _against(context) or advice)


def checkpoint_fix(context: Context) -> Fix:
    """Saving every n-th step: shown if there is a counter; the user decides how often."""
    title, yours = "save every n steps", "how often to save is your choice"
    if not context.may_look_around():
        return rarer.words(title, TOO_MANY)
    against, counter, line = _against(context), counter_here(context), _own_line(context)
    if against or counter is None or line is None:
        return rarer.words(title, f"{yours}: {against or _how_to_count(context, counter)}")
    edits = _every_nth((line, line), counter, _CHECKPOINT_INTERVAL, context)
    return replace(rarer.fix(title, edits, [rarer.SAVES], _CHECKPOINT_INTERVAL, [yours]), level=Level.DISPLAY)


def sample_fix(title: str, what: str, also: str, context: Context) -> Fix:
    """Run the current call only every n-th step: ``what`` then happens less often, and ``also`` is lost, in words."""
    interval = context.settings.log_interval
    if not context.may_look_around():
        return rarer.words(title, TOO_MANY)
    against, counter, line = _against(context), counter_here(context), _own_line(context)
    if against or counter is None:
        return rarer.words(title, against or _how_to_count(context, counter))
    node = context.node
    more = more_than(context.expression(node), context.here) if isinstance(node, cst.Call) and line else ""
    if more:
        return rarer.words(title, _APART.format(more=more))
    if line is None:
        return rarer.words(title, f"what uses the result must move too, and {rarer.reason([what], interval, [also])}")
    return rarer.fix(title, _every_nth((line, line), counter, interval, context), [what], interval, [also])


def _every_nth(run: Run, counter: StepIndex, interval: int, context: Context) -> list[Edit]:
    """Put some statements under a test of the step counter, which the loop gets if it has none."""
    return [*_header_edits(context, counter), *guard_edits(run, f"if {counter.name} % {interval} == 0:", context)]


def _against(context: Context) -> str:
    """What to do if a guard must not be put around the current statement, in words; ``""`` if it may."""
    point = context.here
    if says_predict(context.file.parts[-1], point.scope.name):
        return "keep it if its lines are the predictions that this program is run for"
    if any(link.branch == "finally" for link in point.statement.around):
        return "it is in a `finally`, so it also runs for a step that fails: log in the step itself"
    deciding = deciding_test(context.file.project, point)
    if deciding is None:
        return ""
    test = f"`{shorten(ast.unparse(deciding.test))}` decides"
    if deciding.interval is None:
        return f"{test} at which steps this runs: make it true less often, instead of adding a second test inside"
    interval = shorten(ast.unparse(deciding.interval))
    return f"{test} how often this runs: raise `{interval}`, instead of adding a second interval inside"


def _how_to_count(context: Context, counter: StepIndex | None) -> str:
    """How to guard the current statement by hand, in words: code would name a counter that does not exist."""
    if counter is not None and not counter.enumerate and counter.unnamed is None:
        return f"put it on a row of its own, under a test of `{counter.name}`"
    if context.here.loop is None:
        return "guard it with a step counter: the steps are counted elsewhere, so pass the count here or guard the call"
    return "guard it with a step counter, which this loop does not have yet"


def _in_one_branch(context: Context) -> str:
    """A note if the statement is in one of several branches of an ``if``."""
    for link in context.here.statement.around:
        if isinstance(link.node, LOOPS) and link.node is link.loop:
            return ""
        if isinstance(link.node, ast.If) and link.node.orelse:
            return f"the other branch of `{shorten(ast.unparse(link.node.test))}` stays as it is"
    return ""


def counter_here(context: Context, named: frozenset[str] = frozenset()) -> StepIndex | None:
    """The step counter at the current statement; of several, one of the names in ``named``."""
    point = context.here
    if point.loop is not None:
        scope, loop, used = point.scope, point.loop, context.file.identifiers
        return context.once((step_index, loop, named), lambda: step_index(scope, loop, used, named))
    name = handed_counter(context.file.project, point)
    return StepIndex(name) if name is not None else None


def _own_line(context: Context) -> cst.SimpleStatementLine | None:
    """The row of the current statement, if the current call is all of it."""
    statement, found = context.statement, block_and_line(context)
    return found[1] if found and isinstance(statement, cst.Expr) and statement.value is context.node else None


def guard_edits(run: Run, header: str, context: Context) -> list[Edit]:
    """Put the statements of the current block, from one to another, under a header line."""
    source = context.file.source
    first, last = context.rows(run[0])[0], context.rows(run[1])[1]
    block = next(parent for parent in reversed(context.parents) if isinstance(parent, cst.IndentedBlock))
    inside = [item for item in block.body if first <= context.rows(item)[0] <= last]
    around = (parent for parent in reversed(context.parents) if isinstance(parent, cst.BaseCompoundStatement))
    unit = one_level(indentation(source, first), *(indentation(source, context.rows(each)[0]) for each in around))
    return indent_rows(source, first, last, unit, header, rows_inside_strings(inside, context))


def _header_edits(context: Context, counter: StepIndex) -> list[Edit]:
    """The edits that make the loop count: ``for x in it:`` to ``for step, x in enumerate(it):``."""
    source, loop = context.file.source, context.here.loop
    if not isinstance(loop, ast.For):
        return []
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
