"""PPF201 in a static graph: ``exe.run`` fetches at each step what is only needed now and then."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.facts.usages import calls_for
from perflint.findings import Confidence, Fix, Level
from perflint.flow.calls import CallGraph, Certainty
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, rule
from perflint.syntax.bindings import bindings_of, bound_by, loads_of
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Loop, Scope, Statement, terminal
from perflint.syntax.vocabulary import LOGGING
from perflint.training import evidence
from perflint.training.around import deciding_test
from perflint.training.steps import Point, points_of

# Finds values that a static graph fetches at each step, although they are only used every n steps, or logged.

_MOST_NAMES = 8
"""Through how many names a value is followed, from assignment to assignment and from function to caller."""

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
    return _Uses().of(point)


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
    is_none = isinstance(fetched, ast.Constant) and fetched.value is None
    return not (is_empty or is_none or isinstance(fetched, ast.IfExp)) and arrays is None


class _Uses:
    """Follows values from the statements that bind them to all of their uses."""

    def __init__(self) -> None:
        self._holders: list[Point] = []
        self._known: set[tuple[Scope, str]] = set()
        self._first: dict[Scope, tuple[str, ...]] = {}
        """For each function, the names that get the values first."""
        self._seldom: list[FewUses] = []
        self._logged: list[FewUses] = []

    def of(self, point: Point) -> FewUses | None:
        """The uses of the values that a statement gets; None if a use needs them at each step."""
        self._holders.append(point)
        while self._holders:
            holder = self._holders.pop()
            if isinstance(holder.statement.node, ast.Return):
                callers = _callers(holder)
                self._holders += callers
                is_known = bool(callers)
            else:
                is_known = self._follow(holder)
            if not is_known or len(self._known) > _MOST_NAMES:
                return None
        return min(self._logged or self._seldom, key=lambda use: (use.path, use.row), default=None)

    def _follow(self, holder: Point) -> bool:
        """Whether all uses of the names bound by a statement are known; these are recorded."""
        names = _kept_in(holder.statement)
        new = [name for name in names if (holder.scope, name) not in self._known]
        self._known.update((holder.scope, name) for name in new)
        first = self._first.setdefault(holder.scope, tuple(names))
        return bool(names) and all(self._is_known(holder, first, use) for name in new for use in _uses_of(holder, name))

    def _is_known(self, holder: Point, names: tuple[str, ...], use: Statement | None) -> bool:
        """Whether it is known what a statement does with a value."""
        at = points_of(holder.file).get(use.node) if use is not None else None
        if at is None or use is None:
            return False
        if at.step is None:
            deciding = deciding_test(holder.file.project, at)
            if deciding is not None and deciding.interval is not None:
                self._seldom.append(FewUses(names, deciding.test, holder.file.path, use.node.lineno))
        elif _logs(use.node):
            self._logged.append(FewUses(names, None, holder.file.path, use.node.lineno))
        elif isinstance(use.node, ast.Return) or _is_made_anew(at):
            self._holders.append(at)
        else:
            return use.node is holder.statement.node
        return True


def _callers(point: Point) -> list[Point]:
    """The statements of the step that call the function of a point.

    If the step begins with that function, known only by its name, these are all calls that may mean it.
    """
    if point.step is not None and point.step.via:
        return [here for here, _ in calls_for(point)]
    sites = CallGraph.of(point.file.project).callers(point.file, point.scope, Certainty.NAME)
    found = [points_of(site.file).get(site.statement.node) for site in sites]
    return [here for here in found if here is not None and here.step is not None]


def _uses_of(holder: Point, name: str) -> Iterator[Statement | None]:
    """The statements that may see the value that a statement assigns to a name; None for one after the loop."""
    loop = holder.statement.loop
    for statement, _ in loads_of(holder.scope).get(name, ()):
        if loop is None or statement.is_in(loop):
            yield statement
        elif _may_be_left_from(holder.scope, loop, name, statement):
            yield None


def _kept_in(statement: Statement) -> list[str]:
    """The plain names that an assignment binds; empty if it binds anything else."""
    node = statement.node
    names = bound_by(node) if isinstance(node, (ast.Assign, ast.AugAssign)) else []
    return names if all(name.isidentifier() for name in names) else []


def _logs(node: ast.stmt) -> bool:
    """Whether a statement is a call that only logs: ``print(loss)``, ``writer.add_scalar("loss", loss, step)``."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and terminal(node.value) in LOGGING


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

CODE = "PPF201"
_MESSAGE = (
    "`{what}` copies what it fetches to the host and waits for the device at {where}, although only the steps with"
    " `{test}` use {names}{there}; pass `fetch_list=[]` on the others."
)
_LOGGED = (
    "`{what}` copies what it fetches to the host and waits for the device at {where}, only to log {names}{there}; log"
    " every n steps, and pass `fetch_list=[]` on the others."
)
_TITLE = "fetch on the steps that use the values, and pass `fetch_list=[]` on the others"
_REASON = "the test has to be made before the run, and the code that unpacks the values belongs under it"


@rule(CODE, at=At.STEP, calls=["run"])
def fetched_at_each_step(call: ast.Call, context: Context) -> None:
    """Report ``exe.run(program, fetch_list=[loss])`` if ``loss`` is only logged, or used every n steps."""
    found = few_uses(context.here, call) if isinstance(call.func, ast.Attribute) else None
    if found is None:
        return
    *first, last = (f"`{name}`" for name in found.names)
    names = f"{', '.join(first)} and {last}" if first else last
    context.report(
        Fix(_TITLE, (), Level.DISPLAY, _REASON),
        confidence=Confidence.MEDIUM,
        message=_LOGGED if found.test is None else _MESSAGE,
        test=shorten(ast.unparse(found.test)) if found.test is not None else "",
        names=names,
        there=f" at {found.path}:{found.row}" if found.path != context.file.path else "",
    )
