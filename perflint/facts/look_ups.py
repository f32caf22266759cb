"""What a name stands for that an attribute or a key is looked up in: parsed arguments, a dict, a class, a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.values import Values
from perflint.facts.loader_sites import Site
from perflint.facts.sole_binding import binding, parsed
from perflint.index.modules import Modules
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, position_of
from perflint.syntax.scopes import Class, Scope, terminal
from perflint.syntax.tree import string_of

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

MAX_DEPTH = 8
"""How many names, calls and look-ups are followed."""


@dataclass(frozen=True, eq=False)
class Thing:
    """What a name stands for, as far as a look-up in it is concerned."""

    kind: str
    """``parser``, ``namespace``, ``class``, ``object``, ``module`` or ``dict``."""
    site: Site
    node: ast.expr | None = None
    owner: Class | None = None


class LookUps:
    """Finds out what expressions stand for."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def things(self, node: ast.expr, site: Site, depth: int) -> list[Thing]:
        """What an expression stands for, so that an attribute or a key can be looked up in it."""
        if depth > MAX_DEPTH:
            return []
        if isinstance(node, ast.Dict):
            return [Thing("dict", site, node)]
        if isinstance(node, ast.Call):
            return self._made(node, site, depth)
        if isinstance(node, ast.Subscript):
            key = string_of(node.slice)
            inner = [thing for thing in self.things(node.value, site, depth + 1) if thing.kind == "dict"]
            known = [(thing, entries_of(thing)) for thing in inner] if key else []
            return [
                item
                for thing, entries in known
                if entries is not None and key in entries.values and key not in entries.changed
                for item in self.things(entries.values[key or ""], thing.site, depth + 1)
            ]
        name = dotted(node)
        return self._named(name, site, depth) if name is not None else []

    def _made(self, node: ast.Call, site: Site, depth: int) -> list[Thing]:
        last = terminal(node)
        if last in ("parse_args", "parse_known_args", "parse_intermixed_args") and isinstance(node.func, ast.Attribute):
            parsers = self.things(node.func.value, site, depth + 1)
            return [Thing("namespace", thing.site) for thing in parsers if thing.kind == "parser"]
        name = dotted(node.func)
        if name is None:
            return []
        if name == "dict":
            return [Thing("dict", site, node)]
        if site.file.names.resolve(name).endswith("ArgumentParser"):
            return [Thing("parser", site, node)]
        found = Modules.of(self._project).find(site.file.names.resolve(name), site.file)
        if found is not None and isinstance(found[1], Class):
            return self._instance(found[0], found[1], node, site)
        function = Values.of(self._project).callee(site.file, site.scope, name, {})
        if function is None:
            return []
        file, scope = function
        returned = [statement for statement in scope.statements if isinstance(statement.node, ast.Return)]
        return [
            thing
            for statement in returned
            if isinstance(statement.node, ast.Return) and statement.node.value is not None
            for thing in self.things(statement.node.value, site.at(file, scope, statement), depth + 1)
        ]

    def _instance(self, file: FileIndex, owner: Class, node: ast.Call, site: Site) -> list[Thing]:
        if any(base.endswith("ArgumentParser") for base in owner.bases):
            scope = owner.methods.get("__init__")
            return [Thing("parser", site.at(file, scope, None))] if scope else []
        there = site.at(file, file.scopes.module, None)
        return [Thing("object", there, node, owner)]

    def _named(self, name: str, site: Site, depth: int) -> list[Thing]:
        place = binding(name, site)
        if place == "parameter":
            return self._handed(name, site, depth)
        if isinstance(place, str):
            return []
        if place is not None:
            scope, statement, value = place
            value = value if value is not None else parsed(statement.node, name)
            return self.things(value, site.at(site.file, scope, statement), depth + 1) if value is not None else []
        first, _, rest = name.partition(".")
        if first == "self" and site.scope.owner is not None:
            return self._of_self(rest, site, depth)
        if not site.file.names.is_bound(first):
            return []
        qualified = site.file.names.resolve(name)
        found = Modules.of(self._project).find(qualified, site.file)
        if found is not None and isinstance(found[1], Class):
            return [Thing("class", site.at(found[0], found[0].scopes.module, None), None, found[1])]
        module = Modules.of(self._project).module_named(qualified, site.file)
        if module is not None:
            return [Thing("module", site.at(module, module.scopes.module, None))]
        parent, _, last = qualified.rpartition(".")
        module = Modules.of(self._project).module_named(parent, site.file)
        return self._named(last, site.at(module, module.scopes.module, None), depth + 1) if module is not None else []

    def _handed(self, name: str, site: Site, depth: int) -> list[Thing]:
        found: list[Thing] = []
        position = position_of(site.scope, name)
        for caller in site.callers():
            given = argument_of(caller.calls[-1][3], name, position)
            if given is not None:
                found += self.things(given, caller, depth + 1)
        return found

    def _of_self(self, rest: str, site: Site, depth: int) -> list[Thing]:
        owner = site.scope.owner
        assert owner is not None
        if not rest:
            return [Thing("object", site, None, owner)]
        assigned = owner.attributes.get(rest, ())
        if len(assigned) != 1:
            return []
        value, scope = assigned[0]
        statement = next((item for item in scope.statements if getattr(item.node, "value", None) is value), None)
        return self.things(value, site.at(site.file, scope, statement), depth + 1)


