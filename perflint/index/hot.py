"""The hot path: which statements run at each training step, from the step loops through the calls in them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from perflint.index import around, guards, training
from perflint.index.bindings import default_values, parameter_env
from perflint.index.clues import Clues
from perflint.index.drawing import Drawing, Source
from perflint.index.environment import Environment
from perflint.index.evaluate import Env, Evaluator
from perflint.index.file import FileIndex, Point, Step
from perflint.index.flow import Flow, is_generator, is_loss_name, yielding_loops
from perflint.index.forward_text import may_call
from perflint.index.kinds import GUESS, LAYER_TAG, UNKNOWN, UNKNOWN_TAG, Kind, join
from perflint.index.live import held_names
from perflint.index.project import Project
from perflint.index.reads import Read
from perflint.index.scopes import LOOPS, Class, Loop, Place, Scope, Statement, required_parameters
from perflint.index.timing import ends_timed_part

_MAX_DEPTH = 5
"""How many calls deep a step is followed."""

_MAX_VISITS = 8
"""How often a function is looked at again because another call hands it other kinds of values."""

_QUIET_FUNCTIONS = re.compile(r"(^|_)(bench\w*|profil\w*|debug\w*|test)($|_)", re.IGNORECASE)

_STEP_METHOD = re.compile(rf"\bdef[\s\\]+(?:{'|'.join(sorted(training.STEP_METHODS | training.STEP_CALLBACKS))})\b")


_NO_CLUES = Clues()


def analyse(project: Project, clues: Clues = _NO_CLUES) -> None:
    """Find the step loops and every statement that runs at each step; fills ``FileIndex.points``.

    Args:
        clues: what makes the inside of a model's ``forward`` worth a look.
    """
    Hot(project, clues).run()


class Hot:
    """Finds what runs at each step: from the step loops through the calls in them."""

    def __init__(self, project: Project, clues: Clues = _NO_CLUES) -> None:
        self._project = project
        self._clues = clues
        self._drawing = Drawing(project)
        self._seen: dict[Scope, tuple[Env, Step]] = {}
        self._visits: Counter[Scope] = Counter()
        self._queue: list[tuple[FileIndex, Scope, dict[str, Kind], Step, int]] = []
        self._defaults: dict[Scope, dict[str, ast.expr]] = {}
        self._inner: dict[Scope, dict[str, Kind]] = {}
        self._guarded: tuple[Statement | None, frozenset[ast.AST]] = (None, frozenset())

    def run(self) -> None:
        """Fill ``points`` of every file."""
        for file in self._project.live.files:
            if file.is_quiet or file.is_foreign:
                continue
            for scope in file.scopes.scopes:
                self._own_loops(file, scope)
        for file in self._project.mentions.of(*sorted(training.STEP_METHODS | training.STEP_CALLBACKS)):
            if not file.is_quiet and file.matches(_STEP_METHOD) and not file.is_foreign:
                self._step_methods(file)
        self._follow_all()
        for file in self._project.mentions.of(*sorted(self._clues.names)):
            if "forward" in file.words and not file.is_quiet and not file.is_offline and self._may_follow_forward(file):
                self._forwards(file)
        self._follow_all()

    def _follow_all(self) -> None:
        while self._queue:
            file, scope, parameters, step, depth = self._queue.pop(0)
            self._called(file, scope, parameters, step, depth)

    def _may_follow_forward(self, file: FileIndex) -> bool:
        names = self._clues.names
        return file.of_text(("forward", names), lambda text: may_call(text, names)) and not file.is_foreign

    def _forwards(self, file: FileIndex) -> None:
        """The forward passes of the file's own layers: they run at each step of whatever trains them."""
        for owner in file.scopes.classes.values():
            scope = owner.methods.get("forward")
            if scope is None or scope in self._seen or training.without_gradients(scope):
                continue
            if self._project.kind_of_instance(file, owner).tag != LAYER_TAG:
                continue
            if not self._is_worth_a_look(file, scope, owner):
                continue
            step = Step(file.source.path, 0, function=scope.qualname, forward=True)
            parameters = dict.fromkeys(required_parameters(scope), GUESS)
            self._queue.append((file, scope, parameters, step, _MAX_DEPTH - 1))

    def _is_worth_a_look(self, file: FileIndex, forward: Scope, owner: Class) -> bool:
        """Whether a forward pass, or a method of its own that it calls, holds what a rule may speak of."""
        called = frozenset().union(*map(training.terminal_names, forward.statements))
        own = [owner.methods[name] for name in sorted(called & owner.methods.keys())]
        return any(self._holds_clues(file, scope) for scope in (forward, *own))

    def _holds_clues(self, file: FileIndex, scope: Scope) -> bool:
        clues = self._clues
        return file.of_scope(("clues", clues), scope, lambda: clues.are_in(scope.statements))

    def _own_loops(self, file: FileIndex, scope: Scope) -> None:
        if not any(statement.loop for statement in scope.statements):
            return
        attributes = scope.owner.attributes if scope.owner else ()
        held = {*scope.parameters, *scope.functions, *attributes, *held_names(scope)}
        names = self._project.live.names | training.EVIDENCE | held
        if not any(_may_train(statement, names) for statement in scope.statements):
            return
        trains = self._evidence(file, scope)
        if trains is None:
            return
        if _QUIET_FUNCTIONS.search(scope.name) or training.without_gradients(scope):
            return
        loops = training.step_loops(scope, trains)
        if file.is_static:
            loops = [loop for loop in loops if not training.over_evaluation_batches(loop)]
        if not loops:
            return
        handed = self._project.callers.handed(scope)
        flow = Flow(scope, file, self._project.base_env(file, scope, handed), guess_losses=True).run()
        steps = {loop: Step(file.source.path, loop.lineno) for loop in loops}
        definitions = self._project.guards(file, scope)
        path = around.HotPath(definitions, scope)
        for statement in scope.statements:
            loop = next(
                (link.node for link in _chain(statement.place) if link.branch == "body" and link.node in steps), None
            )
            hot = loop is not None and not path.is_off(statement.place, loop)
            outer = _outermost(statement.place, steps)
            step = steps[outer] if hot and outer is not None else None
            if isinstance(statement.node, ast.While) and statement.node in steps:
                step = steps[statement.node]  # its test is asked at each step
            self._point(file, scope, statement, step, flow, outer, depth=0)
        for loop, step in steps.items():
            before = flow.before.get(loop, {})
            self._drawn(file, scope, self._drawing.by_loop(file, scope, loop, before), step, 0)

    def _evidence(self, file: FileIndex, scope: Scope) -> training.Trains | None:
        """What tells a call that trains; None where a file that does not know Paddle drives no training either."""
        calls = self._project.training_calls
        if file.knows_paddle:
            return lambda call: calls.call_trains(file, scope, call)
        if not any(
            statement.loop is not None and calls.trains_elsewhere(file, scope, call)
            for statement in scope.statements
            for call in statement.calls
        ):
            return None
        return lambda call: calls.trains_elsewhere(file, scope, call)

    def _step_methods(self, file: FileIndex) -> None:
        """Methods that are a training step by name and by what they do, wherever their loop is."""
        for owner in file.scopes.classes.values():
            for name in sorted(training.STEP_METHODS & owner.methods.keys()):
                scope = owner.methods[name]
                if self._project.trains(file, scope):
                    self._start(file, scope)
            if self._project.is_callback(file, owner):
                for name in sorted(training.STEP_CALLBACKS & owner.methods.keys()):
                    self._start(file, owner.methods[name])

    def _start(self, file: FileIndex, scope: Scope) -> None:
        step = Step(file.source.path, 0, function=scope.qualname)
        self._queue.append((file, scope, {}, step, 1))

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
        self._look(file, scope, parameters, step, depth)

    def _look(self, file: FileIndex, scope: Scope, parameters: dict[str, Kind], step: Step, depth: int) -> None:
        env = self._project.base_env(file, scope, parameters)
        for name in scope.parameters:
            if env.get(name, UNKNOWN).tag == UNKNOWN_TAG and is_loss_name(name):
                env[name] = GUESS
        flow = Flow(scope, file, env, guess_losses=True).run()
        definitions = self._project.guards(file, scope, self._defaults.get(scope))
        drawn = yielding_loops(scope) if is_generator(scope) else None
        path, failing = around.HotPath(definitions, scope), around.leading_to_an_error(scope)
        for statement in scope.statements:
            loop = _outermost(statement.place, drawn) if drawn is not None else None
            cold = (
                path.is_off(statement.place, loop) or (drawn is not None and loop is None) or statement.node in failing
            )
            self._point(file, scope, statement, None if cold else step, flow, None, depth)

    def _keep_defaults(self, target: Scope, call: ast.Call, definitions: Mapping[str, ast.expr]) -> None:
        """Remember what every call at a step makes a parameter stand for: ``if verbose:`` may be dead."""
        self._take_defaults(target, default_values(target, call, definitions))

    def _take_defaults(self, target: Scope, found: dict[str, ast.expr]) -> None:
        known = self._defaults.get(target)
        kept = found
        if known is not None:
            kept = {name: value for name, value in known.items() if name in found and _same(value, found[name])}
        if known is not None and kept != known:
            self._seen.pop(target, None)  # a later call turns something on: look again
        self._defaults[target] = kept

    def _point(
        self,
        file: FileIndex,
        scope: Scope,
        statement: Statement,
        step: Step | None,
        flow: Flow,
        loop: Loop | None,
        depth: int,
    ) -> None:
        env = flow.before.get(statement.node, {})
        if step is not None and ends_timed_part(file, scope, statement):
            step = None
        point = Point(statement, scope, step, env, loop, file)
        self._put(point)
        if step is None or depth >= _MAX_DEPTH:
            return
        for call in statement.calls:
            sources = self._drawing.by_next(file, scope, call, env)
            if sources and not self._is_guarded(call, file, scope, statement):
                self._drawn(file, scope, sources, step, depth)
            if self._follow(point, call, step, depth) and depth == 0:
                self._note_read(point, call)

    def _is_guarded(self, call: ast.Call, file: FileIndex, scope: Scope, statement: Statement) -> bool:
        """Whether a conditional expression makes a call of a statement only on a few steps."""
        if self._guarded[0] is not statement:  # it may have thousands of calls
            self._guarded = statement, guards.within_expressions(statement.node, self._project.guards(file, scope))
        return call in self._guarded[1]

    def _put(self, point: Point) -> None:
        points = point.file.points
        if not points and self._project.stepped is not None:
            self._project.stepped.take(point.file.source.path)
        known = points.get(point.statement.node)
        if known is None or known.step is None or point.step is not None:
            points[point.statement.node] = point

    def _follow(self, point: Point, call: ast.Call, step: Step, depth: int) -> bool:
        """Follow a call; whether it may leave the file for a function that is sure to be reached."""
        file, scope = point.file, point.scope
        targets = [
            target
            for target in self._project.dispatch.targets(file, scope, call, point.env)
            if target.scope is not scope and _is_followed(self._project, target.file, target.scope)
        ]
        if not targets or self._is_guarded(call, file, scope, point.statement):
            return False
        arguments, keywords, spread = _handed(call, Evaluator(file, self._known_at(point)))
        via = replace(step, via=(*step.via, (file.source.path, call.lineno)))
        for target in targets:
            if step.forward and not self._holds_clues(target.file, target.scope):
                continue
            if is_generator(target.scope):
                continue  # calling one runs nothing yet: ``_drawn`` follows those that a step draws from
            known = (arguments, keywords, spread) if target.bound else ([], {}, [])
            parameters = parameter_env(target.scope, *known)
            if target.bound:
                self._keep_defaults(target.scope, call, self._project.definitions(file, scope))
            reached = via if target.sure else replace(via, sure=False)
            self._queue.append((target.file, target.scope, parameters, reached, depth + 1))
        return targets[0].sure and targets[0].file is not file

    def _known_at(self, point: Point) -> Env:
        """What is known at a statement, with the functions inside of those around it."""
        if point.scope not in self._inner:
            self._inner[point.scope] = self._project.functions_of(point.file, point.scope)
        inner = self._inner[point.scope]
        return Environment(point.full_env).over(inner) if inner else point.full_env

    def _note_read(self, point: Point, call: ast.Call) -> None:
        """Remember a call in the step loop whose helper, in another file, reads the device."""
        read = self._project.reads.in_call(point.file, point.scope, call, self._known_at(point))
        if read is not None:
            self._put_read(point.file, call, read)

    def _put_read(self, file: FileIndex, call: ast.Call, read: Read) -> None:
        file.reading_calls[file.source.lines.offset(call.lineno, call.col_offset)] = read

    def _drawn(self, file: FileIndex, scope: Scope, sources: Iterable[Source], step: Step, depth: int) -> None:
        """Follow what a step draws from: of a generator, the passes up to its next ``yield``."""
        for source in sources:
            target = source.target
            if target.scope is scope or not _is_followed(self._project, target.file, target.scope):
                continue
            handed = _handed(source.made, Evaluator(file, source.env)) if source.made is not None else ([], {}, [])
            reached = replace(step, via=(*step.via, (file.source.path, source.line)), sure=step.sure and target.sure)
            self._queue.append((target.file, target.scope, parameter_env(target.scope, *handed), reached, depth + 1))


