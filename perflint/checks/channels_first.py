"""PPF307: a convolutional model that is trained with AMP in the channels-first layout."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.arguments import find_argument
from perflint.dataflow.evaluate import Evaluator
from perflint.dataflow.values import Values
from perflint.facts import amp
from perflint.facts.channels import Channels, channels_of
from perflint.findings import Confidence, Fix, Level, Related
from perflint.index.kinds import EITHER, LAYER_TAG, Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Class, Statement
from perflint.training.steps import Point, points_of

CODE = "PPF307"
_SCOPES = frozenset({"paddle.amp.auto_cast", "paddle.amp.decorate"})
_TITLE = 'give every 2-D layer of the model `data_format="NHWC"`, and its batches that order'
_REASON = (
    "sums are rounded differently, and code that relies on channels being axis 1 has to be changed; layout tuning "
    "(`paddle.incubate.autotune`) does it for you, but turns views off, so writing into a slice changes a copy"
)


@statement_gate(CODE)
def _places(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    """The statements that turn AMP on for training, if the project has convolutions and does not tune the layout."""
    mentions = file.project.mentions
    if not amp.mentions_amp(file) or not mentions.of("Conv2D", "Conv2DTranspose"):
        return
    confidence = amp.confidence_in(file)
    if confidence is None or any(other.has_words("set_config") for other in mentions.of("autotune")):
        return
    for _, statement, _ in amp.places(file):
        yield statement, confidence


@check("Call")
def channels_first(call: cst.Call, context: Context) -> None:
    """Report AMP that is turned on for a model whose convolutions have their channels first."""
    point = context.point
    places = context.once(CODE, lambda: {statement.node: sure for statement, sure in _places(context.file)})
    confidence = places.get(point.statement.node) if point is not None else None
    if point is None or confidence is None:
        return
    if context.callee(call) not in _SCOPES and find_argument(call, "amp_configs", None) is None:
        return
    models = {model for kind in _trained(call, point, context) for model in _layers(kind, context.file)}
    first = [model for model in models if channels_of(*model) == {Channels.FIRST}]
    if len(first) == 1 == len([model for model in models if channels_of(*model)]):
        ((file, owner),) = first
        related = (Related(file.path, file.row(owner.node), "the model"),)
        fix = Fix(_TITLE, (), Level.DISPLAY, _REASON)
        context.report(CODE, call, fix, related=related, confidence=confidence, model=owner.name)


def _trained(call: cst.Call, point: Point, context: Context) -> Iterator[Kind]:
    """What a call turns AMP on for: the objects that are called in its block, or the one that it gets."""
    if context.callee(call) == "paddle.amp.auto_cast":
        for statement in point.scope.statements:
            at = points_of(point.file).get(statement.node)
            if at is not None and statement.is_in(point.statement.node):
                yield from (Evaluator(point.file, at.full_env).kind(made.func) for made in statement.calls)
    elif context.callee(call) == "paddle.amp.decorate":
        model = find_argument(call, "models", 0)
        if model is not None:
            yield context.kind(model.value)
    elif isinstance(call.func, cst.Attribute):
        made = Values.of(point.file.project).definitions(point.file, point.scope).get(context.text(call.func.value))
        network = argument_of(made, "network", 0) if isinstance(made, ast.Call) else None
        if network is not None:
            yield Evaluator(point.file, point.full_env).kind(network)


def _layers(kind: Kind, file: FileIndex) -> list[tuple[FileIndex, Class]]:
    """The layers of the project that a value may be."""
    names = kind.type.split(EITHER) if kind.tag == LAYER_TAG else []
    found = (Modules.of(file.project).class_named(name) for name in names)
    return [place for place in found if place is not None]
