"""Finds which calls read from the device: by a host read, or in a helper that gets a tensor."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from perflint.flow.arguments import Handed, Told, default_values, in_order, parameter_env
from perflint.flow.calls import CallGraph
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.flow import Flow, is_generator, with_comprehensions
from perflint.flow.known_values import Known
from perflint.flow.values import Values
from perflint.index.kinds import Kind
from perflint.index.project import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training
from perflint.training import around, branches, evidence
from perflint.training.steps import Read
from perflint.training.training_calls import TrainingCalls

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MAX_DEPTH = 3
_MOST_STATEMENTS = 200
_METHODS = frozenset({"item", "numpy", "tolist"})
_CONVERSIONS = frozenset({"float", "int", "bool"})
_NUMPY = frozenset({"numpy.array", "numpy.asarray", "numpy.mean", "numpy.isnan", "numpy.isfinite", "numpy.sum"})


class Reads(Part):
    """Decides whether one call of a function reads from the device, given its arguments."""

    def in_call(self, file: FileIndex, scope: Scope, call: ast.Call, env: Env, depth: int = 0) -> Read | None:
        """The first host read that a call of a project function certainly does; None if none is known."""
        for target in CallGraph.of(self._project).callees(file, scope, call, env):
            if not target.sure or not target.bound or target.scope is scope or is_generator(target.scope):
                return None
            if self._is_a_step(target.file, target.scope):
                return None
            parameters = parameter_env(target.scope, *kinds_given(call, Evaluator(file, env)))
            told = in_order(default_values(target.scope, call))
            return self._in_function(target.file, target.scope, in_order(parameters), told, depth)
        return None

    def _is_a_step(self, file: FileIndex, scope: Scope) -> bool:
        is_named = scope.name in evidence.STEP_METHODS or is_no_training(scope.name)
        return file.is_quiet or is_named or TrainingCalls.of(self._project).trains(file, scope)

    @query(cycle=None)
    def _in_function(self, file: FileIndex, scope: Scope, handed: Handed, told: Told, depth: int) -> Read | None:
        """The read in a function; a function of hundreds of statements is not searched."""
        if len(scope.statements) > _MOST_STATEMENTS:
            return None
        start = Values.of(self._project).base_env(file, scope, dict(handed))
        flow = Flow(scope, file, start, guess_losses=False).run()
        known = Known(file, scope, dict(told))
        path = around.HotPath(known, scope, flow)
        possible: Read | None = None
        for statement in scope.statements:
            if not statement.calls or path.is_off(statement.place, None):
                continue
            env = with_comprehensions(statement.node, flow.before.get(statement.node, {}), file)
            guarded = branches.within_expressions(statement.node, known, Evaluator(file, env).kind, file)
            calls = [call for call in statement.calls if call not in guarded]
            found = self._in_calls(file, scope, calls, env, depth)
            if found is not None and found.sure and not _asks_for_a_key(statement, scope):
                return found
            if found is not None and possible is None:
                possible = replace(found, sure=False)
        return possible

    def _in_calls(self, file: FileIndex, scope: Scope, calls: list[ast.Call], env: Env, depth: int) -> Read | None:
        for call in calls:
            if reads_tensor(call, Evaluator(file, env), file):
                return Read(file, call)
            if depth < _MAX_DEPTH:
                found = self.in_call(file, scope, call, env, depth + 1)
                if found is not None:
                    return found
        return None


def kinds_given(call: ast.Call, evaluator: Evaluator) -> tuple[list[Kind], dict[str, Kind], list[Kind]]:
    """The kinds of a call's arguments: by position, by keyword, and those of ``**`` arguments."""
    arguments = [evaluator.kind(argument) for argument in call.args if not isinstance(argument, ast.Starred)]
    keywords = {keyword.arg: evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg}
    return arguments, keywords, [evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg is None]


def _asks_for_a_key(statement: Statement, scope: Scope) -> bool:
    """Whether a statement is under ``if "boxes" in batch:`` for a parameter of its function."""
    return any(
        isinstance(item, ast.Compare)
        and isinstance(item.ops[0], ast.In)
        and isinstance(item.left, ast.Constant)
        and dotted(item.comparators[0]) in scope.parameters
        for test in statement.tests
        for item in walk(test)
    )


def reads_tensor(call: ast.Call, evaluator: Evaluator, file: FileIndex) -> bool:
    """Whether a call itself copies a known tensor to the host."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and not call.keywords:
        return evaluator.kind(call.func.value).is_tensor
    name = dotted(call.func)
    if name is None or len(call.args) != 1:
        return False
    if name in _CONVERSIONS or file.names.resolve(name) in _NUMPY:
        return evaluator.kind(call.args[0]).is_tensor
    return False
