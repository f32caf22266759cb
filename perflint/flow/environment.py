"""The kinds of names at one place of a program, of the entries of containers, and what assignments change."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

from perflint.index.kinds import (
    DICT_TAG,
    GUESS,
    HOST,
    HOST_TAG,
    MASK,
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
from perflint.paddle.tensor_methods import is_of_arrays, is_of_arrays_alone, may_have_as_container
from perflint.syntax.bindings import values_bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import written_entries
from perflint.syntax.scopes import Scope, once, own_parts
from perflint.syntax.tree import string_of, walk
from perflint.syntax.vocabulary import means_loss

# The kinds of names at one place of a program, in a mapping that is cheap to copy.
#
# A scope with 100,000 statements has as many environments, each equal to the one before except for a name or two.
# They share the rest: the names are leaves of a tree, and giving one of them another kind only copies the few nodes
# above it.

_MOST_NAMES = 24
"""The number of names in one leaf (a dict, copied completely); a larger leaf is split."""
_BITS = 4
_MASK = (1 << _BITS) - 1
_DEEPEST = 12
"""The levels of the tree; hashes that agree in this many bits share a leaf, whatever its size."""
_MOST_ITEMS = 64
_NO_NAMES: dict[str, Any] = {}


class _Owner:
    """The facts about a name that other names begin with: its own kind, and the kinds of ``.loss`` or ``['loss']``."""

    __slots__ = ("below", "kind")

    def __init__(self, kind: Kind | None, below: _Node) -> None:
        self.kind = kind
        self.below = below


_Entry = Kind | _Owner
_Node = dict[str, _Entry] | tuple[Any, ...]
"""A leaf, or the nodes for each value of the next bits of a hash."""


class Environment(Mapping[str, Kind]):
    """Kinds by dotted name (``loss``, ``self.loss``, ``logs['loss']``); call ``copy`` before a change."""

    __slots__ = ("_root", "_under")

    def __init__(self, known: Mapping[str, Kind] = _NO_NAMES) -> None:
        self._root: _Node = _NO_NAMES
        self._under: Mapping[str, Kind] = _NO_NAMES
        if isinstance(known, Environment):
            self._root, self._under = known._root, known._under
        else:
            self.update(known)

    def copy(self) -> Environment:
        """A copy with the same names, which can be changed independently."""
        return Environment(self)

    def over(self, under: Mapping[str, Kind]) -> Environment:
        """A copy, with the names from ``under`` added that it does not have."""
        made = self.copy()
        made._under = under
        return made

    # -- asking ------------------------------------------------------------------------------------------------

    def get(self, name: str, default: Any = None) -> Any:
        """The kind of a name."""
        root = self._root
        entry: Any = root.get(name) if isinstance(root, dict) else _found(root, name)
        if entry.__class__ is Kind:
            return entry
        kind: Kind | None = None
        if entry is not None:
            kind = entry.kind
        elif "." in name or "[" in name:
            kind = self._below(name)
        if kind is None and self._under:
            kind = self._under.get(name)
        return default if kind is None else kind

    def __getitem__(self, name: str) -> Kind:
        kind = self.get(name)
        if kind is None:
            raise KeyError(name)
        return kind  # type: ignore[no-any-return]  # `get` may be handed a default of any type

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None  # type: ignore[arg-type]  # only names are asked for

    def __iter__(self) -> Iterator[str]:
        yield from _names(self._root, "")
        yield from (name for name in self._under if Environment.get(self._alone(), name) is None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Environment) and not self._under and not other._under:
            return _same(self._root, other._root)
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def items_of(self, name: str) -> list[Kind]:
        """The kinds of a container's items by constant key: for the first 64 of them."""
        return list(self.entries_of(name).values())

    def entries_of(self, name: str) -> dict[str, Kind]:
        """The kinds of a container's items by their places in it (``['loss']``), for the first 64 of them."""
        found: dict[str, Kind] = {}
        entry = _descend(self._root, _parts(name))
        if isinstance(entry, _Owner):
            for part, item in _entries(entry.below):
                kind = item.kind if isinstance(item, _Owner) else item
                if kind is not None and part[0] == "[":
                    found[part] = kind
                    if len(found) == _MOST_ITEMS:
                        break
        return found

    # -- changing ----------------------------------------------------------------------------------------------

    def __setitem__(self, name: str, kind: Kind) -> None:
        """Set the kind of a name; facts about names that begin with it stay."""
        self._root = _with(self._root, _parts(name), kind, keeps=True)

    def bind(self, name: str, kind: Kind) -> None:
        """Bind a name to another value: for ``self``, everything about ``self.loss`` is forgotten."""
        self._root = _with(self._root, _parts(name), kind, keeps=False)

    def update(self, known: Mapping[str, Kind]) -> None:
        """Set the kinds of several names."""
        for name, kind in known.items():
            self[name] = kind

    def forget(self, name: str) -> None:
        """Forget the kind of a plain name; facts about names that begin with it stay."""
        self._root = _without(self._root, name)

    def merged(self, other: Environment) -> Environment:
        """The facts where two paths meet; only names that differ are examined."""
        root = _merged(self._root, other._root, 0)
        if root is self._root:
            return self
        made = self.copy()
        made._root = root
        return made

    def _below(self, name: str) -> Kind | None:
        entry = _descend(self._root, _parts(name))
        return entry.kind if isinstance(entry, _Owner) else entry

    def _alone(self) -> Environment:
        made = self.copy()
        made._under = _NO_NAMES
        return made


