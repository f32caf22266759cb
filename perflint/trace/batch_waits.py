"""What each batch of an evaluation waits for, and whether the loop needs the values before its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from perflint.facts.evaluations import WholeEvaluation
from perflint.facts.periodic import Periodic
from perflint.facts.unknown_size import dense_form
from perflint.facts.usages import Usage, usages
from perflint.flow.by_statement import Flow
from perflint.flow.calls import CallGraph
from perflint.flow.evaluate import Evaluator
from perflint.flow.known_values import Known
from perflint.flow.sources import sources
from perflint.flow.uses import uses_in
from perflint.flow.values import Values
from perflint.index.kinds import UNKNOWN, UNKNOWN_TAG, Kind
from perflint.index.project import Place
from perflint.paddle.tensor_methods import NUMBER_CONVERSIONS, may_have, may_have_as_container
from perflint.syntax.bindings import bindings_of, targets_of
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import LOOPS, Loop, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_metric
from perflint.trace.events import EventKind, events_at
from perflint.trace.lengths import passes
from perflint.trace.loading import Loading, loadings
from perflint.training.every import HowOften, whole_number
from perflint.training.step_loops import Reads
from perflint.training.steps import Point

_LATER = frozenset({Usage.SUM, Usage.LIST, Usage.LAST, Usage.METER, Usage.AFTER})
"""Uses of a value for which it is soon enough to read it after the loop."""
_COUNTING = frozenset(f"paddle.metric.{name}" for name in ("Accuracy", "Precision", "Recall", "Auc"))
"""Metrics that count: one update with what all batches gave counts the same."""
_OF_ONE_NUMBER = frozenset({"paddle.metric.accuracy", "paddle.static.accuracy"})
_NUMBERS = NUMBER_CONVERSIONS | {"item"}
_NO_READS = frozenset({"compute", "reset", "accumulate"})
"""Methods of metrics that read nothing of a tensor."""


class BatchWait(NamedTuple):
    """An expression for which each batch waits: a read, the update of a metric (``INSIDE``), or an unknown size."""

    node: ast.expr
    point: Point
    kind: EventKind


def batch_waits(at: Place, loop: Loop) -> Sequence[BatchWait]:
    """What each batch of an evaluation waits for, if nothing of it is needed before the end of the loop; else nothing.

    If one wait has to stay, the others cost next to nothing: the device has nothing left to do by then.
    """
    return _Batches(at, loop).waits()


class _Batches:
    """The loop of an evaluation."""

    def __init__(self, at: Place, loop: Loop) -> None:
        self._at = at
        self._loop = loop
        self._inside = at.scope.statements_in(loop)
        self._runs = HowOften(Known(at), at.scope)
        self._reads = Reads.of(at.file.project)

    def waits(self) -> Sequence[BatchWait]:
        """See ``batch_waits``."""
        found: list[BatchWait] = []
        for point in self._points():
            for node, kind, *_ in events_at(point) if self._is_usual(point.statement) else ():
                if kind is None and isinstance(node, ast.Call):
                    kind = EventKind.INSIDE if self._is_counted(node, point) else None
                    if kind is None and self._may_read(node, point):
                        return ()
                if kind is not None and kind.waits:
                    if point.statement.loop is not self._loop or not self._can_go(node, kind, point):
                        return ()
                    found.append(BatchWait(node, point, kind))
        return found

    def _is_usual(self, statement: Statement) -> bool:
        """Whether most batches run a statement."""
        return not self._runs.is_rare(statement.place, self._loop)

    def _points(self) -> Iterator[Point]:
        """The statements of the loop, with the kinds of names there: a loss is a tensor here, as in a step."""
        start = Values.of(self._at.file.project).base_env(self._at, dict(self._handed()))
        before = Flow(self._at, start, guess_losses=True).run().before
        for statement in self._inside:
            env = before.get(statement.node, {})
            yield Point(statement, self._at.scope, None, env, self._loop, self._at.file)

    def _handed(self) -> Iterator[tuple[str, Kind]]:
        """The kinds of the parameters for which all known calls pass the same kind: a loss, a metric."""
        project, scope = self._at.file.project, self._at.scope
        sites = CallGraph.of(project).callers(self._at)
        for name in scope.parameters:
            given = [(site.function, site.argument(scope, name)) for site in sites]
            kinds = {Values.of(project).lasting_kind(at, value) for at, value in given if value is not None}
            kind = kinds.pop() if len(kinds) == 1 else UNKNOWN
            if kind.tag != UNKNOWN_TAG and all(value is not None for _, value in given):
                yield name, kind

    def _may_read(self, call: ast.Call, point: Point) -> bool:
        """Whether a function that a call reaches waits, or a metric that is not known may."""
        if self._reads.in_call(self._at, call, point.full_env) is not None:
            return True
        if not isinstance(call.func, ast.Attribute) or call.func.attr in _NO_READS:
            return False
        name, method = dotted(call.func.value) or "", call.func.attr
        is_of_tensors = may_have(method) and not may_have_as_container(method)
        is_metric = means_metric(name.rpartition(".")[2]) and not is_of_tensors
        if not is_metric or point.file.names.resolve(name).startswith("paddle"):
            return False
        evaluator = Evaluator(point.file, point.full_env)
        is_own = any(each.sure for each in CallGraph.of(point.file.project).callees(self._at, call))
        return not is_own and any(not evaluator.kind(each).is_host for each in arguments_of(call))

    def _is_counted(self, call: ast.Call, point: Point) -> bool:
        """Whether a call updates a metric of Paddle that counts, which reads what it gets."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "update":
            return False
        made = list(sources(call.func.value, point.place))
        return bool(made) and all(each.is_known and each.qualified in _COUNTING for each in made)

    def _can_go(self, node: ast.expr, kind: EventKind, point: Point) -> bool:
        """Whether a wait can be left out: its value is needed only after the loop, or not as such."""
        if kind is EventKind.SIZE:
            return dense_form(point, node) is not None
        if not isinstance(node, ast.Call):
            return False
        if kind is EventKind.INSIDE:
            return self._is_counted(node, point) and self._only_counts(node, point)
        return kind is EventKind.READ and _is_number(node, point) and self._is_used_later(node, point)

    def _only_counts(self, call: ast.Call, point: Point) -> bool:
        """Whether a metric only counts in the loop: nothing there uses what it says."""
        if not isinstance(point.statement.node, ast.Expr):
            return False
        asked = (replace(point, statement=each, answers={}) for each in self._inside)
        return all(
            self._is_used_later(one, here, is_unused=True)
            for here in asked
            for one in here.statement.calls
            if terminal(one) == "accumulate" and _owner(one) == _owner(call) and self._is_usual(here.statement)
        )

    def _is_used_later(self, call: ast.Call, point: Point, is_unused: bool = False) -> bool:
        """Whether a value is added up, kept in a list or a meter, or used after the loop, and no batch looks at it."""
        by_row = {each.node.lineno: each for each in self._inside}
        aims = usages(call, point, uses_in(self._at))
        for aim in aims:
            at = by_row.get(aim.row)
            if aim.usage is Usage.LOG and at is not None and not self._is_usual(at):
                continue
            if aim.usage not in _LATER or (aim.usage is Usage.SUM and at is not None and self._is_seen(at)):
                return False
        return bool(aims) or is_unused

    def _is_seen(self, adding: Statement) -> bool:
        """Whether other statements of the loop read a sum at each batch."""
        names = {dotted(target) or "" for target in targets_of(adding.node)}
        mentions = (each for name in names for each in uses_in(self._at).by_chain.get(name, ()))
        others = (each.statement for each in mentions if each.is_read and each.statement is not adding)
        return any(each in self._inside and self._is_usual(each) for each in others)


