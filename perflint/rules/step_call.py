"""Declarative rules with ``where: step`` in their ``match``: this call, at each training step."""

from __future__ import annotations

import libcst as cst

from perflint import catalogue
from perflint.catalogue import ArgumentMatch, Rule
from perflint.facts.fluid import imports_fluid
from perflint.findings import Confidence, Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import renamed_triggers, step_check, step_triggers
from perflint.rules import excuses
from perflint.rules.arguments import callee, find_argument, is_bad, is_bad_when_absent, optimizer_method, set_argument
from perflint.rules.delete import deletion
from perflint.training.steps import Step

_BY_HAND = "the call is part of a larger statement, or shares its row with another call: remove it by hand"
_MATCHES: dict[str, list[tuple[Rule, ArgumentMatch]]] = {}


def register(rule: Rule) -> None:
    """Make a rule's ``match`` entries for steps known to the walk and to the gates."""
    for match in rule.match:
        if match.where == "step":
            _MATCHES.setdefault(match.call, []).append((rule, match))
            step_triggers[rule.code].add(match.call.rpartition(".")[2])
            renamed_triggers[rule.code].add(match.call)


for _rule in catalogue.shipped().values():
    register(_rule)


@step_check("Call")
def step_call(call: cst.Call, context: Context, step: Step) -> None:
    """Report a call that should not run at each step."""
    for rule, match in _matches(call, context):
        if rule.code in context.rules:
            _one(call, rule, match, step, context)


def _matches(call: cst.Call, context: Context) -> list[tuple[Rule, ArgumentMatch]]:
    if not isinstance(call.func, (cst.Name, cst.Attribute)):
        return []
    by_name = _MATCHES.get(callee(call, context), [])
    return by_name or _MATCHES.get(optimizer_method(call, context), [])


def _one(call: cst.Call, rule: Rule, match: ArgumentMatch, step: Step, context: Context) -> None:
    argument = find_argument(call, match.parameter, match.position) if match.parameter else None
    if match.paddle and imports_fluid(context.file):
        return  # code for Paddle 1.x, which has no such parameter
    if match.parameter and not _is_costly(call, argument, match, context):
        return
    if excuses.explained(call, match.unless_comment, context) or excuses.tested(match.unless_test, context):
        return
    if excuses.called(match.unless_called, context) or (match.unless_within and excuses.in_inner_loop(context)):
        return
    fix = _setting(call, argument, rule, match, context) if match.set else _deletion(rule, context)
    confidence = _confidence(match, step, context)
    context.report(rule.code, call, fix, step, confidence=confidence, message=match.message)


def _is_costly(call: cst.Call, argument: cst.Arg | None, match: ArgumentMatch, context: Context) -> bool:
    if argument is not None:
        return is_bad(argument, match, context)
    return is_bad_when_absent(match) and not any(other.star for other in call.args)


def _setting(call: cst.Call, argument: cst.Arg | None, rule: Rule, match: ArgumentMatch, context: Context) -> Fix:
    edits = set_argument(call, argument, match.parameter, match.set, context)
    title = rule.fix_title.format(value=match.set, parameter=match.parameter)
    reason = "" if rule.fix_level is Level.SAFE else rule.fix_reason
    return Fix(title, tuple(edits), rule.fix_level, reason, paddle=match.paddle)


def _confidence(match: ArgumentMatch, step: Step, context: Context) -> Confidence:
    """The confidence: next to a clock, a call in the loop itself is there on purpose; in a helper, it need not be."""
    if not excuses.beside(match.unless_beside, context):
        return Confidence.HIGH
    return Confidence.MEDIUM if step.via else Confidence.LOW


def _deletion(rule: Rule, context: Context) -> Fix:
    edits = deletion(context, lambda statement: is_for_each_step(statement, context))
    if edits is None:
        return Fix(rule.fix_title, (), Level.DISPLAY, _BY_HAND)
    return Fix(rule.fix_title, tuple(edits), rule.fix_level, "" if rule.fix_level is Level.SAFE else rule.fix_reason)


def is_for_each_step(statement: cst.BaseSmallStatement, context: Context) -> bool:
    """Whether a statement is only a call that these rules delete if it runs at each step."""
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call):
        return False
    found = _matches(statement.value, context)
    return any(rule.fix_level is not Level.DISPLAY and not match.set for rule, match in found)
