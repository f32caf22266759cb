"""What to do first about a step, by the model of two queues: what is likely to bound it, and its edits in order.

The order matters: a loader without worker processes has a thread in the process that trains. It takes turns with
the code that launches, and goes on while the device computes and the host waits for it. So as long as loading and
launching take longer than the device, a step gains nothing from fewer reads or faster kernels. For example ::

    Likely bound by loading: a thread of the training process loads the batches.
    1. Give the DataLoader at data.py:33 worker processes: at most 62 % of the step.
    2. Then remove the waits at train.py:70, train.py:82: at most 24 % of the step that is left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean

from perflint.catalogue import events
from perflint.facts.entry_points import DeviceWork, EntryPoint, classes_of_model, is_narrow, work_of
from perflint.facts.float32 import float32_of
from perflint.facts.programs import has_no_gpu
from perflint.findings import (
    LeftOff,
    LoaderChoice,
    Possibly,
    Row,
    RunsOne,
    StepEdit,
    StepPlace,
    StepReport,
    StepVerdict,
)
from perflint.flow.constants import Constants
from perflint.index.project import Place, Project
from perflint.paddle.inside import INSIDE, short
from perflint.trace.forward_pass import has_second_derivatives
from perflint.trace.loading import Choice, LoaderTest, Loading, choices, deciding
from perflint.trace.modelled_step import (
    WORTH_MS,
    ModelledStep,
    carried_back,
    float32_in,
    launches,
    modelled,
    needed_waits,
)
from perflint.trace.queues import Kernels, Part, loading_step_ms
from perflint.trace.reached import By, reached_by, starters
from perflint.trace.step_trace import StepTrace, traces, unknown_calls
from perflint.training.intent import optimizes_an_input

_LOADS_MS = events()["batch"].milliseconds
"""What it takes to load a batch."""
_METRICS = frozenset(short(name) for name in INSIDE if name.startswith("paddle.metric."))
"""Waits inside Paddle that do not have to stay: another way to compute a metric waits less."""
_AMP = 0.5
"""The share of the time of kernels that is left with AMP, where products and convolutions are most of it."""


_MANY_LAUNCHES = 2000
"""From so many operations of its forward pass on, these are likely to bound a step: that of GPT-2 small has 300."""


@dataclass(frozen=True)
class _State:
    """A step with some edits made."""

    step: ModelledStep
    loads_ms: float
    gone: frozenset[int] = frozenset()
    kernels: float = 1.0

    def milliseconds(self) -> list[float]:
        """How long the step takes, for each typical training."""
        return [loading_step_ms([*self._parts(parts)], self.loads_ms, self.gone) for parts in self.step.parts]

    def _parts(self, parts: tuple[Part, ...]) -> Iterator[Part]:
        for part in parts:
            yield part._replace(device_ms=part.device_ms * self.kernels) if isinstance(part, Kernels) else part


def step_reports(project: Project) -> Iterator[StepReport]:
    """What is to be said of each training step of a project that a program, or a user of a library, may run."""
    for trace in traces(project):
        if reached_by(trace.place) is not By.PROGRAMS or has_no_gpu(trace.place.file):
            continue  # the model of a step is that of a host and a device
        function = "" if trace.loop is not None else trace.place.scope.qualname
        place = StepPlace(trace.place.file.path, trace.row if trace.loop is not None else 0, function)
        with suppress(RecursionError):  # code nests too deeply: its findings are shown without a verdict
            yield StepReport(place, starters(trace.place), verdict(trace))


def verdict(trace: StepTrace) -> StepVerdict:
    """What to do about a step."""
    step = modelled(trace)
    among = choices(trace.place, trace.loop)
    slow = {each.made.call: each for choice in among for each in choice if each.is_in_process and each.is_worth_it}
    blocking = list(slow.values()) if all(map(_is_slow, among)) else []
    state = _State(step, _LOADS_MS if blocking else 0.0)
    needed = needed_waits(step)
    gone, carried = _removable(step, needed)
    left = {"waits": (replace(state, gone=gone | carried), _rows(step, gone))} if gone else {}
    if blocking:
        left["loading"] = (replace(state, loads_ms=0.0), tuple(map(_row, blocking)))
    plan: list[StepEdit] = []
    rest: list[StepEdit] = []
    while left:
        edits = [_edit(name, state, _with(state, name, edited), rows) for name, (edited, rows) in left.items()]
        best = max(edits, key=lambda edit: edit.usual)
        (plan if best.milliseconds >= WORTH_MS else rest).append(best)
        state = _with(state, best.kind, left.pop(best.kind)[0])
    plan = [_repeated(edit, step) for edit in plan]
    small = [edit for edit in plan if not edit.is_large]
    plan = [*(edit for edit in plan if edit.is_large), *_amp(trace, state), *small]
    by_paddle = {key: step.events[key].event.why.partition(" ")[0] for key in sorted(step.inside_paddle & step.waits)}
    stays = {key: name for key, name in by_paddle.items() if name not in _METRICS}
    inside, made_by = _rows(step, frozenset(stays)), tuple(dict.fromkeys(stays.values()))
    possibly = [] if blocking else list(_possibly(_State(step, _LOADS_MS), list(slow.values()), among))
    waits = len(_rows(step, step.waits))
    launched, loop = launches(trace) if step.launched >= _MANY_LAUNCHES else (0, None)
    unknown = tuple((each.place.file.path, each.node.lineno) for each in unknown_calls(trace.nodes))
    return StepVerdict(
        tuple(plan),
        tuple(rest),
        tuple(possibly),
        waits,
        inside,
        unknown,
        made_by,
        tuple(_assumed(step)),
        needed=_rows(step, needed),
        carried=_rows(step, carried) if gone else (),
        left_off=_left_off(step),
        idle=_idle(step, gone, gone | carried | needed | step.inside_paddle),
        launched=launched if launched >= _MANY_LAUNCHES else 0,
        loop=loop,
    )


def _left_off(step: ModelledStep) -> tuple[LeftOff, ...]:
    found = []
    for at, node in step.left_off:
        place = at.at(at.scope, next((each for each in at.scope.statements if each.node is node), None))
        values = Constants.of(at.file.project).possible(node.test, place)
        set_by = next((row for value in values for row in value.settings), None)
        found.append(LeftOff((at.file.path, node.lineno), ast.unparse(node.test), set_by))
    return tuple(found)


def _removable(step: ModelledStep, needed: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    """The waits that are worth removing from a step, and the copies back to the device that go with reads of them.

    Those that Paddle makes stay, and those for values that the host needs.
    """
    everything = step.waits - step.inside_paddle - needed
    back = everything & carried_back(step)
    if step.is_long:
        return everything - back, back
    fewest = step.fewest([{frozenset([key]) for key in everything}])
    return frozenset(key for key in everything - back if step.pays_off(frozenset([key]), everything, fewest)), back


def _idle(step: ModelledStep, gone: frozenset[int], known: frozenset[int]) -> tuple[Row, ...]:
    """The rows of other waits than those that are known, if some are gone."""
    told = _rows(step, known)
    return tuple(row for row in _rows(step, step.waits - known) if row not in told) if gone else ()


def _assumed(step: ModelledStep) -> Iterator[RunsOne]:
    for call, function, number in step.assumed:
        yield RunsOne((call.place.file.path, call.node.lineno), function.scope.qualname, number)


def _is_slow(choice: Choice) -> bool:
    """Whether the process that trains loads the batches of one of some loaders that are drawn from together."""
    return any(each.is_in_process and each.is_worth_it for each in choice)


def _possibly(state: _State, slow: Iterable[Loading], among: Iterable[Choice]) -> Iterator[Possibly]:
    """Workers for the loaders that have none, which a step may draw from; it may draw from others instead."""
    quick = [choice for choice in among if not _is_slow(choice)]
    by_test: dict[LoaderTest | None, list[Row]] = {}
    for each in slow:
        by_test.setdefault(deciding(each, quick), []).append(_row(each))
    for test, rows in by_test.items():
        edit = _edit("loading", state, replace(state, loads_ms=0.0), tuple(rows))
        yield Possibly(edit, _decides(test) if test is not None else None)


def _decides(test: LoaderTest) -> LoaderChoice:
    return LoaderChoice(ast.unparse(test.node), test.holds, (test.file.path, test.node.lineno))


def gains_from_amp(entry: EntryPoint) -> bool:
    """Whether a step trains a model in float32 whose layers Tensor Cores can run."""
    if float32_of(entry.file, entry.driven_from) is None or not work_of(entry) - {DeviceWork.OTHER_CONVOLUTIONS}:
        return False
    step = Place(entry.driven_from, entry.driver), entry.loop
    return not (is_narrow(entry) or optimizes_an_input(*step) or has_second_derivatives(*step))


def _amp(trace: StepTrace, state: _State) -> Iterator[StepEdit]:
    """The advice to train with AMP, as PPF301 gives it; also where the source does not show which model it is."""
    file = trace.place.file
    entry, found = float32_in(file)
    is_unknown = entry is None or not classes_of_model(entry)
    if found is None or not (is_unknown or (entry is not None and gains_from_amp(entry))):
        return
    switch = found.switch
    at = (file.path, trace.row) if switch is None else (switch.path, switch.row)
    edit = _edit("kernels", state, replace(state, kernels=_AMP), (at,))
    yield replace(edit, switch=switch.text) if switch is not None else edit


def _repeated(edit: StepEdit, step: ModelledStep) -> StepEdit:
    often = tuple(row for row in edit.rows if row in step.in_open_loops) if edit.kind == "waits" else ()
    return replace(edit, repeated=often)


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
