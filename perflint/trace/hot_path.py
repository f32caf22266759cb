"""The hot path: which statements run at each training step, as the traces of the steps say.

For example, the trace of the loop of ``train`` reaches ``Net.forward`` by ``net(x)``. So the statements of ``forward``
get a `Point`: what its arguments are in this call, and the step that leads there. Rules look only at such statements.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeVar

from perflint.flow.by_statement import backward_names, with_comprehensions
from perflint.flow.known_arguments import Handed, Told
from perflint.index.in_use import InUse
from perflint.index.kinds import GUESS, UNKNOWN, Kind
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.stopwatch import phase
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted_names
from perflint.syntax.parameters import required_parameters
from perflint.syntax.scopes import Scope, own_parts
from perflint.syntax.vocabulary import decodes
from perflint.trace.events import StepEvent
from perflint.trace.step_trace import (
    Alternatives,
    Called,
    Node,
    Repeat,
    Seen,
    StepCall,
    StepTrace,
    Summary,
    flow_around,
    of_loop,
    outermost_loops,
    reached,
    seen_around,
    summary_of,
)
from perflint.training import evidence
from perflint.training.clues import Clues, clues_ahead, has_parts_worth_a_look, is_worth_a_look
from perflint.training.intent import only_predicts
from perflint.training.live import live
from perflint.training.step_loops import Reads, forward_passes, optimizer_steps, step_functions
from perflint.training.steps import Point, Step, points_of, reads_of

_NO_CLUES = Clues()
_Kind = TypeVar("_Kind", bound=Node)


def note(trace: StepTrace) -> None:
    """Store the points of what a trace reaches, if no analysis has, for questions about what its events wait for."""
    _note(trace.place, seen_around(trace.place), ())
    for each in reached(trace.nodes):
        _note(each.function, each.seen, each.told)


def _note(at: Place, seen: Iterable[Seen], told: Told) -> None:
    points = points_of(at.file)
    for each in seen:
        made = Point(each.statement, at.scope, None, each.env, each.loop, at.file, (told,))
        points.setdefault(each.statement.node, made)


@phase("step loops")
def analyse(project: Project, clues: Clues = _NO_CLUES, only: Collection[FileIndex] | None = None) -> None:
    """Find every statement that runs at each step; stores those of some files in ``Points``.

    ``clues``: what makes a model's ``forward`` worth checking that no step loop is known to lead to.
    """
    _HotPath(project, clues, only).run()


class _HotPath:
    """Goes through the traces of all steps of a project."""

    def __init__(self, project: Project, clues: Clues, only: Collection[FileIndex] | None) -> None:
        self._project = project
        self._clues = clues
        self._only = only
        self._known: dict[Summary, Step] = {}
        self._scopes: set[Scope] = set()
        self._waiting: list[tuple[Summary, Step]] = []

    def run(self) -> None:
        """Store the points of all statements that a step leads to; loops come first, since they say most."""
        for file in live(self._project).files:
            for at, loop in outermost_loops(file) if not (file.is_quiet or file.is_foreign) else ():
                step = Step(file.path, loop)
                self._put((each for each in seen_around(at) if each.loop in (loop, None)), at, (), step)
                nodes = of_loop(at, loop).nodes
                self._called(nodes, at.file.path, step)
                if self._only is None or file in self._only:
                    _note_reads(nodes, at)
        self._follow()
        for at in step_functions(self._project):
            self._begin(at, Step(at.file.path, function=at.scope.qualname))
        self._follow()
        for at in optimizer_steps(self._project):
            self._begin(at, Step(at.file.path, function=at.scope.qualname))
        self._follow()
        for at in sorted(forward_passes(self._project, self._clues), key=lambda at: only_predicts(at.file)):
            if at.scope not in self._scopes and ((step := _of_forward(at)).sure or not self._clues.sure):
                self._begin(at, step, dict.fromkeys(required_parameters(at.scope), GUESS))
        self._follow()

    def _begin(self, at: Place, step: Step, handed: dict[str, Kind] | None = None) -> None:
        """Treat a function as the start of a step, unless a loop has led to it."""
        if at.scope not in self._scopes and (summary := summary_of(at, handed or {})) is not None:
            self._waiting.append((summary, step))

    def _follow(self) -> None:
        """Store the points of what is waiting, and of all that it calls."""
        for summary, step in self._waiting:  # grows in the loop
            known = self._known.get(summary)
            if known is not None and _rank(known) >= _rank(step):
                continue
            self._known[summary] = step
            self._scopes.add(summary.function.scope)
            self._put(summary.seen, summary.function, summary.told, step)
            self._called(summary.nodes, summary.function.file.path, step)
        self._waiting.clear()

    def _called(self, nodes: Iterable[Node], path: str, step: Step) -> None:
        """Go on with what some nodes of a function in a file call."""
        for node in _own(nodes, StepCall):
            for target in node.targets if not node.every.is_rare else ():
                self._enter(target, node, path, step)

    def _enter(self, target: Called | Summary, node: StepCall, path: str, step: Step) -> None:
        """Let a function that a call reaches wait, if a rule may find something there, or behind it.

        A forward pass is a step of its own, whatever leads to it: a message says "at each call of Net.forward".
        """
        at, caller = target.function, node.place.scope
        name = at.scope.name.strip("_")
        if step.forward and decodes(name) and not name.startswith("generate_"):
            return
        if at.scope.name == "__init__" and self._clues.sure:
            return  # a class may be made of anything, which its tests tell apart
        way = replace(step, calls=(*step.calls, (path, node.node)), sure=step.sure and node.is_sure)
        if at.scope.name == "forward" and at.scope.owner is not None:
            alone = _of_forward(at)
            led_from = (step.path, step.line) if step.line else step.led_from
            # a step certainly runs it, with gradients or without
            way = replace(alone, sure=alone.sure or way.sure, led_from=led_from)
            is_worth_it = is_worth_a_look(at, self._clues) or has_parts_worth_a_look(at, self._clues)
        else:
            is_worth_it = not way.forward or clues_ahead(at, self._clues, caller)
        is_worth_it = is_worth_it or (way.led_from is not None and _waits(target.function, target.handed, target.told))
        if is_worth_it and (way.sure or not (way.forward and self._clues.sure)):
            summary = target.summary
            if summary is not None:
                self._waiting.append((summary, way))

    def _put(self, seen: Iterable[Seen], place: Place, told: Told, step: Step) -> None:
        """Store the points of some statements of a function; of several steps, the one that says most counts."""
        if self._only is not None and place.file not in self._only:
            return
        points = points_of(place.file)
        for each in seen:
            known = points.get(each.statement.node)
            if known is not None and known.step is not None and not each.is_hot:
                continue
            at, env = step if each.is_hot else None, each.env
            ways: tuple[Told, ...] = (told,)
            if at is not None and known is not None and known.step is not None:
                gains = _gains(each, known)
                at = max(*((at, known.step) if gains else (known.step, at)), key=_rank)
                env = each.env if gains else known.env
                ways = known.ways if told in known.ways else (*known.ways, told)
            points[each.statement.node] = Point(each.statement, place.scope, at, env, each.loop, place.file, ways)


@query(cycle=False)
def _waits(at: Place, handed: Handed, told: Told) -> bool:
    """Whether a function that a step loop leads to waits for the device, itself or in what it calls."""
    summary = Called(at, handed, told).summary
    own = summary.nodes if summary is not None else ()
    calls = (target for each in _own(own, StepCall) for target in each.targets)
    return any(each.kind.waits for each in _own(own, StepEvent)) or any(
        _waits(each.function, each.handed, each.told) for each in calls
    )


def _of_forward(at: Place) -> Step:
    """The step for a forward pass; not ``sure`` without gradients, or if nothing creates an object of the class."""
    is_used = at.scope.owner is None or InUse.of(at.file.project).is_used(at.file, at.scope.owner)
    sure = is_used and not evidence.without_gradients(at.scope)
    return Step(at.file.path, function=at.scope.qualname, forward=True, sure=sure)


def _is_more_of_a_tensor(kind: Kind, known: Kind | None) -> bool:
    """Whether a value turns out to be or contain a tensor, or may be one although only numbers were known."""
    return _chance(kind) > _chance(known or UNKNOWN)


def _chance(kind: Kind) -> int:
    return 2 if kind.is_tensor else int(not kind.is_host)


def _gains(seen: Seen, known: Point) -> bool:
    """Whether a name that a statement reads turns out to be a tensor in a later call.

    ``meters.update(lr=lr)`` and ``meters.update(loss=loss)`` both lead to ``value.item()``; only one copies a tensor.
    """
    return seen.env is not known.env and any(
        name in seen.env and _is_more_of_a_tensor(seen.env[name], known.env.get(name))
        for part in own_parts(seen.statement.node)
        for name in dotted_names(part)
    )


def _rank(step: Step) -> tuple[bool, bool, bool]:
    """The preference among paths to a function: a training step, one that is certain, one with a known loop."""
    return not step.forward, step.sure, step.loop is not None or step.led_from is not None


def _note_reads(nodes: Iterable[Node], at: Place) -> None:
    """Record the calls in a step loop whose helper, in another file, reads from the device.

    Code that computes the loss or takes the optimizer's step is needed at each step: only the read can be removed.
    """
    for node in _own(nodes, StepCall):
        call, statement, target = node.node, node.place.statement, node.reached[0].function
        if not isinstance(call, ast.Call) or statement is None or not node.is_sure or target.file is at.file:
            continue
        if evidence.takes_optimizer_step(call) or backward_names(at.scope).intersection(bound_by(statement.node)):
            continue
        env = with_comprehensions(statement.node, flow_around(at).before.get(statement.node, {}), at.file)
        if (read := Reads.of(at.file.project).in_call(at, call, env)) is not None:
            reads_of(at.file)[at.file.source.lines.offset(call.lineno, call.col_offset)] = read


def _own(nodes: Iterable[Node], kind: type[_Kind]) -> list[_Kind]:
    """What a function does itself, of one kind, among some of its nodes."""
    found, waiting = list[_Kind](), [*nodes]
    for node in waiting:  # grows in the loop
        if isinstance(node, Repeat):
            waiting += node.body
        elif isinstance(node, Alternatives):
            waiting += [each for _, arm in node.arms for each in arm]
        elif isinstance(node, kind):
            found.append(node)
    return found
