"""Finds the only statement that gives a name its value at a place."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from perflint.index.project import FileIndex, Place
from perflint.query import query
from perflint.syntax.bindings import bindings_of, definitions_of, values_bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters
from perflint.syntax.reaching import constant_at
from perflint.syntax.scopes import Scope, Statement


@dataclass(frozen=True)
class NameBinding:
    """The binding of a name at a place.

    ``value``: the expression, None if unknown. ``is_parameter``: the callers of ``scope`` pass it. ``is_truth``: only
    the truth of the name is known, which is that of the expression.
    """

    scope: Scope
    statement: Statement | None = None
    value: ast.expr | None = None
    is_parameter: bool = False
    is_truth: bool = False


def binding(name: str, place: Place) -> NameBinding | None:
    """The binding of a dotted name, in the function of a place or in those around it; None if nothing binds it."""
    scope: Scope | None = place.scope
    use = place.statement
    while scope is not None:
        everywhere = bindings_of(scope).get(name, [])
        if everywhere and isinstance(scope.node, ast.Module):
            bodies = _class_bodies(place.file)
            everywhere = [each for each in everywhere if each.node not in bodies]
        bound = everywhere if use is None else [each for each in everywhere if _comes_first(each, use)]
        if name in all_parameters(scope):
            return NameBinding(scope, is_parameter=not bound)
        if bound:
            is_early = use is None and scope is place.scope  # it may be read before, if it is an attribute
            if isinstance(scope.node, ast.Module) and _declared(name, place.file):
                return NameBinding(scope)
            if len(bound) == 1 and _is_certain(bound[0], use) and not (is_early and "." in name):
                return NameBinding(scope, bound[0], _value_of(name, bound[0]))
            same = _same_constant(name, Place(place.file, scope), use)
            if same is not None:
                return NameBinding(scope, bound[-1], same)
            once = definitions_of(scope).get(name) if "." not in name else None
            return NameBinding(scope, everywhere[-1], once, is_truth=len(everywhere) > 1)
        scope, use = scope.parent, None
    return None


def _same_constant(name: str, at: Place, use: Statement | None) -> ast.Constant | None:
    """The constant that a name has at a statement, whichever of its bindings applies."""
    if use is None or "." in name or _declared(name, at.file):
        return None
    return constant_at(name, use, at.scope)


@query
def _class_bodies(file: FileIndex) -> frozenset[ast.stmt]:
    """The statements of a file's classes: what they bind are not names of the module."""
    return frozenset(node for owner in file.scopes.classes.values() for node in owner.node.body)


def _value_of(name: str, statement: Statement) -> ast.expr | None:
    return dict(values_bound_by(statement.node)).get(name) or _parsed(statement.node, name)


def _comes_first(statement: Statement, use: Statement) -> bool:
    """Whether a binding can reach a statement: it is above it, or a loop leads back."""
    if statement is use:
        return False
    if statement.node.lineno < use.node.lineno:
        return True
    loops = {link.loop for link in use.around} - {None}
    return any(link.loop in loops for link in statement.around)


def _is_certain(statement: Statement, use: Statement | None) -> bool:
    """Whether a binding always runs before a use of the name: no branch is around it alone."""
    around = {link.node: link.branch for link in use.around} if use is not None else {}
    for link in statement.around:
        if isinstance(link.node, (ast.If, ast.Match, ast.Try)) and around.get(link.node) != link.branch:
            test = link.node.test if isinstance(link.node, ast.If) else None
            if isinstance(test, ast.Compare) and dotted(test.left) == "__name__":
                continue
            return False
    return True


def _declared(name: str, file: FileIndex) -> bool:
    """Whether a function of a file may bind a name of an enclosing scope."""
    return file.matches(re.compile(rf"\b(global|nonlocal)\b[^\n]*\b{re.escape(name)}\b"))


def _parsed(node: ast.stmt, name: str) -> ast.expr | None:
    """``args, rest = parser.parse_known_args()``: the call, for the first name."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    first = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) and node.targets[0].elts else None
    return node.value if first is not None and dotted(first) == name else None
