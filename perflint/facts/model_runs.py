"""Finds calls that run a model with gradients on, like ``model(batch)``, and calls that switch it to evaluation."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.dataflow.values import Values
from perflint.facts.gradients_off import NoGrad
from perflint.index.kinds import LAYER_TAG
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.vocabulary import evaluates, makes, means_model, runs_forward

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_NOT_TRAINED = ("paddle.jit.load", "paddle.inference.", "paddle.static.", "paddle.Model", "torch.", "onnxruntime.")
_FITTED = ("sklearn", "xgboost", "lightgbm", "torch", "tensorflow", "onnx", "gensim", "jax")
_MAX_DEPTH = 2


@dataclass(frozen=True)
class Mode:
    """``name.eval()`` or ``name.train()``."""

    name: str
    trains: bool
    statement: Statement


def modes_in(scope: Scope) -> list[Mode]:
    """The mode switches of a function between training and evaluation."""
    return scope.once(modes_in, lambda: _modes(scope))


def _modes(scope: Scope) -> list[Mode]:
    found = []
    for statement in scope.statements:
        for call in statement.calls:
            name = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name and last in ("eval", "train") and not call.args and not call.keywords:
                found.append(Mode(name, last == "train", statement))
    return found


class ModelRuns(Part):
    """Decides which calls of a project run a model."""

    def runs_model(self, file: FileIndex, scope: Scope, call: ast.Call, depth: int = 0) -> bool | None:
        """Whether a call runs a model with gradients on: True if that is certain, False by its name, None if not."""
        name = dotted(call.func)
        if name is None:
            return None
        model = name.removesuffix(".forward")
        if self._evaluates(file, scope, model):
            return None if self._never_trained(file, scope, model) else True
        receiver, _, method = name.rpartition(".")
        handed = CallGraph.of(self._project).handed(file, scope) if receiver in scope.parameters else {}
        found = Values.of(self._project).callee(file, scope, name, handed)
        is_switched = bool(receiver) and self._evaluates(file, scope, receiver)
        if found is not None and found[1].name not in ("forward", "__call__"):
            runs = self._reaches_model(*found, depth)
            return True if runs is not None and is_switched else runs
        if is_switched and runs_forward(method) and not self._never_trained(file, scope, receiver):
            return False
        if runs_forward(method) and evaluates(method) and means_model(receiver.rpartition(".")[2]):
            return False  # `self.model.validation_step(batch)` in the step of a trainer
        last = model.rpartition(".")[2]
        if not means_model(last) or makes(last) or self._never_trained(file, scope, model):
            return None
        return None if file.names.is_bound(model.partition(".")[0]) else False  # a class of that name is called

    @query
    def _reaches_model(self, file: FileIndex, scope: Scope, depth: int) -> bool | None:
        """Whether a helper that gets the batch runs a model with gradients on."""
        if depth >= _MAX_DEPTH or scope.name == "__init__" or NoGrad.of(self._project).decorated(file, scope):
            return None
        for statement in scope.statements:
            if any(
                self._calls_own_layer(file, scope, call) or self.runs_model(file, scope, call, depth + 1) is not None
                for call in statement.calls
            ):
                return None if NoGrad.of(self._project).over_statement(file, scope, statement) else False
        return None

    def _calls_own_layer(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        """Whether a method of a layer calls ``self(x)``, or a layer in an attribute: ``self.encoder(x)``."""
        name = dotted(call.func) or ""
        if scope.owner is None or not (name == "self" or name.startswith("self.")):
            return False
        values = Values.of(self._project)
        mine = values.lasting_kind(file, scope, ast.Name("self", ast.Load()))
        if mine.tag != LAYER_TAG:
            return False
        return name in ("self", "self.forward") or values.lasting_kind(file, scope, call.func).tag == LAYER_TAG

    def _evaluates(self, file: FileIndex, scope: Scope, name: str) -> bool:
        """Whether ``.eval()`` is called on a name, or on its value."""
        value = Values.of(self._project).definitions(file, scope).get(name)
        spellings = {name, (dotted(value) if value is not None else None) or name}
        return any(mode.name in spellings and not mode.trains for mode in modes_in(scope))

    def _never_trained(self, file: FileIndex, scope: Scope, name: str) -> bool:
        """Whether a model is known to have nothing that needs a gradient, or to be another framework's."""
        definitions = Values.of(self._project).definitions(file, scope)
        values = [definitions[name]] if name in definitions else []
        if name.startswith("self.") and scope.owner is not None:
            values += [value for value, _ in scope.owner.attributes.get(name[5:], ())]
        made = (dotted(value.func) if isinstance(value, ast.Call) else None for value in values)
        qualified = [file.names.resolve(each) for each in made if each]
        return any(each.startswith(_NOT_TRAINED) or each.partition(".")[0].startswith(_FITTED) for each in qualified)
