"""PPF603: an evaluation that runs so often, or over so much data, that it is a large part of the training."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.evaluations import Evaluations, WholeEvaluation, evaluating_calls
from perflint.facts.periodic import Periodic, loop_of, periodic
from perflint.findings import Confidence, Related
from perflint.flow.calls import CallGraph
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, Candidate, rule
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import Loop, Statement
from perflint.trace.batch_waits import slowness, times
from perflint.training.every import is_doubtful
from perflint.training.step_loops import step_loops

RULE = shipped()["PPF603"]
_MOST_TIMES = 100


class _Site(NamedTuple):
    """A call, or the header of a loop, that evaluates, and how many times a pass of the loops around runs it."""

    node: ast.expr
    statement: Statement
    found: WholeEvaluation
    times: int


class FrequentEvaluation(NamedTuple):
    """An evaluation that training waits for every n steps.

    ``times``: how many evaluations there are each time. ``slowness``: how much longer each lasts than one in batches,
    1 unless the model gets one sample at a time.
    """

    reached: Periodic
    times: int
    slowness: int


class OnTrainingData(NamedTuple):
    """An evaluation of the data that the same epoch trains on, with the loop over epochs and the name of the data."""

    loop: Loop
    data: str


def _evaluating(file: FileIndex) -> Iterator[tuple[Place, Statement, ast.expr, WholeEvaluation]]:
    """The calls of a file that evaluate, and the loops that do so in functions that train."""
    project = Evaluations.of(file.project)
    if file.is_quiet or file.is_foreign or file.is_offline:
        return
    for scope in file.scopes.scopes if file.has_words("for") else ():
        at = Place(file, scope)
        for loop in project.beside_steps(at):
            statement = next(each for each in scope.statements if each.node is loop)
            yield at, statement, loop.iter, WholeEvaluation(at, loop)
    yield from evaluating_calls(file)


def _candidates(file: FileIndex) -> Iterator[Candidate]:
    groups: dict[tuple[Loop, str], tuple[Periodic, list[_Site]]] = {}
    for at, statement, node, found in _evaluating(file):
        reached = periodic(at, statement)
        if reached is not None:
            often = times(at, statement, reached)
            groups.setdefault((reached.loop, reached.interval.text), (reached, []))[1].append(
                _Site(node, statement, found, often)
            )
        elif (same := _on_training_data(at, statement, node, found)) is not None:
            yield Candidate(node, statement.node, same)
    for reached, calls in groups.values():
        first = min(calls, key=lambda each: each.statement.start)
        tests = _tests(first.statement)
        together = [each for each in calls if _tests(each.statement) <= tests]
        often = min(sum(each.times for each in together), _MOST_TIMES)
        fact = FrequentEvaluation(reached, often, slowness(first.found, reached))
        confidence = Confidence.HIGH if first.found.is_sure else Confidence.MEDIUM
        yield Candidate(first.node, first.statement.node, fact, confidence)


def _tests(statement: Statement) -> frozenset[tuple[str, str]]:
    """The tests around a statement, as text, each with its branch: what runs under no others always runs with it."""
    return frozenset(
        (ast.unparse(node.test), branch) for node, branch in statement.branches if isinstance(node, ast.If)
    )


# Whether an epoch trains on the data that it evaluates afterwards.


def _on_training_data(at: Place, statement: Statement, node: ast.expr, found: WholeEvaluation) -> OnTrainingData | None:
    """Whether a loop over epochs evaluates the data that it trains on, each time."""
    loop = loop_of(statement)
    if loop is None:
        return None
    names: Iterable[str | None] = [_drawn_from(node)]
    if isinstance(node, ast.Call) and node is not found.loop.iter:
        over = set(names_in(found.loop.iter)).intersection(found.at.scope.parameters)
        names = map(dotted, filter(None, (argument_for(found.at.scope, node, name) for name in over)))
    data = {name for name in names if name}.intersection(_trained_on(at, loop))
    return OnTrainingData(loop, min(data)) if data else None


def _drawn_from(over: ast.expr) -> str | None:
    """The name of what a loop goes over, through ``enumerate`` and the like: ``loader`` for ``enumerate(loader())``."""
    while isinstance(over, ast.Call):
        over = over.args[0] if over.args else over.func
    return dotted(over)


def _trained_on(at: Place, loop: Loop) -> Iterator[str]:
    """The names of what the training steps of a loop over epochs draw from, and of what its training calls get."""
    steps = step_loops(at)
    for statement in at.scope.statements_in(loop):
        if statement.node in steps and isinstance(statement.node, (ast.For, ast.AsyncFor)):
            yield from filter(None, [_drawn_from(statement.node.iter)])
        for call in statement.calls:
            for target in CallGraph.of(at.file.project).reached(at, call):
                over = {
                    name for step in step_loops(target) if isinstance(step, ast.For) for name in names_in(step.iter)
                }
                given = (argument_for(target.scope, call, name) for name in over.intersection(target.scope.parameters))
                yield from filter(None, map(dotted, filter(None, given)))


@rule(RULE.code, at=At.ANYWHERE, find=_candidates, claims=False)
def frequent_evaluation(found: FrequentEvaluation | OnTrainingData, context: Context) -> None:
    """Report a call that evaluates every n steps, or after each epoch on the data of the epoch."""
    if is_doubtful(context.here.statement, context.here.function):
        return
    node, loop = context.node, context.statement
    what = context.text(node)
    if isinstance(loop, (ast.For, ast.AsyncFor)) and loop.iter is node:
        what = f"for {context.text(loop.target)} in {what}"
    if isinstance(found, OnTrainingData):
        related = (Related(context.file.path, found.loop.lineno, "the epoch loop"),)
        text, fix = RULE.texts["training data"], RULE.words("training data")
        context.report(
            fix,
            related=related,
            event="evaluation of the training data",
            message=text,
            data=found.data,
            what=shorten(what),
        )
        return
    case = "one by one" if found.slowness > 1 else "several" if found.times > 1 else ""
    context.report(
        RULE.words(case),
        step=found.reached.step,
        every=replace(found.reached.interval, times=found.times * found.slowness),
        how=RULE.texts[case] if case else "",
        what=shorten(what),
    )
