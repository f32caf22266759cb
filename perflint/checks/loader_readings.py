"""Describes what draws batches from a loader, and what it costs that the loader has no workers."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.facts.devices import has_no_gpu
from perflint.facts.loader_sites import LOADER
from perflint.facts.loader_uses import LoaderReading, Worth, reading
from perflint.facts.sample_work import Work, work_of
from perflint.facts.samples import Obstacle
from perflint.facts.toys import is_toy
from perflint.lint.context import Context
from perflint.syntax.parameters import argument_of
from perflint.training.repeated_evaluation import runs_while_training

_FITS = {"paddle.Model.fit": "train_data", "paddle.Model.evaluate": "eval_data"}
_TRAINS, _EVALUATED, _IN_MEMORY, _OTHER = "batch", "evaluated batch", "ready batch", "other batch"
_CONSEQUENCES = {
    Worth.TRAINS: "each batch for the training at {reader} is loaded in the training process while the GPU waits",
    Worth.EVALUATES_OFTEN: "the evaluation at {reader}, which training waits for, loads each batch itself",
    Worth.EVALUATES: "the evaluation at {reader} loads each batch itself",
    Worth.PREDICTS: "the prediction at {reader} loads each batch itself",
}
_UNSEEN = {
    Worth.TRAINS: "the training process loads each batch itself "
    "(the name of the loader or its shuffling suggests training)",
    Worth.PREDICTS: "the code that predicts loads each batch itself (the name of the loader suggests prediction)",
}
_NOBODY = "the code that reads the loader, which perflint cannot see, loads each batch itself"
_TENSORS = "return NumPy arrays as samples first, since workers crash on Paddle tensors (`{text}` at {place})"
_EMPTY = "workers cannot pass arrays of size zero through shared memory (`{text}` at {place}): fix that first"


def of_call(call: cst.Call, callee: str, context: Context) -> LoaderReading | None:
    """What draws from the loader that a call creates; None for a call that creates none."""
    point, made = context.point, context.expression(call)
    if callee not in (LOADER, *_FITS):
        return None
    if point is None or not isinstance(made, ast.Call):
        return LoaderReading(Worth.TRAINS)
    if callee == LOADER:
        return reading(point.file, point.scope, point.statement, made)
    worth = Worth.TRAINS
    if callee == "paddle.Model.evaluate":
        often = runs_while_training(point.file, point.scope, point.statement)
        worth = Worth.EVALUATES_OFTEN if often else Worth.EVALUATES
    data = argument_of(made, _FITS[callee], 0)
    work = work_of(point.file, point.scope, point.statement, data)
    is_small = work is not Work.SOME and is_toy(context.file)
    return LoaderReading(worth, work, context.file.path, context.file.row(made), has_no_gpu(context.file), is_small)


def event(found: LoaderReading) -> str:
    """The name of what happens at each batch: an entry of ``rules/events.yaml``."""
    if found.on_cpu or found.for_toy:
        return _OTHER
    if found.worth is Worth.TRAINS:
        return _IN_MEMORY if found.work is Work.NONE else _TRAINS
    return _EVALUATED if found.worth is Worth.EVALUATES_OFTEN and found.work is Work.SOME else _OTHER


def consequence(found: LoaderReading | None, context: Context) -> str:
    """What follows from a loader without workers, in a clause."""
    if found is None:
        return ""
    if found.line and found.worth in _CONSEQUENCES:
        return _CONSEQUENCES[found.worth].format(reader=_place(found.path, found.line, context))
    return _UNSEEN.get(found.worth, _NOBODY)


def advice(hinders: Obstacle | None, otherwise: str, context: Context) -> str:
    """What to do about a loader without workers, in a clause; ``hinders``: what its workers could not pass on."""
    if hinders is None:
        return otherwise
    words = _EMPTY if hinders.empty else _TENSORS
    return words.format(text=hinders.text, place=_place(hinders.path, hinders.line, context))


def _place(path: str, line: int, context: Context) -> str:
    return f"line {line}" if path == context.file.path else f"{path}:{line}"
