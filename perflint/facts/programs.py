"""The programs that a file belongs to: whether they train, on which device, how large they are, and who sees their
names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from perflint.flow.branches import State, Switches
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.constant_values import Setter
from perflint.flow.constants import Constants
from perflint.index.imports import Imports
from perflint.index.in_use import asks_for_main, held_names
from perflint.index.project import Part, Place
from perflint.inputs.input_files import passed_numbers
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

# Facts about the programs that a file belongs to: whether they train, and what they import before a statement.

_TRAINS = re.compile(r"\.(?:backward|minimize|fit|train_batch)\(")
_USUAL = re.compile(r"cuda|gpu|xpu|npu|device|\bplace|__name__|(?<!pre)train", re.IGNORECASE)
"""Words of tests that are usually true in a training program: for a device, and for the task."""
_UPDATES = re.compile(r"\.(?:step|minimize|fit|train_batch)\(|\btrainer\.train\(|Optimizer|\boptimizer")


def files_with(file: FileIndex) -> frozenset[FileIndex]:
    """The files of all programs that load a file."""
    imports = Imports.of(file.project)
    return imports.closure(imports.users([file]))


def passed_for(file: FileIndex, key: str, *, in_scripts: bool = False) -> list[str]:
    """The numbers that scripts and documents pass to a program for an option, where no other program is meant.

    They lie in its folder, below it, or above it, where no program of that name is nearer; anywhere if no other program
    has the name. ``in_scripts``: only shell scripts count, since what a document says may be one of several examples.
    """
    *folder, name = file.parts
    places = [each.parts[:-1] for each in file.project.files.values() if each.parts[-1] == name]
    found = passed_numbers(file.path, name, key, file.project.inputs)
    found = [each for each in found if each[0].endswith(".sh") or not in_scripts]
    return [number for path, number in found if _is_meant(PurePosixPath(path).parent.parts, tuple(folder), places)]


def _is_meant(script: tuple[str, ...], program: tuple[str, ...], places: list[tuple[str, ...]]) -> bool:
    if len(places) == 1 or script[: len(program)] == program:
        return True
    below = [len(each) for each in places if each[: len(script)] == script]
    return program[: len(script)] == script and len(program) == min(below)


@query
def trains(file: FileIndex) -> bool:
    """Whether a program that loads a file, or the file itself as a program, updates weights."""
    loaded = files_with(file)
    return any(one.matches(_TRAINS) for one in loaded) and any(one.matches(_UPDATES) for one in loaded)


def is_before_import(statement: Statement, package: str, file: FileIndex) -> bool:
    """Whether a statement of a program runs before the program imports a package, through any module.

    A statement in a function, or in a module that others import, may come too late: then the answer is no.
    """
    module = file.scopes.module
    if not any(statement is each for each in module.statements) or next(Imports.of(file.project).loaders(file), None):
        return False
    return not any(_loads(name, package, file) for name in _imported_above(module.node, statement.node))


def _imported_above(module: ast.AST, node: ast.stmt) -> list[str]:
    """The modules that the import statements above a row name, with what is imported from them."""
    found: list[str] = []
    for item in ast.walk(module):
        if isinstance(item, (ast.Import, ast.ImportFrom)) and item.lineno < node.lineno:
            source = f"{item.module}." if isinstance(item, ast.ImportFrom) and item.module else ""
            found += [source + name.name for name in item.names]
    return found


def _loads(name: str, package: str, file: FileIndex) -> bool:
    """Whether the import of a module loads a package with such a name: ``paddle`` and ``paddlenlp``."""
    if name.startswith(package):
        return True
    imports = Imports.of(file.project)
    first = name.partition(".")[0]
    reached = (other for other in imports.direct(file) if first in other.parts)
    return any(other.has_words(package) for other in imports.closure(reached))


@query(cycle=False)
def is_always_reached(at: Place, statement: Statement) -> bool:
    """Whether a statement runs whatever the user chooses, except for the device, and for training at all."""
    switches, place = Switches.of(at.file.project), at.before(statement)
    chosen = [(test, truth) for test, truth in statement.conditions if not _USUAL.search(ast.unparse(test))]
    if any(switches.state(test, place, truth) is not State.ON for test, truth in chosen):
        return False
    if isinstance(at.scope.node, ast.Module) or at.scope.is_special:
        return True
    sites = [site for site in CallGraph.of(at.file.project).callers(at, Certainty.NAME) if site.scope is not at.scope]
    return not sites or any(is_always_reached(site.function, site.statement) for site in sites)


# Recognizes programs too small for speed to matter: they only train one or two narrow ``Linear`` layers, or a
# circuit.
#
# A linear regression on 13 features, or the first exercise with handwritten digits, takes the device some
# microseconds per step. A wait or a late batch may be most of such a step, but fixing it does not save a minute.
#
# The state of a simulated quantum circuit with 10 qubits is 1024 numbers, and each gate takes a few small operations
# that Python launches one by one. The device is already idle when the host reads the loss.

_LINEAR = re.compile(r"paddle\.(?:nn|fluid\.dygraph(?:\.nn)?)\.Linear$")
_OTHER_WEIGHTS = re.compile(
    r"(?:Conv\w*|\w*LSTM\w*|\w*GRU\w*|\w*RNN\w*|Transformer\w*|\w*Attention|\w*Embedding|embedding|Bilinear|fc|FC"
    r"|create_parameter|hub)$|paddle\.(?:vision\.models|jit\.load|static|hub)\b"
)
_CIRCUIT = re.compile(r"paddle_quantum\.(?:\w+\.)*(?:UAnsatz|Circuit)$")
_LIBRARIES = re.compile(r"paddle\w+|pgl|pp\w+|parl")
"""Packages that contain models."""

_TRAINING = ("backward", "minimize", "fit")
"""Words without which a file has layers to offer, but does not train any."""

_MOST_LAYERS = 2
_MOST_WEIGHTS = 1_000_000
"""The most weights of one small layer: the matrix of the digits exercise, 784 by 512, has less than half of that."""
_MOST_QUBITS = 10


@query
def is_toy(file: FileIndex) -> bool:
    """Whether a program trains no more than one or two small linear layers or some small quantum circuits.

    All of them must be in its file.
    """
    if not file.has_words("Linear", "paddle_quantum") or not file.has_words(*_TRAINING):
        return False
    if any(map(_LIBRARIES.fullmatch, file.names.packages - {"paddle", "paddle_quantum"})):
        return False
    circuits = [found for scope in file.scopes.scopes for found in _circuits(Place(file, scope))]
    if not all(circuits) or (not circuits and "paddle_quantum" in file.names.packages):
        return False
    layers = [found for scope in file.scopes.scopes for found in _layers(Place(file, scope), bool(circuits))]
    is_small = bool(circuits or layers) and len(layers) <= _MOST_LAYERS and all(layers)
    return is_small and not _imports_layers(file)


def _circuits(at: Place) -> Iterator[bool]:
    """For each quantum circuit that a function creates, whether it is known to have few qubits."""
    for statement in at.scope.statements:
        for call in statement.calls:
            if _CIRCUIT.match(at.file.names.resolve(dotted(call.func) or "")):
                given = argument_of(call, "num_qubits", 0) or argument_of(call, "n", 0)
                yield 0 < _greatest(given, at.before(statement)) <= _MOST_QUBITS


def _layers(at: Place, are_angles: bool) -> Iterator[bool]:
    """For each layer with weights that a function creates, whether it is a small linear one, and created once.

    ``are_angles``: the parameters that the code creates directly are angles of a circuit's gates.
    """
    for statement in at.scope.statements:
        for call in statement.calls:
            name = dotted(call.func) or ""
            qualified = at.file.names.resolve(name)
            if _LINEAR.match(qualified):
                yield statement.loop is None and _is_small(call, at, statement)
            elif _makes_other_weights(name, qualified, are_angles):
                yield False


def _makes_other_weights(name: str, qualified: str, are_angles: bool) -> bool:
    """Whether a call creates weights: ``self.fc(x)`` only runs an existing layer."""
    if qualified.endswith("create_parameter"):
        return not are_angles
    return not name.startswith("self.") and _OTHER_WEIGHTS.search(qualified) is not None


def _is_small(call: ast.Call, at: Place, statement: Statement) -> bool:
    """Whether both widths of a layer are known, and its matrix is small."""
    weights, place = 1, at.before(statement)
    for position, names in enumerate((("in_features", "input_dim"), ("out_features", "output_dim"))):
        given = next((found for name in names if (found := argument_of(call, name, position)) is not None), None)
        weights *= _greatest(given, place)
    return 0 < weights <= _MOST_WEIGHTS


def _greatest(given: ast.expr | None, place: Place) -> int:
    """The greatest of the whole numbers that an argument may be; 0 if one is not known."""
    values = Constants.of(place.file.project).possible(given, place) if given is not None else ()
    if not values or not all(type(value.value) is int for value in values):
        return 0
    return max(int(value.value) for value in values)


def _imports_layers(file: FileIndex) -> bool:
    """Whether a file imports others of the project that may define or create layers."""
    return any(other is not file and _uses_layers(other) for other in Imports.of(file.project).closure([file]))


def _uses_layers(file: FileIndex) -> bool:
    """Whether a file uses ``paddle.nn`` or the class of all layers, and does not just import them."""
    if not file.has_words("nn", "Layer"):
        return False
    names = (name for name in file.names.bound if file.names.resolve(name).startswith("paddle.nn"))
    return bool(file.names.stars) or any(name in file.loads for name in ("nn", "Layer", *names))


# Finds files that run on the CPU, from what they or the scripts that load them pass to ``set_device``.

_OF_DATA = frozenset({"to_tensor", "create_lod_tensor", "set", "Tensor", "VarBase", "DataLoader"})
"""Calls that take the place of one tensor, or of batches, regardless of the device of the program."""

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
                if is_choice and switches.state_of_place(statement, Place(file, scope), call) is not State.OFF:
                    always = _is_unconditional(statement) or switches.is_certain(call, statement, Place(file, scope))
                    place = Place(file, scope, statement)
                    at_top = scope is file.scopes.module
                    found.append(_Choice(_is_cpu(call.args[0], place), always, at_top))
    return found


def _is_cpu(device: ast.expr, place: Place) -> bool:
    """Whether a device is the CPU, whatever the user chooses."""
    values = Constants.of(place.file.project).possible(device, place)
    return all(value.is_known and value.value == "cpu" and value.setter is not Setter.USER for value in values)


def _is_unconditional(statement: Statement) -> bool:
    """Whether a statement runs whenever the file is started as a script."""
    return all(isinstance(link.node, ast.If) and asks_for_main(link.node) for link in statement.around)


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


# Finds who else may look at a name of a function, or of a module, while a loop of it runs.
#
# That is code which reads the names of a running function from its frame, and, for a module, any other file that can
# get at the module: by an import, through another module, or from ``sys.modules``. What the function itself does with
# the name is in ``accumulators.py``.

_NAMES_OF_FRAMES = frozenset({"f_locals", "f_globals"})
_LIST_FRAMES = frozenset(
    {"getargvalues", "getclosurevars", "getgeneratorlocals", "getcoroutinelocals"}
    | {"capture_locals", "show_locals", "cgitb"}  # (a traceback with the values of the names)
)
_MODULES = re.compile(r"\b(?:import|from)[\s\\]+__main__\b|\bmodules\b|\bimport_module\b|\b__import__\b")
"""What a file contains that gets at modules it does not name in an import statement."""


def may_look_at(at: Place, name: str) -> bool:
    """Whether code elsewhere may read a name of a function or a module while its statements run.

    Args:
        file: the file of the function, or the module.
        scope: the function or the module.
        name: a plain name that it binds.
    """
    if isinstance(at.scope.node, ast.Module) and any(
        _may_look(other, at.file, name) for other in at.file.project.files.values()
    ):
        return True
    named = at.file.project.mentions.of(*sorted(_NAMES_OF_FRAMES | _LIST_FRAMES))
    looking = [other for other in named if _in_frames(other, name)]
    return bool(looking) and not files_with(at.file).isdisjoint(looking)


def _may_look(other: FileIndex, file: FileIndex, name: str) -> bool:
    """Whether a file may read a name of a module: another one, or that one itself from ``sys.modules``."""
    if other is file:
        return _finds_main(file)
    if not (other in _loading(file) or _finds_modules(other)):
        return False
    return other.has_words(name, "__dict__") or held_names(other).finds_names


@query
def _loading(file: FileIndex) -> frozenset[FileIndex]:
    """The files that load a module, directly or through others, or may do so from a directory of ``sys.path``."""
    imports = Imports.of(file.project)
    return imports.users([file, *imports.loaders(file)])


@query
def _finds_modules(file: FileIndex) -> bool:
    """Whether a file may get at any module: ``import __main__``, ``sys.modules[name]``, ``import_module(name)``."""
    if not file.matches(_MODULES):
        return False
    if _finds_main(file):
        return True
    calls = (*file.calls_named("import_module"), *file.calls_named("__import__"))
    return any(string_of(call.args[0]) in (None, "__main__") for _, _, call in calls if call.args)


@query
def _finds_main(file: FileIndex) -> bool:
    """Whether a file may get at the module that is run, or at its own: ``import __main__``, ``sys.modules[name]``."""
    if not file.has_words("__main__", "modules"):
        return False
    if any(target.partition(".")[0] == "__main__" or target == "sys.modules" for target in file.names.imported):
        return True
    return any(file.names.resolve(dotted(load.node) or "") == "sys.modules" for load in file.loads.get("modules", ()))


@query
def _in_frames(file: FileIndex, name: str) -> bool:
    """Whether a file may read a name from the frame of a running function: not if it only reads others by a literal."""
    if file.has_words(*_LIST_FRAMES):
        return True
    nodes = walk(file.tree)
    others = {
        item.value for item in nodes if isinstance(item, ast.Subscript) and string_of(item.slice) not in (None, name)
    }
    frames = (item for item in nodes if isinstance(item, ast.Attribute) and item.attr in _NAMES_OF_FRAMES)
    return any(item not in others for item in frames)


# Handles code for ``paddle.fluid``: the Paddle that it runs on, and the names that differ there.
#
# ``paddle.fluid`` was all of Paddle 1.x, coexisted with the new names in 2.0 to 2.4, and was removed in 2.5.

FLUID = "paddle.fluid"
GONE = "2.5"
"""The first Paddle without it."""
NO_CLONE = "tensors have `clone` since Paddle 2.0: where nothing changes them in place, `.detach()` is enough"
"""Why no edit with ``.clone()`` is offered to code for Paddle 1.x."""
_OF_PADDLE_2 = re.compile(
    r"\b(?:paddle\.|from[ \t]+paddle[ \t]+import\b[^\n#]*?\b)"
    r"(?:nn|to_tensor|no_grad|vision|set_device|Model|io|optimizer|static|jit|amp|metric|load|save|disable_static"
    r"|enable_static|grad|DataParallel)\b"
)


@query
def imports_fluid(file: FileIndex) -> bool:
    """Whether a file imports ``paddle.fluid`` or a part of it."""
    return fluid_row(file) > 0


def fluid_row(file: FileIndex) -> int:
    """The row of the first import of ``paddle.fluid`` that does not depend on the version of Paddle; 0 without one.

    An import under ``try`` or ``if`` may belong to a program for several releases.
    """
    if not file.has_words("fluid"):
        return 0
    imports = (node for node in file.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    return next((node.lineno for node in imports if _names_fluid(node)), 0)


def _names_fluid(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    else:
        module = "" if node.level else node.module or ""
        named = [f"{module}.{alias.name}" for alias in node.names]
    return any(f"{name}.".startswith(f"{FLUID}.") for name in named)


@query
def _knows_paddle_2(file: FileIndex) -> bool:
    """Whether a file uses a name that came with Paddle 2.0, such as ``paddle.nn``."""
    return file.matches(_OF_PADDLE_2)


def is_for_paddle_1(files: Iterable[FileIndex]) -> bool:
    """Whether some files of one program are for Paddle 1.x: they import ``paddle.fluid``, and nothing of Paddle 2."""
    distinct = list(dict.fromkeys(files))
    return any(map(imports_fluid, distinct)) and not any(map(_knows_paddle_2, distinct))
