"""Declarative rules about calls (``match`` in a rule file): their arguments, or that they run at each step or epoch."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from perflint.catalogue import ArgumentMatch, Rule
from perflint.facts import programs
from perflint.facts.loaders import Worth
from perflint.facts.periodic import loop_of
from perflint.facts.programs import imports_fluid
from perflint.findings import Confidence, Fix, Level, Related
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, MayMatch, rule
from perflint.rules import excuses, guard, loader_advice
from perflint.rules.arguments import (
    callee,
    codes_in,
    configured,
    is_bad,
    is_bad_when_absent,
    matches_by,
    names_in,
    optimizer_method,
    set_argument,
    shown_argument,
    typed,
    value_of,
    without_costly,
)
from perflint.rules.edits import call_in, deletion
from perflint.rules.loader_advice import WORKERS, sibling_workers
from perflint.syntax.parameters import argument_of, is_spread
from perflint.training.steps import Step

_LOG_INTERVAL = "{log-interval}"
_HAND_OVER = (WORKERS, "use_shared_memory")
"""Parameters that decide how a loader's workers pass samples on."""
_EACH_BATCH = (*_HAND_OVER, "use_buffer_reader")
"""Parameters that decide what each batch costs, so that it matters who draws them."""
_MOST_ROWS = 5
"""How many rows of configuration files a finding names."""


def _names() -> dict[str, dict[str, MayMatch]]:
    """The calls to look at, for each rule with a quick look at the arguments."""

    def any_of(matches: Sequence[ArgumentMatch]) -> MayMatch:
        return lambda call: any(_may_match(call, match) for match in matches)

    found: dict[str, dict[str, MayMatch]] = {}
    for name, known in _MATCHES.items():
        codes = {each.code for each, _ in known}
        found[name] = {code: any_of([match for each, match in known if each.code == code]) for code in codes}
    return found


def _may_match(call: ast.Call, match: ArgumentMatch) -> bool:
    given = {keyword.arg for keyword in call.keywords}
    needed = is_bad_when_absent(match) or match.parameter in given or len(call.args) > (match.position or 0)
    return needed and not given & set(match.unless)


_MATCHES = matches_by(lambda match: "" if match.entry or match.where in ("step", "epoch") else match.call)


@rule(*codes_in(_MATCHES), at=At.ANYWHERE, names=_names())
def call_argument(call: ast.Call, context: Context) -> None:
    """Report a call whose argument has one of the costly values."""
    matches = () if context.file.is_offline else _MATCHES.get(callee(call, context), ())
    if not matches or excuses.goes_nowhere(context):
        return
    for each, match in matches:
        _one(call, each, match, context)


def _one(call: ast.Call, rule: Rule, match: ArgumentMatch, context: Context) -> None:
    argument = argument_of(call, match.parameter, match.position)
    is_costly = is_bad_when_absent(match) if argument is None else is_bad(call, argument, match, context)
    setting = configured(argument, match, context) if argument is not None and not is_costly else None
    if not (is_costly or setting) or not _concerns(call, match):
        return
    if excuses.tested(match.unless_test, context) or _is_fine(call, match, context):
        return
    if match.where == "program" and _is_no_part_of_training(match, context):
        return
    read = loader_advice.of_call(call, match.call, context)
    if read is not None and read.worth is Worth.NOTHING:
        return
    if match.only_for and (read is None or read.worth is not Worth.TRAINS or not read.line):
        return
    confidence = Confidence.LOW if read is not None and read.worth is Worth.PREDICTS else Confidence.HIGH
    is_told = match.parameter in _HAND_OVER
    samples = loader_advice.samples_of_call(call, match.call, context) if is_told else loader_advice.Samples()
    beside = sibling_workers(call, match, context) if setting is None else ""
    workers = beside or str(context.settings.default_workers)
    turns_on = match.parameter != WORKERS
    if samples.obstacles:
        fix = loader_advice.words(samples.obstacles, rule.fix_title, context, shared_memory=turns_on)
        confidence = Confidence.LOW if turns_on else confidence  # it was turned off for a reason
    elif setting is not None:
        fix = replace(rule.words(), reason=f"a configuration file sets it: {setting.where()}")
    else:
        fix = _fix(call, argument, rule, match, beside, context)
    advice = f"give it num_workers={workers} to load in worker processes"
    shown = call if argument is None else shown_argument(call, argument)
    message, what, related = match.message, shorten(context.text(shown)), tuple[Related, ...]()
    if setting is not None:
        advice = f"set it to {workers} there, to load in worker processes"
        confidence = min(confidence, Confidence.MEDIUM if setting.is_sure else Confidence.LOW)
        message = (match.message or rule.message).replace("`{what}`", f"`{{what}}` at {setting.where()}")
        what = setting.text
        related = tuple(Related(*row, "sets it") for row in setting.rows[:_MOST_ROWS])
    event = loader_advice.event(read) if read is not None and match.parameter in _EACH_BATCH else ""
    context.report(
        fix,
        shown,
        code=rule.code,
        confidence=confidence,
        event="" if turns_on and event == "batch" else event,
        related=related,
        message=message,
        call=match.call.rpartition(".")[2],
        workers=workers,
        consequence=loader_advice.consequence(read, context),
        advice=loader_advice.advice(samples, advice, read, context),
        what=what,
    )


