"""PPF214 where an evaluation reads the items of a tensor one by one: `int(x[i])`, `for token in tokens: int(token)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from perflint.facts.evaluations import evaluating, evaluating_loops
from perflint.findings import Confidence, Related
from perflint.flow.calls import CallGraph
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.paddle.tensor_methods import NUMBER_CONVERSIONS
from perflint.query import query
from perflint.rules.read_in_parts import FEW, RULE
from perflint.rules.tensor_reads import Evidence
from perflint.syntax.names import dotted_names, plain_names
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import COMPREHENSIONS
from perflint.syntax.tree import walk
from perflint.trace.lengths import passes


class _Items(NamedTuple):
    """A read of one item after the other: the tensor, and the loop or comprehension that goes through it.

    ``helper``: the function that does so for an argument, with the row there.
    """

    tensor: ast.expr
    loop: ast.AST
    over: ast.expr
    helper: tuple[Place, int] | None = None


def _items_of(file: FileIndex) -> Iterator[Candidate]:
    if file.is_offline or not file.has_words("for") or not knows_paddle(file):
        return
    for scope in evaluating(file):
        at, told = Place(file, scope), set[str]()
        for loop in evaluating_loops(at):
            for statement in scope.statements_in(loop):
                inner = [link.node for link in statement.around if link.branch == "body" and link.node is not loop]
                loops: list[ast.AST] = [node for node in inner if isinstance(node, (ast.For, ast.AsyncFor))]
                for call in statement.calls:
                    within = [
                        node for node in statement.nodes if isinstance(node, COMPREHENSIONS) and call in walk(node)
                    ]
                    found = _items_read(call, [*within, *loops], file) or _in_helper(call, at)
                    if found is not None and (said := ast.unparse(found.tensor)) not in told:
                        told.add(said)
                        yield Candidate(call, statement.node, found, Confidence.HIGH)


def _items_read(call: ast.Call, loops: list[ast.AST], file: FileIndex) -> _Items | None:
    """What a call turns into numbers item by item, in the innermost of some loops that goes through it."""
    read = _number_of(call, file)
    for loop in loops if read is not None else ():
        for target, over in _headers(loop):
            tensor = _base(read, target, over) if read is not None else None
            if tensor is not None:
                return _Items(tensor, loop, over)
    return None


def _number_of(call: ast.Call, file: FileIndex) -> ast.expr | None:
    """The name, or the item of one, that a call turns into a number: ``x[i]`` of ``x[i].item()`` and ``int(x[i])``."""
    read: ast.expr | None = None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "item" and not (call.args or call.keywords):
        read = call.func.value
    elif isinstance(call.func, ast.Name) and call.func.id in NUMBER_CONVERSIONS and len(call.args) == 1:
        read = call.args[0] if not file.names.is_bound(call.func.id) else None
    if isinstance(read, ast.Subscript):
        return read if isinstance(read.value, ast.Name) and isinstance(read.slice, ast.Name) else None
    return read if isinstance(read, ast.Name) else None


def _headers(loop: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a loop or a comprehension, each with what it goes over."""
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        yield loop.target, loop.iter
    for each in reversed(getattr(loop, "generators", ())):
        yield each.target, each.iter


def _base(item: ast.expr, target: ast.expr, over: ast.expr) -> ast.expr | None:
    """What a loop takes the items of, if an expression is one of them: ``x`` for ``x[i]``, and for ``t`` in ``x``."""
    names = plain_names(target)
    if isinstance(item, ast.Subscript):
        is_moving = not dotted_names(item.slice).isdisjoint(names) and dotted_names(item.value).isdisjoint(names)
        return item.value if is_moving else None
    is_whole = isinstance(target, ast.Name) and isinstance(item, ast.Name) and target.id == item.id
    return over if is_whole and isinstance(over, (ast.Name, ast.Subscript)) else None


def _in_helper(call: ast.Call, at: Place) -> _Items | None:
    """A function of the project that goes through an argument item by item: ``to_string(tokens, vocabulary)``."""
    targets = CallGraph.of(at.file.project).callees(at, call) if call.args else []
    for target in targets[:1] if targets and targets[0].sure else ():
        for parameter, (row, loop) in _read_by(target.place).items():
            given = argument_for(target.scope, call, parameter)
            if given is not None:
                return _Items(given, loop, given, (target.place, row))
    return None


@query
def _read_by(at: Place) -> dict[str, tuple[int, ast.AST]]:
    """The parameters that a function goes through, and turns each item of into a number, with the row of a read."""
    found: dict[str, tuple[int, ast.AST]] = {}
    for statement in at.scope.statements:
        for node in statement.nodes:
            if isinstance(node, COMPREHENSIONS):
                for call in (each for each in walk(node) if isinstance(each, ast.Call)):
                    read = _items_read(call, [node], at.file)
                    if read is not None and isinstance(read.tensor, ast.Name) and read.tensor.id in at.scope.parameters:
                        found.setdefault(read.tensor.id, (call.lineno, node))
    return found


@rule(RULE.code, at=At.ANYWHERE, find=_items_of, claims=False)
def item_read(read: _Items, context: Context) -> None:
    """Report numbers that an evaluation reads from a tensor one after the other."""
    evidence = Evidence(context.here)
    if context.hot is not None or not evidence.is_one_tensor(read.tensor):
        return
    if (passes(read.over, context.place) or FEW + 1) <= FEW:
        return
    fix, tensor = RULE.words("items"), ast.unparse(read.tensor)
    if read.helper is None:
        context.report(fix, message=RULE.texts["items"], base=tensor, costs_on_cpu=True)
        return
    at, row = read.helper
    related = (Related(at.file.path, row, "the read of each item"),)
    place = context.where(at.file.path, row)
    context.report(fix, related=related, message=RULE.texts["items there"], base=tensor, place=place, costs_on_cpu=True)
