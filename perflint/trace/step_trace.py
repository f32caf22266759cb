"""The trace of a step: the events of its loop and of all that it calls, in order, as a tree.

A function is summarized once for each set of kinds that calls pass to it; a call refers to the summary of what it
reaches. So a trace is as large as the code, not as the number of paths through it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import NamedTuple

from perflint.flow.branches import EACH_STEP, Every, Often
from perflint.flow.by_statement import Flow, is_generator, yielding_loops
from perflint.flow.calls import Callee, CallGraph
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.known_arguments import Handed, Told, default_values, in_order, left_out, parameter_env
from perflint.flow.known_values import Known, told_to_method
from perflint.flow.sources import Through, sources
from perflint.flow.values import Values
from perflint.index.kinds import (
    EITHER,
    FUNCTION_TAG,
    GUESS,
    LAYER_TAG,
    LOADER_TAG,
    TENSOR_TAG,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.paddle import call_results
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of, required_parameters
from perflint.syntax.scopes import LOOPS, TRIES, Loop, Scope, Statement
from perflint.syntax.tree import base_of
from perflint.syntax.vocabulary import (
    evaluates,
    is_trial,
    means_layer,
    means_loss,
    means_model,
    means_scaler,
    predicts,
    samples,
)
from perflint.trace.events import EventKind, Happening, StepEvent, events_at, gives_tensors, model_of
from perflint.trace.lengths import passes, together
from perflint.trace.looked_up import called_name, is_looked_up, may_run, together_with
from perflint.trace.reached import share_a_program
from perflint.training import evidence
from perflint.training.clues import is_followed
from perflint.training.every import HowOften, left_out_of_calls, never_run
from perflint.training.live import live
from perflint.training.outcomes import within_expressions
from perflint.training.step_loops import (
    Drawn,
    comprehensions,
    drawn_by_loop,
    drawn_by_next,
    ends_timed_part,
    kinds_given,
    loops_around,
    step_functions,
    step_loops,
)
from perflint.training.steps import Point


@dataclass(frozen=True)
class StepCall:
    """A call of functions of the project; several if it is not known which one runs.

    ``is_sure``: names and types lead there; a method that only its name leads to is not sure.
    """

    node: ast.expr
    place: Place
    every: Every
    targets: tuple[Called | Summary, ...]
    is_sure: bool = True

    @property
    def reached(self) -> list[Summary]:
        """What each of the functions does: worked out when it is asked for, and kept."""
        found = (each.summary for each in self.targets)
        return [summary for summary in found if summary is not None]


class Called(NamedTuple):
    """A function that a call reaches, with the kinds of its arguments, and what else is known of them."""

    function: Place
    handed: Handed
    told: Told

    @property
    def summary(self) -> Summary | None:
        """What it does; None while that is worked out: a function that logs may call itself."""
        return _summary(self.function, self.handed, self.told)


@dataclass(frozen=True)
class Repeat:
    """A loop inside the step, or a comprehension.

    ``times``: what it goes over, in words; ``count``: how many items that has, None if it is not known.
    """

    node: ast.stmt | ast.expr
    place: Place
    times: str
    body: tuple[Node, ...]
    count: int | None = None


@dataclass(frozen=True)
class Alternatives:
    """Alternatives, of which one runs: the statements of ``if``, of each ``elif``, and of ``else``."""

    node: ast.stmt
    place: Place
    arms: tuple[tuple[str, tuple[Node, ...]], ...]


@dataclass(frozen=True)
class Unknown:
    """A call that could not be followed, although it gets a tensor."""

    node: ast.Call
    place: Place
    every: Every
    why: str


@dataclass(frozen=True)
class Launches:
    """Operations that the host gives to the device one after the other, without any event in between.

    ``count``: how many; a layer of Paddle counts as one.
    """

    node: ast.expr
    place: Place
    count: int


_SELDOM = Every(Often.EVERY_N)
_BY_NAME = (EventKind.LOG, EventKind.OPTIMIZER)
"""Events that only the name of a call shows: a function of the project with that name may do more."""
_RESULTS = 2
"""The least number of tensors that a metric gets: the model's output, and the expected one."""
_MOST_ARMS = 60
"""How many arms of one ``if`` with its ``elif`` are read: how often each runs depends on all tests before it."""

