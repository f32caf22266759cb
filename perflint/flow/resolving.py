"""Connects the parts of the index: what the evaluator of expressions needs to know about other functions and files."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from perflint.configuration.settings import Settings
from perflint.flow.calls import CallGraph
from perflint.flow.evaluate import HOST_MODULES
from perflint.flow.sources import Through, sources
from perflint.flow.values import Values
from perflint.index.hierarchy import Registries
from perflint.index.kinds import (
    GUESS,
    LAYER_TAG,
    TENSOR,
    TUPLE_TAG,
    UNKNOWN_TAG,
    Kind,
    join,
    tuple_of,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place, Project, Resolver
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.query import query
from perflint.syntax.bindings import definitions_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for, fits, required_parameters, written_entries
from perflint.syntax.reaching import is_bound, is_mutated
from perflint.syntax.scopes import FUNCTIONS, Class, Scope
from perflint.syntax.tree import base_of, string_of
from perflint.text.source import Source

# Finds what the layers of a project return besides tensors: numbers in the tuples that ``forward`` returns.

_HOST_CALLS = frozenset({"len", "int", "float", "bool", "str"})
_HOST_ATTRIBUTES = frozenset({"shape", "ndim"})
_HANDED_ON = Through.NAME | Through.ITEM | Through.RETURN


class Forwards(Part):
    """Answers for the layers of one project."""

    def parts(self, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The kinds of the parts of a layer's result, if its code shows a number among them; otherwise None.

        Args:
            owner: the qualified name of the layer's class.
        """
        found = Modules.of(self._project).method(owner, "forward")
        if found is None or not self._is_mixed(found):
            return None
        handed = [_as_input(kind) for kind in arguments]
        left = dict.fromkeys(required_parameters(found[1])[len(arguments) :], GUESS)
        named = {name: _as_input(kind) for name, kind in keywords.items()}
        result = Values.of(self._project).result(found, owner, handed, {**left, **named})
        if result is None or result.tag != TUPLE_TAG:
            return None
        return tuple_of(TENSOR if part.guess or part.tag == UNKNOWN_TAG else part for part in result.items)

    @query(cycle=False)
    def _is_mixed(self, at: Place) -> bool:
        """Whether a ``forward`` returns tuples of one length, some with a part that is obviously a number."""
        tuples = _tuples(at.scope)
        return bool(tuples) and any(_is_number(part, at) for part in tuples[0].elts)


def _is_number(node: ast.expr, at: Place) -> bool:
    """Whether an expression is a host value whatever its names mean: a literal, a length, what a read gives."""
    found = list(sources(node, at, through=_HANDED_ON))
    return bool(found) and all(_is_on_host(source.node, source.place) for source in found)


def _is_on_host(node: ast.expr, at: Place) -> bool:
    node = base_of(node)
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.Dict):
        return any(_is_number(item, at) for item in node.values)
    if isinstance(node, ast.Attribute):
        return node.attr in _HOST_ATTRIBUTES
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func) or ""
    if name in _HOST_CALLS or at.file.names.resolve(name).startswith(HOST_MODULES):
        return True
    return isinstance(node.func, ast.Attribute) and node.func.attr in READ_METHODS


def _tuples(scope: Scope) -> list[ast.Tuple]:
    """The tuples that a function returns, if they always have one length; otherwise none."""
    returned = [item.node.value for item in scope.statements if isinstance(item.node, ast.Return)]
    tuples = [value for value in returned if isinstance(value, ast.Tuple)]
    return tuples if len(tuples) == len(returned) and len({len(value.elts) for value in tuples}) == 1 else []


def _as_input(kind: Kind) -> Kind:
    """The kind of a layer's argument: a tensor, if nothing else is known."""
    return GUESS if kind.tag == UNKNOWN_TAG else kind


