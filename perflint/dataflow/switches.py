"""Switches: whether a test or an argument is on by default, and who could turn it on."""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import default_of, is_spread
from perflint.syntax.scopes import Place, Scope, Statement, headers
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MAX_DEPTH = 6
_MOST_CALLERS = 2


class Setter(enum.IntEnum):
    """Who decides about a value."""

    NOBODY = 0
    """It is written down: a constant."""
    CALLERS = 1
    """A parameter that every known caller leaves at its default."""
    USER = 2
    """An option, an entry of a configuration, or something that is not known."""


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


class State(enum.IntEnum):
    """Whether something is switched on, ordered."""

    OFF = 0
    UNSET = 1
    """Off, and nothing in the project turns it on although a caller could."""
    OPTIONAL = 2
    """The user turns it on; off, or not known, by default."""
    ON = 3


@dataclass(frozen=True)
class Value:
    """The value an expression has by default (``UNKNOWN``: cannot be told), and who could change it."""

    value: Any
    setter: Setter

    @property
    def state(self) -> State:
        """What it says as a switch."""
        if self.value is UNKNOWN:
            return State.OPTIONAL
        if self.value:
            return State.ON
        return {Setter.NOBODY: State.OFF, Setter.CALLERS: State.UNSET, Setter.USER: State.OPTIONAL}[self.setter]


_OPEN = Value(UNKNOWN, Setter.USER)
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


class Switches(Part):
    """Answers for one project; what was asked once is kept."""

    def state_of_place(self, call: ast.Call, statement: Statement, scope: Scope, file: FileIndex) -> State:
        """Whether a call is reached by default, as far as the tests around it in its function say."""
        found = State.ON
        for test, truth in (*_tests_of_place(statement.place), *_tests_within(call, statement)):
            value = self.default_of(test, scope, file)
            found = min(found, (value if truth else _inverted(value)).state)
        return found

    @query
    def state_of_calls(self, scope: Scope, file: FileIndex, depth: int = 0) -> State:
        """Whether a function is called by default, as far as the tests around its calls say."""
        if isinstance(scope.node, ast.Module) or scope.name.startswith("__") or depth >= _MOST_CALLERS:
            return State.ON
        states = [
            min(
                self.state_of_place(site.call, site.statement, site.scope, site.file),
                self.state_of_calls(site.scope, site.file, depth + 1),
            )
            for site in CallGraph.of(self._project).calls(file, scope, Certainty.NAME)
        ]
        return max(states, default=State.ON)

    def default_of(self, node: ast.expr, scope: Scope, file: FileIndex, depth: int = 0) -> Value:
        """The value that an expression has when nobody changes a default."""
        if depth > _MAX_DEPTH:
            return _OPEN
        if isinstance(node, ast.Constant):
            return Value(node.value, Setter.NOBODY)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            items = [item.value for item in node.elts if isinstance(item, ast.Constant)]
            return Value(tuple(items), Setter.NOBODY) if len(items) == len(node.elts) else _OPEN
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _inverted(self.default_of(node.operand, scope, file, depth + 1))
        if isinstance(node, ast.BoolOp):
            parts = [self.default_of(part, scope, file, depth + 1) for part in node.values]
            return (min if isinstance(node.op, ast.And) else max)(parts, key=lambda part: part.state)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node, scope, file, depth)
        if isinstance(node, ast.Call):
            return self._call(node, scope, file, depth)
        name = dotted(node)
        return self._name(name, node, scope, file, depth) if name is not None else _OPEN

    def _comparison(self, node: ast.Compare, scope: Scope, file: FileIndex, depth: int) -> Value:
        left = self.default_of(node.left, scope, file, depth + 1)
        right = self.default_of(node.comparators[0], scope, file, depth + 1)
        if left.value is UNKNOWN or right.value is UNKNOWN:
            return _OPEN
        try:
            return Value(bool(_COMPARE[type(node.ops[0])](left.value, right.value)), max(left.setter, right.setter))
        except TypeError:
            return _OPEN

    def _call(self, node: ast.Call, scope: Scope, file: FileIndex, depth: int) -> Value:
        """``config.get("amp", False)``, ``getattr(args, "amp", False)``: the user may set it; ``bool(x)``: it is x."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
        if name in ("bool", "int", "str") and len(node.args) == 1:
            return self.default_of(node.args[0], scope, file, depth + 1)
        default = None
        if name in ("get", "pop") and len(node.args) == 2:
            default = node.args[1]
        elif name == "getattr" and len(node.args) == 3:
            default = node.args[2]
        return Value(default.value, Setter.USER) if isinstance(default, ast.Constant) else _OPEN

    def _name(self, name: str, node: ast.expr, scope: Scope, file: FileIndex, depth: int) -> Value:
        enclosing: Scope | None = scope
        while enclosing is not None:
            known = Values.of(self._project).definitions(file, enclosing).get(name)
            if known is not None:
                return self.default_of(known, enclosing, file, depth + 1)
            if name in enclosing.parameters:
                return self._parameter(name, enclosing, file, depth)
            enclosing = enclosing.parent
        first, _, rest = name.partition(".")
        if first == "self":
            assigned = scope.owner.attributes.get(rest, []) if scope.owner is not None else []
            return _one_of([self.default_of(value, where, file, depth + 1) for value, where in assigned])
        return _option(rest, file) if rest and "." not in rest else _OPEN

    @query(cycle=_OPEN)  # a function that hands its own parameter on
    def _parameter(self, name: str, scope: Scope, file: FileIndex, depth: int) -> Value:
        """What a function's callers hand over for a parameter; its default where they all leave it out."""
        owner = scope.owner if scope.name == "__init__" else None
        if name in bindings_of(scope):
            return _OPEN
        if owner is not None and Hierarchy.of(self._project).descendants(owner):
            return _OPEN
        default = default_of(scope, name)
        constant = Value(default.value, Setter.CALLERS) if isinstance(default, ast.Constant) else _OPEN
        found: list[Value] = []
        for site in CallGraph.of(self._project).calls(file, scope, Certainty.NAME):
            argument = site.argument(scope, name)
            if argument is not None:
                value = self.default_of(argument, site.scope, site.file, depth + 1)
                found.append(Value(value.value, max(value.setter, Setter.CALLERS)))
            elif is_spread(site.call):
                found.append(_OPEN)
            else:
                found.append(constant)
        return _one_of(found) if found else Value(constant.value, Setter.USER)


