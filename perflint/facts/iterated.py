"""Finds which names of a loop get the values of a container; in a dict, these are not the keys.

In ``for name, value in losses.items()`` the losses are in ``value``, and in ``for name in losses`` in no name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from perflint.syntax.names import plain_names
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import walk

_MAKE_DICTS = frozenset({"dict", "OrderedDict", "defaultdict", "Counter"})
_IN_TURN = frozenset({"list", "tuple", "sorted", "reversed", "set", "iter", "tqdm"})
"""Calls that yield the items of their first argument."""

IsDict = Callable[[ast.expr], bool]


def makes_dict(node: ast.expr | None) -> bool:
    """Whether an expression creates a dict."""
    if isinstance(node, ast.Call):
        return terminal(node) in _MAKE_DICTS
    return isinstance(node, (ast.Dict, ast.DictComp))


def asks_for_keys(node: ast.AST) -> bool:
    """Whether an expression is a dict's keys: the ``losses.keys`` of ``losses.keys()``."""
    return isinstance(node, ast.Attribute) and node.attr == "keys"


def names_of_values(target: ast.expr, iterated: ast.expr, held: ast.AST, is_dict: IsDict) -> frozenset[str]:
    """The names of a loop's target, or of a comprehension's, that get values of a container.

    Args:
        target: ``i, (name, value)`` of ``for i, (name, value) in enumerate(losses.items())``.
        iterated: the iterable of the loop.
        held: the container in it.
        is_dict: whether an expression is known to be a dict.
    """
    return frozenset(name for part in _given(target, iterated, held, is_dict) for name in plain_names(part))


def _given(target: ast.expr, iterated: ast.expr, held: ast.AST, is_dict: IsDict) -> Iterator[ast.expr]:
    """The parts of a target that get values."""
    if is_dict(iterated):
        return
    called = terminal(iterated) if isinstance(iterated, ast.Call) else None
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    if not isinstance(iterated, ast.Call) or called is None or any(isinstance(part, ast.Starred) for part in parts):
        yield target
    elif called == "items" and len(parts) == 2 and not iterated.args:
        yield parts[1]
    elif called in ("enumerate", "zip") and _fit(parts, iterated):
        shown = parts[1:] if called == "enumerate" else parts
        for part, argument in zip(shown, iterated.args, strict=False):
            if any(item is held for item in walk(argument)):
                yield from _given(part, argument, held, is_dict)
    elif called in _IN_TURN and iterated.args:
        yield from _given(target, iterated.args[0], held, is_dict)
    else:
        yield target


def _fit(parts: list[ast.expr], call: ast.Call) -> bool:
    """Whether a target has one part for each value that ``enumerate`` or ``zip`` yields in each iteration."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    return len(parts) == (2 if terminal(call) == "enumerate" else len(call.args)) and bool(call.args)
