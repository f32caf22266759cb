"""What a training does every n steps: which step loop leads to a statement, and how many steps lie between two runs.

``if step % args.save_steps == 0: paddle.save(...)`` in a step loop counts; so does a statement of a helper that the
loop calls under such a test, and one at the end of an epoch that is known to have few steps.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from perflint.flow.branches import EACH_STEP, Every, Often
from perflint.flow.calls import CallGraph
from perflint.flow.known_values import Known
from perflint.index.project import Place
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import LOOPS, Loop, Scope, Statement
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training
from perflint.training import evidence, step_loops
from perflint.training.every import HowOften, Interval, interval, whole_number
from perflint.training.steps import Step

_FEW = 2000
"""A statement after an epoch with more steps takes little of the time."""
_Calls = tuple[tuple[str, ast.AST], ...]


class Periodic(NamedTuple):
    """How a training reaches a statement: at each ``interval`` of a step loop, or of a loop over epochs.

    ``place``, ``loop``: the loop, and its function. ``runs``: how often the loop reaches the statement, or the call
    that leads to it.
    """

    step: Step
    interval: Interval
    place: Place
    loop: Loop
    runs: Every


def loop_of(statement: Statement) -> Loop | None:
    """The loop over epochs that runs a statement each time, None if there is none or a test is in between."""
    loop = statement.loop
    if loop is None or not evidence.counts_epochs(loop):
        return None
    return loop if HowOften({}).every(statement.place, loop).often is Often.EACH_STEP else None


def trained_beside(at: Place, statement: Statement) -> Place | None:
    """The loop of a training that also runs a statement, after each epoch or now and then; None if there is none.

    The statement of the answer is in that loop: the statement itself, or a call that leads to it.
    """
    waiting, seen = [(at, statement)], {at.scope}
    for place, here in waiting:  # grows in the loop
        runs = HowOften(Known(place), place.scope)
        if place.file.is_quiet or place.file.is_foreign or place.file.is_offline:
            continue
        for link in here.around:
            if isinstance(link.node, LOOPS) and link.branch == "body" and _trains_in(place, link.node):
                is_again = runs.every(here.place, link.node).often > Often.ONCE
                return place.before(here) if is_again else None
        sites = CallGraph.of(place.file.project).callers(place)
        waiting += [(site.function, site.statement) for site in sites if site.scope not in seen]
        seen.update(site.scope for site in sites)
    return None


def _trains_in(at: Place, loop: Loop) -> bool:
    """Whether a loop is one of training steps, or has one in it, or calls a function that has."""
    steps = step_loops.step_loops(at)
    inside = at.scope.statements_in(loop)
    if loop in steps or any(statement.node in steps for statement in inside):
        return True
    reached = CallGraph.of(at.file.project).reached
    return any(_has_steps(called) for each in inside for call in each.calls for called in reached(at, call))


@query(cycle=False)
def _has_steps(at: Place) -> bool:
    """Whether a function has a loop of training steps, itself or in what it calls."""
    if step_loops.step_loops(at):
        return True
    reached = CallGraph.of(at.file.project).reached
    return any(_has_steps(called) for call in at.scope.calls for called in reached(at, call))


def periodic(at: Place, statement: Statement) -> Periodic | None:
    """How often the steps of a training run a statement; None if that is not every n steps of a known loop."""
    return _Search().reached(at, statement, ())


class _Search:
    """Follows calls from a statement up to the loop that runs it."""

    def __init__(self) -> None:
        self._seen: set[Scope] = set()

    def reached(
        self, at: Place, statement: Statement, calls: _Calls, every_n: Interval | None = None
    ) -> Periodic | None:
        """The loop that reaches a statement.

        Args:
            at: its function.
            statement: the statement, or a call that leads to it.
            calls: the calls from there on.
            every_n: how often they run it.
        """
        if at.scope in self._seen or is_no_training(at.scope.name):
            return None
        self._seen.add(at.scope)
        loops = list(step_loops.loops_around(statement, step_loops.step_loops(at)))
        loop = loops[-1] if loops else None
        runs = HowOften(Known(at), at.scope).every(statement.place, loop)
        if not runs.is_regular:
            return None
        if runs.number is not None:
            every_n = interval(runs.number, at.before(statement))
        if loop is None:
            at_epochs = self._at_epochs(at, statement, calls) if every_n is None else None
            return at_epochs or self._above(at, calls, every_n)
        return Periodic(Step(at.file.path, loop, calls), every_n, at, loop, runs) if every_n is not None else None

    def _above(self, at: Place, calls: _Calls, every_n: Interval | None) -> Periodic | None:
        if isinstance(at.scope.node, ast.Module):
            return None
        for site in CallGraph.of(at.file.project).callers(at):
            if site.file.is_quiet or site.file.is_foreign or site.file.is_offline:
                continue
            way = ((site.file.path, site.call), *calls)
            found = self.reached(site.function, site.statement, way, every_n)
            if found is not None:
                return found
        return None

    def _at_epochs(self, at: Place, statement: Statement, calls: _Calls) -> Periodic | None:
        loop = loop_of(statement)
        steps = _steps_of_epoch(at, loop) if loop is not None else None
        if loop is None or steps is None or steps > _FEW:
            return None
        after_each = Interval(steps, f"after each pass, of {steps} steps,")
        return Periodic(Step(at.file.path, loop, calls), after_each, at, loop, EACH_STEP)


def _steps_of_epoch(at: Place, loop: Loop) -> int | None:
    """How many steps a loop over epochs runs in each, if the code shows it: ``for step in range(100)``."""
    inner = (item for item in walk(loop) if isinstance(item, (ast.For, ast.AsyncFor)) and item is not loop)
    for one in inner:
        if one not in step_loops.step_loops(at):
            continue
        counted = one.iter
        if isinstance(counted, ast.Call) and dotted(counted.func) == "range" and len(counted.args) == 1:
            return whole_number(counted.args[0], Place(at.file, at.scope))
    return None
