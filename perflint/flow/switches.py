"""Switches: finds whether a test or an argument is on by default, and who could turn it on."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.constant_values import Setter, Value, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.place import Place
from perflint.index.project import Part
from perflint.query import query
from perflint.syntax.parameters import default_of, is_spread
from perflint.syntax.scopes import LOOPS, Scope, Statement, headers
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MOST_CALLERS = 2


class State(enum.IntEnum):
    """Whether something is switched on, ordered."""

    OFF = 0
    UNSET = 1
    """Off, and nothing in the project turns it on, although a caller could."""
    OPTIONAL = 2
    """Off or unknown by default, but the user can turn it on."""
    ON = 3


_OFF = {Setter.NOBODY: State.OFF, Setter.CALLERS: State.UNSET, Setter.USER: State.OPTIONAL}


class Switches(Part):
    """Answers for one project, which are cached."""

    def state_of_place(self, call: ast.Call, statement: Statement, scope: Scope, file: FileIndex) -> State:
        """Whether a call is reached by default, according to the tests around it in its function."""
        tests = _tests_of(call, statement, Place(file, scope))
        return min((self.state(*test) for test in tests), default=State.ON)

    def state_of_statement(self, statement: Statement, scope: Scope, file: FileIndex) -> State:
        """Whether a statement is reached by default, according to the tests around it in its function."""
        place = Place(file, scope)
        tests = ((test, place.at(scope, at), truth) for test, at, truth in _tests_around(statement, scope))
        return min((self.state(*test) for test in tests), default=State.ON)

    def is_off_by_default(self, statement: Statement, scope: Scope, file: FileIndex) -> bool:
        """Whether a test around a statement fails unless the user changes the default of a command-line option.

        For a loop, only the tests inside count: people run it with the option for ``if args.do_train:`` around it.
        """
        place, constants = Place(file, scope), Constants.of(self._project)
        loop = next((link.node for link in statement.around if isinstance(link.node, LOOPS)), None)
        return any(
            _fails_by_option(constants.possible(test, place.at(scope, at)), truth)
            for test, at, truth in _tests_around(statement, scope)
            if loop is None or test.lineno > loop.lineno
        )

    @query
    def is_left_off(self, statement: Statement, scope: Scope, file: FileIndex) -> bool:
        """Whether a test around a statement is a parameter that is off by default and that no call turns on.

        A call may pass a command-line option, which is off unless the user sets it; an unpacked argument
        (``**settings``) may turn anything on.
        """
        flags = [
            test.id
            for test, _, truth in _tests_around(statement, scope)
            if truth and isinstance(test, ast.Name) and _is_off(default_of(scope, test.id))
        ]
        return any(self._is_never_given(flag, scope, file) for flag in flags)

    def _is_never_given(self, flag: str, scope: Scope, file: FileIndex) -> bool:
        """Whether each known call of a function leaves a flag at its default, or passes something that is off."""
        sites = CallGraph.of(self._project).callers(file, scope, Certainty.NAME)
        sure = [site for site in sites if site.certainty is Certainty.SURE] or sites
        return not any(is_spread(site.call) or self._may_turn_on(site, site.argument(scope, flag)) for site in sure)

    def _may_turn_on(self, site: CallSite, given: ast.expr | None) -> bool:
        if given is None:
            return False
        values = Constants.of(self._project).possible(given, Place(site.file, site.scope, site.statement))
        return not all(value.is_known and not value.value for value in values)

    def is_certain(self, call: ast.Call, statement: Statement, scope: Scope, file: FileIndex) -> bool:
        """Whether a call is reached whenever its function is called: constants decide the tests around it."""
        if any(not isinstance(link.node, (ast.If, ast.With)) for link in statement.around):
            return False
        tests = _tests_of(call, statement, Place(file, scope))
        return all(self.state(test, place, not truth) is State.OFF for test, place, truth in tests)

    @query
    def state_of_calls(self, scope: Scope, file: FileIndex, callers: int = _MOST_CALLERS) -> State:
        """Whether a function is called by default, by the tests around its calls, and around those of its callers.

        Args:
            callers: for how many levels of callers the tests are examined.
        """
        if isinstance(scope.node, ast.Module) or scope.name.startswith("__") or not callers:
            return State.ON
        states = [
            min(
                self.state_of_place(site.call, site.statement, site.scope, site.file),
                self.state_of_calls(site.scope, site.file, callers - 1),
            )
            for site in CallGraph.of(self._project).callers(file, scope, Certainty.NAME)
        ]
        return max(states, default=State.ON)

    def state(self, node: ast.expr, place: Place, truth: bool = True) -> State:
        """The state of an expression as a switch if no default is changed; without ``truth``, of its negation."""
        return _state(Constants.of(self._project).possible(node, place), truth)


def _is_off(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and not default.value


def _fails_by_option(values: tuple[Value, ...], truth: bool) -> bool:
    """Whether a test is not ``truth`` because of the default of an option, whatever arguments functions get."""
    if not all(value.is_known and bool(value.value) is not truth for value in values):
        return False
    origins = {step.origin for value in values for step in value.steps}
    return ValueOrigin.OPTION in origins and ValueOrigin.DEFAULT not in origins


def _state(values: tuple[Value, ...], truth: bool) -> State:
    """The state for several values: one of them may turn it on, unless it is unknown."""
    if all(isinstance(value.value, bool) or value.value is None for value in values):
        return max((_state_of(value, truth) for value in values), default=State.OPTIONAL)
    first = values[0].value
    if not all(type(value.value) is type(first) and value.value == first for value in values):
        return State.OPTIONAL
    return max(_state_of(value, truth) for value in values)


def _state_of(value: Value, truth: bool) -> State:
    if not value.is_constant:
        return State.OPTIONAL
    return State.ON if bool(value.value) is truth else _OFF[value.setter]


def _tests_of(call: ast.Call, statement: Statement, place: Place) -> list[tuple[ast.expr, Place, bool]]:
    """The tests that a call is under, each with its place and result."""
    scope = place.scope
    tests = [(test, place.at(scope, at), truth) for test, at, truth in _tests_around(statement, scope)]
    return tests + [(test, place.at(scope, statement), truth) for test, truth in _tests_within(call, statement)]


def _tests_around(statement: Statement, scope: Scope) -> Iterator[tuple[ast.expr, Statement | None, bool]]:
    """The tests around a statement, each with its own statement and result."""
    for link in statement.around:
        if isinstance(link.node, ast.If) and link.branch in ("body", "else", "after"):
            at = next((each for each in scope.statements if each.node is link.node), None)
            yield link.node.test, at, link.branch == "body"


def _tests_within(call: ast.Call, statement: Statement) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of conditional expressions that a call is a branch of."""
    for header in headers(statement.node):
        for item in walk(header):
            if isinstance(item, ast.IfExp):
                for branch, truth in ((item.body, True), (item.orelse, False)):
                    if any(inner is call for inner in walk(branch)):
                        yield item.test, truth
