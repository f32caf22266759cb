"""What a training does with the host, step by step and line by line, while it runs.

``Tracer`` is the recorder of ``perflint bench`` (which finds the steps), and hears of the calls that ``perflint
profile`` times: a read on the host, a tensor made of host data, a wait for the loader, a save, a log call.  The line of
an event is that of the innermost frame in the project; the frames around it are noted too, since a finding may name a
call further out.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from perflint.bench.runner import recorder, watched_calls
from perflint.bench.runner.watched_calls import WatchedCall, Watcher

Place = tuple[str, int]
"""A file of the project, seen from its root, and a line."""

_DEPTH = 12
"""Frames of the project that an event keeps."""

_NAMES = {watched_calls.READ: "host read", watched_calls.SIZED: "sized by values", watched_calls.COPY: "to_tensor"}
"""What a trace calls some kinds of calls; the others have one name everywhere."""


class Event(NamedTuple):
    """Something that the host has done.

    Attributes:
        kind: "host read", "to_tensor", "loader wait", "save", "log", "wait" or "sized by values".
        what: the method or function, as ``Tensor.numpy``.
        via: the function of a library that the project has called, where that has done it; else "".
        stack: the frames in the project, the innermost first.
        note: more about it, such as the number of workers of a loader.
        phase: "step", "evaluation", or "epoch end": the loader has no more batches.
        grad: whether gradients are on.
    """

    kind: str
    what: str
    via: str
    stack: tuple[Place, ...]
    note: str
    phase: str
    grad: bool


class Tracer(Watcher):
    """Notes the events of each step; ``write`` puts them into the plan's result file."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self.inside = threading.local()
        self.watched: dict[str, set[int]] = {name: set(rows) for name, rows in plan["watched"].items()}
        self.counts: Counter[Event] = Counter()
        self.steps_of: dict[Event, set[int]] = {}
        self.ran: dict[Place, Counter[str]] = {}
        self.lines: set[tuple[Place, str]] = set()
        self.codes: dict[CodeType, bool] = {}
        self.pending: list[Event] = []
        self.exhausted = self.last_batch = False

    @property
    def phase(self) -> str:
        """Where the training is just now."""
        return "evaluation" if self.evaluating else "epoch end" if self.exhausted else "step"

    def around(self, call: WatchedCall, function: Any, arguments: Any, keywords: Any) -> Any:
        """Note a wrapped call, unless it is a part of another one."""
        if getattr(self.inside, "deep", 0):
            return function(*arguments, **keywords)  # what a noted call does itself is that call's event
        note = call.note(*arguments, **keywords) if call.note else ""
        self.event(_NAMES.get(call.kind, call.kind), call.what, note, call.direct)
        if call.kind == watched_calls.LOG:
            return function(*arguments, **keywords)  # what it prints may be a tensor, whose read is an event of its own
        self.inside.deep = 1
        try:
            return function(*arguments, **keywords)
        finally:
            self.inside.deep = 0

    def event(self, kind: str, what: str, note: str = "", direct: bool = False) -> None:
        """Note an event; ``direct``: only if the project itself has called it, and no library in between."""
        if not self.is_here:
            return
        stack, via = self.frames(_DEPTH)
        if not stack or (direct and via):
            return
        if threading.current_thread() is not threading.main_thread():
            note = f"{note}, in the loader's thread".lstrip(", ")
        grad = bool(self.paddle and self.paddle.is_grad_enabled())
        self.pending.append(Event(kind, what, via, tuple(stack), note, self.phase, grad))

    def modes(self, layer: Any, training: bool) -> None:
        """``train()`` or ``eval()`` of a layer: that of a part, such as a frozen backbone, says nothing."""
        own = self.trained & {id(each) for each in layer.parameters()}
        if 2 * len(own) > len(self.trained):
            super().modes(layer, training)

    def read(self, function: Any, owner: Any) -> Any:
        """Call a function of the loader: a wait for it, where it is called from the project."""
        if not self._reading and self.is_here:
            loader, made = self.loader_of(owner)
            self.exhausted = self.exhausted and self.evaluating
            self.event(
                "loader wait", "DataLoader", f"{getattr(loader, 'num_workers', '?')} workers@{made[0]}:{made[1]}"
            )
        try:
            result = super().read(function, owner)
        except StopIteration:
            self.exhausted = self.exhausted or not self.evaluating
            raise
        if not self.evaluating:
            self.taken(owner)
        return result

    def taken(self, iterator: Any) -> None:
        """A batch has been read to train on: was it the last one?"""
        loader = getattr(iterator, "_watched_loader", None)
        if loader is None:
            return
        iterator._taken = getattr(iterator, "_taken", 0) + 1
        try:
            self.last_batch = iterator._taken == len(loader)
        except (TypeError, ValueError):  # nobody knows how many batches there are
            self.last_batch = False

    def _end(self, optimizer: Any) -> None:
        done = self._seen["steps"]
        super()._end(optimizer)
        if self._seen["steps"] != done:
            self.evaluating = False  # a part of the model, such as a frozen backbone, may be in the mode for evaluation
            self.commit(self._seen["steps"])
            self.exhausted = self.exhausted or (self.last_batch and not self.evaluating)

    def commit(self, step: int) -> None:
        """A step is over: keep its events, unless it was the first one, before which everything is set up."""
        pending, self.pending = self.pending, []
        lines, self.lines = self.lines, set()
        if step == 1:
            sys.settrace(self.trace)
            threading.settrace(self.trace)
            _trace_frames_now(self)
            return
        for event in pending:
            self.counts[event] += 1
            self.steps_of.setdefault(event, set()).add(step)
        for place, phase in lines:
            self.ran.setdefault(place, Counter())[phase] += 1

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """Follow the lines of functions that hold a watched line, and of no others."""
        code = frame.f_code
        if code not in self.codes:
            self.codes[code] = self._is_watched(code)
        return self.line if self.codes[code] else None

    def _is_watched(self, code: CodeType) -> bool:
        if not code.co_filename.startswith(self.root):
            return False
        rows = self.watched.get(code.co_filename[len(self.root) :], set())
        return any(row in rows for *_, row in code.co_lines())

    def line(self, frame: FrameType, event: str, _: Any) -> Any:
        """A line runs."""
        if event == "line":
            place = (frame.f_code.co_filename[len(self.root) :], frame.f_lineno)
            if frame.f_lineno in self.watched[place[0]]:
                grad = "" if self.paddle.is_grad_enabled() else ", no grad"
                self.lines.add((place, self.phase + grad))
        return self.line

    def finish(self, status: str) -> None:
        """Commit what the last step has done, then end."""
        sys.settrace(None)
        if status == "done":
            self.commit(self._seen["steps"])
        super().finish(status)

    def write(self, status: str) -> None:
        """Put what was seen into the result file."""
        events = [
            {**event._asdict(), "times": self.counts[event], "in_steps": sorted(self.steps_of[event])}
            for event in self.counts
        ]
        ran = [[*place, dict(phases)] for place, phases in self.ran.items()]
        made = sorted({(*place,) for place in self.made.values()})
        result = {"status": status, "steps": self._seen["steps"], "events": events, "ran": ran, "loaders": made}
        result["files"] = [*recorder.files(self._plan["copy"]), self._plan["script"][len(self.root) :]]
        Path(self._plan["result"]).write_text(json.dumps(result), encoding="utf-8")


def _trace_frames_now(tracer: Tracer) -> None:
    """Follow the functions that are running already: a trace starts at calls otherwise."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        frame.f_trace = tracer.trace(frame, "call", None)
        frame = frame.f_back