Node = StepEvent | StepCall | Repeat | Alternatives | Unknown | Launches


class Seen(NamedTuple):
    """A statement of a function that a step runs, the kinds of names before it, and whether each call runs it.

    ``loop``: the outermost step loop of the function around it.
    """

    statement: Statement
    env: Env
    is_hot: bool
    loop: Loop | None = None


@dataclass(frozen=True)
class Summary:
    """What one call of a function does in a step; ``seen``: its statements.

    Summaries of one function for the same arguments are equal, so a function that calls itself is settled at once;
    after an edit they are not, so that all that contains the old one is read again.
    """

    function: Place
    handed: Handed
    told: Told
    nodes: tuple[Node, ...] = field(compare=False)
    seen: tuple[Seen, ...] = field(compare=False, repr=False)
    revision: int = 0

    @property
    def summary(self) -> Summary:
        """Itself."""
        return self


@dataclass(frozen=True)
class LoopOrFunction:
    """A loop of a function, or the whole function (``loop`` is None)."""

    place: Place
    loop: Loop | None

    @property
    def node(self) -> ast.stmt | ast.Module:
        """The loop, or the function."""
        return self.loop if self.loop is not None else self.place.scope.node

    @property
    def row(self) -> int:
        """Its row."""
        return self.loop.lineno if self.loop is not None else self.place.scope.row


@dataclass(frozen=True)
class StepTrace(LoopOrFunction):
    """One training step: the loop that it is an iteration of, and what it does.

    ``loop``: None for a method that does a step when something calls it that is not known: ``learn`` of an agent.
    """

    nodes: tuple[Node, ...]


def traces(project: Project) -> Iterator[StepTrace]:
    """The traces of all step loops of a project, in the order of its files; then the steps that no loop leads to."""
    led_to = set[Scope]()
    for file in live(project).files:
        for found in traces_of(file):
            led_to.update(each.function.scope for each in reached(found.nodes))
            yield found
    for step in step_functions(project):
        if step.scope not in led_to and (trace := of_function(step)).nodes:
            yield trace


def traces_of(file: FileIndex) -> Iterator[StepTrace]:
    """The traces of the step loops of a file."""
    if not (file.is_quiet or file.is_foreign):
        yield from (of_loop(at, loop) for at, loop in outermost_loops(file))


def trace_around(file: FileIndex, row: int) -> StepTrace | None:
    """The trace of the step loop around a row of a file."""
    for at, loop in outermost_loops(file):
        if loop.lineno <= row <= (loop.end_lineno or row):
            return of_loop(at, loop)
    return None


@query
def of_function(at: Place) -> StepTrace:
    """What a call of a function does, with what its callers are known to pass."""
    handed = dict(CallGraph.of(at.file.project).handed(at))
    if at.scope.name == "forward":  # whatever calls it: its arguments are tensors
        handed = {**dict.fromkeys(required_parameters(at.scope), GUESS), **handed}
    summary = _summary(at, in_order(handed), ())
    return StepTrace(at, None, summary.nodes if summary is not None else ())


@query
def outermost_loops(file: FileIndex) -> list[tuple[Place, Loop]]:
    """The step loops of a file, without those in another one, each with its function."""
    found: list[tuple[Place, Loop]] = []
    for at in (Place(file, scope) for scope in file.scopes.scopes):
        loops = step_loops(at)
        found += ((at, loop) for loop in loops if not any(_is_in(loop, other) for other in loops))
    return found


@query
def seen_around(at: Place) -> list[Seen]:
    """The statements of a function with step loops: those in the loops run at each step."""
    flow, loops = flow_around(at), step_loops(at)
    often = HowOften(Known(at), at.scope, flow)
    found = []
    for statement in at.scope.statements:
        around = list(loops_around(statement, loops))
        inner, outer = (around[0], around[-1]) if around else (None, None)
        is_hot = inner is not None and not often.is_rare(statement.place, inner)
        is_hot = is_hot and statement.node not in never_run(at.scope) and not ends_timed_part(at, statement)
        if isinstance(statement.node, ast.While) and statement.node in loops:  # its test runs at each step
            is_hot, outer = True, outer or statement.node
        found.append(Seen(statement, flow.before.get(statement.node, {}), is_hot, outer))
    return found


