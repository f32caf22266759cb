"""Finds what a program spends its training steps on, by its layers: wide convolutions, attention, wide products.

A file that an entry point loads may contain several models, one of which is trained: all of them count, unless the
class of the model is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum

from perflint.dataflow.values import Values
from perflint.facts.entry_points import EntryPoint
from perflint.index.imports import Imports
from perflint.index.kinds import EITHER, LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.names import dotted, spellings
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import Class


class DeviceWork(Enum):
    """Layers that take time on the device."""

    CONVOLUTIONS = "convolutions"
    OTHER_CONVOLUTIONS = "3-D and transposed convolutions"
    """Those that ``auto_cast`` leaves in float32, since its white list only has ``conv2d``."""
    ATTENTION = "attention"
    PRODUCTS = "wide linear layers"


_CONVOLUTIONS = spellings(["paddle.nn.Conv2D"])
_OTHER_CONVOLUTIONS = spellings(
    f"paddle.nn.{name}" for name in ("Conv3D", "Conv2DTranspose", "Conv3DTranspose", "SubmConv3D")
)
_ATTENTION = spellings(
    f"paddle.nn.{name}"
    for name in ("MultiHeadAttention", "Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer")
)
_VISION = re.compile(r"paddle\.vision\.models\.(?!LeNet)\w|paddleseg\.models|ppcls\.arch")
_LANGUAGE = re.compile(r"(?:paddlenlp|paddleformers)\.transformers\.|.*\.from_pretrained$")
_CHANNELS, _WIDTH = 64, 1024
"""Widths from which a convolution, or a linear layer, keeps Tensor Cores busy."""
_WORDS = ("Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Linear", "MultiHeadAttention", "softmax")
_MORE_WORDS = ("TransformerEncoderLayer", "TransformerDecoderLayer", "models", "from_pretrained", "Transformer")


def work_of(entry: EntryPoint) -> frozenset[DeviceWork]:
    """What the model of an entry point spends its time on, as far as the project shows."""
    return _work_of(entry.file, entry.driven_from, entry)


@query
def _work_of(file: FileIndex, driver: FileIndex, entry: EntryPoint) -> frozenset[DeviceWork]:
    return frozenset().union(*(_work_in(each) for each in model_files(entry)))


def model_files(entry: EntryPoint) -> frozenset[FileIndex]:
    """The files with the classes of an entry point's model, and their imports; all loaded files if none is known."""
    imports = Imports.of(entry.file.project)
    own = {file for file, _ in classes_of_model(entry)}
    starts = own or {entry.file, entry.driven_from, *imports.importers(entry.file)}
    return frozenset(each for each in imports.closure(starts) if not each.is_quiet)


def classes_of_model(entry: EntryPoint) -> frozenset[tuple[FileIndex, Class]]:
    """The classes that the models of an entry point may be of, as far as known."""
    return frozenset(found for name in entry.models for found in _classes(entry, name))


def _classes(entry: EntryPoint, name: str) -> Iterator[tuple[FileIndex, Class]]:
    """The classes that a model may be of."""
    kind = Values.of(entry.file.project).lasting_kind(entry.file, entry.scope, ast.parse(name, mode="eval").body)
    for each in kind.type.split(EITHER) if kind.tag == LAYER_TAG else ():
        found = Modules.of(entry.file.project).class_named(each)
        if found is not None:
            yield found


@query
def _work_in(file: FileIndex) -> frozenset[DeviceWork]:
    """What the layers of one file spend their time on."""
    if not file.has_words(*_WORDS, *_MORE_WORDS) or file.is_foreign:
        return frozenset()
    return frozenset(filter(None, (_work(file, call) for scope in file.scopes.scopes for call in scope.calls)))


def _work(file: FileIndex, call: ast.Call) -> DeviceWork | None:
    name = file.names.resolve(dotted(call.func) or "")
    if name in _CONVOLUTIONS | _OTHER_CONVOLUTIONS:
        work = DeviceWork.CONVOLUTIONS if name in _CONVOLUTIONS else DeviceWork.OTHER_CONVOLUTIONS
        return work if _is_wide(call, 1, "out_channels", _CHANNELS) else None
    if name in _ATTENTION or _LANGUAGE.match(name):
        return DeviceWork.ATTENTION
    if _VISION.match(name):
        return DeviceWork.CONVOLUTIONS
    if name == "paddle.nn.Linear" and _is_wide(call, 1, "out_features", _WIDTH):
        return DeviceWork.PRODUCTS
    return None


def _is_wide(call: ast.Call, position: int, parameter: str, least: int) -> bool:
    """Whether a width is a literal of at least this size, or computed: toy models are not that general."""
    if is_spread(call):
        return True
    width = argument_of(call, parameter, position)
    if isinstance(width, ast.Constant):
        return isinstance(width.value, int) and width.value >= least
    return width is not None and parameter == "out_channels"
