"""Objects in which an attribute or a key is looked up: a dict, parsed arguments, a class or its instance, a module."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perflint.dataflow.sole_binding import ReadPlace
from perflint.index.project import FileIndex
from perflint.syntax.bindings import bound_by, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import string_of


class ObjectKind(enum.Enum):
    """The kind of such an object."""

    DICT = enum.auto()
    LIST = enum.auto()
    """Also a tuple, or a set."""
    PARSER = enum.auto()
    NAMESPACE = enum.auto()
    """The result of a parser: its options are attributes."""
    CLASS = enum.auto()
    """A class, or an object of it."""
    MODULE = enum.auto()


@dataclass(frozen=True)
class Object:
    """One such object: ``node`` is the display or the call that creates it, at ``place``; ``owner`` its class."""

    kind: ObjectKind
    place: ReadPlace
    node: ast.expr | None = None
    owner: tuple[FileIndex, Class] | None = None


@dataclass(frozen=True)
class Entries:
    """The entries of a dict, and the keys that are set later; ``complete``: there are no others."""

    values: Mapping[str, ast.expr]
    complete: bool
    changed: frozenset[str] = frozenset()


def entries_of(thing: Object) -> Entries | None:
    """The entries that a dict is created with; None if any of them may have been changed."""
    node, place = thing.node, thing.place
    made = written_entries(node) if node is not None else None
    if made is None or place.statement is None or getattr(place.statement.node, "value", None) is not node:
        return made
    names = set(bound_by(place.statement.node))
    return _changed(made, names, place.file, place.scope) if names else made


def written_entries(node: ast.expr) -> Entries | None:
    """The entries of ``{"a": A}`` or ``dict(a=A)``; None for anything else."""
    if isinstance(node, ast.Dict):
        keys = [string_of(key) if key is not None else None for key in node.keys]
        values = {key: value for key, value in zip(keys, node.values, strict=True) if key is not None}
        return Entries(values, None not in keys)
    if isinstance(node, ast.Call) and dotted(node.func) == "dict":
        values = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        return Entries(values, not node.args and len(values) == len(node.keywords))
    return None


def _changed(entries: Entries, names: set[str], file: FileIndex, scope: Scope) -> Entries | None:
    complete, changed = entries.complete, set()
    scopes = file.scopes.scopes if isinstance(scope.node, ast.Module) else [scope]
    for statement in (statement for one in scopes for statement in one.statements):
        for target in targets_of(statement.node):
            if isinstance(target, ast.Subscript) and dotted(target.value) in names:
                key = string_of(target.slice)
                if key is None:
                    return None
                changed.add(key)
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and dotted(call.func.value) in names:
                if call.func.attr in ("update", "setdefault", "pop", "clear") or "merge" in call.func.attr:
                    return None
            elif any(dotted(argument) in names for argument in call.args):
                complete = False  # a function that gets the dict may add to it
    return Entries(entries.values, complete, frozenset(changed))


def class_body(owner: Class) -> Iterator[tuple[str, ast.expr]]:
    """The names that the body of a class assigns to, with the expressions."""
    for node in owner.node.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield dotted(target) or "", node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield dotted(node.target) or "", node.value
