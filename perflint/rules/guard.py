"""The fix for code that should run only every n steps: put it under ``if step % n == 0:``, with the log calls beside
it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from perflint.configuration.settings import level_for
from perflint.facts.effects import effect_at, keeps_state
from perflint.facts.paddle_calls import log_family as log_of
from perflint.findings import Edit, Fix, Level
from perflint.flow.branches import Often
from perflint.lint.context import TOO_MANY, Context, shorten
from perflint.rules.arguments import declaration, given
from perflint.rules.edits import (
    call_in,
    has_own_rows,
    keep_aligned,
    put_under,
)
from perflint.rules.tensor_reads import tensor_read_by
from perflint.syntax.bindings import bound_in, plain_assignment
from perflint.syntax.names import dotted, stored_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import LOOPS, Scope, terminal
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import means_settings
from perflint.training.counting import StepIndex, handed_counter, step_index
from perflint.training.every import every
from perflint.training.intent import says_predict
from perflint.training.steps import Point, points_of

# Finds which calls log, in which way, and whether they read a tensor for it.

TENSOR_LOG, PLAIN_LOG = "PPF202", "PPF405"


def log_family(call: ast.Call, context: Context) -> str:
    """``text`` (print, a logger), ``progress`` (a tqdm bar), ``record`` (a curve), ``declared`` (by the configuration).

    ``""`` for other calls.
    """
    if declaration(call, context.settings.logging_calls, context) is not None:
        return "declared"
    return log_of(call, context.file.names)


def code_of(call: ast.Call, context: Context) -> str:
    """The rule that a logging call belongs to: PPF202 when it reads a tensor, PPF405 when it reads none."""
    if context.runs_on_cpu:
        return PLAIN_LOG
    declared = declaration(call, context.settings.logging_calls, context)
    shown = arguments_of(call) if declared is None else given(call, declared, context)
    return TENSOR_LOG if any(reads(argument, context) for argument in shown) else PLAIN_LOG


def reads(node: ast.AST, context: Context) -> bool:
    """Whether what is logged reads a tensor, explicitly or by converting it to text."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        if context.kind(node).is_tensor or _reads_explicitly(node, context):
            return True
        # A call's own result is logged, not a tensor among its arguments, unless it only passes them on.
        return (
            isinstance(node, ast.Call)
            and _passes_on(node)
            and any(reads(argument, context) for argument in arguments_of(node))
        )
    return not isinstance(node, ast.Lambda) and any(reads(child, context) for child in children(node))


def _reads_explicitly(node: ast.AST, context: Context) -> bool:
    """Whether an expression contains a host read: ``loss.numpy()[0]``, ``np.mean(loss.numpy())``."""
    is_read = isinstance(node, ast.Call) and tensor_read_by(node, context) is not None
    return not isinstance(node, ast.Lambda) and (
        is_read or any(_reads_explicitly(child, context) for child in children(node))
    )


