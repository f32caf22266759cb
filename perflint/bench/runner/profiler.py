"""Measures where the time of a step goes: all time is charged to the wrapped call that is running.

While none is, samples show which line of the project is running.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from . import recorder, watched_calls
from .watched_calls import WatchedCall, Watcher

_INSIDE = frozenset(
    {watched_calls.FORWARD, watched_calls.EVALUATE, watched_calls.BACKWARD, watched_calls.OPTIMIZER, watched_calls.LOG}
)
"""Kinds whose calls are charged without the wrapped calls inside them: a read in a forward pass counts as a read.

All others are charged as a whole: ``float(loss)`` calls ``numpy`` inside, but is one read.
"""

_PART_OF = {
    # a forward pass is computed again to save memory
    watched_calls.FORWARD: (watched_calls.EVALUATE, watched_calls.BACKWARD),
    watched_calls.EVALUATE: (watched_calls.FORWARD, watched_calls.BACKWARD),
    watched_calls.SLEEP: (watched_calls.LOG,),  # a log call that waits for its server
    watched_calls.COLLECT: (watched_calls.LOG,),
}
"""Kinds whose calls also count as part of a surrounding call of these kinds, not only of their own kind."""

AFTER = "after this line"
"""The note of code that is only known by the wrapped call before it."""

PERIOD = 0.02
"""Seconds between two samples. Each sample takes Python's lock from the training for a moment, so sampling every 5
ms makes steps longer if the machine has other work.
"""

_sleep = time.sleep  # taken before it is wrapped


class Spent(NamedTuple):
    """A line and a kind of work that time is charged to.

    Attributes:
        kind: one of ``PHASE_OF``.
        what: the function, such as ``Tensor.numpy``.
        via: the function of a library that the project has called, if that has called it; otherwise "".
        path: the file of the project whose line is running, with "/" between its parts; "" if there is none.
        line: that line, from 1.
        note: more about it, such as the number of workers of a loader.
        evaluating: whether the trained model was in evaluation mode.
    """

    kind: str
    what: str
    via: str
    path: str
    line: int
    note: str
    evaluating: bool


class Profiler(Watcher):
    """Charges the time of the training thread to the innermost running wrapped call, or to the code after it."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Start with nothing seen."""
        self._thread = threading.get_ident()
        self._running: list[Spent] = []
        self._whole = False
        self._mark = time.perf_counter()
        self._after = _after("", 0)
        self._step: defaultdict[Spent, list[float]] = defaultdict(_nothing)
        """The seconds and the number of calls in this step."""
        self._all: defaultdict[Spent, list[float]] = defaultdict(_nothing)
        """Those in all measured steps."""
        self._looks: Counter[Any] = Counter()
        super().__init__(plan)

    def around(self, call: WatchedCall, function: Any, arguments: Any, keywords: Any) -> Any:
        """Call a wrapped function and charge its time, unless it is part of a call that is already charged."""
        elsewhere = threading.get_ident() != self._thread or not self.is_here
        if elsewhere or self._whole or self._is_part(call.kind):
            return function(*arguments, **keywords)
        return self._timed(self._spent(call, arguments, keywords), function, arguments, keywords)

    def _is_part(self, kind: str) -> bool:
        """Whether calls of a kind count as part of the running call, such as a layer inside a layer."""
        around = _PART_OF.get(kind, ())
        return any(each.kind == kind or each.kind in around for each in self._running)

    def _spent(self, call: WatchedCall, arguments: Any, keywords: Any) -> Spent:
        stack, via = self.frames(1)
        path, line = stack[0] if stack else ("", 0)
        kind = watched_calls.EVALUATE if call.kind == watched_calls.FORWARD and self.evaluating else call.kind
        note = call.note(*arguments, **keywords) if call.note else ""
        return Spent(kind, call.what, via, path, line, note, self.evaluating)

    def _timed(self, spent: Spent, function: Any, arguments: Any, keywords: Any) -> Any:
        self._charge(time.perf_counter())
        self._running.append(spent)
        self._step[spent][1] += 1
        self._whole = spent.kind not in _INSIDE
        try:
            return function(*arguments, **keywords)
        finally:
            self._charge(time.perf_counter())
            self._running.pop()
            self._whole = False
            self._after = _after(spent.path, spent.line)

    def _charge(self, now: float) -> None:
        """Charge the time since the last charge."""
        spent = self._running[-1] if self._running else self._after
        self._step[spent][0] += now - self._mark
        self._mark = now

    def read(self, function: Any, owner: Any) -> Any:
        """Call a function of the loader, and charge the wait for it."""
        loader, made = self.loader_of(owner)
        workers = getattr(loader, "num_workers", None)
        where = f", made at {made[0]}:{made[1]}" if made[1] else ""
        note = ("" if workers is None else f"{workers} workers") + where
        what = "iter(DataLoader)" if function.__name__ == "__iter__" else "DataLoader"
        call = WatchedCall(watched_calls.READER, what, note=lambda *_: note)
        return self.around(call, super().read, (function, owner), {})

    def step(self, function: Any, optimizer: Any, arguments: Any, keywords: Any) -> Any:
        """Call a function of an optimizer, and charge it; without perflint's own work at the end of the step."""
        call = WatchedCall(watched_calls.OPTIMIZER, f"{type(arguments[0]).__name__}.{function.__name__}")
        return super().step(self.through(call, function), optimizer, arguments, keywords)

    def execute(self, function: Any, program: Any, arguments: Any, keywords: Any) -> Any:
        """Call an executor, and charge it: if the graph trains, forward, backward and optimizer are one call."""
        call = WatchedCall(watched_calls.EVALUATE, "Executor.run")
        if program is not None:
            note = "the whole graph: backward and optimizer too"
            call = WatchedCall(watched_calls.FORWARD, "Executor.run", note=lambda *_, **__: note)
        return super().execute(self.through(call, function), program, arguments, keywords)

    def _end(self, optimizer: Any) -> None:
        whole, self._whole = self._whole, True  # perflint's own work at the end of a step is not an event
        try:
            super()._end(optimizer)
        finally:
            self._whole = whole

    def _next_step(self) -> None:
        if self._seen["steps"]:
            self._charge(self._ends[-1])
            if self._seen["steps"] > self._plan["warmup"]:
                for spent, (seconds, times) in self._step.items():
                    self._all[spent] = [self._all[spent][0] + seconds, self._all[spent][1] + times]
            elif self._seen["steps"] == self._plan["warmup"]:
                self._start_looking()
        self._step.clear()
        super()._next_step()

    def finish(self, status: str) -> None:
        """Write the result and end, as the recorder does."""
        self._whole = True
        super().finish(status)

    def result(self, status: str) -> dict[str, Any]:
        """The result, including what the time of the measured steps was spent on."""
        spent = [{**key._asdict(), "seconds": seconds, "times": times} for key, (seconds, times) in self._all.items()]
        root, script = Path(self._plan["copy"]), self._plan["script"]
        files = {*recorder.files(self._plan["copy"]), script[len(self.root) :]}
        return {
            **super().result(status),
            "profile": {
                "spent": spent,
                "sampled": [[*place, count] for place, count in self._looks.items()],
                "sha256": {
                    Path(file).as_posix(): hashlib.sha256((root / file).read_bytes()).hexdigest()
                    for file in sorted(files)
                    if (root / file).is_file()
                },
            },
        }

    def _start_looking(self) -> None:
        """Look from now on, until the process ends, which line runs between two wrapped calls.

        How long the code between two wrapped calls takes is known exactly. The counts only divide it among its lines:
        Python does not switch to this thread at arbitrary places, so samples alone would say little about time.
        """
        threading.Thread(target=self._look_on, daemon=True, name="perflint").start()

    def _look_on(self) -> None:
        while True:
            _sleep(PERIOD)
            self._look(sys._current_frames().get(self._thread))

    def _look(self, frame: FrameType | None) -> None:
        """Count the line of the project that a frame is at, by the line of the wrapped call before it as well."""
        after = None if self._running or self._whole else self._after  # None: a call is charged, or perflint works
        while frame is not None and after is not None:
            place = self.place_of(frame)
            if place is not None:
                self._looks.update([(after.path, after.line, *place)])
                return
            frame = frame.f_back


def _nothing() -> list[float]:
    return [0.0, 0]


@functools.cache  # "cache" came with Python 3.9
def _after(path: str, line: int) -> Spent:
    """What the code after a call on this line is charged to, until the next call."""
    return Spent(watched_calls.OTHER, "other code", "", path, line, AFTER, False)
