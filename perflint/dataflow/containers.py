"""The kinds of containers, however they are made and filled: ``dict(a=Meter())``, ``[Meter()] * 3``.

A container of objects of the project is known by what it holds: calling a method of any of its items leads to that
method of their class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Protocol

from perflint.index.kinds import HOST, TENSOR, TUPLE_TAG, UNKNOWN, UNKNOWN_TAG, Kind, element, join, tuple_of
from perflint.syntax.names import dotted

_DICTS = frozenset({"dict", "collections.OrderedDict", "OrderedDict"})
_DEFAULT_DICTS = frozenset({"collections.defaultdict", "defaultdict"})
_PARTIALS = frozenset({"functools.partial", "partial"})
_ITEM_METHODS = frozenset({"get", "pop", "setdefault", "popleft"})
_MOST_ITEMS = 32


class Kinds(Protocol):
    """What an evaluator of expressions says of those in a container."""

    def kind(self, node: ast.expr) -> Kind:
        """The kind of an expression."""

    def iterated(self, node: ast.expr) -> Kind:
        """What iterating over an expression gives."""

    def inside(self, generators: list[ast.comprehension]) -> Kinds:
        """The same for the inside of a comprehension."""


def holds_objects(kind: Kind) -> bool:
    """Whether a container is known to hold objects or functions, of one class or of several."""
    return kind.tag == TUPLE_TAG and not kind.is_tensor and any(item.type for item in kind.items)


def of_values(kinds: Iterable[Kind]) -> Kind:
    """A dict with values of these kinds."""
    known = list(kinds)
    if any(kind.type for kind in known):
        return tuple_of(known)
    if any(kind.is_tensor for kind in known):
        return TENSOR
    # Losses read to the host come with a learning rate or a time whose kind is not known.
    return HOST if sum(kind.is_host for kind in known) > len(known) // 2 else UNKNOWN


def of_call(call: ast.Call, qualified: str, kinds: Kinds) -> Kind | None:
    """The dict that a call makes; None where it makes none, or where nothing is known of it."""
    if qualified in _DEFAULT_DICTS and call.args:
        made = _made_by(call.args[0], kinds)
        return tuple_of([made]) if made.type else None
    if qualified not in _DICTS:
        return None
    values = [kinds.kind(keyword.value) for keyword in call.keywords[:_MOST_ITEMS] if keyword.arg]
    if call.args:
        values += _of_pairs(call.args[0], kinds)
    return of_values(values) if values else None


def _of_pairs(node: ast.expr, kinds: Kinds) -> list[Kind]:
    """The kinds of the values in the first argument of ``dict``: pairs, or another dict."""
    if isinstance(node, (ast.List, ast.Tuple)):
        pairs = [item.elts for item in node.elts[:_MOST_ITEMS] if isinstance(item, (ast.Tuple, ast.List))]
        return [kinds.kind(pair[1]) for pair in pairs if len(pair) == 2]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, ast.Tuple):
        return [kinds.inside(node.generators).kind(part) for part in node.elt.elts[1:2]]
    if isinstance(node, ast.Call) and dotted(node.func) == "zip" and len(node.args) == 2:
        return [kinds.iterated(node.args[1])]
    known = kinds.kind(node)
    return list(known.items) if holds_objects(known) else []


def _made_by(factory: ast.expr, kinds: Kinds) -> Kind:
    """What calling the factory of a ``defaultdict`` gives: a class, a ``lambda``, or a ``partial`` of a class."""
    if isinstance(factory, ast.Lambda):
        return kinds.kind(factory.body)
    if isinstance(factory, ast.Call) and dotted(factory.func) in _PARTIALS and factory.args:
        factory = factory.args[0]
    if dotted(factory) is None:
        return UNKNOWN
    return kinds.kind(ast.copy_location(ast.Call(func=factory, args=[], keywords=[]), factory))


def method_result(base: Kind, method: str) -> Kind:
    """What a method of a container of objects gives."""
    if method in _ITEM_METHODS:
        return element(base)
    if method in ("values", "copy"):
        return base
    return tuple_of([tuple_of([HOST, element(base)])]) if method == "items" else UNKNOWN


def with_item(known: Kind | None, item: Kind) -> Kind | None:
    """A container after one more item was put into it; None where that makes nothing known of it."""
    if known is None or known.tag == UNKNOWN_TAG or (known.tag == TUPLE_TAG and not known.items):
        return tuple_of([item]) if item.type else None
    if not holds_objects(known):
        return None
    return tuple_of([join(element(known), item)]) if item.type else UNKNOWN
