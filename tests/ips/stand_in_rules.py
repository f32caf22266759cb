"""Which rules the stand-in for Paddle says something about (docs/measuring.md), and why not the others."""

from __future__ import annotations

_WAIT = "the host waits for the card, so nothing is queued when the next step begins"

MEASURED = {
    "PPF201": _WAIT,
    "PPF203": _WAIT,
    "PPF204": _WAIT,
    "PPF205": "each number is copied to the card, and the host waits for the copy",
    "PPF206": "values cross the bus twice, and the host waits for them",
    "PPF207": "the host waits for the card to count, and the sizes of tensors change with the count",
    "PPF210": _WAIT,
    "PPF306": "Tensor Cores take widths that are multiples of 8",
    "PPF703": "memory goes back to the driver, which waits for the card, and is asked for again",
}
"""What the card does, whichever framework asks it to."""

_LOADER = "the cost is that of Paddle's loader and its workers"
_SAVING = "the cost is that of paddle.save and of the disk"
_PYTHON = "the cost is Python's, and the card has no part in it"

LEFT_OUT = {
    "PPF101": _LOADER,
    "PPF102": _LOADER,
    "PPF104": _LOADER,
    "PPF107": _LOADER,
    "PPF202": "the cost is mostly that of writing a tensor as text, which is Paddle's code",
    "PPF208": "the cost is mostly that of Paddle's metric, which counts on the host",
    "PPF209": "Paddle copies all of the tensor whose slice is read, and PyTorch only the slice",
    "PPF401": _SAVING,
    "PPF402": _SAVING,
    "PPF405": "the cost is that of the log lines of paddle.Model",
    "PPF601": "the cost is that of the graph, which Paddle keeps in its own way",
    "PPF701": "the checks are Paddle's, behind each of its operators",
    "PPF702": "the records are those of Paddle's own profiler",
    "PPF704": _PYTHON,
    "PPF705": _PYTHON,
}
"""What is Paddle's own doing, or nobody's on the card: a measurement of PyTorch says nothing about it."""


def reason(code: str) -> str:
    """Why a rule with a script is not measured with the stand-in, "" where it is."""
    return "" if code in MEASURED else LEFT_OUT.get(code, "tests/ips/stand_in_rules.py does not name it")
