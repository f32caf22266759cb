"""Finds which part of a training step a statement is: reading a batch, forward, backward, or updating weights."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from perflint.facts.gradient_graphs import ModelRuns
from perflint.flow.calls import CallGraph
from perflint.index.project import FileIndex, Place
from perflint.syntax.names import dotted, names_in
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_loader, means_scaler
from perflint.training import evidence
from perflint.training.training_calls import TrainingCalls

READER, FORWARD, BACKWARD, OPTIMIZER = "reader", "forward", "backward", "optimizer"
"""The names of the ranges, in the order of a step."""
CLEAR = "clear"
"""Clearing gradients, which may be anywhere in a step, belongs to the optimizer's range."""
_ORDER = (READER, FORWARD, BACKWARD, OPTIMIZER)
_SCHEDULER = re.compile(r"sched|(?:^|[._])lr", re.IGNORECASE)


@dataclass(frozen=True)
class Inside:
    """A call of a function in the same file that does the step: the ranges are put into that function."""

    function: Scope


@dataclass(frozen=True)
class Elsewhere:
    """A call of a function in another file, or of Paddle, that does the step: it gets one range with its name."""

    name: str
    file: FileIndex | None = None


Part = str | Inside | Elsewhere


class Phases:
    """Finds which parts of a step the statements of one function are."""

    def __init__(self, at: Place) -> None:
        self._file = at.file
        self._scope = at.scope

    @cached_property
    def _statements(self) -> dict[ast.stmt, Statement]:
        return {statement.node: statement for statement in self._scope.statements}

    def own(self, node: ast.stmt) -> frozenset[Part]:
        """The parts in a statement's own expressions, without nested statements."""
        statement = self._statements.get(node)
        if statement is None:  # an import, or the definition of a function or class
            return frozenset()
        parts = {part for call in statement.calls for part in self._of(statement, call)}
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(map(_casts, statement.calls)):
            parts.add(FORWARD)
        return frozenset(parts)

    def inside(self, node: ast.stmt) -> frozenset[Part]:
        """The parts in a statement, including all nested statements."""
        return frozenset().union(*(self.own(item) for item in walk(node) if isinstance(item, ast.stmt)))

    def _of(self, statement: Statement, call: ast.Call) -> Iterator[Part]:
        plain = _plain(call)
        if plain:
            yield from plain
        elif _draws_next(call):
            yield READER
        elif TrainingCalls.of(self._file.project).call_trains(Place(self._file, self._scope), call):
            yield self._step(call)
        elif ModelRuns.of(self._file.project).runs_model(Place(self._file, self._scope), call) is not None:
            yield FORWARD

    def _step(self, call: ast.Call) -> Part:
        """The part for a call that does a whole step, or the second half of one."""
        reached = CallGraph.of(self._file.project).reached(Place(self._file, self._scope), call)
        trains = TrainingCalls.of(self._file.project).trains
        found = [place for place in reached if trains(place)]
        if len(found) == 1 and can_hold_ranges(found[0]):
            home, function = found[0].file, found[0].scope
            return Inside(function) if home is self._file else Elsewhere(function.name, home)
        if found and all(_only_updates(place.scope) for place in found):
            return OPTIMIZER
        return Elsewhere(terminal(call) or "step", found[0].file if found else None)


def can_hold_ranges(at: Place) -> bool:
    """Whether a function does parts of a step by its own calls, in Python and not as a graph (``to_static``)."""
    if isinstance(at.scope.node, ast.Module):
        return False
    decorators = (
        dotted(each.func if isinstance(each, ast.Call) else each) or "" for each in at.scope.node.decorator_list
    )
    if any(name.endswith("to_static") for name in decorators):
        return False
    parts = frozenset[str]().union(*map(_plain, at.scope.calls))
    trains = TrainingCalls.of(at.file.project).call_trains
    return BACKWARD in parts or (bool(parts) and any(not _plain(call) and trains(at, call) for call in at.scope.calls))


def _only_updates(scope: Scope) -> bool:
    parts = frozenset[str]().union(*map(_plain, scope.calls))
    return OPTIMIZER in parts and BACKWARD not in parts


def _plain(call: ast.Call) -> frozenset[str]:
    """The parts of a call, judging by its name."""
    if terminal(call) == "backward" and isinstance(call.func, ast.Attribute) and not _is_method(call):
        return frozenset({BACKWARD})
    if evidence.scales_loss(call):
        return frozenset({BACKWARD, OPTIMIZER})
    if terminal(call) in evidence.CLEARS:
        return frozenset({CLEAR})
    return frozenset({OPTIMIZER}) if _updates(call) else frozenset()


def _draws_next(call: ast.Call) -> bool:
    """Whether a call draws a batch: ``next(batches)`` and ``next(iter(loader))``, but not ``next(iter(sizes))``."""
    if not isinstance(call.func, ast.Name) or call.func.id != "next" or not call.args:
        return False
    source = call.args[0]
    if isinstance(source, ast.Call):
        return any(map(means_loader, names_in(source)))
    return isinstance(source, (ast.Name, ast.Attribute, ast.Subscript))


def named(parts: frozenset[Part]) -> str:
    """The name of a range around these parts: ``backward and optimizer``."""
    known = [part for part in _ORDER if part in parts or (part == OPTIMIZER and CLEAR in parts)]
    others = {part.name for part in parts if isinstance(part, Elsewhere)}
    others |= {part.function.name for part in parts if isinstance(part, Inside)}
    return " and ".join([*known, *sorted(others)])


def _updates(call: ast.Call) -> bool:
    """Whether a call updates weights, or belongs to the update: of a scaler or a learning rate."""
    last = terminal(call)
    if evidence.takes_optimizer_step(call):
        return last != "step" or not _is_method(call)
    owner = dotted(call.func.value) or "" if isinstance(call.func, ast.Attribute) else ""
    return (last == "update" and means_scaler(owner)) or (last == "step" and bool(_SCHEDULER.search(owner)))


def _is_method(call: ast.Call) -> bool:
    """Whether a method of the object itself is called (``self.backward()``), or of its base class."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Call):
        return dotted(owner.func) == "super"
    return dotted(owner) == "self" if owner is not None else False


def _casts(call: ast.Call) -> bool:
    """``paddle.amp.auto_cast()``, which surrounds the forward pass."""
    return terminal(call) in ("auto_cast", "amp_guard", "autocast")