def _passes_on(call: ast.Call) -> bool:
    """Whether a call returns its argument, as text or in a list: ``str(loss)``, ``" ".join(parts)``."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in ("format", "join", "update", "append")
    return dotted(call.func) in ("str", "repr", "round", "format", "dict", "list", "max", "min")


# Finds which logging calls only log, and which of them are together, so that one guard is enough for all.

_PLAIN_LOGGERS = frozenset({"info", "warning", "warn", "error", "critical"})


@dataclass(frozen=True)
class LogRun:
    """Statements for one guard, the families of the logging calls among them, and what else they do.

    ``first`` may be a read above them that is only for them: ``value = loss.item()``.
    """

    first: ast.stmt
    last: ast.stmt
    families: tuple[str, ...]
    beside: tuple[str, ...]

    def range(self, context: Context) -> tuple[int, int]:
        """Their place."""
        span = context.file.source.lines.span
        return span(self.first)[0], span(self.last)[1]


def run_of(call: ast.Call, family: str, context: Context) -> LogRun | None:
    """The consecutive log statements around the current one in one block.

    What is computed between them only for them belongs to them: ``cost = time() - start`` before ``print(cost)``. So do
    the reads right above them: ``value = loss.item()`` before ``bar.set_postfix(loss=value)``. None if the call shares
    its row, or is not a statement by itself.
    """
    point = context.here
    node = point.statement.node
    if call_in(node) is None or not has_own_rows(node, context.file.source):
        return None
    alone = LogRun(node, node, (family,), (_beside(call, family, context),))
    if family == "declared":
        return alone
    neighbours = _Neighbours(context)
    at = neighbours.nodes.index(node)
    for crosses in (True, False):
        first, last = neighbours.reach(at, -1, crosses), neighbours.reach(at, 1, crosses)
        between = [node for node in neighbours.nodes[first : last + 1] if not neighbours.family(node)]
        if all(_is_used_within(node, neighbours.nodes[first], neighbours.nodes[last], point.scope) for node in between):
            return neighbours.run(first, last)
    return alone


class _Neighbours:
    """The statements of the current one's block, and which of them may share a guard with it."""

    def __init__(self, context: Context) -> None:
        place = context.here.statement.place
        self.nodes = place.block if place is not None else context.here.scope.node.body
        self._context = context
        self._points = points_of(context.file)
        self._families: dict[ast.stmt, str] = {}

    def family(self, node: ast.stmt) -> str:
        """The family of a log statement, ``""`` for anything else."""
        if node not in self._families:
            point = self._points.get(node)
            self._families[node] = _family_of(node, point, self._context) if point is not None else ""
        return self._families[node]

    def run(self, first: int, last: int) -> LogRun:
        """The statements from one log statement to another."""
        logs = [node for node in self.nodes[first : last + 1] if self.family(node)]
        calls = ((call, self.family(node)) for node in logs if (call := call_in(node)) is not None)
        said = tuple(_beside(call, family, self._context) for call, family in calls)
        return LogRun(self.nodes[self._with_reads(first, last)], logs[-1], tuple(map(self.family, logs)), said)

    def reach(self, at: int, direction: int, crosses: bool) -> int:
        """The furthest log statement reached over others and, with ``crosses``, over their preparations."""
        furthest, here = at, at + direction
        while 0 <= here < len(self.nodes):
            if self.family(self.nodes[here]):
                furthest = here
            elif not crosses or not self._prepares(self.nodes[here]):
                break
            here += direction
        return furthest

    def _with_reads(self, first: int, last: int) -> int:
        """The first of the statements right above a run that read values only for it; ``first`` if none does."""
        furthest, here = first, first - 1
        scope, end = self._context.here.scope, self.nodes[last]
        while here >= 0 and self._prepares(self.nodes[here]):
            node = self.nodes[here]
            if not _is_used_within(node, node, end, scope):
                break
            if isinstance(node, ast.Assign) and reads(node.value, self._context):
                furthest = here
            here -= 1
        return furthest

    def _prepares(self, node: ast.stmt) -> bool:
        """Whether a statement computes the value of a plain name and does nothing else."""
        if isinstance(self._context.here.scope.node, ast.Module) or not isinstance(node, ast.Assign):
            return False
        if plain_assignment(node) is None or _is_kept(node, self._context):
            return False
        point = self._points.get(node)
        return point is not None and not effect_at(point, node.value)


def _is_used_within(node: ast.stmt, first: ast.stmt, last: ast.stmt, scope: Scope) -> bool:
    """Whether the name that a statement binds is read, and is neither read nor bound outside of some rows."""
    bound = next(iter(stored_names(node)), "")
    named = [item for item in walk(scope.node) if isinstance(item, ast.Name) and item.id == bound]
    read = [item.lineno for item in named if isinstance(item.ctx, ast.Load)]
    end = last.end_lineno or last.lineno
    outside = any(not first.lineno <= item.lineno <= end for item in named)
    return bool(read) and not outside and all(node.lineno < row for row in read)


def _family_of(node: ast.stmt, point: Point, context: Context) -> str:
    """The family of a log statement that may share a guard with the current one, ``""`` for anything else."""
    call = call_in(node)
    family = log_family(call, context) if call is not None and has_own_rows(node, context.file.source) else ""
    if call is None or family in ("", "declared") or _is_kept(node, context):
        return ""
    if more_than_logs(call, point):
        return ""
    code = code_of(call, context)
    own = code_of(context.node, context) if isinstance(context.node, ast.Call) else code
    alike = level_for(code, Level.UNSAFE, context.settings) is level_for(own, Level.UNSAFE, context.settings)
    return family if code in context.codes and alike else ""