@query
def of_loop(at: Place, loop: Loop) -> StepTrace:
    """What an iteration of any loop of a function does, whether it is a training step or not."""
    reader = _Reader(at, flow_around(at), (), loop)
    return StepTrace(
        at, loop, (*reader.drawn(drawn_by_loop(at, loop, reader.flow.before.get(loop, {}))), *reader.block(loop.body))
    )


def _is_in(loop: Loop, other: Loop) -> bool:
    """Whether a loop is inside another one: a small one of a step, such as one over optimizers."""
    return other.lineno < loop.lineno <= (other.end_lineno or other.lineno)


def all_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes that lie below some nodes, in order, those of a function once."""
    seen, waiting = set[Summary](), [*nodes][::-1]
    while waiting:
        node = waiting.pop()
        yield node
        below: list[Node] = []
        if isinstance(node, StepCall):
            new = [each for each in node.reached if each not in seen]
            seen.update(new)
            below = [each for reached in new for each in reached.nodes]
        elif isinstance(node, Repeat):
            below = [*node.body]
        elif isinstance(node, Alternatives):
            below = [each for _, arm in node.arms for each in arm]
        waiting += below[::-1]


def summary_of(at: Place, handed: Mapping[str, Kind]) -> Summary | None:
    """What a function does in a step if it is called with arguments of these kinds, of which nothing else is known."""
    return _summary(at, in_order(handed), ())


@query(cycle=None)
def _summary(at: Place, handed: Handed, told: Told) -> Summary | None:
    """What a function does if it is called with arguments of these kinds; None where it calls itself."""
    node = at.scope.node
    reader = _Reader(at, _flow(at, handed), told, None)
    revision = at.file.project.memory.revision
    if not is_generator(at.scope):
        return Summary(at, handed, told, tuple(reader.block(node.body)), tuple(reader.seen()), revision)
    drawn = sorted(yielding_loops(at.scope), key=lambda loop: loop.lineno)
    readers = [_Reader(at, reader.flow, told, loop) for loop in drawn if isinstance(loop, LOOPS)]
    nodes = tuple(node for each in readers if each.loop is not None for node in each.block(each.loop.body))
    return Summary(at, handed, told, nodes, tuple(reader.seen(drawn)), revision)


@query
def _flow(at: Place, handed: Handed) -> Flow:
    """The kinds of values in a function that is called with arguments of these kinds."""
    env = Values.of(at.file.project).base_env(at, dict(handed))
    for name in at.scope.parameters:
        if env.get(name, UNKNOWN).tag == UNKNOWN_TAG and means_loss(name):
            env[name] = GUESS
    return Flow(at, env, guess_losses=True).run()


@query
def flow_around(at: Place) -> Flow:
    """The kinds of values in a function with step loops."""
    project = at.file.project
    env = Values.of(project).base_env(at, CallGraph.of(project).handed(at))
    return Flow(at, env, guess_losses=True).run()


def _only_predicts(target: Callee) -> bool:
    """Whether a method is of a class that predicts by its name, as ``InferModel`` beside ``Model`` does."""
    return target.scope.owner is not None and predicts(target.scope.owner.name)


class _Reader:
    """Reads the statements of one function in order."""

    def __init__(self, at: Place, flow: Flow, told: Told, loop: Loop | None) -> None:
        self._at = at
        self.loop = loop
        self._told = told
        self.flow = flow
        self._known = Known(at, dict(told))
        self._often = HowOften(self._known, at.scope, self.flow)
        self._definitions = {**Values.of(at.file.project).definitions(at), **dict(told)}
        self._statements: dict[ast.stmt, Statement] = {each.node: each for each in at.scope.statements}

    def seen(self, drawn: Collection[ast.stmt] | None = None) -> Iterator[Seen]:
        """All statements of the function; ``drawn``: the loops of a generator that run when something is drawn."""
        skipped = left_out_of_calls(self._at.scope)
        for statement in self._at.scope.statements:
            loop = next(reversed(list(loops_around(statement, drawn or ()))), None)
            is_cold = self._often.is_rare(statement.place, loop) or (drawn is not None and loop is None)
            env = self.flow.before.get(statement.node, {})
            is_cold = is_cold or statement.node in skipped or ends_timed_part(self._at, statement)
            yield Seen(statement, env, not is_cold)

    def _text(self, node: ast.expr | ast.pattern) -> str:
        """The source of an expression, on one row."""
        source = self._at.file.source
        start, end = source.lines.span(node)  # type: ignore[arg-type]  # a pattern has a place, too
        return " ".join(source.text[start:end].split())

    def drawn(self, sources: Iterable[Drawn], runs: Every = EACH_STEP) -> Iterator[Node]:
        """What the project's own code does when a step draws something: a generator, up to its next ``yield``."""
        for source in sources:
            target, evaluator = source.target, Evaluator(self._at.file, source.env)
            if target.scope is self._at.scope or not is_followed(target.place):
                continue
            given = kinds_given(source.made, evaluator) if source.made is not None else ([], {}, [])
            called = Called(target.place, in_order(parameter_env(target.scope, *given)), ())
            yield StepCall(source.at, self._at, runs, (called,), target.sure)

    def block(self, body: list[ast.stmt]) -> Iterator[Node]:
        """What statements do, one after the other; launches that follow each other are one node."""
        launches: Launches | None = None
        for node in (each for statement in body for each in self._statement(statement)):
            if isinstance(node, Launches):
                launches = replace(node, count=node.count + (launches.count if launches is not None else 0))
                continue
            if launches is not None:
                yield launches
                launches = None
            yield node
        if launches is not None:
            yield launches

    def _statement(self, node: ast.stmt) -> Iterator[Node]:
        statement = self._statements.get(node)
        if statement is None:
            return  # a definition
        runs = self._often.every(statement.place, self.loop)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield from self._own(statement, runs)
            yield from self._repeat(node, self._text(node.iter), (), passes(node.iter, self._at.before(statement)))
        elif isinstance(node, ast.While):
            yield from self._repeat(node, f"while {self._text(node.test)}", tuple(self._own(statement, runs)))
        elif isinstance(node, ast.If):
            yield from self._own(statement, runs)
            yield from self._choice(node)
        elif isinstance(node, TRIES):
            yield from self.block([*node.body, *node.orelse, *node.finalbody])
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            yield from self._own(statement, runs)
            yield from self.block(node.body)
        elif isinstance(node, ast.Match):
            yield from self._own(statement, runs)
            arms = ((self._text(case.pattern), tuple(self.block(case.body))) for case in node.cases)
            found = tuple((test, nodes) for test, nodes in arms if nodes)
            if found:
                yield Alternatives(node, self._at, found)
        else:
            yield from self._own(statement, runs)

    def _repeat(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        times: str,
        first: tuple[Node, ...] = (),
        count: int | None = None,
    ) -> Iterator[Node]:
        body = (*first, *self.block(node.body))
        if body:
            yield Repeat(node, self._at, times, body, count)
        yield from self.block(node.orelse)

    def _choice(self, node: ast.If) -> Iterator[Node]:
        arms: list[tuple[str, tuple[Node, ...]]] = []
        rest: ast.If | None = node
        while rest is not None and len(arms) < _MOST_ARMS:
            tested = self._test_of(rest) if rest is not node else ()
            arms.append((self._text(rest.test), (*tested, *self.block(rest.body))))
            following = rest.orelse
            rest = following[0] if len(following) == 1 and isinstance(following[0], ast.If) else None
            if rest is None and following:
                arms.append(("", tuple(self.block(following))))
        if any(nodes for _, nodes in arms):
            yield Alternatives(node, self._at, tuple(arms))

    def _test_of(self, node: ast.If) -> Iterator[Node]:
        """What the test of an ``elif`` does."""
        statement = self._statements.get(node)
        if statement is not None:
            yield from self._own(statement, self._often.every(statement.place, self.loop))

    def _own(self, statement: Statement, runs: Every) -> Iterator[Node]:
        """The events of the statement's own expressions, and what its calls do; those of a comprehension repeat."""
        env = self.flow.before.get(statement.node, {})
        point = Point(statement, self._at.scope, None, env, self.loop, self._at.file)
        around = comprehensions(self._at.scope)
        events = list(events_at(point))
        kind = Evaluator(self._at.file, point.full_env).kind
        rare = within_expressions(statement.node, self._known, kind, self._at.file) if events else ()
        for loop, some in groupby(events, key=lambda event: around.get(event.node)):
            often = ((event, _SELDOM.within(runs) if event.node in rare else runs) for event in some)
            found = tuple(node for event, every in often for node in self._event(event, point, every))
            if loop is None:
                yield from found
            elif found:
                yield self._in_comprehension(loop, found, around, statement)

    def _event(self, found: Happening, point: Point, runs: Every) -> Iterator[Node]:
        """An event, or what a call does; a log call of the project is followed to where it logs."""
        is_followed = found.kind in (None, *_BY_NAME)
        own = [*self._called(found.node, point, runs)] if is_followed and isinstance(found.node, ast.Call) else []
        yield from own if found.kind is None else (each for each in own if isinstance(each, StepCall))
        inside = {each.kind for each in all_nodes(own) if isinstance(each, StepEvent)} if found.kind is not None else ()
        if found.kind is not None and not (inside if found.kind is EventKind.LOG else found.kind in inside):
            often = runs if found.is_sure else Every(Often.SOMETIMES).within(runs)
            yield StepEvent(found.kind, point, found.node, often, found.why)

    def _in_comprehension(
        self, loop: ast.expr, body: tuple[Node, ...], around: Mapping[ast.AST, ast.expr], statement: Statement
    ) -> Repeat:
        """What a comprehension repeats, with the loops around it in the same statement."""
        loops, inner = [loop], around.get(loop)
        while inner is not None:
            loops.append(inner)
            inner = around.get(inner)
        over = [each.iter for item in loops for each in getattr(item, "generators", ())]
        counts = [passes(each, self._at.before(statement)) for each in over]
        return Repeat(loop, self._at, " and ".join(map(self._text, reversed(over))), body, together(counts))

    def _called(self, call: ast.Call, point: Point, runs: Every) -> Iterator[Node]:
        evaluator = Evaluator(self._at.file, point.full_env)
        yield from self.drawn(drawn_by_next(self._at, call, point.env), runs)
        targets = self._targets(call, point, evaluator)
        followed = [each for each in targets if each.scope is not self._at.scope and not is_generator(each.scope)]
        followed = [each for each in followed if not _only_predicts(each)] or followed
        reached = [self._inside(target, call, point, evaluator) for target in followed]
        is_method = evaluator.kind(call.func).tag == FUNCTION_TAG
        is_open = bool(targets) and not is_method and self._may_be_another(call, point)
        if reached:
            is_sure = all(target.sure for target in targets) and not is_open
            yield StepCall(call, point.place, runs, tuple(reached), is_sure)
        if is_open or (not targets and self._may_lead_on(call, point, evaluator)):
            yield Unknown(call, point.place, runs, f"what `{self._text(call.func)}` runs is not known")
        elif not targets and (evaluator.kind(call.func).tag == LAYER_TAG or evaluator.kind(call).is_tensor):
            yield Launches(call, point.place, 1)

    def _may_be_another(self, call: ast.Call, point: Point) -> bool:
        """Whether a call of a model may run others than those known: a configuration says which is created."""
        name = dotted(call.func) or ""
        return means_model(name.rpartition(".")[2]) and is_looked_up(call.func, point.place)

    def _targets(self, call: ast.Call, point: Point, evaluator: Evaluator) -> list[Callee]:
        project = self._at.file.project
        model = model_of(call, evaluator)
        if model is not None:
            parts = [part for part in model.type.split(EITHER) if part]
            method = Modules.of(project).method
            methods = (method(part, "__call__") or method(part, "forward") for part in parts)
            if found := [Callee(method) for method in methods if method is not None]:
                return found
        reached = CallGraph.of(project).callees(point.function, call, point.full_env)
        met = (each for each in reached if each.sure or share_a_program(point.file, each.file))
        return [each for each in met if is_followed(each.place, _is_part_of_step(call, point, each, evaluator))]

    def _inside(self, target: Callee, call: ast.Call, point: Point, evaluator: Evaluator) -> Called:
        arguments, keywords, spread = kinds_given(call, evaluator) if target.bound else ([], {}, [])
        handed = parameter_env(target.scope, arguments, keywords, spread)
        told: Told = ()
        if target.bound:
            handed = {**self._passed_on(target.scope, call), **left_out(target.scope, call), **handed}
            handed = {**handed, **together_with(target, call, point)}
            fields = told_to_method(self._at, call, self._told, target.scope)
            told = in_order({**fields, **default_values(target.scope, call, self._definitions)})
        return Called(target.place, in_order(handed), told)

    def _passed_on(self, target: Scope, call: ast.Call) -> dict[str, Kind]:
        """The parameters to which a forward pass passes its own ``*args``: tensors, if nothing says more."""
        arguments = self._at.scope.args.vararg
        if arguments is None or self._at.scope.name != "forward":
            return {}
        passed = (item.value for item in call.args if isinstance(item, ast.Starred))
        is_all = any(dotted(item) == arguments.arg for item in passed)
        return dict.fromkeys(required_parameters(target)[len(call.args) - 1 :], GUESS) if is_all else {}

    def _may_lead_on(self, call: ast.Call, point: Point, evaluator: Evaluator) -> bool:
        """Whether a call of something unknown gets a tensor, or is that of a model: what it does is not known."""
        name, kind = called_name(call.func), evaluator.kind(call.func)
        if means_scaler(name.rpartition(".")[0]):
            return False  # ``scaler.scale(loss)`` of Paddle is one product
        is_imported = self._at.file.names.is_bound(name.partition(".")[0])
        is_open = kind.tag == UNKNOWN_TAG or kind.type in call_results.PARALLEL
        if is_open and not is_imported and call in _begin_losses(self._at):
            return True
        is_other = kind.type or (kind.tag not in (UNKNOWN_TAG, LAYER_TAG) and not kind.guess)
        if not name or is_other or not arguments_of(call):
            return False
        if kind.tag == UNKNOWN_TAG and means_model(name) and name in self._at.scope.parameters:
            return True
        last = name.rpartition(".")[2]
        if ((kind.guess and means_loss(last)) or means_layer(last)) and not is_imported:
            return is_looked_up(call.func, point.place)
        if kind.tag == LAYER_TAG or dotted(call.func) is None:
            return False
        first, _, rest = name.partition(".")
        own = first in self._at.scope.parameters and not (
            rest and evaluator.kind(ast.Name(first, ast.Load())).is_tensor
        )
        return gives_tensors(call, evaluator) and (own or (first == "self" and self._at.scope.owner is not None))