def _one_of(values: list[Value]) -> Value:
    """What several assignments, or several callers, come to."""
    if not values:
        return _OPEN
    if all(value.value == values[0].value for value in values):
        return Value(values[0].value, max(value.setter for value in values))
    if all(isinstance(value.value, bool) or value.value is None for value in values):
        return max(values, key=lambda value: value.state)
    return _OPEN


def _tests_of_place(place: Place | None) -> Iterator[tuple[ast.expr, bool]]:
    for link in place.chain() if place is not None else ():
        if isinstance(link.node, ast.If) and link.branch in ("body", "else", "after"):
            yield link.node.test, link.branch == "body"


def _tests_within(call: ast.Call, statement: Statement) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of conditional expressions that a call is a branch of."""
    for header in headers(statement.node):
        for item in walk(header):
            if isinstance(item, ast.IfExp):
                for branch, truth in ((item.body, True), (item.orelse, False)):
                    if any(inner is call for inner in walk(branch)):
                        yield item.test, truth


def _inverted(value: Value) -> Value:
    return value if value.value is UNKNOWN else Value(not value.value, value.setter)


def _option(dest: str, file: FileIndex) -> Value:
    """``args.amp``: the default of the option, where its parser stands in the same file."""
    if not file.has("add_argument"):
        return _OPEN
    for scope in file.scopes.scopes:
        for statement in scope.statements:
            for call in statement.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and _is_for(call, dest):
                    return Value(_option_default(call), Setter.USER)
    return _OPEN


def _is_for(call: ast.Call, dest: str) -> bool:
    flags = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return any(flag.lstrip("-").replace("-", "_") == dest for flag in flags)


def _option_default(call: ast.Call) -> Any:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    default, action = given.get("default"), given.get("action")
    if isinstance(default, ast.Constant):
        return default.value
    if default is None and isinstance(action, ast.Constant):
        return {"store_true": False, "store_false": True}.get(str(action.value), UNKNOWN)
    return UNKNOWN
