"""Evaluations as a whole: which functions run a model over a data set without training it, and which calls run these.

``evaluate(model, dev_loader)`` is one if the function has a loop over batches that runs a model, and if its name, a
``model.eval()`` or the name of the loader says that it evaluates.  A metric of one batch is none, nor a few samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.facts.gradient_graphs import modes_in
from perflint.flow.calls import CallGraph
from perflint.flow.values import Values
from perflint.index.kinds import LAYER_TAG, LOADER_TAG
from perflint.index.project import FileIndex, Part, Place
from perflint.query import query
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import LOOPS, Loop, Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import evaluates, is_trial, makes, means_batches, means_model, predicts, trains
from perflint.training import evidence
from perflint.training.step_loops import step_loops
from perflint.training.training_calls import TrainingCalls

_SWITCHES = frozenset({"eval", "train", "parameters", "named_parameters", "state_dict", "set_state_dict", "to", "load"})


class WholeEvaluation(NamedTuple):
    """A loop over batches that evaluates a model, with its function.

    ``is_sure``: names and types lead from the call to that function; a method that only its name leads to is not sure.
    """

    at: Place
    loop: ast.For | ast.AsyncFor
    is_sure: bool = True


class Evaluations(Part):
    """Finds the evaluations of one project."""

    def by_call(self, at: Place, call: ast.Call) -> WholeEvaluation | None:
        """The evaluation that a call runs; None if it runs none, or trains."""
        if terminal(call) not in self.names:
            return None
        for target in CallGraph.of(self._project).callees(at, call):
            if target.scope is not at.scope:
                found = self._in_function(target.place)
                if found is not None:
                    return found._replace(is_sure=target.sure)
        return None

    @query
    def beside_steps(self, at: Place) -> Sequence[ast.For | ast.AsyncFor]:
        """The loops that evaluate in a function that trains itself, without those that call an evaluation."""
        found: list[ast.For | ast.AsyncFor] = []
        for loop in evaluating_loops(at) if step_loops(at) else ():
            inside = at.scope.statements_in(loop)
            calls = (call for statement in inside for call in statement.calls)
            is_inner = any(loop is statement.node for outer in found for statement in at.scope.statements_in(outer))
            if not is_inner and all(self.by_call(at, call) is None for call in calls):
                found.append(loop)
        return found

    @property
    def names(self) -> frozenset[str]:
        """The names of the functions that evaluate."""
        return self._names()

    @query
    def _names(self) -> frozenset[str]:
        own = {scope.name for file in self._project.files.values() for scope in evaluating(file)}
        return frozenset({*own, *self._wrapping(own)} - {"forward", "__call__", "__init__"})

    def _wrapping(self, names: set[str]) -> Iterator[str]:
        """The names of functions that call one of these: ``def val(self): return self.evaluate(self.loader)``."""
        for name in names:
            for file in self._project.mentions.calls(name):
                if not (file.is_quiet or file.is_foreign):
                    yield from (scope.name for scope, _, _ in file.calls_named(name) if _is_evaluation(scope.name))

    @query(cycle=None)
    def _in_function(self, at: Place) -> WholeEvaluation | None:
        """The first evaluation that each call of a function runs."""
        if at.file.is_quiet or at.file.is_foreign or TrainingCalls.of(self._project).trains(at) or step_loops(at):
            return None
        loop = next(evaluating_loops(at), None)
        if loop is not None:
            return WholeEvaluation(at, loop)
        if not _is_evaluation(at.scope.name):
            return None
        return next(filter(None, (self.by_call(at, call) for call in at.scope.calls)), None)


def evaluating_calls(file: FileIndex) -> Iterator[tuple[Place, Statement, ast.Call, WholeEvaluation]]:
    """The calls of a file that evaluate."""
    project = Evaluations.of(file.project)
    if file.is_quiet or file.is_foreign or file.is_offline or not file.has_words(*project.names):
        return
    for scope, statement, call in file.calls:
        at = Place(file, scope)
        found = project.by_call(at, call)
        if found is not None:
            yield at, statement, call, found


def runs_of_model(found: WholeEvaluation) -> Iterator[tuple[Statement, ast.Call]]:
    """The calls in an evaluation that run a model, each with its statement."""
    for statement in found.at.scope.statements_in(found.loop):
        yield from ((statement, call) for call in statement.calls if _runs(found.at, call))


def _is_evaluation(name: str) -> bool:
    return evaluates(name) and not trains(name) and not is_trial(name)


@query
def evaluating(file: FileIndex) -> list[Scope]:
    """The functions of a file with a loop that evaluates."""
    if file.is_quiet or file.is_foreign or not file.has_words("for"):
        return []
    return [scope for scope in file.scopes.scopes if scope.parent is not None and _may_evaluate(Place(file, scope))]


def _may_evaluate(at: Place) -> bool:
    return next(evaluating_loops(at), None) is not None


def evaluating_loops(at: Place) -> Iterator[ast.For | ast.AsyncFor]:
    """The loops of a function over batches that run a model, and evaluate it."""
    for statement in at.scope.statements:
        node = statement.node
        if isinstance(node, (ast.For, ast.AsyncFor)) and _says_so(at.scope, statement) and _is_over_data(at, node):
            inside = at.scope.statements_in(node)
            if not _ends_early(node) and not any(map(_trains, inside)) and _runs_a_model(at, inside):
                yield node


def _says_so(scope: Scope, statement: Statement) -> bool:
    """Whether a name, or ``model.eval()`` before it in the same block or around, says that a loop evaluates."""
    node = statement.node
    assert isinstance(node, (ast.For, ast.AsyncFor))
    named = any(evaluates(name) for name in names_in(node.iter)) and not any(map(trains, names_in(node.iter)))
    if named or _is_evaluation(scope.name):
        return True
    around = set(statement.branches)
    modes = [mode for mode in modes_in(scope) if mode.statement.start < statement.start]
    return bool(modes) and not modes[-1].trains and around.issuperset(modes[-1].statement.branches)


def _is_over_data(at: Place, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop goes over many batches: over a loader, or over the indices of a data set."""
    if isinstance(loop.iter, (ast.List, ast.Tuple)) or evidence.counts_epochs(loop):
        return False
    if evidence.over_batches(loop) or any(map(means_batches, names_in(loop.iter))):
        return True
    counted = isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) in ("range", "trange")
    if counted and isinstance(loop.iter, ast.Call):
        last = loop.iter.args[-1] if loop.iter.args else None
        return not isinstance(last, ast.Constant) and _is_evaluation(at.scope.name)
    values = Values.of(at.file.project)
    nodes = (node for node in walk(loop.iter) if isinstance(node, (ast.Name, ast.Attribute)))
    return any(values.lasting_kind(at, node).tag == LOADER_TAG for node in nodes)


