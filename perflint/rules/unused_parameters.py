"""PPF801: every step searches the graph for parameters that get no gradient."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.findings import Confidence
from perflint.flow.values import Values
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, named, rule
from perflint.rules import excuses
from perflint.rules.arguments import shown_argument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.tree import is_literal

RULE = shipped()["PPF801"]
PARAMETER, POSITION = "find_unused_parameters", 4
WRAPPER = "paddle.DataParallel"
_WRAPPERS = frozenset({WRAPPER, "paddle.distributed.fleet.distributed_model"})
_STRATEGY = re.compile(r"^paddle\..*\bDistributedStrategy$")
_NEEDED = r"unused|without grad|no grad|\bhang|error|required|need|branch|必须|报错|未使用|没有梯度|卡"
_ASKED = r"unused"
# Parts of a model that do not run in some steps: then the search is needed for the gradients of the others.
_SIT_OUT = re.compile(r"layer_?drop|discriminator|\bgan\b|\bmoe\b|experts?\b|freez", re.IGNORECASE)


@rule(
    RULE.code,
    at=At.ANYWHERE,
    names=named(WRAPPER, code=RULE.code),
)
def wrapped_model(call: ast.Call, context: Context) -> None:
    """Report ``paddle.DataParallel(..., find_unused_parameters=True)``."""
    argument = argument_of(call, PARAMETER, POSITION)
    if context.callee(call) == WRAPPER and not is_spread(call) and argument is not None:
        _report(shown_argument(call, argument), argument, context)


def _settings(file: FileIndex) -> Iterator[Candidate]:
    for _, statement in file.statements if file.has_words(PARAMETER) else ():
        node = statement.node
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(target, ast.Attribute) and target.attr == PARAMETER:
            yield Candidate(node, node, target.value)


@rule(RULE.code, at=At.ANYWHERE, find=_settings)
def strategy_attribute(owner: ast.expr, context: Context) -> None:
    """Report ``strategy.find_unused_parameters = True`` on a ``fleet.DistributedStrategy``."""
    if isinstance(context.node, ast.Assign) and _is_strategy(owner, context):
        _report(context.node, context.node.value, context)


def _is_strategy(node: ast.expr, context: Context) -> bool:
    """Whether a name, or an attribute of ``self``, is bound to a strategy in this function or class."""
    name, point = dotted(node), context.point
    if not name or point is None:
        return False
    bound = Values.of(context.file.project).definitions(point.function).get(name)
    values = point.scope.values_of(name) or [value for value in (bound,) if value is not None]
    called = [context.name(value.func) for value in values if isinstance(value, ast.Call)]
    return bool(values) and len(called) == len(values) and all(map(_STRATEGY.match, called))


def _report(node: ast.AST, value: ast.expr, context: Context) -> None:
    if not is_literal(value, True) or context.file.is_offline:
        return
    if excuses.explained(node, _NEEDED, context) or excuses.tested(_ASKED, context):
        return
    context.report(RULE.fix(context.instead(value, "False")), node, confidence=_confidence(context))


def _confidence(context: Context) -> Confidence:
    """The confidence; the user has to judge if parts of the training alternate: networks, branches, experts."""
    calls = context.here.scope.calls if context.point is not None else ()
    wrappers = (call for call in calls if call.args and context.name(call.func) in _WRAPPERS)
    wrapped = {ast.unparse(call.args[0]) for call in wrappers}
    takes_turns = len(wrapped) > 1 or _SIT_OUT.search(context.file.source.text)
    return Confidence.LOW if takes_turns else Confidence.MEDIUM
