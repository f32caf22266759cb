"""Which files run on the CPU: by what they, or the scripts that drive them, hand to ``set_device``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.index.imports import Imports
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_ACCELERATORS = ("CUDA", "cuda", "XPUPlace", "NPUPlace", "CustomPlace", "set_device")


class Devices(Part):
    """Which files of a project run on the CPU alone."""

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

    @query
    def _is_driven(self, file: FileIndex) -> bool:
        """Whether all that imports this file, and so on, begins in pinned files."""
        is_pinned, seen, waiting = False, {file}, [self._importers(file)]
        while waiting:
            driver = next(waiting[-1], None)
            if driver is None:
                waiting.pop()
            elif driver in self._pinned:
                is_pinned = True
            elif driver not in seen:
                if self._may_start(driver):
                    return False
                seen.add(driver)
                waiting.append(self._importers(driver))
        return is_pinned

    @query
    def _may_start(self, file: FileIndex) -> bool:
        """Whether a run may begin in a file that is not pinned: nobody imports it, or it chooses a device itself."""
        return any(_set_device_calls(file)) or not any(self._importers(file))

    def _importers(self, file: FileIndex) -> Iterator[FileIndex]:
        return (other for other in Imports.of(self._project).importers(file) if not other.is_quiet)


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


@query
def has_no_gpu(file: FileIndex) -> bool:
    """Whether the code of a file, as far as it says, runs on the CPU: by ``set_device`` or by the only place it names.

    Examples: ``set_device("cpu")`` whatever the program is told, ``place = fluid.CPUPlace()`` and no ``CUDAPlace``.
    """
    if Devices.of(file.project).runs_on_cpu(file):
        return True
    text = file.source.text if file.has("CPUPlace") else ""
    if not text or any(word in text for word in _ACCELERATORS):
        return False
    return any(True for _ in file.calls_named("CPUPlace"))
