"""Finds where a model's 2-D convolutions have their channels: first (NCHW, Paddle's default), last (NHWC), or open."""

from __future__ import annotations

import ast
from enum import Enum

from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.names import dotted, spellings
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import Class, Scope, headers
from perflint.syntax.tree import walk


class Channels(Enum):
    """Where a convolution has its channels."""

    FIRST = "NCHW"
    LAST = "NHWC"
    TOLD = "what an argument says"


_CONVOLUTIONS = spellings(["paddle.nn.Conv2D", "paddle.nn.Conv2DTranspose"])
_SEQUENCES = spellings(
    f"paddle.nn.{name}" for name in ("LSTM", "GRU", "SimpleRNN", "LSTMCell", "GRUCell", "MultiHeadAttention", "RNN")
)
"""Layers of a model that spends its time on sequences, whatever convolutions it has."""
_LINEAR = frozenset({"paddle.nn.Linear"})
_MOST_LINEAR = 3
"""How many linear layers there may be for each convolution: a vision transformer has more, a VGG does not."""
_OUTPUTS, _GROUPS, _FORMAT = 1, 6, 10
"""Positions of ``out_channels``, ``groups`` and ``data_format`` among the arguments of a convolution."""
_SMALL = 64
"""With fewer channels than this, Tensor Cores have little to do."""

_Made = tuple[ast.Call, "Channels | str"]
"""A call that creates a layer: where a convolution has its channels, the name of another layer."""
_NOTHING: frozenset[_Made] = frozenset()


def channels_of(file: FileIndex, owner: Class) -> frozenset[Channels]:
    """Where the convolutions of a model have their channels, including those of its sublayers.

    Small and grouped convolutions are left out. Empty: there are no others, or the model is not a convolutional one.

    Args:
        file: the file of the class.
        owner: a layer of the project.
    """
    made = _made_by(file, owner)
    convolutions = [channels for _, channels in made if isinstance(channels, Channels)]
    linear = sum(name in _LINEAR for _, name in made)
    is_sequential = any(name in _SEQUENCES for _, name in made)
    return frozenset() if is_sequential or linear > _MOST_LINEAR * len(convolutions) else frozenset(convolutions)


@query(cycle=_NOTHING)
def _made_by(file: FileIndex, owner: Class) -> frozenset[_Made]:
    """The layers that a class creates, directly and indirectly."""
    found = _NOTHING.union(*(_made_in(file, scope) for scope in owner.methods.values()))
    return found.union(*(_made_by(*base) for base in Hierarchy.of(file.project).bases(file, owner)))


@query(cycle=_NOTHING)
def _made_in(file: FileIndex, scope: Scope) -> frozenset[_Made]:
    """The layers that a function creates, directly or with a class or function that it names."""
    found: set[_Made] = set()
    names: set[str] = set()
    for statement in scope.statements:
        for call in statement.calls:
            name = file.names.resolve(dotted(call.func) or "")
            if name in _SEQUENCES or name in _LINEAR:
                found.add((call, name))
            elif name in _CONVOLUTIONS and not _is_minor(call):
                found.add((call, _layout(call)))
        parts = (part for header in headers(statement.node) for part in walk(header))
        names.update(filter(None, (dotted(part) for part in parts if isinstance(part, (ast.Name, ast.Attribute)))))
    for name in sorted(names):
        named = Modules.of(file.project).find(file.names.resolve(name), file) if _may_lead_on(file, name) else None
        if named is not None and isinstance(named[1], Class):
            found |= _made_by(named[0], named[1])
        elif named is not None and isinstance(named[1], Scope) and named[1] is not scope:
            found |= _made_in(named[0], named[1])
    return frozenset(found)


def _may_lead_on(file: FileIndex, name: str) -> bool:
    return file.names.is_bound(name.partition(".")[0]) or bool(file.names.stars)


def _is_minor(call: ast.Call) -> bool:
    """Whether a convolution is grouped or small."""
    outputs, groups = argument_of(call, "out_channels", _OUTPUTS), argument_of(call, "groups", _GROUPS)
    if groups is not None and not (isinstance(groups, ast.Constant) and groups.value == 1):
        return True
    return isinstance(outputs, ast.Constant) and isinstance(outputs.value, int) and outputs.value < _SMALL


def _layout(call: ast.Call) -> Channels:
    """Where one convolution has its channels."""
    if is_spread(call):
        return Channels.TOLD
    given = argument_of(call, "data_format", _FORMAT)
    value = Channels.FIRST.value if given is None else getattr(given, "value", None)
    return next((known for known in (Channels.FIRST, Channels.LAST) if known.value == value), Channels.TOLD)
