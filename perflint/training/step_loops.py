"""Finds where training steps begin: in loops, in methods that do one step, and in what a loop draws from.

``repeat_of`` finds in which loop inside a step a statement runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perflint.flow.by_statement import Flow, is_generator, with_comprehensions
from perflint.flow.calls import Callee, CallGraph
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.known_arguments import Handed, Told, default_values, in_order, parameter_env
from perflint.flow.known_values import Known
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import serves_paddle
from perflint.index.kinds import (
    EITHER,
    LAYER_TAG,
    OBJECT_TAG,
    Kind,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place, Project
from perflint.paddle.call_results import LOOPED
from perflint.paddle.tensor_methods import CONVERSIONS, QUALIFIED_ARRAY_FUNCTIONS, READ_METHODS
from perflint.query import query
from perflint.syntax.bindings import bindings_of, definitions_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, arguments_of, keyword_parameter
from perflint.syntax.reaching import is_mutated
from perflint.syntax.scopes import (
    COMPREHENSIONS,
    LOOPS,
    Class,
    Loop,
    Scope,
    Statement,
    is_for_another_program,
    once,
    own_parts,
    terminal,
)
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import is_no_training, is_trial, means_scaler, picks
from perflint.training import evidence
from perflint.training.clues import Clues, is_worth_a_look
from perflint.training.every import HowOften, call_path, ends_at_once, is_never_defined, never_run, step_loop
from perflint.training.live import held_names, live
from perflint.training.outcomes import filters_select_one, repeating_loops, within_expressions
from perflint.training.steps import Point, Read, Step
from perflint.training.training_calls import TrainingCalls

_STEP_NAMES = sorted(evidence.STEP_METHODS | evidence.STEP_CALLBACKS | evidence.LIBRARY_STEPS)
_OPTIMIZER_STEP = re.compile(r"\bdef[\s\\]+step\b")
_STEP_METHOD = re.compile(rf"\bdef[\s\\]+(?:{'|'.join(_STEP_NAMES)})\b")

_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.monotonic_ns"}
)

# Finds which calls read from the device: by a host read, or in a helper that gets a tensor.

_MOST_STATEMENTS = 200
_NUMPY = QUALIFIED_ARRAY_FUNCTIONS | {"numpy.mean", "numpy.isnan", "numpy.isfinite", "numpy.sum"}


class Reads(Part):
    """Decides whether one call of a function reads from the device, given its arguments."""

    def in_call(self, at: Place, call: ast.Call, env: Env) -> Read | None:
        """The first host read that a call of a project function certainly does, also through some further calls."""
        for target in CallGraph.of(self._project).callees(at, call, env):
            if not target.sure or not target.bound or target.scope is at.scope or is_generator(target.scope):
                return None
            if self._is_a_step(target.place):
                return None
            parameters = parameter_env(target.scope, *kinds_given(call, Evaluator(at.file, env)))
            told = in_order(default_values(target.scope, call))
            return self._in_function(target.place, in_order(parameters), told)
        return None

    def _is_a_step(self, at: Place) -> bool:
        is_named = at.scope.name in evidence.STEP_METHODS or is_no_training(at.scope.name)
        return at.file.is_quiet or is_named or TrainingCalls.of(self._project).trains(at)

    @query(cycle=None)
    def _in_function(self, at: Place, handed: Handed, told: Told) -> Read | None:
        """The read in a function; a function of hundreds of statements is not searched."""
        if len(at.scope.statements) > _MOST_STATEMENTS:
            return None
        start = Values.of(self._project).base_env(at, dict(handed))
        flow = Flow(at, start, guess_losses=False).run()
        known = Known(at, dict(told))
        path = HowOften(known, at.scope, flow)
        possible: Read | None = None
        for statement in at.scope.statements:
            if not statement.calls or path.is_rare(statement.place, None):
                continue
            env = with_comprehensions(statement.node, flow.before.get(statement.node, {}), at.file)
            guarded = within_expressions(statement.node, known, Evaluator(at.file, env).kind, at.file)
            calls = [call for call in statement.calls if call not in guarded]
            found = self._in_calls(at, calls, env)
            if found is not None and found.sure and not _asks_for_a_key(statement, at.scope):
                return found
            if found is not None and possible is None:
                possible = replace(found, sure=False)
        return possible

    def _in_calls(self, at: Place, calls: list[ast.Call], env: Env) -> Read | None:
        for call in calls:
            if reads_tensor(call, Evaluator(at.file, env), at.file):
                return Read(at.file, call)
            found = self.in_call(at, call, env)
            if found is not None:
                return found
        return None


def kinds_given(call: ast.Call, evaluator: Evaluator) -> tuple[list[Kind], dict[str, Kind], list[Kind]]:
    """The kinds of a call's arguments: by position, by keyword, and those of ``**`` arguments."""
    return *evaluator.arguments(call), [
        evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg is None
    ]


