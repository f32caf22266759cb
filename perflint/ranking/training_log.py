"""Reads a training log: the times for a step and for reading data, as printed by the Paddle suites.

PaddleDetection prints ``batch_cost: 0.4432 data_cost: 0.0002 ips: 4.5``, PaddleSeg ``batch_cost: 0.1, reader_cost:
0.02``, PaddleClas ``reader_cost: 0.00071s, batch_cost: 0.05s`` in either order, PaddleOCR, PaddleRec and PaddleNLP
``avg_reader_cost: 0.02 s, avg_batch_cost: 0.5 s``, older ones ``batch_cost=0.1``, and ``paddle.profiler.Profiler``
(``step_info()``) ``reader_cost: 0.02 s batch_cost: 0.5 s``. In all of them, the batch time includes the reading time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from perflint.ranking.shares import LOG, Profiled, UnusableProfile
from perflint.text.visible import counted

_COST = re.compile(
    r"\b(?:avg_|train_)*(reader|data|batch)[_ ]cost\s*[:=]\s*"
    r"(\d{1,9}(?:\.\d{0,20})?(?:e[-+]?\d\d?)?)(?!\d)\s*(ms|us|s)?",
    re.IGNORECASE,
)
_UNITS = {"us": 1e-6, "ms": 1e-3}
_EVALUATION = re.compile(r"\b(?:eval|evaluat\w+|valid\w*|val|test|infer)\b", re.IGNORECASE)
_TRAINING = re.compile("train", re.IGNORECASE)
_LONGEST = 1 << 16
"""How many bytes of a row are examined."""
_ENOUGH = 3
"""With at least this many rows, the first one, which includes the start of the training, is left out."""


def read(file: BinaryIO, name: str) -> Profiled:
    """Read a log: the average of its rows, which all have the same weight.

    Raises:
        UnusableProfile: no row has the time of a step.
        OSError: it cannot be read.
    """
    count, readers, batches, without = 0, 0.0, 0.0, 0
    first: tuple[float, float] | None = None
    for reader, batch in _costs(_rows(file)):
        if reader is None:
            without += 1
            continue
        count, readers, batches = count + 1, readers + reader, batches + batch
        first = first or (reader, batch)
    if not count and not without:
        raise UnusableProfile(
            "it is not a profile that perflint knows: give the JSON of perflint profile, a trace of Paddle Profiler "
            "(export_chrome_tracing), an SQLite export of nsys, or a log with reader_cost and batch_cost"
        )
    if not count:
        note = f"{name} has batch_cost but no reader_cost, so it does not show what a finding can gain"
        return Profiled(name, LOG, without, notes=(note,))
    if count >= _ENOUGH and first is not None:
        count, readers, batches = count - 1, readers - first[0], batches - first[1]
    if batches <= 0:
        raise UnusableProfile("its batch_cost is 0 everywhere: log a training that takes time")
    return Profiled(name, LOG, count, phases={"reader": min(readers / batches, 1.0)}, notes=_notes(name, count))


def _notes(name: str, rows: int) -> tuple[str, ...]:
    return () if rows >= _ENOUGH else (f"{name} has only {counted(rows, 'row')} with reader_cost: log some more",)


def _costs(rows: Iterable[str]) -> Iterator[tuple[float | None, float]]:
    """The seconds for reading (None: not in the row) and for the batch, from each row that has them for a step."""
    for row in rows:
        found: dict[str, float] = {}
        for match in _COST.finditer(row):
            what = "batch" if match[1].lower() == "batch" else "reader"
            found.setdefault(what, float(match[2]) * _UNITS.get((match[3] or "").lower(), 1.0))
        if "batch" in found and _is_of_training(row):
            yield found.get("reader"), found["batch"]


def _is_of_training(row: str) -> bool:
    """Whether a row is not from an evaluation, judging by the text before its costs."""
    start = _COST.search(row)
    before = row[: start.start()] if start is not None else row
    return _EVALUATION.search(before) is None or _TRAINING.search(before) is not None


def _rows(file: BinaryIO) -> Iterator[str]:
    """The rows of a file, and those overwritten by a progress bar; overlong rows are cut."""
    is_new = True
    while piece := file.readline(_LONGEST):
        if is_new:
            yield from piece.decode("utf-8", "replace").split("\r")
        is_new = piece.endswith(b"\n")
