"""PPF510: a learning rate schedule with a boundary for each step, which it searches at each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.findings import Related
from perflint.flow.sources import Through, sources
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import At, named, rule
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import terminal

RULE = shipped()["PPF510"]
_SCHEDULE = "paddle.optimizer.lr.PiecewiseDecay"
_COUNTS = ("range", "arange", "trange")


@rule(RULE.code, at=At.ANYWHERE, names=named(_SCHEDULE, code=RULE.code))
def searched_schedule(call: ast.Call, context: Context) -> None:
    """Report ``PiecewiseDecay(boundaries, values)`` after ``for i in range(steps): boundaries.append(i)``."""
    at = context.place
    made = ((each, at.at(at.scope, item)) for item in at.scope.statements for each in item.calls)
    filled = {
        each: rows for each, place in made if context.callee(each) == _SCHEDULE and (rows := _filled(each, place))
    }
    if next(iter(filled), None) is call:  # the other branches of a function are written the same way
        related = (Related(context.file.path, max(filled[call]), "a boundary for each step"),)
        context.report(RULE.words(), related=related)


def _filled(call: ast.Call, at: Place) -> list[int]:
    """The rows above the call of a schedule where it gets the numbers of all steps as boundaries."""
    given = argument_of(call, "boundaries", 0)
    found = _of_all_steps(given, at) if given is not None else ()
    return [each.lineno for each in found if each.lineno <= call.lineno]


def _of_all_steps(boundaries: ast.expr, at: Place) -> Iterator[ast.expr]:
    """The numbers of all steps, where they become boundaries: ``list(range(n))``, or a loop that appends each of them.

    ``range(4)`` has four, and ``epoch * steps`` for each epoch is one boundary an epoch.
    """
    for source in sources(boundaries, at, through=Through.NAME):
        yield from _counted(source.node)
    name = dotted(boundaries)
    for statement in at.scope.statements if name is not None else ():
        loops = [link.node for link in statement.around if isinstance(link.node, ast.For) and link.branch == "body"]
        for call in statement.calls:
            is_kept = dotted(call.func) == f"{name}.append" and len(call.args) == 1
            yield from (call for loop in loops if is_kept and _is_step(call.args[0], loop))


def _counted(value: ast.expr) -> Iterator[ast.expr]:
    """``list(range(steps))``, ``[*range(steps)]``, ``[i + 1 for i in range(steps)]``."""
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)) and len(value.generators) == 1:
        if _is_step(value.elt, value.generators[0]):
            yield value
    elif isinstance(value, ast.Call) and terminal(value) in ("list", "tuple", "sorted") and value.args:
        yield from _counted(value.args[0])
    elif isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1 and isinstance(value.elts[0], ast.Starred):
        yield from _counted(value.elts[0].value)
    elif _is_long(value):
        yield value


def _is_step(item: ast.expr, loop: ast.For | ast.comprehension) -> bool:
    """Whether an item of a loop over many numbers is the number itself, or the one before or after it."""
    if isinstance(item, ast.BinOp) and isinstance(item.op, (ast.Add, ast.Sub)):
        item = item.left
    return isinstance(item, ast.Name) and dotted(loop.target) == item.id and _is_long(loop.iter)


def _is_long(numbers: ast.expr) -> bool:
    """Whether a ``range`` has no literal length, nor steps of more than one."""
    if not isinstance(numbers, ast.Call) or terminal(numbers) not in _COUNTS:
        return False
    return 0 < len(numbers.args) < 3 and not isinstance(numbers.args[-1], ast.Constant)
