"""Finds paths through a distributed program that no rank takes: what a call switches off, what ends in an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallSite
from perflint.dataflow.constant_values import Found
from perflint.dataflow.constants import Constants
from perflint.dataflow.paddle_api import PARALLEL
from perflint.dataflow.sole_binding import ReadPlace
from perflint.facts.ranks import Ranks, contradict, facts
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted, dotted_names
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

# The methods of ``paddle.DataParallel``, which does not forward methods that only the wrapped model has.
_OF_LAYERS = frozenset(
    {"add_module", "add_parameter", "add_sublayer", "apply", "apply_collective_grads", "astype", "backward", "bfloat16"}
    | {"buffers", "children", "clear_gradients", "cpu", "create_parameter", "create_tensor", "create_variable", "cuda"}
    | {"double", "eval", "extra_repr", "float", "float16", "forward", "full", "full_name", "half", "init_reducer"}
    | {"load_dict", "load_state_dict", "modules", "no_sync", "parameters", "requires_grad_", "scale_loss", "set_dict"}
    | {"set_state_dict", "sharded_state_dict", "state_dict", "sublayers", "to", "to_static_state_dict", "train", "type"}
    | {"xpu", "zero_grad"}
)
_OTHERS = ("get_", "named_", "register_", "set_")
"""How the names of other methods of layers begin."""


@query
def stops(file: FileIndex, scope: Scope) -> bool:
    """Whether a function calls a method of its model on the ``paddle.DataParallel`` around it, which does not have it.

    ``model = paddle.DataParallel(model)`` and then ``model.train_model(batch)`` is an AttributeError in each process.
    """
    for name, wrap in _wrapped(file, scope):
        if any(_is_called_on(name, wrap, statement, file, scope) for statement in scope.statements):
            return True
    return False


def _wrapped(file: FileIndex, scope: Scope) -> Iterator[tuple[str, Statement]]:
    """The names that a function binds to a wrapped model and does not rebind."""
    for statement in scope.statements:
        node = statement.node
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
            continue
        name = dotted(node.targets[0])
        if name is not None and _wraps(node.value, file):
            later = [each.node for each in bindings_of(scope).get(name, ()) if each.node.lineno > node.lineno]
            values = [each.value if isinstance(each, ast.Assign) else None for each in later]
            if all(isinstance(value, ast.Call) and _wraps(value, file) for value in values):
                yield name, statement


def _wraps(call: ast.Call, file: FileIndex) -> bool:
    return file.names.resolve(dotted(call.func) or "") in PARALLEL


def _is_called_on(name: str, wrap: Statement, statement: Statement, file: FileIndex, scope: Scope) -> bool:
    """Whether a statement calls, on the wrapped model, a method that only the model has."""
    if statement.node.lineno <= wrap.node.lineno:
        return False
    for call in statement.calls:
        receiver, _, method = (dotted(call.func) or "").rpartition(".")
        if receiver != name or method in _OF_LAYERS or method.startswith(("_", *_OTHERS)):
            continue
        is_single = Ranks.of(file.project).guarded(statement, call, scope, file)
        if not is_single and _is_of_layers(file.project, method) and not _tells_apart(name, statement, wrap):
            return True
    return False


@query
def _is_of_layers(project: Project, method: str) -> bool:
    """Whether a layer of the project has a method of this name."""
    kind = Modules.of(project).kind_of_instance
    owners = ((file, owner) for file in project.mentions.of(method) for owner in file.scopes.classes.values())
    return any(method in owner.methods and kind(file, owner).tag == LAYER_TAG for file, owner in owners)


def _tells_apart(name: str, statement: Statement, wrap: Statement) -> bool:
    """Whether a test allows only the unwrapped model to reach a statement: ``if isinstance(model, Net):``."""
    if contradict(facts(statement.place), facts(wrap.place)):
        return True
    for link in statement.around:
        if isinstance(link.node, ast.Try):
            return True
        if isinstance(link.node, ast.If) and name in dotted_names(link.node.test):
            return True
    return False


# -- what a call switches off ------------------------------------------------------------------------------------------


def leaves_out(site: CallSite, file: FileIndex, scope: Scope, at: Statement) -> bool:
    """Whether the arguments and defaults of a call prevent it from reaching a statement of the function."""
    if not any(isinstance(link.node, ast.If) for link in at.around):
        return False
    constants = Constants.of(file.project)
    inside = constants.entered(site.call, ReadPlace(site.file, site.scope, site.statement), file, scope)
    if inside is None:
        return False
    return any(
        all(_fails(constants.possible(one, inside), truth) for one in _as_bound(test, at, scope))
        for test, truth in _tests(at)
    )


def _as_bound(test: ast.expr, at: Statement, scope: Scope) -> list[ast.expr]:
    """A test with attributes replaced by the values that the function gave them before: ``self.every = every``."""
    bound = bindings_of(scope)
    names = {name for name in dotted_names(test) if name.startswith("self.") and name in bound}
    if len(names) != 1:
        return [test]
    name = names.pop()
    before = [each.node for each in bound[name] if each.node.lineno < at.node.lineno]
    values = [each.value for each in before if isinstance(each, ast.Assign)]
    return [_Replaced(name, value).visit(deepcopy(test)) for value in values] if len(values) == len(before) else [test]


class _Replaced(ast.NodeTransformer):
    """Replaces a dotted name by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name = name
        self._value = value

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # the name that ast requires
        return self._value if dotted(node) == self._name else node


def _tests(statement: Statement) -> Iterator[tuple[ast.expr, bool]]:
    """The tests around a statement, each with its result."""
    for link in statement.around:
        if isinstance(link.node, ast.If) and link.branch in ("body", "else", "after"):
            yield link.node.test, link.branch == "body"


def _fails(values: Found, truth: bool) -> bool:
    """Whether a test cannot be ``truth``, because all its possible values are known and differ."""
    return bool(values) and all(value.is_constant and bool(value.value) is not truth for value in values)
