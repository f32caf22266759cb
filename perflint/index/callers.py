"""Finds the calls of a name, and its uses as a value, whatever they refer to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.index.project import FileIndex, Part
from perflint.query import query
from perflint.syntax.names import dotted, is_like, name_pattern
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import walk

Placed = tuple["FileIndex", Scope, Statement, ast.Call]
"""A call with its file, function and statement."""

_ASKS = frozenset({"super", "isinstance", "issubclass", "type"})
_LOOKS_UP = frozenset({"eval", "exec", "globals", "locals", "vars", "importlib.import_module", "import_module"})


@dataclass(frozen=True)
class HeldNames:
    """The names that a file uses other than by calling them, and whether it looks names up by a computed text."""

    held: frozenset[str]
    finds_names: bool
    finds_methods: bool


class Callers(Part):
    """The call sites of one project's functions."""

    def named(self, name: str, home: FileIndex | None = None) -> Iterator[Placed]:
        """The calls whose last name is this one, whatever they refer to: a file is parsed when its calls are needed.

        Args:
            name: the last part of the called name.
            home: the file of the function or class that is meant, if it is a certain one. Calls in that file come
                first, and files in which the name can only mean something else are left out.
        """
        files = self._project.mentions.of(name)
        for file in files if home is None else sorted(files, key=lambda file: file is not home):
            if file.is_quiet or not file.may_call(name) or file.is_foreign:
                continue
            if home is None or file is home or self._may_mean_another(name, file):
                yield from ((file, *call) for call in file.calls_named(name))

    @query
    def _may_mean_another(self, name: str, file: FileIndex) -> bool:
        """Whether a file may call another file's function by a name: it binds it, not by ``def``, or it is a member."""
        if file.may_hold(name) or file.may_have_stars:
            return True
        return file.may_be_member(name)

    @query
    def attributes_holding(self, name: str) -> frozenset[str]:
        """The attributes that a function is stored in: ``self.train_epoch_func = train.train_epoch``."""
        held = {
            attribute
            for file in self._project.mentions.assigned(name)
            for owner in file.scopes.classes.values()
            for attribute, values in owner.attributes.items()
            for value, _ in values
            if (value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")) == name
        }
        looked_up = {attribute for attribute, pattern in self._looked_up if is_like(name, *pattern)}
        return frozenset((held | looked_up) - {name})

    @property
    def _looked_up(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """The attributes set to ``getattr(module, mode + "_eval")``, with the ends of the name."""
        return (found for file in self._project.mentions.of("getattr") for found in self._looked_up_in(file))

    @query
    def _looked_up_in(self, file: FileIndex) -> list[tuple[str, tuple[str, str]]]:
        return [
            (attribute, pattern)
            for owner in file.scopes.classes.values()
            for attribute, values in owner.attributes.items()
            for value, _ in values
            if isinstance(value, ast.Call) and dotted(value.func) == "getattr" and len(value.args) > 1
            if (pattern := name_pattern(value.args[1])) is not None
        ]


@query
def held_names(file: FileIndex) -> HeldNames:
    """The names that a file uses as values."""
    nodes = list(walk(file.tree))
    named = {id(item) for node in nodes for item in _named_only(node)}
    held = frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and id(node) not in named
    )
    calls = [(dotted(node.func), node) for node in nodes if isinstance(node, ast.Call)]
    asked = [node for name, node in calls if name == "getattr" and not _asks_by_literal(node)]
    finds_names = any(name in _LOOKS_UP for name, _ in calls) or any(_is_a_module(node, file) for node in asked)
    return HeldNames(held, finds_names, finds_names or bool(asked))


def _named_only(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that name something without passing it on: called functions, bases, annotations."""
    if isinstance(node, ast.Call):
        yield node.func
        if dotted(node.func) in _ASKS:
            yield from (item for argument in node.args for item in walk(argument))
    elif isinstance(node, ast.ClassDef):
        yield from node.bases
    elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
        yield from walk(node.annotation)


def _asks_by_literal(call: ast.Call) -> bool:
    """Whether a ``getattr`` has a literal name."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant)


def _is_a_module(call: ast.Call, file: FileIndex) -> bool:
    """Whether the object of ``getattr`` may be a module: an imported name, or something computed."""
    root = dotted(call.args[0]) if call.args else None
    return root is None or file.names.is_bound(root.partition(".")[0])
