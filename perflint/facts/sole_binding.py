"""The one statement that gives a name its value, as a place in the code sees it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from perflint.facts.loader_sites import Site
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import keyword_only
from perflint.syntax.scopes import Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


def binding(name: str, site: Site) -> tuple[Scope, Statement, ast.expr | None] | str | None:
    """The one statement that binds a name as a place sees it.

    ``"parameter"``: the function's caller does; ``"unclear"``: it depends; None: neither this scope nor one around it.
    """
    scope: Scope | None = site.scope
    use = site.statement
    while scope is not None:
        bound = bindings_of(scope).get(name, [])
        if use is not None:
            bound = [statement for statement in bound if _comes_first(statement, use)]
        if name in scope.parameters or name in keyword_only(scope):
            return "unclear" if bound else "parameter"
        if bound:
            if len(bound) > 1 or not _is_certain(bound[0], use):
                return "unclear"
            if isinstance(scope.node, ast.Module) and _declared_global(name, site.file):
                return "unclear"
            node = bound[0].node
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            plain = isinstance(node, (ast.Assign, ast.AnnAssign)) and any(dotted(item) == name for item in targets)
            return scope, bound[0], node.value if plain and isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        scope, use = scope.parent, None
    return None


def _comes_first(statement: Statement, use: Statement) -> bool:
    """Whether a binding can be what a later statement sees: it stands above it, or a loop leads back to it."""
    if statement is use:
        return False
    if statement.node.lineno < use.node.lineno:
        return True
    loops = {link.loop for link in use.around} - {None}
    return any(link.loop in loops for link in statement.around)


def _is_certain(statement: Statement, use: Statement | None) -> bool:
    """Whether whoever sees the name has passed this binding: no branch stands around it alone."""
    around = {link.node: link.branch for link in use.around} if use is not None else {}
    for link in statement.around:
        if isinstance(link.node, (ast.If, ast.Match, ast.Try)) and around.get(link.node) != link.branch:
            test = link.node.test if isinstance(link.node, ast.If) else None
            if isinstance(test, ast.Compare) and dotted(test.left) == "__name__":
                continue
            return False
    return True


def _declared_global(name: str, file: FileIndex) -> bool:
    return file.matches(re.compile(rf"\bglobal\b[^\n]*\b{re.escape(name)}\b"))


def parsed(node: ast.stmt, name: str) -> ast.expr | None:
    """``args, rest = parser.parse_known_args()``: the call, for the first of the names."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    first = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) and node.targets[0].elts else None
    return node.value if first is not None and dotted(first) == name else None
