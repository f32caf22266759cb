"""Recognizes tests that select one iteration of a loop: in ``for i in range(n):``, ``if i == 3:`` is true only once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.syntax.bindings import bound_in
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.scopes import LOOPS, Loop, Place, terminal

_NAMED = frozenset({"items", "named_parameters", "named_children", "named_sublayers", "named_buffers"})
"""Methods that yield pairs with unique names."""

_NO_NAMES: frozenset[str] = frozenset()


def is_chosen(link: Place) -> bool:
    """Whether one link of a chain of places is a test that is true in at most one iteration of its innermost loop."""
    node, loop = link.node, link.loop
    if not isinstance(node, ast.If) or not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    return _chooses(node.test, link.branch == "body", loop.target, loop.iter, loop.body)


def chosen_by_filters(generator: ast.comprehension) -> bool:
    """Whether the ``if`` of a comprehension is true in at most one iteration: ``x[i] for i in range(n) if i == 3``."""
    return any(_chooses(test, True, generator.target, generator.iter, []) for test in generator.ifs)


def _chooses(test: ast.expr, value: bool, target: ast.expr, iterated: ast.expr, body: list[ast.stmt]) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _chooses(test.operand, not value, target, iterated, body)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) != value:
            return False  # ``i == 1 or other``
        return any(_chooses(part, value, target, iterated, body) for part in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if not isinstance(test.ops[0], ast.Eq if value else ast.NotEq):
        return False
    names = _unlike(target, iterated)
    sides = (test.left, test.comparators[0])
    if not names or not any(isinstance(side, ast.Name) and side.id in names for side in sides):
        return False
    bound = bound_in(body)
    if bound & names:
        return False
    bound |= plain_names(target)
    pairs = (sides, sides[::-1])
    return any(isinstance(one, ast.Name) and one.id in names and _is_fixed(other, bound) for one, other in pairs)


def _is_fixed(node: ast.expr, bound: set[str]) -> bool:
    """Whether a value is the same in all iterations: a constant, or a name that the loop does not bind."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    name = dotted(node)
    return isinstance(node, ast.Constant) or (name is not None and name.partition(".")[0] not in bound)


def _unlike(target: ast.expr, iterated: ast.expr) -> frozenset[str]:
    """Names with a different value in each iteration: ``i`` over a ``range``, the name of a parameter."""
    if not isinstance(iterated, ast.Call):
        return _NO_NAMES
    function = terminal(iterated)
    if function == "tqdm" and iterated.args:
        return _unlike(target, iterated.args[0])
    if function in ("range", "trange"):
        return _plain(target)
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    if pair is None:
        return _NO_NAMES
    if function == "enumerate" and iterated.args:
        return _plain(pair[0]) | _unlike(pair[1], iterated.args[0])
    return _plain(pair[0]) if function in _NAMED else _NO_NAMES


def _plain(target: ast.expr) -> frozenset[str]:
    return frozenset({target.id}) if isinstance(target, ast.Name) else _NO_NAMES


def repeating_loops(place: Place | None) -> Iterator[Loop]:
    """The loops that repeat a place, from the inside out, without those of which a test selects one iteration."""
    chosen: list[ast.stmt] = []
    for link in place.chain() if place is not None else ():
        if link.loop is not None and is_chosen(link):
            chosen.append(link.loop)
        if link.branch == "body" and isinstance(link.node, LOOPS) and link.node not in chosen:
            yield link.node
