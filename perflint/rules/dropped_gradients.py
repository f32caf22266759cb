"""PPF509 and PPF914: gradients that no optimizer uses: of another network, or of a layer that is not really frozen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import NoGrad, carried, is_switched, uncut
from perflint.findings import Confidence, Edit, Related
from perflint.flow.sources import sources
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules.edits import has_own_rows, indentation, one_level
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import is_literal, walk
from perflint.training.steps import Point

RULE = shipped()["PPF509"]
_STEPS, _CLEARS = frozenset({"step", "minimize"}), frozenset({"clear_grad", "clear_gradients"})
_FREEZES = ("stop_gradient", "requires_grad", "trainable", "freeze")
"""Words of code that decides which weights get gradients."""
_OPTIMIZER = re.compile(r"paddle\.(fluid\.)?optimizer\.\w+$")

# Finds which networks an optimizer trains, which of them a loss goes through, and what becomes of their gradients.

Networks = frozenset[ast.expr]
"""Networks by what creates them."""


class _Act(NamedTuple):
    """Something that computes, uses or clears gradients: ``kind`` is the name of the method; whose gradients."""

    statement: Statement
    call: ast.Call
    kind: str
    networks: Networks


class Dropped(NamedTuple):
    """Networks whose gradients are dropped: as written, the rows of their calls, and who clears them.

    ``comes_first``: the networks that are trained then get their results, so these could be detached.
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    cleared: ast.Call
    comes_first: bool


@query
def dropped(at: Place) -> dict[ast.Call, Dropped]:
    """What each backward pass of a function computes in vain, as far as the function itself shows all of it."""
    acts = _acts(at)
    stepped = [act for act in acts if act.kind in _STEPS]
    if len({act.networks for act in stepped}) < 2 or not all(act.networks for act in stepped):
        return {}
    if is_switched(at.file) or any(word in ast.unparse(each.node) for each in at.scope.statements for word in _FREEZES):
        return {}
    found = {}
    passes = [number for number, act in enumerate(acts) if act.kind == "backward"]
    for number, following in zip(passes, [*passes[1:], len(acts)], strict=True):
        trained = frozenset[ast.expr]().union(*(act.networks for act in acts[number:following] if act.kind in _STEPS))
        others = frozenset[ast.expr]().union(*(act.networks for act in stepped)) - trained
        later = [*acts[number + 1 :], *acts[:number]]
        if trained and others and (one := _dropped_by(acts[number], trained, others, later, at)) is not None:
            found[acts[number].call] = one
    return found


def _acts(at: Place) -> list[_Act]:
    """The backward passes of a function, the steps of optimizers, and what clears gradients, in order."""
    found = []
    for statement in at.scope.statements:
        for call in statement.calls:
            if not isinstance(call.func, ast.Attribute):
                continue
            kind, receiver = call.func.attr, call.func.value
            if kind == "backward":
                found.append(_Act(statement, call, kind, frozenset()))
            elif kind in _STEPS | _CLEARS:
                networks = _of_optimizer(receiver, at.before(statement))
                if networks is None and kind in _STEPS and call.args:  # scaler.step(optimizer)
                    networks = _of_optimizer(call.args[0], at.before(statement))
                if networks is None and kind in _CLEARS:
                    networks = _created(receiver, at.before(statement))
                if networks is not None:
                    found.append(_Act(statement, call, kind, networks))
    return sorted(found, key=lambda act: act.statement.start)


def _of_optimizer(node: ast.expr, at: Place) -> Networks | None:
    """The networks whose parameters an optimizer gets; empty if that is not known; None if it is no optimizer."""
    networks: set[ast.expr] = set()
    made = [source for source in sources(node, at) if _OPTIMIZER.match(source.qualified)]
    for source in made:
        call = source.node
        given = argument_of(call, "parameters", None) if isinstance(call, ast.Call) else None
        given = argument_of(call, "parameter_list", None) if given is None and isinstance(call, ast.Call) else given
        if given is None:
            return frozenset()
        for part in source.part(given).sources():
            owners = [
                item.func.value
                for item in walk(part.node)
                if isinstance(item, ast.Call)
                and isinstance(item.func, ast.Attribute)
                and item.func.attr == "parameters"
            ]
            if not owners:
                return frozenset()
            networks.update(each.node for owner in owners for each in part.part(owner).sources())
    return frozenset(networks) if made else None


def _created(node: ast.expr, at: Place) -> Networks:
    return frozenset(each.node for each in sources(node, at))