def _asks_for_a_key(statement: Statement, scope: Scope) -> bool:
    """Whether a statement is under ``if "boxes" in batch:`` for a parameter of its function."""
    return any(
        isinstance(item, ast.Compare)
        and isinstance(item.ops[0], ast.In)
        and isinstance(item.left, ast.Constant)
        and dotted(item.comparators[0]) in scope.parameters
        for test in statement.tests
        for item in walk(test)
    )


def is_of_tensors(call: ast.Call) -> bool:
    """Whether a call is ``x.numpy()``, whatever is known of ``x``: nothing but a tensor has that method."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not arguments_of(call)


def reads_tensor(call: ast.Call, evaluator: Evaluator, file: FileIndex) -> bool:
    """Whether a call itself copies a known tensor to the host."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in READ_METHODS and not call.keywords:
        return evaluator.kind(call.func.value).is_tensor
    name = dotted(call.func)
    if name is None or len(call.args) != 1:
        return False
    if name in CONVERSIONS or file.names.resolve(name) in _NUMPY:
        return evaluator.kind(call.args[0]).is_tensor
    return False


# Finds what a training step draws its batches from: the generators and the iterable objects of the project.


@dataclass(frozen=True)
class Drawn:
    """Code that runs each time something is drawn.

    ``made`` is the call that creates a generator, and ``env`` the kinds of names there; None for a method of an object,
    which has no arguments. ``at`` is the place that draws from it.
    """

    target: Callee
    made: ast.Call | None
    env: Env
    at: ast.expr


def drawn_by_loop(at: Place, loop: Loop, env: Env) -> Iterator[Drawn]:
    """What runs in each iteration of ``for batch in ...``; nothing for a ``while``: see its ``next`` calls."""
    return iter(()) if isinstance(loop, ast.While) else _drawn(at, loop.iter, env)


def drawn_by_next(at: Place, call: ast.Call, env: Env) -> list[Drawn]:
    """What runs in ``next(batches)``; empty for every other call."""
    is_next = isinstance(call.func, ast.Name) and call.func.id == "next" and call.args
    return list(_drawn(at, call.args[0], env)) if is_next else []


