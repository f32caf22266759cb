"""What a function that AdamW calls for each parameter costs a step: it collects names, or looks one up.

python benchmarks/decay_names.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import paddle
from paddle import nn
from record import in_turns, write

LAYERS, WIDTH, STEPS, CALLS = (12, 24), 16, 5, 200
"""As many layers as BERT has, base and large, with 16 small parameters each: the host's own work takes the time."""
Decays = Callable[[str], bool]


def network(layers: int) -> nn.Layer:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0)
    return nn.Sequential(nn.Embedding(32, WIDTH), nn.TransformerEncoder(layer, layers), nn.Linear(WIDTH, 2))


def names(model: nn.Layer) -> list[str]:
    return [p.name for n, p in model.named_parameters() if not any(nd in n for nd in ["bias", "norm"])]


def steps(layers: int, decays: Callable[[nn.Layer], Decays | None]) -> Callable[[], float]:
    """Milliseconds of the processor for ``optimizer.step()`` with the function that ``decays`` makes for a network."""
    model = network(layers)
    function = decays(model)
    optimizer = paddle.optimizer.AdamW(1e-4, parameters=model.parameters(), apply_decay_param_fun=function)
    model(paddle.zeros([1, 4], "int64")).mean().backward()
    optimizer.step()

    def run() -> float:
        start = time.thread_time()  # other programs, which may keep the cores busy, do not count
        for _ in range(STEPS):
            optimizer.step()
        return (time.thread_time() - start) / STEPS * 1e3

    return run


def calls(layers: int, decays: Callable[[nn.Layer], Decays]) -> Callable[[], float]:
    """Milliseconds of the processor for one call of that function for each parameter of a network."""
    model = network(layers)
    function, parameters = decays(model), [p.name for p in model.parameters()]

    def run() -> float:
        start = time.thread_time()
        for _ in range(CALLS):
            for name in parameters:
                function(name)
        return (time.thread_time() - start) / CALLS * 1e3

    return run


def listed(model: nn.Layer) -> Decays:
    found = names(model)
    return lambda name: name in found


def in_a_set(model: nn.Layer) -> Decays:
    found = set(names(model))
    return lambda name: name in found


def measured(layers: int) -> dict[str, object]:
    spellings = {
        "no function": steps(layers, lambda model: None),
        "name in [... named_parameters() ...]": steps(layers, lambda model: lambda name: name in names(model)),
        "name in a list built before": steps(layers, listed),
        "name in a set built before": steps(layers, in_a_set),
    }
    alone = {
        "name in a list built before": calls(layers, listed),
        "name in a set built before": calls(layers, in_a_set),
    }
    model = network(layers)
    return {
        "parameters": len(model.parameters()),
        "names in the list": len(names(model)),
        "milliseconds_per_step": in_turns(spellings, rounds=15),
        "milliseconds_of_the_calls_alone": in_turns(alone, rounds=15),
    }


if __name__ == "__main__":
    paddle.seed(0)
    write({f"{layers} layers": measured(layers) for layers in LAYERS})
