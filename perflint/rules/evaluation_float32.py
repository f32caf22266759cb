"""PPF310: an evaluation that runs the network in float32 while training, whose steps run it under ``auto_cast``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.amp import amp_calls
from perflint.facts.entry_points import EntryPoint, classes_of_model, is_narrow, work_of
from perflint.facts.evaluations import WholeEvaluation, evaluating_calls, runs_of_model
from perflint.facts.float32 import is_turned_on
from perflint.findings import Confidence, Related
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import Statement, terminal
from perflint.trace.forward_pass import forward_pass
from perflint.trace.started import program_entries
from perflint.training.intent import runs_while_training

RULE = shipped()["PPF310"]
_CASTS = ("cast", "amp", "precision")
"""Parts of the names of what a ``with`` enters to run a network in less than float32."""


class _Float32(NamedTuple):
    """An evaluation in float32: where training calls it, and the ``auto_cast`` that the steps run under."""

    called: Place
    call: ast.Call
    cast: ast.Call
    steps: FileIndex


def _find(file: FileIndex) -> Iterator[Candidate]:
    return (candidate for where, candidate in _evaluations(file.project) if where is file)


@query
def _evaluations(project: Project) -> list[tuple[FileIndex, Candidate]]:
    """The first calls of networks in evaluations that are in float32, each with its file."""
    found: dict[ast.AST, tuple[FileIndex, Candidate]] = {}
    for entry in program_entries(project):
        cast = _cast_of(entry)
        if cast is None or not work_of(entry) or is_narrow(entry) or _casts_itself(entry):
            continue
        for at, statement, call, evaluation in evaluating_calls(entry.driven_from):
            if _may_cast(statement) or not runs_while_training(at, statement):
                continue
            for run, model_call in runs_of_model(evaluation):
                if not _may_cast(run) and _is_trained(entry, model_call, call, evaluation):
                    fact = _Float32(at.at(at.scope, statement), call, cast, entry.file)
                    certainty = Confidence.HIGH if evaluation.is_sure else Confidence.MEDIUM
                    found.setdefault(
                        evaluation.loop, (evaluation.at.file, Candidate(model_call, run.node, fact, certainty))
                    )
    return [*found.values()]


def _cast_of(entry: EntryPoint) -> ast.Call | None:
    """The ``auto_cast`` that the forward pass of a step runs under, at level O1, if something turns it on."""
    begins = forward_pass(entry)
    if begins is None or begins.place.statement is None or any(map(_decorates, (entry.file, entry.driven_from))):
        return None
    at, around = begins.place, [link.node for link in begins.place.statement.around]
    setups = [(to, call) for _, to, call in amp_calls([at.scope], at.file.names) if to.node in around]
    return next((call for to, call in setups if is_turned_on(at.at(at.scope, to), call)), None)


def _decorates(file: FileIndex) -> bool:
    """Whether a file makes the weights themselves float16 or bfloat16, as level O2 does."""
    return any(terminal(call) == "decorate" for _, _, call in amp_calls(file.scopes.scopes, file.names))


def _casts_itself(entry: EntryPoint) -> bool:
    """Whether the network has an ``auto_cast`` of its own, in which case an evaluation needs none."""
    return any(
        next(amp_calls(owner.methods.values(), file.names), None) is not None for file, owner in classes_of_model(entry)
    )


def _may_cast(statement: Statement) -> bool:
    """Whether a statement is under a ``with`` that may turn AMP on."""
    withs = [link.node for link in statement.around if isinstance(link.node, (ast.With, ast.AsyncWith))]
    names = (ast.unparse(item.context_expr).lower() for node in withs for item in node.items)
    return any(word in name for name in names for word in _CASTS)


def _is_trained(entry: EntryPoint, run: ast.Call, call: ast.Call, evaluation: WholeEvaluation) -> bool:
    """Whether an evaluation runs the network that the step trains, by what is passed, or by its name."""
    name = (dotted(run.func) or "").removesuffix(".forward")
    if name in evaluation.at.scope.parameters:
        given = argument_for(evaluation.at.scope, call, name)
        name = (dotted(given) or "") if given is not None else ""
    last = {model.rpartition(".")[2] for model in entry.models}
    return bool(name) and name.rpartition(".")[2] in last


@rule(RULE.code, at=At.ANYWHERE, find=_find, claims=False)
def evaluation_in_float32(found: _Float32, context: Context) -> None:
    """Report the first call of the network in an evaluation."""
    row = found.steps.row(found.cast)
    related = (
        Related(found.called.file.path, found.called.file.row(found.call), "runs the evaluation"),
        Related(found.steps.path, row, "the `auto_cast` of the training steps"),
    )
    model = dotted(context.node.func) if isinstance(context.node, ast.Call) else ""
    context.report(RULE.words(), related=related, at=context.where(found.steps.path, row), model=model or "the model")
