"""PPF306: layer widths that Tensor Cores cannot fill, in programs with AMP."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts import amp
from perflint.facts.amp import confidence_in
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.known_values import Size, size_of
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules import width_chain
from perflint.rules.width_chain import (
    KINDS,
    MAX_DEPTH,
    MULTIPLE,
    SMALLEST,
    Misaligned,
    is_followed,
    is_off,
    width_arguments,
)
from perflint.syntax.names import spellings
from perflint.syntax.parameters import arguments_of
from perflint.trace.started import is_trained

# Finds files that can contain a misaligned width, from the layers upwards, so that few others are parsed or followed.
#
# Most files create layers only with aligned or unknown numbers. What remains are files with a misaligned number in a
# layer, or in a call of something that creates layers with its arguments.

_LAYERS = frozenset(kind.rpartition(".")[2] for kind in spellings(KINDS))


def may_be_misaligned(file: FileIndex) -> bool:
    """Whether a layer of a file may have a misaligned width and be trained with AMP; a fast test.

    It is not used for a project that is edited: an edit would test all files again, while the cached answers about
    functions are fast enough.
    """
    return file.project.is_edited or file.path in files(file.project)


@query
def files(project: Project) -> frozenset[str]:
    """The paths of the files that can have a misaligned layer with AMP: a superset of those that do.

    Calls are followed as deep as widths; a number that depends on an argument of a function may be any number.
    """
    if not any(amp.mentions_amp(file) for file in project.files.values()):
        return frozenset()
    found: set[str] = set()
    makers: set[Place] = set()
    calls: list[tuple[Place, Sequence[ast.expr | None], int]] = [
        (place, width_arguments(call, kind), SMALLEST)
        for file in project.mentions.of(*sorted(_LAYERS))
        for place, call, kind in _layer_calls(file)
    ]
    for _ in range(MAX_DEPTH + 1):
        new: dict[Place, None] = {}
        for place, arguments, least in calls:
            sizes = [size_of(each, place) for each in arguments if each is not None and not _is_no_number(each)]
            if any(is_off(size, least) for size in sizes):
                found.add(place.file.path)
            if is_followed(place.scope) and any(map(_is_open, sizes)) and place.function not in makers:
                new[place.function] = None
        makers.update(new)
        sites = (site for maker in new for site in CallGraph.of(project).each(maker, Certainty.SURE))
        calls = [(site.place, arguments_of(site.call), MULTIPLE) for site in sites]
    return frozenset(found)


def _is_no_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is not int


def _is_open(size: Size | None) -> bool:
    """Whether a number depends on an argument of the function."""
    return size is None or size.value is None or bool(size.assumed)


def _layer_calls(file: FileIndex) -> Iterator[tuple[Place, ast.Call, str]]:
    """The calls of a file that create a layer, and which one."""
    imported = {name for name in file.names.bound if file.names.resolve(name) in KINDS}
    for name in sorted(_LAYERS | imported):
        for scope, statement, call in file.calls_named(name):
            kind = file.names.qualified(call.func)
            if kind in KINDS:
                yield Place(file, scope, statement), call, kind


# PPF306: layer widths that Tensor Cores cannot fill, if AMP is used.

RULE = shipped()["PPF306"]


def _places(file: FileIndex) -> Iterator[Candidate]:
    """The misaligned layers of a file that is trained under AMP; rare conditions are tested first."""
    found = width_chain.misaligned(file) if may_be_misaligned(file) else ()
    for each in found if found and confidence_in(file) is not None else ():
        yield Candidate(each.layer.call, each.layer.statement, each)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def misaligned_layer(found: Misaligned, context: Context) -> None:
    """Report a layer whose width is not a multiple of 8."""
    confidence = confidence_in(context.file) or Confidence.LOW
    if found.assumed:
        confidence = min(confidence, Confidence.MEDIUM)
    if context.settings.whole_project and not is_trained(context.file):
        confidence = Confidence.LOW
    inside = found.layer.inside
    related = (Related(*inside, "the width reaches this layer"),) if inside else ()
    fix = _fix(found, context)
    side = "both sides" if found.hidden or fix.edits else "input"
    context.report(
        fix,
        related=related,
        confidence=confidence,
        size=str(found.width),
        advice=RULE.texts[side].format(width=width_chain.aligned(found.width)),
        role="a hidden width" if found.hidden else "an input width",
    )


def _fix(found: Misaligned, context: Context) -> Fix:
    """The next multiple of 8 in all the places that contain the width, if all of them are known."""
    layer, width = found.layer, width_chain.aligned(found.width)
    numbers = None
    if layer.inside is None:
        numbers = width_chain.together(context.file, layer.group, layer.call, found.width, width)
    if numbers is None:
        return RULE.words("hidden" if found.hidden else "input", width=str(width))
    edits = {Edit(*context.file.source.lines.span(number), str(width)) for number in numbers}
    return replace(RULE.fix(sorted(edits), Level.UNSAFE), message=RULE.words("hidden", width=str(width)).message)
