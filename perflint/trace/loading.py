"""Where the batches of a step come from: the calls that may create its loader, and their worker processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.facts.loaders import LOADER, is_loader_class
from perflint.flow.by_statement import is_generator
from perflint.flow.constant_values import Special, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.sources import ValueSource, asked, function_of
from perflint.index.modules import Modules
from perflint.index.project import Located, Place
from perflint.index.registries import Registries
from perflint.paddle.passthrough import LISTING, LOOPED
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of, is_spread
from perflint.syntax.scopes import Loop, Scope, Statement, own_parts, terminal
from perflint.syntax.tree import walk

_WORKERS, _WORKERS_PLACE = "num_workers", 11
"""The parameter of a loader for the number of worker processes, and its position."""
_NEXT = frozenset({"next", "__next__"})
_PASSING = LOOPED | LISTING | _NEXT | {"cycle", "chain", "__iter__", "to_device"}
"""What gives the batches of an argument, or of the object whose method it is."""
_MOST_OWNERS = 3
"""With more classes that have an attribute, its name does not show which one is meant."""
_DRAWING = ("__next__", "__iter__", "__call__")
"""The methods of an object that gives batches."""


@dataclass(frozen=True)
class Loading:
    """A loader that a step may draw from.

    ``workers``: the numbers of worker processes that it may have, smallest first; None among them if one is not known.
    """

    made: Located
    workers: tuple[int | None, ...]

    @property
    def row(self) -> int:
        """The row of the call."""
        return self.made.call.lineno

    @property
    def is_in_process(self) -> bool:
        """Whether it certainly loads each batch in the process that trains, which waits meanwhile."""
        return self.workers == (0,)


def loadings(at: Place, loop: Loop | None) -> list[Loading]:
    """The loaders of the loop of a step: none if it draws from something else, or if that is not known.

    ``for batch in loader``, and ``batch = next(batches)`` in a loop; what an object of the project gives, if it draws
    from a loader itself.
    """
    if loop is None:
        return []
    found: dict[ast.Call, Loading] = {}
    for drawn, place in _draws(at, loop):
        for source in _loaders(asked(drawn, place), set()):
            assert isinstance(source.node, ast.Call)
            found.setdefault(source.node, _loading(source, source.node))
    return list(found.values())


def _draws(at: Place, loop: Loop) -> Iterator[tuple[ast.expr, Place]]:
    """What a loop goes over, and what its body draws from with ``next``."""
    for statement in at.scope.statements:
        if statement.node is loop and isinstance(loop, (ast.For, ast.AsyncFor)):
            yield loop.iter, at.before(statement)
        elif statement.is_in(loop):
            yield from ((call, at.before(statement)) for call in statement.calls if terminal(call) in _NEXT)


def _loaders(source: ValueSource, seen: set[Scope]) -> Iterator[ValueSource]:
    """The calls that create the loaders from which an expression gets its batches; ``seen``: methods on the way."""
    for each in source.sources():
        node = each.node
        if isinstance(node, ast.Dict) and not each.is_known:  # ``loaders[phase]``: any of them
            for value in node.values:
                yield from _loaders(each.part(value), seen)
        elif isinstance(node, ast.Call):
            yield from _called(each, node, seen)
        elif isinstance(node, ast.Attribute):
            for setting in _set_elsewhere(each, node):
                yield from _loaders(setting, seen)
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


def _called(source: ValueSource, call: ast.Call, seen: set[Scope]) -> Iterator[ValueSource]:
    """The loaders behind a call: one that it creates, that it gets, or that its function draws from."""
    project = source.place.file.project
    made = Modules.of(project).class_at(source.place.file, call.func)
    if source.qualified == LOADER or (made is not None and is_loader_class(project, *made)):
        yield source
        return
    called = function_of(source, call.func)
    if called is not None:
        if is_generator(called.scope) and called.scope not in seen:
            yield from _inside(source.entered(called), {*seen, called.scope})
        return
    if terminal(call) in _PASSING:
        receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        for argument in (*receiver, *arguments_of(call)):
            yield from _loaders(source.part(argument), seen)
        return
    yield from _object(source, seen)
    if not call.args and not call.keywords:  # ``loader()`` of Paddle gives its iterator
        yield from _loaders(source.part(call.func), seen)
    elif isinstance(call.func, ast.Call):
        yield from _registered(source, call.func, seen)


def _registered(source: ValueSource, build: ast.Call, seen: set[Scope]) -> Iterator[ValueSource]:
    """The loaders of the classes among which ``create(f"{mode}Reader")(dataset)`` looks one up."""
    for made in Registries.of(source.place.file.project).built(build):
        place = Modules.of(source.place.file.project).method(made.type, "__call__")
        if place is not None and place.scope not in seen:
            yield from _inside(source.entered(place), {*seen, place.scope})


def _object(source: ValueSource, seen: set[Scope]) -> Iterator[ValueSource]:
    """The loaders that an object of the project draws from when a loop goes over it."""
    for name in _DRAWING:
        method = source.method(name)
        if method is not None and method.place.scope not in seen:
            yield from _inside(method, {*seen, method.place.scope})


def _inside(source: ValueSource, seen: set[Scope]) -> Iterator[ValueSource]:
    """The loaders that a function draws from: in its loops and with ``next``, that it creates, and that it returns."""
    for statement in source.place.scope.statements:
        for drawn in _drawn_by(statement):
            yield from _loaders(source.at(statement).part(drawn), seen)


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


def _loading(source: ValueSource, call: ast.Call) -> Loading:
    given = argument_of(call, _WORKERS, _WORKERS_PLACE)
    made = Located(call, source.place)
    if given is None:
        return Loading(made, (None if is_spread(call) else 0,))
    values = Constants.of(source.place.file.project).possible(given, source.place)
    numbers = {value.value if isinstance(value.value, int) else None for value in values} - {Special.LEFT_OUT}
    if any(step.origin is ValueOrigin.FALLBACK for value in values for step in value.steps):
        numbers.add(None)  # a configuration may have another number
    known = sorted(number for number in numbers if number is not None)
    return Loading(made, (*known, *([None] if None in numbers or not numbers else [])))
