"""Declarative rules: this call with that argument (``match`` in a rule file).  No rule needs code here."""

from __future__ import annotations

import ast
import re

import libcst as cst

from perflint import catalogue
from perflint.catalogue import ArgumentMatch, Rule
from perflint.checks.edits import insert_argument
from perflint.context import Context
from perflint.findings import Edit, Fix, Level
from perflint.index.file import FileIndex
from perflint.registry import Gate, check, gate, method_gate

_MATCHES: dict[str, list[tuple[Rule, ArgumentMatch]]] = {}


def register(rule: Rule) -> None:
    """Make a rule's ``match`` entries known to the walk and to the gates."""
    for match in rule.match:
        _MATCHES.setdefault(match.call, []).append((rule, match))
        gate(rule.code, match.call, _gate(match))
        owner, _, method = match.call.rpartition(".")
        if owner.rpartition(".")[2][:1].isupper():
            method_gate(rule.code, method, match.call)


def _gate(match: ArgumentMatch) -> Gate:
    def may_match(call: ast.Call, _: FileIndex) -> bool:
        return not any(keyword.arg in match.unless for keyword in call.keywords)

    return may_match


for _rule in catalogue.shipped().values():
    register(_rule)


@check(cst.Call)
def call_argument(call: cst.Call, context: Context) -> None:
    """Report a call whose argument has one of the costly values."""
    if context.claimed or context.file.is_offline:
        return
    for rule, match in _MATCHES.get(context.callee(call), ()):
        if rule.code in context.rules:
            _one(call, rule, match, context)


def _one(call: cst.Call, rule: Rule, match: ArgumentMatch, context: Context) -> None:
    if any(argument.star for argument in call.args):
        return
    if any(argument.keyword and argument.keyword.value in match.unless for argument in call.args):
        return
    if match.needs and not any(find_argument(call, name, match.positions.get(name)) for name in match.needs):
        return
    argument = find_argument(call, match.parameter, match.position)
    if argument is None and match.default not in match.bad:
        return
    if argument is not None and not _is_bad(argument, match, context):
        return
    kinds = {name: _kind_of(call, name, match, context) for name in match.unless_kind}
    if any(kinds[name] in wanted for name, wanted in match.unless_kind.items()):
        return
    fix = _fix(call, argument, rule, match, context)
    context.report(rule.code, argument or call, fix, message=match.message, call=match.call.rpartition(".")[2])


def find_argument(call: cst.Call, parameter: str, position: int | None) -> cst.Arg | None:
    """The argument for a parameter, by keyword or position."""
    for index, argument in enumerate(call.args):
        if argument.keyword is not None:
            if argument.keyword.value == parameter:
                return argument
        elif index == position:
            return argument
    return None


def _is_bad(argument: cst.Arg, match: ArgumentMatch, context: Context) -> bool:
    expression = context.expression(argument.value)
    if not isinstance(expression, ast.Constant) or _is_explained(argument, match, context):
        return False
    return any(expression.value == bad and type(expression.value) is type(bad) for bad in match.bad)


def _is_explained(argument: cst.Arg, match: ArgumentMatch, context: Context) -> bool:
    """Whether a comment on the argument's row gives a reason for its value."""
    lines = context.file.source.lines
    end = context.range(argument)[1]
    row = lines.position(end)[0]
    _, _, comment = context.file.source.text[end : lines.line_end(row)].partition("#")
    return bool(match.unless_comment) and bool(re.search(match.unless_comment, comment, re.IGNORECASE))


def _kind_of(call: cst.Call, parameter: str, match: ArgumentMatch, context: Context) -> str:
    argument = find_argument(call, parameter, match.positions.get(parameter))
    return context.kind(argument.value).tag if argument is not None else "absent"


def _fix(call: cst.Call, argument: cst.Arg | None, rule: Rule, match: ArgumentMatch, context: Context) -> Fix:
    value = _value(match.set, context)
    if argument is None:
        edits = insert_argument(call, f"{match.parameter}={value}", context)
    else:
        edits = [Edit(*context.range(argument.value), value)]
    level, reason = rule.fix_level, "" if rule.fix_level is Level.SAFE else rule.fix_reason
    return Fix(rule.fix_title.format(value=value, parameter=match.parameter), tuple(edits), level, reason)


def _value(template: str, context: Context) -> str:
    settings = context.settings
    return template.replace("{default-workers}", str(settings.default_workers)).replace(
        "{log-interval}", str(settings.log_interval)
    )
