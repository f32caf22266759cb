"""The calls of a name, and what each hands over: read off the call sites, wherever they lead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

Site = tuple["FileIndex", Scope, ast.Call]
Placed = tuple["FileIndex", Scope, Statement, ast.Call]
"""A call site with the statement that it stands in."""


class Callers(Part):
    """The call sites of one project's functions."""

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
        is_near = not module or file.has_words(module)
        return is_near and file.may_be_member(name)

    @query
    def _in_file(self, name: str, file: FileIndex) -> list[Placed]:
        return [(file, *call) for call in file.calls_named(name)]

    @query
    def attributes_holding(self, name: str) -> frozenset[str]:
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
