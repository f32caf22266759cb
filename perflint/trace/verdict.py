"""What to do first about a step, by the model of two queues: what is likely to bound it, and its edits in order.

The order matters: while each batch is loaded in the process that trains, the device waits for it anyway, so that a step
gains little from fewer reads, and nothing from faster kernels. For example ::

    Likely bound by loading: each batch is loaded in the process that trains.
    1. Give the DataLoader at data.py:33 worker processes: at most 67 % of the step.
    2. Then remove the waits at train.py:70, train.py:82: at most 24 % of the step that is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import fmean

from perflint.catalogue import events
from perflint.facts.entry_points import DeviceWork, EntryPoint, classes_of_model, is_narrow, program_entries, work_of
from perflint.facts.float32 import float32_of
from perflint.index.project import Place
from perflint.trace.loading import Loading, loadings
from perflint.trace.modelled_step import WORTH_MS, ModelledStep, modelled
from perflint.trace.queues import HostWork, Kernels, Part, step_ms
from perflint.trace.step_trace import StepTrace, Unknown, unknown_calls
from perflint.training.intent import optimizes_an_input

_AMP = 0.5
"""The share of the time of kernels that is left with AMP, where products and convolutions are most of it."""

Row = tuple[str, int]
"""The path of a file, and a row."""


@dataclass(frozen=True)
class StepEdit:
    """Something to do about a step.

    Attributes:
        kind: "loading", "waits" or "kernels".
        rows: the places that it is about.
        usual: the share of the step that it gains, as mean over the typical trainings, after the edits before it.
        most: the same for the training that gains most.
        milliseconds: what that is.
        switch: what leaves mixed precision off: ``--amp``, ``amp: False``.
    """

    kind: str
    rows: tuple[Row, ...]
    usual: float
    most: float
    milliseconds: float
    switch: str = ""


@dataclass(frozen=True)
class StepVerdict:
    """What to do about a step.

    Attributes:
        plan: the edits that are worth it, in order.
        rest: those that are not.
        waits: at how many places the step waits.
        inside: the waits that Paddle makes itself, which stay.
        unknown: the calls that could not be followed, which may wait as well.
    """

    plan: tuple[StepEdit, ...]
    rest: tuple[StepEdit, ...]
    waits: int
    inside: tuple[Row, ...]
    unknown: tuple[Unknown, ...]


@dataclass(frozen=True)
class _State:
    """A step with some edits made."""

    step: ModelledStep
    loads_ms: float
    gone: frozenset[int] = frozenset()
    kernels: float = 1.0

    def milliseconds(self) -> list[float]:
        """How long the step takes, for each typical training."""
        return [step_ms([*self._parts(parts)], self.gone) for parts in self.step.parts]

    def _parts(self, parts: tuple[Part, ...]) -> Iterator[Part]:
        yield HostWork(self.loads_ms)
        for part in parts:
            yield part._replace(device_ms=part.device_ms * self.kernels) if isinstance(part, Kernels) else part


def verdict(trace: StepTrace) -> StepVerdict:
    """What to do about a step."""
    step = modelled(trace)
    blocking = [each for each in loadings(trace.place, trace.loop) if each.is_in_process]
    state = _State(step, events()["batch"].milliseconds if blocking else 0.0)
    fewest = step.fewest([{frozenset([key]) for key in step.waits - step.inside_paddle}])
    choices = {"waits": (replace(state, gone=fewest), _rows(step, fewest))} if fewest else {}
    if blocking:
        choices["loading"] = (replace(state, loads_ms=0.0), tuple(map(_row, blocking)))
    plan: list[StepEdit] = []
    rest: list[StepEdit] = []
    while choices:
        edits = [_edit(name, state, _with(state, name, edited), rows) for name, (edited, rows) in choices.items()]
        best = max(edits, key=lambda edit: edit.usual)
        (plan if best.milliseconds >= WORTH_MS else rest).append(best)
        state = _with(state, best.kind, choices.pop(best.kind)[0])
    plan += _amp(trace, state)  # comes last, since source does not show how long kernels take
    inside = _rows(step, step.inside_paddle & step.waits)
    return StepVerdict(
        tuple(plan), tuple(rest), len(_rows(step, step.waits)), inside, tuple(unknown_calls(trace.nodes))
    )


def gains_from_amp(entry: EntryPoint) -> bool:
    """Whether a step trains a model in float32 whose layers Tensor Cores can run."""
    if float32_of(entry.file, entry.driven_from) is None or not work_of(entry) - {DeviceWork.OTHER_CONVOLUTIONS}:
        return False
    return not (is_narrow(entry) or optimizes_an_input(Place(entry.driven_from, entry.driver), entry.loop))


def _amp(trace: StepTrace, state: _State) -> Iterator[StepEdit]:
    """The advice to train with AMP, as PPF301 gives it; also where the source does not show which model it is."""
    file = trace.place.file
    entry = next((each for each in program_entries(file.project) if each.driven_from is file), None)
    found = float32_of(entry.file if entry is not None else file, file)
    is_unknown = entry is None or not classes_of_model(entry)
    if found is None or not (is_unknown or (entry is not None and gains_from_amp(entry))):
        return
    switch = found.switch
    at = (file.path, trace.row) if switch is None else (switch.path, switch.row)
    edit = _edit("kernels", state, replace(state, kernels=_AMP), (at,))
    yield replace(edit, switch=switch.text) if switch is not None else edit


def _with(state: _State, name: str, edited: _State) -> _State:
    """A step with one more edit made."""
    if name == "waits":
        return replace(state, gone=edited.gone)
    return replace(state, loads_ms=edited.loads_ms)


def _edit(kind: str, before: _State, after: _State, rows: tuple[Row, ...]) -> StepEdit:
    sides = list(zip(before.milliseconds(), after.milliseconds(), strict=True))
    shares = [1 - then / now for now, then in sides]
    return StepEdit(kind, rows, fmean(shares), max(shares), max(now - then for now, then in sides))


def _rows(step: ModelledStep, keys: frozenset[int]) -> tuple[Row, ...]:
    return tuple(dict.fromkeys(step.events[key].row for key in sorted(keys)))


def _row(loading: Loading) -> Row:
    return loading.made.place.file.path, loading.row
