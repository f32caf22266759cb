"""PPF903: a convolution whose bias the following batch norm cancels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.call_edits import add_keyword
from perflint.facts.biases_before_norm import biases_before_norm
from perflint.findings import Confidence, Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.scopes import Statement, terminal
from perflint.training.predicting import only_predicts

CODE = "PPF903"
_TITLE = "remove the bias: `bias_attr=False`"
_REASON = (
    "the state dict has one key less: older weights load without an error but predict differently, since the mean in "
    "the norm still includes the old bias; code that reads `.bias` finds None; sums are rounded differently"
)
_LOADED = ("pretrained", "load_dygraph_pretrain", "set_state_dict", "set_dict", "load_dict", "load_pretrained_model")


@statement_gate(CODE)
def _places(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for found in biases_before_norm(file):
        yield found.statement, _confidence(file)


@check("Call")
def bias_before_norm(call: cst.Call, context: Context) -> None:
    """Report a layer that is created with a bias and followed by a batch norm."""
    point, file = context.point, context.file
    if point is None or file.is_offline:
        return
    known = context.once(CODE, lambda: {item.layer: item for item in biases_before_norm(file)})
    statements = context.once((CODE, "statements"), lambda: {item.statement.node for item in known.values()})
    if point.statement.node not in statements:
        return
    expression = context.expression(call)
    found = known.get(expression) if isinstance(expression, ast.Call) else None
    if found is None:
        return
    edit = add_keyword(found.layer, "bias_attr=False", file.source)
    level = Level.UNSAFE if edit is not None else Level.DISPLAY
    fix = Fix(_TITLE, (edit,) if edit is not None else (), level, _REASON)
    related = (Related(file.path, file.row(found.norm), "the batch norm"),)
    context.report(
        CODE,
        call,
        fix,
        related=related,
        confidence=_confidence(file),
        claims=False,
        costs_on_cpu=True,
        layer=terminal(found.layer) or "",
        norm=terminal(found.norm) or "",
    )


def _confidence(file: FileIndex) -> Confidence:
    """Low if the file loads weights, which were saved with the bias, or belongs to code that only predicts."""
    return Confidence.LOW if file.has_words(*_LOADED) or only_predicts(file) else Confidence.HIGH
