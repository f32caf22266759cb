"""Classes and functions that code looks up by a literal name: in a plain dict, in a module, or through a function.

``CLASSES["loss"]()``, ``CLASSES.get("loss")()``, ``getattr(meters, "LossMeter")()``, and ``build("loss")`` where
``build`` returns one of these. If a configuration contains the name, as in ``losses.__dict__[cfg.type]()`` or
``CLASSES[cfg.type]()``, it is one of all the layers there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING

from perflint.dataflow.objects import written_entries
from perflint.dataflow.values import Values
from perflint.index.kinds import LAYER_TAG, Kind, join
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.index.registries import Registries
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for
from perflint.syntax.reaching import is_bound, is_mutated
from perflint.syntax.scopes import FUNCTIONS, Class, Scope
from perflint.syntax.tree import string_of

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MOST_LAYERS = 30
"""How many classes a name in a configuration may mean; with more, nothing is known about the result."""

Table = tuple["FileIndex", Mapping[str, ast.expr]]


@dataclass(frozen=True)
class _LookUp:
    """``holder[key]``, ``holder.get(key)`` or, as an attribute, ``getattr(holder, key)``."""

    holder: ast.expr
    key: ast.expr
    is_attribute: bool = False


class Tables(Part):
    """Answers for the calls of one project."""

    def call(self, file: FileIndex, call: ast.Call, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a call whose function or class is looked up by a literal name; None if it is not known.

        Args:
            arguments: the kinds of the positional arguments, and ``keywords`` those by name.
        """
        found = _look_up(call.func)
        if found is not None:
            return self._called(file, found, string_of(found.key), arguments, keywords)
        return self._through(file, call)

    def _called(
        self, file: FileIndex, found: _LookUp, key: str | None, arguments: list[Kind], keywords: dict[str, Kind]
    ) -> Kind | None:
        if key is None:
            return self._any_layer(file, found)
        if found.is_attribute:
            name = dotted(found.holder)
            return (
                Values.of(self._project).call(file.names.resolve(f"{name}.{key}"), file, arguments, keywords)
                if name
                else None
            )
        table = self._table(file, found.holder)
        if table is None:
            return None
        where, entries = table
        entry = dotted(entries[key]) if key in entries else None
        return Values.of(self._project).call(where.names.resolve(entry), where, arguments, keywords) if entry else None

    def _any_layer(self, file: FileIndex, found: _LookUp) -> Kind | None:
        """A layer of any class that a look-up may give; None if it may return something else, or one of very many."""
        where = self._module(file, found)
        if where is not None:
            return self._layer_of(where)
        table = None if found.is_attribute else self._table(file, found.holder)
        return _one_of(table[0], map(dotted, table[1].values())) if table is not None else None

    def _module(self, file: FileIndex, found: _LookUp) -> FileIndex | None:
        """The module whose names are looked up, as in ``getattr(models, name)`` and ``globals()[name]``."""
        holder = found.holder
        if not found.is_attribute:
            if isinstance(holder, ast.Call) and dotted(holder.func) == "globals":
                return file
            if not isinstance(holder, ast.Attribute) or holder.attr != "__dict__":
                return None
            holder = holder.value
        name = dotted(holder)
        if name is None or not file.names.is_bound(name.partition(".")[0]):
            return None
        return Modules.of(self._project).module_named(file.names.resolve(name), file)

    @query
    def _layer_of(self, module: FileIndex) -> Kind | None:
        """A layer of any class that a module defines, or imports from another one."""
        modules = [module, *(Modules.of(self._project).module_named(name, module) for name in module.names.stars)]
        names = {name for where in modules if where is not None for name in where.names.bound}
        return _one_of(module, sorted(names))

    def _through(self, file: FileIndex, call: ast.Call) -> Kind | None:
        """The result of a function that looks up one of its parameters, for which the call passes a literal."""
        if not any(string_of(node) is not None for node in [*call.args, *(item.value for item in call.keywords)]):
            return None
        name = dotted(call.func)
        is_known = name is not None and file.names.is_bound(name.partition(".")[0])
        found = (
            Modules.of(self._project).find(file.names.resolve(name), file) if name is not None and is_known else None
        )
        if found is None or not isinstance(found[1], Scope):
            return None
        where, scope = found[0], found[1]
        look_up = self._builds(scope)
        if look_up is None:
            return None
        given = argument_for(scope, call, look_up.key.id) if isinstance(look_up.key, ast.Name) else None
        key = string_of(given) if given is not None else None
        made = self._called(where, look_up, key, [], {})
        holder = dotted(look_up.holder)
        if made is None and key is not None and holder and not look_up.is_attribute:
            return Registries.of(self._project).registered(key, holder.rpartition(".")[2])
        return made

    @query
    def _builds(self, scope: Scope) -> _LookUp | None:
        """The lookup by a parameter that a function calls and returns, if that is all it returns."""
        returned = [item.node.value for item in scope.statements if isinstance(item.node, ast.Return)]
        value = returned[0] if len(returned) == 1 else None
        definitions = Values.of(self._project).own_definitions(scope)
        if isinstance(value, ast.Name):
            value = definitions.get(value.id)
        if not isinstance(value, ast.Call):
            return None
        function = definitions.get(value.func.id, value.func) if isinstance(value.func, ast.Name) else value.func
        found = _look_up(function)
        if found is None or not isinstance(found.key, ast.Name) or found.key.id not in scope.parameters:
            return None
        return None if is_bound(found.key.id, scope) else found

    # -- dicts -------------------------------------------------------------------------------------------------

    def _table(self, file: FileIndex, holder: ast.expr) -> Table | None:
        """The entries of a literal dict, and the file whose names are in it."""
        name = dotted(holder)
        if name is None:
            entries = _entries(holder)
            return (file, entries) if entries is not None else None
        scope = _scope_around(file, holder)
        if scope is not None and (name in scope.parameters or is_bound(name, scope)):
            return self._bound(file, scope, name)
        if name in Values.of(self._project).own_definitions(file.scopes.module):
            return self._bound(file, file.scopes.module, name)
        module, _, last = file.names.resolve(name).rpartition(".")
        where = (
            Modules.of(self._project).module_named(module, file)
            if module and file.names.is_bound(name.split(".")[0])
            else None
        )
        return self._bound(where, where.scopes.module, last) if where is not None else None

    def _bound(self, file: FileIndex, scope: Scope, name: str) -> Table | None:
        value = Values.of(self._project).own_definitions(scope).get(name)
        entries = _entries(value) if value is not None else None
        return (file, entries) if entries is not None and not self._is_mutated(file, name) else None

    @query
    def _is_mutated(self, file: FileIndex, name: str) -> bool:
        return is_mutated(name, file.tree)


