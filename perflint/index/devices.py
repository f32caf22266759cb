"""Which files run on the CPU: by what they, or the scripts that drive them, hand to ``set_device``."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from perflint.index.names import dotted
from perflint.index.scopes import Statement

if TYPE_CHECKING:
    from perflint.index.file import FileIndex
    from perflint.index.project import Project


class Devices:
    """Answers for the files of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def runs_on_cpu(self, file: FileIndex) -> bool:
        """Whether a run of this file is pinned to the CPU, where a host read costs nothing."""
        calls = [call for _, call in _set_device_calls(file)]
        devices = [device for device in map(_literal, calls) if device is not None]
        if calls:
            return bool(devices) and all(device == "cpu" for device in devices)
        return bool(self._pinned) and self._is_driven(file, {file})

    @cached_property
    def _pinned(self) -> frozenset[FileIndex]:
        """The files that put the whole run on the CPU, whatever they are told; tests are not what trains."""
        return frozenset(file for file in self._project.files.values() if not file.is_quiet and _pins(file))

    def _is_driven(self, file: FileIndex, seen: set[FileIndex]) -> bool:
        """Whether every file that imports this one is pinned, or is driven by such files itself."""
        drivers = self._importers.get(file, set()) - seen
        return bool(drivers) and all(
            driver in self._pinned
            or (next(_set_device_calls(driver), None) is None and self._is_driven(driver, {*seen, driver}))
            for driver in drivers
        )

    @cached_property
    def _importers(self) -> dict[FileIndex, set[FileIndex]]:
        importers: dict[FileIndex, set[FileIndex]] = defaultdict(set)
        for file in self._project.files.values():
            if not file.is_quiet:
                for imported in self._imported(file):
                    if imported is not file:
                        importers[imported].add(file)
        return importers

    def _imported(self, file: FileIndex) -> Iterator[FileIndex]:
        for name in (*file.names.targets, *file.names.modules, *file.names.stars):
            module = self._project.module_named(name, file) or self._project.module_named(name.rpartition(".")[0], file)
            found = self._project.find(name, file)
            yield from {part for part in (module, found[0] if found else None) if part is not None}


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
    links = list(statement.place.chain()) if statement.place is not None else []
    return all(isinstance(link.node, ast.If) and _asks_for_main(link.node.test) for link in links)


def _asks_for_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and dotted(test.left) == "__name__"
