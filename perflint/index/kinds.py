"""What kind of value an expression holds, as far as training code cares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

TENSOR_TAG, HOST_TAG, LOADER_TAG, DATASET_TAG = "tensor", "host", "loader", "dataset"
ITERABLE_TAG, LAYER_TAG, OBJECT_TAG, TUPLE_TAG, UNKNOWN_TAG = "iterable", "layer", "object", "tuple", "unknown"
FUNCTION_TAG = "function"
EITHER = " or "
"""Between the types of a value that may be of several."""
_MOST_TYPES = 8


@dataclass(frozen=True)
class Kind:
    """A value: ``tag`` is one of the constants of this module.

    ``scalar``/``floating``: a tensor known to be 0-D / of a floating dtype.  ``guess``: known only from how the
    code calls it.  ``type``: qualified class of an ``object`` or ``layer``, qualified name of a ``function`` (whose
    ``guess`` says that it gets other arguments than those of the call, as a ``partial`` does).  ``items``: kinds of a
    tuple's items.
    """

    tag: str
    scalar: bool = False
    floating: bool = False
    guess: bool = False
    type: str = ""
    items: tuple[Kind, ...] = ()

    @property
    def is_tensor(self) -> bool:
        """Whether this is device data: a tensor, or a container of tensors."""
        return self.tag == TENSOR_TAG or (self.tag == TUPLE_TAG and any(item.is_tensor for item in self.items))

    @property
    def is_host(self) -> bool:
        """Whether this is known to live in host memory (numbers, strings, NumPy arrays)."""
        return self.tag == HOST_TAG or (
            self.tag == TUPLE_TAG and bool(self.items) and all(item.is_host for item in self.items)
        )


UNKNOWN = Kind(UNKNOWN_TAG)
HOST = Kind(HOST_TAG)
TENSOR = Kind(TENSOR_TAG)
LOSS = Kind(TENSOR_TAG, scalar=True, floating=True)
SCALAR = Kind(TENSOR_TAG, scalar=True)
GUESS = Kind(TENSOR_TAG, guess=True)
LOADER = Kind(LOADER_TAG)
DATASET = Kind(DATASET_TAG)
ITERABLE = Kind(ITERABLE_TAG)


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
    return Kind(TUPLE_TAG, items=tuple(items))


def join(first: Kind, second: Kind) -> Kind:
    """What is known where two paths meet: device data wins, and only what both agree on stays known of it."""
    if first is second or first == second:
        return first
    if first.tag == TENSOR_TAG and second.tag == TENSOR_TAG:
        return Kind(
            TENSOR_TAG,
            scalar=first.scalar and second.scalar,
            floating=first.floating and second.floating,
            guess=first.guess and second.guess,
        )
    for one in (first, second):
        if one.is_tensor:
            return replace(one, scalar=False, floating=False) if one.tag == TENSOR_TAG else TENSOR
    for one, other in ((first, second), (second, first)):
        if one.tag == UNKNOWN_TAG:
            return UNKNOWN if other.is_host or not (other.items or other.tag != TUPLE_TAG) else other
        if one.is_host and not other.is_host:
            return other
    if first.tag != second.tag:
        return UNKNOWN
    return replace(first, type=_common_type(first.type, second.type), guess=first.guess or second.guess)


def _common_type(first: str, second: str) -> str:
    """The classes (or functions) a value may be of: the project's own, which can be followed; none of Paddle's."""
    if first == second:
        return first
    own = {name for both in (first, second) for name in both.split(EITHER) if name and not name.startswith("paddle.")}
    return EITHER.join(sorted(own)) if len(own) <= _MOST_TYPES else ""


def element(kind: Kind) -> Kind:
    """What iterating over, or indexing into, a value gives."""
    if kind.tag == LOADER_TAG:
        return TENSOR
    if kind.tag == TUPLE_TAG:
        result = kind.items[0] if kind.items else UNKNOWN
        for item in kind.items[1:]:
            result = join(result, item)
        return result
    if kind.tag == TENSOR_TAG:
        return Kind(TENSOR_TAG, floating=kind.floating, guess=kind.guess)
    return kind if kind.tag == HOST_TAG else UNKNOWN
