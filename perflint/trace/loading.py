"""Where the batches of a step come from: the calls that may create its loader, and their worker processes.

A step may draw from several loaders together, as in ``zip(photos, masks)``, or from one of several, as after ::

    loader = DataLoader(stored, num_workers=4) if args.stored else DataLoader(photos)

Then each is a choice of its own, and the tests on the way to a loader say which one it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from perflint.facts.dataset_samples import Work, work_of
from perflint.facts.loaders import LOADER, is_loader_class, loads_from_memory
from perflint.facts.programs import passed_for
from perflint.flow.branches import rules_out, tests_within
from perflint.flow.by_statement import is_generator
from perflint.flow.constant_values import Found, Special, Value, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.sources import ValueSource, asked, function_of
from perflint.index.hierarchy import Registries
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Located, Place
from perflint.paddle.call_results import LISTING, LOOPED
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of, is_spread
from perflint.syntax.scopes import Loop, Scope, Statement, own_parts, terminal
from perflint.syntax.tree import walk

_WORKERS, _WORKERS_PLACE = "num_workers", 9
"""The parameter of a loader for the number of worker processes, and its position."""
_NEXT = frozenset({"next", "__next__"})
_PASSING = LOOPED | LISTING | _NEXT | {"cycle", "chain", "__iter__", "to_device"}
"""What gives the batches of an argument, or of the object whose method it is."""
_MOST_OWNERS = 3
"""With more classes that have an attribute, its name does not show which one is meant."""
_MOST_CHOICES = 50
"""With more combinations of what is drawn from together, each part counts as a choice of its own."""
_DRAWING = ("__next__", "__iter__", "__call__")
"""The methods of an object that gives batches."""


class LoaderTest(NamedTuple):
    """A test of an ``if`` on the way to a loader, with its result there."""

    node: ast.expr
    holds: bool
    place: Place

    @property
    def file(self) -> FileIndex:
        """The file of the test."""
        return self.place.file


@dataclass(frozen=True)
class Loading:
    """A loader that a step may draw from.

    ``workers``: the numbers of worker processes that it may have, smallest first; None among them if one is not known.
    ``tests``: what decides that the step draws from it. ``settings``: the rows of configuration files that set the
    number of workers, each with its path.
    """

    made: Located
    workers: tuple[int | None, ...]
    tests: tuple[LoaderTest, ...] = field(default=(), compare=False)
    settings: tuple[tuple[str, int], ...] = field(default=(), compare=False)

    @property
    def row(self) -> int:
        """The row of the call."""
        return self.made.call.lineno

    @property
    def is_in_process(self) -> bool:
        """Whether the process that trains certainly loads the batches, in a thread that shares the interpreter lock."""
        return self.workers == (0,)

    @property
    def is_worth_it(self) -> bool:
        """Whether there is work for each sample that workers could take over, as far as the source shows."""
        place, call = self.made.place, self.made.call
        if loads_from_memory(place, call):
            return False
        return work_of(argument_of(call, "dataset", 0), place) not in (Work.NONE, Work.ROWS)


Choice = tuple[Loading, ...]
"""The loaders that a step draws from together."""


def loadings(at: Place, loop: Loop | None) -> list[Loading]:
    """The loaders of the loop of a step: none if it draws from something else, or if that is not known.

    ``for batch in loader``, and ``batch = next(batches)`` in a loop; what an object of the project gives, if it draws
    from a loader itself.
    """
    found: dict[ast.Call, Loading] = {}
    for choice in choices(at, loop):
        for loading in choice:
            found.setdefault(loading.made.call, loading)
    return list(found.values())


def choices(at: Place, loop: Loop | None) -> list[Choice]:
    """The loaders of the loop of a step, in groups of which it draws from one."""
    if loop is None:
        return []
    found = _together(_drawn(asked(drawn, place), set()) for drawn, place in _draws(at, loop))
    known = [tuple(map(_loading, sources)) for sources in found]
    return [choice for choice in known if not any(map(_is_ruled_out, choice))] or known


def _is_ruled_out(loading: Loading) -> bool:
    """Whether the arguments of the calls that lead to a loader, constants or defaults rule it out."""
    return any(rules_out(test.node, test.holds, test.place) for test in loading.tests)


def deciding(loading: Loading, others: Iterable[Choice]) -> LoaderTest | None:
    """The test that decides whether a step draws from a loader or from one of others; None if none is known."""
    against = [{(test.node, not test.holds) for each in choice for test in each.tests} for choice in others]
    return next((test for test in loading.tests if all((test.node, test.holds) in tests for tests in against)), None)


def _draws(at: Place, loop: Loop) -> Iterator[tuple[ast.expr, Place]]:
    """What a loop goes over, and what its body draws from with ``next``."""
    for statement in at.scope.statements:
        if statement.node is loop and isinstance(loop, (ast.For, ast.AsyncFor)):
            yield loop.iter, at.before(statement)
        elif statement.is_in(loop):
            yield from ((call, at.before(statement)) for call in statement.calls if terminal(call) in _NEXT)


_Sources = tuple[ValueSource, ...]
"""The calls that create loaders from which batches are drawn together."""


def _together(parts: Iterable[Iterable[_Sources]]) -> list[_Sources]:
    """The choices of several expressions that are all drawn from; those without a loader do not count."""
    found: list[_Sources] = []
    for part in map(list, parts):
        pairs = [(*one, *other) for one in found for other in part]
        found = pairs if 0 < len(pairs) <= _MOST_CHOICES else [*found, *part]
    return found


def _drawn(source: ValueSource, seen: set[Scope | str]) -> Iterator[_Sources]:
    """The calls that create the loaders from which an expression gets its batches; ``seen``: methods, and names of
    attributes, on the way.
    """
    for each in source.sources():
        node = each.node
        if isinstance(node, ast.Dict) and not each.is_known:  # ``loaders[phase]``: any of them
            for value in node.values:
                yield from _drawn(each.part(value), seen)
        elif isinstance(node, ast.Call):
            yield from _called(each, node, seen)
        elif isinstance(node, ast.Attribute) and node.attr not in seen:  # two classes may give it to each other
            for setting in _set_elsewhere(each, node):
                yield from _drawn(setting, {*seen, node.attr})
        elif each.is_known:
            yield from _object(each, seen)


def _set_elsewhere(source: ValueSource, node: ast.Attribute) -> Iterator[ValueSource]:
    """What an attribute of an unknown object is set to: in the same function, or else by the classes that have it."""
    here = source.place
    own = bindings_of(here.scope).get(dotted(node) or "", ())
    pairs = [(statement, value) for statement in own for _, value in targets_and_values(statement.node)]
    for statement, value in pairs:
        if value is not None:
            yield source.at(statement).part(value)
    if pairs:
        return
    owners = [
        (file, owner)
        for file in here.file.project.mentions.of(node.attr)
        for owner in file.scopes.classes.values()
        if node.attr in owner.attributes
    ]
    for file, owner in owners if len(owners) <= _MOST_OWNERS else ():
        for value, scope in owner.attributes[node.attr]:
            yield asked(value, Place(file, scope))


def _called(source: ValueSource, call: ast.Call, seen: set[Scope | str]) -> Iterator[_Sources]:
    """The loaders behind a call: one that it creates, that it gets, or that its function draws from."""
    project = source.place.file.project
    made = Modules.of(project).class_at(source.place.file, call.func)
    if source.qualified == LOADER or (made is not None and is_loader_class(project, *made)):
        yield (source,)
        return
    called = function_of(source, call.func)
    if called is not None:
        if is_generator(called.scope) and called.scope not in seen:
            yield from _inside(source.entered(called), {*seen, called.scope})
        return
    if terminal(call) in _PASSING:
        receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        yield from _together(_drawn(source.part(each), seen) for each in (*receiver, *arguments_of(call)))
        return
    yield from _object(source, seen)
    if not call.args and not call.keywords:  # ``loader()`` of Paddle gives its iterator
        yield from _drawn(source.part(call.func), seen)
    elif isinstance(call.func, ast.Call):
        yield from _registered(source, call.func, seen)


def _registered(source: ValueSource, build: ast.Call, seen: set[Scope | str]) -> Iterator[_Sources]:
    """The loaders of the classes among which ``create(f"{mode}Reader")(dataset)`` looks one up."""
    for made in Registries.of(source.place.file.project).built(build):
        place = Modules.of(source.place.file.project).method(made.type, "__call__")
        if place is not None and place.scope not in seen:
            yield from _inside(source.entered(place), {*seen, place.scope})


def _object(source: ValueSource, seen: set[Scope | str]) -> Iterator[_Sources]:
    """The loaders that an object of the project draws from when a loop goes over it."""
    for name in _DRAWING:
        method = source.method(name)
        if method is not None and method.place.scope not in seen:
            yield from _inside(method, {*seen, method.place.scope})


def _inside(source: ValueSource, seen: set[Scope | str]) -> Iterator[_Sources]:
    """The loaders that a function draws from: in its loops and with ``next``, that it creates, and that it returns."""
    for statement in source.place.scope.statements:
        here = source.at(statement)
        yield from _together(_drawn(here.part(drawn), seen) for drawn in _drawn_by(statement))


def _drawn_by(statement: Statement) -> Iterator[ast.expr]:
    node = statement.node
    if isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.iter
    elif isinstance(node, ast.Return) and node.value is not None:
        yield node.value
    for part in own_parts(node):
        for item in walk(part):
            if isinstance(item, ast.YieldFrom):
                yield item.value
            elif isinstance(item, ast.Call) and terminal(item) in {*_NEXT, "iter", "DataLoader"}:
                yield item


def _loading(source: ValueSource) -> Loading:
    call = source.node
    assert isinstance(call, ast.Call)
    values = _values(call, source.place)
    settings = tuple(dict.fromkeys(row for value in values for row in value.settings))
    return Loading(Located(call, source.place), _numbers(call, values), tuple(_tests(source)), settings)


def workers_of(call: ast.Call, at: Place) -> tuple[int | None, ...]:
    """The numbers of worker processes that a loader may have, smallest first; None among them if one is not known."""
    return _numbers(call, _values(call, at))


def _numbers(call: ast.Call, values: Found) -> tuple[int | None, ...]:
    if not values:
        return (None if is_spread(call) or argument_of(call, _WORKERS, _WORKERS_PLACE) is not None else 0,)
    numbers = {value.value if isinstance(value.value, int) else None for value in values} - {Special.LEFT_OUT}
    if any(step.origin is ValueOrigin.FALLBACK for value in values for step in value.steps):
        numbers.add(None)  # a configuration may have another number
    if any(map(is_passed, values)):
        numbers = numbers - {0} or {None}
    known = sorted(number for number in numbers if number is not None)
    return (*known, *([None] if None in numbers or not numbers else []))


def _values(call: ast.Call, at: Place) -> Found:
    given = argument_of(call, _WORKERS, _WORKERS_PLACE)
    return Constants.of(at.file.project).possible(given, at) if given is not None else ()


def is_passed(value: Value) -> bool:
    """Whether a value is the default of an option for which all shell scripts that start the program pass another."""
    names = [step.name for step in value.steps if step.origin is ValueOrigin.OPTION]
    if value.place is None:
        return False
    numbers = [number for name in names for number in passed_for(value.place.file, name, in_scripts=True)]
    return bool(numbers) and "0" not in numbers


def _tests(source: ValueSource) -> Iterator[LoaderTest]:
    """The tests of the statements, and of the conditional expressions, that lead to a source."""
    for node, place in [*((step.node, step.place) for step in source.steps), (source.node, source.place)]:
        if place.statement is not None:
            for test, truth in (*place.statement.conditions, *tests_within(node, place.statement)):
                yield LoaderTest(test, truth, place)
