"""Reads the output of ``paddle.profiler.export_chrome_tracing``: JSON in the format of Chrome's tracing.

The names of events end in their time (``"Linear[12.5 us]"``). ``cat`` says what an event is: ``ProfileStep``,
``Dataloader``, ``Forward`` (by the class of the layer), ``Backward``, ``Optimization``, ``PythonUserDefined`` (the name
of a ``RecordEvent``); with a GPU also ``CudaRuntime``, and ``Memcpy`` with the same correlation id. There is no event
for a read on the host without a GPU. This comes from files that Paddle 3.3.1 wrote, and for the GPU from
paddle/fluid/platform/profiler/chrometracing_logger.cc.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, BinaryIO, TypeGuard

from perflint.ranking.json_stream import JsonEntries
from perflint.ranking.shares import Profiled, UnusableProfile
from perflint.ranking.time_spans import Span
from perflint.ranking.traced_steps import TracedSteps
from perflint.text.visible import counted

LIST = "traceEvents"
"""The key of the list of events, by which such a file is recognized."""

_PHASES = {"Dataloader": "reader", "Forward": "forward", "Backward": "backward", "Optimization": "optimizer"}
_KEPT = {*_PHASES, "ProfileStep", "PythonUserDefined", "CudaRuntime", "Memcpy"}
_TIME = re.compile(r"\[[\d.]+ \w+\]$")
_THREAD = re.compile(r"\d+")
_LAST = 2.0**63
"""The largest valid time, in microseconds."""
_MOST_STEPS = 1_000_000
_MOST_OPEN = 100_000
"""How many copies can wait for their direction, which an event after the call shows."""


def read(file: BinaryIO, name: str) -> Profiled:
    """Read a trace; only the needed parts are kept in memory.

    Raises:
        UnusableProfile: it is damaged, or contains no steps.
        OSError: it cannot be read.
    """
    entries = JsonEntries(file, LIST)
    trace = _Trace()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("ph") == "X":
            trace.add(entry)
    notes = []
    if entries.spoilt:
        notes.append(
            f"{counted(entries.spoilt, 'event')} of {name} could not be read, and {_are(entries.spoilt)} left out"
        )
    if entries.is_cut:
        notes.append(f"{name} is cut off: its events up to that point are used")
    return trace.profiled(name, tuple(notes))


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


class _Trace:
    """The events so far, with a timeline for each thread that records steps or layers."""

    def __init__(self) -> None:
        self._threads: dict[str, TracedSteps] = {}
        self._copies: dict[object, tuple[TracedSteps, Span]] = {}
        self._has_gpu = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event; one without a name or times is ignored."""
        kind, name, start, took = (event.get(key) for key in ("cat", "name", "ts", "dur"))
        if not (isinstance(kind, str) and kind in _KEPT and isinstance(name, str)):
            return
        if not (_is_time(start) and _is_time(took)):
            return
        span = float(start), float(start) + float(took)
        if kind == "Memcpy":
            self._add_copy(name, event)
            return
        traced = self._thread(event)
        name = _TIME.sub("", name)
        if kind == "ProfileStep":
            if len(traced.steps) >= _MOST_STEPS:
                raise UnusableProfile(f"it has more than {_MOST_STEPS:,} steps: profile fewer of them")
            traced.steps.append(span)
        elif kind == "CudaRuntime":
            self._add_call(traced, name, span, event)
        elif kind == "PythonUserDefined":
            traced.add(traced.names, name, *span)
        else:
            traced.marks[_PHASES[kind]].add(*span)
            if kind == "Forward":
                traced.add(traced.classes, name, *span)

    def profiled(self, name: str, notes: tuple[str, ...]) -> Profiled:
        """The profile from all events."""
        traced = max(self._threads.values(), key=lambda each: len(each.steps), default=TracedSteps())
        if not traced.steps:
            raise UnusableProfile(
                "it has no steps: call step() of the profiler at the end of each training step, and record some of them"
            )
        shares = traced.shares()
        device = "gpu" if self._has_gpu else "cpu"
        return Profiled(
            name,
            "a trace of Paddle Profiler",
            shares.steps,
            device,
            shares.phases,
            classes=shares.classes,
            names=shares.names,
            notes=notes,
        )

    def _thread(self, event: Mapping[str, Any]) -> TracedSteps:
        """The timeline of an event's thread, which is ``"29948(Python)"`` or ``"29948(C++)"``."""
        number = _THREAD.match(str(event.get("tid")))
        key = f"{event.get('pid')} {number.group() if number else ''}"
        if key not in self._threads and len(self._threads) >= 10_000:
            raise UnusableProfile("it has more than 10,000 threads, which no training has")
        return self._threads.setdefault(key, TracedSteps())

    def _add_call(self, traced: TracedSteps, name: str, span: Span, event: Mapping[str, Any]) -> None:
        self._has_gpu = True
        if "Synchronize" in name:
            traced.calls["wait"].add(*span)
        elif "Memcpy" in name:
            correlation = _correlation(event)
            if correlation is not None and len(self._copies) < _MOST_OPEN:
                self._copies[correlation] = traced, span

    def _add_copy(self, name: str, event: Mapping[str, Any]) -> None:
        self._has_gpu = True
        traced, span = self._copies.pop(_correlation(event), (None, (0.0, 0.0)))
        phase = "read" if "DtoH" in name else "copy" if "HtoD" in name else ""
        if traced is not None and phase:
            traced.calls[phase].add(*span)


def _correlation(event: Mapping[str, Any]) -> int | None:
    arguments = event.get("args")
    found = arguments.get("correlation id") if isinstance(arguments, dict) else None
    return found if isinstance(found, int) else None


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LAST