def _ends_early(loop: Loop) -> bool:
    """Whether a loop may end after some of its batches: ``if step >= 10: break``."""
    waiting: list[ast.AST] = [*loop.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Break, ast.Return)):
            return True
        if not isinstance(node, (*LOOPS, ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
    return False


def _trains(statement: Statement) -> bool:
    names = evidence.terminal_names(statement)
    return bool(names & {"backward", "minimize"}) or any(map(evidence.takes_optimizer_step, statement.calls))


def _runs_a_model(at: Place, statements: list[Statement]) -> bool:
    return any(_runs(at, call) for statement in statements for call in statement.calls)


def _runs(at: Place, call: ast.Call) -> bool:
    """Whether a call runs a model, itself or in the functions that it certainly reaches."""
    name = dotted(call.func)
    if name is None or not arguments_of(call):
        return False
    if evidence.runs_program(call):
        return True
    receiver, _, method = name.rpartition(".")
    if Values.of(at.file.project).lasting_kind(at, call.func).tag == LAYER_TAG:
        return not _is_criterion(name)
    if means_model(method) and not makes(method):
        return not at.file.names.is_bound(name.partition(".")[0])
    if means_model(receiver.rpartition(".")[2]) and method not in _SWITCHES:
        return method == "forward" or evaluates(method) or predicts(method) or method.endswith("_step")
    return any(map(_runs_inside, CallGraph.of(at.file.project).reached(at, call)))


def _is_criterion(name: str) -> bool:
    return any(word in name.lower() for word in ("loss", "criterion"))


@query(cycle=False)
def _runs_inside(at: Place) -> bool:
    """Whether a function runs a model."""
    return any(_runs(at, call) for call in at.scope.calls)
