"""Finds what the layers of a project return besides tensors: numbers in the tuples that ``forward`` returns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from perflint.dataflow.evaluate import HOST_MODULES
from perflint.dataflow.values import Values
from perflint.index.kinds import GUESS, TENSOR, TUPLE_TAG, UNKNOWN_TAG, Kind, tuple_of
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import required_parameters
from perflint.syntax.scopes import Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_HOST_CALLS = frozenset({"len", "int", "float", "bool", "str"})
_HOST_METHODS = frozenset({"item", "tolist", "numpy"})
_HOST_ATTRIBUTES = frozenset({"shape", "ndim"})
_DEEPEST = 2


class Forwards(Part):
    """Answers for the layers of one project."""

    def parts(self, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The kinds of the parts of a layer's result, if its code shows a number among them; otherwise None.

        Args:
            owner: the qualified name of the layer's class.
        """
        found = Modules.of(self._project).method(owner, "forward")
        if found is None or not self._is_mixed(*found):
            return None
        handed = [_as_input(kind) for kind in arguments]
        left = dict.fromkeys(required_parameters(found[1])[len(arguments) :], GUESS)
        named = {name: _as_input(kind) for name, kind in keywords.items()}
        result = Values.of(self._project).result(found[0], found[1], owner, handed, {**left, **named})
        if result is None or result.tag != TUPLE_TAG:
            return None
        return tuple_of(TENSOR if part.guess or part.tag == UNKNOWN_TAG else part for part in result.items)

    @query
    def _is_mixed(self, file: FileIndex, scope: Scope) -> bool:
        """Whether a ``forward`` returns tuples of one length, some with a part that is obviously a number."""
        tuples = _tuples(scope)
        return bool(tuples) and any(self._is_number(part, file, scope, 0) for part in tuples[0].elts)

    def _is_number(self, node: ast.expr, file: FileIndex, scope: Scope, depth: int) -> bool:
        """Whether an expression, or the single value of a name, is a host value whatever its names mean."""
        value = node
        if isinstance(node, ast.Name):
            made = Values.of(self._project).own_definitions(scope).get(node.id)
            if made is None:
                return depth < _DEEPEST and self._is_number_of_a_call(node.id, file, scope, depth + 1)
            value = made
        while isinstance(value, ast.Subscript):
            value = value.value
        if isinstance(value, ast.Constant):
            return value.value is not None
        if isinstance(value, ast.Attribute):
            return value.attr in _HOST_ATTRIBUTES
        if not isinstance(value, ast.Call):
            return False
        name = dotted(value.func) or ""
        if name in _HOST_CALLS or file.names.resolve(name).startswith(HOST_MODULES):
            return True
        return isinstance(value.func, ast.Attribute) and value.func.attr in _HOST_METHODS

    def _is_number_of_a_call(self, name: str, file: FileIndex, scope: Scope, depth: int) -> bool:
        """Whether a name is bound once, to a number in the tuple that a function of the project returns."""
        bound = [item.node for item in bindings_of(scope).get(name, ())]
        node = bound[0] if len(bound) == 1 else None
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
            return False
        target = node.targets[0]
        places = [dotted(part) for part in target.elts] if isinstance(target, ast.Tuple) else []
        found = (
            Values.of(self._project).callee(file, scope, dotted(node.value.func) or "", {}) if name in places else None
        )
        tuples = _tuples(found[1]) if found is not None else []
        if found is None or not tuples or len(tuples[0].elts) != len(places):
            return False
        return self._is_number(tuples[0].elts[places.index(name)], *found, depth)


def _tuples(scope: Scope) -> list[ast.Tuple]:
    """The tuples that a function returns, if they always have one length; otherwise none."""
    returned = [item.node.value for item in scope.statements if isinstance(item.node, ast.Return)]
    tuples = [value for value in returned if isinstance(value, ast.Tuple)]
    return tuples if len(tuples) == len(returned) and len({len(value.elts) for value in tuples}) == 1 else []


def _as_input(kind: Kind) -> Kind:
    """The kind of a layer's argument: a tensor, if nothing else is known."""
    return GUESS if kind.tag == UNKNOWN_TAG else kind