def _one_of(file: FileIndex, names: Iterable[str | None]) -> Kind | None:
    """An instance of one of the classes that some names of a file refer to, if all are layers and there are few."""
    modules = Modules.of(file.project)
    found = (modules.find(file.names.resolve(name), file) for name in names if name is not None)
    classes = dict.fromkeys(
        (place[0], place[1]) for place in found if place is not None and isinstance(place[1], Class)
    )
    kinds = [modules.kind_of_instance(*place) for place in islice(classes, _MOST_LAYERS + 1)]
    if not 0 < len(kinds) <= _MOST_LAYERS or any(kind.tag != LAYER_TAG for kind in kinds):
        return None
    return reduce(join, kinds)


def _look_up(node: ast.expr) -> _LookUp | None:
    if isinstance(node, ast.Subscript):
        return _LookUp(node.value, node.slice)
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and len(node.args) in (1, 2):
        return _LookUp(node.func.value, node.args[0])
    if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) in (2, 3):
        return _LookUp(node.args[0], node.args[1], is_attribute=True)
    return None


def _entries(node: ast.expr) -> Mapping[str, ast.expr] | None:
    """The values of ``{"a": A}`` or ``dict(a=A)`` by their keys; None if a key is not a literal name."""
    entries = written_entries(node)
    return entries.values if entries is not None and entries.complete else None


def _scope_around(file: FileIndex, node: ast.expr) -> Scope | None:
    """The innermost function around an expression of a file."""
    around = [
        scope
        for scope in file.scopes.scopes
        if isinstance(scope.node, FUNCTIONS) and scope.node.lineno <= node.lineno <= (scope.node.end_lineno or 0)
    ]
    return max(around, key=lambda scope: scope.node.lineno if isinstance(scope.node, FUNCTIONS) else 0, default=None)
