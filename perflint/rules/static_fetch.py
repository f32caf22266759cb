"""Static graphs: PPF201 for what ``exe.run`` fetches at each step, and PPF708 for models that should be one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from perflint.catalogue import shipped
from perflint.facts.entry_points import DeviceWork, EntryPoint, speaks_of, work_of
from perflint.facts.usages import calls_for
from perflint.findings import Confidence
from perflint.flow.branches import Often
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.uses import Use, UseKind, UseSearch, uses
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, rule
from perflint.rules.edits import only_calls
from perflint.rules.entry_advice import above_training, models_in, outermost_loop, places_beside
from perflint.syntax.bindings import bindings_of, bound_by
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Loop, Scope, Statement
from perflint.syntax.tree import is_literal
from perflint.syntax.vocabulary import LOGGING
from perflint.training import evidence
from perflint.training.every import every
from perflint.training.steps import Point, points_of

# Finds values that a static graph fetches at each step, although they are only used every n steps, or logged.

_FETCHED = 2
"""The position of the list to fetch in ``exe.run(program, feed, fetch_list)``."""


@dataclass(frozen=True)
class FewUses:
    """The uses of the values that ``exe.run`` returns at each step.

    ``path`` and ``row``: the first use. ``test``: all uses are under such tests; None if log lines show the values at
    each step, and nothing else uses them. ``names``: the names that get the values first.
    """

    names: tuple[str, ...]
    test: ast.expr | None
    path: str
    row: int


def few_uses(point: Point, call: ast.Call) -> FewUses | None:
    """Where the values that a step fetches are used, if that is only every n steps, or only in log lines.

    In this loop ``cost`` is fetched at each step and printed at each hundredth::

        for step, data in enumerate(reader()):
            cost, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
            if step % 100 == 0:
                print(cost)

    What a function returns is followed to its caller in the step. None if the values are used after the loop, or stored
    anywhere except for plain names.
    """
    if not _runs_program(call) or evidence.runs_evaluation(call) or not _fetches(call):
        return None
    fetched = _Fetched()
    place, seldom, logged = point.place, [], []
    for use in uses(call, place, through=fetched):
        if fetched.follows(use) or _is_of_another_value(use):
            continue
        at = points_of(use.file).get(use.statement.node)
        if at is None or use.kind is UseKind.LOST or _is_first(use) or not _is_in_loop(use):
            return None
        if at.step is None:
            runs = every(use.file.project, at)
            if runs.often is Often.EVERY_N:
                seldom.append(FewUses(_first_names(use), runs.test, use.file.path, use.statement.node.lineno))
        elif only_calls(use.statement.node, LOGGING):
            logged.append(FewUses(_first_names(use), None, use.file.path, use.statement.node.lineno))
        elif use.via is None or use.statement is not use.via.statement:
            return None
    return min(logged or seldom, key=lambda use: (use.path, use.row), default=None)


def _runs_program(call: ast.Call) -> bool:
    """Whether a call runs a static graph: ``exe.run(program, feed, fetch_list)`` too, which only its name shows."""
    if evidence.runs_program(call):
        return True
    is_run = isinstance(call.func, ast.Attribute) and call.func.attr == "run"
    return is_run and len(call.args) > _FETCHED and "exe" in (dotted(call.func) or "").split(".")[-2:][0].lower()


def _fetches(call: ast.Call) -> bool:
    """Whether a call fetches something, as arrays: not so with an empty list, or with ``return_numpy=False``."""
    fetched, arrays = argument_of(call, "fetch_list", _FETCHED), argument_of(call, "return_numpy", None)
    is_empty = isinstance(fetched, (ast.List, ast.Tuple)) and not fetched.elts
    return not (is_empty or is_literal(fetched, None) or isinstance(fetched, ast.IfExp)) and arrays is None


class _Fetched(UseSearch):
    """Follows values from the statements that bind them to the statements that use them."""

    everywhere = True

    def passes(self, use: Use) -> bool:
        """Only the statement counts, whatever it computes."""
        return True

    def follows(self, use: Use) -> bool:
        """Whether a statement of the step returns the values, or binds names to them and to nothing older."""
        node = use.statement.node
        if _is_first(use):
            return isinstance(node, ast.Return) or bool(_kept_in(use.statement))
        at = points_of(use.file).get(node)
        if at is None or at.step is None or only_calls(node, LOGGING) or not _is_in_loop(use):
            return False
        return isinstance(node, ast.Return) or _is_made_anew(at)

    def names(self, use: Use) -> Iterator[tuple[ast.expr, None]]:
        """All names that a statement binds."""
        return ((ast.Name(name, ast.Store()), None) for name in _kept_in(use.statement))

    def callers(self, use: Use) -> list[CallSite] | None:
        """The calls of the step that reach a function.

        If the step begins with that function, known only by its name, these are all calls that may mean it.
        """
        point = points_of(use.file).get(use.statement.node)
        if point is None:
            return None
        if point.step is not None and point.step.via:
            calls = calls_for(point)
            return [CallSite(at.file, at.scope, at.statement, call, Certainty.SURE) for at, call in calls] or None
        sites = CallGraph.of(use.file.project).callers(use.place.function, Certainty.NAME)
        known = ((site, points_of(site.file).get(site.statement.node)) for site in sites)
        return [site for site, here in known if here is not None and here.step is not None] or None


def _is_first(use: Use) -> bool:
    """Whether a statement gets the values from a call, not from a name."""
    return use.via is None or use.via.kind is UseKind.RETURNED


def _first_names(use: Use) -> tuple[str, ...]:
    """The names that get the values first in the function of a use."""
    while not _is_first(use) and use.via is not None:
        use = use.via
    return tuple(_kept_in(use.statement))


def _is_in_loop(use: Use) -> bool:
    """Whether a use is in the loop of the statement that binds the name."""
    loop = use.via.statement.loop if use.via is not None and not _is_first(use) else None
    return loop is None or use.statement.is_in(loop)


def _is_of_another_value(use: Use) -> bool:
    """Whether a use after the loop cannot read the last value that the loop gave a name."""
    if _is_in_loop(use) or use.via is None or not isinstance(use.path[0], ast.Name):
        return False
    loop = use.via.statement.loop
    return loop is not None and not _may_be_left_from(use.scope, loop, use.path[0].id, use.statement)


def _kept_in(statement: Statement) -> list[str]:
    """The plain names that an assignment binds; empty if it binds anything else."""
    node = statement.node
    names = bound_by(node) if isinstance(node, (ast.Assign, ast.AugAssign)) else []
    return names if all(name.isidentifier() for name in names) else []


def _is_made_anew(point: Point) -> bool:
    """Whether an assignment does not build on a value from an earlier step, unlike ``total += loss``.

    ``text += str(loss)`` after ``text = ""`` in the same step qualifies.
    """
    names = _kept_in(point.statement)
    return bool(names) and all(_begins_anew(name, point.statement, point.scope) for name in names)


def _begins_anew(name: str, statement: Statement, scope: Scope) -> bool:
    """Whether what a statement binds a name to comes only from assignments of the same step."""
    waiting, known, loop = [statement], {statement.node}, statement.loop
    while waiting:
        item = waiting.pop()
        if not _reads_itself(item.node, name):
            continue
        earlier = [binding.statement for binding in before(name, item, scope)]
        if not earlier or (loop is not None and not all(each.is_in(loop) for each in earlier)):
            return False
        waiting += [each for each in earlier if each.node not in known]
        known.update(each.node for each in earlier)
    return True


def _reads_itself(node: ast.stmt, name: str) -> bool:
    """``total += x``, ``total = total + x``"""
    return isinstance(node, ast.AugAssign) or (isinstance(node, ast.Assign) and name in plain_names(node.value))


def _may_be_left_from(scope: Scope, loop: Loop, name: str, use: Statement) -> bool:
    """Whether a use outside a loop may read the last value that the loop gave a name."""
    rows = [item.node.lineno for item in bindings_of(scope).get(name, ()) if not item.is_in(loop)]
    own, end = use.node.lineno, loop.end_lineno or loop.lineno
    if own < loop.lineno:
        return not any(row <= own for row in rows)
    return not any(end < row <= own for row in rows)


# PPF201 in a static graph: ``exe.run`` fetches at each step what is only used every n steps, or only logged.

RULE = shipped()["PPF201"]


@rule(RULE.code, at=At.STEP, calls=["run"])
def fetched_at_each_step(call: ast.Call, context: Context) -> None:
    """Report ``exe.run(program, fetch_list=[loss])`` if ``loss`` is only logged, or used every n steps."""
    found = few_uses(context.here, call) if isinstance(call.func, ast.Attribute) else None
    if found is None:
        return
    *first, last = (f"`{name}`" for name in found.names)
    names = f"{', '.join(first)} and {last}" if first else last
    context.report(
        RULE.words("fetched"),
        confidence=Confidence.MEDIUM,
        message=RULE.texts["fetched to log" if found.test is None else "fetched for a test"],
        test=shorten(ast.unparse(found.test)) if found.test is not None else "",
        names=names,
        there=f" at {found.path}:{found.row}" if found.path != context.file.path else "",
    )


# PPF708: a model of many small operations whose training launches each of them from Python.

NO_GRAPH = shipped()["PPF708"]
_CONVERTED = ("to_static", "declarative", "TracedLayer", "ProgramTranslator", "dygraph_to_static", "cinn")
"""What shows that static graphs were considered."""
_WRAPS = ("DataParallel", "distributed_model", "group_sharded_parallel")


def launches_from_python(entry: EntryPoint) -> bool:
    """Whether a step runs attention, which takes many small operations, and nothing converts it to a static graph."""
    return not speaks_of(entry, *_CONVERTED) and DeviceWork.ATTENTION in work_of(entry)


_models = partial(models_in, is_worth=launches_from_python)


@rule(NO_GRAPH.code, at=At.ANYWHERE, find=_models, claims=False, heeds_claims=False)
def no_static_graph(entry: EntryPoint, context: Context) -> None:
    """Report the model of a training step that Python runs operation by operation."""
    name, obstacle = entry.models[0], _obstacle(entry)
    line = f"{name} = {{paddle}}.jit.to_static({name})"
    context.report(
        NO_GRAPH.words(obstacle) if obstacle else above_training(entry, (line,), NO_GRAPH),
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
        model=name,
    )


def _obstacle(entry: EntryPoint) -> str:
    """The case in which the line cannot be inserted automatically; ``""`` if it can."""
    if len(entry.models) > 1 or not entry.is_in_loop:
        return "several"
    if speaks_of(entry, *_WRAPS):
        return "wrapped"
    is_once_an_epoch = outermost_loop(entry) is entry.loop and "epoch" in entry.driver.name.lower()
    return "again" if is_once_an_epoch else ""
