"""What one line of a log takes that holds no tensor: printed to a file and to a terminal, and written by a logger.

python benchmarks/printed_line.py
"""

from __future__ import annotations

import logging
import os
import pty
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from record import in_turns, microseconds, write

CALLS = 20_000
TEXT = "epoch: %d, step: %d, loss: %.4f, lr: %.6f"
VALUES = (3, 1200, 0.5, 0.001)


def to_file(path: Path, flush: bool) -> float:
    """Microseconds for ``print`` into a file."""
    with path.open("w") as stream:
        return microseconds(lambda: print(TEXT % VALUES, file=stream, flush=flush), CALLS)


def to_terminal() -> float:
    """Microseconds for ``print`` into a terminal, which something reads at once."""
    master, slave = pty.openpty()
    reader = threading.Thread(target=_drain, args=(master,), daemon=True)
    reader.start()
    with os.fdopen(slave, "w", buffering=1) as stream:
        return microseconds(lambda: print(TEXT % VALUES, file=stream), CALLS)


def _drain(master: int) -> None:
    try:
        while os.read(master, 65_536):
            pass
    except OSError:  # the other end is closed
        os.close(master)


def by_logger(path: Path) -> float:
    """Microseconds for ``logger.info`` into a file, with the time and the level in front."""
    logger = logging.getLogger("training")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s: %(message)s"))
    logger.addHandler(handler)
    try:
        return microseconds(lambda: logger.info(TEXT, *VALUES), CALLS)
    finally:
        logger.removeHandler(handler)
        handler.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log.txt"
        runs: dict[str, Callable[[], float]] = {
            "print to a file": partial(to_file, path, flush=False),
            "print to a file, flush=True": partial(to_file, path, flush=True),
            "print to a terminal": to_terminal,
            "logging.Logger.info to a file": partial(by_logger, path),
        }
        write({"microseconds_per_line": in_turns(runs, rounds=7)})


if __name__ == "__main__":
    main()
