"""PPF708: a model of many small operations whose training launches each of them from Python."""

from __future__ import annotations

from functools import partial

from perflint import catalogue
from perflint.facts.entry_points import DeviceWork, EntryPoint, speaks_of, work_of
from perflint.findings import Confidence, Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.rules.entry_advice import above_training, models_in, outermost_loop, places_beside

CODE = "PPF708"
_CONVERTED = ("to_static", "declarative", "TracedLayer", "ProgramTranslator", "dygraph_to_static", "cinn")
"""What shows that static graphs were considered."""
_WRAPS = ("DataParallel", "distributed_model", "group_sharded_parallel")
_WRAPPED = "the model has to be converted before it is wrapped for several GPUs"
_AGAIN = "this function runs once per epoch, so the model has to be converted where it is created"
_SEVERAL = "the model that the loop trains is not one name here, so you have to choose what to convert"


def launches_from_python(entry: EntryPoint) -> bool:
    """Whether a step runs attention, which takes many small operations, and nothing converts it to a static graph."""
    return not speaks_of(entry, *_CONVERTED) and DeviceWork.ATTENTION in work_of(entry)


@rule(CODE, at=At.ANYWHERE, find=partial(models_in, is_worth=launches_from_python), claims=False, heeds_claims=False)
def no_static_graph(entry: EntryPoint, context: Context) -> None:
    """Report the model of a training step that Python runs operation by operation."""
    said = catalogue.shipped()[CODE]
    name, obstacle = entry.models[0], _obstacle(entry)
    fix = above_training(entry, (f"{name} = {{paddle}}.jit.to_static({name})",), said)
    if obstacle:
        fix = Fix(said.fix_title, (), Level.DISPLAY, obstacle)
    context.report(
        fix,
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
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