@query
def _begin_losses(at: Place) -> frozenset[ast.AST]:
    """The calls whose results backward passes start from: ``net(x)`` in ``loss = net(x)[key]; loss.backward()``."""
    calls = ((statement, call.func) for statement in at.scope.statements for call in statement.calls)
    waiting = [
        (func.value, at.at(at.scope, statement))
        for statement, func in calls
        if isinstance(func, ast.Attribute) and func.attr == "backward"
    ]
    found, seen = set[ast.AST](), set[ast.AST]()
    for value, place in waiting:  # grows in the loop
        # a loop may scale a loss again: what was looked at leads nowhere else
        begins = sources(value, place, through=Through.NAME | Through.ITEM) if value not in seen else ()
        seen.add(value)
        for source in begins:
            node = base_of(source.node)
            if isinstance(node, ast.Call) and means_scaler(called_name(node.func).rpartition(".")[0]):
                waiting += [(each, source.place) for each in node.args]
            elif node is not source.node:
                waiting.append((node, source.place))
            else:
                found.add(node)
    return frozenset(found)


def _is_part_of_step(call: ast.Call, point: Point, target: Callee, evaluator: Evaluator) -> bool:
    """Whether the context of a call shows that it is part of a training step, whatever the name of the function."""
    scope = point.scope
    is_sure = _shares_step(scope, call, target) or _draws_for(scope, point.statement, target)
    return is_sure or _compares_results(call, target, evaluator)