def _handed(call: ast.Call, evaluator: Evaluator) -> tuple[list[Kind], dict[str, Kind], list[Kind]]:
    """The kinds of a call's arguments: by position, by keyword, and those of ``**`` arguments."""
    arguments = [evaluator.kind(argument) for argument in call.args if not isinstance(argument, ast.Starred)]
    keywords = {keyword.arg: evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg}
    return arguments, keywords, [evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg is None]


def _is_followed(project: Project, file: FileIndex, target: Scope) -> bool:
    if (
        file.is_quiet
        or file.is_foreign
        or target.name in ("forward", "__init__")
        or training.is_evaluation(target.name)
    ):
        return False
    if _QUIET_FUNCTIONS.search(target.name) or "epoch" in target.name:
        return False
    if target.owner is not None and target.name == "__call__":
        return project.kind_of_instance(file, target.owner).tag != LAYER_TAG
    return True


def _same(first: ast.expr, second: ast.expr) -> bool:
    return first is second or ast.dump(first) == ast.dump(second)


def _rank(step: Step) -> tuple[bool, bool, bool]:
    """Which of two ways to a function is told: a training step, one that is sure, one whose loop is known."""
    return not step.forward, step.sure, bool(step.line)


def _may_train(statement: Statement, names: frozenset[str]) -> bool:
    called = training.terminal_names(statement)
    return bool(called & names) or any("scaler" in name.lower() for name in called)


def _chain(place: Place | None) -> list[Place]:
    return list(place.chain()) if place is not None else []


def _outermost(place: Place | None, steps: Container[ast.stmt]) -> Loop | None:
    found: Loop | None = None
    for link in _chain(place):
        if link.branch == "body" and link.node in steps and isinstance(link.node, LOOPS):
            found = link.node
    return found