@lru_cache(65536)
def _parts(name: str) -> tuple[str, ...]:
    """``self.logs['loss']`` as ``("self", ".logs", "['loss']")``: joined, they are the name."""
    head, bracket, item = name.partition("[")
    first, *others = head.split(".")
    return (first, *("." + part for part in others), *((bracket + item,) if bracket else ()))


def _found(node: _Node, part: str, depth: int = 0) -> _Entry | None:
    code = hash(part) >> _BITS * depth
    while isinstance(node, tuple):
        node = node[code & _MASK]
        code >>= _BITS
    return node.get(part)


def _descend(node: _Node, parts: tuple[str, ...]) -> _Entry | None:
    entry: _Entry | None = None
    for number, part in enumerate(parts):
        if number:
            if not isinstance(entry, _Owner):
                return None
            node = entry.below
        entry = _found(node, part)
    return entry


def _with(node: _Node, parts: tuple[str, ...], kind: Kind, keeps: bool) -> _Node:
    """A node in which a name has this kind, with or without what is below the name."""
    entries: list[_Entry | None] = []
    nodes: list[_Node] = []
    for part in parts:  # a name may have hundreds of parts: no recursion
        nodes.append(node)
        entry = _found(node, part)
        entries.append(entry)
        node = entry.below if isinstance(entry, _Owner) else _NO_NAMES
    last = entries.pop()
    made: _Entry = _Owner(kind, last.below) if keeps and isinstance(last, _Owner) else kind
    made_node = _set(nodes.pop(), parts[-1], made)
    for part, above, entry in zip(reversed(parts[:-1]), reversed(nodes), reversed(entries), strict=True):
        own = entry.kind if isinstance(entry, _Owner) else entry
        made_node = _set(above, part, _Owner(own, made_node))
    return made_node


def _set(node: _Node, part: str, entry: _Entry, depth: int = 0) -> _Node:
    if isinstance(node, tuple):
        at = (hash(part) >> _BITS * depth) & _MASK
        return (*node[:at], _set(node[at], part, entry, depth + 1), *node[at + 1 :])
    made = dict(node)
    made[part] = entry
    return made if len(made) <= _MOST_NAMES else _divided(made, depth)


def _divided(leaf: dict[str, _Entry], depth: int) -> _Node:
    if depth == _DEEPEST:
        return leaf
    parts: list[dict[str, _Entry]] = [{} for _ in range(_MASK + 1)]
    for part, entry in leaf.items():
        parts[(hash(part) >> _BITS * depth) & _MASK][part] = entry
    return tuple(inner if len(inner) <= _MOST_NAMES else _divided(inner, depth + 1) for inner in parts)


def _without(node: _Node, part: str, depth: int = 0) -> _Node:
    """A node in which a name itself has no kind."""
    if isinstance(node, tuple):
        at = (hash(part) >> _BITS * depth) & _MASK
        inner = _without(node[at], part, depth + 1)
        return node if inner is node[at] else (*node[:at], inner, *node[at + 1 :])
    entry = node.get(part)
    if entry is None:
        return node
    if isinstance(entry, _Owner):
        return {**node, part: _Owner(None, entry.below)}
    return {name: known for name, known in node.items() if name != part}


