"""PPF301, of ``paddle.Model``: ``model.prepare`` without ``amp_configs``, so that ``model.fit`` trains in float32."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.facts.entry_points import is_left_out, runs_wide_layers
from perflint.facts.float32 import float32_of
from perflint.facts.loaders import LOADER
from perflint.findings import Confidence, Level
from perflint.flow.sources import sources
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import At, named, rule
from perflint.rules.edits import WithArgument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import terminal
from perflint.trace.loading import workers_of

RULE = shipped()["PPF301"]
_PADDLE = "2.3"
"""The first Paddle whose ``amp_configs`` may be a text."""


@rule(RULE.code, at=At.ANYWHERE, names=named("paddle.Model.prepare", code=RULE.code))
def prepared_without_amp(call: ast.Call, context: Context) -> None:
    """Report ``model.prepare(optimizer, loss)`` of a network that Tensor Cores can run, where ``model.fit`` follows."""
    if context.callee(call) != "paddle.Model.prepare" or is_spread(call) or argument_of(call, "amp_configs", 3):
        return
    if argument_of(call, "loss", 1) is None or is_left_out(context.file) or context.runs_on_cpu:
        return
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    fits = [each for each in _fits(context.place) if dotted(each.func) == f"{dotted(owner)}.fit"]
    networks = [each for each in sources(owner, context.place) if each.qualified == "paddle.Model"]
    given = [argument_of(each.node, "network", 0) for each in networks if isinstance(each.node, ast.Call)]
    found = float32_of(context.file, context.file)
    if not fits or len(given) != 1 or given[0] is None or found is None or found.switch is not None:
        return
    if not runs_wide_layers(given[0], networks[0].place):
        return
    edits = context.edits(WithArgument(call, 'amp_configs="O1"'))
    waits = next((said for each in fits for said in _loads_itself(each, context)), "")
    context.report(
        replace(RULE.words("prepared"), edits=tuple(edits), level=Level.UNSAFE, paddle=_PADDLE),
        confidence=Confidence.MEDIUM,
        event="float32 step that waits" if waits else "",
        message=RULE.texts["prepared"],
        owner=dotted(owner) or "the model",
        first=waits,
    )


def _fits(at: Place) -> Iterator[ast.Call]:
    return (call for call in at.scope.calls if terminal(call) == "fit")


def _loads_itself(fit: ast.Call, context: Context) -> Iterator[str]:
    """What to mend first where the process that trains loads the batches of ``fit`` itself, as a sentence."""
    at, data = context.place, argument_of(fit, "train_data", 0)
    here = at.at(at.scope, next(each for each in at.scope.statements if fit in each.calls))
    made = [each for each in sources(data, here) if each.qualified == LOADER] if data is not None else []
    for source in made:
        if isinstance(source.node, ast.Call) and set(workers_of(source.node, source.place)) == {0}:
            yield RULE.texts["loading"].format(rows=context.where(source.place.file.path, source.node.lineno))
    if not made and set(workers_of(fit, here)) == {0}:
        yield RULE.texts["fit loads"].format(row=fit.lineno)
