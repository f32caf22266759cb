"""What a running sum that keeps its graph costs: memory that each training step adds, with and without ``detach``.

python benchmarks/graph_growth.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import paddle
from paddle import nn
from record import write

WARM_UP, STEPS = 100, 800
Keep = Callable[[paddle.Tensor], object]


def keepers() -> dict[str, Keep]:
    """The ways to keep a loss; each closure holds its sum or list for as long as it lives."""
    held: dict[str, list[paddle.Tensor]] = {"sum": [paddle.zeros([])], "detached sum": [paddle.zeros([])]}
    losses: list[paddle.Tensor] = []
    detached: list[paddle.Tensor] = []

    def add(key: str, loss: paddle.Tensor) -> None:
        held[key][0] = held[key][0] + loss

    return {
        "nothing kept": lambda loss: None,
        "total += loss": lambda loss: add("sum", loss),
        "total += loss.detach()": lambda loss: add("detached sum", loss.detach()),
        "losses.append(loss)": losses.append,
        "losses.append(loss.detach())": lambda loss: detached.append(loss.detach()),
    }


def resident() -> float:
    """Memory of this process in KB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4.096


def growth(name: str) -> float:
    """KB a step by which the process grows while a network of 17 small layers is trained."""
    layers = [layer for _ in range(8) for layer in (nn.Linear(16, 16), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Linear(16, 1))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = paddle.rand([4, 16])
    keep = keepers()[name]

    def train(steps: int) -> None:
        for _ in range(steps):
            loss = net(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            keep(loss)

    train(WARM_UP)
    before = resident()
    train(STEPS)
    return (resident() - before) / STEPS


def measure(name: str) -> float:
    """The same in a process of its own: memory that one run has freed would serve the next."""
    done = subprocess.run([sys.executable, __file__, "--only", name], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    paddle.seed(0)
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(growth(sys.argv[2])))
    else:
        write({"kilobytes_added_each_step": {name: measure(name) for name in keepers()}})
