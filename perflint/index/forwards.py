"""What the layers of a project give beside tensors: the numbers in the tuples that ``forward`` returns."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perflint.index.kinds import GUESS, TENSOR, TUPLE_TAG, UNKNOWN_TAG, Kind, tuple_of
from perflint.index.names import dotted
from perflint.index.scopes import Scope, required_parameters

if TYPE_CHECKING:
    from perflint.index.project import Project

_HOST_CALLS = frozenset({"len", "int", "float", "bool", "str"})
_HOST_METHODS = frozenset({"item", "tolist", "numpy"})
_HOST_ATTRIBUTES = frozenset({"shape", "ndim"})


class Forwards:
    """Answers for the layers of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._mixed: dict[Scope, bool] = {}

    def parts(self, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The kinds of the parts that a layer gives, where its code shows a number among them; None otherwise.

        Args:
            owner: the qualified name of the layer's class.
        """
        found = self._project.method(owner, "forward")
        if found is None or not self._is_mixed(found[1]):
            return None
        handed = [_as_input(kind) for kind in arguments]
        left = dict.fromkeys(required_parameters(found[1])[len(arguments) :], GUESS)
        named = {name: _as_input(kind) for name, kind in keywords.items()}
        result = self._project.result(found[0], found[1], owner, handed, {**left, **named})
        if result is None or result.tag != TUPLE_TAG:
            return None
        return tuple_of(TENSOR if part.guess or part.tag == UNKNOWN_TAG else part for part in result.items)

    def _is_mixed(self, scope: Scope) -> bool:
        """Whether a ``forward`` returns tuples of one length, some with a part that is a number at first sight."""
        if scope not in self._mixed:
            returned = [item.node.value for item in scope.statements if isinstance(item.node, ast.Return)]
            tuples = [value for value in returned if isinstance(value, ast.Tuple)]
            self._mixed[scope] = (
                bool(tuples)
                and len(tuples) == len(returned)
                and len({len(value.elts) for value in tuples}) == 1
                and any(_is_number(part, self._project.own_definitions(scope)) for part in tuples[0].elts)
            )
        return self._mixed[scope]


def _as_input(kind: Kind) -> Kind:
    """What a layer is handed: a tensor, where nothing else is known of it."""
    return GUESS if kind.tag == UNKNOWN_TAG else kind


def _is_number(node: ast.expr, definitions: Mapping[str, ast.expr]) -> bool:
    """Whether an expression, or what a name is bound to once, is a host value whatever its names hold."""
    value = definitions.get(node.id, node) if isinstance(node, ast.Name) else node
    while isinstance(value, ast.Subscript):
        value = value.value
    if isinstance(value, ast.Constant):
        return value.value is not None
    if isinstance(value, ast.Attribute):
        return value.attr in _HOST_ATTRIBUTES
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute):
        return value.func.attr in _HOST_METHODS
    return dotted(value.func) in _HOST_CALLS
