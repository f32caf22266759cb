"""PPF508: a function that an optimizer calls for each parameter: it goes through the whole network, or a list."""

from __future__ import annotations

import ast
from dataclasses import replace

from perflint.catalogue import shipped
from perflint.findings import Edits, Level, Related
from perflint.flow.calls import CallGraph
from perflint.flow.may_be import may_rebind, may_set
from perflint.flow.sources import ValueSource, function_of, sources
from perflint.flow.uses import Use, UseKind, UseSearch, ends, is_stored, uses
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import At, named, rule
from perflint.lint.statement_code import Instead
from perflint.query import query
from perflint.rules.arguments import shown_argument
from perflint.rules.edits import has_own_rows, insert_row_above, rows_inside_strings
from perflint.syntax.bindings import mentions_in, plain_assignment
from perflint.syntax.names import dotted, plain_names, stored_names
from perflint.syntax.parameters import all_parameters, argument_of, arguments_of
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import calls_in, walk

RULE = shipped()["PPF508"]
_ASKED = {
    "paddle.optimizer.AdamW": ("apply_decay_param_fun", "lr_ratio"),
    "paddle.optimizer.Lamb": ("exclude_from_weight_decay_fn",),
}
"""The arguments, passed by keyword, that are called for each parameter of the network at each step."""
_LISTS = frozenset({"named_parameters", "parameters"})
_WALKS = _LISTS | {"named_sublayers", "sublayers", "state_dict"}
_NAMES = ("decay_params", "parameter_names", "collected_names")
"""What the fix may call the names: the first that the file does not use yet, another for each lambda."""
_STAYS = _LISTS | {"name", "shape", "ndim", "endswith", "startswith", "lower", "split"}
_BUILTINS = frozenset({"any", "all", "len"})
"""What may be read of a network and its parameters to collect the same names at each step."""
_UPDATES = frozenset({"step", "minimize", "unscale_"})
_RENAMES_NOTHING = _UPDATES | frozenset(
    {"train", "eval", "state_dict", "set_state_dict", "set_dict", "load_dict", "save_pretrained"}
    | {"clear_grad", "clear_gradients", "get_lr", "set_lr"}
)
"""Methods of networks and optimizers after which all parameters have the names that they had."""


@rule(RULE.code, at=At.ANYWHERE, names=named(*_ASKED, code=RULE.code))
def names_collected_again(call: ast.Call, context: Context) -> None:
    """Report ``AdamW(..., apply_decay_param_fun=lambda x: x in [p.name for ... in model.named_parameters()])``."""
    for parameter in () if context.file.is_offline or context.file.is_static else _ASKED.get(context.callee(call), ()):
        given = argument_of(call, parameter, None)
        for source in sources(given, context.place) if given is not None else ():
            node, called = source.node, function_of(source, source.node)
            at = called or source.place
            inside = _walks_of(node.body, at) if isinstance(node, ast.Lambda) else ()
            walks = _walks_in(called) if called is not None else inside
            if given is not None and walks:
                edits, is_safe = _edits(node, at, call, context) if isinstance(node, ast.Lambda) else ((), False)
                fix = RULE.fix(edits) if is_safe else RULE.fix(edits, Level.UNSAFE, RULE.texts["reason"])
                related = (Related(at.file.path, walks[0].lineno, "goes through the network"),)
                shown = shown_argument(call, given)
                context.report(fix if edits else RULE.words(), shown, parameter=parameter, related=related)
                break
            searched = searched_list(node, at) if isinstance(node, ast.Lambda) else None
            if given is not None and searched is not None:
                report_search(searched, shown_argument(call, given), parameter, context)
                break


@query(cycle=())  # a function that calls itself goes nowhere else
def _walks_in(at: Place) -> tuple[ast.Call, ...]:
    """The calls that go through a network in each run of a function, unless it keeps what it has found."""
    always = (
        each
        for each in at.scope.statements
        if not any(isinstance(link.node, (ast.If, ast.Try)) for link in each.around)
    )
    walks = (call for each in always for call in each.calls if _walks(call, at))
    return () if isinstance(at.scope.node, ast.Module) or at.scope.decorators else tuple(walks)


def _walks_of(node: ast.expr, at: Place) -> tuple[ast.Call, ...]:
    return tuple(call for call in calls_in(node) if _walks(call, at.function))


def _walks(call: ast.Call, at: Place) -> bool:
    called = CallGraph.of(at.file.project).called(at, call.func)
    return terminal(call) in _WALKS if called is None else bool(_walks_in(called))


