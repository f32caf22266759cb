"""The kinds of names at one place of a program, in a mapping that is cheap to copy.

A scope with 100,000 statements has as many environments, each equal to the one before except for a name or two. They
share the rest: the names are leaves of a tree, and giving one of them another kind only copies the few nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from perflint.index.kinds import Kind, join

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
