"""Finds how many workers the other loaders of a file have: the fix uses the same number."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.catalogue import ArgumentMatch
from perflint.facts.loader_sites import LOADER
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import all_parameters, argument_of, is_zero
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import walk
from perflint.text.source import spans_rows
from perflint.training.steps import Point

WORKERS = "num_workers"
_POSITION = 9
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Load)


def sibling_workers(call: cst.Call, match: ArgumentMatch, context: Context) -> str:
    """The number of workers of another loader as source text, if it can be used here; "" if there is none.

    ``cfg["num_workers"]`` of the loader above is better than a number that perflint makes up. The expression has to
    mean the same here: it consists of numbers, of names that the module binds once, or, in the same function, of its
    parameters and of names bound above both loaders.
    """
    point, own = context.point, context.expression(call)
    if match.parameter != WORKERS or point is None or not isinstance(own, ast.Call):
        return ""
    source = context.file.source
    for scope, statement, value in _given(context.file, own):
        if _means_the_same(value, scope, statement, point):
            text = source.text[slice(*source.lines.span(value))]
            return "" if spans_rows(text) else text
    return ""


def _given(file: FileIndex, own: ast.Call) -> list[tuple[Scope, Statement, ast.expr]]:
    """The numbers of workers of the other loaders in the file, the nearest first."""
    found: list[tuple[Scope, Statement, ast.expr]] = []
    for scope, statement, call in file.calls_named("DataLoader"):
        value = argument_of(call, WORKERS, _POSITION)
        if call is own or value is None or is_zero(value) or file.names.resolve(dotted(call.func) or "") != LOADER:
            continue
        if isinstance(value, ast.Constant) and not (isinstance(value.value, int) and value.value > 1):
            continue
        found.append((scope, statement, value))
    return sorted(found, key=lambda item: abs(item[1].node.lineno - own.lineno))


def _means_the_same(value: ast.expr, scope: Scope, statement: Statement, point: Point) -> bool:
    if not all(isinstance(part, _PLAIN) for part in walk(value)):
        return False
    both = (statement, point.statement)
    return all(_is_the_same(name, scope, point.scope, both, point.file) for name in plain_names(value))


def _is_the_same(name: str, there: Scope, here: Scope, both: tuple[Statement, Statement], file: FileIndex) -> bool:
    """Whether a name means the same at two statements in two functions."""
    if name == "self":
        return there.owner is here.owner is not None
    bound = bindings_of(here).get(name, [])
    module = file.scopes.module
    if there is here:
        if name in all_parameters(here):
            return not bound
        if bound:
            return _is_bound_above(bound, both)
    elif any(name in {*all_parameters(scope), *bindings_of(scope)} for scope in (there, here) if scope is not module):
        return False
    in_module = bindings_of(module).get(name, [])
    return _is_bound_above(in_module, ()) if in_module else file.names.is_bound(name)


def _is_bound_above(bindings: list[Statement], uses: tuple[Statement, ...]) -> bool:
    """Whether there is only one binding, which always runs before each of the uses."""
    if len(bindings) != 1:
        return False
    place, row = bindings[0].place, bindings[0].node.lineno
    around = [{None, *use.around} for use in uses] or [{None}]
    return all(place in links for links in around) and all(row < use.node.lineno for use in uses)
