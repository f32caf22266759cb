"""Which branches run, as far as constants, options and arguments show it; and the scale for how often."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.constant_values import OPERATORS, Found, OriginStep, Setter, Value, ValueOrigin
from perflint.flow.constants import Constants
from perflint.index.project import Part, Place
from perflint.inputs.input_files import amp_settings, is_about_amp
from perflint.inputs.setting_files import value_of
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted, dotted_names
from perflint.syntax.scopes import LOOPS, Scope, Statement, headers, required_parts
from perflint.syntax.tree import walk


class Often(enum.IntEnum):
    """How often a place runs while a program trains, ordered."""

    NEVER = 0
    """The code, the defaults or the purpose of a training rule it out."""
    ONCE = 1
    """Once, or so seldom that it costs nothing: on the first steps, after a failure, at the best result so far."""
    EACH_EPOCH = 2
    EVERY_N = 3
    """Every n steps, or after some time."""
    SOMETIMES = 4
    """A test may come out differently from step to step, and nothing says how often it holds."""
    EACH_STEP = 5


@dataclass(frozen=True)
class Every:
    """How often a place runs, and why: ``test`` decides.

    ``numbers``: what a count of steps is divided by (``n`` in ``step % n == 0``), innermost test first. With
    ``Often.EACH_STEP``, they say how many batches one step of the optimizer takes, whose gradients are added up.
    """

    often: Often
    test: ast.expr | None = None
    numbers: tuple[ast.expr, ...] = ()

    @property
    def is_rare(self) -> bool:
        """Whether the place is skipped at most steps."""
        return self.often < Often.SOMETIMES

    @property
    def is_regular(self) -> bool:
        """Whether it runs at each step, or every n steps where something says what n is."""
        return self.often is Often.EACH_STEP or bool(self.numbers)

    @property
    def number(self) -> ast.expr | None:
        """The innermost number of steps between two runs; None if there is none."""
        return self.numbers[0] if self.numbers else None

    def within(self, outer: Every) -> Every:
        """How often a place runs whose surroundings run only as often as ``outer``."""
        rarer = min(self, outer, key=lambda each: each.often)
        if rarer.often is not Often.EVERY_N or Often.EACH_STEP in (self.often, outer.often):
            return rarer
        both = self.numbers + outer.numbers if self.is_regular and outer.is_regular else ()
        return Every(Often.EVERY_N, rarer.test, both)


EACH_STEP = Every(Often.EACH_STEP)


# Finds whether tests and arguments are on by default, and who could turn them on.

_MOST_CALLERS = 2
_WRITTEN = r"""["']?\s*(?::\s*[\w.\[\] |]+)?[=:]\s*(True|False|None|[-+]?\.?\d[\w.+-]*|"[^"\n]*"|'[^'\n]*')"""
"""A literal that code gives something after its name, as a keyword, a default or the entry of a dict."""


class State(enum.IntEnum):
    """Whether something is switched on, ordered."""

    OFF = 0
    UNSET = 1
    """Off, and nothing in the project turns it on, although a caller could."""
    OPTIONAL = 2
    """Off or unknown by default, but the user can turn it on."""
    ON = 3


_OPTIONS = {ValueOrigin.OPTION, ValueOrigin.SETTING}
_OFF = {Setter.NOBODY: State.OFF, Setter.CALLERS: State.UNSET, Setter.USER: State.OPTIONAL}
_Test = tuple[ast.expr, Found, bool]


class Switches(Part):
    """Answers for one project, which are cached."""

    def state_of_place(self, statement: Statement, at: Place, call: ast.Call | None = None) -> State:
        """Whether a statement, or a call in it, is reached by default, by the tests around it in its function."""
        tests = self._tests(statement, at, call)
        return min((_state(values, truth) for _, values, truth in tests), default=State.ON)

    def never_runs(self, statement: Statement, at: Place) -> bool:
        """Whether a test around a statement fails, and nothing in the project can change that."""
        return self.state_of_place(statement, at) <= State.UNSET

    def is_off_by_default(self, statement: Statement, at: Place) -> bool:
        """Whether a test around a statement fails unless the user changes an option, or writes another configuration.

        For a loop, only the tests inside count: people run it with the option for ``if args.do_train:`` around it.
        """
        loop = next((link.node for link in statement.around if isinstance(link.node, LOOPS)), None)
        return any(
            _fails_by_option(values, truth)
            for test, values, truth in self._tests(statement, at)
            if loop is None or test.lineno > loop.lineno
        )

    def is_left_to_settings(self, statement: Statement, at: Place) -> bool:
        """Whether a test around a statement is about an option of an object that is off, and that nothing turns on.

        ``if self.use_mask:`` is, where ``__init__`` has ``use_mask=False``, the calls pass ``**settings`` or leave it
        out, and no configuration file of the project turns it on.
        """
        return any(
            self.is_off(part, expected, at.at(at.scope, self._of(link.node, at)))
            for link in statement.around
            if isinstance(link.node, ast.If) and link.branch in ("body", "else")
            for part, expected in self._about_self(link.node, link.branch == "body")
        )

    @query
    def _about_self(self, node: ast.If, truth: bool) -> tuple[tuple[ast.expr, bool], ...]:
        """The parts of a test that compare, or test, an attribute of ``self``, each with what it has to be."""
        parts = required_parts(node.test, truth)
        return tuple(each for each in parts if (dotted(_tested(each[0])) or "").startswith("self."))

    @query
    def is_off(self, test: ast.expr, truth: bool, at: Place) -> bool:
        """The same of one test, which is not ``truth`` unless something sets the option."""
        if not (dotted(_tested(test)) or "").startswith("self."):
            return False
        constants = Constants.of(self._project)
        usual, value = constants.by_default(test, at), constants.by_default(_tested(test), at)
        if value is None or value.value is None:  # what callers may leave out is no option
            return False
        keys = {step.name for step in usual.steps if step.origin is ValueOrigin.DEFAULT} if usual is not None else set()
        if usual is None or not keys or not usual.is_constant or bool(usual.value) is truth:
            return False
        if any(value.is_constant and bool(value.value) is truth for value in constants.possible(test, at)):
            return False
        return not any(_turns(test, truth, value) for key in keys for value in self._set_to(key))

    @query
    def _set_to(self, key: str) -> frozenset[object]:
        """The values that configuration files and the code give something with a name."""
        found: set[object] = {*self._project.inputs.settings.values(key)}
        written = re.compile(rf"\b{re.escape(key)}{_WRITTEN}")
        for file in self._project.mentions.of(key):
            found |= {value_of(match[1].strip("\"'")) for match in written.finditer(file.source.text)}
        return frozenset(found)

    def _of(self, node: ast.stmt, at: Place) -> Statement | None:
        return next((each for each in at.scope.statements if each.node is node), None)

    @query
    def is_left_off(self, statement: Statement, at: Place) -> bool:
        """Whether a test around a statement is a parameter that is off by default and that no call turns on.

        A call may pass a command-line option, which is off unless the user sets it; an unpacked argument
        (``**settings``) may turn anything on.
        """
        return any(
            truth and isinstance(test, ast.Name) and test.id in at.scope.parameters and _fails(values, truth)
            for test, values, truth in self._tests(statement, at)
        )

    def is_certain(self, call: ast.Call, statement: Statement, at: Place) -> bool:
        """Whether a call is reached whenever its function is called: constants decide the tests around it."""
        if any(not isinstance(link.node, (ast.If, ast.With)) for link in statement.around):
            return False
        tests = self._tests(statement, at, call)
        return all(_state(values, not truth) is State.OFF for _, values, truth in tests)

    @query
    def state_of_calls(self, at: Place, callers: int = _MOST_CALLERS) -> State:
        """Whether a function is called by default, by the tests around its calls, and around those of its callers.

        Args:
            callers: for how many levels of callers the tests are examined.
        """
        if isinstance(at.scope.node, ast.Module) or at.scope.is_special or not callers:
            return State.ON
        states = [
            min(
                self.state_of_place(site.statement, site.function, site.call),
                self.state_of_calls(site.function, callers - 1),
            )
            for site in CallGraph.of(self._project).callers(at, Certainty.NAME)
        ]
        return max(states, default=State.ON)

    def state(self, node: ast.expr, place: Place, truth: bool = True) -> State:
        """The state of an expression as a switch if no default is changed; without ``truth``, of its negation."""
        return _state(Constants.of(self._project).possible(node, place), truth)

    def _tests(self, statement: Statement, here: Place, call: ast.Call | None = None) -> Iterator[_Test]:
        """The tests that a statement, or a call in it, is under: each with its possible values and its result there."""
        place, possible = here.function, Constants.of(self._project).possible
        for link in statement.around:
            if isinstance(link.node, ast.If):
                at = next((each for each in here.scope.statements if each.node is link.node), None)
                yield link.node.test, possible(link.node.test, place.at(here.scope, at)), link.branch == "body"
        for test, truth in tests_within(call, statement) if call is not None else ():
            yield test, possible(test, place.at(here.scope, statement)), truth


def is_left_out(site: CallSite, at: Place, statement: Statement) -> bool:
    """Whether the arguments and defaults of a call prevent it from reaching a statement: ``build(is_test=False)``."""
    tests = list(statement.conditions)
    constants, place = Constants.of(at.file.project), site.place
    inside = constants.entered(site.call, place, at) if tests else None
    return inside is not None and any(
        all(_fails(constants.possible(one, inside), truth) for one in _as_bound(test, statement, at.scope))
        for test, truth in tests
    )


def rules_out(test: ast.expr, truth: bool, place: Place) -> bool:
    """Whether a test cannot have a result in one run of a function, by its arguments, constants and defaults."""
    return _fails(Constants.of(place.file.project).possible(test, place), truth)


@query
def usual_arm(at: Place, node: ast.If) -> int | None:
    """Which arm of an ``if`` runs unless the user changes a default, such as that of ``--amp``.

    Returns:
        0 for its body, 1 for its first ``elif``, and so on, ``else`` comes last; the number of arms if none of them
        runs; None if the code does not say it, or a configuration file may say something else.
    """
    statement = next((each for each in at.scope.statements if each.node is node), None)
    place = at.at(at.scope, statement)
    arm, rest = 0, node
    while True:
        values = Constants.of(at.file.project).possible(rest.test, place)
        if any(_is_of_files(step, at) for value in values for step in value.steps):
            return None
        switches = Switches.of(at.file.project)
        if _fails(values, False) or switches.is_off(rest.test, False, place):
            return arm
        if not (_fails(values, True) or switches.is_off(rest.test, True, place)):
            return None
        arm, following = arm + 1, rest.orelse
        if len(following) != 1 or not isinstance(following[0], ast.If):
            return arm
        rest = following[0]


def _is_of_files(step: OriginStep, at: Place) -> bool:
    """Whether an entry of a configuration file may replace a fallback; about AMP, only one that is on.

    An option of AMP is not off either if a script passes it.
    """
    if step.origin not in (ValueOrigin.FALLBACK, ValueOrigin.OPTION):
        return False
    is_option = step.origin is ValueOrigin.OPTION
    if not is_about_amp(step.name):
        return not is_option
    rows = amp_settings(at.file.path, step.name, at.file.project.inputs)
    return any(row.is_on and row.is_passed is is_option for _, row in rows)


def _tested(test: ast.expr) -> ast.expr:
    """What a test is about: ``self.rate`` of ``self.rate > 1``."""
    return test.left if isinstance(test, ast.Compare) else test


def _turns(test: ast.expr, truth: bool, value: object) -> bool:
    """Whether a test may come out so if the option has a value."""
    if not isinstance(test, ast.Compare):
        return bool(value) is truth
    right = test.comparators[0]
    compare = OPERATORS.get(type(test.ops[0]))
    if len(test.ops) != 1 or not isinstance(right, ast.Constant) or compare is None:
        return True
    try:
        return bool(compare(value, right.value)) is truth
    except TypeError:
        return False


def _as_bound(test: ast.expr, at: Statement, scope: Scope) -> list[ast.expr]:
    """A test with an attribute replaced by the values that the function gave it before: ``self.every = every``."""
    bound = bindings_of(scope)
    names = {name for name in dotted_names(test) if name.startswith("self.") and name in bound}
    if len(names) != 1:
        return [test]
    name = names.pop()
    before = [each.node for each in bound[name] if each.node.lineno < at.node.lineno]
    values = [each.value for each in before if isinstance(each, ast.Assign)]
    return [_Replaced(name, value).visit(deepcopy(test)) for value in values] if len(values) == len(before) else [test]


class _Replaced(ast.NodeTransformer):
    """Replaces a dotted name by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name = name
        self._value = value

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # the name that ast requires
        return self._value if dotted(node) == self._name else node


def _fails(values: Found, truth: bool) -> bool:
    """Whether a test cannot be ``truth``, because all its possible values are known and differ."""
    return bool(values) and all(value.is_constant and bool(value.value) is not truth for value in values)


def _fails_by_option(values: Found, truth: bool) -> bool:
    """Whether a test is not ``truth`` because of the default of an option, or of what all configuration files say."""
    origins = {step.origin for value in values for step in value.steps}
    is_option = not origins.isdisjoint(_OPTIONS) and origins.isdisjoint({ValueOrigin.DEFAULT, ValueOrigin.UNKNOWN})
    return is_option and _fails(values, truth)


def _state(values: Found, truth: bool) -> State:
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


def tests_within(part: ast.expr, statement: Statement) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of conditional expressions that a part of a statement is in a branch of, each with its result there."""
    for header in headers(statement.node):
        for item in walk(header):
            if isinstance(item, ast.IfExp):
                for branch, truth in ((item.body, True), (item.orelse, False)):
                    if any(inner is part for inner in walk(branch)):
                        yield item.test, truth
