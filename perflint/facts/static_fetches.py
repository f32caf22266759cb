"""Values that a static graph fetches at each step, although the program looks at them every n steps only."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from perflint.syntax.bindings import bindings_of, bound_by, loads_of
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Loop, Scope, Statement
from perflint.training import evidence
from perflint.training.around import deciding_test
from perflint.training.steps import Point, points_of

_MOST_STEPS = 5
"""How many assignments a value is followed through."""


@dataclass(frozen=True)
class SeldomUsed:
    """What ``exe.run`` gives back is used under ``test`` only, in the row ``row``; the names it is kept in."""

    names: tuple[str, ...]
    test: ast.expr
    row: int


def seldom_used(point: Point, call: ast.Call) -> SeldomUsed | None:
    """Where the values that a step fetches are used, if that is every n steps only.

    In this loop ``cost`` is fetched at each step and printed at each hundredth::

        for step, data in enumerate(reader()):
            cost, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
            if step % 100 == 0:
                print(cost)

    None as well where the values are used after the loop, or go anywhere but into plain names.
    """
    if not evidence.runs_program(call) or evidence.runs_evaluation(call) or not _fetches(call):
        return None
    loop, names = point.statement.loop, _kept_in(point.statement)
    if loop is None or not names:
        return None
    return _only_use(point, loop, names)


def _fetches(call: ast.Call) -> bool:
    """Whether a call fetches something, as arrays: not so with an empty list, or with ``return_numpy=False``."""
    fetched, arrays = argument_of(call, "fetch_list", None), argument_of(call, "return_numpy", None)
    is_empty = isinstance(fetched, (ast.List, ast.Tuple)) and not fetched.elts
    is_none = isinstance(fetched, ast.Constant) and fetched.value is None
    return not (is_empty or is_none or isinstance(fetched, ast.IfExp)) and arrays is None


def _kept_in(statement: Statement) -> list[str]:
    """The plain names that an assignment binds; nothing where it binds anything else."""
    node = statement.node
    names = bound_by(node) if isinstance(node, ast.Assign) else []
    return names if all(name.isidentifier() for name in names) else []


def _only_use(point: Point, loop: Loop, names: list[str]) -> SeldomUsed | None:
    """The first use of values in a loop, where all of them stand under tests that count steps."""
    points, scope = points_of(point.file), point.scope
    waiting, known, found = list(names), set(names), list[SeldomUsed]()
    while waiting:
        name = waiting.pop()
        for statement, _ in loads_of(scope).get(name, ()):
            if not statement.is_in(loop):
                if _may_be_left_from(scope, loop, name, statement):
                    return None
                continue
            at = points.get(statement.node)
            if at is None:
                return None
            if at.step is None:
                deciding = deciding_test(point.file.project, at)
                if deciding is not None and deciding.interval is not None:
                    found.append(SeldomUsed(tuple(names), deciding.test, statement.node.lineno))
                continue
            new = _kept_in(statement)
            if not new or len(known) > _MOST_STEPS:
                return None
            waiting += [each for each in new if each not in known]
            known.update(new)
    return min(found, key=lambda use: use.row, default=None)


def _may_be_left_from(scope: Scope, loop: Loop, name: str, use: Statement) -> bool:
    """Whether a use outside of a loop may see what the loop has bound a name to last."""
    rows = [item.node.lineno for item in bindings_of(scope).get(name, ()) if not item.is_in(loop)]
    own, end = use.node.lineno, loop.end_lineno or loop.lineno
    if own < loop.lineno:
        return not any(row <= own for row in rows)
    return not any(end < row <= own for row in rows)