def _entries(node: _Node) -> Iterator[tuple[str, _Entry]]:
    if isinstance(node, tuple):
        for inner in node:
            yield from _entries(inner)
    else:
        yield from node.items()


def _names(node: _Node, before: str) -> Iterator[str]:
    for part, entry in _entries(node):
        if isinstance(entry, Kind):
            yield before + part
            continue
        if entry.kind is not None:
            yield before + part
        yield from _names(entry.below, before + part)


def _merged(first: _Node, second: _Node, depth: int) -> _Node:
    """The merged facts of two nodes; the first node itself if the second adds nothing."""
    if first is second:
        return first
    if isinstance(first, tuple) and isinstance(second, tuple):
        made = tuple(_merged(one, other, depth + 1) for one, other in zip(first, second, strict=True))
        return first if all(one is other for one, other in zip(made, first, strict=True)) else made
    result = first
    for part, entry in _entries(second):
        known = _found(result, part, depth)
        joined = entry if known is None else _joined(known, entry)
        if joined is known:
            continue
        if isinstance(result, dict) and result is not first and (known is not None or len(result) < _MOST_NAMES):
            result[part] = joined  # one copy of a small leaf is enough
        else:
            result = _set(result, part, joined, depth)
    return result


def _joined(one: _Entry, other: _Entry) -> _Entry:
    if one is other:
        return one
    if isinstance(one, Kind) and isinstance(other, Kind):
        return join(one, other)
    kind, below = (one, _NO_NAMES) if isinstance(one, Kind) else (one.kind, one.below)
    other_kind, other_below = (other, _NO_NAMES) if isinstance(other, Kind) else (other.kind, other.below)
    both = kind if other_kind is None else other_kind if kind is None else join(kind, other_kind)
    merged = _merged(below, other_below, 0)
    return one if both is kind and merged is below else _Owner(both, merged)


def _same(one: _Node, other: _Node) -> bool:
    if one is other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(map(_same, one, other))
    found, others = dict(_entries(one)), dict(_entries(other))
    return found.keys() == others.keys() and all(_alike(entry, others[part]) for part, entry in found.items())


def _alike(one: _Entry, other: _Entry) -> bool:
    if isinstance(one, _Owner) and isinstance(other, _Owner):
        return one.kind is other.kind and _same(one.below, other.below)
    return one is other


# Finds the kinds of containers, however they are created and filled: ``dict(a=Meter())``, ``[Meter()] * 3``.
#
# A container of project objects has the kind of its items: calling a method of any item leads to that method of their
# class.

_DICTS = frozenset({"dict", "collections.OrderedDict", "OrderedDict"})
_DEFAULT_DICTS = frozenset({"collections.defaultdict", "defaultdict"})
_PARTIALS = frozenset({"functools.partial", "partial"})
_ITEM_METHODS = frozenset({"get", "pop", "setdefault", "popleft"})
_CONTAINERS_MOST_ITEMS = 32


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
    written = list(zip(node.keys, node.values, strict=True))[:_CONTAINERS_MOST_ITEMS]
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
    parts = [(item.arg, item.arg is None, kinds.kind(item.value)) for item in call.keywords[:_CONTAINERS_MOST_ITEMS]]
    if call.args:
        parts = _of_pairs(call.args[0], kinds) + parts
    return of_entries(parts) if parts else None


def _of_pairs(node: ast.expr, kinds: Kinds) -> list[tuple[str | None, bool, Kind]]:
    """The parts in the first argument of ``dict``: pairs, or another dict."""
    if isinstance(node, (ast.List, ast.Tuple)):
        pairs = [item.elts for item in node.elts[:_CONTAINERS_MOST_ITEMS] if isinstance(item, (ast.Tuple, ast.List))]
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


# Records what an assignment says about names, and about entries by key: ``logs["loss"] = loss``.


def bind(target: ast.expr, kind: Kind, env: Environment) -> None:
    """Record what an assignment to ``target`` says."""
    if isinstance(target, (ast.Tuple, ast.List)):
        items = kind.items if kind.tag == TUPLE_TAG and len(kind.items) == len(target.elts) else None
        each = UNKNOWN if items else element(kind)
        for index, part in enumerate(target.elts):
            bind(part, items[index] if items else each, env)
        return
    if isinstance(target, ast.Starred):
        bind(target.value, kind, env)
        return
    if isinstance(target, ast.Subscript):
        _bind_item(target, kind, env)
        return
    name = dotted(target)
    if name is not None:
        env.bind(name, kind)


