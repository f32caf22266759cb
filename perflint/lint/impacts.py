"""Computes what a finding can cost, from the event of its rule and how often it happens in a step."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from perflint.catalogue import Event
from perflint.facts.programs import Devices, is_toy
from perflint.facts.waits import goes_into_a_collective, needed_for
from perflint.findings import Impact
from perflint.syntax.vocabulary import evaluates, is_no_training
from perflint.training.every import Interval
from perflint.training.intent import only_predicts
from perflint.training.step_loops import repeat_of
from perflint.training.steps import Point, Step

_WAIT, _COPY, _BATCH = "wait", "copy", "batch"
WAITS = frozenset({_WAIT, _COPY, "printed wait"})
"""Events for which the host waits for the device: they cost nothing if the CPU is the only device."""
_PREDICTING = "in the forward pass of a layer that only predicts"
_REPEATED = 8
"""How often a loop inside a step is assumed to run."""


@dataclass(frozen=True)
class Cost:
    """The cost of one finding by itself: ``milliseconds`` per step, for an event that happens ``often`` per step."""

    event: Event
    milliseconds: float
    often: str


def cost(
    event: Event, node: ast.expr | None, point: Point | None, step: Step | None, every: Interval | None = None
) -> Cost:
    """The cost of a finding by itself.

    Args:
        event: the event that the rule is about.
        node: the reported node in the tree of the index; None if it does not matter or is not known.
        point: the facts at its statement.
        step: the step that it belongs to; None if it belongs to none, such as a loader.
        every: how many steps lie between two events; None if one happens at each step.
    """
    if point is not None and event.name != _BATCH and is_toy(point.file):
        return Cost(event, 0.0, "in a program that trains one or two small layers, or a circuit of a few qubits")
    if every is not None:
        return Cost(event, event.milliseconds * every.times / every.counted(), every.explained())
    if point is None or step is None:
        return _outside_of_steps(event, point)
    idle = _lost_nowhere(event, point, step)
    if idle:
        return Cost(event, 0.0, idle)
    project = point.file.project
    loop = repeat_of(project, point, step, node)
    milliseconds = event.forward if step.forward else event.milliseconds
    if loop is not None and event.adds_up:
        milliseconds *= _REPEATED
    once = "in each forward pass" if step.forward else "at each step"
    found = Cost(event, milliseconds, once if loop is None else "several times at each step")
    reason = _needed(event, node, point, step)
    return replace(found, milliseconds=0.0, often=reason) if reason else found


def _lost_nowhere(event: Event, point: Point, step: Step) -> str:
    """Why no training step on a device gets slower, in words; ``""`` if one may."""
    project = point.file.project
    if event.name in WAITS and Devices.of(project).starts_on_cpu(point.file):
        return "in a program for the CPU"
    return _PREDICTING if step.forward and only_predicts(project.files[step.path]) else ""


def _needed(event: Event, node: ast.expr | None, point: Point, step: Step) -> str:
    """Why removing a wait of a step gains nothing by itself, in words; ``""`` if there is no such reason."""
    if node is None:
        return ""
    if event.name == _WAIT:
        return needed_for(point, node, step.forward)
    is_for_all = event.name == _COPY and goes_into_a_collective(point, node)
    return "beside a collective, which waits anyway" if is_for_all else ""


def row_from(path: str, row: int, seen_from: str) -> str:
    """A row as named in a message in another file."""
    return str(row) if path == seen_from else f"{path}:{row}"


def _outside_of_steps(event: Event, point: Point | None) -> Cost:
    """The cost of a finding outside of steps: a wait in code that samples or predicts costs training nothing."""
    if event.name != _WAIT or point is None or not _belongs_to_no_training(point):
        return Cost(event, event.milliseconds, "")
    return Cost(event, 0.0, "in code that does not train")


def _belongs_to_no_training(point: Point) -> bool:
    """Whether names say that code samples, draws or predicts.  Evaluation is a part of training."""
    owner = point.scope.owner
    names = [point.file.parts[-1], point.scope.name, owner.name if owner is not None else ""]
    return any(map(is_no_training, names)) and not any(map(evaluates, names))


def impact(own: Cost, count: int, milliseconds: float) -> Impact:
    """The impact of a finding.

    Args:
        own: its cost.
        count: how many findings of the same event the same step has, this one among them: eight log lines are worth an
            edit, although a single one is not.
        milliseconds: what all of these cost.
    """
    event = own.event
    if not event.adds_up or count < 2:
        return Impact(event.level_of(own.milliseconds), f"{event.what} {own.often}".strip(), own.milliseconds)
    return Impact(event.level_of(milliseconds), f"{event.what} {own.often}, one of {count} there", milliseconds)
