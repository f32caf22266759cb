"""Keeps the tree, functions and classes of a file through an edit: unchanged code stays the same object.

Cached answers about other functions, in this file and in others, refer to nodes and functions of the tree. So the whole
text is parsed, and then each definition with unchanged rows is replaced by the old one, with its rows moved; a function
that still exists keeps its identity, with new contents.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from typing import Any, cast

from perflint.syntax.scopes import FUNCTIONS, Class, FileScopes, Scope
from perflint.syntax.tree import alike, walk

_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def renew_body(old: list[ast.stmt], new: list[ast.stmt], before: list[str], now: list[str]) -> None:
    """Put the old nodes of unchanged code into a module or a class that has been parsed again.

    Args:
        old: the statements of the body before the edit.
        new: those after it, some of which are replaced.
        before: the text before the edit, in rows.
        now: the text after it.
    """
    by_text: dict[Hashable, list[ast.stmt]] = defaultdict(list)
    for node in old:
        by_text[_text(node, before)].append(node)
    others: list[tuple[int, Any]] = []
    for at, node in enumerate(new):
        same = by_text.get(_text(node, now))
        if same:
            new[at] = _moved(same.pop(0), node.lineno)
        else:
            others.append((at, node))
    left: dict[Hashable, Any] = {_called(node): node for node in chain(*by_text.values())}
    for at, node in others:
        known = left.pop(_called(node), None)
        if isinstance(known, ast.ClassDef):
            renew_body(known.body, node.body, before, now)
        elif isinstance(known, FUNCTIONS) and alike(known, node):  # equal except for comments and layout
            new[at] = _placed(known, node)


def _called(node: ast.stmt) -> Hashable:
    return node.__class__, getattr(node, "name", None)


def _text(node: ast.stmt, rows: list[str]) -> Hashable:
    """The rows of a statement, and where it begins on the first of them."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(item.lineno for item in decorators)])
    return "".join(rows[first - 1 : node.end_lineno]), node.col_offset


def _moved(node: ast.stmt, row: int) -> ast.stmt:
    """A statement, moved to another row."""
    shift = row - node.lineno
    for part in walk(node) if shift else ():
        if hasattr(part, "lineno"):
            part.lineno += shift
            part.end_lineno += shift  # type: ignore[attr-defined]  # what has the one has the other
    return node


def _placed(node: ast.stmt, other: ast.stmt) -> ast.stmt:
    """A statement, moved to the place of an equal one."""
    for one, there in zip(walk(node), walk(other), strict=True):
        for name in _POSITION if hasattr(there, "lineno") else ():
            setattr(one, name, getattr(there, name))
    return node


class NotedScope(Scope):
    """A function of an edited file, which records who uses it."""


class NotedClass(Class):
    """A class of an edited file, which records who uses it."""

    @property
    def decorators(self) -> list[ast.expr]:
        """The decorators of the class."""
        known = vars(self)
        known["note"](self)
        return cast("ast.ClassDef", known["node"]).decorator_list


def _noted(name: str, whole: bool = False) -> property:
    """A field of a function or class; ``whole``: it contains nodes from the whole file, so it depends on the text."""

    def get(self: Any) -> Any:
        known = self.__dict__
        known["note"](known["text"] if whole else self)
        return known[name]

    def put(self: Any, value: object) -> None:
        self.__dict__[name] = value

    return property(get, put)


for _name in ("statements", "functions", "node"):
    setattr(NotedScope, _name, _noted(_name))
for _name in ("methods", "attributes", "bases"):
    setattr(NotedClass, _name, _noted(_name))
setattr(NotedClass, "node", _noted("node", whole=True))  # noqa: B010 - a field of its base, as a property here


def note_looks(scopes: FileScopes, text: Hashable, note: Callable[[Hashable], None]) -> None:
    """Start recording who uses the functions and classes of a file, whose ``text`` part has this name."""
    for part in _by_key(scopes).values():
        if not isinstance(part, (NotedScope, NotedClass)):
            part.__class__ = NotedScope if isinstance(part, Scope) else NotedClass
            vars(part).update(text=text, note=note)


def renew_scopes(old: FileScopes, new: FileScopes) -> tuple[list[Scope | Class], list[Scope | Class]]:
    """Make the old functions and classes represent the current ones after an edit.

    Args:
        old: those of the tree before.
        new: those of a tree that ``renew_body`` has been through.

    Returns:
        The functions and classes whose contents have changed, and those that are gone.
    """
    before, after = _by_key(old), _by_key(new)
    same: dict[Any, Any] = {part: before.get(key, part) for key, part in after.items()}
    changed = [
        same[part]
        for part in same
        if (_fill_scope if isinstance(part, Scope) else _fill_class)(vars(same[part]), vars(part), same)
    ]
    new.scopes = [same[scope] for scope in new.scopes]
    new.classes = {name: same[owner] for name, owner in new.classes.items()}
    new.module = same[new.module]
    for part, kept in same.items():
        if part is not kept:
            vars(part).clear()  # they refer to one another, and garbage collection is paused
    return changed, [part for key, part in before.items() if key not in after]


def take_apart(part: Scope | Class) -> None:
    """Take apart a removed function or class: its parts refer to one another, and garbage collection is paused."""
    for table in vars(part).values():
        if isinstance(table, (dict, list)):
            table.clear()


def _by_key(scopes: FileScopes) -> dict[Hashable, Scope | Class]:
    """The functions and classes of a file by what encloses them, their names, and their number among equal names."""
    keys: dict[Scope | Class | None, Hashable] = {None: None}
    counts = Counter[Hashable]()
    owners = (scope.owner for scope in scopes.scopes if scope.owner is not None)
    parts: list[Scope | Class] = [*dict.fromkeys((*scopes.classes.values(), *owners)), *scopes.scopes]
    for part in parts:
        around = (keys[part.parent], keys[part.owner]) if isinstance(part, Scope) else part.qualname
        keys[part] = around, part.name, counts[around, part.name]
        counts[around, part.name] += 1
    return {keys[part]: part for part in parts}


def _fill_scope(old: dict[str, Any], new: dict[str, Any], same: Mapping[Any, Any]) -> bool:
    """Copy the contents of a new function to the old one; return whether they have changed."""
    functions = {name: same[inner] for name, inner in new["functions"].items()}
    statements = old["statements"]
    if old["node"] is not new["node"]:
        known = {statement.node: statement for statement in statements}
        found = [known.get(statement.node, statement) for statement in new["statements"]]
        for kept, statement in zip(found, new["statements"], strict=True):
            kept.place = statement.place
        statements = statements if found == statements and isinstance(new["node"], ast.Module) else found
    has_changed = statements is not old["statements"] or functions != old["functions"]
    parent, owner = new["parent"] and same[new["parent"]], new["owner"] and same[new["owner"]]
    old.update(node=new["node"], statements=statements, functions=functions, parent=parent, owner=owner)
    return has_changed


def _fill_class(old: dict[str, Any], new: dict[str, Any], same: Mapping[Any, Any]) -> bool:
    """Copy the contents of a new class to the old one; return whether they have changed."""
    is_decorated = alike(*(known["node"].decorator_list for known in (old, new)))
    now = {
        "bases": new["bases"],
        "methods": {name: same[method] for name, method in new["methods"].items()},
        "attributes": {
            name: [(value, same[scope]) for value, scope in items] for name, items in new["attributes"].items()
        },
    }
    has_changed = not is_decorated or any(old[name] != value for name, value in now.items())
    old.update(now, node=new["node"])
    return has_changed
