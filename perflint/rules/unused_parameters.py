"""PPF801: every step searches the graph for parameters that get no gradient."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from perflint import catalogue
from perflint.findings import Confidence, Edit, Fix
from perflint.flow.values import Values
from perflint.index.project import FileIndex
from perflint.lint.context import Context, local_name
from perflint.lint.registry import check, gate, statement_gate
from perflint.rules import excuses
from perflint.rules.arguments import find_argument
from perflint.syntax.bindings import targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Statement

CODE = "PPF801"
PARAMETER, POSITION = "find_unused_parameters", 4
WRAPPER = "paddle.DataParallel"
_WRAPPERS = frozenset({WRAPPER, "paddle.distributed.fleet.distributed_model"})
_STRATEGY = re.compile(r"^paddle\..*\bDistributedStrategy$")
_NEEDED = r"unused|without grad|no grad|\bhang|error|required|need|branch|必须|报错|未使用|没有梯度|卡"
_ASKED = r"unused"
# Parts of a model that do not run in some steps: then the search is needed for the gradients of the others.
_SIT_OUT = re.compile(r"layer_?drop|discriminator|\bgan\b|\bmoe\b|experts?\b|freez", re.IGNORECASE)


gate(CODE, WRAPPER, lambda call, _: argument_of(call, PARAMETER, POSITION) is not None)


@statement_gate(CODE)
def _setting(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for scope in file.scopes.scopes if file.has_words(PARAMETER) else ():
        for statement in scope.statements:
            if any(isinstance(item, ast.Attribute) and item.attr == PARAMETER for item in targets_of(statement.node)):
                yield statement, Confidence.HIGH


@check("Call")
def wrapped_model(call: cst.Call, context: Context) -> None:
    """Report ``paddle.DataParallel(..., find_unused_parameters=True)``."""
    if context.claimed or context.callee(call) != WRAPPER or any(argument.star for argument in call.args):
        return
    argument = find_argument(call, PARAMETER, POSITION)
    if argument is not None:
        _report(argument, argument.value, context)


@check("Assign")
def strategy_attribute(assign: cst.Assign, context: Context) -> None:
    """Report ``strategy.find_unused_parameters = True`` on a ``fleet.DistributedStrategy``."""
    target = assign.targets[0].target
    if context.claimed or len(assign.targets) != 1 or not isinstance(target, cst.Attribute):
        return
    if target.attr.value == PARAMETER and _is_strategy(target.value, context):
        _report(assign, assign.value, context)


def _is_strategy(node: cst.BaseExpression, context: Context) -> bool:
    """Whether a name, or an attribute of ``self``, is bound to a strategy in this function or class."""
    name, point = local_name(node), context.point
    if not name or point is None:
        return False
    owner = point.scope.owner
    if owner is not None and name.startswith("self.") and name.count(".") == 1:
        values = [value for value, _ in owner.attributes.get(name[5:], ())]
    else:
        bound = Values.of(context.file.project).definitions(context.file, point.scope).get(name)
        values = [bound] if bound is not None else []
    called = [context.file.names.resolve(dotted(v.func) or "") for v in values if isinstance(v, ast.Call)]
    return bool(values) and len(called) == len(values) and all(map(_STRATEGY.match, called))


def _report(node: cst.CSTNode, value: cst.BaseExpression, context: Context) -> None:
    if not isinstance(value, cst.Name) or value.value != "True" or context.file.is_offline:
        return
    if excuses.explained(node, _NEEDED, context) or excuses.tested(_ASKED, context):
        return
    rule = catalogue.shipped()[CODE]
    fix = Fix(rule.fix_title, (Edit(*context.range(value), "False"),), rule.fix_level, rule.fix_reason)
    context.report(CODE, node, fix, confidence=_confidence(context))


def _confidence(context: Context) -> Confidence:
    """The confidence; the user has to judge if parts of the training alternate: networks, branches, experts."""
    calls = context.here.scope.calls if context.point is not None else ()
    resolve = context.file.names.resolve
    wrappers = (call for call in calls if call.args and resolve(dotted(call.func) or "") in _WRAPPERS)
    wrapped = {ast.unparse(call.args[0]) for call in wrappers}
    takes_turns = len(wrapped) > 1 or _SIT_OUT.search(context.file.source.text)
    return Confidence.LOW if takes_turns else Confidence.MEDIUM
