"""Numbers that code says without running: constants, arithmetic on them, attributes, parameters left at defaults."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import default_of, is_spread
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.vocabulary import is_given_by_data

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MAX_DEPTH = 8


_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"int": int, "round": round, "max": max, "min": min, "abs": abs}

Parameter = tuple["FileIndex", Scope, str]


@dataclass(frozen=True)
class Size:
    """A number that is known, or a list of them (``items``).

    ``assumed``: the parameters that it takes at their defaults.  ``given``: it depends on what a call hands to the
    function that is looked at.  ``attribute``: it came through an attribute of an object.
    """

    value: float = 0
    items: tuple[Size | None, ...] | None = None
    assumed: frozenset[Parameter] = frozenset()
    given: bool = False
    attribute: bool = False

    @property
    def width(self) -> int | None:
        """The number as a width, None if it is no whole number."""
        return self.value if self.items is None and isinstance(self.value, int) else None

    def made_of(self, value: float, *others: Size) -> Size:
        """A number computed from this one and others."""
        parts = (self, *others)
        return Size(
            value,
            None,
            frozenset().union(*(part.assumed for part in parts)),
            any(part.given for part in parts),
            any(part.attribute for part in parts),
        )


Bound = Mapping[str, "Size | None"]
Written = Mapping[str, "ast.expr | None"]
"""The names that a scope binds: to what, or None for those that are bound more than once."""


@dataclass
class Sizes:
    """Evaluates expressions of one function.

    Args:
        bound: for functions whose call is known, the numbers of their parameters (None: not known).
        written: what was worked out for scopes already; shared by all that belong to one question.
    """

    file: FileIndex
    scope: Scope
    bound: Mapping[Scope, Bound] = field(default_factory=dict)
    written: dict[Scope, Written] = field(default_factory=dict)

    def at(self, file: FileIndex, scope: Scope, bound: Mapping[Scope, Bound] | None = None) -> Sizes:
        """The same for another function."""
        return Sizes(file, scope, self.bound if bound is None else bound, self.written)

    def value(self, node: ast.expr | None, depth: int = 0) -> Size | None:
        """The number an expression stands for, None if the code does not say."""
        if node is None or depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return (
                Size(node.value) if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) else None
            )
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = dotted(node)
            return None if name is None or is_given_by_data(name.rpartition(".")[2]) else self._named(name, depth)
        if isinstance(node, (ast.List, ast.Tuple)):
            return Size(items=tuple(self.value(item, depth + 1) for item in node.elts))
        if isinstance(node, ast.Subscript):
            return self._item(node, depth)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return self._computed(_OPERATORS[type(node.op)], [node.left, node.right], depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            function = _FUNCTIONS.get(node.func.id)
            return self._computed(function, node.args, depth) if function and node.args else None
        return None

    def _computed(self, function: Callable[..., float], nodes: list[ast.expr], depth: int) -> Size | None:
        parts = [self.value(node, depth + 1) for node in nodes]
        known = [part for part in parts if part is not None and part.items is None]
        if len(known) != len(nodes):
            return None
        try:
            return known[0].made_of(function(*(part.value for part in known)), *known[1:])
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _item(self, node: ast.Subscript, depth: int) -> Size | None:
        base, index = self.value(node.value, depth + 1), self.value(node.slice, depth + 1)
        if isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.op, ast.USub):
            index = self.value(node.slice.operand, depth + 1)
            index = index and Size(-index.value)
        if base is None or base.items is None or index is None or index.width is None:
            return None
        if not -len(base.items) <= index.width < len(base.items):
            return None
        found = base.items[index.width]
        return found and found.made_of(found.value, Size(0, None, base.assumed, base.given, base.attribute))

    def _named(self, name: str, depth: int) -> Size | None:
        scope: Scope | None = self.scope
        while scope is not None:
            inner = self.at(self.file, scope)
            written = inner._written()
            if name in scope.parameters:
                return None if name in written else inner._parameter(name, depth)
            if name in written:
                return inner.value(written[name], depth + 1)
            scope = scope.parent
        first, _, rest = name.partition(".")
        if first in ("self", "cls") and rest and "." not in rest and self.scope.owner is not None:
            found = self._attribute(self.file, self.scope.owner, rest, depth)
            return found and Size(found.value, found.items, found.assumed, found.given, True)
        return None

    def _written(self) -> Written:
        if self.scope not in self.written:
            once = Values.of(self.file.project).own_definitions(self.scope)
            if isinstance(self.scope.node, ast.Module):
                inside = {
                    item.value
                    for owner in self.file.scopes.classes.values()
                    for item in owner.node.body
                    if isinstance(item, ast.Assign)
                }
                self.written[self.scope] = {name: value for name, value in once.items() if value not in inside}
            else:
                self.written[self.scope] = {name: once.get(name) for name in bindings_of(self.scope)}
        return self.written[self.scope]

    def _parameter(self, name: str, depth: int) -> Size | None:
        known = self.bound.get(self.scope)
        if known is not None:
            return known.get(name)
        if self.scope.owner is not None and self.scope.name != "__init__":
            return None
        found = self.at(self.file, self.file.scopes.module).value(default_of(self.scope, name), depth + 1)
        return found and Size(
            found.value, found.items, found.assumed | {(self.file, self.scope, name)}, found.given, found.attribute
        )

    def _attribute(self, file: FileIndex, owner: Class, name: str, depth: int) -> Size | None:
        """``self.name``: assigned once in the class, or in its body, or in a base class."""
        if depth > _MAX_DEPTH:
            return None
        assigned = owner.attributes.get(name, [])
        in_body = [
            item.value
            for item in owner.node.body
            if isinstance(item, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in item.targets)
        ]
        if len(assigned) + len(in_body) == 1:
            if in_body:
                return self.at(file, file.scopes.module).value(in_body[0], depth + 1)
            value, where = assigned[0]
            return self.at(file, where).value(value, depth + 1)
        if assigned or in_body:
            return None
        inherited = (self._attribute(*base, name, depth + 2) for base in Hierarchy.of(file.project).bases(file, owner))
        return next((size for size in inherited if size is not None), None)


def default_holds(parameter: Parameter) -> bool:
    """Whether every place of the project that makes a class, or calls a function, leaves a parameter at its default.

    False also where nothing in the project does: then a configuration may.
    """
    file, scope, name = parameter
    graph = CallGraph.of(file.project)
    calls = graph.calls(file, scope, Certainty.NAME)
    if not calls or graph.others(file, scope) is Certainty.SURE:
        return False
    return not any(site.argument(scope, name) is not None or is_spread(site.call) for site in calls)


def is_super_init(call: ast.Call) -> bool:
    """Whether a call is ``super().__init__(...)``."""
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "__init__"
        and isinstance(func.value, ast.Call)
        and dotted(func.value.func) == "super"
    )
