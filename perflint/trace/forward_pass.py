"""Where the forward pass of a training step begins: the call that ``auto_cast`` has to go around.

In ``out = net(x); loss = F.cross_entropy(out, y); loss.backward()`` that is ``net(x)``. Where the step calls something
else that runs the model, such as ``render(rays)`` or ``self.forward()``, it is this call, which the trace shows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.facts.entry_points import EntryPoint
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Loop, Scope
from perflint.syntax.tree import calls_in
from perflint.syntax.vocabulary import means_loss, means_model
from perflint.trace.step_trace import (
    Alternatives,
    Launches,
    Node,
    Repeat,
    StepCall,
    Summary,
    Unknown,
    all_nodes,
    of_loop,
    reached,
)

_RUNS = ("forward", "__call__")
_HIGHER = re.compile("hessian|jvp|vjp")
_ON_SPECTRA = re.compile(r"(stft|fft|spectral).*loss", re.IGNORECASE)


class Begins(NamedTuple):
    """Where a forward pass begins: an expression, and the statement around it."""

    node: ast.expr
    place: Place


def forward_pass(entry: EntryPoint) -> Begins | None:
    """The call that the forward pass of a training step begins with; None if none is known."""
    return _begins(entry.driven_from, entry)


@query
def _begins(driver: FileIndex, entry: EntryPoint) -> Begins | None:
    if entry.model_call is not None:
        statement, call = entry.model_call
        return Begins(call, Place(entry.file, entry.scope, statement))
    trace = of_loop(Place(driver, entry.driver), entry.loop)
    found = next(_running(trace.nodes, entry, set()), None)
    if found is not None or not entry.forward:
        return found
    first = next((each for each in entry.scope.statements if each.node is entry.forward[0]), None)
    begun = next(iter(calls_in(entry.forward[0])), None)
    return None if begun is None or first is None else Begins(begun, Place(entry.file, entry.scope, first))


def _running(nodes: Sequence[Node], entry: EntryPoint, seen: set[Summary]) -> Iterator[Begins]:
    """The calls that run a model and not the backward pass of the step, in order; those in such calls are left out.

    ``seen``: what other calls have led to; each function is searched once, since one may call itself.
    """
    for node in nodes:
        if isinstance(node, Repeat):
            yield from _running(node.body, entry, seen)
        elif isinstance(node, Alternatives):
            for _, arm in node.arms:
                yield from _running(arm, entry, seen)
        elif isinstance(node, StepCall):
            leading = [each for each in node.reached if _leads_to(each, entry)]
            if leading:
                for summary in leading:
                    if summary not in seen:
                        seen.add(summary)
                        yield from _running(summary.nodes, entry, seen)
            elif _comes_before(node, entry) and _runs_model(node):
                yield Begins(node.node, node.place)
        elif isinstance(node, (Launches, Unknown)) and _comes_before(node, entry) and _names_model(node.node):
            yield Begins(node.node, node.place)


@query
def has_second_derivatives(at: Place, loop: Loop) -> bool:
    """Whether a step multiplies by second derivatives, by the names of what it calls: differences need float32."""
    return any(_HIGHER.search(each.function.scope.name.lower()) for each in reached(of_loop(at, loop).nodes))


def compares_spectra(entry: EntryPoint) -> bool:
    """Whether a loss of a step works on spectra, by the names of what it calls: their logarithms need float32."""
    return _compares_spectra(Place(entry.driven_from, entry.driver), entry.loop, entry.scope)


@query
def _compares_spectra(at: Place, loop: Loop, scope: Scope) -> bool:
    met = reached(of_loop(at, loop).nodes)
    own = next((reached(each.nodes) for each in met if each.function.scope is scope), met)
    scopes = [each.function.scope for each in own]
    names = [name for each in scopes for name in (each.name, each.owner.name if each.owner is not None else "")]
    return any(map(_ON_SPECTRA.search, names))


def _leads_to(function: Summary, entry: EntryPoint) -> bool:
    """Whether a function does the backward pass of a step, or leads to it: a loop may reach those of others, too."""
    return any(each.function.scope is entry.scope for each in (function, *reached(function.nodes)))


def _runs_model(call: StepCall) -> bool:
    """Whether a call leads to the forward pass of a layer, or to a call of a model that is not known."""
    for node in all_nodes([call]):
        if isinstance(node, StepCall) and any(_is_forward(each.function) for each in node.reached):
            return True
        if isinstance(node, (Launches, Unknown)) and _names_model(node.node):
            return True
    return False


def _comes_before(node: StepCall | Launches | Unknown, entry: EntryPoint) -> bool:
    """Whether a call does not come after the backward pass, or after the backward pass of another step."""
    is_beside = node.place.scope is entry.scope
    return not is_beside or node.node.lineno < entry.backward.node.lineno


def _is_forward(at: Place) -> bool:
    """Whether a function is the forward pass of a layer that does not just compute the loss."""
    owner = at.scope.owner
    if owner is None or at.scope.name not in _RUNS or means_loss(owner.name):
        return False
    return Modules.of(at.file.project).kind_of_instance(at.file, owner).tag == LAYER_TAG


def _names_model(node: ast.expr) -> bool:
    """Whether a call has the name of a model."""
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    return name is not None and means_model(name.rpartition(".")[2])
