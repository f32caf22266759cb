"""Which files run on the CPU: by what they, or the scripts that drive them, hand to ``set_device``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from perflint.dataflow.constant_values import Setter
from perflint.dataflow.constants import Constants
from perflint.dataflow.sole_binding import ReadPlace
from perflint.dataflow.switches import State, Switches
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
        choices = _choices(file)
        if choices:
            return _all_on_cpu(choices) and any(choice.always for choice in choices)
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
        return bool(_choices(file)) or not any(self._importers(file))

    def _importers(self, file: FileIndex) -> Iterator[FileIndex]:
        return (other for other in Imports.of(self._project).importers(file) if not other.is_quiet)


class _Choice(NamedTuple):
    """A call of ``set_device`` that may run.

    ``cpu``: it names the CPU.  ``always``: whoever calls its function gets there.
    """

    cpu: bool
    always: bool


def _pins(file: FileIndex) -> bool:
    choices = _choices(file)
    return bool(choices) and _all_on_cpu(choices) and all(choice.always for choice in choices)


def _all_on_cpu(choices: list[_Choice]) -> bool:
    return all(choice.cpu for choice in choices)


@query
def _choices(file: FileIndex) -> list[_Choice]:
    """The calls of ``set_device`` in a file, but for those under a test that constants decide against them."""
    if not file.has("set_device"):
        return []
    found: list[_Choice] = []
    switches = Switches.of(file.project)
    for scope in file.scopes.scopes:
        for statement in scope.statements:
            for call in statement.calls:
                is_choice = bool(call.args) and (dotted(call.func) or "").endswith("set_device")
                if is_choice and switches.state_of_place(call, statement, scope, file) is not State.OFF:
                    always = _is_unconditional(statement) or switches.is_certain(call, statement, scope, file)
                    place = ReadPlace(file, scope, statement)
                    found.append(_Choice(_is_cpu(call.args[0], place), always))
    return found


def _is_cpu(device: ast.expr, place: ReadPlace) -> bool:
    """Whether a device is the CPU, whatever the user asks for."""
    values = Constants.of(place.file.project).possible(device, place)
    return all(value.is_known and value.value == "cpu" and value.setter is not Setter.USER for value in values)


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
