"""Declarative rules about an entry of a dict, and about a call in each epoch (``match`` in a rule file)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from perflint import catalogue
from perflint.catalogue import ArgumentMatch, Rule
from perflint.facts import programs, saves
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context, local_name
from perflint.lint.registry import check, gate, statement_gate
from perflint.rules import excuses
from perflint.rules.arguments import callee, has_bad_value
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement
from perflint.syntax.tree import string_of, walk
from perflint.training.steps import Point

# Declarative rules with ``entry`` in their ``match``: an entry of a dict for a call, or of ``os.environ``.

_MATCHES: dict[str, list[tuple[Rule, ArgumentMatch]]] = {}
_SETTERS = ("setdefault", "__setitem__")


def register(rule: Rule) -> None:
    """Make a rule's ``match`` entries for dicts known to the walk and to the gates."""
    matches = [match for match in rule.match if match.entry]
    for match in matches:
        _MATCHES.setdefault(match.entry, []).append((rule, match))
    if matches:
        words = re.compile("|".join(sorted({re.escape(match.entry) for match in matches})))
        _gate(rule.code, words)


def _gate(code: str, words: re.Pattern[str]) -> None:
    @statement_gate(code)
    def places(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
        """The statements that name an entry, in programs that train."""
        if file.matches(words) and programs.trains(file):
            for _, statement in file.statements_at(words):
                yield statement, Confidence.HIGH


for _rule in catalogue.shipped().values():
    register(_rule)


@check("DictElement")
def entry_of_dict(element: cst.DictElement, context: Context) -> None:
    """Report ``set_flags({"FLAGS_benchmark": True})``, also if the dict has a name."""
    for rule, match in _matches(element.key, context):
        if _is_handed_over(match, context):
            _report(element, element.value, rule, match, context)


@check("Assign")
def item_assignment(assign: cst.Assign, context: Context) -> None:
    """Report ``os.environ["FLAGS_benchmark"] = "1"``, and an entry of a dict that is passed to a call later."""
    target = assign.targets[0].target
    if len(assign.targets) != 1 or not isinstance(target, cst.Subscript) or len(target.slice) != 1:
        return
    index = target.slice[0].slice
    for rule, match in _matches(index.value, context) if isinstance(index, cst.Index) else ():
        owner = target.value
        if context.name(owner) == match.item_of or (match.call and _is_handed(local_name(owner), match, context)):
            _report(assign, assign.value, rule, match, context)


@check("Call")
def item_setter(call: cst.Call, context: Context) -> None:
    """Report ``os.environ.setdefault("FLAGS_benchmark", "1")``."""
    if len(call.args) != 2 or not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _SETTERS:
        return
    for rule, match in _matches(call.args[0].value, context):
        if context.name(call.func.value) == match.item_of:
            _report(call, call.args[1].value, rule, match, context)


def _matches(key: cst.BaseExpression, context: Context) -> list[tuple[Rule, ArgumentMatch]]:
    """The entries of rules that a key names; none if nothing may be reported."""
    if not isinstance(key, cst.SimpleString) or context.claimed or context.file.is_offline:
        return []
    found = _MATCHES.get(str(key.evaluated_value), [])
    return [each for each in found if each[0].code in context.rules]


def _is_handed_over(match: ArgumentMatch, context: Context) -> bool:
    """Whether the dict that the current entry belongs to is an argument of the call, or of ``os.environ.update``."""
    around = [parent for parent, _ in context.around(context.node)] if context.node is not None else []
    holders = [node for node in around if isinstance(node, (cst.Call, cst.Assign))]
    if not holders or sum(isinstance(node, cst.Dict) for node in around) != 1:
        return False
    holder = holders[0]
    if isinstance(holder, cst.Call):
        name = context.callee(holder)
        return name == (f"{match.item_of}.update" if match.item_of else match.call)
    return bool(match.call) and _is_handed(local_name(holder.targets[0].target), match, context)


def _is_handed(name: str, match: ArgumentMatch, context: Context) -> bool:
    """Whether the current function passes a name to the call."""
    if not name or context.point is None:
        return False
    resolve = context.file.names.resolve
    return any(
        resolve(dotted(call.func) or "") == match.call and name in map(dotted, call.args)
        for call in context.point.scope.calls
    )


def _report(node: cst.CSTNode, value: cst.BaseExpression, rule: Rule, match: ArgumentMatch, context: Context) -> None:
    point = context.point
    if point is None or not has_bad_value(context.expression(value), match) or excuses.goes_nowhere(context):
        return
    if excuses.explained(node, match.unless_comment, context) or excuses.tested(match.unless_test, context):
        return
    if excuses.is_asked_for(match.unless_test, context) or _has_another_value(match, point):
        return
    if match.before_import and not programs.is_before_import(point.statement, match.before_import, point.file):
        return
    title, reason = rule.fix_title.format(value=match.set), "" if rule.fix_level is Level.SAFE else rule.fix_reason
    fix = Fix(title, (Edit(*context.range(value), match.set),), rule.fix_level, reason)
    context.report(rule.code, node, fix, message=match.message, entry=match.entry)


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


# Declarative rules with ``where: epoch`` in their ``match``: this call, once in each epoch.

_EPOCH_CALL_MATCHES: dict[str, list[tuple[Rule, ArgumentMatch]]] = {}


def register_epoch_call(rule: Rule) -> None:
    """Make a rule's ``match`` entries for epochs known to the walk and to the gates."""
    for match in rule.match:
        if match.where == "epoch":
            _EPOCH_CALL_MATCHES.setdefault(match.call, []).append((rule, match))
            gate(rule.code, match.call)


for _epoch_call_rule in catalogue.shipped().values():
    register_epoch_call(_epoch_call_rule)


@check("Call")
def epoch_call(call: cst.Call, context: Context) -> None:
    """Report a call that should not run at each epoch."""
    if context.point is None or context.step is not None or context.claimed:
        return
    for rule, match in _EPOCH_CALL_MATCHES.get(callee(call, context), ()):
        loop = saves.loop_of(context.here.statement) if rule.code in context.rules else None
        if loop is None or excuses.tested(match.unless_test, context):
            continue
        fix = Fix(rule.fix_title, (), Level.DISPLAY, rule.fix_reason)
        related = (Related(context.file.path, loop.lineno, "the epoch loop"),)
        context.report(rule.code, call, fix, related=related, message=match.message, line=str(loop.lineno))