def _bind_item(target: ast.Subscript, kind: Kind, env: Environment) -> None:
    """``d[key] = loss``: a container of tensors, unless other items are known to be something else.

    ``d["loss"] = loss`` says nothing about its other items.
    """
    name, item = dotted(target.value), item_name(target)
    if name is None:
        return
    if item is not None:
        env[item] = kind
    held = None if kind.is_tensor else with_item(env.get(name), kind)
    if kind.is_tensor:
        if item is None and not any(known.type or known.is_host for known in env.items_of(name)):
            env[name] = MASK if env.get(name, UNKNOWN).truth else TENSOR  # (an item of a mask is a truth value, too)
    elif held is not None:
        env[name] = held
    elif kind.type and name in env and env[name].tag in (TENSOR_TAG, HOST_TAG):
        env[name] = UNKNOWN


def bind_entries(target: ast.expr, value: ast.expr, kinds: Kinds, env: Environment) -> None:
    """Record the kinds of the entries that a name gets, by key: ``logs = {"loss": loss, "lr": 0.1}``."""
    written = written_entries(value)
    for key, entry in written.values.items() if written is not None else ():
        kind = kinds.kind(entry)
        if kind.tag != UNKNOWN_TAG or not means_loss(key):
            bind_entry(target, key, kind, env)


def bind_entry(target: ast.expr, key: str, kind: Kind, env: Environment) -> None:
    """Record the kind of the entry that a name gets under a key; ``**`` means all others."""
    item = item_name(ast.Subscript(target, ast.Constant(key)))
    if item is not None:
        env[item] = kind


def item_name(node: ast.Subscript) -> str | None:
    """The name of an item with a constant key in an environment: ``status['loss']``."""
    name, key = dotted(node.value), string_of(node.slice)
    return f"{name}[{key!r}]" if name is not None and key is not None else None


# Finds names that a function uses as NumPy arrays: it uses attributes of them that tensors do not have.
#
# ``lengths`` is an array in ``if lengths.max() > n: lengths = lengths.copy()``: no tensor has ``copy``.  Lists and
# dicts have it, but no ``max``.

_ITEM = "[]"
"""What follows the name of a container if its items are meant."""
_OF_A_DICT = "keys"
"""The key of an item that only a dict has: ``logs["loss"]``."""


@once
def arrays(scope: Scope) -> frozenset[str]:
    """Names on which a scope uses attributes that only arrays have, and none that they lack; also their containers."""
    asked: dict[str, set[str]] = defaultdict(set)
    for statement in scope.statements:
        for name, attribute in _asked_by(own_parts(statement.node)):
            asked[name].add(attribute)
    found = {name.removesuffix(_ITEM) for name, attributes in asked.items() if _tell_of_an_array(attributes)}
    if not found:
        return frozenset()
    others = {name.removesuffix(_ITEM) for name, attributes in asked.items() if not all(map(is_of_arrays, attributes))}
    return frozenset(found - others - _converted(scope))


def _tell_of_an_array(attributes: set[str]) -> bool:
    return any(map(is_of_arrays_alone, attributes)) and not all(map(may_have_as_container, attributes))


def _asked_by(parts: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The used attributes, each with the name: ``x.max()``, ``x[0].flat`` (of an item of ``x``)."""
    for part in parts:
        for item in walk(part):
            if isinstance(item, ast.Attribute):
                holder, has_keys, suffix = item.value, False, ""
                while isinstance(holder, ast.Subscript):
                    has_keys = has_keys or string_of(holder.slice) is not None
                    holder, suffix = holder.value, _ITEM
                name = dotted(holder)
                if name is not None:
                    yield (name, _OF_A_DICT) if has_keys else (name + suffix, item.attr)


def _converted(scope: Scope) -> set[str]:
    """Names that are rebound to a conversion of themselves, and so have two meanings: ``x = np.asarray(x)``."""
    return {
        name
        for statement in scope.statements
        for name, value in values_bound_by(statement.node)
        if value is not None and name in _handed_over(value)
    }


def _handed_over(value: ast.expr) -> set[str]:
    calls = (item for item in walk(value) if isinstance(item, ast.Call))
    arguments = (part for call in calls for part in [*call.args, *(item.value for item in call.keywords)])
    return {name for argument in arguments for part in walk(argument) if (name := dotted(part)) is not None}