@dataclass(frozen=True)
class Entries:
    """The entries of a dict, and the keys that are set later; ``complete``: there are no others."""

    values: dict[str, ast.expr]
    complete: bool
    changed: frozenset[str] = frozenset()


def entries_of(thing: Thing) -> Entries | None:
    """The entries that a dict is made with; None where any of them may have been changed."""
    node, site = thing.node, thing.site
    values: dict[str, ast.expr] = {}
    complete = True
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                values[key.value] = value
            else:
                complete = False
    elif isinstance(node, ast.Call):
        values = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        complete = not node.args and all(keyword.arg for keyword in node.keywords)
    if site.statement is None or getattr(site.statement.node, "value", None) is not node:
        return Entries(values, complete)
    names = bound_by(site.statement.node)
    return (
        _changed(Entries(values, complete), set(names), site.file, site.scope) if names else Entries(values, complete)
    )


def _changed(entries: Entries, names: set[str], file: FileIndex, scope: Scope) -> Entries | None:
    complete, changed = entries.complete, set()
    scopes = file.scopes.scopes if isinstance(scope.node, ast.Module) else [scope]
    for statement in (statement for one in scopes for statement in one.statements):
        for target in _subscripts(statement.node):
            if dotted(target.value) in names:
                key = string_of(target.slice)
                if key is None:
                    return None
                changed.add(key)
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and dotted(call.func.value) in names:
                if call.func.attr in ("update", "setdefault", "pop", "clear") or "merge" in call.func.attr:
                    return None
            elif any(dotted(argument) in names for argument in call.args):
                complete = False  # a function that is handed the dict may add to it
    return Entries(entries.values, complete, frozenset(changed))


def _subscripts(node: ast.stmt) -> Iterator[ast.Subscript]:
    targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [getattr(node, "target", None)]
    return (target for target in targets if isinstance(target, ast.Subscript))


def class_body(owner: Class) -> Iterator[tuple[str, ast.expr]]:
    """The names that the body of a class assigns to, with the expressions."""
    for node in owner.node.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield dotted(target) or "", node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield dotted(node.target) or "", node.value


def is_overridden(project: Project, home: FileIndex, owner: Class, name: str) -> bool:
    """Whether another class of the project, or code that holds an object of this one, may set the attribute anew."""
    if "setattr(" in home.source.text:
        return True
    assigned = re.compile(rf"\b(?!self\b)\w+\.{re.escape(name)}\s*=[^=]")
    for file in project.mentions.of(name):
        if assigned.search(file.source.text):
            return True
        for other in file.scopes.classes.values():
            if other is not owner and (name in other.attributes or any(key == name for key, _ in class_body(other))):
                return True
    return False


def is_set(name: str, *files: FileIndex) -> bool:
    """Whether one of the files sets the attribute itself: what argparse gave is not the last word then."""
    return any(re.search(rf"\.{re.escape(name)}\s*=[^=]", file.source.text) for file in files)
