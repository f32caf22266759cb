"""Reaching definitions: which assignments a name's value may come from, and whether it is changed in place."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from perflint.query import gathered
from perflint.syntax.bindings import Binding, bindings_of, names_and_values, plain_assignment, targets_and_values
from perflint.syntax.names import dotted, stored_names
from perflint.syntax.scopes import LOOPS, Scope, Statement, once, own_parts
from perflint.syntax.tree import alike, base_of, walk

_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill", "update", "add", "setdefault"}
    | {"shuffle", "resize", "put", "popleft", "appendleft"}
)

_WITHS = (ast.With, ast.AsyncWith)

_Branch = tuple[ast.stmt, str]
"""A compound statement, and which part of it something is in."""


def before(name: str, at: Statement, scope: Scope) -> list[Binding]:
    """The assignments that may have given a name its value at a statement, the latest first.

    The list ends where no branch avoids all of them. It is empty if the name is bound further down, or elsewhere.
    """
    found: list[Binding] = []
    around = _branches(at)
    for binding in reversed(_bindings(scope).get(name, ())):
        statement = binding.statement
        if statement.start >= at.start or any(_overwrites(later.statement, statement, around) for later in found):
            continue
        found.append(binding)
        if _leave_none_out(_ways(found, around)):
            break
    return found


def sole_at(name: str, at: Statement, scope: Scope) -> Statement | None:
    """The only assignment that can have given a name its value at a statement; None if there are several."""
    found = before(name, at, scope)
    is_sole = len(found) == 1 and _leave_none_out(_ways(found, _branches(at)))
    return found[0].statement if is_sole and not any(_led_back(name, at, scope)) else None


def made_in_pass(name: str, at: Statement, scope: Scope, loop: ast.stmt | None) -> list[Statement]:
    """The statements in one iteration of a loop that may have given a name its value at a statement, earliest first.

    Attributes count as names (``self.loss``). Empty if the value may come from an earlier iteration or from before the
    loop.
    """
    inside = [
        Binding(statement, None)
        for statement in bindings_of(scope).get(name, ())
        if statement.start < at.start and (loop is None or statement.node is loop or statement.is_in(loop))
    ]
    around = _branches(at) | ({(loop, "body")} if loop is not None else set())
    ways = [[link for link in way if not isinstance(link[0], _WITHS)] for way in _ways(inside, around)]
    return [binding.statement for binding in inside] if _leave_none_out(ways) else []


def value_of(binding: Statement) -> ast.expr | None:
    """The value in a plain assignment to one name; None for other statements."""
    made = plain_assignment(binding.node)
    return made[1] if made is not None else None


def sole_value(node: ast.expr, at: Statement, scope: Scope) -> tuple[Statement, ast.expr] | None:
    """The only plain assignment that can have given a name its value at a statement, with the value."""
    binding = sole_at(node.id, at, scope) if isinstance(node, ast.Name) else None
    value = value_of(binding) if binding is not None else None
    return (binding, value) if binding is not None and value is not None else None


def constant_at(name: str, at: Statement, scope: Scope) -> ast.Constant | None:
    """The constant that all assignments reaching a statement give a name; None if it may be something else.

    ``writer = None`` in both branches of an ``if`` reaches what follows, whatever precedes it in them.
    """
    found = before(name, at, scope)
    if name in scope.functions or not _leave_none_out(_ways(found, _branches(at))):
        return None
    constants = [_constant(binding) for binding in (*found, *_led_back(name, at, scope))]
    first = constants[0]
    is_one = first is not None and all(one is not None and alike(one, first) for one in constants)
    return first if is_one else None


def _led_back(name: str, at: Statement, scope: Scope) -> Iterator[Binding]:
    """The assignments further down in the loops around a statement, which can reach it in the next iteration."""
    loops = {link.node for link in at.around if isinstance(link.node, LOOPS)}
    for binding in _bindings(scope).get(name, ()) if loops else ():
        statement = binding.statement
        if statement.start > at.start and any(link.node in loops for link in statement.around):
            yield binding


def _constant(binding: Binding) -> ast.Constant | None:
    """The constant that an assignment gives a name; not for a loop or a ``with``."""
    is_plain = isinstance(binding.statement.node, (ast.Assign, ast.AnnAssign))
    return binding.value if is_plain and isinstance(binding.value, ast.Constant) else None


def _branches(statement: Statement) -> set[_Branch]:
    return {(link.node, link.branch) for link in statement.around}


def _overwrites(later: Statement, first: Statement, around: Container[_Branch]) -> bool:
    """Whether a later assignment always overwrites what an earlier one bound.

    ``around``: the branches around the statement to be reached. Control may have left a loop or a ``try`` between the
    two assignments.
    """
    inside = {branch for branch in _branches(first) if isinstance(branch[0], ast.If) or branch in around}
    leaves = any(isinstance(link.node, LOOPS) and (link.node, link.branch) not in around for link in first.around)
    return not leaves and all(branch in around or branch in inside for branch in _branches(later))


def _ways(found: list[Binding], around: Container[_Branch]) -> list[list[_Branch]]:
    """The branches around some assignments, from outside in, without those around the statement they reach."""
    branches = ([(link.node, link.branch) for link in binding.statement.around] for binding in found)
    return [[branch for branch in reversed(each) if branch not in around] for each in branches]


def _leave_none_out(ways: list[list[_Branch]]) -> bool:
    """Whether at least one of some assignments always runs, each given as the branches around it, from outside in."""
    if not ways or not all(ways):
        return bool(ways)
    tests = {way[0][0] for way in ways if isinstance(way[0][0], ast.If)}
    return any(
        all(_leave_none_out([way[1:] for way in ways if way[0] == (test, branch)]) for branch in ("body", "else"))
        for test in tests
    )


def is_bound(name: str, scope: Scope) -> bool:
    """Whether a scope binds a name anywhere."""
    return name in _bindings(scope)


def is_rebound(name: str, node: ast.AST) -> bool:
    """Whether a piece of code binds a dotted name, its parts or its items."""
    return any(
        isinstance(item, (ast.Name, ast.Attribute, ast.Subscript))
        and isinstance(item.ctx, (ast.Store, ast.Del))
        and (dotted(base_of(item)) == name or dotted(item) == name)
        for item in walk(node)
    )


def is_mutated(name: str, node: ast.AST) -> bool:
    """Whether a piece of code changes the value of a dotted name in place: an item, ``+=``, ``append`` and the like."""
    return any(name == dotted(changed) for item in walk(node) for changed in _changed_by(item))


@once
def mutated_in(scope: Scope) -> frozenset[str]:
    """The dotted names whose values the statements of a scope itself change, without nested functions."""
    found: set[str] = set()
    for statement in scope.statements:
        own = [statement.node] if isinstance(statement.node, (ast.AugAssign, ast.Expr)) else []
        parts = (item for part in own_parts(statement.node) for item in walk(part) if item is not statement.node)
        for item in (*own, *parts):
            found.update(filter(None, map(dotted, _changed_by(item))))
    return frozenset(found)


def _changed_by(item: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose values a node changes in place."""
    if isinstance(item, ast.AugAssign):
        yield from (item.target, base_of(item.target))
    elif isinstance(item, ast.Subscript):
        if isinstance(item.ctx, (ast.Store, ast.Del)):
            yield base_of(item)
    # A call whose result is unused is made for its effect: `np.fill_diagonal(mask, True)`.
    elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
        if dotted(item.value.func) != "print":
            yield from item.value.args
    elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in _MUTATORS:
        yield from (item.func.value, *item.args)


@once
def _bindings(scope: Scope) -> dict[str, list[Binding]]:
    """The bindings of each name of a scope, in the order of the statements."""
    return gathered(pair for statement in scope.statements for pair in _bound_by(statement).items())


def _bound_by(statement: Statement) -> dict[str, Binding]:
    """The names that a statement binds: if several targets have the same name, the first counts."""
    node = statement.node
    found: dict[str, Binding] = {}
    for target, value in targets_and_values(node):
        if isinstance(node, ast.AnnAssign) and value is None:
            continue
        parts = {} if isinstance(node, LOOPS) else dict(names_and_values(target, value))
        for name in stored_names(target):
            found.setdefault(name, Binding(statement, parts.get(name) or value))
    return found
