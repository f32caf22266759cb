"""The files of a run as modules: finds which function or class a name refers to, through imports and base classes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import reduce

from perflint.index.kinds import DATASET, EITHER, FUNCTION_TAG, ITERABLE, LOADER, Kind, function, instance, join, layer
from perflint.index.project import FileIndex, Part, Place
from perflint.query import query
from perflint.syntax.names import dotted, is_like
from perflint.syntax.scopes import Class, Scope

_MOST_PARTS = 32
_FAMILIES = {"paddle.nn.Layer": "layer", "paddle.nn.Sequential": "layer", "paddle.io.DataLoader": "loader"}
_FAMILIES |= dict.fromkeys(("object", "ABC", "abc.ABC", "typing.Generic", "typing.Protocol"), "object")
_MOST_STARS = 8
"""How many star imports of one file are tried for each name one by one."""
_MOST_LIKE = 8
"""How many methods with similar names a value may be; with more, the name may mean any method."""


class Modules(Part):
    """The functions and classes of one project by their qualified names."""

    # -- names across files ------------------------------------------------------------------------------------

    def find(self, name: str, origin: FileIndex) -> tuple[FileIndex, Scope | Class] | None:
        """The function or class that a qualified name refers to in a file (from its directory upwards)."""
        found = self._seen_from(origin.parts[:-1], name)
        parts = [] if found else _parts(name)
        return self._starred(origin, parts) if parts and not origin.names.is_bound(parts[0]) else found

    def class_at(self, file: FileIndex, node: ast.expr) -> tuple[FileIndex, Class] | None:
        """The class of the project that a dotted name refers to in a file: ``Net``, or ``models.Net``."""
        name = dotted(node)
        return self.class_called(file.names.resolve(name), file) if name is not None else None

    def class_called(self, name: str, origin: FileIndex) -> tuple[FileIndex, Class] | None:
        """The class that a qualified name refers to in a file."""
        found = self.find(name, origin)
        return (found[0], found[1]) if found is not None and isinstance(found[1], Class) else None

    @query(cycle=None)  # a cycle of re-exports finds nothing
    def _seen_from(self, directory: tuple[str, ...], name: str) -> tuple[FileIndex, Scope | Class] | None:
        """What a qualified name refers to in a directory, or else in one of those above."""
        parts = _parts(name)
        if len(parts) > _MOST_PARTS:  # each turn of an import cycle adds a part
            return None
        for folder in self.folders(directory, parts[0]) if parts else ():
            for split in range(len(parts) - 1, 0, -1):
                file = self._project.modules.get((*folder, *parts[:split]))
                found = self._member(file, parts[split:]) if file is not None else None
                if found is not None:
                    return found
        return None

    def folders(self, directory: tuple[str, ...], package: str) -> list[tuple[str, ...]]:
        """The folders in which an import in a directory may find a package, the likeliest first.

        These are the directory and those above it, and the folder ``src`` from which the package is installed.
        """
        above = [directory[:length] for length in range(len(directory), -1, -1)]
        root = self._source_roots().get(package)
        return above if root is None else [*above, root]

    @query
    def _source_roots(self) -> dict[str, tuple[str, ...]]:
        """The packages that projects install from a folder ``src``, each with this folder, if there is only one."""
        found: dict[str, set[tuple[str, ...]]] = {}
        for parts in self._project.modules:
            for at, part in enumerate(parts[:-1]):
                if part == "src":
                    found.setdefault(parts[at + 1], set()).add(parts[: at + 1])
        return {name: roots.pop() for name, roots in found.items() if len(roots) == 1}

    def _starred(self, file: FileIndex, rest: list[str]) -> tuple[FileIndex, Scope | Class] | None:
        """What a name refers to that a file gets from one of its ``from x import *``."""
        source = self._star_source(file, rest[0])
        return self._member(source, rest) if source is not None else None

    @query(cycle=None)  # a cycle of star imports adds nothing
    def _star_source(self, file: FileIndex, name: str) -> FileIndex | None:
        """The file from which one of a file's star imports brings in a name."""
        if not file.may_have_stars:
            return None
        for source in self._star_candidates(file, name):
            binds = source.has_words(name) and source.names.is_bound(name)
            found = source if binds else self._star_source(source, name)
            if found is not None:
                return found
        return None

    def _star_candidates(self, file: FileIndex, name: str) -> list[FileIndex]:
        """The files of the star imports of a file that contain a word, or have star imports themselves, in order."""
        sources, words = self._star_sources(file)
        if len(sources) <= _MOST_STARS:
            return sources
        return [sources[at] for at in sorted((*words.get(name, ()), *words.get("*", ())))]

    @query
    def _star_sources(self, file: FileIndex) -> tuple[list[FileIndex], dict[str, list[int]]]:
        """The files of the star imports of a file, and, if there are many, in which of them a word occurs."""
        found = [self.module_named(base, file) for base in file.names.stars]
        sources = [source for source in found if source is not None and source is not file]
        words: dict[str, list[int]] = {}
        for at, source in enumerate(sources if len(sources) > _MOST_STARS else ()):
            for word in source.words if not source.may_have_stars else ("*",):
                words.setdefault(word, []).append(at)
        return sources, words

    def module_named(self, name: str, origin: FileIndex) -> FileIndex | None:
        """The file of a module by its qualified name, as imported in a file."""
        parts, directory = tuple(name.split(".")), origin.parts[:-1]
        files = (self._project.modules.get((*folder, *parts)) for folder in self.folders(directory, parts[0]))
        return next((file for file in files if file is not None), None)

    def _member(self, file: FileIndex, rest: list[str]) -> tuple[FileIndex, Scope | Class] | None:
        first = rest[0]
        if not file.has_words(first):
            return self._starred(file, rest)
        owner = file.scopes.classes.get(first)
        if owner is not None:
            if len(rest) == 1:
                return file, owner
            method = self.method_of(file, owner, rest[1])
            return (method.file, method.scope) if len(rest) == 2 and method is not None else None
        if first in file.scopes.module.functions and len(rest) == 1:
            return file, file.scopes.module.functions[first]
        if file.names.is_bound(first):
            target = file.names.resolve(".".join(rest))
            return None if target == ".".join((file.module, *rest)) else self._seen_from(file.parts[:-1], target)
        return self._starred(file, rest)

    # -- classes -----------------------------------------------------------------------------------------------

    @query
    def class_named(self, qualified: str) -> tuple[FileIndex, Class] | None:
        """A project class by the qualified name in ``Kind.type``: ``package.module.Class``."""
        parts = tuple(qualified.split("."))
        for split in range(len(parts) - 1, -1, -1):
            file = self._project.modules.get(tuple(filter(None, parts[:split])))
            owner = file.scopes.classes_by_qualname.get(".".join(parts[split:])) if file is not None else None
            if file is not None and owner is not None:
                return file, owner
        return None

    def method(self, owner: str, name: str) -> Place | None:
        """A method of a project class or of its bases (for several possible classes, of the first that has it)."""
        for part in owner.split(EITHER):
            found = self.class_named(part)
            method = self.method_of(found[0], found[1], name) if found else None
            if method is not None:
                return method
        return None

    @query
    def method_of(self, file: FileIndex, owner: Class, name: str) -> Place | None:
        """A method of a class of a file, or of its bases."""
        waiting, seen = [(file, owner)], set[Class]()
        while waiting:
            there, one = waiting.pop()
            if name in one.methods:
                return Place(there, one.methods[name])
            if one not in seen:
                seen.add(one)
                waiting += filter(None, (self.class_called(base, there) for base in reversed(one.bases)))
        return None

    def kind_of_instance(self, file: FileIndex, owner: Class) -> Kind:
        """The kind of an instance of a project class."""
        qualified = f"{file.module}.{owner.qualname}"
        family = self._family(file, owner)
        if family == "loader":
            return LOADER
        if family in ("dataset", "iterable"):
            return ITERABLE if family == "iterable" else DATASET
        return layer(qualified) if family == "layer" else instance(qualified)

    @query(cycle="unseen")
    def _family(self, file: FileIndex, owner: Class) -> str:
        """The kind that a class gets from its bases; ``unseen`` if a base outside the project may make it anything."""
        is_seen = True
        for base in owner.bases:
            family = _FAMILIES.get(base) or _family_by_name(base) or self._family_of_base(file, base)
            if family not in ("object", "unseen"):
                return family
            is_seen = is_seen and family == "object"
        if is_seen:
            return "object"
        return "layer" if "forward" in owner.methods else "unseen"

    def _family_of_base(self, file: FileIndex, base: str) -> str:
        found = self.class_called(base, file)
        return self._family(*found) if found is not None else "unseen"

    # -- functions as values -----------------------------------------------------------------------------------

    @query
    def function_named(self, qualified: str) -> Place | None:
        """A project function by the qualified name in ``Kind.type``: ``package.module:Class.method``."""
        module, _, name = qualified.partition(":")
        file = self._project.modules.get(tuple(filter(None, module.split("."))))
        scope = file.scopes.scopes_by_qualname.get(name) if file is not None else None
        return Place(file, scope) if file is not None and scope is not None else None

    def functions_of_kind(self, kind: Kind) -> list[Place]:
        """The project functions that a value may be."""
        parts = kind.type.split(EITHER) if kind.tag == FUNCTION_TAG else []
        return [place for place in map(self.function_named, parts) if place is not None]

    def function_value(self, file: FileIndex, scope: Scope | None, name: str) -> Kind | None:
        """The kind of a name that refers to a project function (not to its result).

        A parameter of the same name hides the function.
        """
        for enclosing in scope.outwards if scope is not None else ():
            if name in enclosing.functions:
                return self.as_value(Place(file, enclosing.functions[name]))
            if name.partition(".")[0] in enclosing.parameters:
                return None
        if not file.names.is_bound(name.partition(".")[0]) and (scope is None or not file.names.stars):
            return None
        found = self.find(file.names.resolve(name), file)
        return self.as_value(Place(found[0], found[1])) if found and isinstance(found[1], Scope) else None

    def method_value(self, owner: str, name: str) -> Kind | None:
        """A method of a project class, or of each of several, as a value; None for a property."""
        found = (self.method(part, name) for part in owner.split(EITHER))
        return self.one_of(place for place in found if place is not None and not place.scope.is_property)

    def functions_like(self, module: str, origin: FileIndex, begin: str, end: str) -> Kind | None:
        """The functions of a module with names that begin and end so, as a value that may be any of them."""
        file = self.module_named(module, origin)
        if file is None:
            return None
        names = sorted(name for name in file.names.bound if is_like(name, begin, end))
        found = (self.find(f"{file.module}.{name}", file) for name in names)
        return self.one_of(Place(place[0], place[1]) for place in found if place and isinstance(place[1], Scope))

    def one_of(self, functions: Iterable[Place]) -> Kind | None:
        """A value that may be any of a few functions."""
        kinds = [self.as_value(place) for place in functions]
        return reduce(join, kinds) if 0 < len(kinds) <= _MOST_LIKE else None

    def as_value(self, at: Place) -> Kind:
        """A function of the project as a value."""
        return function(f"{at.file.module}:{at.scope.qualname}")

    def functions_of(self, at: Place) -> dict[str, Kind]:
        """The nested functions that are visible in a scope, as values."""
        env: dict[str, Kind] = {}
        for enclosing in at.scope.outwards:
            for name, inner in enclosing.functions.items() if enclosing.parent is not None else ():
                env.setdefault(name, self.as_value(Place(at.file, inner)))
        return env


def _family_by_name(base: str) -> str:
    """The kind of classes that inherit from a base, as far as its name shows; ``""`` if it does not."""
    if base.endswith(".Layer"):
        return "layer"
    if base.startswith("paddle.io.") or base.endswith("Dataset"):
        return "iterable" if base.endswith("IterableDataset") else "dataset"
    return ""


@query
def knows_paddle(file: FileIndex) -> bool:
    """Whether a file, or a file of the project that it imports from, imports Paddle or something built on it."""
    if any("paddle" in package for package in file.names.packages):
        return True
    find = Modules.of(file.project).find
    imported = (find(target, file) for target in file.names.targets)
    return any(found and any("paddle" in package for package in found[0].names.packages) for found in imported)


def _parts(name: str) -> list[str]:
    return [part for part in name.split(".") if part]
