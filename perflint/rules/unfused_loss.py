"""PPF904: a loss of a softmax or a sigmoid, which one call could compute."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from perflint.catalogue import shipped
from perflint.findings import Edits, Fix
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import Instead, StatementEdit
from perflint.query import query
from perflint.rules.edits import WithArgument, WithoutArgument, as_operand, whole_rows
from perflint.syntax.bindings import is_rebound_between, other_reads
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.reaching import sole_value
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import calls_in
from perflint.text.source import Source

# Finds losses of a softmax or a sigmoid that one call could compute together with the loss.


class LossForm(Enum):
    """What is computed in two calls."""

    LIKELIHOOD = "log_softmax"
    PROBABILITIES = "softmax"
    BINARY = "sigmoid"
    TWICE = "a second softmax"


@dataclass(frozen=True)
class TwoCalls:
    """A loss, and the call that computes its input.

    Attributes:
        loss: the call of the loss.
        given: its first argument.
        activation: the softmax or the sigmoid.
        shaped_by: the call with the axis: ``activation``, or the one that creates its layer.
        logits: the argument of the activation.
        statement: the statement of the loss.
        scope: the function.
        binding: ``p = softmax(x)``, if there is a name between the two.
        made: the call that creates the layer that ``loss`` calls; None if it is a function of Paddle.
        form: what is computed in two calls.
    """

    loss: ast.Call
    given: ast.expr
    activation: ast.Call
    shaped_by: ast.Call
    logits: ast.expr
    statement: Statement
    scope: Scope
    binding: Statement | None
    made: ast.Call | None
    form: LossForm

    @property
    def settings(self) -> ast.Call:
        """The call with the settings of the loss: that of the function, or the one that creates the layer."""
        return self.made or self.loss


_FUNCTIONAL = "paddle.nn.functional"
_ACTIVATIONS = {
    **{f"{_FUNCTIONAL}.{name}": name for name in ("softmax", "log_softmax", "sigmoid")},
    "paddle.sigmoid": "sigmoid",
    "paddle.nn.Softmax": "softmax",
    "paddle.nn.LogSoftmax": "log_softmax",
    "paddle.nn.Sigmoid": "sigmoid",
}
_LOSSES = {
    f"{_FUNCTIONAL}.nll_loss": "nll",
    "paddle.nn.NLLLoss": "nll",
    f"{_FUNCTIONAL}.cross_entropy": "cross entropy",
    "paddle.nn.CrossEntropyLoss": "cross entropy",
    f"{_FUNCTIONAL}.binary_cross_entropy": "binary",
    "paddle.nn.BCELoss": "binary",
}
_FORMS = {("nll", "log_softmax"): LossForm.LIKELIHOOD, ("binary", "sigmoid"): LossForm.BINARY}
_FUSED = {
    LossForm.LIKELIHOOD: frozenset({"cross_entropy", "CrossEntropyLoss"}),
    LossForm.BINARY: frozenset({"binary_cross_entropy_with_logits", "BCEWithLogitsLoss"}),
}
_USE_SOFTMAX = {True: 7, False: 5}
"""The position of ``use_softmax``: in the function, which takes ``input`` and ``label`` first, and in the layer."""
_A_LOSS = re.compile(r"\b(?:nll_loss|NLLLoss|cross_entropy|CrossEntropyLoss|binary_cross_entropy|BCELoss)\b")
_AN_ACTIVATION = re.compile(r"softmax|sigmoid", re.IGNORECASE)


@query
def losses_in_two_calls(file: FileIndex) -> tuple[TwoCalls, ...]:
    """The losses of a file whose input is a softmax or a sigmoid of Paddle."""
    if not file.has("paddle") or not file.matches(_A_LOSS) or not file.matches(_AN_ACTIVATION):
        return ()
    found = (_two_calls(Place(file, scope), statement, call) for scope, statement, call in file.calls)
    return tuple(each for each in found if each is not None)


def _two_calls(at: Place, statement: Statement, call: ast.Call) -> TwoCalls | None:
    loss = _reached(at, statement, call, _LOSSES)
    given = argument_of(call, "input", 0)
    if loss is None or given is None or loss.way is _Way.METHOD or is_spread(call):
        return None
    binding, activation = _computed_by(at.scope, statement, given)
    by = _reached(at, binding or statement, activation, _ACTIVATIONS) if activation is not None else None
    form = _form(loss, by) if by is not None else None
    if activation is None or by is None or form is None or _is_beside_the_fused_one(statement, form):
        return None
    logits = _input_of(activation, by)
    made = loss.made if loss.way is _Way.LAYER else None
    return (
        TwoCalls(call, given, activation, by.made, logits, statement, at.scope, binding, made, form) if logits else None
    )


def _computed_by(scope: Scope, statement: Statement, given: ast.expr) -> tuple[Statement | None, ast.Call | None]:
    """The call that computes a value, and the assignment in between."""
    if not isinstance(given, ast.Name):
        return None, given if isinstance(given, ast.Call) else None
    binding, value = sole_value(given, statement, scope) or (None, None)
    return (binding, value) if isinstance(value, ast.Call) else (None, None)


class _Way(Enum):
    """How code calls what Paddle computes: ``F.sigmoid(x)``, ``nn.Sigmoid()(x)`` or ``x.sigmoid()``."""

    FUNCTION = 0
    LAYER = 1
    METHOD = 2


@dataclass(frozen=True)
class _Reached:
    """What a call computes; ``made`` is the call that has the settings: the call itself, or that of the layer."""

    kind: str
    made: ast.Call
    way: _Way


def _reached(at: Place, statement: Statement, call: ast.Call, wanted: Mapping[str, str]) -> _Reached | None:
    """Which of some computations a call is, and how it is written."""
    name = dotted(call.func) or ""
    qualified = at.file.names.resolve(name)
    if qualified in wanted and qualified.rpartition(".")[2][0].islower():
        return _Reached(wanted[qualified], call, _Way.FUNCTION)
    first = name.partition(".")[0]
    is_method = isinstance(call.func, ast.Attribute) and first != "self" and not at.file.names.is_bound(first)
    if is_method and f"{_FUNCTIONAL}.{terminal(call)}" in wanted:
        return _Reached(wanted[f"{_FUNCTIONAL}.{terminal(call)}"], call, _Way.METHOD)
    layer = _layer_called(at.scope, statement, call)
    kind = wanted.get(at.file.names.qualified(layer.func)) if layer is not None else None
    return _Reached(kind, layer, _Way.LAYER) if layer is not None and kind is not None else None


def _layer_called(scope: Scope, statement: Statement, call: ast.Call) -> ast.Call | None:
    """The call that creates the callee of a call: ``nn.Softmax()`` for ``self.softmax(x)``, if it is the only one."""
    if isinstance(call.func, ast.Call):
        return call.func
    _, value = sole_value(call.func, statement, scope) or (None, None)
    values = [value] if value is not None else scope.values_of(dotted(call.func) or "")
    made = values[0] if len(values) == 1 else None
    return made if isinstance(made, ast.Call) else None


def _form(loss: _Reached, by: _Reached) -> LossForm | None:
    """What a loss and the call that gives its input compute together, None if one call would not."""
    if loss.kind != "cross entropy" or by.kind != "softmax":
        return _FORMS.get((loss.kind, by.kind))
    flag = argument_of(loss.made, "use_softmax", _USE_SOFTMAX[loss.way is _Way.FUNCTION])
    if flag is None:
        return LossForm.TWICE
    if not isinstance(flag, ast.Constant):
        return None
    return LossForm.TWICE if flag.value else LossForm.PROBABILITIES


def _input_of(activation: ast.Call, by: _Reached) -> ast.expr | None:
    """The input of a softmax or a sigmoid."""
    if is_spread(activation):
        return None
    if by.way is _Way.METHOD:
        return activation.func.value if isinstance(activation.func, ast.Attribute) else None
    return argument_of(activation, "x", 0)


def _is_beside_the_fused_one(statement: Statement, form: LossForm) -> bool:
    """Whether the other arm of a test has the loss in one call, for example if a device lacks that kernel."""
    fused = _FUSED.get(form, frozenset())
    for link in statement.around:
        if isinstance(link.node, ast.If):
            other = link.node.orelse if link.branch == "body" else link.node.body
            if any(terminal(call) in fused for part in other for call in calls_in(part)):
                return True
    return False


def is_called_once(file: FileIndex, found: TwoCalls) -> bool:
    """Whether the layer of a loss is not used elsewhere in the file, so that it can be replaced."""
    function = found.loss.func
    if found.made is None or function is found.made:
        return True
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    loads = file.loads_named(name)
    return sum(isinstance(function, ast.Attribute) or load.scope is found.scope for load in loads) == 1


# PPF904: a loss of a softmax or a sigmoid, which one call could compute from the logits.

RULE = shipped()["PPF904"]
_UNFUSED_LOSS_FUSED = {
    "nll_loss": "cross_entropy",
    "NLLLoss": "CrossEntropyLoss",
    "binary_cross_entropy": "binary_cross_entropy_with_logits",
    "BCELoss": "BCEWithLogitsLoss",
}
_LAST = -1
_LOSS_AXIS = {"cross_entropy": 6, "CrossEntropyLoss": 4}
"""The position of ``axis`` in the function and in the layer."""


def _places(file: FileIndex) -> Iterator[Candidate]:
    for found in losses_in_two_calls(file) if not file.is_offline else ():
        yield Candidate(found.loss, found.statement.node, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False)
def unfused_loss(found: TwoCalls, context: Context) -> None:
    """Report a loss whose input is a softmax or a sigmoid."""
    advice = RULE.texts[found.form.name.lower()].format(fused=_fused_name(found))
    activation = found.form.value if found.form is not LossForm.TWICE else "softmax"
    context.report(
        _fix(found, context),
        found.loss.func,
        costs_on_cpu=True,
        event="loss of log_softmax" if found.form is LossForm.LIKELIHOOD else "loss in two kernels",
        activation=activation,
        advice=advice,
    )


def _fused_name(found: TwoCalls) -> str:
    name = terminal(found.settings) or ""
    return _UNFUSED_LOSS_FUSED.get(name, name)


def _fix(found: TwoCalls, context: Context) -> Fix:
    """The edits that pass the logits to the loss for logits."""
    if found.form is LossForm.TWICE:
        return RULE.words("twice")
    by_hand = RULE.words("by hand", fused=_fused_name(found))
    settings, given = context.edits(*_settings(found, context)), _input_edits(found, context)
    if not settings or given is None or not is_called_once(context.file, found):
        return by_hand
    reason = f"{RULE.fix_reason}; {RULE.texts['saturated']}" if found.form is LossForm.BINARY else ""
    return replace(RULE.fix(sorted((*settings, *given)), reason=reason), message=by_hand.message)


def _settings(found: TwoCalls, context: Context) -> list[StatementEdit]:
    """The changes that name the loss for logits, with its axis: in the call of the function, or of the class."""
    axis = _axis(found.shaped_by, _axis_position(found))
    if found.form is LossForm.PROBABILITIES:
        own = _axis(found.settings, _LOSS_AXIS[terminal(found.settings) or ""])
        given = argument_of(found.settings, "use_softmax", None)
        return [] if axis is None or axis != own or given is None else [WithoutArgument(found.settings, given)]
    function = found.settings.func
    if not isinstance(function, ast.Attribute):
        return []
    renamed = Instead(function, f"{context.text(function.value)}.{_UNFUSED_LOSS_FUSED[function.attr]}")
    if found.form is LossForm.BINARY or axis == _LAST:
        return [renamed]
    return [renamed, WithArgument(found.settings, "axis=1")] if axis == 1 else []


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


class _Logit(StatementEdit):
    """``logit=``, the name in the functions of binary cross entropy, for ``input=``."""

    def leave_Arg(self, _: Any, argument: Any) -> Any:
        """The argument with the name."""
        return argument.with_changes(keyword=self.expression("logit"))


def _input_edits(found: TwoCalls, context: Context) -> Edits | None:
    """The edits that pass the logits instead of the result of the softmax or the sigmoid."""
    source, is_binary = context.file.source, found.form is LossForm.BINARY
    if "#" in source.code(found.activation):
        return None
    named = [_Logit(item) for item in found.loss.keywords if item.value is found.given and is_binary]
    edits = context.edits(Instead(found.given, _logits(found, source)), *named)
    if found.binding is None:
        return edits
    name = found.given.id if isinstance(found.given, ast.Name) else ""
    names = plain_names(found.logits)
    if calls_in(found.logits):
        return None
    if other_reads(found.scope, name, found.binding, found.statement):
        is_same = name in names or is_rebound_between(found.scope, names, found.binding, found.statement)
        return None if is_same else edits
    if found.binding.place is not found.statement.place:
        return None
    used = names - {name} | {dotted(found.logits) or ""}
    if is_rebound_between(found.scope, used, found.binding, found.statement):
        return None
    return whole_rows(*source.lines.span(found.binding.node), source), *edits


def _logits(found: TwoCalls, source: Source) -> str:
    """The source of the logits, in the dtype that the softmax was set to compute in."""
    text = source.code(found.logits)
    dtype = argument_of(found.activation, "dtype", None)
    if dtype is None:
        return text
    return f"{as_operand(found.logits, text)}.astype({source.code(dtype)})"
