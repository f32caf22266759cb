"""Finds the kinds of containers, however they are created and filled: ``dict(a=Meter())``, ``[Meter()] * 3``.

A container of project objects has the kind of its items: calling a method of any item leads to that method of their
class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Protocol

from perflint.index.kinds import (
    DICT_TAG,
    GUESS,
    HOST,
    HOST_TAG,
    TENSOR,
    TENSOR_TAG,
    TUPLE_TAG,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
    dict_of,
    element,
    entries_of,
    join,
    rest_of,
    tuple_of,
)
from perflint.syntax.names import dotted
from perflint.syntax.tree import string_of
from perflint.syntax.vocabulary import means_loss

_DICTS = frozenset({"dict", "collections.OrderedDict", "OrderedDict"})
_DEFAULT_DICTS = frozenset({"collections.defaultdict", "defaultdict"})
_PARTIALS = frozenset({"functools.partial", "partial"})
_ITEM_METHODS = frozenset({"get", "pop", "setdefault", "popleft"})
_MOST_ITEMS = 32


class Kinds(Protocol):
    """The interface of an evaluator of expressions that this module needs."""

    def kind(self, node: ast.expr) -> Kind:
        """The kind of an expression."""

    def iterated(self, node: ast.expr) -> Kind:
        """The kind that iterating over an expression gives."""

    def inside(self, generators: list[ast.comprehension]) -> Kinds:
        """An evaluator for the inside of a comprehension."""


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
    # Losses read to the host come with a learning rate or a time of unknown kind.
    return HOST if sum(kind.is_host for kind in known) > len(known) // 2 else UNKNOWN


def of_dict(node: ast.Dict, kinds: Kinds) -> Kind:
    """The kind of a display such as ``{"loss": loss, **others}``."""
    written = list(zip(node.keys, node.values, strict=True))[:_MOST_ITEMS]
    return of_entries(
        [(string_of(key) if key is not None else None, key is None, kinds.kind(value)) for key, value in written]
    )


def of_entries(parts: list[tuple[str | None, bool, Kind]]) -> Kind:
    """The kind of a dict that consists of parts.

    Args:
        parts: the key of each, if it is known; whether it is a dict whose entries are included; and its kind.
    """
    flat = of_values(kind for _, _, kind in parts)
    if not any(kind.is_tensor for _, _, kind in parts):
        return flat
    entries: dict[str, Kind] = {}
    rest = UNKNOWN
    for key, is_dict, kind in parts:
        if key is not None:
            entries[key] = GUESS if kind.tag == UNKNOWN_TAG and means_loss(key) else kind
            continue
        if is_dict and kind.tag == DICT_TAG:
            entries.update(entries_of(kind))
        rest = join(rest, rest_of(kind) if is_dict else kind)
    return dict_of(entries, rest)


def merged(first: Kind, second: Kind) -> Kind:
    """``{**first, **second}``"""
    return of_entries([(None, True, first), (None, True, second)])


def with_entries(kind: Kind, entries: Mapping[str, Kind]) -> Kind:
    """A kind, with the known kinds of its entries: ``logs`` after ``logs["loss"] = loss``.

    Args:
        kind: the kind of the whole value.
        entries: the known kinds of its entries, by key; ``**`` means all others.
    """
    if kind.tag not in (UNKNOWN_TAG, HOST_TAG, TENSOR_TAG, DICT_TAG):
        return kind
    known = {**entries_of(kind), **entries}
    rest = rest_of(kind) if kind.is_tensor else UNKNOWN
    if "**" in known:
        rest = join(rest, known.pop("**"))
    if not any(entry.is_tensor for entry in (*known.values(), rest)):
        return kind
    made = dict_of(known, rest)
    return made if made.tag == DICT_TAG or not kind.is_tensor else kind


def entry(kind: Kind, key: str | None) -> Kind:
    """The kind of a dict's value for a key; None: an unknown key."""
    known = entries_of(kind)
    if key is None:
        return element(kind)
    if key in known:
        return known[key]
    rest = rest_of(kind)
    return rest if rest.tag != UNKNOWN_TAG or not means_loss(key) else element(kind)


def entry_of_dict(base: Kind, method: str, key: str | None) -> Kind | None:
    """The result of a method of a dict; None for a method that says nothing about its entries."""
    if method in _ITEM_METHODS:
        return entry(base, key)
    if method == "copy":
        return base
    if method == "values":
        return tuple_of([element(base)])
    if method == "items":
        return tuple_of([tuple_of([HOST, element(base)])])
    return HOST if method == "keys" else None


def of_call(call: ast.Call, qualified: str, kinds: Kinds) -> Kind | None:
    """The kind of the dict that a call creates; None if it creates none, or if nothing is known about it."""
    if qualified in _DEFAULT_DICTS and call.args:
        made = _made_by(call.args[0], kinds)
        return tuple_of([made]) if made.type else None
    if qualified not in _DICTS:
        return None
    parts = [(item.arg, item.arg is None, kinds.kind(item.value)) for item in call.keywords[:_MOST_ITEMS]]
    if call.args:
        parts = _of_pairs(call.args[0], kinds) + parts
    return of_entries(parts) if parts else None


def _of_pairs(node: ast.expr, kinds: Kinds) -> list[tuple[str | None, bool, Kind]]:
    """The parts in the first argument of ``dict``: pairs, or another dict."""
    if isinstance(node, (ast.List, ast.Tuple)):
        pairs = [item.elts for item in node.elts[:_MOST_ITEMS] if isinstance(item, (ast.Tuple, ast.List))]
        return [(string_of(pair[0]), False, kinds.kind(pair[1])) for pair in pairs if len(pair) == 2]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, ast.Tuple):
        return [(None, False, kinds.inside(node.generators).kind(part)) for part in node.elt.elts[1:2]]
    if isinstance(node, ast.Call) and dotted(node.func) == "zip" and len(node.args) == 2:
        return [(None, False, kinds.iterated(node.args[1]))]
    known = kinds.kind(node)
    if known.tag == DICT_TAG:
        return [(None, True, known)]
    return [(None, False, item) for item in known.items] if holds_objects(known) else []


def _made_by(factory: ast.expr, kinds: Kinds) -> Kind:
    """The result of calling the factory of a ``defaultdict``: a class, a ``lambda``, or a ``partial`` of a class."""
    if isinstance(factory, ast.Lambda):
        return kinds.kind(factory.body)
    if isinstance(factory, ast.Call) and dotted(factory.func) in _PARTIALS and factory.args:
        factory = factory.args[0]
    if dotted(factory) is None:
        return UNKNOWN
    return kinds.kind(ast.copy_location(ast.Call(func=factory, args=[], keywords=[]), factory))


def method_result(base: Kind, method: str) -> Kind:
    """The result of a method of a container of objects."""
    if method in _ITEM_METHODS:
        return element(base)
    if method in ("values", "copy"):
        return base
    return tuple_of([tuple_of([HOST, element(base)])]) if method == "items" else UNKNOWN


def with_item(known: Kind | None, item: Kind) -> Kind | None:
    """The kind of a container after one more item was added; None if that makes nothing known."""
    if known is None or known.tag == UNKNOWN_TAG or (known.tag == TUPLE_TAG and not known.items):
        return tuple_of([item]) if item.type else None
    if not holds_objects(known):
        return None
    return tuple_of([join(element(known), item)]) if item.type else UNKNOWN
