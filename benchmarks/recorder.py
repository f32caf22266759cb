"""What it takes to add one value to a curve, with the recorders that training code uses.

pip install tensorboardX visualdl
python benchmarks/recorder.py
"""

from __future__ import annotations

import importlib
import tempfile
from functools import partial
from typing import Any

from record import in_turns, microseconds, write

RECORDERS = {"tensorboardX.SummaryWriter": "logdir", "visualdl.LogWriter": "logdir"}
"""Classes, with the parameter that takes the directory."""

CALLS = 2000


def add_scalar(name: str, directory: str) -> float:
    """Microseconds for one value that is added to a curve in a new file."""
    module, _, owner = name.rpartition(".")
    writer: Any = getattr(importlib.import_module(module), owner)(**{RECORDERS[name]: directory})
    taken = microseconds(partial(writer.add_scalar, "train/loss", 0.5, 1), CALLS)
    writer.close()
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        runs = {name: partial(add_scalar, name, directory) for name in RECORDERS}
        write({"microseconds_per_value": in_turns(runs, rounds=7)})


if __name__ == "__main__":
    main()
