"""What a function that AdamW calls for each parameter costs a step: it collects names, or looks one up.

python benchmarks/decay_names.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import paddle
from paddle import nn
from record import in_turns, write

LAYERS, WIDTH, STEPS = 12, 16, 5
"""As many layers as BERT has, with 16 parameters each, all of them small: the host's own work takes the time."""


def network() -> nn.Layer:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0)
    return nn.Sequential(nn.Embedding(32, WIDTH), nn.TransformerEncoder(layer, LAYERS), nn.Linear(WIDTH, 2))


def names(model: nn.Layer) -> list[str]:
    return [p.name for n, p in model.named_parameters() if not any(nd in n for nd in ["bias", "norm"])]


def steps(decays: Callable[[nn.Layer], Callable[[str], bool] | None]) -> Callable[[], float]:
    """Milliseconds of ``optimizer.step()`` with the function that ``decays`` makes for a network."""
    model = network()
    function = decays(model)
    optimizer = paddle.optimizer.AdamW(1e-4, parameters=model.parameters(), apply_decay_param_fun=function)
    model(paddle.zeros([1, 4], "int64")).mean().backward()
    optimizer.step()

    def run() -> float:
        start = time.perf_counter()
        for _ in range(STEPS):
            optimizer.step()
        return (time.perf_counter() - start) / STEPS * 1e3

    return run


def listed(model: nn.Layer) -> Callable[[str], bool]:
    found = names(model)
    return lambda name: name in found


def in_a_set(model: nn.Layer) -> Callable[[str], bool]:
    found = set(names(model))
    return lambda name: name in found


if __name__ == "__main__":
    paddle.seed(0)
    spellings = {
        "no function": steps(lambda model: None),
        "name in [... named_parameters() ...]": steps(lambda model: lambda name: name in names(model)),
        "name in a list built before": steps(listed),
        "name in a set built before": steps(in_a_set),
    }
    parameters = len(network().parameters())
    write({"parameters": parameters, "milliseconds_per_step": in_turns(spellings, rounds=15)})
