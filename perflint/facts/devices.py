"""Which files run on the CPU: by what they, or the scripts that drive them, hand to ``set_device``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement
from perflint.syntax.words import places

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_NAMES = re.compile(r"[\w\s,.()\\]*")
_DOTS_ALONE = re.compile(r"from\s+\.[.\s]*import\b")


class Devices(Part):
    """Which files of a project run on the CPU alone."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._free: dict[FileIndex, bool] = project.memory.table()
        """Files that are imported, be it by way of others, where nothing puts the run on the CPU."""

    @query
    def runs_on_cpu(self, file: FileIndex) -> bool:
        """Whether a run of this file is pinned to the CPU, where a host read costs nothing."""
        calls = [call for _, call in _set_device_calls(file)]
        devices = [device for device in map(_literal, calls) if device is not None]
        if calls:
            return bool(devices) and all(device == "cpu" for device in devices)
        return bool(self._pinned) and self._is_driven(file)

    @property
    @query
    def _pinned(self) -> frozenset[FileIndex]:
        """The files that put the whole run on the CPU, whatever they are told; tests are not what trains."""
        return frozenset(file for file in self._project.files.values() if not file.is_quiet and _pins(file))

    def _is_driven(self, file: FileIndex) -> bool:
        """Whether all that imports this file, and so on, begins in pinned files."""
        start = len(self.memory.asked)
        if file in self._free:
            return False
        seen = {file}
        path: list[tuple[FileIndex, Iterator[FileIndex]]] = [(file, self._importers(file))]
        while path:
            driver = next(path[-1][1], None)
            if driver is None:
                path.pop()
            elif driver not in seen:
                seen.add(driver)
                if driver not in self._pinned:
                    above = self._importers(driver)
                    first = next(above, None) if driver not in self._free else None
                    if first is None or next(_set_device_calls(driver), None) is not None:
                        for free in (driver, *(below for below, _ in reversed(path))):
                            self.memory.keep(self._free, free, True, start)
                        return False
                    path.append((driver, chain([first], above)))
        return not self._pinned.isdisjoint(seen)

    def _importers(self, file: FileIndex) -> Iterator[FileIndex]:
        """The files that import a file: each is parsed when it is asked for, scripts first, for nobody imports those.

        Who imports by way of a package imports the package.
        """
        for other in self._candidates(file):
            if other is not file and not other.is_quiet and file in self._imported(other):
                yield other

    @query
    def _candidates(self, file: FileIndex) -> list[FileIndex]:
        return sorted(self._may_import(file), key=lambda other: not other.has("__main__"))

    def _may_import(self, file: FileIndex) -> Iterator[FileIndex]:
        """The files whose text allows for an import of a file."""
        name, depth = file.module.rpartition(".")[2], len(file.parts) - 1
        for other in self._project.files.values():
            is_below = file.is_package and other.parts[:depth] == file.parts[:depth]
            if (name and other.has_words(name) and _imports(other, name)) or (is_below and other.matches(_DOTS_ALONE)):
                yield other

    @query
    def _imported(self, file: FileIndex) -> frozenset[FileIndex]:
        named = (*file.names.targets, *file.names.modules, *file.names.stars)
        return frozenset(filter(None, (self._module(name, file) for name in named)))

    def _module(self, name: str, file: FileIndex) -> FileIndex | None:
        found = Modules.of(self._project).module_named(name, file)
        return found or Modules.of(self._project).module_named(name.rpartition(".")[0], file)


@query
def _imports(file: FileIndex, name: str) -> bool:
    """Whether the text of a file allows for an import of a module of this name, or from it."""
    text = file.source.text
    return any(_is_imported(text, at, name) for at in places(text, name))


def _is_imported(text: str, at: int, name: str) -> bool:
    """Whether a name stands in what may be an import: behind the word itself, or among names and commas alone."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    row = text[start : end if end >= 0 else len(text)].partition("#")[0]
    if at >= start + len(row):
        return False
    if "from" in row:
        return not text.startswith(".", at + len(name))  # from name.module import other
    return "import" in row or _NAMES.fullmatch(row) is not None


def _pins(file: FileIndex) -> bool:
    calls = list(_set_device_calls(file))
    return bool(calls) and all(_literal(call) == "cpu" and _is_unconditional(statement) for statement, call in calls)


def _set_device_calls(file: FileIndex) -> Iterator[tuple[Statement, ast.Call]]:
    if not file.has("set_device"):
        return
    for scope in file.scopes.scopes:
        for statement in scope.statements:
            for call in statement.calls:
                if call.args and (dotted(call.func) or "").endswith("set_device"):
                    yield statement, call


def _literal(call: ast.Call) -> object:
    return call.args[0].value if isinstance(call.args[0], ast.Constant) else None


def _is_unconditional(statement: Statement) -> bool:
    """Whether a statement runs whenever the file is started as a script."""
    return all(isinstance(link.node, ast.If) and _asks_for_main(link.node.test) for link in statement.around)


def _asks_for_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and dotted(test.left) == "__name__"
