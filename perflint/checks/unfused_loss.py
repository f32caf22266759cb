"""PPF904: a loss of a softmax or a sigmoid, which one call could compute from the logits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from perflint.checks.call_edits import add_keyword, drop_keyword
from perflint.checks.delete import whole_rows
from perflint.facts.loss_inputs import LossForm, TwoCalls, is_called_once, losses_in_two_calls
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.name_reads import is_rebound_between, other_reads
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import walk
from perflint.text.source import Source

CODE = "PPF904"
_FUSED = {
    "nll_loss": "cross_entropy",
    "NLLLoss": "CrossEntropyLoss",
    "binary_cross_entropy": "binary_cross_entropy_with_logits",
    "BCELoss": "BCEWithLogitsLoss",
}
_ADVICE = {
    LossForm.LIKELIHOOD: "`{fused}` computes both in one kernel, from the logits",
    LossForm.PROBABILITIES: "`{fused}` computes both in one kernel, from the logits: remove `use_softmax=False`",
    LossForm.BINARY: "`{fused}` computes both in one kernel, from the logits, and is exact where the sigmoid is 0 or 1",
    LossForm.TWICE: (
        "`{fused}` takes the softmax itself, so this is a second softmax, which makes the gradients too small: "
        "pass it the logits"
    ),
}
_EVENTS = {
    LossForm.LIKELIHOOD: "loss of log_softmax",
    LossForm.PROBABILITIES: "loss in two kernels",
    LossForm.BINARY: "loss in two kernels",
    LossForm.TWICE: "loss in two kernels",
}
_ROUNDED = "the loss and the gradients differ in their last bits"
_SATURATED = "the loss of a sigmoid of 0 or 1 was limited to 100, and no longer is; on a CPU the fused loss is slower"
_TWICE = "the model then trains on a different loss, so results will differ: you have to decide"
_BY_HAND = "what is computed from the same logits elsewhere must not change"
_LAST = -1
_LOSS_AXIS = {"cross_entropy": 6, "CrossEntropyLoss": 4}
"""The position of ``axis`` in the function and in the layer."""


@statement_gate(CODE)
def _places(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for found in losses_in_two_calls(file):
        yield found.statement, Confidence.HIGH


@check("Call")
def unfused_loss(call: cst.Call, context: Context) -> None:
    """Report a loss whose input is a softmax or a sigmoid."""
    point, file = context.point, context.file
    if point is None or file.is_offline:
        return
    known = context.once(CODE, lambda: {item.loss: item for item in losses_in_two_calls(file)})
    if not any(item.statement.node is point.statement.node for item in known.values()):
        return
    expression = context.expression(call)
    found = known.get(expression) if isinstance(expression, ast.Call) else None
    if found is None:
        return
    advice = _ADVICE[found.form].format(fused=_fused_name(found))
    activation = found.form.value if found.form is not LossForm.TWICE else "softmax"
    context.report(
        CODE,
        call.func,
        _fix(found, file),
        claims=False,
        costs_on_cpu=True,
        event=_EVENTS[found.form],
        activation=activation,
        advice=advice,
    )


def _fused_name(found: TwoCalls) -> str:
    name = terminal(found.settings) or ""
    return _FUSED.get(name, name)


def _fix(found: TwoCalls, file: FileIndex) -> Fix:
    """The edits that pass the logits to the loss for logits."""
    if found.form is LossForm.TWICE:
        return Fix("pass the logits to the loss", (), Level.DISPLAY, _TWICE)
    title = f"pass the logits to `{_fused_name(found)}`"
    settings, given = _settings_edits(found, file.source), _input_edits(found, file.source)
    if settings is None or given is None or not is_called_once(file, found):
        return Fix(title, (), Level.DISPLAY, _BY_HAND)
    reason = f"{_ROUNDED}; {_SATURATED}" if found.form is LossForm.BINARY else _ROUNDED
    return Fix(title, tuple(sorted((*settings, *given))), Level.UNSAFE, reason)


def _settings_edits(found: TwoCalls, source: Source) -> list[Edit] | None:
    """The edits that name the loss for logits, with its axis: in the call of the function, or of the layer's class."""
    axis = _axis(found.shaped_by, _axis_position(found))
    if found.form is LossForm.PROBABILITIES:
        own = _axis(found.settings, _LOSS_AXIS[terminal(found.settings) or ""])
        dropped = drop_keyword(found.settings, "use_softmax", source) if axis is not None and axis == own else None
        return None if dropped is None else [dropped]
    function = found.settings.func
    if not isinstance(function, ast.Attribute):
        return None
    end = source.lines.span(function)[1]
    renamed = Edit(end - len(function.attr), end, _FUSED[function.attr])
    if found.form is LossForm.BINARY or axis == _LAST:
        return [renamed]
    added = add_keyword(found.settings, "axis=1", source) if axis == 1 else None
    return None if added is None else [renamed, added]


def _axis_position(found: TwoCalls) -> int:
    """The position of ``axis``: after ``x`` in a function, first in a layer and in a method."""
    is_function = found.shaped_by is found.activation and found.logits in found.activation.args
    return 1 if is_function else 0


def _axis(call: ast.Call, position: int) -> int | None:
    """The axis in a call, the last one if it has none; None if it is not a literal."""
    given = argument_of(call, "axis", position)
    if given is None:
        return _LAST
    try:
        value = ast.literal_eval(given)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _input_edits(found: TwoCalls, source: Source) -> list[Edit] | None:
    """The edits that pass the logits instead of the result of the softmax or the sigmoid."""
    if "#" in source.text[slice(*source.lines.span(found.activation))]:
        return None
    named = _keyword_renamed(found, source)
    start, end = source.lines.span(found.given)
    if found.binding is None:
        return [*named, Edit(start, end, _logits(found, source))]
    name = found.given.id if isinstance(found.given, ast.Name) else ""
    names = plain_names(found.logits)
    if any(isinstance(item, ast.Call) for item in walk(found.logits)):
        return None
    if other_reads(found.scope, name, found.binding, found.statement):
        is_same = name in names or is_rebound_between(found.scope, names, found.binding, found.statement)
        return None if is_same else [*named, Edit(start, end, _logits(found, source))]
    others = names - {name}
    if found.binding.place is not found.statement.place:
        return None
    if is_rebound_between(found.scope, others | ({dotted(found.logits) or ""}), found.binding, found.statement):
        return None
    row = whole_rows(*source.lines.span(found.binding.node), source)
    return [row, *named, Edit(start, end, _logits(found, source))]


def _keyword_renamed(found: TwoCalls, source: Source) -> list[Edit]:
    """``logit=`` for ``input=``, the name in the functions of binary cross entropy."""
    keyword = next((item for item in found.loss.keywords if item.value is found.given), None)
    if keyword is None or found.form is not LossForm.BINARY:
        return []
    start = source.lines.offset(keyword.lineno, keyword.col_offset)
    return [Edit(start, start + len("input"), "logit")]


def _logits(found: TwoCalls, source: Source) -> str:
    """The source of the logits, in the dtype that the softmax was set to compute in."""
    text = source.text[slice(*source.lines.span(found.logits))]
    dtype = argument_of(found.activation, "dtype", None)
    if dtype is None:
        return text
    is_atom = isinstance(found.logits, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"{text if is_atom else f'({text})'}.astype({source.text[slice(*source.lines.span(dtype))]})"
