"""Finds names that a function uses as NumPy arrays: it uses attributes of them that tensors do not have.

``lengths`` is an array in ``if lengths.max() > n: lengths = lengths.copy()``: no tensor has ``copy``.  Lists and dicts
have it, but no ``max``.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from perflint.dataflow.tensor_methods import is_of_arrays, is_of_arrays_alone, may_have_as_container
from perflint.syntax.bindings import values_bound_by
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, own_parts
from perflint.syntax.tree import string_of, walk

_ITEM = "[]"
"""What follows the name of a container if its items are meant."""
_OF_A_DICT = "keys"
"""The key of an item that only a dict has: ``logs["loss"]``."""


def arrays(scope: Scope) -> frozenset[str]:
    """Names on which a scope uses attributes that only arrays have, and none that they lack; also their containers."""
    return scope.once(arrays, lambda: _arrays(scope))


def _arrays(scope: Scope) -> frozenset[str]:
    """The names for which a scope does so; if it does so for the items of a name, that name holds arrays."""
    asked: dict[str, set[str]] = defaultdict(set)
    for statement in scope.statements:
        for name, attribute in _asked_by(own_parts(statement.node)):
            asked[name].add(attribute)
    found = {name.removesuffix(_ITEM) for name, attributes in asked.items() if _tell_of_an_array(attributes)}
    if not found:
        return frozenset()
    others = {name.removesuffix(_ITEM) for name, attributes in asked.items() if not all(map(is_of_arrays, attributes))}
    return frozenset(found - others - _converted(scope))


def _tell_of_an_array(attributes: set[str]) -> bool:
    return any(map(is_of_arrays_alone, attributes)) and not all(map(may_have_as_container, attributes))


def _asked_by(parts: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The used attributes, each with the name: ``x.max()``, ``x[0].flat`` (of an item of ``x``)."""
    for part in parts:
        for item in walk(part):
            if isinstance(item, ast.Attribute):
                holder, has_keys, suffix = item.value, False, ""
                while isinstance(holder, ast.Subscript):
                    has_keys = has_keys or string_of(holder.slice) is not None
                    holder, suffix = holder.value, _ITEM
                name = dotted(holder)
                if name is not None:
                    yield (name, _OF_A_DICT) if has_keys else (name + suffix, item.attr)


def _converted(scope: Scope) -> set[str]:
    """Names that are rebound to a conversion of themselves, and so have two meanings: ``x = np.asarray(x)``."""
    return {
        name
        for statement in scope.statements
        for name, value in values_bound_by(statement.node)
        if value is not None and name in _handed_over(value)
    }


def _handed_over(value: ast.expr) -> set[str]:
    calls = (item for item in walk(value) if isinstance(item, ast.Call))
    arguments = (part for call in calls for part in [*call.args, *(item.value for item in call.keywords)])
    return {name for argument in arguments for part in walk(argument) if (name := dotted(part)) is not None}