def _shares_step(scope: Scope, call: ast.Call, target: Callee) -> bool:
    """Whether a training step delegates to the step of the evaluation: ``return self.validation_step(batch)``."""
    if scope.name not in evidence.STEP_METHODS or not target.sure or target.scope.name == "forward":
        return False
    given = [*call.args, *(item.value for item in call.keywords)]
    return any(isinstance(item, ast.Name) and item.id in scope.parameters for item in given)


def _draws_for(scope: Scope, statement: Statement, target: Callee) -> bool:
    """Whether a function samples something before its own backward pass: ``t = sampler.sample(n)``.

    A call that is not assigned, or that comes after the backward pass, may show a model's output. What a step samples
    with may have methods of its own for it: ``rsample`` of a distribution calls ``self._sample_by_rejection``.
    """
    if not target.sure or not isinstance(statement.node, ast.Assign):
        return False
    if samples(scope.name) and target.scope.owner is not None and target.scope.owner is scope.owner:
        return True
    if target.scope.name != "sample":
        return False
    around = set(statement.tests)
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
        for later in scope.statements
        if later.start > statement.start and around <= set(later.tests)
        for call in later.calls
    )


def _compares_results(call: ast.Call, target: Callee, evaluator: Evaluator) -> bool:
    """Whether a function that is named for evaluation gets what the step computed: ``m.evaluate(pred, gt)``.

    Such a function computes metrics of the current batch. One that gets a model or a loader evaluates the model on
    other data, and so does a method of the model.
    """
    name, owner = target.scope.name, target.scope.owner
    if (
        not target.sure
        or not evaluates(name)
        or "epoch" in name
        or is_trial(name)
        or len(arguments_of(call)) < _RESULTS
    ):
        return False
    modules = Modules.of(target.file.project)
    if owner is not None and modules.kind_of_instance(target.file, owner).tag == LAYER_TAG:
        return False
    arguments, keywords, _ = kinds_given(call, evaluator)
    tags = [kind.tag for kind in (*arguments, *keywords.values())]
    return tags.count(TENSOR_TAG) >= _RESULTS and not {LAYER_TAG, LOADER_TAG}.intersection(tags)


