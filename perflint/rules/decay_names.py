"""PPF508: a function that an optimizer calls for each parameter: it goes through the whole network, or a list."""

from __future__ import annotations

import ast

from perflint.catalogue import shipped
from perflint.findings import Edits, Level, Related
from perflint.flow.calls import CallGraph
from perflint.flow.may_be import may_set
from perflint.flow.sources import function_of, sources
from perflint.flow.uses import Use, UseKind, UseSearch, ends, uses
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import At, named, rule
from perflint.lint.statement_code import Instead
from perflint.query import query
from perflint.rules.arguments import shown_argument
from perflint.rules.edits import has_own_rows, insert_row_above, rows_inside_strings
from perflint.rules.searched_names import is_membership, is_shared, report_search, searched_list
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