def _dropped_by(act: _Act, trained: Networks, others: Networks, later: Sequence[_Act], at: Place) -> Dropped | None:
    """What a backward pass computes for networks that the next step does not train, if that is cleared unused."""
    assert isinstance(act.call.func, ast.Attribute)
    names, rows, is_behind = dict[str, None](), list[int](), False
    cleared: ast.Call | None = None
    for statement, call, networks in _run_before(act, at, others):
        follows = next((each for each in later if each.kind != "backward" and each.networks & networks), None)
        if follows is None or follows.kind not in _CLEARS:
            return None  # the next step of its optimizer adds them to its own
        cleared = cleared or follows.call
        names[dotted(call.func) or ""] = None
        rows.append(at.file.row(call))
        reading = {name for value in arguments_of(call) for name in _with_graph(value)}
        is_behind = is_behind or any(True for _ in _calls_before(reading, statement, at, trained))
    if cleared is None:
        return None
    return Dropped(tuple(reversed(names)), tuple(dict.fromkeys(sorted(rows))), cleared, not is_behind)


def _run_before(act: _Act, at: Place, wanted: Networks) -> Iterator[tuple[Statement, ast.Call, Networks]]:
    """The calls of some networks that a loss goes through."""
    assert isinstance(act.call.func, ast.Attribute)
    own = {*_with_graph(act.call.func.value), *(name for value in act.call.args for name in _with_graph(value))}
    yield from _calls_before(own, act.statement, at, wanted)


def _calls_before(
    names: set[str], before: Statement, at: Place, wanted: Networks
) -> Iterator[tuple[Statement, ast.Call, Networks]]:
    """The calls of some networks from which names get values with a graph, the last ones first."""
    needed = set(names)
    for statement in sorted(at.scope.statements, key=lambda each: each.start, reverse=True):
        if statement.start >= before.start or statement.loop is not before.loop:
            continue
        bound = bound_by(statement.node)
        if needed.isdisjoint(bound):
            continue
        value = getattr(statement.node, "value", None)
        if not isinstance(value, ast.expr):
            continue
        is_always = not any(isinstance(link.node, ast.If) and link not in [*before.around] for link in statement.around)
        if is_always and not isinstance(statement.node, ast.AugAssign):
            needed -= set(bound)
        if NoGrad.of(at.file.project).over_statement(at, statement):
            continue
        needed |= _with_graph(value)
        for call in (item for item in carried(value) if isinstance(item, ast.Call)):
            networks = _created(call.func, at.before(statement)) & wanted
            if networks:
                yield statement, call, networks


def _with_graph(value: ast.expr) -> set[str]:
    """The names in an expression from which its value may get a graph: of ``out.logits.mean()`` also ``out``."""
    parts = [name.split(".") for name in filter(None, map(dotted, uncut(value)))]
    return {".".join(each[:length]) for each in parts for length in range(1, len(each) + 1)}


# PPF509: the finding.


def _in_vain(point: Point) -> Iterator[ast.Call]:
    calls = [call for call in point.statement.calls if terminal(call) == "backward"]
    found = dropped(point.place.function) if calls else {}
    return (call for call in calls if call in found)


@rule(RULE.code, at=At.STEP, find_at=_in_vain)
def dropped_gradients(call: ast.Call, context: Context) -> None:
    """Report ``generator_loss.backward()`` if it also computes gradients of the discriminator, which it drops."""
    found = dropped(context.here.function)[call]
    path, cleared = context.file.path, context.file.row(found.cleared)
    related = (
        *(Related(path, row, "the loss goes through it here") for row in found.rows),
        Related(path, cleared, "its gradients are cleared here, unused"),
    )
    names = ", ".join(f"`{name}`" for name in found.names)
    if found.comes_first:
        text, fix, event = RULE.texts["first"], RULE.words("first"), "pass through another network"
        context.report(fix, related=related, event=event, message=text, names=names, row=str(cleared))
    else:
        context.report(RULE.words(), related=related, names=names, row=str(cleared))


# PPF914: `stop_gradient` set on a layer, which freezes none of its parameters.

FROZEN = shipped()["PPF914"]
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


@rule(FROZEN.code, at=At.ANYWHERE, find=_set, claims=False, heeds_claims=False)
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
        fix = FROZEN.fix([edit]) if "parameter" not in context.file.identifiers else FROZEN.words("by hand")
    else:
        fix = FROZEN.words("by hand")
    context.report(fix, confidence=Confidence.HIGH, costs_on_cpu=True, name=name)
