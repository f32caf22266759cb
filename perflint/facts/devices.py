"""Finds files that run on the CPU, from what they or the scripts that load them pass to ``set_device``."""

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
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Statement, terminal

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_OF_DATA = frozenset({"to_tensor", "create_lod_tensor", "set", "Tensor", "VarBase"})
"""Calls that take the place of one tensor, regardless of the device of the program."""

_ACCELERATORS = ("CUDA", "cuda", "XPUPlace", "NPUPlace", "CustomPlace", "set_device")


class Devices(Part):
    """Decides which files of a project run only on the CPU."""

    @query
    def runs_on_cpu(self, file: FileIndex) -> bool:
        """Whether a run of this file is pinned to the CPU, where a host read costs nothing."""
        choices = _choices(file)
        if choices:
            return _all_on_cpu(choices) and any(choice.always for choice in choices)
        return bool(self._pinned) and self._is_driven(file, self._pinned)

    @query
    def starts_on_cpu(self, file: FileIndex) -> bool:
        """Whether all programs with this file start with the CPU as their device, or name no other place."""
        if not self._starting_on_cpu or any(map(file.has, _ACCELERATORS)) or _choices(file):
            return file in self._starting_on_cpu
        return file in self._starting_on_cpu or self._is_driven(file, self._starting_on_cpu)

    @property
    @query
    def _starting_on_cpu(self) -> frozenset[FileIndex]:
        """The files that set it themselves; a function that sets a device may also be called from other files."""
        pinned = (file for file in self._pinned if any(choice.at_top for choice in _choices(file)))
        named = (file for file in self._project.mentions.of("CPUPlace") if not file.is_quiet and _works_on_cpu(file))
        return frozenset((*pinned, *named))

    @property
    @query
    def _pinned(self) -> frozenset[FileIndex]:
        """The files that always put the whole run on the CPU, without tests, which do not train."""
        return frozenset(file for file in self._project.files.values() if not file.is_quiet and _pins(file))

    @query
    def _is_driven(self, file: FileIndex, pinned: frozenset[FileIndex]) -> bool:
        """Whether all programs that load this file start in one of the pinned files."""
        is_pinned, seen, waiting = False, {file}, [self._importers(file)]
        while waiting:
            driver = next(waiting[-1], None)
            if driver is None:
                waiting.pop()
            elif driver in pinned:
                is_pinned = True
            elif driver not in seen:
                if self._may_start(driver):
                    return False
                seen.add(driver)
                waiting.append(self._importers(driver))
        return is_pinned

    @query
    def _may_start(self, file: FileIndex) -> bool:
        """Whether a run may start in a file that is not pinned: nothing imports it, or it chooses a device itself."""
        return bool(_choices(file)) or not any(self._importers(file))

    def _importers(self, file: FileIndex) -> Iterator[FileIndex]:
        return (other for other in Imports.of(self._project).importers(file) if not other.is_quiet)


class _Choice(NamedTuple):
    """A call of ``set_device`` that may run.

    ``cpu``: it names the CPU. ``always``: every call of its function reaches it. ``at_top``: it is in no function.
    """

    cpu: bool
    always: bool
    at_top: bool


def _pins(file: FileIndex) -> bool:
    choices = _choices(file)
    return bool(choices) and _all_on_cpu(choices) and all(choice.always for choice in choices)


def _all_on_cpu(choices: list[_Choice]) -> bool:
    return all(choice.cpu for choice in choices)


@query
def _choices(file: FileIndex) -> list[_Choice]:
    """The calls of ``set_device`` in a file, except for those under a test that is constant and false."""
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
                    at_top = scope is file.scopes.module
                    found.append(_Choice(_is_cpu(call.args[0], place), always, at_top))
    return found


def _is_cpu(device: ast.expr, place: ReadPlace) -> bool:
    """Whether a device is the CPU, whatever the user chooses."""
    values = Constants.of(place.file.project).possible(device, place)
    return all(value.is_known and value.value == "cpu" and value.setter is not Setter.USER for value in values)


def _is_unconditional(statement: Statement) -> bool:
    """Whether a statement runs whenever the file is started as a script."""
    return all(isinstance(link.node, ast.If) and _asks_for_main(link.node.test) for link in statement.around)


def _asks_for_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and dotted(test.left) == "__name__"


@query
def has_no_gpu(file: FileIndex) -> bool:
    """Whether the code of a file runs on the CPU, judging by it and everything that loads it.

    Examples: ``set_device("cpu")`` unconditionally, ``exe = fluid.Executor(fluid.CPUPlace())`` in a file without
    ``CUDAPlace``, and a file that only such files import.
    """
    devices = Devices.of(file.project)
    return devices.runs_on_cpu(file) or devices.starts_on_cpu(file)


@query
def _works_on_cpu(file: FileIndex) -> bool:
    """Whether the CPU is the only place that a file names, other than for single tensors."""
    text = file.source.text if file.has("CPUPlace") else ""
    if not text or any(word in text for word in _ACCELERATORS):
        return False
    statements = (statement for scope in file.scopes.scopes for statement in scope.statements)
    return any(_gives_cpu(statement) for statement in statements)


def _gives_cpu(statement: Statement) -> bool:
    """Whether a statement stores the CPU as a place, or passes it to something that runs a program there."""
    if isinstance(statement.node, ast.Assign) and _is_cpu_place(statement.node.value):
        return True
    runs = (call for call in statement.calls if terminal(call) not in _OF_DATA)
    return any(_is_cpu_place(argument) for call in runs for argument in arguments_of(call))


def _is_cpu_place(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(map(_is_cpu_place, node.elts))
    return isinstance(node, ast.Call) and terminal(node) == "CPUPlace"
