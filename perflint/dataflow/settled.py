"""Values that are settled before the program runs: parameters and attributes that nobody in the project changes.

``def stack(x, is_decoder)`` whose every caller hands over ``False`` never takes the branch ``if is_decoder:``, and
neither does a class whose every construction says so.  Only what is certain counts: one caller that cannot be read,
one other place that stores the attribute, a registry or a decorator that may call as well, and nothing is settled.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, default_of, is_spread
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MAX_DEPTH = 5


class Known(Mapping[str, ast.expr]):
    """What the names of a scope stand for: those bound once (``own``), then those that are settled.

    Asking for a name looks for the latter in all calls of the function, so it should be asked last.
    """

    def __init__(self, own: Mapping[str, ast.expr], settled: Settled, file: FileIndex, scope: Scope) -> None:
        self.own = own
        self._settled = settled
        self._at = file, scope

    def __getitem__(self, name: str) -> ast.expr:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: ast.expr | None = None) -> ast.expr | None:  # type: ignore[override]  # keys are names
        """The expression a name stands for."""
        value = self.own.get(name)
        return value if value is not None else self._settled.constant(name, *self._at) or default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)


class Settled(Part):
    """Answers for one project; what was asked once is kept."""

    def known(self, file: FileIndex, scope: Scope, handed: Mapping[str, ast.expr] | None = None) -> Known:
        """What the names in the tests of a scope stand for: its definitions, what it is handed, what is settled."""
        own = Values.of(self._project).definitions(file, scope)
        return Known({**own, **handed} if handed else own, self, file, scope)

    def constant(self, name: str, file: FileIndex, scope: Scope) -> ast.Constant | None:
        """The constant that a parameter, or ``self.name``, has whenever a function runs; None where it may differ."""
        first, _, rest = name.partition(".")
        if not rest:
            return self._parameter(name, file, scope, 0) if name in all_parameters(scope) else None
        owner = scope.owner if first == "self" and "." not in rest else None
        return self._attribute(rest, file, owner, 0) if owner is not None else None

    def _value(self, node: ast.expr, file: FileIndex, scope: Scope, depth: int) -> ast.Constant | None:
        if isinstance(node, ast.Constant):
            return node
        name = dotted(node)
        if name is None or depth > _MAX_DEPTH:
            return None
        known = Values.of(self._project).definitions(file, scope).get(name)
        if known is not None:
            return self._value(known, file, scope, depth + 1)
        first, _, rest = name.partition(".")
        if not rest:
            return self._parameter(name, file, scope, depth + 1) if name in all_parameters(scope) else None
        owner = scope.owner if first == "self" and "." not in rest else None
        return self._attribute(rest, file, owner, depth + 1) if owner is not None else None

    # -- parameters --------------------------------------------------------------------------------------------

    @query(cycle=None)  # a function that hands its own parameter on
    def _parameter(self, name: str, file: FileIndex, scope: Scope, depth: int) -> ast.Constant | None:
        graph = CallGraph.of(self._project)
        if name in bindings_of(scope) or graph.is_handed_over(file, scope):
            return None
        default = default_of(scope, name)
        found: ast.Constant | None = None
        for site in graph.calls(file, scope, Certainty.NAME):
            argument = site.argument(scope, name)
            value = self._value(argument, site.file, site.scope, depth) if argument is not None else default
            if is_spread(site.call) or not isinstance(value, ast.Constant) or (found and not _same(found, value)):
                return None
            found = value
        return found if found is not None and graph.others(file, scope) is Certainty.NO else None

    # -- attributes --------------------------------------------------------------------------------------------

    @query(cycle=None)
    def _attribute(self, name: str, file: FileIndex, owner: Class, depth: int) -> ast.Constant | None:
        """What an attribute is bound to at the one place that stores it, in ``__init__``."""
        assigned = owner.attributes.get(name, [])
        if len(assigned) != 1 or assigned[0][1].name != "__init__" or name == "training":
            return None
        value, scope = assigned[0]
        constant = self._value(value, file, scope, depth)
        if constant is None or name in owner.methods or not Hierarchy.of(self._project).is_plain(file, owner):
            return None
        stores = [
            where
            for where in self._stores(name)
            if where is None or Hierarchy.of(self._project).are_related(where, owner)
        ]
        own = file.source.lines.between(owner.node.lineno, owner.node.end_lineno or owner.node.lineno)
        return constant if stores == [owner] and "setattr(" not in own and "__dict__" not in own else None

    def _stores(self, name: str) -> list[Class | None]:
        """Every store of an attribute of this name: the class whose ``self`` it is on, None for another object."""
        return [where for file in self._project.mentions.of(name) for where in self._stored_in(file).get(name, ())]

    @query
    def _stored_in(self, file: FileIndex) -> Mapping[str, list[Class | None]]:
        found: dict[str, list[Class | None]] = defaultdict(list)
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                for target in _targets(statement.node):
                    if isinstance(target, ast.Attribute):
                        own = isinstance(target.value, ast.Name) and target.value.id == "self"
                        found[target.attr].append(scope.owner if own else None)
        return found


def _same(first: ast.Constant, second: ast.Constant) -> bool:
    return type(first.value) is type(second.value) and bool(first.value == second.value)


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement binds, one by one."""
    given: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        given = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        given = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        given = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in given:
        if isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
            yield from (item for item in walk(target) if isinstance(item, (ast.Name, ast.Attribute)))
        else:
            yield target
