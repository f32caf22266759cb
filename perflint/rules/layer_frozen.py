"""PPF914: `stop_gradient` set on a layer, which freezes none of its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.catalogue import shipped
from perflint.findings import Confidence, Edit
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.rules.edits import has_own_rows, indentation, one_level
from perflint.syntax.names import dotted
from perflint.syntax.tree import is_literal

RULE = shipped()["PPF914"]
_SWITCH = "stop_gradient"


def _set(file: FileIndex) -> Iterator[Candidate]:
    """The statements that set the switch of something to ``True``."""
    for _, statement in file.statements if file.has(_SWITCH) else ():
        node = statement.node
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Attribute) or target.attr != _SWITCH:
            continue
        if is_literal(node.value, True) and dotted(target.value) not in (None, "self"):
            yield Candidate(target, node, target)


@rule(RULE.code, at=At.ANYWHERE, find=_set, claims=False, heeds_claims=False)
def layer_frozen(target: ast.Attribute, context: Context) -> None:
    """Report ``model.backbone.stop_gradient = True``."""
    kind, modules = context.kind(target.value), Modules.of(context.file.project)
    if kind.tag != LAYER_TAG or kind.guess or (kind.type and modules.method(kind.type, _SWITCH) is not None):
        return
    source, node = context.file.source, context.here.statement.node
    name = ast.unparse(target.value)
    if has_own_rows(node, source) and "#" not in source.text[slice(*source.lines.span(node))]:
        outer = indentation(source, node.lineno)
        body = f"{outer}{one_level(outer + '    ', outer)}parameter.{_SWITCH} = True"
        edit = Edit(*source.lines.span(node), f"for parameter in {name}.parameters():{source.newline}{body}")
        fix = RULE.fix([edit]) if "parameter" not in context.file.identifiers else RULE.words("by hand")
    else:
        fix = RULE.words("by hand")
    context.report(fix, confidence=Confidence.HIGH, costs_on_cpu=True, name=name)
