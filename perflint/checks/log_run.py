"""Finds which logging calls only log, and which of them are together, so that one guard is enough for all."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import libcst as cst

from perflint.checks.edits import block_and_line, call_in
from perflint.checks.log_calls import code_of, log_family, reads
from perflint.configuration.settings import level_for
from perflint.facts.effects import effect_at, keeps_state
from perflint.findings import Level
from perflint.lint.context import Context, local_name, method_of
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import walk
from perflint.training.steps import Point, points_of

_PLAIN_LOGGERS = frozenset({"info", "warning", "warn", "error", "critical"})


@dataclass(frozen=True)
class LogRun:
    """Statements for one guard, the families of the logging calls among them, and what else they do.

    ``first`` may be a read above them that is only for them: ``value = loss.item()``.
    """

    first: cst.SimpleStatementLine
    last: cst.SimpleStatementLine
    families: tuple[str, ...]
    beside: tuple[str, ...]

    def range(self, context: Context) -> tuple[int, int]:
        """Their place."""
        return context.range(self.first)[0], context.range(self.last)[1]


def run_of(call: cst.Call, family: str, context: Context) -> LogRun | None:
    """The consecutive log statements around the current one in one block.

    What is computed between them only for them belongs to them: ``cost = time() - start`` before ``print(cost)``. So do
    the reads right above them: ``value = loss.item()`` before ``bar.set_postfix(loss=value)``. None if the call shares
    its row, or is not a statement by itself.
    """
    place, point = block_and_line(context), context.here
    if place is None:
        return None
    block, line = place
    alone = LogRun(line, line, (family,), (_beside(call, family, context),))
    if family == "declared":
        return alone
    neighbours = _Neighbours(block, context)
    at = neighbours.nodes.index(point.statement.node)
    for crosses in (True, False):
        first, last = neighbours.reach(at, -1, crosses), neighbours.reach(at, 1, crosses)
        between = [node for node in neighbours.nodes[first : last + 1] if not neighbours.family(node)]
        if all(_is_used_within(node, neighbours.nodes[first], neighbours.nodes[last], point.scope) for node in between):
            return neighbours.run(first, last)
    return alone


class _Neighbours:
    """The statements of the current one's block, and which of them may share a guard with it."""

    def __init__(self, block: cst.IndentedBlock, context: Context) -> None:
        place = context.here.statement.place
        self.nodes = place.block if place is not None else context.here.scope.node.body
        self._context = context
        self._points = points_of(context.file)
        lines = (line for line in block.body if isinstance(line, cst.SimpleStatementLine))
        self._lines = {context.rows(line)[0]: line for line in lines}
        self._families: dict[ast.stmt, str] = {}

    def family(self, node: ast.stmt) -> str:
        """The family of a log statement, ``""`` for anything else."""
        if node not in self._families:
            line, point = self._lines.get(node.lineno), self._points.get(node)
            self._families[node] = _family_of_line(line, point, self._context) if line and point else ""
        return self._families[node]

    def run(self, first: int, last: int) -> LogRun:
        """The statements from one log statement to another."""
        logs = [node for node in self.nodes[first : last + 1] if self.family(node)]
        families = {self._lines[node.lineno]: self.family(node) for node in logs}
        lines = list(families)
        said = (_beside(call, families[line], self._context) for line in lines if (call := call_in(line)) is not None)
        begin = self._lines[self.nodes[self._with_reads(first, last)].lineno]
        return LogRun(begin, lines[-1], tuple(families.values()), tuple(said))

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
            line = self._lines.get(node.lineno)
            if line is None or not _is_used_within(node, node, end, scope):
                break
            if any(reads(item.value, self._context) for item in line.body if isinstance(item, cst.Assign)):
                furthest = here
            here -= 1
        return furthest

    def _prepares(self, node: ast.stmt) -> bool:
        """Whether a statement computes the value of a plain name and does nothing else."""
        if isinstance(self._context.here.scope.node, ast.Module) or not isinstance(node, ast.Assign):
            return False
        is_kept = _is_kept((node.lineno, node.end_lineno or node.lineno), self._context)
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name) or is_kept:
            return False
        point = self._points.get(node)
        return point is not None and not effect_at(point, node.value)


def _is_used_within(node: ast.stmt, first: ast.stmt, last: ast.stmt, scope: Scope) -> bool:
    """Whether the name that a statement binds is read, and is neither read nor bound outside of some rows."""
    bound = next((item.id for item in walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)), "")
    named = [item for item in walk(scope.node) if isinstance(item, ast.Name) and item.id == bound]
    read = [item.lineno for item in named if isinstance(item.ctx, ast.Load)]
    end = last.end_lineno or last.lineno
    outside = any(not first.lineno <= item.lineno <= end for item in named)
    return bool(read) and not outside and all(node.lineno < row for row in read)


def _family_of_line(line: cst.SimpleStatementLine, point: Point, context: Context) -> str:
    """The family of a log statement that may share a guard with the current one, ``""`` for anything else."""
    call = call_in(line)
    family = log_family(call, context) if call is not None else ""
    if call is None or family in ("", "declared") or _is_kept(context.rows(line), context):
        return ""
    if not isinstance(point.statement.node, ast.Expr) or more_than_logs(point.statement.node.value, point):
        return ""
    code = code_of(call, context)
    own = code_of(context.node, context) if isinstance(context.node, cst.Call) else code
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


def _is_kept(rows: tuple[int, int], context: Context) -> bool:
    """Whether a ``# noqa`` says to leave a statement unchanged; ``rows``: its first and its last."""
    return any("noqa" in context.file.source.lines.line(row) for row in rows)


def _beside(call: cst.Call, family: str, context: Context) -> str:
    """What else can change if a logging call runs less often, in words; ``""`` if it only logs."""
    name = local_name(call.func) or context.text(call.func)
    if family == "declared":
        return f"what `{name}` does besides logging is not known"
    if family == "text" and method_of(call) not in {"", *_PLAIN_LOGGERS}:
        return f"what `{name}` does with each line is not known"
    return ""