def without_launches(trace: StepTrace) -> StepTrace:
    """A trace for people: without launches, and without what contains nothing else."""
    known: dict[Summary, Summary] = {}  # a function may be reached by many calls
    around: list[Summary] = []

    def inside(reached: Summary) -> Summary:
        if reached not in known:
            known[reached] = replace(reached, nodes=())  # for a function that calls itself
            if len(around) < _DEEPEST:
                around.append(reached)
                known[reached] = replace(reached, nodes=some(reached.nodes))
                around.pop()
        return known[reached]

    def some(nodes: Iterable[Node]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, StepCall):
                called = tuple(map(inside, node.reached))
                if any(reached.nodes for reached in called):
                    found.append(replace(node, targets=called))
            elif isinstance(node, Repeat):
                if body := some(node.body):
                    found.append(replace(node, body=body))
            elif isinstance(node, Alternatives):
                arms = tuple((test, some(arm)) for test, arm in node.arms)
                if any(arm for _, arm in arms):
                    found.append(replace(node, arms=arms))
            elif not isinstance(node, Launches):
                found.append(node)
        return tuple(found)

    return replace(trace, nodes=some(trace.nodes))


class Occurrence(NamedTuple):
    """An event as a step meets it: through which calls, in which loops inside the step, and how often."""

    event: StepEvent
    calls: tuple[StepCall, ...]
    repeats: tuple[Repeat, ...]
    every: Every

    @property
    def is_at_each_step(self) -> bool:
        """Whether nothing is known that keeps a step from it."""
        return self.every.often is Often.EACH_STEP


