"""Declarative rules with ``where: step`` in their ``match``: this call, at each training step."""

from __future__ import annotations

import ast

from perflint.catalogue import ArgumentMatch, Rule
from perflint.facts.fluid import imports_fluid
from perflint.findings import Confidence, Fix, Level
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.rules import excuses
from perflint.rules.arguments import (
    callee,
    codes_in,
    is_bad,
    is_bad_when_absent,
    matches_by,
    names_in,
    optimizer_method,
    set_argument,
)
from perflint.rules.delete import deletion
from perflint.rules.edits import call_in
from perflint.syntax.parameters import argument_of, is_spread
from perflint.training.steps import Step

_BY_HAND = "the call is part of a larger statement, or shares its row with another call: remove it by hand"
_MATCHES = matches_by(lambda match: match.call if match.where == "step" else "")


@rule(*codes_in(_MATCHES), at=At.STEP, names=names_in(_MATCHES))
def step_call(call: ast.Call, context: Context) -> None:
    """Report a call that should not run at each step."""
    for each, match in _matches(call, context):
        _one(call, each, match, context)


def _matches(call: ast.Call, context: Context) -> list[tuple[Rule, ArgumentMatch]]:
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return []
    by_name = _MATCHES.get(callee(call, context), [])
    return by_name or _MATCHES.get(optimizer_method(call, context), [])


def _one(call: ast.Call, rule: Rule, match: ArgumentMatch, context: Context) -> None:
    step = context.running
    argument = argument_of(call, match.parameter, match.position) if match.parameter else None
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
    context.report(fix, call, code=rule.code, confidence=confidence, message=match.message)


def _is_costly(call: ast.Call, argument: ast.expr | None, match: ArgumentMatch, context: Context) -> bool:
    if argument is not None:
        return is_bad(call, argument, match, context)
    return is_bad_when_absent(match) and not is_spread(call)


def _setting(call: ast.Call, argument: ast.expr | None, rule: Rule, match: ArgumentMatch, context: Context) -> Fix:
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


def is_for_each_step(statement: ast.stmt, context: Context) -> bool:
    """Whether a statement is only a call that these rules delete if it runs at each step."""
    call = call_in(statement)
    found = _matches(call, context) if call is not None else []
    return any(rule.fix_level is not Level.DISPLAY and not match.set for rule, match in found)
