"""PPF708: a model of many small operations whose training launches each of them from Python."""

from __future__ import annotations

from functools import partial

from perflint.catalogue import shipped
from perflint.facts.entry_points import DeviceWork, EntryPoint, speaks_of, work_of
from perflint.findings import Confidence
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.rules.entry_advice import above_training, models_in, outermost_loop, places_beside

RULE = shipped()["PPF708"]
_CONVERTED = ("to_static", "declarative", "TracedLayer", "ProgramTranslator", "dygraph_to_static", "cinn")
"""What shows that static graphs were considered."""
_WRAPS = ("DataParallel", "distributed_model", "group_sharded_parallel")


def launches_from_python(entry: EntryPoint) -> bool:
    """Whether a step runs attention, which takes many small operations, and nothing converts it to a static graph."""
    return not speaks_of(entry, *_CONVERTED) and DeviceWork.ATTENTION in work_of(entry)


_models = partial(models_in, is_worth=launches_from_python)


@rule(RULE.code, at=At.ANYWHERE, find=_models, claims=False, heeds_claims=False)
def no_static_graph(entry: EntryPoint, context: Context) -> None:
    """Report the model of a training step that Python runs operation by operation."""
    name, obstacle = entry.models[0], _obstacle(entry)
    line = f"{name} = {{paddle}}.jit.to_static({name})"
    context.report(
        RULE.words(obstacle) if obstacle else above_training(entry, (line,), RULE),
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
        model=name,
    )


def _obstacle(entry: EntryPoint) -> str:
    """The case in which the line cannot be inserted automatically; ``""`` if it can."""
    if len(entry.models) > 1 or not entry.is_in_loop:
        return "several"
    if speaks_of(entry, *_WRAPS):
        return "wrapped"
    is_once_an_epoch = outermost_loop(entry) is entry.loop and "epoch" in entry.driver.name.lower()
    return "again" if is_once_an_epoch else ""