_MOST_OCCURRENCES = 5000
_DEEPEST, MOST_CALLS = 100, 20_000
"""How many calls within each other are followed, and how many in all: two calls in each of a chain of functions lead to
its end in as many ways as a step may have calls.
"""


def may_enter(call: StepCall, calls: Sequence[StepCall]) -> bool:
    """Whether a call is followed that is reached through others: not if a function calls itself again."""
    return len(calls) < _DEEPEST and all(each.node is not call.node for each in calls)


def occurrences(trace: StepTrace) -> list[Occurrence]:
    """The events of a step in order; of alternatives, those of all."""
    return list(islice(_Occurrences().of(trace.nodes, (), (), EACH_STEP), _MOST_OCCURRENCES))


class _Occurrences:
    """Goes through a step call by call, as long as it has not met too many calls: each may be reached by many ways."""

    def __init__(self) -> None:
        self._left = MOST_CALLS

    def of(
        self, nodes: Iterable[Node], calls: tuple[StepCall, ...], repeats: tuple[Repeat, ...], every: Every
    ) -> Iterator[Occurrence]:
        """The events of some nodes."""
        for node in nodes:
            if isinstance(node, StepEvent):
                yield Occurrence(node, calls, repeats, node.every.within(every))
            elif isinstance(node, StepCall) and may_enter(node, calls) and self._left > 0:
                self._left -= 1
                for reached in node.reached:
                    yield from self.of(reached.nodes, (*calls, node), repeats, node.every.within(every))
            elif isinstance(node, Repeat):
                yield from self.of(node.body, calls, (*repeats, node), every)
            elif isinstance(node, Alternatives):
                for _, arm in node.arms:
                    yield from self.of(arm, calls, repeats, every)


