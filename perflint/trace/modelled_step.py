"""What it would gain a step not to wait at some places, by the model of two queues over its events in order.

One wait says little: right behind another one the device is idle already, so that removing only one of the two gains
nothing. So what counts is the step with all its waits, and the step without those that edits can remove. For example,
of a step that ends with ``a = loss.item(); b = accuracy.item()`` neither read gains anything alone, and both together
what one costs.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from perflint.facts.entry_points import EntryPoint, is_narrow
from perflint.facts.float32 import Float32, float32_of
from perflint.facts.origin import HOST, UNKNOWN, is_read_back, origin
from perflint.facts.waits import needed_for
from perflint.findings import Row
from perflint.flow.branches import Often, usual_arm
from perflint.index.project import FileIndex, Place
from perflint.query import query
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Loop
from perflint.trace.events import EventKind, StepEvent
from perflint.trace.queues import TYPICAL, AdjacentWaits, HostWork, Part, Typical, Wait, joined, step_ms
from perflint.trace.started import program_entries
from perflint.trace.step_trace import (
    MOST_CALLS,
    Alternatives,
    Launches,
    Node,
    Repeat,
    StepCall,
    StepTrace,
    Summary,
    Unknown,
    may_enter,
    most_at_each_step,
    of_function,
    of_loop,
)

WORTH_MS = 0.2
"""From how many milliseconds on, at most, an edit is worth it: half a hundredth of the longest typical step."""
_ENOUGH = 0.9
"""The share of what the absence of all waits brings that the fewest of them have to bring."""
_MOST_TRIED = 60
"""How many waits of one step are tried one by one; with more, all of them count."""
PASSES = 8
"""How often a loop inside a step is assumed to run, if the source does not say it."""
_MOST_PASSES = 100
"""After as many passes, more of them change nothing of what a wait is worth."""
_MOST_ITEMS = 4000
"""With more events in a step, each loop counts as one pass, and what comes after this many is left out."""
_MODEL = 20
"""Operations of a call that could not be followed, relative to a layer of Paddle: mostly, it is the whole model."""
_TRAINS = (EventKind.BACKWARD, EventKind.OPTIMIZER)
_OF_VALUES = (EventKind.READ, EventKind.DECISION, EventKind.SIZE)
_LOG_MS = 0.02
"""A log line (``printed line`` in ``rules/events.yaml``)."""


_SCALERS = ("GradScaler.", "AmpScaler.")
"""How the words begin for what the scalers of Paddle do."""


class Met(NamedTuple):
    """An event as a step meets it, and the calls that lead to it."""

    event: StepEvent
    calls: tuple[StepCall, ...]

    @property
    def row(self) -> tuple[str, int]:
        """The path of its file, and its row."""
        return self.event.point.file.path, self.event.row


class Assumed(NamedTuple):
    """A call that may run one of so many functions, and the one that a model of the step has."""

    call: StepCall
    function: Place
    number: int


class Span(NamedTuple):
    """A piece of a file, by offsets."""

    path: str
    start: int
    end: int

    def touches(self, other: Span) -> bool:
        """Whether one of the two contains a part of the other."""
        return self.path == other.path and self.start < other.end and other.start < self.end


class _Launched(NamedTuple):
    """Operations in the order of the step, relative to each other."""

    weight: int


_Item = Met | _Launched | EventKind


@dataclass
class ModelledStep:
    """One step as a sequence of launches and waits; of alternatives, it has one arm.

    ``parts``: what the host does, for each of the typical trainings.
    ``events``: what it meets, each by its place in the tuple, its key; an event in a loop has one key in all passes.
    ``assumed``: the calls that may run one of several functions, of which that with the most waits is in it.
    ``left_off``: the tests with waits in an arm that is not in it, since it does not run by default.
    ``launched``: the operations that it launches, where loops of unknown length run `PASSES` times.
    ``in_open_loops``: the rows of its events in such loops.
    """

    parts: tuple[tuple[Part, ...], ...]
    events: tuple[Met, ...]
    assumed: tuple[Assumed, ...] = ()
    left_off: tuple[tuple[Place, ast.If], ...] = ()
    launched: int = 0
    in_open_loops: frozenset[Row] = frozenset()
    _known: dict[tuple[int, frozenset[frozenset[int]]], float] = field(default_factory=dict)

    def milliseconds(self, typical: int = 0, without: Collection[int] = ()) -> float:
        """How long it takes in one of the typical trainings, without some of its waits."""
        parts, waits = self._joined[typical]
        gone = frozenset(without)
        asked = typical, frozenset(keys for keys in waits if keys <= gone)
        if asked not in self._known:
            self._known[asked] = step_ms(parts, gone)
        return self._known[asked]

    @cached_property
    def _joined(self) -> list[tuple[list[Part], set[frozenset[int]]]]:
        """Its parts put together as far as possible, with the waits among them, for each of the typical trainings."""
        found = [list(joined(parts)) for parts in self.parts]
        return [(parts, {part.keys for part in parts if isinstance(part, AdjacentWaits)}) for parts in found]

    def gain(self, without: Collection[int], gone: Collection[int] = ()) -> float:
        """How much shorter it is at most without some of its waits, in milliseconds, over the typical trainings.

        ``gone``: waits that are gone on both sides of the comparison.
        """
        return max(self._gains(without, gone))

    def usual_gain(self, without: Collection[int], gone: Collection[int] = ()) -> float:
        """The same as mean over the typical trainings."""
        return fmean(self._gains(without, gone))

    def fewest(self, groups: Iterable[Collection[frozenset[int]]]) -> frozenset[int]:
        """The fewest of some waits whose absence brings nearly as much as that of all.

        ``groups``: sets of waits that can only go together; those of the first group are rather left in the step.
        """
        known = [list(sets) for sets in groups]
        everything = frozenset[int]().union(*(keys for sets in known for keys in sets))
        whole, fewest = self.gain(everything), everything
        if sum(map(len, known)) <= _MOST_TRIED:
            for sets in known:
                for keys in sorted(sets, key=lambda keys: (-self.gain(everything - keys), sorted(keys))):
                    if self.gain(fewest - keys) >= _ENOUGH * whole:
                        fewest -= keys
        return fewest if whole > 0 else frozenset()

    def _gains(self, without: Collection[int], gone: Collection[int]) -> list[float]:
        both = {*without, *gone}
        return [self.milliseconds(at, gone) - self.milliseconds(at, both) for at in range(len(self.parts))]

    @cached_property
    def waits(self) -> frozenset[int]:
        """The keys of its waits."""
        return frozenset(key for key, met in enumerate(self.events) if met.event.kind.waits)

    @cached_property
    def inside_paddle(self) -> frozenset[int]:
        """The keys of the waits that Paddle makes itself, which no edit of a program removes."""
        return frozenset(key for key, met in enumerate(self.events) if met.event.kind is EventKind.INSIDE)

    def pays_off(self, keys: frozenset[int], everything: frozenset[int], fewest: frozenset[int]) -> bool:
        """Whether it gains something without some waits: alone, where all others are gone, or among the fewest.

        Args:
            keys: the waits that one edit removes.
            everything: all that edits can remove.
            fewest: those of them that bring nearly as much.
        """
        is_worth_it = self.gain(keys) >= WORTH_MS or self.gain(keys, gone=everything - keys) >= WORTH_MS
        return is_worth_it or bool(keys & fewest and self.gain(fewest) >= WORTH_MS)

    @cached_property
    def is_long(self) -> bool:
        """Whether it has so many waits that each is only judged as one of all."""
        return len(self.waits) > _MOST_TRIED

    @cached_property
    def _places(self) -> tuple[_ByRow, _ByRow]:
        """The places of the events, and of the calls that lead to them."""
        at, through = _ByRow(), _ByRow()
        for key, (event, calls) in enumerate(self.events):
            at.put(event.point.file, event.node, key)
            for call in calls:
                through.put(call.place.file, call.node, key)
        return at, through

    def within(self, span: Span) -> frozenset[int]:
        """The events at a place, otherwise those that a call there leads to."""
        at, through = self._places
        return at.within(span) or through.within(span)


class _ByRow:
    """The keys of events by the rows of something that each has, to find those at a place."""

    def __init__(self) -> None:
        self._files: dict[str, FileIndex] = {}
        self._rows: dict[tuple[str, int], dict[Span, set[int]]] = {}

    def put(self, file: FileIndex, node: ast.expr, key: int) -> None:
        """Add an expression for an event."""
        self._files[file.path] = file
        for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            self._rows.setdefault((file.path, row), {}).setdefault(span_of(file, node), set()).add(key)

    def within(self, span: Span) -> frozenset[int]:
        """The events whose expression has a part in a place."""
        file = self._files.get(span.path)
        if file is None:
            return frozenset()
        position = file.source.lines.position
        rows = range(position(span.start)[0], position(max(span.start, span.end - 1))[0] + 1)
        found = (known for row in rows for known in self._rows.get((span.path, row), {}).items())
        return frozenset(key for where, keys in found if where.touches(span) for key in keys)


def span_of(file: FileIndex, node: ast.expr) -> Span:
    """The place of an expression of a file."""
    return Span(file.path, *file.source.lines.span(node))


def modelled(trace: StepTrace, wanted: Span | None = None) -> ModelledStep:
    """A step as the model sees it.

    Args:
        trace: its events.
        wanted: a place in it: the arm of alternatives that contains it is the one that runs, and its waits count even
            if a test may keep a step from them. Otherwise, of alternatives the one runs that defaults lead to, or, if
            these do not say it, the one with the most waits.
    """
    return _usual(trace.place, trace.loop) if wanted is None else _modelled(trace, wanted)


@query
def _usual(at: Place, loop: Loop | None) -> ModelledStep:
    """The step that the report and each of its findings ask for: with it, what they gain is computed once."""
    return _modelled(of_loop(at, loop) if loop is not None else of_function(at), None)


def _modelled(trace: StepTrace, wanted: Span | None) -> ModelledStep:
    float32 = float32_in(trace.place.file)[1] if trace.loop is not None else None
    reader = _Items(wanted, is_scaled=float32 is None)
    items = list(reader.of(trace.nodes))
    keys: dict[tuple[int, ...], int] = {}
    events: list[Met] = []
    for item in items:
        if isinstance(item, Met) and (known := _key(item)) not in keys:
            keys[known] = len(events)
            events.append(item)
    is_whole = trace.loop is not None or EventKind.BACKWARD in items
    return ModelledStep(
        tuple(tuple(_parts(items, typical, keys, is_whole)) for typical in TYPICAL),
        tuple(events),
        tuple(reader.assumed.values()),
        tuple((at, node) for node, at in reader.left_off.items()),
        _weight(items),
        frozenset(reader.in_open_loops),
    )


def launches(trace: StepTrace) -> tuple[int, Row | None]:
    """How many operations a step launches at least, and the row of the loop that launches most of them."""
    reader = _Items(None, is_scaled=True, passes=1)
    whole = _weight(reader.of(trace.nodes))
    most, row = max(reader.loops, default=(0, None))
    return whole, row if 2 * most > whole else None


def _weight(items: Iterable[_Item]) -> int:
    return sum(item.weight for item in items if isinstance(item, _Launched))


@query
def float32_in(file: FileIndex) -> tuple[EntryPoint | None, Float32 | None]:
    """The model that the step loops of a file train, if known, and how far they train in float32."""
    entries = [each for each in program_entries(file.project) if each.driven_from is file]
    entry = next((each for each in entries if not is_narrow(each)), entries[0] if entries else None)
    return entry, float32_of(entry.file if entry is not None else file, file)


def needed_waits(step: ModelledStep) -> frozenset[int]:
    """The keys of the waits for values that the host needs to go on."""
    return frozenset(key for key in step.waits if _is_needed(step.events[key]))


def _is_needed(met: Met) -> bool:
    event = met.event
    if event.kind not in _OF_VALUES:
        return False
    functions = (event.point.scope, *(each.function.scope for call in met.calls for each in call.reached))
    return bool(needed_for(event.point, event.node, any(scope.name == "forward" for scope in functions)))


def carried_back(step: ModelledStep) -> frozenset[int]:
    """The keys of the copies of what the host computes from values that it has read: they go with the reads."""
    return frozenset(key for key in step.waits if _is_carried_back(step.events[key].event))


def _is_carried_back(event: StepEvent) -> bool:
    given = arguments_of(event.node) if isinstance(event.node, ast.Call) and event.kind is EventKind.COPY else []
    is_computed = bool(given) and origin(given[0], event.point).kind in (HOST, UNKNOWN)
    return is_computed and is_read_back(given[0], event.point)


def _key(met: Met) -> tuple[int, ...]:
    return (id(met.event.node), *(id(call.node) for call in met.calls))


def _parts(items: list[_Item], typical: Typical, keys: Mapping[tuple[int, ...], int], is_whole: bool) -> Iterator[Part]:
    """What the host does in a step of a typical training."""
    yield HostWork(typical.host_ms)
    for part in _with_kernels(items, typical, is_whole):
        if not isinstance(part, Met):
            yield part
        elif part.event.kind.waits:
            yield Wait(keys[_key(part)])
        elif part.event.kind is EventKind.LOG:
            yield HostWork(_LOG_MS)


class _Items:
    """The events of a step one after the other.

    ``is_scaled``: AMP may be on; if not, a ``GradScaler`` tests nothing. ``passes``: how often loops run for which the
    source does not say it; ``loops``: the outermost loops, each with how many operations they launch.
    """

    def __init__(self, wanted: Span | None, *, is_scaled: bool, passes: int = PASSES) -> None:
        self._wanted = wanted
        self._passes = passes
        self._is_scaled = is_scaled
        self._left = _MOST_ITEMS
        self._calls = MOST_CALLS
        self._repeated = self._open_loops = 0
        self._counts: dict[Summary, int] = {}
        self._holds: dict[Summary, bool] = {}
        self.assumed: dict[ast.expr, Assumed] = {}
        self.left_off: dict[ast.If, Place] = {}
        self.loops: list[tuple[int, Row]] = []
        self.in_open_loops: set[Row] = set()

    def of(self, nodes: Iterable[Node], calls: tuple[StepCall, ...] = ()) -> Iterator[_Item]:
        """What some statements do; of alternatives, what one arm does."""
        for node in nodes:
            if self._left <= 0:
                return
            if isinstance(node, StepEvent):
                yield from self._event(node, calls)
            elif isinstance(node, Launches):
                yield _Launched(node.count)
            elif isinstance(node, Unknown):
                yield _Launched(_MODEL)
            elif isinstance(node, StepCall):
                is_run = node.every.often is Often.EACH_STEP or self._is_wanted([node])
                if is_run and may_enter(node, calls) and self._calls > 0:
                    self._calls -= 1
                    yield from self.of(self._run(node), (*calls, node))
            elif isinstance(node, Repeat):
                yield from self._repeat(node, calls)
            elif self._repeated:  # each arm runs in some of the passes
                for arm in self._usual(node):
                    yield from self.of(arm, calls)
            else:
                yield from self.of(self._chosen(self._usual(node)), calls)

    def _usual(self, node: Alternatives) -> list[tuple[Node, ...]]:
        """The arms that may run if the user changes no default, or that contain what is wanted."""
        arms = _arms(node)
        usual = None
        with suppress(RecursionError):  # a test nests too deeply: nothing says what it gives
            usual = usual_arm(node.place, node.node) if isinstance(node.node, ast.If) else None
        if usual is None or any(map(self._is_wanted, arms)):
            return arms
        if isinstance(node.node, ast.If) and any(map(self._waits, [*arms[:usual], *arms[usual + 1 :]])):
            self.left_off.setdefault(node.node, node.place)
        return arms[usual : usual + 1]

    def _run(self, call: StepCall) -> tuple[Node, ...]:
        """What one of the functions does that a call may run."""
        nodes = self._chosen([each.nodes for each in call.reached])
        most = next((each for each in call.reached if each.nodes is nodes), None)
        if most is not None and len({self._waits(each.nodes) for each in call.reached}) > 1:
            self.assumed.setdefault(call.node, Assumed(call, most.function, len(call.reached)))
        return nodes

    def _event(self, event: StepEvent, calls: tuple[StepCall, ...]) -> Iterator[_Item]:
        self._left -= 1
        if event.kind in _TRAINS:
            yield event.kind
        elif not self._is_scaled and event.why.startswith(_SCALERS):
            return
        elif event.every.often is Often.EACH_STEP or self._is_wanted([event]):
            met = Met(event, calls)
            self.in_open_loops.update([met.row] if self._open_loops else ())
            yield met

    def _repeat(self, loop: Repeat, calls: tuple[StepCall, ...]) -> Iterator[_Item]:
        count = self._passes if loop.count is None else min(loop.count, _MOST_PASSES)
        self._repeated += 1
        self._open_loops += loop.count is None
        once = list(self.of(loop.body, calls))
        self._open_loops -= loop.count is None
        self._repeated -= 1
        if not self._repeated:
            self.loops.append((_weight(once) * count, (loop.place.file.path, loop.node.lineno)))
        if any(isinstance(item, Met) and item.event.kind.waits for item in once):
            passes = count if len(once) * count <= self._left else 1
            self._left -= len(once) * (passes - 1)
            yield from once * passes
        else:
            yield from (_Launched(item.weight * count) if isinstance(item, _Launched) else item for item in once)

    def _chosen(self, arms: list[tuple[Node, ...]]) -> tuple[Node, ...]:
        """The arm that contains what is wanted, otherwise the one with the most waits."""
        if self._wanted is not None and len(arms) > 1:
            for arm in arms:
                if self._is_wanted(arm):
                    return arm
        return max(arms, key=self._waits, default=())

    def _waits(self, nodes: Iterable[Node]) -> int:
        """How many waits some nodes have at most, at each step."""
        return most_at_each_step(nodes, lambda event: event.kind.waits, self._counts)

    def _is_wanted(self, nodes: Iterable[Node]) -> bool:
        """Whether some nodes contain the place that is wanted."""
        return self._wanted is not None and any(self._is_in(node, self._wanted) for node in nodes)

    def _is_in(self, node: Node, wanted: Span) -> bool:
        if isinstance(node, StepEvent):
            return span_of(node.point.file, node.node).touches(wanted)
        if not isinstance(node, StepCall):
            return any(map(self._is_wanted, _arms(node)))
        if span_of(node.place.file, node.node).touches(wanted):
            return True
        for reached in node.reached:
            if reached not in self._holds:
                self._holds[reached] = False  # for a function that calls itself
                self._holds[reached] = self._is_wanted(reached.nodes)
        return any(self._holds[reached] for reached in node.reached)


def _arms(node: Node) -> list[tuple[Node, ...]]:
    """What lies below a node of one function: the body of a loop, the arms of alternatives."""
    if isinstance(node, Repeat):
        return [node.body]
    return [arm for _, arm in node.arms] if isinstance(node, Alternatives) else []


def _with_kernels(items: list[_Item], typical: Typical, is_whole: bool) -> Iterator[Part | Met]:
    """The items with the kernels of a typical step: those of its forward pass are spread over what it launches.

    A step that shows no backward pass, or no step of an optimizer, has them at its end. If the items are not a whole
    step (``is_whole``), but what a function does at the end of a forward pass, they launch only what they show.
    """
    if not is_whole:
        yield typical.forward
        yield from (part for item in items for part in _part(item, 1.0, typical))
        yield typical.backward
        yield typical.optimizer
        return
    items = [*items, *([] if EventKind.BACKWARD in items else [EventKind.BACKWARD])]
    if EventKind.OPTIMIZER not in items:
        last = max(at for at, item in enumerate(items) if item is EventKind.BACKWARD)
        items = [*items[: last + 1], EventKind.OPTIMIZER, *items[last + 1 :]]
    begun = 0
    for at, item in enumerate(items):
        if item is EventKind.BACKWARD:
            yield from _forward(items[begun:at], typical)
            yield typical.backward
            begun = at + 1
    for item in items[begun:]:
        yield from _part(item, 1.0, typical)


def _forward(items: list[_Item], typical: Typical) -> Iterator[Part | Met]:
    """What comes before a backward pass: at least the kernels of a typical forward pass."""
    launched = _weight(items)
    if not launched:
        yield typical.forward
    factor = max(typical.forward.number / launched, 1.0) if launched else 1.0
    for item in items:
        yield from _part(item, factor, typical)


def _part(item: _Item, factor: float, typical: Typical) -> Iterator[Part | Met]:
    if isinstance(item, Met):
        yield item
    elif isinstance(item, _Launched):
        yield typical.forward.times(max(1, round(item.weight * factor)))
    elif item is EventKind.OPTIMIZER:
        yield typical.optimizer
