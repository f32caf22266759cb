"""Which files of a project a file brings in: through its imports, and those of what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

Parts = tuple[str, ...]


class Imports(Part):
    """The imports among the files of one project."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._files = list(project.files.values())
        self._modules: Mapping[Parts, FileIndex] = {
            file.parts[:-1] if file.parts[-1] == "__init__" else file.parts: file for file in self._files
        }

    def closure(self, starts: Iterable[FileIndex]) -> frozenset[FileIndex]:
        """The files that are loaded with these: what they import, and so on; themselves included."""
        found: set[FileIndex] = set()
        queue = list(starts)
        while queue:
            file = queue.pop()
            if file not in found:
                found.add(file)
                queue += self.direct(file)
        return frozenset(found)

    def users(self, files: Iterable[FileIndex]) -> frozenset[FileIndex]:
        """The files that load some of these: they import one, or what imports one, and so on; these included."""
        found: set[FileIndex] = set()
        queue = list(files)
        while queue:
            file = queue.pop()
            if file not in found:
                found.add(file)
                queue += self._importers().get(file, ())
        return frozenset(found)

    @query
    def _importers(self) -> Mapping[FileIndex, list[FileIndex]]:
        """The files that import each file; those that nobody imports are left out."""
        found: dict[FileIndex, list[FileIndex]] = {}
        for file in self._files:
            for imported in self.direct(file):
                found.setdefault(imported, []).append(file)
        return found

    @query
    def direct(self, file: FileIndex) -> frozenset[FileIndex]:
        """The files that one file imports, packages on the way included."""
        named = (*file.names.targets, *file.names.stars, *file.names.modules)
        static = frozenset(found for target in named for found in self._loaded(target, file))
        return (static | frozenset(self._dynamic(file))) - {file}

    def _loaded(self, target: str, origin: FileIndex) -> Iterator[FileIndex]:
        """The modules that importing a qualified name runs: the longest that exists, and the packages around it."""
        parts, directory = tuple(part for part in target.split(".") if part), origin.parts[:-1]
        if not parts:
            return
        for length in range(len(directory), -1, -1):
            base = directory[:length]
            packages = (base + parts[:size] for size in range(1, len(parts) + 1))
            found = [self._modules[package] for package in packages if package in self._modules]
            if found:
                yield from found
                return

    def _dynamic(self, file: FileIndex) -> Iterator[FileIndex]:
        """What ``importlib.import_module("models." + name)`` may bring in: the files of the package that it names."""
        if not file.has("import_module") and not file.has("__import__"):
            return
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                for call in statement.calls:
                    if (dotted(call.func) or "").rpartition(".")[2] in ("import_module", "__import__") and call.args:
                        yield from self._below(_prefix(call.args[0]), file)

    def _below(self, prefix: str, file: FileIndex) -> Iterator[FileIndex]:
        named = tuple(part for part in prefix.split(".") if part)
        directory = file.parts[:-1]
        bases = [directory[:length] for length in range(len(directory), -1, -1)] if named else [directory]
        for base in bases:
            package = (*base, *named)
            found = [one for one in self._files if one.parts[: len(package)] == package]
            if found:
                yield from found
                return


def _prefix(node: ast.expr) -> str:
    """The part of a module's name that is written down: ``"models." + name``, ``f"models.{name}"``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _prefix(node.left).partition("%")[0].rpartition(".")[0]
    if isinstance(node, ast.JoinedStr) and node.values:
        return _prefix(node.values[0]).rpartition(".")[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _prefix(node.func.value).partition("{")[0].rpartition(".")[0]
    return ""