def most_at_each_step(
    nodes: Iterable[Node], wanted: Callable[[StepEvent], bool], kept: dict[Summary, int] | None = None
) -> int:
    """How many events a step meets at most, at each step; in a loop inside the step, those of one pass.

    ``kept``: the answers for functions, which may be reached by many calls, of other questions about the same events.
    """
    known = {} if kept is None else kept
    around: list[Summary] = []

    def inside(reached: Summary) -> int:
        if reached not in known:
            known[reached] = 0  # for a function that calls itself
            if len(around) < _DEEPEST:
                around.append(reached)
                known[reached] = most(reached.nodes)
                around.pop()
        return known[reached]

    def most(some: Iterable[Node]) -> int:
        found = 0
        for node in some:
            if isinstance(node, StepEvent):
                found += node.every.often is Often.EACH_STEP and wanted(node)
            elif isinstance(node, StepCall) and node.every.often is Often.EACH_STEP:
                found += max(map(inside, node.reached), default=0)
            elif isinstance(node, Repeat):
                found += most(node.body)
            elif isinstance(node, Alternatives):
                found += max(most(arm) for _, arm in node.arms)
        return found

    return most(nodes)


def unknown_calls(nodes: Iterable[Node]) -> list[Unknown]:
    """The calls of a step that could not be followed, each once."""
    found = (node for node in all_nodes(nodes) if isinstance(node, Unknown))
    return list({node.node: node for node in found}.values())


_MOST_POSSIBLE = 400


def possible(trace: StepTrace) -> list[Summary]:
    """What the calls of a step that could not be followed may run, and what those in there may: each function once.

    ``model = create(cfg.architecture)`` is one of the models of the project: which, a configuration says.
    """
    found: dict[Summary, None] = {}
    waiting = unknown_calls(trace.nodes)
    for unknown in waiting:  # grows in the loop
        for place in may_run(unknown.place, unknown.node):
            if not share_a_program(unknown.place.file, place.file):
                continue
            summary = summary_of(place, dict.fromkeys(place.scope.parameters, GUESS))
            if summary is not None and summary not in found and len(found) < _MOST_POSSIBLE:
                found[summary] = None
                waiting += unknown_calls(summary.nodes)
    return list(found)


def reached(nodes: Iterable[Node]) -> list[Summary]:
    """The functions that a step runs, each once for the arguments that it gets."""
    found = (each for node in all_nodes(nodes) if isinstance(node, StepCall) for each in node.reached)
    return list(dict.fromkeys(found))
