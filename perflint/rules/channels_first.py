"""PPF307: a convolutional model that is trained with AMP in the channels-first layout."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from perflint.catalogue import shipped
from perflint.facts import amp
from perflint.findings import Confidence, Level, Related
from perflint.flow.evaluate import Evaluator
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import EITHER, LAYER_TAG, Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.syntax.names import dotted, spellings
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import is_literal
from perflint.training.steps import Point, points_of

# Finds where a model's 2-D convolutions have their channels: first (NCHW, Paddle's default), last (NHWC), or open.


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
    found = _NOTHING.union(*(_made_in(Place(file, scope)) for scope in owner.methods.values()))
    return found.union(*(_made_by(*base) for base in Hierarchy.of(file.project).bases(file, owner)))


@query(cycle=_NOTHING)
def _made_in(at: Place) -> frozenset[_Made]:
    """The layers that a function creates, directly or with a class or function that it names."""
    found: set[_Made] = set()
    names: set[str] = set()
    for statement in at.scope.statements:
        for call in statement.calls:
            name = at.file.names.qualified(call.func)
            if name in _SEQUENCES or name in _LINEAR:
                found.add((call, name))
            elif name in _CONVOLUTIONS and not _is_minor(call):
                found.add((call, _layout(call)))
        names.update(filter(None, map(dotted, statement.nodes)))
    for name in sorted(names):
        may_lead_on = at.file.names.is_bound(name.partition(".")[0]) or bool(at.file.names.stars)
        named = Modules.of(at.file.project).find(at.file.names.resolve(name), at.file) if may_lead_on else None
        if named is not None and isinstance(named[1], Class):
            found |= _made_by(named[0], named[1])
        elif named is not None and isinstance(named[1], Scope) and named[1] is not at.scope:
            found |= _made_in(Place(named[0], named[1]))
    return frozenset(found)


def _is_minor(call: ast.Call) -> bool:
    """Whether a convolution is grouped or small."""
    outputs, groups = argument_of(call, "out_channels", _OUTPUTS), argument_of(call, "groups", _GROUPS)
    if groups is not None and not is_literal(groups, 1):
        return True
    return isinstance(outputs, ast.Constant) and isinstance(outputs.value, int) and outputs.value < _SMALL


def _layout(call: ast.Call) -> Channels:
    """Where one convolution has its channels."""
    if is_spread(call):
        return Channels.TOLD
    given = argument_of(call, "data_format", _FORMAT)
    value = Channels.FIRST.value if given is None else getattr(given, "value", None)
    return next((known for known in (Channels.FIRST, Channels.LAST) if known.value == value), Channels.TOLD)


# PPF307: a convolutional model that is trained with AMP in the channels-first layout.

RULE = shipped()["PPF307"]
_SCOPES = frozenset({"paddle.amp.auto_cast", "paddle.amp.decorate"})


def _places(file: FileIndex) -> Iterator[Candidate]:
    """The statements that turn AMP on for training, if the project has convolutions and does not tune the layout."""
    mentions = file.project.mentions
    if not amp.mentions_amp(file) or not mentions.of("Conv2D", "Conv2DTranspose"):
        return
    confidence = amp.confidence_in(file)
    if confidence is None or any(other.has_words("set_config") for other in mentions.of("autotune")):
        return
    for statement in dict.fromkeys(statement for _, statement, _ in amp.places(file)):
        for call in statement.calls:
            yield Candidate(call, statement.node, confidence=confidence)


@rule(RULE.code, at=At.ANYWHERE, find=_places, heeds_claims=False)
def channels_first(call: ast.Call, context: Context) -> None:
    """Report AMP that is turned on for a model whose convolutions have their channels first."""
    point, confidence = context.here, amp.confidence_in(context.file) or Confidence.LOW
    if context.callee(call) not in _SCOPES and argument_of(call, "amp_configs", None) is None:
        return
    models = {model for kind in _trained(call, point, context) for model in _layers(kind, context.file)}
    first = [model for model in models if channels_of(*model) == {Channels.FIRST}]
    if len(first) == 1 == len([model for model in models if channels_of(*model)]):
        ((file, owner),) = first
        related = (Related(file.path, file.row(owner.node), "the model"),)
        fix = RULE.fix((), Level.DISPLAY, RULE.texts["reason"])
        context.report(fix, related=related, confidence=confidence, model=owner.name)


def _trained(call: ast.Call, point: Point, context: Context) -> Iterator[Kind]:
    """What a call turns AMP on for: the objects that are called in its block, or the one that it gets."""
    if context.callee(call) == "paddle.amp.auto_cast":
        for statement in point.scope.statements:
            at = points_of(point.file).get(statement.node)
            if at is not None and statement.is_in(point.statement.node):
                yield from (Evaluator(point.file, at.full_env).kind(made.func) for made in statement.calls)
    elif context.callee(call) == "paddle.amp.decorate":
        model = argument_of(call, "models", 0)
        if model is not None:
            yield context.kind(model)
    elif isinstance(call.func, ast.Attribute):
        made = Values.of(point.file.project).definitions(point.function).get(context.text(call.func.value))
        network = argument_of(made, "network", 0) if isinstance(made, ast.Call) else None
        if network is not None:
            yield Evaluator(point.file, point.full_env).kind(network)


def _layers(kind: Kind, file: FileIndex) -> list[tuple[FileIndex, Class]]:
    """The layers of the project that a value may be."""
    names = kind.type.split(EITHER) if kind.tag == LAYER_TAG else []
    found = (Modules.of(file.project).class_named(name) for name in names)
    return [place for place in found if place is not None]
