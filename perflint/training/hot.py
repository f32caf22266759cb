"""The hot path: finds the statements that run at each training step, from the step loops through the calls in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from perflint.flow.known_arguments import Told, in_order
from perflint.index.hierarchy import Hierarchy
from perflint.index.in_use import InUse
from perflint.index.kinds import GUESS, LAYER_TAG, UNKNOWN, Kind, join
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.stopwatch import phase
from perflint.syntax.names import dotted_names
from perflint.syntax.parameters import required_parameters
from perflint.syntax.scopes import Class, Loop, Scope, own_parts
from perflint.syntax.tree import alike
from perflint.syntax.vocabulary import picks
from perflint.training import evidence, looks
from perflint.training.clues import Clues, is_worth_a_look
from perflint.training.intent import only_predicts
from perflint.training.live import live
from perflint.training.looks import Look, Seen
from perflint.training.steps import Point, Step, points_of, reads_of
from perflint.training.training_calls import TrainingCalls

_MAX_VISITS = 8
"""How often a function is examined again because another call passes other kinds of values, or other constants."""

_STEP_NAMES = sorted(evidence.STEP_METHODS | evidence.STEP_CALLBACKS | evidence.LIBRARY_STEPS)
_OPTIMIZER_STEP = re.compile(r"\bdef[\s\\]+step\b")
_STEP_METHOD = re.compile(rf"\bdef[\s\\]+(?:{'|'.join(_STEP_NAMES)})\b")

_NO_CLUES = Clues()


@phase("step loops")
def analyse(project: Project, clues: Clues = _NO_CLUES, only: Collection[FileIndex] | None = None) -> None:
    """Find the step loops and every statement that runs at each step; stores those of some files in ``Points``.

    ``clues``: what makes the inside of a model's ``forward`` worth checking.
    """
    _Hot(project, clues, only).run()


class _Call(NamedTuple):
    """A call in a step: what it reaches, and the kinds and constants that it passes."""

    place: Place
    handed: dict[str, Kind]
    told: Told
    step: Step


@dataclass
class _Visited:
    """The arguments of all calls of a function so far, joined.

    ``ways``: what its parameters mean in these calls, each with the best step that led there. Those that say more than
    another one are left out: everything that runs in them also runs in the other.
    """

    handed: dict[str, Kind]
    ways: dict[Told, Step] = field(default_factory=dict)
    visits: int = 0

    def takes(self, call: _Call) -> bool:
        """Record a call; return whether the function has to be examined because of it."""
        handed = {name: join(kind, self.handed.get(name, UNKNOWN)) for name, kind in call.handed.items()}
        told = call.told if self.visits < _MAX_VISITS else ()  # after this many, its constants are treated as unknown
        known = next((way for way in self.ways if _says_no_more(way, told)), None)
        if self.visits > _MAX_VISITS:
            return False
        if known is not None and all(self.handed.get(name) == kind for name, kind in handed.items()):
            return False
        brings_tensors = any(_is_more_of_a_tensor(kind, self.handed.get(name)) for name, kind in call.handed.items())
        self.visits += 1
        self.handed = handed if self.visits > 1 else call.handed
        if known is not None:
            first, second = self.ways[known], call.step
            self.ways[known] = max(*((second, first) if brings_tensors else (first, second)), key=_rank)
        else:
            self.ways = {way: step for way, step in self.ways.items() if not _says_no_more(told, way)}
            self.ways[told] = call.step
        return True


def _says_no_more(first: Told, second: Told) -> bool:
    """Whether one call fixes no more of a function's parameters than another, so that at least as much can run."""
    known = dict(second)
    return all(name in known and alike(value, known[name]) for name, value in first)


