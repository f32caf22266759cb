"""The stand-in's tensor: a numpy array with Paddle's rules for sharing, copying, reading and changing in place.

``detach()`` and basic slices share storage, ``astype`` to the dtype that a tensor has already gives the tensor
itself, ``clone()``, ``numpy()`` and arithmetic copy, and ``a += b`` makes a new tensor.  ``tests/test_programs.py``
asks Paddle the same questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.programs.stand_in.device import current

Array = npt.NDArray[Any]
Backward = Callable[[Array], Sequence[Array]]
"""From the gradient of a result to the gradients of what it was made of."""


class Grad:
    """Whether results remember what they were made of; ``no_grad`` switches it off."""

    enabled = True


@dataclass(frozen=True)
class DType:
    """A dtype by its name in numpy; it prints as Paddle prints it."""

    name: str

    def __str__(self) -> str:
        return f"paddle.{self.name}"

    __repr__ = __str__


FLOAT32 = DType("float32")


def name_of(dtype: Any) -> DType:
    """The name of a dtype that is given as text, as numpy's, or as Paddle's."""
    if isinstance(dtype, DType):
        return dtype
    return DType(dtype if isinstance(dtype, str) else np.dtype(dtype).name)


class Tensor:
    """An array on the device, with what is needed for the gradient of what it was made of."""

    __array_ufunc__ = None  # so that ``numpy.float64(2) * tensor`` asks the tensor
    __slots__ = ("array", "grad", "made_of", "name", "persistable", "pull", "stop_gradient")

    def __init__(
        self, array: Array, stop_gradient: bool = True, made_of: tuple[Tensor, ...] = (), pull: Backward | None = None
    ) -> None:
        self.array = array
        self.stop_gradient = stop_gradient
        self.made_of = made_of
        self.pull = pull
        self.grad: Tensor | None = None
        self.name = ""
        self.persistable = False

    # What it is

    @property
    def shape(self) -> list[int]:
        return list(self.array.shape)

    @property
    def dtype(self) -> DType:
        return DType(self.array.dtype.name)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def is_leaf(self) -> bool:
        return self.pull is None

    def __len__(self) -> int:
        assert self.array.ndim, "len() of a 0-D tensor is wrong"
        return len(self.array)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    # What the host reads

    def numpy(self) -> Array:
        current().read()
        copied: Array = self.array.copy()
        return copied

    def item(self, *place: int) -> Any:
        current().read()
        return self.array.item(*place)

    def tolist(self) -> Any:
        current().read()
        return self.array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def _number(self) -> Any:
        current().read()
        assert self.array.size == 1, "only one element variable can be converted"
        if self.array.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self.array.item()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __bool__(self) -> bool:
        current().read()
        assert self.array.size == 1, "a condition can only contain one element"
        return bool(self.array.item())

    def __index__(self) -> int:
        if self.array.dtype.kind != "i":
            raise TypeError("only integer tensors can be converted to an index")
        return int(self._number())

    def __format__(self, specification: str) -> str:
        return object.__format__(self, specification) if self.array.ndim else format(self._number(), specification)

    def __repr__(self) -> str:
        current().read()
        what = f"shape={self.shape}, dtype={self.dtype.name}, place=Place(cpu), stop_gradient={self.stop_gradient}"
        return f"Tensor({what},\n       {self.array.tolist()})"

    # Copies and views

    def detach(self) -> Tensor:
        return Tensor(self.array)

    def clone(self) -> Tensor:
        return made(self.array.copy(), (self,), lambda gradient: (gradient,))

    def cpu(self) -> Tensor:
        current().read()
        return Tensor(self.array.copy(), self.stop_gradient)

    def astype(self, dtype: Any) -> Tensor:
        wanted = np.dtype(name_of(dtype).name)
        if wanted == self.array.dtype:
            return self
        own = self.array.dtype
        return made(self.array.astype(wanted), (self,), lambda gradient: (gradient.astype(own),))

    cast = astype

    def reshape(self, shape: Sequence[int]) -> Tensor:
        own = self.array.shape
        return made(self.array.reshape(shape), (self,), lambda gradient: (gradient.reshape(own),))

    def flatten(self) -> Tensor:
        return self.reshape([-1])

    def unsqueeze(self, axis: int) -> Tensor:
        return self.reshape(np.expand_dims(self.array, axis).shape)

    def squeeze(self, axis: int | None = None) -> Tensor:
        return self.reshape(np.squeeze(self.array, axis).shape)

    def __getitem__(self, place: Any) -> Tensor:
        place = _plain(place)

        def pull(gradient: Array) -> Sequence[Array]:
            whole = np.zeros_like(self.array)
            np.add.at(whole, place, gradient)
            return (whole,)

        return made(np.asarray(self.array[place]), (self,), pull)

    def __setitem__(self, place: Any, value: Any) -> None:
        current().launch()
        self.array[_plain(place)] = value.array if isinstance(value, Tensor) else value

    def __deepcopy__(self, _: Any) -> Tensor:
        return Tensor(self.array.copy(), self.stop_gradient)

    # Changes in place

    def _put(self, values: Any) -> Tensor:
        if self.pull is None and not self.stop_gradient and Grad.enabled:
            raise ValueError("(InvalidArgument) Leaf Var that doesn't stop gradient can't use inplace strategy.")
        return self._write(values)

    def _write(self, values: Any) -> Tensor:
        current().launch()
        self.array[...] = values
        return self

    def zero_(self) -> Tensor:
        return self._put(0)

    def fill_(self, value: float) -> Tensor:
        return self._put(value)

    def scale_(self, scale: float = 1.0, bias: float = 0.0) -> Tensor:
        return self._put(self.array * self.array.dtype.type(scale) + self.array.dtype.type(bias))

    def clip_(self, min: float | None = None, max: float | None = None) -> Tensor:
        return self._put(np.clip(self.array, min, max))

    def add_(self, other: Any) -> Tensor:
        return self._put(self.array + _values(other, self.array))

    def subtract_(self, other: Any) -> Tensor:
        return self._put(self.array - _values(other, self.array))

    def multiply_(self, other: Any) -> Tensor:
        return self._put(self.array * _values(other, self.array))

    def set_value(self, value: Any) -> None:
        self._write(_values(value, self.array))

    # Gradients

    def backward(self, retain_graph: bool = False) -> None:
        current().on_backward()
        current().launch()
        gradients = {id(self): np.ones_like(self.array)}
        for tensor in _from_last(self):
            gradient = gradients.pop(id(tensor), None)
            if gradient is None or tensor.stop_gradient:
                continue
            if tensor.pull is None:
                before = tensor.grad
                tensor.grad = Tensor(gradient.copy() if before is None else before.array + gradient)
                continue
            for part, share in zip(tensor.made_of, tensor.pull(gradient), strict=True):
                if not part.stop_gradient:
                    known = gradients.get(id(part))
                    gradients[id(part)] = share if known is None else known + share

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        self.grad = Tensor(np.zeros_like(self.array)) if set_to_zero and self.grad is not None else None

    clear_grad = clear_gradient

    # Arithmetic

    def __neg__(self) -> Tensor:
        return made(-self.array, (self,), lambda gradient: (-gradient,))

    def __add__(self, other: Any) -> Tensor:
        return _binary(np.add, self, other, lambda g, a, b: (g, g))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Tensor:
        return _binary(np.subtract, self, other, lambda g, a, b: (g, -g))

    def __rsub__(self, other: Any) -> Tensor:
        return _binary(np.subtract, other, self, lambda g, a, b: (g, -g))

    def __mul__(self, other: Any) -> Tensor:
        return _binary(np.multiply, self, other, lambda g, a, b: (g * b, g * a))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tensor:
        return _binary(np.divide, self, other, lambda g, a, b: (g / b, -g * a / (b * b)))

    def __rtruediv__(self, other: Any) -> Tensor:
        return _binary(np.divide, other, self, lambda g, a, b: (g / b, -g * a / (b * b)))

    def __pow__(self, power: float) -> Tensor:
        kind = self.array.dtype.type
        return made(
            np.asarray(self.array ** kind(power)),
            (self,),
            lambda gradient: (gradient * kind(power) * self.array ** kind(power - 1),),
        )

    def __matmul__(self, other: Tensor) -> Tensor:
        left, right = self.array, other.array
        return made(left @ right, (self, other), lambda gradient: (gradient @ right.T, left.T @ gradient))

    def __lt__(self, other: Any) -> Tensor:
        return _compared(np.less, self, other)

    def __le__(self, other: Any) -> Tensor:
        return _compared(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Tensor:
        return _compared(np.greater, self, other)

    def __ge__(self, other: Any) -> Tensor:
        return _compared(np.greater_equal, self, other)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # as Paddle's, which compares values
        return _compared(np.equal, self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return _compared(np.not_equal, self, other)

    def sum(self, axis: int | None = None) -> Tensor:
        return _reduced(np.sum, self, axis, 1.0)

    def mean(self, axis: int | None = None) -> Tensor:
        count = self.array.size if axis is None else self.array.shape[axis]
        return _reduced(np.mean, self, axis, 1.0 / count)

    def max(self) -> Tensor:
        return made(np.asarray(self.array.max()))

    def min(self) -> Tensor:
        return made(np.asarray(self.array.min()))

    def argmax(self, axis: int | None = None) -> Tensor:
        return made(np.asarray(self.array.argmax(axis)))

    def abs(self) -> Tensor:
        return made(np.abs(self.array), (self,), lambda gradient: (gradient * np.sign(self.array),))

    def exp(self) -> Tensor:
        result = np.exp(self.array)
        return made(np.asarray(result), (self,), lambda gradient: (gradient * result,))

    def square(self) -> Tensor:
        return self**2

    def isnan(self) -> Tensor:
        return made(np.asarray(np.isnan(self.array)))


def made(array: Array, made_of: tuple[Tensor, ...] = (), pull: Backward | None = None) -> Tensor:
    """The result of a kernel; it remembers what it was made of only where a gradient can be asked for."""
    current().launch()
    if pull is None or not Grad.enabled or all(tensor.stop_gradient for tensor in made_of):
        return Tensor(array)
    return Tensor(array, False, made_of, pull)


def tensor_of(data: Any, dtype: Any = None, stop_gradient: bool = True) -> Tensor:
    """``paddle.to_tensor``: a copy; Python floats become float32, whole numbers int64, arrays keep their dtype."""
    current().launch()
    if isinstance(data, Tensor):
        array = data.array.copy()
    elif isinstance(data, (list, tuple)) and any(isinstance(item, Tensor) for item in data):
        array = np.stack([item.array if isinstance(item, Tensor) else np.asarray(item, "float32") for item in data])
    else:
        array = np.array(data)
        if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
            array = array.astype("float32")
    if dtype is not None:
        array = array.astype(name_of(dtype).name)
    return Tensor(array, stop_gradient)


def _plain(place: Any) -> Any:
    if isinstance(place, Tensor):
        return place.array
    return tuple(_plain(part) for part in place) if isinstance(place, tuple) else place


def _values(value: Any, like: Array) -> Array:
    """Something to compute with as an array: a Python number takes the dtype of the tensor beside it."""
    if isinstance(value, Tensor):
        return value.array
    if not isinstance(value, (bool, int, float, np.ndarray, np.generic)):
        raise TypeError(f"unsupported operand type(s): 'Tensor' and '{type(value).__name__}'")
    if like.dtype.kind != "f" and np.asarray(value).dtype.kind == "f":
        return np.asarray(value, "float32")
    return np.asarray(value, like.dtype)


def _binary(operation: Any, left: Any, right: Any, pull: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Tensor:
    like = left.array if isinstance(left, Tensor) else right.array
    one, other = _values(left, like), _values(right, like)
    if operation is np.divide and like.dtype.kind in "iub":
        one, other = one.astype("float32"), other.astype("float32")
    result = np.asarray(operation(one, other))
    parts = [(side, values) for side, values in ((left, one), (right, other))]

    def pulled(gradient: Array) -> Sequence[Array]:
        shares = pull(gradient, one, other)
        return tuple(
            _folded(np.asarray(share), values).astype(values.dtype)
            for (side, values), share in zip(parts, shares, strict=True)
            if isinstance(side, Tensor)
        )

    return made(result, tuple(side for side, _ in parts if isinstance(side, Tensor)), pulled)


def _folded(gradient: Array, like: Array) -> Array:
    """The gradient of what was spread over a larger shape: summed up again."""
    while gradient.ndim > like.ndim:
        gradient = gradient.sum(0)
    for axis, size in enumerate(like.shape):
        if size == 1 and gradient.shape[axis] != 1:
            gradient = gradient.sum(axis, keepdims=True)
    return gradient


def _compared(operation: Any, left: Tensor, right: Any) -> Tensor:
    return made(np.asarray(operation(left.array, _values(right, left.array))))


def _reduced(operation: Any, tensor: Tensor, axis: int | None, share: float) -> Tensor:
    array = tensor.array
    kind = "int64" if operation is np.sum and array.dtype.kind in "ib" else array.dtype

    def pull(gradient: Array) -> Sequence[Array]:
        spread = gradient if axis is None else np.expand_dims(gradient, axis)
        return (np.broadcast_to(spread * array.dtype.type(share), array.shape),)

    return made(np.asarray(operation(array, axis=axis), kind), (tensor,), pull)


def _from_last(last: Tensor) -> list[Tensor]:
    """All tensors that a result was made of, each before those that it was made of itself."""
    order: list[Tensor] = []
    seen: set[int] = set()
    stack: list[tuple[Tensor, bool]] = [(last, False)]
    while stack:
        tensor, done = stack.pop()
        if done:
            order.append(tensor)
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            stack.append((tensor, True))
            stack += [(part, False) for part in tensor.made_of]
    return order[::-1]
