"""Clues: the calls that make a function of a forward pass worth checking, because it costs time to follow calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from perflint.flow.calls import CallGraph
from perflint.flow.values import Values
from perflint.index.kinds import EITHER, LAYER_TAG, Kind
from perflint.index.modules import Modules
from perflint.index.project import Place
from perflint.query import query
from perflint.syntax.names import dotted, stored_names
from perflint.syntax.scopes import Scope, Statement, candidates, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training, is_trial
from perflint.training.evidence import terminal_names

# Clues: the calls that make a forward pass worth checking: they cost time, or Python tests their result.

PICKS = frozenset({"max", "min", "sorted"})
"""Functions of Python that decide by themselves."""

MATH = frozenset({"isnan", "isfinite", "isinf"})
"""Functions of ``math`` that need the value of their argument."""


@dataclass(frozen=True)
class Clues:
    """Last names of calls.

    ``decided``: those that matter only if Python tests their result. ``sure``: only code that a call certainly reaches
    is checked, since findings elsewhere would not be shown. ``close``: those that are not worth following a forward
    pass through functions without them.
    """

    calls: frozenset[str] = frozenset()
    decided: frozenset[str] = frozenset()
    sure: bool = False
    close: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        """The last names of all calls that matter."""
        return self.calls | self.decided

    def are_in(self, statements: list[Statement], are_far: bool = False) -> bool:
        """Whether the statements of a function contain such a call, and, if needed, the decision.

        ``are_far``: a call that is also searched for behind other calls.
        """
        called = frozenset().union(*map(terminal_names, statements))
        if not called.isdisjoint(self.calls - self.close if are_far else self.calls):
            return True
        return not called.isdisjoint(self.decided) and self._are_decided(statements)

    def _are_decided(self, statements: list[Statement]) -> bool:
        bound = {
            name
            for statement in statements
            if isinstance(statement.node, (ast.Assign, ast.AnnAssign))
            and not terminal_names(statement).isdisjoint(self.decided)
            for name in stored_names(statement.node)
        }
        found = (candidate for statement in statements for candidate in candidates(statement.node))
        return any(self._is_decided(expression, asked, bound) for expression, asked in found)

    def _is_decided(self, expression: ast.expr, asked: bool, bound: set[str]) -> bool:
        """Whether an expression tests the result of such a call, or a name bound to it."""
        if isinstance(expression, ast.Call):
            if dotted(expression.func) in PICKS:
                return True
            if not asked and terminal(expression) not in MATH:
                return False  # a call does not test its arguments
        return any(
            (isinstance(item, ast.Name) and item.id in bound)
            or (isinstance(item, ast.Call) and terminal(item) in self.decided)
            for item in walk(expression)
        )


# Finds whether a function of a forward pass leads to a call that a rule may report, directly or through calls.

_MAKING = ("__init__", "__call__")
"""What runs when a class or an instance of it is called."""


@query
def clues_ahead(at: Place, clues: Clues, caller: Scope) -> bool:
    """Whether a function contains a clue, or reaches one worth following.

    A close clue counts if the caller is a forward pass or contains one itself. This test uses no kinds of values, so it
    is cheap; the look at the function, which is expensive, then finds which calls really run.
    """
    if _leads_on(at, clues):
        return True
    if caller.name == "forward" or clues.are_in(caller.statements):
        return clues.are_in(at.scope.statements)
    return clues.are_in(at.scope.statements, are_far=True)


@query(cycle=False)
def _leads_on(at: Place, clues: Clues) -> bool:
    """Whether a function reaches a clue worth following through the functions that it calls."""
    return any(
        clues.are_in(target.scope.statements, are_far=True) or _leads_on(target, clues)
        for call in at.scope.calls
        for target in _called(at, call, clues)
    )


@query
def is_worth_a_look(at: Place, clues: Clues) -> bool:
    """Whether a forward pass, or a function that it calls, contains a clue or leads to one."""
    called = (target for call in at.scope.calls for target in _called(at, call, clues))
    return any(clues.are_in(place.scope.statements) for place in chain([at], called)) or _leads_on(at, clues)


@query(cycle=False)
def has_parts_worth_a_look(at: Place, clues: Clues) -> bool:
    """Whether a layer that a forward pass runs, or one inside that, has a forward pass worth checking.

    All layers that the object holds count, whether it runs them or not.
    """
    file, owner = at.file, at.scope.owner
    if owner is None:
        return False
    modules, values = Modules.of(file.project), Values.of(file.project)
    kind = modules.kind_of_instance(file, owner).type
    held = (values.attribute(kind, name) for name in owner.attributes)
    parts = (modules.method(part, "forward") for each in held for part in _layers_in(each))
    found = (part for part in parts if part is not None)
    return any(is_worth_a_look(part, clues) or has_parts_worth_a_look(part, clues) for part in found)


def _layers_in(kind: Kind | None) -> Iterator[str]:
    """The classes of the layers that a value is, or contains."""
    if kind is not None:
        yield from filter(None, kind.type.split(EITHER) if kind.tag == LAYER_TAG else ())
        for item in kind.items:
            yield from _layers_in(item)


@query
def _called(at: Place, call: ast.Call, clues: Clues) -> tuple[Place, ...]:
    """The functions of the project that a call of a function may reach."""
    found = CallGraph.of(at.file.project).callees(at, call)
    followed = (target for target in found if target.sure or not clues.sure)
    places = (target.place for target in followed if target.scope.name != "forward" and is_followed(target.place))
    return tuple(dict.fromkeys(place for place in places if place.scope is not at.scope))


def is_followed(at: Place, shares_step: bool = False) -> bool:
    """Whether the calls of a function are followed: not into an evaluation, and not into making a layer.

    ``shares_step``: a training step passes its batch on to it, whatever its name says.
    """
    owner = at.scope.owner
    if at.file.is_quiet or at.file.is_foreign or not (shares_step or _is_part_of_steps(at.scope)):
        return False
    if owner is not None and at.scope.name in _MAKING:
        return Modules.of(at.file.project).kind_of_instance(at.file, owner).tag != LAYER_TAG
    return True


def _is_part_of_steps(function: Scope) -> bool:
    """Whether the name of a function allows it to be part of a training step."""
    name = function.name
    return "epoch" not in name and not is_no_training(name) and not is_trial(name)
