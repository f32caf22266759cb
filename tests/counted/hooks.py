"""Counts what a training script has the host do, with the hooks of ``benchmarks/trace_parts``; bytes and files too."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from trace_parts.tracer import Tracer

from perflint.bench.runner.watched_calls import watch
from perflint.paddle.tensor_methods import WATCHED_METHODS

_DEPTH = 12
"""Frames of a script that are looked at."""
NAMES = {
    "host read": "host reads",
    "to_tensor": "tensors made of host data",
    "sized by values": "sizes read",
    "wait": "waits and cache flushes",
    "save": "saves",
    "log": "log calls",
}
"""What an event of the tracer is called in ``rules.yaml`` and docs/counted.md."""


class Counting(Tracer):
    """Counts events of scripts in a folder by their kind, without telling steps apart; only while ``on`` is true.

    Attributes:
        figures: how often each kind of event was counted, or how many bytes.
        searched: the flags by which the script has cuDNN search for kernels.
    """

    def __init__(self, root: str) -> None:
        super().__init__({"copy": root, "watched": {}})
        self.on = False
        self.start()

    def start(self) -> None:
        """Forget all that a script before has done."""
        self.figures: Counter[str] = Counter()
        self.searched: set[str] = set()

    def event(self, kind: str, what: str, note: str = "", direct: bool = False) -> None:
        """Count an event; ``direct``: only if the script itself has called it, and no library in between."""
        if self.on and self.is_here:
            stack, via = self.frames(_DEPTH)
            if stack and not (direct and via):
                self.figures[NAMES.get(kind, kind)] += 1

    def add(self, name: str, number: int = 1) -> None:
        """Count something that the tracer knows nothing of."""
        if self.on and self.is_here:
            self.figures[name] += number


def install(root: str) -> Counting:
    """Wrap Paddle, for as long as this process lives; what scripts below ``root`` do is counted in the result."""
    import paddle

    counting = Counting(root)
    _accept_waits(paddle)
    watch(paddle, counting, WATCHED_METHODS)
    for name in WATCHED_METHODS:
        if name in ("numpy", "item", "tolist", "__array__"):
            _bytes_read(paddle.Tensor, name, counting)
    _bytes_copied(paddle, counting)
    _files(counting)
    return counting


def _accept_waits(paddle: Any) -> None:
    """Calls that a build for the CPU refuses do nothing here, and are counted."""
    for owner in (paddle.device, paddle.device.cuda):
        owner.synchronize = owner.empty_cache = lambda *_: None


def _bytes_read(tensor: Any, name: str, counting: Counting) -> None:
    function = getattr(tensor, name)

    @functools.wraps(function)
    def read(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if not getattr(counting.inside, "deep", 0):
            counting.add("bytes read", self._holder_size())  # a slice lies in the memory of its whole tensor
        return function(self, *arguments, **keywords)

    setattr(tensor, name, read)


def bytes_of(tensor: Any) -> int:
    """Bytes that the numbers of a tensor take."""
    return int(tensor.element_size()) * int(tensor.size)


def _bytes_copied(paddle: Any, counting: Counting) -> None:
    function = paddle.to_tensor

    @functools.wraps(function)
    def to_tensor(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        if not getattr(counting.inside, "deep", 0):
            counting.add("bytes copied", bytes_of(result))
        return result

    paddle.to_tensor = to_tensor


def _files(counting: Counting) -> None:
    """Count the files below the folder that are opened, by the thread that trains and by others."""

    def hear(event: str, arguments: Sequence[Any]) -> None:
        if event != "open" or not counting.on or not isinstance(arguments[0], str):
            return
        path, _, flags = arguments
        if not path.startswith(counting.root) or path.endswith((".py", ".pyc")):
            return
        what = "files written" if flags & (os.O_WRONLY | os.O_RDWR) else "files read"
        here = threading.current_thread() is threading.main_thread()
        counting.add(what if here or what == "files read" else "files written by another thread")

    sys.addaudithook(hear)
