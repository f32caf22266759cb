"""Finds expressions that are one Python number, judging by the code around them."""

from __future__ import annotations

import ast

from perflint.dataflow.values import Values
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import default_of
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import walk


def is_one_number(node: ast.expr, file: FileIndex, scope: Scope, names: int = 2) -> bool:
    """Whether an expression of a function is one number: ``1 - drop_prob``, where ``drop_prob=0.1`` is a parameter.

    A parameter, or an attribute of ``self``, is one if its default or its annotation says so, or if the code compares
    it with one: the test ``if self.rate > 0.0`` does not work with an array. A list of one number counts too.
    ``names``: how many local names, bound once each, are followed.
    """
    if isinstance(node, (ast.List, ast.Tuple)):
        return len(node.elts) == 1 and is_one_number(node.elts[0], file, scope, names)
    if isinstance(node, ast.BinOp):
        return all(is_one_number(side, file, scope, names) for side in (node.left, node.right))
    if isinstance(node, ast.UnaryOp):
        return is_one_number(node.operand, file, scope, names)
    name = dotted(node)
    if name is None:
        return _is_literal(node)
    first, _, rest = name.partition(".")
    if first == "self" and scope.owner is not None:
        return rest in _numbers_of(file, scope.owner)
    if name not in scope.parameters:
        bound = Values.of(file.project).own_definitions(scope).get(name) if names else None
        return bound is not None and is_one_number(bound, file, scope, names - 1)
    return _is_said_to_be_one(name, scope) or name in _compared(file, scope)


def _is_said_to_be_one(parameter: str, scope: Scope) -> bool:
    """Whether the default of a parameter, or its annotation, is that of a number."""
    arguments = [] if isinstance(scope.node, ast.Module) else [*scope.node.args.args, *scope.node.args.kwonlyargs]
    annotated = (item.annotation for item in arguments if item.arg == parameter and item.annotation is not None)
    return _is_literal(default_of(scope, parameter)) or any(dotted(item) in ("int", "float") for item in annotated)


@query
def _numbers_of(file: FileIndex, owner: Class) -> frozenset[str]:
    """The attributes of a class that start as a number, or that its methods compare with one."""
    made = {
        name
        for name, values in owner.attributes.items()
        if any(_is_literal(value) or _is_parameter_for_one(value, scope) for value, scope in values)
    }
    compared = frozenset[str]().union(*(_compared(file, method) for method in owner.methods.values()))
    return frozenset(made | {name.removeprefix("self.") for name in compared if name.startswith("self.")})


def _is_parameter_for_one(value: ast.expr, scope: Scope) -> bool:
    return isinstance(value, ast.Name) and _is_said_to_be_one(value.id, scope)


@query
def _compared(file: FileIndex, scope: Scope) -> frozenset[str]:
    """The names that the tests of a function compare with a number."""
    tests = (item.node.test for item in scope.statements if isinstance(item.node, (ast.If, ast.While)))
    compared = (item for test in tests for item in walk(test) if isinstance(item, ast.Compare))
    sides = ([item.left, *item.comparators] for item in compared)
    return frozenset(
        name for both in sides if any(map(_is_literal, both)) for side in both if (name := dotted(side)) is not None
    )


def _is_literal(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
