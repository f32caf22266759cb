"""Finds numbers without running code: constants, arithmetic, attributes, and parameters left at their defaults."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.constant_values import ValueOrigin
from perflint.dataflow.constants import Constants
from perflint.dataflow.sole_binding import ReadPlace
from perflint.syntax.names import dotted
from perflint.syntax.parameters import is_spread
from perflint.syntax.scopes import Scope
from perflint.syntax.vocabulary import is_given_by_data

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

Parameter = tuple["FileIndex", Scope, str]


@dataclass(frozen=True)
class Size:
    """A number that is known, or (``value`` is None) something else, such as a list of them.

    ``assumed``: the parameters that are assumed to have their defaults. ``given``: it depends on an argument of the
    examined function. ``attribute``: it came through an attribute of an object.
    """

    value: float | None
    assumed: frozenset[Parameter] = frozenset()
    given: bool = False
    attribute: bool = False

    @property
    def width(self) -> int | None:
        """The number as a width, None if it is not a whole number."""
        return self.value if isinstance(self.value, int) else None


def size_of(node: ast.expr | None, place: ReadPlace) -> Size | None:
    """The number that an expression evaluates to, None if the code does not show it or the data decide."""
    value = Constants.of(place.file.project).by_default(node, place) if node is not None else None
    if value is None or isinstance(value.value, (bool, str)) or value.value is None:
        return None
    if any(is_given_by_data(step.name.rpartition(".")[2]) for step in value.steps):
        return None
    origins = {step.origin for step in value.steps}
    assumed = {
        (*step.function, step.name)
        for step in value.steps
        if step.origin is ValueOrigin.DEFAULT and step.function is not None
    }
    number = value.value if isinstance(value.value, (int, float)) else None
    return Size(number, frozenset(assumed), ValueOrigin.ARGUMENT in origins, ValueOrigin.ATTRIBUTE in origins)


def default_holds(parameter: Parameter) -> bool:
    """Whether every call of a class or function in the project leaves a parameter at its default.

    Also False if nothing in the project calls it: then a configuration may.
    """
    file, scope, name = parameter
    graph = CallGraph.of(file.project)
    calls = graph.calls(file, scope, Certainty.NAME)
    if not calls or graph.others(file, scope) is Certainty.SURE:
        return False
    return not any(site.argument(scope, name) is not None or is_spread(site.call) for site in calls)


def is_super_init(call: ast.Call) -> bool:
    """Whether a call is ``super().__init__(...)``."""
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "__init__"
        and isinstance(func.value, ast.Call)
        and dotted(func.value.func) == "super"
    )