def _owner(call: ast.Call) -> str | None:
    return dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None


def _is_number(call: ast.Call, point: Point) -> bool:
    """Whether a read is of one number: all values of other tensors may be more than the device can keep."""
    read = call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else None
    if terminal(call) in _NUMBERS or read is None:
        return read is not None
    if Evaluator(point.file, point.full_env).kind(read).scalar:
        return True
    made = list(sources(read, point.place))
    return bool(made) and all(each.qualified in _OF_ONE_NUMBER for each in made)


# How long an evaluation lasts, compared with another: how often loops repeat it, and whether it has batches.

_ALONE, _ONE_BY_ONE = 3, 8
"""So much longer an evaluation is taken to last with batches of one sample, and without a loader that reads ahead."""
_SAMPLERS = frozenset({"BatchSampler", "DistributedBatchSampler"})


def times(at: Place, statement: Statement, reached: Periodic) -> int:
    """How often the loops around a call repeat it, up to the loop of the steps, as far as the code shows it."""
    found = []
    for link in statement.around:
        if link.node is reached.loop:
            break
        if link.branch == "body" and isinstance(link.node, (ast.For, ast.AsyncFor)):
            found.append(passes(link.node.iter, at.before(statement)) or 1)
    return prod(found)


def slowness(found: WholeEvaluation, reached: Periodic) -> int:
    """How much longer an evaluation lasts since the model gets one sample at a time; 1 if it gets batches."""
    if {_batch_size(each) for each in loadings(reached.place, reached.loop)} == {1}:
        return 1
    if {_batch_size(each) for each in loadings(found.at, found.loop)} == {1}:
        return _ALONE
    over = found.loop.iter
    is_counted = isinstance(over, ast.Call) and terminal(over) in ("range", "trange") and len(over.args) == 1
    return _ONE_BY_ONE if is_counted and not _counts_batches(over, found.at) else 1


def _counts_batches(over: ast.expr, at: Place) -> bool:
    """Whether a loop goes over as many numbers as there are batches: ``range(n // batch_size)``, ``range(ceil(n))``."""
    bound = (each.node for name in names_in(over) for each in bindings_of(at.scope).get(name, ()))
    nodes = (node for part in (over, *bound) if not isinstance(part, LOOPS) for node in walk(part))
    return any(isinstance(getattr(node, "op", None), (ast.FloorDiv, ast.Div)) or _rounds(node) for node in nodes)


def _rounds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and terminal(node) in ("ceil", "floor")


def _batch_size(loading: Loading) -> int | None:
    """How many samples the batches of a loader have; None if that is not known."""
    call, place = loading.made
    sampler = argument_of(call, "batch_sampler", 4)
    if sampler is None:
        given = argument_of(call, "batch_size", 5)
        return 1 if given is None else whole_number(given, place)
    for source in sources(sampler, place):
        if isinstance(source.node, ast.Call) and terminal(source.node) in _SAMPLERS:
            given = argument_of(source.node, "batch_size", None)
            return 1 if given is None else whole_number(given, source.place)
    return None
