"""What kind of value an expression holds, as far as training code cares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from weakref import WeakValueDictionary

TENSOR_TAG, HOST_TAG, LOADER_TAG, DATASET_TAG = "tensor", "host", "loader", "dataset"
ITERABLE_TAG, LAYER_TAG, OBJECT_TAG, TUPLE_TAG, UNKNOWN_TAG = "iterable", "layer", "object", "tuple", "unknown"
FUNCTION_TAG, DICT_TAG = "function", "dict"
EITHER = " or "
"""Separates the types of a value that may have one of several."""
_MOST_TYPES = 8
_DEEPEST = 12
"""How many levels of nested tuples are distinguished; deeper ones count as one value."""
_DEEPEST_DICT = 3
"""The same for nested dicts: where two paths meet, each entry of one is joined with that of the other."""
_MOST_KEYS = 32
"""A dict with more known keys counts as a dict of tensors without keys."""


class Kind:
    """A value: ``tag`` is a constant of this module.

    ``scalar``/``floating``/``truth``: a tensor known to be 0-D / of a floating dtype / of truth values. ``guess``:
    known only from its name in the code. ``type``: qualified class of an ``object`` or ``layer``, qualified name of a
    ``function`` (whose ``guess`` says that its arguments differ from those of the call, as with a ``partial``).
    ``items``: kinds of a tuple's items, or of a dict's values: one for each of its ``keys``, and last what any other
    value may be. For a loader in ``enumerate`` or ``zip``, what each iteration yields.

    ``is_tensor``: this is device data: a tensor, or a container of tensors. ``is_host``: this is known to live in host
    memory (numbers, strings, NumPy arrays). ``depth``: how many tuples or dicts are nested.

    Equal kinds are one object, so comparing two is fast however deeply they are nested: ``v1 = (v0, v0)``, ``v2 = (v1,
    v1)`` and so on would make 2^30 parts of 30 rows.
    """

    __slots__ = (
        "__weakref__",
        "depth",
        "floating",
        "guess",
        "is_host",
        "is_tensor",
        "items",
        "keys",
        "scalar",
        "tag",
        "truth",
        "type",
    )

    tag: str
    scalar: bool
    floating: bool
    guess: bool
    type: str
    items: tuple[Kind, ...]
    keys: tuple[str, ...]
    is_tensor: bool
    truth: bool
    is_host: bool
    depth: int

    def __new__(
        cls,
        tag: str,
        scalar: bool = False,
        floating: bool = False,
        guess: bool = False,
        type: str = "",
        items: tuple[Kind, ...] = (),
        keys: tuple[str, ...] = (),
        truth: bool = False,
    ) -> Kind:
        """The only kind with these properties."""
        key = (tag, scalar, floating, guess, type, items, keys, truth)
        known = _MADE.get(key)
        if known is not None:
            return known
        made = super().__new__(cls)
        made.tag, made.scalar, made.floating, made.guess, made.type, made.items, made.keys, made.truth = key
        is_container = tag in (TUPLE_TAG, DICT_TAG)
        made.is_tensor = tag == TENSOR_TAG or (is_container and any(item.is_tensor for item in items))
        made.is_host = tag == HOST_TAG or (is_container and bool(items) and all(item.is_host for item in items))
        made.depth = 1 + max((item.depth for item in items), default=0)
        _MADE[key] = made
        return made

    def __reduce__(self) -> tuple[object, ...]:
        """How another process finds its own equal kind."""
        return Kind, (self.tag, self.scalar, self.floating, self.guess, self.type, self.items, self.keys, self.truth)

    def __repr__(self) -> str:
        said = [name for name in ("scalar", "floating", "truth", "guess") if getattr(self, name)]
        names = [f"{key}: " for key in self.keys]
        items = zip_longest(names, self.items, fillvalue="")
        inner = [self.type] * bool(self.type) + [f"{name}{item}" for name, item in items]
        return f"<{' '.join([*said, self.tag])}{f' of {chr(44).join(inner)}' if inner else ''}>"


_MADE: WeakValueDictionary[tuple[object, ...], Kind] = WeakValueDictionary()

UNKNOWN = Kind(UNKNOWN_TAG)
HOST = Kind(HOST_TAG)
TENSOR = Kind(TENSOR_TAG)
LOSS = Kind(TENSOR_TAG, scalar=True, floating=True)
SCALAR = Kind(TENSOR_TAG, scalar=True)
GUESS = Kind(TENSOR_TAG, guess=True)
MASK = Kind(TENSOR_TAG, truth=True)
LOADER = Kind(LOADER_TAG)
DATASET = Kind(DATASET_TAG)
ITERABLE = Kind(ITERABLE_TAG)
CPU_PLACE = Kind(OBJECT_TAG, type="paddle.CPUPlace")


def loader_of(given: Kind) -> Kind:
    """An iterator over a loader that yields more than its batches: ``enumerate(loader)`` yields a count with each."""
    return Kind(LOADER_TAG, items=(given if given.depth < _DEEPEST else _flat(given),))


def layer(type_name: str) -> Kind:
    """An instance of a Layer class."""
    return Kind(LAYER_TAG, type=type_name)


def instance(type_name: str) -> Kind:
    """An instance of any other class that perflint knows by name."""
    return Kind(OBJECT_TAG, type=type_name)


def function(type_name: str, rewrapped: bool = False) -> Kind:
    """A function or bound method of the project as a value."""
    return Kind(FUNCTION_TAG, type=type_name, guess=rewrapped)


def tuple_of(items: Iterable[Kind]) -> Kind:
    """A tuple or list display."""
    return Kind(TUPLE_TAG, items=tuple(item if item.depth < _DEEPEST else _flat(item) for item in items))


def dict_of(entries: Mapping[str, Kind], rest: Kind = UNKNOWN) -> Kind:
    """A dict, some of whose values are tensors: ``{"loss": loss, "seconds": 0.5}``.

    A dict with only tensors, as far as is known, counts as a tensor, like a list of tensors.

    Args:
        entries: the known kinds of its values, by key.
        rest: what its other values may be.
    """
    values = {key: kind if kind.depth < _DEEPEST_DICT else _flat(kind) for key, kind in entries.items()}
    rest = rest if rest.depth < _DEEPEST_DICT else _flat(rest)
    if len(values) > _MOST_KEYS or all(kind.is_tensor and not kind.keys for kind in values.values()):
        return TENSOR
    keys = tuple(sorted(values))
    return Kind(DICT_TAG, items=(*(values[key] for key in keys), rest), keys=keys)


def entries_of(kind: Kind) -> dict[str, Kind]:
    """The known kinds of a dict's values, by key."""
    return dict(zip(kind.keys, kind.items, strict=False))


