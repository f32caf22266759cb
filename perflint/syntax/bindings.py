"""What names are bound to in a scope, which statements bind them, and the index of the places that read them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from perflint.query import gathered
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, Statement, once, own_parts
from perflint.syntax.tree import children, walk

# Finds what names are bound to in a scope, which statements bind them, and which read them.


@once
def definitions_of(scope: Scope) -> dict[str, ast.expr]:
    """Names that a scope binds exactly once, with the expression, for guards that are computed in advance.

    A flag that is first bound to a constant, and to its opposite under one test, stands for that test. A parameter that
    is bound to a constant under a test may still have the value that the caller passed (``if verbose: every = 1``).
    """
    values = ((statement, *each) for statement in scope.statements for each in values_bound_by(statement.node))
    found = gathered((name, Binding(statement, value)) for statement, name, value in values)
    defined = {name: _definition(bindings) for name, bindings in found.items()}
    return {
        name: value
        for name, value in defined.items()
        if value is not None and not (name in scope.parameters and _is_a_choice(found[name]))
    }


@dataclass(frozen=True)
class Binding:
    """One statement that binds a name; ``value`` is what it is bound to, unpacked or iterated from (None: unknown)."""

    statement: Statement
    value: ast.expr | None


def _is_a_choice(bindings: list[Binding]) -> bool:
    """Whether the one statement that binds a name sets it to a constant, and does not always run."""
    first = bindings[0]
    return len(bindings) == 1 and first.statement.place is not None and isinstance(first.value, ast.Constant)


def _definition(bindings: list[Binding]) -> ast.expr | None:
    if len(bindings) == 1:
        return bindings[0].value
    if len(bindings) != 2:
        return None
    first, second = (binding.value for binding in bindings)
    place = bindings[1].statement.place
    if not isinstance(first, ast.Constant) or not isinstance(second, ast.Constant) or place is None:
        return None
    if bool(first.value) == bool(second.value) or not isinstance(place.node, ast.If) or place.branch != "body":
        return None
    if place.parent is not bindings[0].statement.place:
        return None
    return place.node.test if second.value else ast.UnaryOp(ast.Not(), place.node.test)


def values_bound_by(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names a statement binds, each with the expression (None: unknown)."""
    if isinstance(node, (ast.If, ast.While)):
        for item in walk(node.test):
            if isinstance(item, ast.NamedExpr):
                yield from names_and_values(item.target, item.value)
    elif not isinstance(node, (ast.With, ast.AsyncWith)):
        for target, value in targets_and_values(node):
            yield from names_and_values(target, None if isinstance(node, (ast.For, ast.AsyncFor)) else value)


