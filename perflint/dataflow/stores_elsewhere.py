"""Finds what gives a name or an attribute a value without an assignment in its own module or class.

That is a store from another file (``helpers.penalty = ...``), one that names what it stores in a text (``setattr``,
``globals()``, ``self.__dict__``), and a patch (``mock.patch.object(trainer, "penalty")``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Class, terminal
from perflint.syntax.tree import string_of, walk

_BY_TEXT = ("setattr", "__setattr__", "__dict__", "vars", "globals")
_SETTERS = frozenset({"setattr", "__setattr__", "patch", "object"})
_STORING = frozenset({"update", "setdefault", "__setitem__"})

_Name = str | None
"""A name that is stored; None if it is computed, so that it may be any."""


@dataclass(frozen=True)
class _Stored:
    """The names that a file stores in objects other than ``self``, in modules, and in itself by ``globals()``."""

    in_objects: frozenset[_Name]
    in_modules: frozenset[_Name]
    in_itself: frozenset[_Name]


def may_rebind(file: FileIndex, name: str) -> bool:
    """Whether something may store a value under a name of a module that does not assign to it there."""
    others = file.project.mentions.of(name, *_BY_TEXT)
    return _has(_stored_by(file).in_itself, name) or any(_has(_stored_by(other).in_modules, name) for other in others)


def replaces(file: FileIndex, name: str) -> bool:
    """Whether a file stores another value under a name of a module that it imports: ``F.mse_loss = ...``."""
    return file.has_words(name) and name in _stored_by(file).in_modules


def may_set(project: Project, name: str) -> bool:
    """Whether something other than the methods of an object may set an attribute of this name."""
    return any(_has(_stored_by(other).in_objects, name) for other in project.mentions.of(name, *_BY_TEXT))


def sets_any_attribute(owner: Class) -> bool:
    """Whether a class sets attributes of its objects under names that are computed: ``setattr(self, key, value)``."""
    found = (store for item in walk(owner.node) for store in _stores(item))
    return any(name is None and _is_self(holder) for holder, name in found)


def _has(names: frozenset[_Name], name: str) -> bool:
    return name in names or None in names


@query
def _stored_by(file: FileIndex) -> _Stored:
    objects: set[_Name] = set()
    modules: set[_Name] = set()
    itself: set[_Name] = set()
    for holder, name in (store for item in walk(file.tree) for store in _stores(item)):
        if isinstance(holder, ast.Call) and dotted(holder.func) in ("globals", "vars") and not holder.args:
            itself.add(name)
        elif not (_is_self(holder) and name is None):
            root = dotted(holder)
            modules |= {name} if root is None or file.names.is_bound(root.partition(".")[0]) else set()
            objects.add(name)
    return _Stored(frozenset(objects), frozenset(modules), frozenset(itself))


def _is_self(holder: ast.expr) -> bool:
    return isinstance(holder, ast.Name) and holder.id == "self"


def _stores(item: ast.AST) -> Iterator[tuple[ast.expr, _Name]]:
    """What a node stores in an object, unless it is an assignment to an attribute of ``self``."""
    if isinstance(item, ast.Attribute):
        if not isinstance(item.ctx, ast.Load) and not _is_self(item.value):
            yield item.value, item.attr
    elif isinstance(item, ast.Subscript):
        holder = _with_names(item.value)
        if holder is not None and not isinstance(item.ctx, ast.Load):
            yield holder, string_of(item.slice)
    elif isinstance(item, ast.Call):
        yield from _stores_of_call(item)


def _stores_of_call(call: ast.Call) -> Iterator[tuple[ast.expr, _Name]]:
    last = terminal(call) or ""
    holder = _with_names(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if holder is not None and last in _STORING:
        yield from ((holder, keyword.arg) for keyword in call.keywords)
        if call.args:
            yield holder, string_of(call.args[0])
    elif last in _SETTERS:
        texts = [text for text in map(string_of, call.args[:2]) if text is not None]
        if texts:
            yield call.args[0], texts[-1].rpartition(".")[2]
        elif "setattr" in last and len(call.args) == len(("object", "name", "value")):
            yield call.args[0], None


def _with_names(node: ast.expr) -> ast.expr | None:
    """The object whose names a dictionary contains: ``vars(args)``, ``args.__dict__``; for ``globals()`` the call."""
    if isinstance(node, ast.Attribute):
        return node.value if node.attr == "__dict__" else None
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or name not in ("vars", "globals"):
        return None
    return node.args[0] if node.args else node
