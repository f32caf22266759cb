"""Where the number of a loader's workers comes from: parameters and their callers, argparse, dicts, constants."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow import argument_parsers
from perflint.facts.loader_sites import Calls, Site, is_loader_class
from perflint.facts.look_ups import (
    MAX_DEPTH,
    LookUps,
    Thing,
    class_body,
    entries_of,
    is_overridden,
    is_set,
)
from perflint.facts.sole_binding import binding
from perflint.index.modules import Modules
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, changes, default_of, is_zero, keyword_parameter, position_of
from perflint.syntax.tree import string_of

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project


@dataclass(frozen=True, eq=False)
class WorkerOrigin:
    """A place that makes the number of workers 0.

    ``node``: the 0, or the call that leaves the number out; ``insert`` is then the keyword to add.  ``kind``:
    ``option`` (argparse), ``fallback`` (of a look-up; ``unknown``: in what nobody knows), ``parameter`` (a default),
    ``value`` or ``missing``.
    """

    file: FileIndex
    node: ast.expr
    kind: str
    site: Site
    insert: str = ""
    names: frozenset[str] = frozenset()
    """What a call that leaves the number out does name, in its ``**`` as well."""


class WorkerValues:
    """Follows expressions back to the zeros they come from."""

    def __init__(self, project: Project, calls: Calls) -> None:
        self._project = project
        self._calls = calls
        self._look_ups = LookUps(project, calls)

    # -- expressions -------------------------------------------------------------------------------------------

    def zeros(self, node: ast.expr, site: Site, depth: int = 0) -> list[WorkerOrigin]:
        """The zeros that an expression may get its value from; none where that cannot be told."""
        if depth > MAX_DEPTH:
            return []
        if isinstance(node, ast.Constant):
            return [WorkerOrigin(site.file, node, "value", site)] if is_zero(node) else []
        if isinstance(node, ast.Call):
            return self._call(node, site, depth)
        if isinstance(node, ast.Subscript):
            key = string_of(node.slice)
            return self._entry(node.value, key, None, site, depth) if key else []
        name = dotted(node)
        if name is None:
            return []
        known = self._bound(name, site, depth)
        if known is not None:
            return known
        if isinstance(node, ast.Attribute):
            return self._attribute(node, site, depth)
        return self._imported(name, site, depth)

    def _imported(self, name: str, site: Site, depth: int) -> list[WorkerOrigin]:
        """A constant of another file, by ``from config import NUM_WORKERS``."""
        module, _, last = site.file.names.resolve(name).rpartition(".")
        there = Modules.of(self._project).module_named(module, site.file) if site.file.names.is_bound(name) else None
        if there is None or there is site.file:
            return []
        return self._bound(last, site.at(there, there.scopes.module, None), depth + 1) or []

    def _call(self, node: ast.Call, site: Site, depth: int) -> list[WorkerOrigin]:
        if dotted(node.func) == "int" and len(node.args) == 1:
            return self.zeros(node.args[0], site, depth + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop") and len(node.args) == 2:
            key = string_of(node.args[0])
            return self._entry(node.func.value, key, node.args[1], site, depth) if key else []
        return []

    def _entry(self, base: ast.expr, key: str, fallback: ast.expr | None, site: Site, depth: int) -> list[WorkerOrigin]:
        """``base[key]``, or ``base.get(key, fallback)``."""
        things = [thing for thing in self._look_ups.things(base, site, depth + 1) if thing.kind == "dict"]
        found: list[WorkerOrigin] = []  # what a known dict gives; of an unknown one only the fallback can be seen
        for thing in things:
            entries = entries_of(thing)
            if entries is None or key in entries.changed:
                return []
            if key in entries.values:
                found += self.zeros(entries.values[key], thing.site, depth + 1)
            elif not entries.complete:
                return []
            elif fallback is not None and is_zero(fallback):
                found.append(WorkerOrigin(site.file, fallback, "fallback", site))
        if not things and fallback is not None and is_zero(fallback) and "worker" in key.lower():
            return [WorkerOrigin(site.file, fallback, "unknown", site)]
        return found

    def _bound(self, name: str, site: Site, depth: int) -> list[WorkerOrigin] | None:
        """The zeros of a dotted name that this scope, or one around it, binds; None when none does."""
        place = binding(name, site)
        if place is None:
            return None
        if isinstance(place, str):
            return self._parameter(name, site, depth) if place == "parameter" else []
        scope, statement, value = place
        return self.zeros(value, site.at(site.file, scope, statement), depth + 1) if value is not None else []

    # -- parameters and arguments ------------------------------------------------------------------------------

    def _parameter(self, name: str, site: Site, depth: int) -> list[WorkerOrigin]:
        found: list[WorkerOrigin] = []
        for file, scope, statement, call in self._calls.of(site.scope):
            there = site.called_from(file, scope, statement, call)
            found += self.argument(name, site, there, call, depth + 1)
        return found

    def argument(self, name: str, site: Site, there: Site, call: ast.Call, depth: int) -> list[WorkerOrigin]:
        """The zeros of one argument of a call, or of the default that it leaves."""
        given = argument_of(call, name, position_of(site.scope, name))
        if given is not None:
            return self.zeros(given, there, depth)
        if any(isinstance(item, ast.Starred) for item in call.args):
            return []
        for keyword in call.keywords:
            if keyword.arg is None:
                spread = self.spread(keyword.value, name, there, depth)
                if spread is None:
                    return []
                if spread:
                    return [] if any(origin.kind == "missing" for origin in spread) else spread
        if self._is_loader(site):  # whose default is that of Paddle's loader, and as good for other purposes
            return [WorkerOrigin(there.file, call, "missing", there, name)]
        default = default_of(site.scope, name)
        if default is None:
            return []
        if is_zero(default):
            return [WorkerOrigin(site.file, default, "parameter", there)]
        outer = site.scope.parent or site.scope
        return [
            origin
            for origin in self.zeros(default, there.at(site.file, outer, None), depth + 1)
            if origin.node != default
        ]

    def _is_loader(self, site: Site) -> bool:
        owner = site.scope.owner
        return owner is not None and site.scope.name == "__init__" and is_loader_class(self._project, site.file, owner)

    def spread(self, node: ast.expr, name: str, site: Site, depth: int) -> list[WorkerOrigin] | None:
        """The zeros that ``**node`` gives a parameter: empty where it leaves it out, None where that is unknown."""
        if depth > MAX_DEPTH:
            return None
        own = dotted(node)
        if own is not None and own == keyword_parameter(site.scope):
            return None
        things = self._look_ups.things(node, site, depth + 1)
        if len(things) != 1 or things[0].kind != "dict":
            return None
        entries = entries_of(things[0])
        if entries is None or name in entries.changed:
            return None
        if name in entries.values:
            return self.zeros(entries.values[name], things[0].site, depth + 1) or None
        return [] if entries.complete else None

    def left_out(self, name: str, site: Site, call: ast.Call, depth: int = 0) -> list[WorkerOrigin]:
        """What a call gives a parameter that it does not name: through its ``**``, or nothing at all."""
        if any(isinstance(item, ast.Starred) for item in call.args) or depth > MAX_DEPTH:
            return []
        spreads = [keyword.value for keyword in call.keywords if keyword.arg is None]
        own = keyword_parameter(site.scope)
        if len(spreads) == 1 and own is not None and dotted(spreads[0]) == own:
            return self._from_callers(name, own, site, depth)
        names = {keyword.arg for _, _, _, call in site.calls for keyword in call.keywords if keyword.arg}
        for node in spreads:
            found = self.spread(node, name, site, depth + 1)
            if found is None or found:
                return found or []
            for thing in self._look_ups.things(node, site, depth + 1):
                names.update(getattr(entries_of(thing), "values", ()))
        return [WorkerOrigin(site.file, call, "missing", site, name, frozenset(names))]

    def _from_callers(self, name: str, own: str, site: Site, depth: int) -> list[WorkerOrigin]:
        """What callers put into the ``**kwargs`` that a function hands on."""
        if changes(site.scope, own):
            return []
        found: list[WorkerOrigin] = []
        for file, scope, statement, call in self._calls.of(site.scope):
            there = site.called_from(file, scope, statement, call)
            given = argument_of(call, name, None)
            if given is not None:
                found += self.zeros(given, there, depth + 1)
            else:
                found += self.left_out(name, there, call, depth + 1)
        return found

    # -- what can be looked into -------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, site: Site, depth: int) -> list[WorkerOrigin]:
        found: list[WorkerOrigin] = []
        for thing in self._look_ups.things(node.value, site, depth + 1):
            if thing.kind == "namespace":
                zero = argument_parsers.default_of(thing.site.file, thing.site.scope, node.attr, self._project)
                if zero is not None and not is_set(node.attr, site.file, thing.site.file):
                    found.append(WorkerOrigin(zero[0], zero[1], "option", site))
            elif thing.kind == "module":
                module = thing.site.file.scopes.module
                found += self._bound(node.attr, site.at(thing.site.file, module, None), depth + 1) or []
            elif thing.owner is not None:
                found += self._member(thing, node.attr, site, depth + 1)
        return found

    def _member(self, thing: Thing, name: str, site: Site, depth: int) -> list[WorkerOrigin]:
        """An attribute of a class or of its one object."""
        owner, file = thing.owner, thing.site.file
        assert owner is not None
        if is_overridden(self._project, file, owner, name):
            return []
        assigned = owner.attributes.get(name, ())
        if len(assigned) == 1:
            value, scope = assigned[0]
            statement = next((item for item in scope.statements if getattr(item.node, "value", None) is value), None)
            if statement is None or statement.place is not None:
                return []
            return self.zeros(value, site.at(file, scope, statement), depth + 1)
        if assigned:
            return []
        call = thing.node if isinstance(thing.node, ast.Call) else None
        if call is not None and "__init__" not in owner.methods:
            given = argument_of(call, name, None)
            if given is not None:
                return self.zeros(given, thing.site, depth + 1)
            if call.args or any(keyword.arg is None for keyword in call.keywords):
                return []
        values = [value for target, value in class_body(owner) if target == name]
        return [WorkerOrigin(file, values[0], "value", site)] if len(values) == 1 and is_zero(values[0]) else []
