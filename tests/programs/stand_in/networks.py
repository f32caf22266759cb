"""The stand-in's layers, losses and optimizers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.programs.stand_in.device import current
from tests.programs.stand_in.tensors import Array, Tensor, made


class Chance:
    """The random numbers of initial weights; ``paddle.seed`` starts them anew."""

    numbers = np.random.RandomState(0)


class Layer:
    """A layer: its parameters, buffers and layers are the attributes that are such."""

    def __init__(self) -> None:
        self.training = True
        self._kept_out: set[str] = set()

    def __call__(self, *arguments: Any) -> Any:
        return self.forward(*arguments)

    def forward(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def create_parameter(self, shape: Sequence[int]) -> Tensor:
        spread = 1.0 / np.sqrt(shape[0])
        return Tensor(Chance.numbers.uniform(-spread, spread, shape).astype("float32"), False)

    def register_buffer(self, name: str, tensor: Tensor, persistable: bool = True) -> None:
        setattr(self, name, tensor)
        if not persistable:
            self._kept_out.add(name)

    def _parts(self) -> Iterator[tuple[str, Layer]]:
        return ((name, value) for name, value in vars(self).items() if isinstance(value, Layer))

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistable buffers by name; the tensors themselves, not copies."""
        own = {
            name: value
            for name, value in vars(self).items()
            if isinstance(value, Tensor) and name not in self._kept_out
        }
        for name, part in self._parts():
            own |= {f"{name}.{key}": value for key, value in part.state_dict().items()}
        return own

    def set_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, value in self.state_dict().items():
            value.set_value(state[name])

    def parameters(self) -> list[Tensor]:
        own = [value for value in vars(self).values() if isinstance(value, Tensor) and not value.stop_gradient]
        return [*own, *(value for _, part in self._parts() for value in part.parameters())]

    def clear_gradients(self) -> None:
        for parameter in self.parameters():
            parameter.clear_gradient()

    def train(self) -> None:
        self._set_mode(True)

    def eval(self) -> None:
        self._set_mode(False)

    def _set_mode(self, training: bool) -> None:
        self.training = training
        for _, part in self._parts():
            part._set_mode(training)


class Linear(Layer):
    """``x @ weight + bias``."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = self.create_parameter([in_features, out_features])
        self.bias = Tensor(np.zeros(out_features, "float32"), False)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class ReLU(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return relu(x)


class Sequential(Layer):
    def __init__(self, *parts: Layer) -> None:
        super().__init__()
        for number, part in enumerate(parts):
            setattr(self, str(number), part)

    def forward(self, x: Tensor) -> Tensor:
        for _, part in self._parts():
            x = part(x)
        return x


class MSELoss(Layer):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, given: Tensor, wanted: Tensor) -> Tensor:
        return mse_loss(given, wanted, self.reduction)


class CrossEntropyLoss(Layer):
    def forward(self, given: Tensor, wanted: Tensor) -> Tensor:
        return cross_entropy(given, wanted)


def relu(x: Tensor) -> Tensor:
    positive = x.array > 0
    return made(x.array * positive, (x,), lambda gradient: (gradient * positive,))


def mse_loss(given: Tensor, wanted: Tensor, reduction: str = "mean") -> Tensor:
    squares = (given - wanted) ** 2
    return squares if reduction == "none" else squares.mean() if reduction == "mean" else squares.sum()


def cross_entropy(given: Tensor, wanted: Tensor) -> Tensor:
    """The mean over rows of the negative logarithm of the softmax at the wanted column."""
    rows = np.arange(len(given.array))
    columns = wanted.array.reshape(-1)
    shifted = given.array - given.array.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))

    def pull(gradient: Array) -> Sequence[Array]:
        share = np.exp(logs)
        share[rows, columns] -= 1
        return ((gradient * share / np.float32(len(rows))).astype("float32"),)

    return made(np.asarray(-logs[rows, columns].mean(), "float32"), (given,), pull)


class LRScheduler:
    """A learning rate that ``step`` lowers."""

    def __init__(self, learning_rate: float, step_size: int, gamma: float = 0.1) -> None:
        self.learning_rate, self.step_size, self.gamma, self.last_epoch = learning_rate, step_size, gamma, 0

    def get_lr(self) -> float:
        return self.learning_rate * self.gamma ** (self.last_epoch // self.step_size)

    __call__ = get_lr

    def step(self) -> None:
        self.last_epoch += 1


class Optimizer:
    """What the optimizers share: a rate and parameters."""

    def __init__(self, learning_rate: float | LRScheduler = 0.001, parameters: Iterable[Tensor] = ()) -> None:
        self._rate = learning_rate
        self._parameter_list = list(parameters)

    def get_lr(self) -> float:
        return self._rate.get_lr() if isinstance(self._rate, LRScheduler) else self._rate

    def set_lr(self, value: float) -> None:
        self._rate = value

    def step(self) -> None:
        current().launch()
        for number, parameter in enumerate(self._parameter_list):
            if parameter.grad is not None:
                parameter.array[...] -= np.float32(self.get_lr()) * self._change(number, parameter.grad.array)

    def _change(self, number: int, gradient: Array) -> Array:
        return gradient

    def clear_grad(self, set_to_zero: bool = True) -> None:
        for parameter in self._parameter_list:
            parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def state_dict(self) -> dict[str, Any]:
        return {}


class SGD(Optimizer):
    """The plain one."""


class Momentum(Optimizer):
    """With a velocity for each parameter; ``use_multi_tensor`` says how Paddle launches the same update."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Tensor] = (),
        use_multi_tensor: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters)
        self._momentum = np.float32(momentum)
        self._velocity = [np.zeros_like(parameter.array) for parameter in self._parameter_list]

    def _change(self, number: int, gradient: Array) -> Array:
        self._velocity[number] = self._velocity[number] * self._momentum + gradient
        return self._velocity[number]
