"""Declarative rules about an entry of a dict for a call, or of ``os.environ`` (``entry`` in a ``match``)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from perflint.catalogue import ArgumentMatch, Rule
from perflint.facts import programs
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, InFile, rule
from perflint.rules import excuses
from perflint.rules.arguments import codes_in, has_bad_value, matches_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Statement
from perflint.syntax.tree import string_of, walk
from perflint.training.steps import Point

_MATCHES = matches_by(lambda match: match.entry)
_SETTERS = ("setdefault", "__setitem__")


class _Entry(NamedTuple):
    """A place that gives an entry of a dict a value; ``shown``: what is reported, with its place."""

    key: ast.expr
    value: ast.expr
    shown: ast.AST
    is_pair: bool = False


def _finder(code: str) -> InFile:
    words = re.compile("|".join(sorted({re.escape(entry) for entry, known in _MATCHES.items() if _is_of(code, known)})))

    def places(file: FileIndex) -> Iterator[Candidate]:
        """The entries in programs that train."""
        if file.matches(words) and programs.trains(file):
            for _, statement in file.statements_at(words):
                for entry in _entries(statement):
                    if _is_of(code, _MATCHES.get(string_of(entry.key) or "", [])):
                        yield Candidate(entry.shown, statement.node, entry)

    return places


def _is_of(code: str, known: list[tuple[Rule, ArgumentMatch]]) -> bool:
    return any(each.code == code for each, _ in known)


def _entries(statement: Statement) -> Iterator[_Entry]:
    """The places in a statement that give an entry of a dict a value."""
    node = statement.node
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        yield _Entry(node.targets[0].slice, node.value, node)
    for item in statement.nodes:
        if isinstance(item, ast.Dict):
            pairs = zip(item.keys, item.values, strict=True)
            yield from (_Entry(key, value, value, True) for key, value in pairs if key is not None)
        elif isinstance(item, ast.Call) and len(arguments_of(item)) == len(item.args) == 2 and _is_setter(item):
            yield _Entry(item.args[0], item.args[1], item)


def _is_setter(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _SETTERS


@rule(*codes_in(_MATCHES), at=At.ANYWHERE, find={code: _finder(code) for code in codes_in(_MATCHES)})
def entry_of_dict(entry: _Entry, context: Context) -> None:
    """Report ``set_flags({"FLAGS_benchmark": True})`` and ``os.environ["FLAGS_benchmark"] = "1"``."""
    known = () if context.file.is_offline else _MATCHES[string_of(entry.key) or ""]
    for each, match in known:
        if _is_meant(entry, match, context):
            _report(entry, each, match, context)


def _is_meant(entry: _Entry, match: ArgumentMatch, context: Context) -> bool:
    """Whether the dict is the one that a rule is about: an argument of its call, or ``os.environ``."""
    node = entry.shown
    if entry.is_pair:
        return _is_handed_over(node, match, context)
    item = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "func", None)
    if not isinstance(item, (ast.Subscript, ast.Attribute)):
        return False
    if context.name(item.value) == match.item_of:
        return True
    return isinstance(item, ast.Subscript) and bool(match.call) and _is_handed(dotted(item.value), match, context)


def _is_handed_over(value: ast.AST, match: ArgumentMatch, context: Context) -> bool:
    """Whether the dict of a value is an argument of the call, or of ``os.environ.update``, also by a name."""
    around = [parent for parent, _ in context.around(value)]
    holders = [node for node in around if isinstance(node, (ast.Call, ast.Assign))]
    if not holders or sum(isinstance(node, ast.Dict) for node in around) != 1:
        return False
    holder = holders[0]
    if isinstance(holder, ast.Call):
        return context.callee(holder) == (f"{match.item_of}.update" if match.item_of else match.call)
    return bool(match.call) and _is_handed(dotted(holder.targets[0]), match, context)


def _is_handed(name: str | None, match: ArgumentMatch, context: Context) -> bool:
    """Whether the current function passes a name to the call."""
    if not name or context.point is None:
        return False
    return any(
        context.name(call.func) == match.call and name in map(dotted, call.args) for call in context.point.scope.calls
    )


def _report(entry: _Entry, rule: Rule, match: ArgumentMatch, context: Context) -> None:
    point, value = context.point, entry.value
    if point is None or not has_bad_value(value, match) or excuses.goes_nowhere(context):
        return
    place = (context.range(entry.key)[0], context.range(value)[1]) if entry.is_pair else context.range(entry.shown)
    if excuses.explained_at(place, match.unless_comment, context) or excuses.tested(match.unless_test, context):
        return
    if excuses.is_asked_for(match.unless_test, context) or _has_another_value(match, point):
        return
    if match.before_import and not programs.is_before_import(point.statement, match.before_import, point.file):
        return
    fix = rule.fix(context.instead(value, match.set), value=match.set)
    context.report(fix, entry.shown, code=rule.code, span=place, message=match.message, entry=match.entry)


def _has_another_value(match: ArgumentMatch, point: Point) -> bool:
    """Whether a function or class also turns the entry off, or its file gives the entry an unknown value."""
    words = re.compile(re.escape(match.entry))
    return any(
        not any(has_bad_value(value, other) for _, other in _MATCHES[match.entry])
        and (not isinstance(value, ast.Constant) or scope is point.scope or scope.owner is (point.scope.owner or scope))
        for scope, statement in point.file.statements_at(words)
        for value in _given(statement.node, match.entry)
    )


def _given(node: ast.stmt, entry: str) -> Iterator[ast.expr]:
    """The values that one statement gives an entry."""
    if not isinstance(node, (ast.Expr, ast.Assign)):
        return
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(target, ast.Subscript) and string_of(target.slice) == entry:
        yield node.value
    for item in walk(node):
        if isinstance(item, ast.Dict):
            pairs = zip(item.keys, item.values, strict=True)
            yield from (value for key, value in pairs if key and string_of(key) == entry)
        elif isinstance(item, ast.Call) and len(item.args) == 2 and string_of(item.args[0]) == entry:
            yield item.args[1]
