"""The functions and classes of an edited file, each with the identity that it had before the edit.

What other files know of a function is kept by that function.  So a function that is still there after an edit has to be
the same object, with new contents; and whoever looks at its contents is noted, function by function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from perflint.incremental.splice import Splice, Window
from perflint.incremental.tracking import Log, Need, Part
from perflint.syntax.scopes import FUNCTIONS, Class, FileScopes, Scope, terminal
from perflint.syntax.tree import alike

_OF_SCOPE = frozenset({"statements", "functions", "node"})
_OF_CLASS = frozenset({"methods", "attributes", "bases", "node"})


class WatchedScope(Scope):
    """A function of an edited file: who looks into it is noted."""


class WatchedClass(Class):
    """A class of an edited file: who looks into it is noted, by what of it is looked at."""

    @property
    def decorators(self) -> list[ast.expr]:
        """The decorators of the class."""
        note, needs = vars(self)["noted"]
        note(needs["decorators"])
        return cast("ast.ClassDef", vars(self)["node"]).decorator_list


def _part(name: str) -> property:
    """A field that notes who looks at it."""

    def get(self: Any) -> Any:
        known = self.__dict__
        note, needs = known["noted"]
        note(needs[name])
        return known[name]

    def put(self: Any, value: object) -> None:
        self.__dict__[name] = value

    return property(get, put)


for _name in _OF_SCOPE:
    setattr(WatchedScope, _name, _part(_name))
for _name in _OF_CLASS:
    setattr(WatchedClass, _name, _part(_name))


def watch(scopes: FileScopes, path: str, log: Log) -> None:
    """Note from now on who looks into the functions and classes of a file."""
    for scope in scopes.scopes:
        if not isinstance(scope, WatchedScope):
            need = scope_need(path, scope)
            scope.__class__ = WatchedScope
            vars(scope)["noted"] = (log.note, dict.fromkeys(_OF_SCOPE, need))
            log.owned[scope] = need
    for owner in _classes(scopes):
        if not isinstance(owner, WatchedClass):
            needs = {name: class_need(path, owner, name) for name in (*_OF_CLASS, "decorators")}
            owner.__class__ = WatchedClass
            vars(owner)["noted"] = (log.note, needs)
            log.owned[owner] = class_need(path, owner, "itself")


def scope_need(path: str, scope: Scope) -> Part:
    """What an answer needs that was worked out from the contents of a function."""
    return ("scope", path, scope.qualname)


def class_need(path: str, owner: Class, name: str) -> Part:
    """What an answer needs that was worked out from this part of a class."""
    return ("class", path, owner.qualname, name)


@dataclass
class Graft:
    """Puts the contents of a new tree into the functions and classes of the old one.

    ``changed``: what is not as it was; ``gone``: functions and classes that are no longer there.
    """

    path: str
    old: FileScopes
    new: FileScopes
    window: Window
    splice: Splice | None = None
    """What the new tree has of its own, where it is the old one with another function in it."""
    changed: list[Need] = field(default_factory=list)
    gone: list[Scope | Class] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    """Last names of the calls in the functions that have changed, before and after."""
    looked_at: set[Scope] = field(default_factory=set)
    """The functions whose contents are not as they were, or that were not there."""
    renewed: list[Need] = field(default_factory=list)
    """What holds other nodes than before; that of all else does so as well where there is no ``splice``."""

    def apply(self) -> bool:
        """Do it; False where the two do not go together, and nothing is done."""
        before, after = _by_name(self.old), _by_name(self.new)
        if before is None or after is None:
            return False
        scopes = {scope: before.get(name, scope) for name, scope in after.items()}
        classes = self._classes(scopes)
        if classes is None:
            return False
        self._compare(before, after, classes)
        self.gone = [scope for name, scope in before.items() if name not in after]
        kept = set(classes.values())
        self.gone += [owner for owner in _classes(self.old) if owner not in kept]
        self._fill(scopes, classes)
        return True

    def _classes(self, scopes: dict[Scope, Scope]) -> dict[Class, Class] | None:
        """The old class for each new one."""
        before: dict[str, Class] = {}
        for owner in _classes(self.old):
            if before.setdefault(owner.qualname, owner) is not owner:
                return None
        found: dict[Class, Class] = {}
        names: set[str] = set()
        for owner in _classes(self.new):
            if owner.qualname in names:
                return None
            names.add(owner.qualname)
            found[owner] = before.get(owner.qualname, owner)
        for scope, other in scopes.items():
            if scope is not other and scope.owner is not None and found[scope.owner] is not other.owner:
                return None
            if scope is not other and (scope.owner is None) != (other.owner is None):
                return None
        return found

    # -- what is not as it was ---------------------------------------------------------------------------------

    def _compare(self, before: dict[str, Scope], after: dict[str, Scope], classes: dict[Class, Class]) -> None:
        changed = [name for name in before.keys() | after.keys() if self._differs(before.get(name), after.get(name))]
        if [scope.qualname for scope in self.old.scopes] != [scope.qualname for scope in self.new.scopes] or [
            (name, owner.qualname) for name, owner in self.old.classes.items()
        ] != [(name, owner.qualname) for name, owner in self.new.classes.items()]:
            self.changed.append(("list", self.path))
        self.looked_at = {before.get(name) or after[name] for name in changed if name in after}
        for name in changed:
            old, new = (_calls_of(scopes.get(name)) for scopes in (before, after))
            self.calls.update(called for called in old.keys() | new.keys() if old.get(called) != new.get(called))
            self.changed.append(scope_need(self.path, before.get(name) or after[name]))
        self._compare_classes(
            classes, {scope for name in changed for scope in (before.get(name), after.get(name)) if scope}
        )

    def _differs(self, old: Scope | None, new: Scope | None) -> bool:
        if old is None or new is None:
            return True
        if self.splice is not None:
            return old.node is not new.node and not alike(old.node, new.node)
        if isinstance(old.node, ast.Module) or isinstance(new.node, ast.Module):
            return not (_inside_functions(self.window.old, self.old) and _inside_functions(self.window.new, self.new))
        first, last = _rows(old.node)
        if self._overlaps(first, last):
            return not alike(old.node, new.node)
        return _rows(new.node) != (self._moved(first), self._moved(last))

    def _moved(self, row: int) -> int | None:
        """Where a row is now, None where it is, or may be, another one."""
        if row < self.window.old[0]:
            return row
        return row + self.window.shift if row > self.window.old[1] else None

    def _compare_classes(self, classes: dict[Class, Class], changed: set[Scope]) -> None:
        for new, old in classes.items():
            if not changed or not self._touches(old, new):
                continue
            self.changed.append(class_need(self.path, old, "node"))
            if new is old or _header(new) != _header(old):
                self.changed.append(class_need(self.path, old, "decorators"))
            if new is old or new.bases != old.bases:
                self.changed.append(class_need(self.path, old, "bases"))
            if new is old or list(new.methods) != list(old.methods):
                self.changed.append(class_need(self.path, old, "methods"))
            if new is old or any(
                scope in changed for owner in (new, old) for items in owner.attributes.values() for _, scope in items
            ):
                self.changed.append(class_need(self.path, old, "attributes"))
        kept = set(classes.values())
        for owner in _classes(self.old):
            if owner not in kept:
                self.changed += [class_need(self.path, owner, name) for name in (*_OF_CLASS, "decorators", "itself")]
        if not self.new.names.same(self.old.names):
            self.changed += [class_need(self.path, owner, "bases") for owner in kept]

    def _touches(self, old: Class, new: Class) -> bool:
        """Whether an edit may have changed something in the rows of a class."""
        if new is old:
            return True
        if self.splice is not None:
            return old.node is not new.node or old.node in self.splice.around
        first, last = _rows(old.node)
        return self._overlaps(first, last) or _rows(new.node) != (self._moved(first), self._moved(last))

    def _overlaps(self, first: int, last: int) -> bool:
        return self.window.old[0] <= last and self.window.old[1] >= first

    # -- contents ----------------------------------------------------------------------------------------------

    def _fill(self, scopes: dict[Scope, Scope], classes: dict[Class, Class]) -> None:
        for new, old in scopes.items():
            old.functions = {name: scopes[inner] for name, inner in new.functions.items()}
            old.parent = scopes[new.parent] if new.parent is not None else None
            old.owner = classes[new.owner] if new.owner is not None else None
            if old.node is not new.node:
                self._renew(old, new)
        for new_class, old_class in classes.items():
            old_class.methods = {name: scopes[method] for name, method in new_class.methods.items()}
            old_class.attributes = {
                name: [(value, scopes[scope]) for value, scope in items] for name, items in new_class.attributes.items()
            }
            old_class.node, old_class.bases = new_class.node, new_class.bases
        self.new.scopes = [scopes[scope] for scope in self.new.scopes]
        self.new.classes = {name: classes[owner] for name, owner in self.new.classes.items()}
        self.new.module = scopes[self.new.module]
        for part, kept in (*scopes.items(), *classes.items()):
            if part is not kept:
                vars(part).clear()  # they point at one another

    def _renew(self, old: Scope, new: Scope) -> None:
        """Give a function the nodes of another, and note who may hold those that it had."""
        called = {terminal(call) for scope in (old, new) for statement in scope.statements for call in statement.calls}
        self.renewed += [scope_need(self.path, old), *(("calls", self.path, name) for name in called)]
        old.statements, old.node = new.statements, new.node


def _calls_of(scope: Scope | None) -> dict[str, list[str]]:
    """The calls of a function as text, by the last name of what they call."""
    found: dict[str, list[str]] = {}
    for statement in scope.statements if scope is not None else ():
        for call in statement.calls:
            found.setdefault(terminal(call) or "", []).append(ast.dump(call))
    return found


def _by_name(scopes: FileScopes) -> dict[str, Scope] | None:
    """The functions of a file by their names; None where two have the same."""
    found = {scope.qualname: scope for scope in scopes.scopes}
    return found if len(found) == len(scopes.scopes) else None


def _classes(scopes: FileScopes) -> Iterable[Class]:
    owners = (scope.owner for scope in scopes.scopes if scope.owner is not None)
    return dict.fromkeys((*scopes.classes.values(), *owners))


def _rows(node: ast.stmt | ast.Module) -> tuple[int, int]:
    """The first and the last row of a definition, decorators included."""
    assert isinstance(node, (*FUNCTIONS, ast.ClassDef))
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node.end_lineno or node.lineno


def _header(owner: Class) -> list[str]:
    return [ast.dump(decorator) for decorator in owner.node.decorator_list]


def _inside_functions(rows: tuple[int, int], scopes: FileScopes) -> bool:
    """Whether rows stand in the bodies of functions alone."""
    if rows[1] < rows[0]:
        return True
    return any(first < rows[0] and rows[1] <= last for first, last in _bodies(scopes))


def _bodies(scopes: FileScopes) -> Iterator[tuple[int, int]]:
    """The last row of the header of each function, and the last row of its body."""
    for scope in scopes.scopes:
        node = scope.node
        if isinstance(node, FUNCTIONS) and node.body[0].lineno > node.lineno:
            first = node.body[0]
            decorators = getattr(first, "decorator_list", [])
            yield min([first.lineno, *(item.lineno for item in decorators)]) - 1, node.end_lineno or node.lineno