def rest_of(kind: Kind) -> Kind:
    """What the values of a dict with unknown keys may be."""
    return kind.items[-1] if kind.tag == DICT_TAG else kind


def _flat(kind: Kind) -> Kind:
    """A tuple as one value."""
    if kind.is_tensor:
        return TENSOR
    return HOST if kind.is_host else UNKNOWN


def join(first: Kind, second: Kind) -> Kind:
    """The kind where two paths meet: device data wins, and only properties of both remain known."""
    if first is second:
        return first
    if DICT_TAG in (first.tag, second.tag):
        return _joined_dicts(first, second)
    if first.tag == TENSOR_TAG and second.tag == TENSOR_TAG:
        return Kind(
            TENSOR_TAG,
            scalar=first.scalar and second.scalar,
            floating=first.floating and second.floating,
            guess=first.guess and second.guess,
            truth=first.truth and second.truth,
        )
    for one, other in ((first, second), (second, first)):
        if one.is_tensor:  # ``mask=None`` and a mask: if it is a tensor, it is one of truth values
            is_truth = one.truth and not other.is_tensor
            return Kind(TENSOR_TAG, guess=one.guess, truth=is_truth) if one.tag == TENSOR_TAG else TENSOR
    for one, other in ((first, second), (second, first)):
        if one.tag == UNKNOWN_TAG:
            return UNKNOWN if other.is_host or not (other.items or other.tag != TUPLE_TAG) else other
        if one.is_host and not other.is_host:
            return other
    if first.tag != second.tag:
        return UNKNOWN
    if first.tag == LOADER_TAG:
        return loader_of(join(element(first), element(second)))
    return Kind(
        first.tag,
        first.scalar,
        first.floating,
        first.guess or second.guess,
        _common_type(first.type, second.type),
        first.items,
    )


def _joined_dicts(first: Kind, second: Kind) -> Kind:
    """What two values may be, one of which is a dict: the other may be its initial ``None`` or ``{}``."""
    for one, other in ((first, second), (second, first)):
        if one.tag != DICT_TAG:
            return other if one.is_host or one.tag == UNKNOWN_TAG or one is Kind(TUPLE_TAG) else TENSOR
    mine, others = entries_of(first), entries_of(second)
    either = {}
    for key in (*mine, *others):
        one, other = mine.get(key, rest_of(first)), others.get(key, rest_of(second))
        if key not in mine and one is UNKNOWN:
            either[key] = other
        elif key not in others and other is UNKNOWN:
            either[key] = one
        else:
            either[key] = join(one, other)
    return dict_of(either, join(rest_of(first), rest_of(second)))


def _common_type(first: str, second: str) -> str:
    """The classes (or functions) a value may be of: only the project's own, which can be followed."""
    if first == second:
        return first
    own = {name for both in (first, second) for name in both.split(EITHER) if name and not name.startswith("paddle.")}
    return EITHER.join(sorted(own)) if len(own) <= _MOST_TYPES else ""


def element(kind: Kind) -> Kind:
    """The kind that iterating over, or indexing into, a value gives; for a dict, one of its values."""
    if kind.tag == LOADER_TAG:
        return kind.items[0] if kind.items else TENSOR
    if kind.tag in (TUPLE_TAG, DICT_TAG):
        result = kind.items[0] if kind.items else UNKNOWN
        for item in kind.items[1:]:
            result = join(result, item)
        return result
    if kind.tag == TENSOR_TAG:
        return Kind(TENSOR_TAG, floating=kind.floating, guess=kind.guess, truth=kind.truth)
    return kind if kind.tag == HOST_TAG else UNKNOWN
