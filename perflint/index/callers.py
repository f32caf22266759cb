"""Who calls a function, and what it is handed: read off the call sites, without following what happens before them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from perflint.index.kinds import DATASET_TAG, FUNCTION_TAG, LAYER_TAG, LOADER_TAG, OBJECT_TAG, UNKNOWN_TAG, Kind, join
from perflint.index.mentions import is_member
from perflint.index.names import dotted
from perflint.index.scopes import Class, Scope, Statement
from perflint.query import query

if TYPE_CHECKING:
    from perflint.index.file import FileIndex
    from perflint.index.project import Project

_LASTING = frozenset({OBJECT_TAG, LAYER_TAG, LOADER_TAG, FUNCTION_TAG, DATASET_TAG})
"""Kinds that an object keeps while the program runs; what a tensor is depends on where it is asked."""

_MOST_SITES = 12

_NOTHING: Mapping[str, Kind] = {}

Site = tuple["FileIndex", Scope, ast.Call]
Placed = tuple["FileIndex", Scope, Statement, ast.Call]
"""A call site with the statement that it stands in."""


class Callers:
    """The call sites of one project's functions."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.memory = project.memory

    def sites(self, scope: Scope) -> list[Site]:
        """The calls that reach a function, found through its name and the attributes that hold it."""
        if scope.name == "__init__" and scope.owner is not None:
            names = {scope.owner.name}
        else:
            names = {scope.name, *self._attributes_holding(scope.name)}
        reaching = (site for name in sorted(names) for site in self._reaching(name, scope))
        return list(islice(reaching, _MOST_SITES))

    def _reaching(self, name: str, scope: Scope) -> Iterator[Site]:
        for file, caller, call in islice(self.each(name), 4 * _MOST_SITES):
            if any(target is scope for target in self._reached(file, caller, call)):
                yield file, caller, call

    def named(self, name: str) -> list[Site]:
        """The calls whose last name is this one, wherever they lead."""
        return list(self.each(name))

    def each(self, name: str, home: FileIndex | None = None) -> Iterator[Site]:
        """The calls of ``placed`` without their statements."""
        return ((file, scope, call) for file, scope, _, call in self.placed(name, home))

    def placed(self, name: str, home: FileIndex | None = None, of_module: bool = False) -> Iterator[Placed]:
        """The calls whose last name is this one, with their statements, each file parsed when its calls are asked for.

        Args:
            name: the last name of what is called.
            home: the file of the one function or class that is meant, if one is.  Its own calls come first, and files
                that can only mean something of their own by the name are left out.
            of_module: a function of the module is meant, so that ``x.name()`` calls it only where ``x`` is the module.
        """
        module = home.module.rpartition(".")[2] if home is not None and of_module else ""
        files = self._project.mentions.of(name)
        for file in files if home is None else sorted(files, key=lambda file: file is not home):
            if file.is_quiet or not file.may_call(name) or file.is_foreign:
                continue
            if home is None or file is home or self._may_mean_another(name, file, module):
                yield from self._in_file(name, file)

    @query
    def _may_mean_another(self, name: str, file: FileIndex, module: str) -> bool:
        """Whether a file may call what another has by a name: it binds it, but not by a ``def``, or it is a member.

        ``module``: what it has to be a member of, ``""`` for anything.
        """
        if file.may_hold(name) or file.may_have_stars:
            return True
        is_near = not module or module in file.words
        return is_near and file.of_text(("member", name), lambda text: is_member(text, name))

    @query
    def _in_file(self, name: str, file: FileIndex) -> list[Placed]:
        return [(file, *call) for call in file.calls_named(name)]

    def functions_handed(self, scope: Scope, parameter: str) -> list[tuple[FileIndex, Scope]]:
        """The project functions that callers hand to a function as one of its parameters."""
        found: list[tuple[FileIndex, Scope]] = []
        for file, caller, call in self.sites(scope):
            argument = argument_for(scope, call, parameter)
            kind = self._project.lasting_kind(file, caller, argument) if argument is not None else None
            found += self._project.functions_of_kind(kind) if kind is not None else []
        return found

    @query(cycle=_NOTHING, again=True)  # a recursive call adds nothing
    def handed(self, scope: Scope) -> Mapping[str, Kind]:
        """The kinds of objects that the known callers hand to a function, by parameter."""
        env: dict[str, Kind] = {}
        for file, caller, call in self.sites(scope) if scope.parameters else ():
            for parameter in scope.parameters:
                argument = argument_for(scope, call, parameter)
                if argument is None:
                    continue
                kind = self._project.lasting_kind(file, caller, argument)
                if kind.tag in _LASTING:
                    known = env.get(parameter)
                    env[parameter] = kind if known is None else join(known, kind)
        return {name: kind for name, kind in env.items() if kind.tag != UNKNOWN_TAG}

    def _reached(self, file: FileIndex, caller: Scope, call: ast.Call) -> list[Scope]:
        name = dotted(call.func)
        if name is None:
            return []
        found = self._project.callee(file, caller, name, {})
        if found is not None:
            return [found[1]]
        made = self._project.find(file.names.resolve(name), file)
        if made is not None and isinstance(made[1], Class):
            built = self._project.method_of(made[0], made[1], "__init__")
            return [built[1]] if built else []
        kind = self._project.lasting_kind(file, caller, call.func)
        return [function for _, function in self._project.functions_of_kind(kind)]

    @query
    def _attributes_holding(self, name: str) -> frozenset[str]:
        """The attributes that a function is kept in: ``self.train_epoch_func = train.train_epoch``."""
        return frozenset(
            attribute
            for file in self._project.mentions.assigned(name)
            for owner in file.scopes.classes.values()
            for attribute, values in owner.attributes.items()
            for value, _ in values
            if attribute != name
            and (
                (isinstance(value, ast.Name) and value.id == name)
                or (isinstance(value, ast.Attribute) and value.attr == name)
            )
        )


def argument_for(scope: Scope, call: ast.Call, parameter: str) -> ast.expr | None:
    """The expression that a call hands over for a parameter; None when it is left out or cannot be told."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    position = scope.parameters.index(parameter) if parameter in scope.parameters else len(call.args)
    before = call.args[: position + 1]
    if position >= len(call.args) or any(isinstance(argument, ast.Starred) for argument in before):
        return None
    return call.args[position]