class _Hot:
    """Follows the calls from the step loops, from look to look."""

    def __init__(self, project: Project, clues: Clues, only: Collection[FileIndex] | None) -> None:
        self._project = project
        self._clues = clues
        self._only = only
        self._seen: dict[Scope, _Visited] = {}
        self._queue: list[_Call] = []
        self._unsure: list[_Call] = []
        """Calls of forward passes: they come last, and do not change the results of the others."""

    def run(self) -> None:
        """Fill ``points``."""
        for file in live(self._project).files:
            if file.is_quiet or file.is_foreign:
                continue
            for scope in file.scopes.scopes:
                self._take(looks.at_loops(Place(file, scope), self._clues), Place(file, scope), None)
        for step in step_functions(self._project):
            self._begin(step)
        self._follow_all()
        for file in self._project.mentions.of("grad"):
            if not (file.is_quiet or file.is_foreign) and file.matches(_OPTIMIZER_STEP):
                for scope in _optimizer_steps(file):
                    self._begin(Place(file, scope))
        self._follow_all()
        forwards = [
            _forward_call(Place(file, scope))
            for file in (self._project.mentions.of("forward") if self._clues.names else ())
            if not (file.is_quiet or file.is_offline or file.is_foreign)
            for scope in _forwards(file, self._clues)
            if scope not in self._seen
        ]
        for call in sorted(
            forwards, key=lambda call: only_predicts(call.place.file)
        ):  # a helper gets the step of its caller
            self._enter(call)
        self._follow_all()
        while self._unsure and not self._clues.sure:
            self._queue, self._unsure = self._unsure, []
            self._follow_all()

    def _begin(self, at: Place) -> None:
        """Treat a method as the start of steps, unless a loop has led to it."""
        if at.scope not in self._seen:
            self._queue.append(_Call(at, {}, (), Step(at.file.path, function=at.scope.qualname)))

    def _enter(self, call: _Call) -> None:
        (self._unsure if call.step.forward and not call.step.sure else self._queue).append(call)

    def _follow_all(self) -> None:
        for call in self._queue:  # grows during the loop
            self._called(call)
        self._queue.clear()

    def _called(self, call: _Call) -> None:
        """Examine a function that a step calls, once for each different set of constants that its calls pass."""
        known = self._seen.setdefault(call.place.scope, _Visited(call.handed))
        if call.step.forward and any(not step.forward or step.sure > call.step.sure for step in known.ways.values()):
            # the training step itself runs it, or a more certain path leads there, which says more about its arguments
            return
        if not known.takes(call):
            return
        handed = in_order(known.handed)
        for told, step in known.ways.items():
            look = looks.at_function(call.place, handed, told, step.forward, self._clues)
            self._take(look, call.place, step, told)

    def _take(self, look: Look, at: Place, step: Step | None, told: Told = ()) -> None:
        """Store the results of a look; ``step`` is the one that led to the function, None if steps begin there."""
        path = at.file.path
        if self._only is None or at.file in self._only:
            self._put(look, at, step, told)
        for way in look.ways:
            base = _step_at(at.file, way.root, step)
            reached = replace(base, calls=(*base.calls, (path, way.at)), sure=base.sure and way.sure)
            self._enter(_Call(way.place, way.handed, way.told, reached))

    def _put(self, look: Look, place: Place, step: Step | None, told: Told) -> None:
        """Store the points of a function."""
        steps: dict[Loop | None, Step] = {}
        points = points_of(place.file)
        for seen in look.seen:
            known = points.get(seen.statement.node)
            if known is None or known.step is None or seen.is_hot:
                if seen.is_hot and seen.root not in steps:
                    steps[seen.root] = _step_at(place.file, seen.root, step)
                at = steps[seen.root] if seen.is_hot else None
                ways: tuple[Told, ...] = (told,)
                if at is not None and known is not None and known.step is not None:
                    first, second = (at, known.step) if _gains(seen, known) else (known.step, at)
                    at = max(first, second, key=_rank)
                    ways = known.ways if told in known.ways else (*known.ways, told)
                points[seen.statement.node] = Point(
                    seen.statement, place.scope, at, seen.env, seen.loop, place.file, ways
                )
        for call, read in look.reads:
            reads_of(place.file)[place.file.source.lines.offset(call.lineno, call.col_offset)] = read


def _step_at(file: FileIndex, root: Loop | None, step: Step | None) -> Step:
    """The step that led to a function; if none did, the one that begins with a loop in it."""
    if step is not None:
        return step
    assert root is not None
    return Step(file.path, root)


def _may_train(owner: Class, clues: Clues) -> bool:
    """Whether a forward pass may be part of a step; one without gradients only if it selects inputs of the loss."""
    return not evidence.without_gradients(owner.methods["forward"]) or (picks(owner.name) and not clues.sure)


def _forward_call(at: Place) -> _Call:
    """The step for a forward pass; not ``sure`` without gradients, or if nothing creates an object of the class."""
    is_used = at.scope.owner is None or InUse.of(at.file.project).is_used(at.file, at.scope.owner)
    sure = is_used and not evidence.without_gradients(at.scope)
    step = Step(at.file.path, function=at.scope.qualname, forward=True, sure=sure)
    return _Call(at, dict.fromkeys(required_parameters(at.scope), GUESS), (), step)


def step_functions(project: Project) -> Iterator[Place]:
    """The methods that do one training step by their name: ``training_step``, ``learn``; a loop may lead to them."""
    for file in project.mentions.of(*_STEP_NAMES):
        if not file.is_quiet and file.matches(_STEP_METHOD) and not file.is_foreign:
            yield from (Place(file, scope) for scope in _step_methods(file))


@query
def _step_methods(file: FileIndex) -> list[Scope]:
    """Methods that are a training step by name and contents, or that a library's trainer calls at each step."""
    project, found = file.project, list[Scope]()
    for owner in file.scopes.classes.values():
        named = [owner.methods[name] for name in sorted(evidence.STEP_METHODS & owner.methods.keys())]
        found += [scope for scope in named if TrainingCalls.of(project).trains(Place(file, scope))]
        bases = Hierarchy.of(project).base_names(file, owner)
        if any(base.startswith("paddle.callbacks.") for base in bases):
            found += [owner.methods[name] for name in sorted(evidence.STEP_CALLBACKS & owner.methods.keys())]
        if any(base.endswith("Trainer") for base in Hierarchy.of(project).unseen(file, owner)):
            others = evidence.LIBRARY_STEPS & owner.methods.keys()
            found += [owner.methods[name] for name in sorted(others) if owner.methods[name] not in found]
    return found


@query
def _optimizer_steps(file: FileIndex) -> list[Scope]:
    """The ``step`` methods of the optimizers of a file, which any training with them calls at each step."""
    owners = file.scopes.classes.values()
    steps = (owner.methods["step"] for owner in owners if "step" in owner.methods)
    return [scope for scope in steps if evidence.updates_weights(scope)]


@query
def _forwards(file: FileIndex, clues: Clues) -> list[Scope]:
    """The forward passes of a file's own layers that are worth checking: they run at each step that trains them."""
    owners = [owner for owner in file.scopes.classes.values() if "forward" in owner.methods]
    return [
        owner.methods["forward"]
        for owner in owners
        if _may_train(owner, clues)
        and is_worth_a_look(Place(file, owner.methods["forward"]), clues)
        and Modules.of(file.project).kind_of_instance(file, owner).tag == LAYER_TAG
    ]


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
    return not step.forward, step.sure, step.loop is not None
