"""Copies of the parts of one batch that stand side by side: one finding names all of them.

The labels behind the pictures are few numbers, and what is done about the pictures takes them along::

    images = paddle.to_tensor(batch[0])  # the finding: "and line 2"
    labels = paddle.to_tensor(batch[1])
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perflint.dataflow.evaluate import Evaluator
from perflint.facts import origin as origins
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement
from perflint.training.steps import Point, points_of

_TOLD_APART = frozenset({"place", "stop_gradient", None})


class Beside(NamedTuple):
    """What stands beside a copy.

    ``is_said``: the finding at a copy before it names this one.  ``words``: the rows that its own finding has to name.
    """

    is_said: bool
    words: str


def beside(call: ast.Call, point: Point, names: frozenset[str]) -> Beside | None:
    """What stands beside a copy of a part of a batch; ``names``: of the calls that copy.

    None for a copy that is told apart from others by what it is handed (a place, a gradient).
    """
    if not _is_copy(call, point, names):
        return None
    own = [made for made in point.statement.calls if _is_copy(made, point, names)]
    if min(own, key=lambda made: (made.lineno, made.col_offset)) is not call:
        return Beside(True, "")
    at = point.scope.statements.index(point.statement)
    before = _block(point, reversed(point.scope.statements[:at]))
    if next(_copies(before, point, names), None) is not None:
        return Beside(True, "")
    after = _copies(_block(point, point.scope.statements[at + 1 :]), point, names)
    rows = sorted({made.lineno for made in after} - {call.lineno})
    if not rows:
        return Beside(False, "")
    return Beside(False, f" (and line{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))})")


def _block(point: Point, statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements next to that of a point, in its block, up to one that is neither a copy nor a plain value."""
    for statement in statements:
        if statement.place is not point.statement.place or not isinstance(statement.node, (ast.Assign, ast.AnnAssign)):
            return
        yield statement


def _copies(statements: Iterable[Statement], point: Point, names: frozenset[str]) -> Iterator[ast.Call]:
    for statement in statements:
        at = points_of(point.file).get(statement.node) if statement.calls else None
        copies = [call for call in statement.calls if at is not None and _is_copy(call, at, names)]
        if statement.calls and not copies:
            return
        yield from copies


def _is_copy(call: ast.Call, point: Point, names: frozenset[str]) -> bool:
    """Whether a call copies a part of what the loop reads from the host, and nothing else sets it apart."""
    if point.file.names.resolve(dotted(call.func) or "") not in names:
        return False
    if any(keyword.arg in _TOLD_APART for keyword in call.keywords):
        return False
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in ("data", "value"))]
    if not given or isinstance(given[0], ast.Starred):
        return False
    kind = Evaluator(point.file, point.full_env).kind(given[0])
    return origins.origin(given[0], point).kind == origins.BATCH and not (kind.is_tensor and not kind.guess)