def _is_no_part_of_training(match: ArgumentMatch, context: Context) -> bool:
    """Whether an option decides on the current call, no program that loads it trains, or one does an excusing call."""
    calls = match.unless_called
    return excuses.is_asked_for(match.unless_test, context) or (
        bool(calls) and any(excuses.called_in(calls, file) for file in programs.files_with(context.file))
    )


def _concerns(call: ast.Call, match: ArgumentMatch) -> bool:
    """Whether a call shows all its arguments, and has those that a match needs and none that rules it out."""
    if is_spread(call) or any(keyword.arg in match.unless for keyword in call.keywords):
        return False
    given = (argument_of(call, name, match.positions.get(name)) for name in match.needs)
    return not match.needs or any(item is not None for item in given)


def _is_fine(call: ast.Call, match: ArgumentMatch, context: Context) -> bool:
    """Whether another argument makes the call fine."""
    for name, kinds in match.unless_kind.items():
        argument = argument_of(call, name, match.positions.get(name))
        if (context.kind(argument).tag if argument is not None else "absent") in kinds:
            return True
    for name, values in match.unless_value.items():
        argument = argument_of(call, name, match.positions.get(name))
        if argument is not None and value_of(argument, context) in typed(values):
            return True
    return False


def _fix(
    call: ast.Call, argument: ast.expr | None, rule: Rule, match: ArgumentMatch, given: str, context: Context
) -> Fix:
    settings = context.settings
    if rule.fix_level is Level.DISPLAY:
        return rule.words()
    if match.holds and argument is not None:
        return _without(argument, rule, match, context)
    value = match.set.replace("{default-workers}", str(settings.default_workers))
    value = given or value.replace(_LOG_INTERVAL, str(settings.log_interval))
    edits = set_argument(call, argument, match.parameter, value, context)
    fix = rule.fix(edits, paddle=match.paddle, value=value, parameter=match.parameter)
    if _LOG_INTERVAL in match.set:  # the rule's value decides how often lines are printed from now on
        return guard.rarer_fix(fix.message, edits, [guard.LINES], settings.log_interval)
    return fix


def _without(argument: ast.expr, rule: Rule, match: ArgumentMatch, context: Context) -> Fix:
    """The edits that remove the costly items of a list or set."""
    value = without_costly(argument, match, context)
    if not value:
        return rule.words(parameter=match.parameter)
    return rule.fix(context.instead(argument, value), parameter=match.parameter)


# Declarative rules with ``where: step`` in their ``match``: this call, at each training step.

_BY_HAND = "the call is part of a larger statement, or shares its row with another call: remove it by hand"
_AT_STEPS = matches_by(lambda match: match.call if match.where == "step" else "")


@rule(*codes_in(_AT_STEPS), at=At.STEP, names=names_in(_AT_STEPS))
def step_call(call: ast.Call, context: Context) -> None:
    """Report a call that should not run at each step."""
    for each, match in _matches(call, context):
        _report_at_step(call, each, match, context)


def _matches(call: ast.Call, context: Context) -> list[tuple[Rule, ArgumentMatch]]:
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return []
    by_name = _AT_STEPS.get(callee(call, context), [])
    return by_name or _AT_STEPS.get(optimizer_method(call, context), [])


def _report_at_step(call: ast.Call, rule: Rule, match: ArgumentMatch, context: Context) -> None:
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
    return rule.fix(edits, paddle=match.paddle, value=match.set, parameter=match.parameter)


def _confidence(match: ArgumentMatch, step: Step, context: Context) -> Confidence:
    """The confidence: next to a clock, a call in the loop itself is there on purpose; in a helper, it need not be."""
    if not excuses.beside(match.unless_beside, context):
        return Confidence.HIGH
    return Confidence.MEDIUM if step.via else Confidence.LOW


def _deletion(rule: Rule, context: Context) -> Fix:
    edits = deletion(context, lambda statement: is_for_each_step(statement, context))
    return rule.fix(edits) if edits is not None else replace(rule.words(), reason=_BY_HAND)


def is_for_each_step(statement: ast.stmt, context: Context) -> bool:
    """Whether a statement is only a call that these rules delete if it runs at each step."""
    call = call_in(statement)
    found = _matches(call, context) if call is not None else []
    return any(rule.fix_level is not Level.DISPLAY and not match.set for rule, match in found)


# Declarative rules with ``where: epoch`` in their ``match``: this call, once in each epoch.

_EACH_EPOCH = matches_by(lambda match: match.call if match.where == "epoch" else "")


@rule(*codes_in(_EACH_EPOCH), at=At.ANYWHERE, names=names_in(_EACH_EPOCH))
def epoch_call(call: ast.Call, context: Context) -> None:
    """Report a call that should not run at each epoch."""
    if context.point is None or context.step is not None:
        return
    for each, match in _EACH_EPOCH.get(callee(call, context), ()):
        loop = loop_of(context.here.statement)
        if loop is None or excuses.tested(match.unless_test, context):
            continue
        related = (Related(context.file.path, loop.lineno, "the epoch loop"),)
        context.report(each.words(), code=each.code, related=related, message=match.message, line=str(loop.lineno))
