"""PPF708: a model of many small operations whose training launches each of them from Python."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from perflint import catalogue
from perflint.facts.entry_points import DeviceWork, EntryPoint, entries_of, speaks_of, work_of
from perflint.findings import Confidence, Fix, Level
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.rules.entry_advice import above_training, entry_of_model, outermost_loop, places_beside
from perflint.syntax.scopes import Statement

CODE = "PPF708"
_CONVERTED = ("to_static", "declarative", "TracedLayer", "ProgramTranslator", "dygraph_to_static", "cinn")
"""What shows that static graphs were considered."""
_WRAPS = ("DataParallel", "distributed_model", "group_sharded_parallel")
_WRAPPED = "the model has to be converted before it is wrapped for several GPUs"
_AGAIN = "this function runs once per epoch, so the model has to be converted where it is created"
_SEVERAL = "the model that the loop trains is not one name here, so you have to choose what to convert"


@statement_gate(CODE)
def _launching(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for entry in entries_of(file):
        if entry.model_call is not None and launches_from_python(entry):
            yield entry.model_call[0], Confidence.MEDIUM


def launches_from_python(entry: EntryPoint) -> bool:
    """Whether a step runs attention, which takes many small operations, and nothing converts it to a static graph."""
    return not speaks_of(entry, *_CONVERTED) and DeviceWork.ATTENTION in work_of(entry)


@check("Call")
def no_static_graph(call: cst.Call, context: Context) -> None:
    """Report the model of a training step that Python runs operation by operation."""
    entry = entry_of_model(call, context, CODE)
    if entry is None or not launches_from_python(entry):
        return
    rule = catalogue.shipped()[CODE]
    name, obstacle = entry.models[0], _obstacle(entry)
    fix = above_training(entry, (f"{name} = {{paddle}}.jit.to_static({name})",), rule)
    if obstacle:
        fix = Fix(rule.fix_title, (), Level.DISPLAY, obstacle)
    context.report(
        CODE,
        call,
        fix,
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
        claims=False,
        model=name,
    )


def _obstacle(entry: EntryPoint) -> str:
    """Why the line cannot be inserted automatically, in words; ``""`` if it can."""
    if len(entry.models) > 1 or not entry.is_in_loop:
        return _SEVERAL
    if speaks_of(entry, *_WRAPS):
        return _WRAPPED
    is_once_an_epoch = outermost_loop(entry) is entry.loop and "epoch" in entry.driver.name.lower()
    return _AGAIN if is_once_an_epoch else ""
