"""PPF604: each batch of an evaluation waits for the device, for values that are used only after its loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.evaluations import evaluating, evaluating_loops
from perflint.facts.periodic import periodic, trained_beside
from perflint.findings import Edit, Fix, Level, Related, merged, overlap
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.paddle.tensor_methods import COPYING_METHODS, NUMBER_CONVERSIONS
from perflint.rules import accumulate
from perflint.rules.edits import call_in, has_own_rows, insert_row_above, insert_row_after_loop, whole_rows
from perflint.rules.spelled import paddle_at
from perflint.rules.tensor_reads import tensor_read_by
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement, terminal
from perflint.trace.batch_waits import BatchWait, batch_waits
from perflint.trace.events import EventKind
from perflint.training.every import USUAL_INTERVAL, Interval, every
from perflint.training.steps import points_of

RULE = shipped()["PPF604"]


class _Evaluation(NamedTuple):
    """A loop over batches that evaluates, and the place in the loop of a training that leads to it."""

    place: Place
    loop: ast.For | ast.AsyncFor
    beside: Place

    @property
    def inside(self) -> Sequence[Statement]:
        """The statements of the loop."""
        return self.place.scope.statements_in(self.loop)


def _evaluated(file: FileIndex) -> Iterator[Candidate]:
    if file.is_offline or file.is_static or not file.has_words("for") or not knows_paddle(file):
        return
    for scope in evaluating(file):
        at = Place(file, scope)
        for loop in evaluating_loops(at):
            if any(map(_may_wait, scope.statements_in(loop))):
                statement = next(each for each in scope.statements if each.node is loop)
                beside = trained_beside(at, statement)
                if beside is not None:
                    yield Candidate(loop.iter, loop, _Evaluation(at.before(statement), loop, beside))


def _may_wait(statement: Statement) -> bool:
    names = {terminal(call) for call in statement.calls}
    return "update" in names or not names.isdisjoint(COPYING_METHODS | NUMBER_CONVERSIONS)


@rule(RULE.code, at=At.ANYWHERE, find=_evaluated, claims=False)
def evaluation_waits(found: _Evaluation, context: Context) -> None:
    """Report the first of the waits of each batch of an evaluation, if all of them can go."""
    point, beside = points_of(context.file).get(found.loop), found.beside
    if point is None or (point.step is not None and not every(context.file.project, point).is_rare):
        return  # it runs at each step: each of its reads is one of the step
    waits = batch_waits(found.place, found.loop)
    if not waits or beside.statement is None or found.place.statement is None:
        return
    fix = _fix(found, waits, context)
    rows = list(dict.fromkeys(each.node.lineno for each in waits))
    related = [Related(context.file.path, row, "waits as well") for row in rows[1:]]
    related.append(Related(beside.file.path, beside.statement.node.lineno, "training runs the evaluation here"))
    reached = periodic(beside, beside.statement)
    often = reached.interval if reached is not None else Interval(USUAL_INTERVAL, RULE.texts["epoch"])
    more = f" (as {'do lines' if rows[2:] else 'does line'} {', '.join(map(str, rows[1:]))})" if rows[1:] else ""
    context.enter(waits[0].node, waits[0].point.statement.node)
    context.report(fix, related=tuple(related), every=often, row=str(found.loop.lineno), more=more)


def _fix(found: _Evaluation, waits: Sequence[BatchWait], context: Context) -> Fix:
    """One edit for all waits; words if one of them has none."""
    kinds = {each.kind for each in waits}
    case = "metric" if EventKind.INSIDE in kinds else "size" if EventKind.SIZE in kinds else "read"
    kept = [
        _collected(each, found, context) if each.kind is EventKind.INSIDE else _kept(each, context) for each in waits
    ]
    fixes = [fix for fix in kept if fix is not None]
    edits = merged(edit for fix in fixes for edit in fix.edits)
    if len(fixes) < len(waits) or overlap(edits):
        return RULE.words(case)
    reasons = dict.fromkeys([RULE.fix_reason, *(fix.reason for fix in fixes if fix.reason)])
    return Fix(RULE.fix_title, edits, Level.UNSAFE, "; ".join(reasons))


def _kept(wait: BatchWait, context: Context) -> Fix | None:
    """Keep what is read on the device until the loop ends."""
    if wait.kind is not EventKind.READ or not isinstance(wait.node, ast.Call):
        return None
    context.enter(wait.node, wait.point.statement.node)
    context.point = wait.point
    tensor = tensor_read_by(wait.node, context)
    found = accumulate.fix(wait.node, tensor, context) if tensor is not None else None
    return found.fix if found is not None and not found.logs else None


def _collected(wait: BatchWait, found: _Evaluation, context: Context) -> Fix | None:
    """Collect what a metric gets in a list, and update it once after the loop, where it is asked, too."""
    update, source, block = call_in(wait.point.statement.node), context.file.source, found.loop.body
    if update is None or len(update.args) != 1 or update.keywords or not isinstance(update.func, ast.Attribute):
        return None
    given, paddle, owner = update.args[0], paddle_at(found.loop, context.file), dotted(update.func.value)
    name = f"{given.id}_of_all" if isinstance(given, ast.Name) else ""
    asking = [
        each.node
        for each in found.inside
        for call in each.calls
        if terminal(call) == "accumulate" and isinstance(call.func, ast.Attribute) and dotted(call.func.value) == owner
    ]
    moved = [wait.point.statement.node, *asking]
    if any(node not in block or not has_own_rows(node, source) or node.lineno != node.end_lineno for node in moved):
        return None
    if not name or owner is None or paddle is None or name in context.file.identifiers:
        return None
    edits: list[Edit] = [insert_row_above(source, found.loop, f"{name} = []")]
    edits.append(Edit(*source.lines.span(update), f"{name}.append({ast.unparse(given)})"))
    edits.append(insert_row_after_loop(source, found.loop, f"{owner}.update({paddle}.concat({name}))"))
    for node in asking:
        edits.append(whole_rows(*source.lines.span(node), source))
        edits.append(insert_row_after_loop(source, found.loop, source.text[slice(*source.lines.span(node))]))
    return Fix(RULE.fix_title, tuple(edits), Level.UNSAFE, RULE.texts["concat"])
