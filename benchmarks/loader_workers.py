"""Loading with and without worker processes, on the CPU: batches a second, and which kinds of sample workers can carry.

python benchmarks/loader_workers.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
from paddle import nn
from record import in_turns, write

SAMPLES = 480
BATCH = 8
KINDS = ("array", "tensor", "tensor, use_shared_memory=False")


class Parsed:
    """Samples parsed in plain Python, about a millisecond each, as tokenizing or reading annotations is."""

    def __getitem__(self, index: int) -> tuple[npt.NDArray[Any], int]:
        text = ",".join(str((index * 31 + number) % 97) for number in range(2500))
        numbers = [float(word) / 97.0 for word in text.split(",")]
        return np.array(numbers[:1024], dtype="float32"), index % 4

    def __len__(self) -> int:
        return SAMPLES


class Small:
    """Samples of eight numbers, as arrays or as Paddle tensors."""

    def __init__(self, as_tensor: bool) -> None:
        self.as_tensor = as_tensor

    def __getitem__(self, index: int) -> object:
        sample = np.full(8, index, dtype="float32")
        return paddle.to_tensor(sample) if self.as_tensor else sample

    def __len__(self) -> int:
        return 400


def training(workers: int) -> Callable[[], float]:
    """Batches a second of an epoch of training with so many workers, their start included."""
    net = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 4))
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    loader = paddle.io.DataLoader(Parsed(), batch_size=BATCH, num_workers=workers)

    def run() -> float:
        start = time.perf_counter()
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        return SAMPLES / BATCH / (time.perf_counter() - start)

    return run


def carries(kind: str) -> str:
    """Whether two workers can carry this kind of sample; tried in a process of its own, because it may crash."""
    done = subprocess.run([sys.executable, __file__, kind], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 0:
        return "works"
    return "crashes" if "egmentation" in done.stderr + done.stdout else "fails"


def carry(kind: str) -> None:
    """Read one epoch of small samples of this kind through two workers."""
    dataset = Small(as_tensor=kind.startswith("tensor"))
    shared = "use_shared_memory=False" not in kind
    loader = paddle.io.DataLoader(dataset, batch_size=4, num_workers=2, use_shared_memory=shared)
    assert sum(1 for _ in loader) == 100


if __name__ == "__main__":
    if len(sys.argv) > 1:
        carry(sys.argv[1])
    else:
        epochs = in_turns({f"num_workers={number}": training(number) for number in (0, 1, 2, 4)}, rounds=5)
        write({"batches_per_second": epochs, "samples_in_workers": {kind: carries(kind) for kind in KINDS}})