# Classes and functions that code looks up by a literal name: in a plain dict, in a module, or through a function.
#
# ``CLASSES["loss"]()``, ``CLASSES.get("loss")()``, ``getattr(meters, "LossMeter")()``, and ``build("loss")`` where
# ``build`` returns one of these. If a configuration contains the name, as in ``losses.__dict__[cfg.type]()`` or
# ``CLASSES[cfg.type]()``, it is one of all the layers there.

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
            return self._called(file, found, string_of(found.key), arguments, keywords, call)
        return self._through(file, call)

    def _called(
        self,
        file: FileIndex,
        found: _LookUp,
        key: str | None,
        arguments: list[Kind],
        keywords: dict[str, Kind],
        call: ast.Call | None = None,
    ) -> Kind | None:
        if key is None:
            return self._any_layer(file, found, call)
        if found.is_attribute:
            name = dotted(found.holder)
            return (
                Values.of(self._project).call(file, file.names.resolve(f"{name}.{key}"), arguments, keywords)
                if name
                else None
            )
        table = self._table(file, found.holder)
        if table is None:
            return None
        where, entries = table
        entry = dotted(entries[key]) if key in entries else None
        return Values.of(self._project).call(where, where.names.resolve(entry), arguments, keywords) if entry else None

    def _any_layer(self, file: FileIndex, found: _LookUp, call: ast.Call | None) -> Kind | None:
        """A layer of any class that a look-up may give; None if it may return something else, or one of very many."""
        where = self._module(file, found)
        if where is not None:
            return _one_of(where, self._names_in(where), call)
        table = None if found.is_attribute else self._table(file, found.holder)
        return _one_of(table[0], map(dotted, table[1].values()), call) if table is not None else None

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
    def _names_in(self, module: FileIndex) -> list[str]:
        """The names that a module binds, or imports from another one."""
        modules = [module, *(Modules.of(self._project).module_named(name, module) for name in module.names.stars)]
        return sorted({name for where in modules if where is not None for name in where.names.bound})

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
        definitions = definitions_of(scope)
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
            return self._bound(Place(file, scope), name)
        if name in definitions_of(file.scopes.module):
            return self._bound(Place(file, file.scopes.module), name)
        module, _, last = file.names.resolve(name).rpartition(".")
        where = (
            Modules.of(self._project).module_named(module, file)
            if module and file.names.is_bound(name.split(".")[0])
            else None
        )
        return self._bound(Place(where, where.scopes.module), last) if where is not None else None

    def _bound(self, at: Place, name: str) -> Table | None:
        value = definitions_of(at.scope).get(name)
        entries = _entries(value) if value is not None else None
        return (at.file, entries) if entries is not None and not self._is_mutated(at.file, name) else None

    @query
    def _is_mutated(self, file: FileIndex, name: str) -> bool:
        return is_mutated(name, file.tree)


def _one_of(file: FileIndex, names: Iterable[str | None], call: ast.Call | None) -> Kind | None:
    """An instance of one of the classes that some names of a file refer to, if all are layers and there are few.

    Of classes, and of the functions that create a layer, only those count that take the arguments of ``call``.
    """
    modules, values = Modules.of(file.project), Values.of(file.project)
    named = {name: modules.find(file.names.resolve(name), file) for name in names if name is not None}
    found = {place: name for name, place in named.items() if place is not None}
    classes = [(home, one) for home, one in found if isinstance(one, Class) and _takes(home, one, call)]
    functions = [(home, one) for home, one in found if isinstance(one, Scope) and _takes(home, one, call)]
    if not len(classes) + len(functions) > 0 or len(classes) > _MOST_LAYERS:
        return None
    kinds = [modules.kind_of_instance(*place) for place in classes]
    if any(kind.tag != LAYER_TAG for kind in kinds):
        return None
    if len(functions) <= _MOST_LAYERS:
        made = (values.call(file, file.names.resolve(found[each]), [], {}) for each in functions)
        kinds += [kind for kind in made if kind is not None and kind.tag == LAYER_TAG]
    return reduce(join, kinds) if kinds else None


def _takes(file: FileIndex, one: Class | Scope, call: ast.Call | None) -> bool:
    """Whether a class or a function takes the arguments of a call; None: any."""
    place = Modules.of(file.project).method_of(file, one, "__init__") if isinstance(one, Class) else Place(file, one)
    return call is None or place is None or fits(place.scope, call)


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


# Opens a project: the one place that connects the parts that answer questions about it.


def resolver_of(project: Project) -> Resolver:
    """What the evaluators of a project's expressions need to know about other functions and files."""
    values = Values.of(project)
    above = Forwards.of(project).parts, Tables.of(project).call, CallGraph.of(project).handed
    return Resolver(values.call, values.call_method, values.call_function, values.attribute, *above)


def opened(sources: Mapping[str, Source], settings: Settings | None = None) -> Project:
    """Create a project that can answer questions.

    Args:
        sources: every readable file by path.
        settings: the settings of the run (default: those of a run without configuration).
    """
    project = Project(sources, settings)
    project.resolving = resolver_of(project)
    return project
