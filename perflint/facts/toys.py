"""Recognizes programs too small for speed to matter: they only train one or two narrow ``Linear`` layers, or a circuit.

A linear regression on 13 features, or the first exercise with handwritten digits, takes the device some microseconds
per step. A wait or a late batch may be most of such a step, but fixing it does not save a minute.

The state of a simulated quantum circuit with 10 qubits is 1024 numbers, and each gate takes a few small operations that
Python launches one by one. The device is already idle when the host reads the loss.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.constants import Constants
from perflint.dataflow.sole_binding import ReadPlace
from perflint.index.imports import Imports
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

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
    circuits = [found for scope in file.scopes.scopes for found in _circuits(file, scope)]
    if not all(circuits) or (not circuits and "paddle_quantum" in file.names.packages):
        return False
    layers = [found for scope in file.scopes.scopes for found in _layers(file, scope, bool(circuits))]
    is_small = bool(circuits or layers) and len(layers) <= _MOST_LAYERS and all(layers)
    return is_small and not _imports_layers(file)


def _circuits(file: FileIndex, scope: Scope) -> Iterator[bool]:
    """For each quantum circuit that a function creates, whether it is known to have few qubits."""
    for statement in scope.statements:
        for call in statement.calls:
            if _CIRCUIT.match(file.names.resolve(dotted(call.func) or "")):
                given = argument_of(call, "num_qubits", 0) or argument_of(call, "n", 0)
                yield 0 < _greatest(given, ReadPlace(file, scope, statement)) <= _MOST_QUBITS


def _layers(file: FileIndex, scope: Scope, are_angles: bool) -> Iterator[bool]:
    """For each layer with weights that a function creates, whether it is a small linear one, and created once.

    ``are_angles``: the parameters that the code creates directly are angles of a circuit's gates.
    """
    for statement in scope.statements:
        for call in statement.calls:
            name = dotted(call.func) or ""
            qualified = file.names.resolve(name)
            if _LINEAR.match(qualified):
                yield statement.loop is None and _is_small(call, file, scope, statement)
            elif _makes_other_weights(name, qualified, are_angles):
                yield False


def _makes_other_weights(name: str, qualified: str, are_angles: bool) -> bool:
    """Whether a call creates weights: ``self.fc(x)`` only runs an existing layer."""
    if qualified.endswith("create_parameter"):
        return not are_angles
    return not name.startswith("self.") and _OTHER_WEIGHTS.search(qualified) is not None


def _is_small(call: ast.Call, file: FileIndex, scope: Scope, statement: Statement) -> bool:
    """Whether both widths of a layer are known, and its matrix is small."""
    weights, place = 1, ReadPlace(file, scope, statement)
    for position, names in enumerate((("in_features", "input_dim"), ("out_features", "output_dim"))):
        given = next((found for name in names if (found := argument_of(call, name, position)) is not None), None)
        weights *= _greatest(given, place)
    return 0 < weights <= _MOST_WEIGHTS


def _greatest(given: ast.expr | None, place: ReadPlace) -> int:
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
