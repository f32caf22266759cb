"""The calls that run for each sample: in a dataset, in a function that converts samples, or in one that collates them.

In ``partial(convert, tokenizer=tokenizer)`` these are the calls of ``convert`` and of all functions of the project that
it calls; what creates its arguments runs once, and is not among them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.facts.dataset_samples import wrapped
from perflint.flow.sources import ValueSource, function_of, is_left_out
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import walk

_MOST_BODIES = 100
"""How many functions are examined for one question."""


def calls_of_function(function: ValueSource) -> Iterator[ValueSource]:
    """The calls that a function makes, given as a name, a lambda, an object or with ``functools.partial``.

    Each function of the project that it calls is examined once.
    """
    return _Calls().of(function)


def calls_of_dataset(dataset: ValueSource) -> Iterator[ValueSource]:
    """The calls that a dataset makes for a sample, with those of the datasets that it takes its samples from."""
    calls = _Calls()
    for source in dataset.sources():
        for inner in wrapped(source):
            yield from calls_of_dataset(inner)
        inside = source.method("__getitem__")
        if inside is not None:
            yield from calls.inside(inside)


class _Calls:
    def __init__(self) -> None:
        self._seen: set[Scope] = set()

    def of(self, function: ValueSource) -> Iterator[ValueSource]:
        """The calls of a function, wherever it comes from."""
        for source in function.sources():
            node = source.node
            if isinstance(node, ast.Lambda):
                for item in walk(node.body):
                    if isinstance(item, ast.Call):
                        yield from self._called(source.part(item), item)
            elif isinstance(node, ast.Call) and source.qualified == "functools.partial" and node.args:
                yield from self.of(source.part(node.args[0]))
            else:
                called = function_of(source, node)
                found = source.entered(called) if called is not None else source.method("__call__")
                yield from self.inside(found) if found is not None else ()

    def inside(self, function: ValueSource) -> Iterator[ValueSource]:
        """The calls in a function that training does not leave out."""
        scope = function.place.scope
        if scope in self._seen or len(self._seen) > _MOST_BODIES:
            return
        self._seen.add(scope)
        for statement in scope.statements:
            if not is_left_out(function, statement):
                here = function.at(statement)
                for call in statement.calls:
                    yield from self._called(here.part(call), call)

    def _called(self, source: ValueSource, call: ast.Call) -> Iterator[ValueSource]:
        yield source
        called = function_of(source, call.func)
        if called is not None:
            yield from self.inside(source.entered(called))
        elif (dotted(call.func) or "").startswith("self."):  # ``self.transform(image)``
            yield from self.of(source.part(call.func))
