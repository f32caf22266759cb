"""Programs too small for speed to matter: all that they train is a layer or two of narrow ``Linear``.

A linear regression on 13 features, or the first exercise with handwritten digits, takes the device some microseconds a
step.  A wait or a batch that is loaded late may be most of such a step, but nobody gains a minute by mending it.
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
_LIBRARIES = re.compile(r"paddle\w+|pgl|pp\w+|parl")
"""Packages that bring models along."""

_TRAINING = ("backward", "minimize", "fit")
"""Words without which a file has layers to offer, but trains none."""

_MOST_LAYERS = 2
_MOST_WEIGHTS = 1_000_000
"""Of one layer: the matrix of the digits' exercise, 784 by 512, has less than half of that."""


@query
def is_toy(file: FileIndex) -> bool:
    """Whether a program trains no more than one or two small linear layers, all of which stand in its file."""
    if not file.has_words("Linear") or not file.has_words(*_TRAINING):
        return False
    if any(map(_LIBRARIES.fullmatch, file.names.packages - {"paddle"})):
        return False
    layers = [found for scope in file.scopes.scopes for found in _layers(file, scope)]
    return 0 < len(layers) <= _MOST_LAYERS and all(layers) and not _imports_layers(file)


def _layers(file: FileIndex, scope: Scope) -> Iterator[bool]:
    """For each layer with weights that a function makes, whether it is a small linear one, and made once."""
    for statement in scope.statements:
        for call in statement.calls:
            qualified = file.names.resolve(dotted(call.func) or "")
            if _LINEAR.match(qualified):
                yield statement.loop is None and _is_small(call, file, scope, statement)
            elif _OTHER_WEIGHTS.search(qualified):
                yield False


def _is_small(call: ast.Call, file: FileIndex, scope: Scope, statement: Statement) -> bool:
    """Whether both widths of a layer are known, and its matrix is small."""
    weights, place = 1, ReadPlace(file, scope, statement)
    for position, names in enumerate((("in_features", "input_dim"), ("out_features", "output_dim"))):
        given = next((found for name in names if (found := argument_of(call, name, position)) is not None), None)
        values = Constants.of(file.project).possible(given, place) if given is not None else ()
        if not values or not all(type(value.value) is int for value in values):
            return False
        weights *= max(value.value for value in values)
    return weights <= _MOST_WEIGHTS


def _imports_layers(file: FileIndex) -> bool:
    """Whether a file imports others of the project that may define or make layers."""
    return any(
        other is not file and other.has_words("nn", "Layer") for other in Imports.of(file.project).closure([file])
    )
