"""Compares what one run did in its steps with what the static trace of its step loop says.

Both are lists of lines, each of a kind.  A recorded line counts if it came in at least every second step; a line of the
static trace, if each step certainly has it: not one of alternatives, nor behind a call that only a name leads to.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from perflint.flow.branches import Often
from perflint.syntax.scopes import terminal
from perflint.syntax.vocabulary import PROGRESS
from perflint.trace.events import EventKind, StepEvent
from perflint.trace.loading import Loading, loadings
from perflint.trace.step_trace import Alternatives, Node, Repeat, StepCall, StepTrace, Summary, all_nodes, possible

OFTEN = 0.5
"""The share of steps from which on an event counts as one of each step."""

WAITS, COPIES, LOADS, LOGS, SAVES = KINDS = ("waits", "copies", "loads", "logs", "saves")

_RECORDED = {
    "host read": WAITS,
    "sized by values": WAITS,
    "wait": WAITS,
    "to_tensor": COPIES,
    "loader wait": LOADS,
    "log": LOGS,
    "save": SAVES,
}
"""The kinds of a recorder."""
_SHOWN = {
    EventKind.READ: WAITS,
    EventKind.DECISION: WAITS,
    EventKind.SIZE: WAITS,
    EventKind.SYNCHRONIZE: WAITS,
    EventKind.INSIDE: WAITS,
    EventKind.COPY: COPIES,
    EventKind.DEVICE_COPY: COPIES,
    EventKind.LOG: LOGS,
    EventKind.SAVE: SAVES,
}
"""The kinds of a static trace that a recorder sees."""
_ONLY_ON_CPU = ("stat.std", "random.randperm", "random.randint_like")
"""Functions of Paddle that read a tensor in its build for CPUs only."""


class Line(NamedTuple):
    """A line that only one of the two may have: in words, its kind, whether the other has it too.

    ``times``: whether the static trace says right how often a step does it; None if that is not compared.
    """

    text: str
    kind: str
    is_in_both: bool
    times: bool | None = None


class Compared(NamedTuple):
    """One run against the static traces: the lines that it has recorded, and those that the traces have."""

    recorded: list[Line]
    shown: list[Line]

    def counts(self) -> dict[str, list[int]]:
        """For each kind: recorded lines, those of them that are shown; lines shown, those of them that happened."""
        result = {}
        for kind in KINDS:
            seen = [line.is_in_both for line in self.recorded if line.kind == kind]
            said = [line.is_in_both for line in self.shown if line.kind == kind]
            result[kind] = [len(seen), sum(seen), len(said), sum(said)]
        told = [line.times for line in self.recorded if line.times is not None]
        return {**result, "times": [len(told), sum(told)]}


def compare(run: Mapping[str, Any], project: Iterable[StepTrace], *, is_strict: bool = False) -> Compared:
    """What a run did at each step, against the static traces of the loops that it was in.

    ``is_strict``: what a call that could not be followed may run is not looked at.
    """
    lines = [line for line in run["lines"] if line["phase"] == "step" and line["kind"] in _RECORDED]
    lines = [line for line in lines if not any(via.endswith(_ONLY_ON_CPU) for via in line["via"])]
    rows = {(path, row) for line in lines for path, row in [(line["file"], line["line"]), *line["called"]]}
    here = [trace for trace in project if _leads_through(trace, rows)]
    recorded = [_recorded(line, here) for line in lines if line["share_of_steps"] >= OFTEN]
    if not is_strict and not all(line.is_in_both for line in recorded):
        perhaps = [event for trace in here for event in _possible(trace)]
        steady = [line for line in lines if line["share_of_steps"] >= OFTEN]
        recorded = [_perhaps(found, line, perhaps) for found, line in zip(recorded, steady, strict=True)]
    return Compared(recorded, [*_shown(lines, here), *_loads_shown(lines, here)])


def _leads_through(trace: StepTrace, rows: set[tuple[str, int]]) -> bool:
    """Whether a recorded event, or a call that led to it, is in a step loop."""
    last = getattr(trace.node, "end_lineno", None) or trace.row
    return any(file == trace.place.file.path and trace.row <= row <= last for file, row in rows)


def _recorded(line: Mapping[str, Any], here: list[StepTrace]) -> Line:
    kind = _RECORDED[line["kind"]]
    text = f"{line['file']}:{line['line']} {kind}: {', '.join(line['what'])} {line['times_a_step']:g} times a step"
    if kind == LOADS:
        return Line(f"{text}, {', '.join(line['note'])}", kind, _is_named(line, here))
    found = [trace for trace in here if any(_is_of(event, line) for event in _events(trace))]
    if not found:
        return Line(text, kind, False)
    sums = [_times(trace.nodes, line, {}) for trace in found]
    often = line["times_a_step"] / line["share_of_steps"]
    fits = any(each.fits(often) for each in sums)
    return Line(f"{text}, static: {', '.join(map(str, sums))}", kind, True, fits)


def _perhaps(found: Line, line: Mapping[str, Any], events: list[StepEvent]) -> Line:
    """The same, where one of the functions does it that a call may run which could not be followed."""
    return found._replace(is_in_both=found.is_in_both or any(_is_of(event, line) for event in events))


def _is_of(event: StepEvent, line: Mapping[str, Any]) -> bool:
    """Whether an event is of the statement, and of the kind, of a recorded line."""
    return _SHOWN.get(event.kind) == _RECORDED[line["kind"]] and _is_at(event, line)


def _is_at(event: StepEvent, line: Mapping[str, Any]) -> bool:
    node = event.point.statement.node
    body: list[ast.stmt] = getattr(node, "body", [])
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    file, row = str(line["file"]), int(line["line"])
    return event.point.file.path == file and node.lineno <= row <= max(last, node.lineno)


class Times(NamedTuple):
    """How often a step does something, at least and at most; ``is_symbol``: in a loop whose length is not known."""

    least: int
    most: int
    is_symbol: bool = False

    def __str__(self) -> str:
        return f"{self.least} to {self.most}{' in a loop' if self.is_symbol else ''}"

    def fits(self, often: float) -> bool:
        """Whether that is how often a run did it: more than once, for a loop of unknown length."""
        if self.is_symbol:
            return often > 1 and often >= self.least
        return self.least - 0.01 <= often <= self.most + 0.01


_NONE = Times(0, 0)


def _times(nodes: Iterable[Node], line: Mapping[str, Any], known: dict[Summary, Times]) -> Times:
    """How often some nodes do what a recorded line did."""
    found = [_times_of(node, line, known) for node in nodes]
    parts = [each for each in found if each.most]
    return Times(sum(each.least for each in parts), sum(each.most for each in parts), any(p.is_symbol for p in parts))


def _times_of(node: Node, line: Mapping[str, Any], known: dict[Summary, Times]) -> Times:
    if isinstance(node, StepEvent):
        once = int(_is_of(node, line))
        return Times(once if (node.every.often is Often.EACH_STEP) else 0, once)
    if isinstance(node, StepCall):
        inside = [_inside(each, line, known) for each in node.reached]
        return _one_of(inside, node.is_sure and (node.every.often is Often.EACH_STEP))
    if isinstance(node, Repeat):
        body = _times(node.body, line, known)
        count = node.count
        if count is None:
            return Times(0 if body.least == 0 else 1, body.most, bool(body.most))
        return Times(body.least * count, body.most * count, body.is_symbol)
    if isinstance(node, Alternatives):
        has_rest = any(not test for test, _ in node.arms)
        return _one_of([_times(arm, line, known) for _, arm in node.arms], has_rest)
    return _NONE


def _inside(reached: Summary, line: Mapping[str, Any], known: dict[Summary, Times]) -> Times:
    if reached not in known:
        known[reached] = _NONE  # for a function that calls itself
        known[reached] = _times(reached.nodes, line, known)
    return known[reached]


def _one_of(found: list[Times], is_sure: bool) -> Times:
    """The times of alternatives, of which one runs if that is sure."""
    if not found:
        return _NONE
    least = min(each.least for each in found) if is_sure else 0
    return Times(least, max(each.most for each in found), any(each.is_symbol for each in found))


def _events(trace: StepTrace) -> Iterator[StepEvent]:
    return (node for node in all_nodes(trace.nodes) if isinstance(node, StepEvent))


def _possible(trace: StepTrace) -> Iterator[StepEvent]:
    """The events of what calls may run that could not be followed."""
    for summary in possible(trace):
        yield from (node for node in all_nodes(summary.nodes) if isinstance(node, StepEvent))


def _shown(lines: list[dict[str, Any]], here: list[StepTrace]) -> Iterator[Line]:
    """The lines that each step certainly has, by the static traces."""
    said: dict[tuple[str, int, str], StepEvent] = {}
    for event in (event for trace in here for event in _certain(trace.nodes, set())):
        kind = _SHOWN.get(event.kind)
        if kind is not None and _is_heard(event):
            said.setdefault((event.point.file.path, event.row, kind), event)
    for (file, row, kind), event in said.items():
        happened = any(_is_of(event, line) for line in lines)
        yield Line(f"{file}:{row} {kind}: {ast.unparse(event.node)[:80]}", kind, happened)


def _is_heard(event: StepEvent) -> bool:
    """Whether a recorder hears of an event: not of text in a progress bar, or that is written to an open file."""
    return not isinstance(event.node, ast.Call) or terminal(event.node) not in PROGRESS | {"write"}


def _certain(nodes: Iterable[Node], seen: set[Summary]) -> Iterator[StepEvent]:
    """The events that each step has, whatever its tests say: not those of alternatives, or of uncertain calls."""
    for node in nodes:
        if isinstance(node, StepEvent) and node.every.often is Often.EACH_STEP:
            yield node
        elif isinstance(node, StepCall) and node.is_sure and node.every.often is Often.EACH_STEP:
            if len(node.reached) == 1 and node.reached[0] not in seen:
                seen.add(node.reached[0])
                yield from _certain(node.reached[0].nodes, seen)
        elif isinstance(node, Repeat):
            yield from _certain(node.body, seen)


def _is_named(line: Mapping[str, Any], here: Iterable[StepTrace]) -> bool:
    """Whether a trace names the loader that a run waited for."""
    return any(_is_loader(each, line) for trace in here for each in loadings(trace.place, trace.loop))


def _is_loader(loading: Loading, line: Mapping[str, Any]) -> bool:
    """Whether a loader of a trace is the one that a run waited for, and has the workers that it had."""
    for note in line["note"]:
        found = re.match(r"(\d+) workers@(.+):(\d+)$", note)
        call = loading.made.call
        if found is None or loading.made.place.file.path != found[2]:
            continue
        is_there = call.lineno <= int(found[3]) <= (call.end_lineno or call.lineno)
        if is_there and (int(found[1]) in loading.workers or None in loading.workers):
            return True
    return False


def _loads_shown(lines: list[dict[str, Any]], here: Iterable[StepTrace]) -> Iterator[Line]:
    """The loaders that the static traces name, each where they name one only."""
    waits = [line for line in lines if line["kind"] == "loader wait"]
    named = {}
    for trace in here:
        found = loadings(trace.place, trace.loop)
        if len(found) == 1:
            named[found[0].made.call] = found[0]
    for each in named.values():
        text = f"{each.made.place.file.path}:{each.row} loads: workers {each.workers}"
        yield Line(text, LOADS, any(_is_loader(each, line) for line in waits))


def total(rows: Iterable[Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """The sums of some counts."""
    sums: dict[str, Counter[int]] = {}
    lengths: dict[str, int] = {}
    for row in rows:
        for kind, counts in row.items():
            sums.setdefault(kind, Counter()).update(dict(enumerate(counts)))
            lengths[kind] = len(counts)
    return {kind: [sums[kind][place] for place in range(lengths[kind])] for kind in sums}