def _edits(function: ast.Lambda, at: Place, call: ast.Call, context: Context) -> tuple[Edits, bool]:
    """The edits that collect the names above the statement of a lambda, and whether that is safe; none if it cannot."""
    statement, source = at.statement, context.file.source
    written = [edit.content for draft in context.drafts if draft.fix is not None for edit in draft.fix.edits]
    taken = context.file.identifiers.union(*(content.split()[:1] for content in written))
    name = next((one for one in _NAMES if one not in taken), "")
    compares = [item for item in walk(function.body) if isinstance(item, ast.Compare) and _has_a_list(item)]
    if statement is None or at.scope is not context.place.scope or not name or len(compares) != 1:
        return (), False
    [compare], [collected] = compares, compares[0].comparators
    free = plain_names(collected) - stored_names(collected)
    nested = (item for item in statement.path_to(function) if isinstance(item, (ast.Lambda, ast.comprehension)))
    own = {item.arg for item in walk(function.args) if isinstance(item, ast.arg)}
    text = source.code(compare)
    if (
        any(nested)
        or free & own
        or _walks_of(function.body, at) != _walks_of(collected, at)
        or not has_own_rows(statement.node, source)
    ):
        return (), False
    if not all(_is_known(each, at, statement) for each in free) or hasattr(statement.node, "body"):
        return (), False
    if "#" in text or "\\" in text or rows_inside_strings(source, *context.rows(collected)):
        return (), False
    text, element = source.code(collected), getattr(collected, "elt", None)
    opened, closed = "{}" if isinstance(element, ast.Attribute) and element.attr == "name" else (text[0], text[-1])
    row = " ".join(part.strip() for part in text[1:-1].splitlines()).strip()
    operator = "in" if isinstance(compare.ops[0], ast.In) else "not in"
    looked_up = Instead(compare, f"{source.code(compare.left)} {operator} {name}")
    above = insert_row_above(source, statement.node, f"{name} = {opened}{row}{closed}")
    return (above, *context.edits(looked_up)), _is_safe(collected, statement, call, context)


def _has_a_list(node: ast.Compare) -> bool:
    return is_membership(node) and isinstance(node.comparators[0], (ast.ListComp, ast.SetComp))


def _is_known(name: str, at: Place, statement: Statement) -> bool:
    """Whether a name is bound above a statement, if its function binds it at all."""
    stores = [each.statement for each in mentions_in(at.scope).get(name, ()) if not each.is_read]
    return not stores or name in all_parameters(at.scope) or stores[0].start < statement.start


def _is_safe(collected: ast.expr, statement: Statement, call: ast.Call, context: Context) -> bool:
    """Whether the names of a local network stay the same for all steps.

    Its optimizer has all of its parameters, and this function, and those that it calls, use both in known ways alone.
    """
    names, given = plain_names(collected) - stored_names(collected), argument_of(call, "parameters", None)
    models, made = names - _BUILTINS, plain_assignment(context.here.statement.node)
    read = {each.attr for each in walk(collected) if isinstance(each, ast.Attribute)}
    if made is None or made[1] is not call or len(models) != 1 or not read <= _STAYS:
        return False
    [model], place, loop = models, context.place, statement.loop or context.here.statement.loop
    is_whole = isinstance(given, ast.Call) and dotted(given.func) == f"{model}.parameters" and not arguments_of(given)
    if loop is not None or not is_whole or any(map(context.file.names.is_bound, names & _BUILTINS)):
        return False
    own = (statement, context.here.statement)
    found = [(name, use) for name in (model, made[0]) for use in ends(uses(name, place, through=_Everywhere()))]
    return _is_bound_once(model, place, statement) and all(_keeps(use, name == model, own) for name, use in found)


def _is_bound_once(name: str, at: Place, statement: Statement) -> bool:
    """Whether a local name always means the same from a statement on."""
    stores = [each.statement for each in mentions_in(at.scope).get(name, ()) if not each.is_read]
    is_own = bool(stores) or name in all_parameters(at.scope)
    return is_own and not is_shared(name, at) and all(each.start < statement.start for each in stores)


class _Everywhere(UseSearch):
    """Follows a network, or an optimizer, into the functions that get it, and to other names for it."""

    everywhere = True

    def follows(self, use: Use) -> bool:
        """Whether a name is bound to it, or a call gets it."""
        return use.kind in (UseKind.BOUND, UseKind.ARGUMENT)


def _keeps(use: Use, is_network: bool, own: tuple[Statement, ...]) -> bool:
    """Whether a use renames no parameter, and hands the value to nothing that is unknown; ``own``: what is edited."""
    if isinstance(use.around, ast.Attribute):
        is_own = use.statement in own or not may_set(use.file.project, "name")
        return use.around.attr in (_RENAMES_NOTHING | _LISTS if is_own else _RENAMES_NOTHING)
    if isinstance(use.around, ast.Call) and use.kind is UseKind.ARGUMENT:
        return not is_network and terminal(use.around) in _UPDATES
    return use.kind in (UseKind.CALLED, UseKind.BOUND) or (is_network and use.kind is UseKind.RETURNED)


# PPF508, of a list of names that is built once: an optimizer searches it for each parameter, at each step.


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
