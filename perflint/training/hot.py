"""The hot path: which statements run at each training step, from the step loops through the calls in them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from perflint.dataflow.evaluate import Env
from perflint.dataflow.handed import in_order
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import GUESS, LAYER_TAG, UNKNOWN, Kind, join
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.function_text import may_call
from perflint.syntax.parameters import required_parameters
from perflint.syntax.scopes import Class, Loop, Scope
from perflint.syntax.tree import alike
from perflint.training import evidence, looks
from perflint.training.clues import Clues
from perflint.training.live import live
from perflint.training.looks import Defaults, Look
from perflint.training.steps import Point, Step, points_of, reads_of
from perflint.training.training_calls import TrainingCalls

_MAX_DEPTH = 5
"""How many calls deep a step is followed."""

_MAX_VISITS = 8
"""How often a function is looked at again because another call hands it other kinds of values."""

_STEP_METHOD = re.compile(rf"\bdef[\s\\]+(?:{'|'.join(sorted(evidence.STEP_METHODS | evidence.STEP_CALLBACKS))})\b")

_NO_CLUES = Clues()


def analyse(project: Project, clues: Clues = _NO_CLUES, only: Collection[FileIndex] | None = None) -> None:
    """Find the step loops and every statement that runs at each step; enters those of some files in ``Points``.

    ``clues``: what makes the inside of a model's ``forward`` worth a look.
    """
    _Hot(project, clues, only).run()


class _Hot:
    """Goes from the step loops through the calls in them, from look to look."""

    def __init__(self, project: Project, clues: Clues, only: Collection[FileIndex] | None) -> None:
        self._project = project
        self._clues = clues
        self._only = only
        self._seen: dict[Scope, tuple[Env, Step]] = {}
        self._visits: Counter[Scope] = Counter()
        self._queue: list[tuple[FileIndex, Scope, dict[str, Kind], Step, int]] = []
        self._defaults: dict[Scope, dict[str, ast.expr]] = {}

    def run(self) -> None:
        """Fill ``points``."""
        for file in live(self._project).files:
            if file.is_quiet or file.is_foreign:
                continue
            for scope in file.scopes.scopes:
                self._take(looks.at_loops(file, scope, self._clues), file, scope, None, 0)
        for file in self._project.mentions.of(*sorted(evidence.STEP_METHODS | evidence.STEP_CALLBACKS)):
            if not file.is_quiet and file.matches(_STEP_METHOD) and not file.is_foreign:
                for scope in _step_methods(file):
                    self._queue.append((file, scope, {}, Step(file.path, function=scope.qualname), 1))
        self._follow_all()
        for file in self._project.mentions.of(*sorted(self._clues.names)):
            is_asked = file.has_words("forward") and not file.is_quiet and not file.is_offline
            if not is_asked or not _may_follow_forward(file, self._clues.names):
                continue
            for scope in _forwards(file, self._clues):
                if scope not in self._seen:
                    step = Step(file.path, function=scope.qualname, forward=True)
                    parameters = dict.fromkeys(required_parameters(scope), GUESS)
                    self._queue.append((file, scope, parameters, step, _MAX_DEPTH - 1))
        self._follow_all()

    def _follow_all(self) -> None:
        for file, scope, parameters, step, depth in self._queue:  # which grows meanwhile
            self._called(file, scope, parameters, step, depth)
        self._queue.clear()

    def _called(self, file: FileIndex, scope: Scope, parameters: dict[str, Kind], step: Step, depth: int) -> None:
        known = self._seen.get(scope)
        self._visits[scope] += 1
        if known is not None:
            if self._visits[scope] > _MAX_VISITS:
                return
            merged = {name: join(kind, known[0].get(name, UNKNOWN)) for name, kind in parameters.items()}
            step = known[1] if _rank(known[1]) >= _rank(step) else step
            if all(known[0].get(name) == kind for name, kind in merged.items()):
                return
            parameters = merged
        self._seen[scope] = (parameters, step)
        told = self._defaults.get(scope, {})
        look = looks.at_function(
            file, scope, in_order(parameters), in_order(told), step.forward, depth < _MAX_DEPTH, self._clues
        )
        self._take(look, file, scope, step, depth)

    def _take(self, look: Look, file: FileIndex, scope: Scope, step: Step | None, depth: int) -> None:
        """Enter what a look has found; ``step`` is the one that led to the function, None where steps begin there."""
        path = file.path
        if self._only is None or file in self._only:
            self._put(look, file, scope, step)
        for way in look.ways:
            if isinstance(way, Defaults):
                self._take_defaults(way.scope, way.values)
                continue
            base = _step_at(file, way.root, step)
            reached = replace(base, calls=(*base.calls, (path, way.at)), sure=base.sure and way.sure)
            self._queue.append((way.file, way.scope, way.handed, reached, depth + 1))

    def _put(self, look: Look, file: FileIndex, scope: Scope, step: Step | None) -> None:
        """Enter the points of a function."""
        steps: dict[Loop | None, Step] = {}
        points = points_of(file)
        if look.seen and not points and self._project.stepped is not None:
            self._project.stepped.take(file.path)
        for seen in look.seen:
            known = points.get(seen.statement.node)
            if known is None or known.step is None or seen.is_hot:
                if seen.is_hot and seen.root not in steps:
                    steps[seen.root] = _step_at(file, seen.root, step)
                at = steps[seen.root] if seen.is_hot else None
                points[seen.statement.node] = Point(seen.statement, scope, at, seen.env, seen.loop, file)
        for call, read in look.reads:
            reads_of(file)[file.source.lines.offset(call.lineno, call.col_offset)] = read

    def _take_defaults(self, target: Scope, found: dict[str, ast.expr]) -> None:
        """Remember what every call at a step makes a parameter stand for."""
        known = self._defaults.get(target)
        kept = found
        if known is not None:
            kept = {name: value for name, value in known.items() if name in found and alike(value, found[name])}
        if known is not None and kept != known:
            self._seen.pop(target, None)  # a later call turns something on: look again
        self._defaults[target] = kept


def _step_at(file: FileIndex, root: Loop | None, step: Step | None) -> Step:
    """The step that led to a function; where none did, the one that begins with a loop of it."""
    if step is not None:
        return step
    assert root is not None
    return Step(file.path, root)


@query
def _step_methods(file: FileIndex) -> list[Scope]:
    """Methods that are a training step by name and by what they do, wherever their loop is."""
    project, found = file.project, list[Scope]()
    for owner in file.scopes.classes.values():
        named = [owner.methods[name] for name in sorted(evidence.STEP_METHODS & owner.methods.keys())]
        found += [scope for scope in named if TrainingCalls.of(project).trains(file, scope)]
        bases = Hierarchy.of(project).base_names(file, owner)
        if any(base.startswith("paddle.callbacks.") for base in bases):
            found += [owner.methods[name] for name in sorted(evidence.STEP_CALLBACKS & owner.methods.keys())]
    return found


@query
def _may_follow_forward(file: FileIndex, names: frozenset[str]) -> bool:
    return may_call(file.source.text, names) and not file.is_foreign


@query
def _forwards(file: FileIndex, clues: Clues) -> list[Scope]:
    """The forward passes of a file's own layers that are worth a look: they run at each step of what trains them."""
    owners = [owner for owner in file.scopes.classes.values() if "forward" in owner.methods]
    return [
        owner.methods["forward"]
        for owner in owners
        if not evidence.without_gradients(owner.methods["forward"])
        and Modules.of(file.project).kind_of_instance(file, owner).tag == LAYER_TAG
        and _is_worth_a_look(file, owner.methods["forward"], owner, clues)
    ]


def _is_worth_a_look(file: FileIndex, forward: Scope, owner: Class, clues: Clues) -> bool:
    """Whether a forward pass, or a method of its own that it calls, holds what a rule may speak of."""
    called = frozenset().union(*map(evidence.terminal_names, forward.statements))
    own = [owner.methods[name] for name in sorted(called & owner.methods.keys())]
    return any(looks.holds_clues(file, scope, clues) for scope in (forward, *own))


def _rank(step: Step) -> tuple[bool, bool, bool]:
    """Which of two ways to a function is told: a training step, one that is sure, one whose loop is known."""
    return not step.forward, step.sure, step.loop is not None
