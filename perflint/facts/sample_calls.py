"""The calls that run for each sample: in a dataset, in a function that converts samples, or in one that collates them.

In ``partial(convert, tokenizer=tokenizer)`` these are the calls of ``convert`` and of all functions of the project that
it calls; what creates its arguments runs once, and is not among them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Flag, auto

from perflint.facts.dataset_samples import wrapped
from perflint.flow.sources import ValueSource, function_of, is_left_out
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, terminal
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


# What the function of a map does for each sample, also through functions of the project that it calls.

_TOKENIZES = re.compile(
    r"(?i)\w*tokenizer$|tokeni[sz]e\w*$|(?:batch_)?encode(?:_plus|_batch)?$|convert_tokens_to_ids$|l?cut(?:_for_search)?$"
)
_RANDOM = re.compile(
    r"(?:paddle|numpy)\.(?:\w+\.)*(?:rand\w*|normal|uniform|bernoulli|multinomial|dropout)$|(?:numpy\.)?random\."
)
_DRAWS = re.compile(
    r"(?i)(?:^|_)(?:rand\w*|shuffled?|choices?|uniform|permutation|beta|noise\w*|noisy|aug(?:ment\w*)?|dropout|corrupt\w*"
    r"|perturb\w*|mask_tokens)(?:_|$)|^sample$"
)
_READS = re.compile(r"(?i)(?:open|im(?:read|decode)|load\w*|memmap|fromfile|read\w*|decode_image)$")


class Conversion(Flag):
    """What the function of a map does, as far as it is known."""

    NOTHING_KNOWN = 0
    TOKENIZES = auto()
    """It tokenizes a text."""
    DRAWS = auto()
    """It may give something else each time: it draws random numbers, or its names say so."""
    READS_FILES = auto()
    """It reads a file, or decodes an image: the results may take much memory."""
    GIVES_A_TUPLE = auto()
    """It returns a tuple, so not a dict."""


def conversion(function: ValueSource) -> Conversion:
    """What a function does for each sample that it converts."""
    found = Conversion.GIVES_A_TUPLE if any(map(_gives_a_tuple, function.sources())) else Conversion.NOTHING_KNOWN
    for source in calls_of_function(function):
        call = source.node
        last = terminal(call) or "" if isinstance(call, ast.Call) else ""
        if _RANDOM.match(source.qualified) or _DRAWS.search(last):
            found |= Conversion.DRAWS
        if _TOKENIZES.match(last):
            found |= Conversion.TOKENIZES
        elif _READS.match(last) and isinstance(call, ast.Call) and function_of(source, call.func) is None:
            found |= Conversion.READS_FILES
    return found


def _gives_a_tuple(source: ValueSource) -> bool:
    """Whether a function, given as a name, as a lambda or with ``functools.partial``, returns a tuple."""
    node = source.node
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Tuple)
    if isinstance(node, ast.Call):
        is_partial = source.qualified == "functools.partial" and bool(node.args)
        return is_partial and any(map(_gives_a_tuple, source.part(node.args[0]).sources()))
    called = function_of(source, node)
    nodes = [statement.node for statement in called.scope.statements] if called is not None else []
    return any(isinstance(each, ast.Return) and isinstance(each.value, ast.Tuple) for each in nodes)
