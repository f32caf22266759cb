"""Declarative rules with ``where: epoch`` in their ``match``: this call, once in each epoch."""

from __future__ import annotations

import libcst as cst

from perflint import catalogue
from perflint.catalogue import ArgumentMatch, Rule
from perflint.checks import excuses
from perflint.checks.arguments import callee
from perflint.facts import epochs
from perflint.findings import Fix, Level, Related
from perflint.lint.context import Context
from perflint.lint.registry import check, gate

_MATCHES: dict[str, list[tuple[Rule, ArgumentMatch]]] = {}


def register(rule: Rule) -> None:
    """Make a rule's ``match`` entries for epochs known to the walk and to the gates."""
    for match in rule.match:
        if match.where == "epoch":
            _MATCHES.setdefault(match.call, []).append((rule, match))
            gate(rule.code, match.call)


for _rule in catalogue.shipped().values():
    register(_rule)


@check("Call")
def epoch_call(call: cst.Call, context: Context) -> None:
    """Report a call that should not run at each epoch."""
    if context.point is None or context.step is not None or context.claimed:
        return
    for rule, match in _MATCHES.get(callee(call, context), ()):
        loop = epochs.loop_of(context.here.statement) if rule.code in context.rules else None
        if loop is None or excuses.tested(match.unless_test, context):
            continue
        fix = Fix(rule.fix_title, (), Level.DISPLAY, rule.fix_reason)
        related = (Related(context.file.path, loop.lineno, "the epoch loop"),)
        context.report(rule.code, call, fix, related=related, message=match.message, line=str(loop.lineno))