def more_than(call: ast.expr | None, point: Point) -> str:
    """What a statement does besides a call in it, in words; ``""`` if it then only reads values."""
    done = effect_at(point, point.statement.node, call)
    return f"`{done}` would no longer run at each step" if done else ""


def more_than_logs(log: ast.expr | None, point: Point) -> str:
    """The same for a call that logs, which may itself do more: it counts its calls, for example."""
    if isinstance(log, ast.Call) and keeps_state(point, log):
        return f"`{ast.unparse(log.func)}` also changes what other code may read"
    return more_than(log, point)


def _is_kept(node: ast.stmt, context: Context) -> bool:
    """Whether a ``# noqa`` on its first or its last row says to leave a statement unchanged."""
    return any("noqa" in context.file.source.lines.line(row) for row in context.rows(node))


def _beside(call: ast.Call, family: str, context: Context) -> str:
    """What else can change if a logging call runs less often, in words; ``""`` if it only logs."""
    name = dotted(call.func) or context.text(call.func)
    if family == "declared":
        return f"what `{name}` does besides logging is not known"
    is_method = isinstance(call.func, ast.Attribute)
    if family == "text" and is_method and terminal(call) not in _PLAIN_LOGGERS:
        return f"what `{name}` does with each line is not known"
    return ""


# Fixes that make something happen less often: ``unsafe`` at best, with a reason that says how much is lost.
#
# All fixes of this kind are created here, so that none of them can be applied without ``--unsafe-fixes``.

LINES = "{lost} of {interval} lines {are} no longer printed"
POINTS = "{lost} of {interval} points {are} no longer recorded"
BAR = "the progress bar shows only every {nth} value"
BATCHES = "the metric covers only every {nth} batch: {lost} of {interval} {are} left out"
CALLS = "{lost} of {interval} calls {are} no longer made"
SAVES = "{lost} of {interval} saves {are} no longer made"


def rarer_fix(title: str, edits: Iterable[Edit], what: Iterable[str], interval: int, also: Iterable[str] = ()) -> Fix:
    """A fix that makes ``LINES``, ``POINTS`` or the like every ``interval``-th step; ``also``: what else can change."""
    return Fix(title, tuple(edits), Level.UNSAFE, rarer_reason(what, interval, also))


def rarer_words(title: str, advice: str) -> Fix:
    """What to do if no edit can be offered."""
    return Fix(title, (), Level.DISPLAY, advice)


def rarer_reason(what: Iterable[str], interval: int, also: Iterable[str] = ()) -> str:
    """``9 of 10 lines are no longer printed``: what is lost, in numbers."""
    lost = interval - 1
    are = "is" if lost == 1 else "are"
    said = [text.format(lost=lost, interval=interval, nth=ordinal(interval), are=are) for text in dict.fromkeys(what)]
    return "; ".join([*said, *filter(None, dict.fromkeys(also))])