def _drawn(at: Place, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """What runs to draw from an expression, also through names and calls around it (``enumerate(batches())``)."""
    waiting: list[tuple[Place, ast.expr, Env, ast.expr | None]] = [(at, node, env, None)]
    for place, item, kinds, name in waiting:  # grows in the loop
        passes = isinstance(item, ast.Call) and terminal(item) in LOOPED and dotted(item.func) is not None
        if not passes:
            found = (*_generators(place, item, kinds), *_methods(place.file, item, kinds))
            yield from (replace(each, at=name or item) for each in found)
        if isinstance(item, ast.Call):
            inner = [(place, part, kinds, name) for part in item.args if passes or isinstance(part, ast.Call)]
        else:
            inner = [(*made, name or item) for made in _held(place, item, kinds)]
        waiting += [each for each in inner if not any(each[1] is known[1] for known in waiting)]


def _generators(at: Place, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """The generators that a call may make."""
    if isinstance(node, ast.Call):
        found = CallGraph.of(at.file.project).callees(at, node, env)
        yield from (Drawn(target, node, env, node) for target in found if is_generator(target.scope))


def _held(at: Place, node: ast.expr, env: Env) -> Iterator[tuple[Place, ast.expr, Env]]:
    """The call whose result a name bound once, or an attribute of the object, refers to."""
    file, scope = at.file, at.scope
    name, project = dotted(node), file.project
    if name is None:
        return
    value = definitions_of(scope).get(name)
    if value is None and name.startswith("self.") and scope.owner is not None:
        kept = scope.owner.attributes.get(name[5:], [])
        if len(kept) != 1:
            return
        value, scope = kept[0]
        env = Values.of(project).base_env(Place(file, scope), CallGraph.of(project).handed(Place(file, scope)))
    if isinstance(value, ast.Call):
        yield Place(file, scope), value, env


def _methods(file: FileIndex, node: ast.expr, env: Env) -> Iterator[Drawn]:
    """``__iter__`` of an object if it yields, else ``__next__``."""
    kind, modules = Evaluator(file, env).kind(node), Modules.of(file.project)
    for part in kind.type.split(EITHER) if kind.tag == OBJECT_TAG else ():
        found = modules.method(part, "__iter__")
        if found is None or not is_generator(found[1]):
            found = modules.method(part, "__next__")
        if found is not None:
            yield Drawn(Callee(found), None, env, node)


# Finds the loops whose body is one training step.


@query
def step_loops(at: Place) -> Sequence[Loop]:
    """The loops of a function whose body is one training step."""
    if not any(statement.loop for statement in at.scope.statements) or is_never_defined(at.scope):
        return ()
    attributes = at.scope.owner.attributes if at.scope.owner else ()
    held = {*at.scope.parameters, *at.scope.functions, *attributes, *held_names(at.file, at.scope)}
    names = live(at.file.project).names | evidence.EVIDENCE | held
    if not any(_may_train(statement, names) for statement in at.scope.statements):
        return ()
    trains = _evidence(at)
    if trains is None or is_trial(at.scope.name) or evidence.without_gradients(at.scope):
        return ()
    loops = [loop for loop in evidence.step_loops(at.scope, trains) if not _is_dead(at, loop)]
    return [loop for loop in loops if not evidence.over_evaluation_batches(loop)] if at.file.is_static else loops


def _is_dead(at: Place, loop: Loop) -> bool:
    """Whether a loop never starts over, or is under ``if __name__ == "main":``, which is never true."""
    if loop in never_run(at.scope) or ends_at_once(loop):
        return True
    if not isinstance(at.scope.node, ast.Module):
        return False
    return any(
        statement.node is loop and is_for_another_program(statement, at.file.parts[-1])
        for statement in at.scope.statements
    )


def _evidence(at: Place) -> evidence.Trains | None:
    """The function that recognizes a training call; None if a file without Paddle does not drive a training either."""
    calls = TrainingCalls.of(at.file.project)
    if serves_paddle(at.file):
        on_batches = {call for call, loop in _calls_in_loops(at.scope) if evidence.over_batches(loop)}
        return lambda call: calls.call_trains(at, call) or (call in on_batches and calls.trains_on_batch(at, call))
    if not any(calls.trains_elsewhere(at, call) for call, _ in _calls_in_loops(at.scope)):
        return None
    return lambda call: calls.trains_elsewhere(at, call)


def _calls_in_loops(scope: Scope) -> Iterator[tuple[ast.Call, Loop]]:
    """The calls in the loops of a function, each with the innermost one around it."""
    for statement in scope.statements:
        if statement.loop is not None:
            yield from ((call, statement.loop) for call in statement.calls)


def _may_train(statement: Statement, names: frozenset[str]) -> bool:
    called = evidence.terminal_names(statement)
    return bool(called & names) or any(map(means_scaler, called))


def loops_around(statement: Statement, among: Container[ast.stmt]) -> Iterator[Loop]:
    """Those of some loops whose body contains a statement, from the inside out."""
    for link in statement.around:
        if link.branch == "body" and link.node in among and isinstance(link.node, LOOPS):
            yield link.node


def ends_timed_part(at: Place, statement: Statement) -> bool:
    """Whether a statement reads a tensor only to wait for it, and the next one reads the clock.

    Without the wait, only the time to queue the work would be measured, so the read cannot be removed.
    """
    if not _is_bare_read(statement.node):
        return False
    after = next(islice(at.scope.statements, at.scope.statements.index(statement) + 1, None), None)
    if after is None or after.place is not statement.place:
        return False
    return any(at.file.names.resolve(dotted(call.func) or "") in _CLOCKS for call in after.calls)


def _is_bare_read(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr in READ_METHODS and not call.args


# Finds where steps begin without a loop.


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


def optimizer_steps(project: Project) -> Iterator[Place]:
    """The ``step`` methods of the project's own optimizers, which any training with them calls at each step."""
    for file in project.mentions.of("grad"):
        if not (file.is_quiet or file.is_foreign) and file.matches(_OPTIMIZER_STEP):
            yield from (Place(file, scope) for scope in _steps_of_optimizers(file))


def forward_passes(project: Project, clues: Clues) -> Iterator[Place]:
    """The forward passes of the project's own layers that are worth checking: each step that trains them runs them."""
    for file in project.mentions.of("forward") if clues.names else ():
        if not (file.is_quiet or file.is_offline or file.is_foreign):
            yield from (Place(file, scope) for scope in _worth_a_look(file, clues))


@query
def _steps_of_optimizers(file: FileIndex) -> list[Scope]:
    owners = file.scopes.classes.values()
    steps = (owner.methods["step"] for owner in owners if "step" in owner.methods)
    return [scope for scope in steps if evidence.updates_weights(scope)]


@query
def _worth_a_look(file: FileIndex, clues: Clues) -> list[Scope]:
    owners = [owner for owner in file.scopes.classes.values() if "forward" in owner.methods]
    return [
        owner.methods["forward"]
        for owner in owners
        if _may_be_trained(owner, clues)
        and is_worth_a_look(Place(file, owner.methods["forward"]), clues)
        and Modules.of(file.project).kind_of_instance(file, owner).tag == LAYER_TAG
    ]


def _may_be_trained(owner: Class, clues: Clues) -> bool:
    """Whether a forward pass may be part of a step; one without gradients only if it selects inputs of the loss."""
    return not evidence.without_gradients(owner.methods["forward"]) or (picks(owner.name) and not clues.sure)


# Finds loops inside a step that repeat a place, in any of the calls that lead to it.

Repeat = tuple[str, ast.stmt | ast.expr]
"""The path of a file, and a loop or a comprehension in it."""


def repeat_of(project: Project, point: Point, step: Step, node: ast.expr | None = None) -> Repeat | None:
    """The innermost loop inside the step around an expression of a statement, or around a call that leads there.

    ``for batch in loader: for loss in losses: loss.item()`` reads several times in each step.
    """
    around = comprehensions(point.scope).get(node) if node is not None else None
    if around is not None:
        return point.file.path, around
    way = list(call_path(project, point, step))
    callers = [*(statement for _, statement in way[1:]), None]
    for (at, statement), caller in zip(way, callers, strict=True):
        last = step_loop(statement, at.file.path, step)
        own = [statement.node] if isinstance(statement.node, ast.While) and statement.node is not step.loop else []
        loops = (*own, *repeating_loops(statement.place))  # its test runs in each pass
        innermost = next((loop for loop in loops if not _takes_one_keyword(loop, at.scope, caller)), None)
        if innermost is not None and innermost is not last:
            return at.file.path, innermost
    return None


def _takes_one_keyword(loop: Loop, scope: Scope, caller: Statement | None) -> bool:
    """Whether a loop iterates over the ``**kwargs`` of a function whose call passes one value, besides constants.

    ``for name, value in kwargs.items():`` of ``meters.update(loss=loss)``.
    """
    name = keyword_parameter(scope)
    over = loop.iter.func if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else None
    if name is None or caller is None or not isinstance(over, ast.Attribute) or dotted(over.value) != name:
        return False
    if over.attr not in ("items", "values") or name in bindings_of(scope) or is_mutated(name, scope.node):
        return False
    parameters = all_parameters(scope)
    calls = [call for call in caller.calls if terminal(call) == scope.name]
    others = ([item for item in call.keywords if item.arg not in parameters] for call in calls)
    return bool(calls) and all(_is_one(keywords) for keywords in others)


def _is_one(keywords: list[ast.keyword]) -> bool:
    """Whether keyword arguments contain exactly one value that is not a literal, and no ``**others``."""
    values = [keyword.value for keyword in keywords if not isinstance(keyword.value, ast.Constant)]
    return len(values) <= 1 and all(keyword.arg is not None for keyword in keywords)


@once
def comprehensions(scope: Scope) -> dict[ast.AST, ast.expr]:
    """The expressions that comprehensions of a function evaluate in each iteration, with the innermost one."""
    return dict(pair for item in scope.statements for pair in _repeated_in(item))


def _repeated_in(statement: Statement) -> Iterator[tuple[ast.AST, ast.expr]]:
    once: dict[ast.AST, ast.expr | None] = {}
    waiting: list[tuple[ast.AST, ast.expr | None]] = [(part, None) for part in own_parts(statement.node)]
    while waiting:
        item, around = waiting.pop()
        around = once.get(item, around)
        if around is not None:
            yield item, around
        if isinstance(item, COMPREHENSIONS):
            once[item.generators[0].iter] = around
            around = around if any(map(filters_select_one, item.generators)) else item
        waiting += [(child, around) for child in children(item)]