def targets_and_values(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The targets of a statement, each with the value that it is bound to or iterates over (None: unknown)."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign):
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.target, node.iter
    elif isinstance(node, ast.AugAssign):
        yield node.target, None
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from ((item.optional_vars, None) for item in node.items if item.optional_vars is not None)


def names_and_values(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    """The dotted names in the target of an assignment, each with the part of the value that it gets (None: unknown)."""
    if isinstance(target, (ast.Tuple, ast.List)):
        values: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            values = list(value.elts)
        elif isinstance(value, ast.Call) and dotted(value.func) == "divmod" and len(target.elts) == 2:
            values = [ast.Subscript(value, ast.Constant(at), ast.Load()) for at in range(2)]
        for part, item in zip(target.elts, values, strict=True):
            yield from names_and_values(part, item)
        return
    name = dotted(target)
    if name:
        yield name, value


def plain_assignment(node: ast.AST | None) -> tuple[str, ast.expr] | None:
    """The name and the value of an assignment to one plain name; None for anything else."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    return node.targets[0].id, node.value


def bound_by(node: ast.stmt) -> list[str]:
    """The dotted names that a statement assigns to."""
    targets = () if isinstance(node, (ast.With, ast.AsyncWith)) else targets_and_values(node)
    return [name for target, _ in targets for name, _ in names_and_values(target, None)]


def unpacked_from(scope: Scope, name: str) -> ast.Subscript | None:
    """``build()[1]`` for ``net`` if only ``args, net = build()`` binds it; None if anything else does."""
    bindings = bindings_of(scope).get(name, ())
    node = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
        return None
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or any(isinstance(item, ast.Starred) for item in target.elts):
        return None
    at = [dotted(item) for item in target.elts].index(name) if name in map(dotted, target.elts) else None
    return ast.Subscript(node.value, ast.Constant(at), ast.Load()) if at is not None else None


_ASSIGNING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)
"""The statements that ``bound_by`` knows."""


def bound_in(body: Iterable[ast.stmt]) -> set[str]:
    """The dotted names that statements, including nested ones, assign to."""
    found: set[str] = set()
    waiting: list[ast.AST] = [*body]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _ASSIGNING):
            found.update(bound_by(item))
        if hasattr(item, "body") or isinstance(item, ast.Match):
            for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
                waiting += getattr(item, inner, ())
    return found


@once
def bindings_of(scope: Scope) -> dict[str, list[Statement]]:
    """The statements of a scope that assign to a name, in order, by the dotted name (``self.step`` too)."""
    names = ((dict.fromkeys(bound_by(statement.node)), statement) for statement in scope.statements)
    return gathered((name, statement) for bound, statement in names for name in bound)


@dataclass(frozen=True, eq=False)
class Mention:
    """A place in a statement that mentions a name or an attribute."""

    node: ast.Name | ast.Attribute
    scope: Scope
    statement: Statement

    @property
    def is_read(self) -> bool:
        """Whether it is read there, not bound or deleted."""
        return isinstance(self.node.ctx, ast.Load)

    @property
    def parent(self) -> ast.AST:
        """The node around it."""
        return self.statement.parents[self.node]

    @property
    def parents(self) -> tuple[ast.AST, ...]:
        """The nodes around it, from the statement's to the parent."""
        return self.statement.path_to(self.node)


@once
def mentions_in(scope: Scope) -> Mapping[str, list[Mention]]:
    """The places in a scope that mention a name, in the order of the text; attributes are under ``.name``."""
    found: dict[str, list[Mention]] = {}
    for statement in scope.statements:
        waiting = own_parts(statement.node)[::-1]
        while waiting:
            item = waiting.pop()
            if isinstance(item, (ast.Name, ast.Attribute)):
                name = item.id if isinstance(item, ast.Name) else f".{item.attr}"
                found.setdefault(name, []).append(Mention(item, scope, statement))
            waiting += reversed(children(item))
    return found


@once
def loads_of(scope: Scope) -> dict[str, list[tuple[Statement, int]]]:
    """The statements of a scope that read a name, in order, each with the number of its own reads, by that name."""
    reads = {
        name: Counter(mention.statement for mention in mentions if mention.is_read)
        for name, mentions in mentions_in(scope).items()
    }
    return {name: list(found.items()) for name, found in reads.items()}


def targets_of(node: ast.stmt) -> list[ast.expr]:
    """The target expressions of an assignment or a ``del``; none for other statements."""
    if isinstance(node, (ast.Assign, ast.Delete)):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


# Finds which other statements read a name, and whether anything binds it again between two statements.


def other_reads(scope: Scope, name: str, binding: Statement, use: Statement) -> int:
    """How many reads of a name may see the value of an assignment, not counting one read in a given statement.

    Args:
        scope: the function.
        name: a plain name.
        binding: the assignment.
        use: the statement that reads it.
    """
    loads = loads_of(scope).get(name, [])
    in_a_loop = binding.loop is not None
    seen = sum(count for at, count in loads if (at.start > binding.start or in_a_loop) and at is not binding)
    return seen - min(1, next((count for at, count in loads if at is use), 0)) + _inside_others(scope, name)


def _inside_others(scope: Scope, name: str) -> int:
    """The reads in nested functions; those in the functions of a module may be of a local name."""
    if isinstance(scope.node, ast.Module):
        return 0
    reads = (item for item in walk(scope.node) if isinstance(item, ast.Name) and item.id == name)
    everywhere = sum(isinstance(item.ctx, ast.Load) for item in reads)
    return everywhere - sum(count for _, count in loads_of(scope).get(name, []))


def is_rebound_between(scope: Scope, names: set[str], first: Statement, second: Statement) -> bool:
    """Whether a statement between two others in the scope binds one of some names again."""
    bindings = (binding for name in names for binding in bindings_of(scope).get(name, ()))
    return any(first.start < binding.start < second.start for binding in bindings)