def ordinal(number: int) -> str:
    """``2nd``, ``10th``, ``21st``."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"


# The fix for code that should run only at some steps: put it under ``if step % n == 0:``.

_CHECKPOINT_INTERVAL = 1000
_ONCE_TITLE = "set the text once, before the loop"
_ONCE = "nothing in it changes from step to step: pass it as `tqdm(..., desc=...)`"
_APART = "{more}: do that on a row of its own first"
_NAMES = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
Run = tuple[ast.stmt, ast.stmt]
"""The first and the last of some statements of one block."""

_FAMILIES = {"text": LINES, "progress": BAR, "record": POINTS, "declared": CALLS}


@dataclass(frozen=True)
class Guarded:
    """A fix that puts log lines under a guard, and the places of all statements under it; None for one in words."""

    fix: Fix
    span: tuple[int, int] | None = None


def guard_fix(call: ast.Call, family: str, context: Context) -> Guarded:
    """Log every n-th step: the statement, and the log statements next to it, under one guard."""
    interval = context.settings.log_interval
    title = f"log every {ordinal(interval)} step"
    advice = _against(context) if context.may_look_around() else TOO_MANY
    if advice:
        return Guarded(rarer_words(title, advice))
    if family == "progress" and _says_the_same(call, context):
        return Guarded(rarer_words(_ONCE_TITLE, _ONCE))
    more = more_than_logs(call, context.here)
    if more:
        return Guarded(rarer_words(title, _APART.format(more=more)))
    run = run_of(call, family, context)
    names = _NAMES.findall(context.file.source.text, *run.range(context)) if run is not None else ()
    counter = counter_here(context, frozenset(names))
    if run is None or counter is None:
        return Guarded(rarer_words(title, _how_to_count(context, counter)))
    edits = _every_nth((run.first, run.last), counter, interval, context)
    also = [*run.beside, _in_one_branch(context)]
    made = rarer_fix(title, edits, (_FAMILIES[item] for item in run.families), interval, also)
    return Guarded(made, run.range(context))


def _says_the_same(expression: ast.Call, context: Context) -> bool:
    """Whether a call says the same at each step of the loop around it: ``bar.set_description(f"epoch {epoch}")``.

    It does if it only shows settings, and names that the loop does not bind.
    """
    loop = context.here.loop
    if not isinstance(loop, ast.For):
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
    nth = ordinal(context.settings.log_interval)
    advice = "format the text where it is used, and only at some steps"
    return rarer_words(f"format the text every {nth} step", _against(context) or advice)


def checkpoint_fix(context: Context) -> Fix:
    """Saving every n-th step: shown if there is a counter; the user decides how often."""
    title, yours = "save every n steps", "how often to save is your choice"
    if not context.may_look_around():
        return rarer_words(title, TOO_MANY)
    against, counter, line = _against(context), counter_here(context), _own_line(context)
    if against or counter is None or line is None:
        return rarer_words(title, f"{yours}: {against or _how_to_count(context, counter)}")
    edits = _every_nth((line, line), counter, _CHECKPOINT_INTERVAL, context)
    return replace(rarer_fix(title, edits, [SAVES], _CHECKPOINT_INTERVAL, [yours]), level=Level.DISPLAY)


def sample_fix(title: str, what: str, also: str, context: Context) -> Fix:
    """Run the current call only every n-th step: ``what`` then happens less often, and ``also`` is lost, in words."""
    interval = context.settings.log_interval
    if not context.may_look_around():
        return rarer_words(title, TOO_MANY)
    against, counter, line = _against(context), counter_here(context), _own_line(context)
    if against or counter is None:
        return rarer_words(title, against or _how_to_count(context, counter))
    more = more_than(call_in(line), context.here) if line is not None else ""
    if more:
        return rarer_words(title, _APART.format(more=more))
    if line is None:
        return rarer_words(title, f"what uses the result must move too, and {rarer_reason([what], interval, [also])}")
    return rarer_fix(title, _every_nth((line, line), counter, interval, context), [what], interval, [also])


def _every_nth(run: Run, counter: StepIndex, interval: int, context: Context) -> list[Edit]:
    """Put some statements under a test of the step counter, which the loop gets if it has none."""
    point, header = context.here, f"if {counter.name} % {interval} == 0:"
    guarded = put_under(header, run, point.scope, point.statement, context.file.source)
    return [*_header_edits(context, counter), *guarded]


def _against(context: Context) -> str:
    """What to do if a guard must not be put around the current statement, in words; ``""`` if it may."""
    point = context.here
    if says_predict(context.file.parts[-1], point.scope.name):
        return "keep it if its lines are the predictions that this program is run for"
    if any(link.branch == "finally" for link in point.statement.around):
        return "it is in a `finally`, so it also runs for a step that fails: log in the step itself"
    runs = every(context.file.project, point)
    if runs.test is None:
        return ""
    test = f"`{shorten(ast.unparse(runs.test))}` decides"
    if runs.number is None:
        return f"{test} at which steps this runs: make it true less often, instead of adding a second test inside"
    interval, nth = shorten(ast.unparse(runs.number)), ordinal(context.settings.log_interval)
    if runs.often is Often.EACH_STEP:
        holds = f"`{shorten(ast.unparse(runs.test))}` holds at each step of the optimizer"
        return f"{holds}, for which `{interval}` batches are added up: count these steps, and log every {nth}"
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


def _own_line(context: Context) -> ast.stmt | None:
    """The current statement, if the current call is all of it and of its row."""
    node = context.here.statement.node
    return node if call_in(node) is context.node and has_own_rows(node, context.file.source) else None


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
