"""Finds what ``data.train`` may be, if its class is known: what its methods set, or what its property returns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import annotation_of
from perflint.syntax.scopes import Class, Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


class Held(NamedTuple):
    """A possible value of an attribute, with its file and function."""

    file: FileIndex
    scope: Scope
    value: ast.expr


def parts_of(file: FileIndex, owner: Class, name: str) -> list[Held]:
    """What an attribute of the objects of a class may be, from the class or the nearest of its bases that has it."""
    for there, one in Hierarchy.of(file.project).lineage(file, owner):
        if name in one.attributes:
            return [Held(there, scope, value) for value, scope in one.attributes[name]]
        if name in one.methods and is_property(one.methods[name]):
            return _returned(there, one.methods[name])
    return []


def part_of(file: FileIndex, scope: Scope, node: ast.Attribute) -> list[Held]:
    """What ``data.train`` may be in a function; nothing if the class of ``data`` is not known."""
    found = class_of(file, scope, node.value)
    return parts_of(*found, node.attr) if found is not None else []


def class_of(file: FileIndex, scope: Scope, node: ast.expr) -> tuple[FileIndex, Class] | None:
    """The class of an object: ``self``, the call that creates it, or a name that is bound to one such call."""
    if isinstance(node, ast.Call):
        return _class(file, dotted(node.func))
    if not isinstance(node, ast.Name):
        return None
    if node.id == "self" and scope.owner is not None:
        return file, scope.owner
    inner: Scope | None = scope
    while inner is not None:
        bound = bindings_of(inner).get(node.id, [])
        if bound:
            values = [getattr(statement.node, "value", None) for statement in bound]
            return class_of(file, inner, values[0]) if len(values) == 1 and isinstance(values[0], ast.Call) else None
        if (said := annotation_of(inner, node.id)) is not None:
            return _class(file, dotted(said))
        inner = inner.parent
    return None


def is_property(method: Scope) -> bool:
    """Whether a method is read like an attribute."""
    decorators = getattr(method.node, "decorator_list", ())
    return any((dotted(each) or "").rpartition(".")[2] in ("property", "cached_property") for each in decorators)


def _class(file: FileIndex, name: str | None) -> tuple[FileIndex, Class] | None:
    found = Modules.of(file.project).find(file.names.resolve(name), file) if name else None
    return (found[0], found[1]) if found is not None and isinstance(found[1], Class) else None


def _returned(file: FileIndex, method: Scope) -> list[Held]:
    returned = (statement.node.value for statement in method.statements if isinstance(statement.node, ast.Return))
    return [Held(file, method, value) for value in returned if value is not None]
