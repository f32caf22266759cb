"""PPF508, of a list of names that is built once: an optimizer searches it for each parameter, at each step."""

from __future__ import annotations

import ast
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.findings import Related
from perflint.flow.may_be import may_rebind, may_set
from perflint.flow.sources import ValueSource, sources
from perflint.flow.uses import Use, UseKind, UseSearch, is_stored, uses
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.syntax.bindings import mentions_in
from perflint.syntax.names import dotted
from perflint.syntax.tree import walk

RULE = shipped()["PPF508"]


def is_membership(node: ast.Compare) -> bool:
    """Whether a comparison is one ``in``, or one ``not in``."""
    return isinstance(node.ops[0], (ast.In, ast.NotIn)) and len(node.ops) == 1


def is_shared(name: str, at: Place) -> bool:
    """Whether something besides its function, or its module, may bind a name to another value."""
    shared = (item for item in walk(at.scope.node) if isinstance(item, (ast.Global, ast.Nonlocal)))
    is_of_module = isinstance(at.scope.node, ast.Module)
    return any(name in item.names for item in shared) or (is_of_module and may_rebind(at.file, name))


def searched_list(function: ast.Lambda, at: Place) -> ValueSource | None:
    """The list of parameters' names, built before, that a lambda looks its argument up in."""
    for item in walk(function.body):
        if isinstance(item, ast.Compare) and is_membership(item):
            found = [*sources(item.comparators[0], at)]
            element = getattr(found[0].node, "elt", None) if len(found) == 1 else None
            if (
                isinstance(element, ast.Attribute)
                and element.attr == "name"
                and isinstance(found[0].node, ast.ListComp)
            ):
                return found[0]
    return None


def report_search(searched: ValueSource, shown: ast.AST, parameter: str, context: Context) -> None:
    """Report a list that is searched from its beginning for each parameter; the edit makes it a set."""
    found, place, fix = searched.node, searched.place, RULE.words("searched")
    if place.file is context.file and _is_only_searched(found, place):
        edits = context.instead(found, f"{{{place.file.source.code(found)[1:-1]}}}")
        fix = replace(RULE.fix(edits), message=fix.message)
    related = (Related(place.file.path, found.lineno, "builds the list"),)
    message, event = RULE.texts["searched"], "searched names"
    context.report(fix, shown, parameter=parameter, related=related, event=event, message=message)


def _is_only_searched(found: ast.expr, place: Place) -> bool:
    """Whether a list is used for nothing but ``in``, under the one name or attribute that it is bound to."""
    node, file = place.statement.node if place.statement is not None else None, place.file
    target = node.targets[0] if isinstance(node, ast.Assign) and node.value is found and not node.targets[1:] else None
    is_once = False
    if isinstance(target, ast.Attribute):
        items = (item for item in walk(file.tree) if isinstance(item, ast.Attribute) and item.attr == target.attr)
        is_once = not any(is_stored(item) for item in items if item is not target)
        is_once = is_once and dotted(target.value) == "self" and not may_set(file.project, target.attr)
    elif isinstance(target, ast.Name):
        stores = (each.node for each in mentions_in(place.scope).get(target.id, ()) if not each.is_read)
        is_of_module = isinstance(place.scope.node, ast.Module)
        is_once = [*stores] == [target] and not is_shared(target.id, place)
        is_once = is_once and not (is_of_module and {*file.project.mentions.of(target.id)} - {file})
    read = [use for use in uses(found, place, through=_UnderItsName()) if use.kind is not UseKind.BOUND]
    return is_once and bool(read) and all(_is_looked_up(use) for use in read)


class _UnderItsName(UseSearch):
    """Follows a list to the places that read the name, or the attribute, that it is bound to."""

    everywhere = True

    def follows(self, use: Use) -> bool:
        """Whether a name, or an attribute of its object, is bound to it."""
        return use.kind in (UseKind.BOUND, UseKind.STORED)


def _is_looked_up(use: Use) -> bool:
    return isinstance(use.around, ast.Compare) and is_membership(use.around) and use.around.comparators[0] is use.node
