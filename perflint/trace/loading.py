"""Where the batches of a step come from: the calls that may create its loader, and their worker processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.facts.loaders import LOADER
from perflint.flow.constant_values import Special
from perflint.flow.constants import Constants
from perflint.flow.sources import ValueSource, sources
from perflint.index.project import Located, Place
from perflint.paddle.passthrough import LOOPED
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import Loop, terminal

_WORKERS, _WORKERS_PLACE = "num_workers", 11
"""The parameter of a loader for the number of worker processes, and its position."""


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
    """The loaders of the loop of a step: none if it draws from something else, or if that is not known."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return []
    found: dict[ast.Call, Loading] = {}
    statement = next((each for each in at.scope.statements if each.node is loop), None)
    for drawn in _drawn(loop.iter):
        for source in sources(drawn, at.before(statement)):
            if isinstance(source.node, ast.Call) and source.is_known and source.qualified == LOADER:
                found.setdefault(source.node, _loading(source, source.node))
    return list(found.values())


def _drawn(node: ast.expr) -> Iterator[ast.expr]:
    """What ``enumerate(tqdm(loader))`` draws from: ``loader``, and the other arguments of ``zip``."""
    if isinstance(node, ast.Call) and terminal(node) in LOOPED:
        for argument in node.args:
            yield from _drawn(argument)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield node  # a function may return a loader
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        yield node.func.value  # ``loader()`` of Paddle 1.x has no receiver; this is ``self.loader.__iter__()``
        yield node
    else:
        yield node


def _loading(source: ValueSource, call: ast.Call) -> Loading:
    given = argument_of(call, _WORKERS, _WORKERS_PLACE)
    made = Located(call, source.place)
    if given is None:
        return Loading(made, (None if is_spread(call) else 0,))
    values = Constants.of(source.place.file.project).possible(given, source.place)
    numbers = {value.value if isinstance(value.value, int) else None for value in values} - {Special.LEFT_OUT}
    known = sorted(number for number in numbers if number is not None)
    return Loading(made, (*known, *([None] if None in numbers or not numbers else [])))
