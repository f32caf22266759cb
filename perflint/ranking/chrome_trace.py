"""Reads the output of ``paddle.profiler.export_chrome_tracing``: JSON in the format of Chrome's tracing.

The names of events end in their time (``"Linear[12.5 us]"``). ``cat`` says what an event is: ``ProfileStep``,
``Dataloader``, ``Forward`` (by the class of the layer), ``Backward``, ``Optimization``, ``PythonUserDefined`` (the name
of a ``RecordEvent``); with a GPU also ``CudaRuntime``, and ``Memcpy`` with the same correlation id. There is no event
for a read on the host without a GPU. This comes from files that Paddle 3.3.1 wrote, and for the GPU from
paddle/fluid/platform/profiler/chrometracing_logger.cc.

Events are read one by one, so that a file of any size takes little memory.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, TypeGuard

from perflint.ranking.shares import Profiled, Span, TracedSteps, UnusableProfile
from perflint.text.visible import counted

_PIECE = 1 << 20
_MOST_BEFORE = 16 << 20
"""The most characters before the list."""
_LONGEST = 4 << 20
"""The most characters of an entry."""

_BETWEEN = re.compile(r'\}\s*,\s*(?=\{\s*["}])')
"""The end of an entry and the beginning of the next one."""
_ENTRY = re.compile(r"[^\s,]")
"""The beginning of an entry, or the end of the list."""


LIST = "traceEvents"
"""The key of the list of events, by which such a file is recognized."""
_START = re.compile(rf'"{LIST}"\s*:\s*\[')
_PHASES = {"Dataloader": "reader", "Forward": "forward", "Backward": "backward", "Optimization": "optimizer"}
_KEPT = {*_PHASES, "ProfileStep", "PythonUserDefined", "CudaRuntime", "Memcpy"}
_TIME = re.compile(r"\[[\d.]+ \w+\]$")
_THREAD = re.compile(r"\d+")
_LAST = 2.0**63
"""The largest valid time, in microseconds."""
_MOST_OPEN = 100_000
"""How many copies can wait for their direction, which an event after the call shows."""


class JsonEntries:
    """The entries of the list of events in a JSON object, read from a file.

    The writer may not have escaped a name, or may have been killed: an entry that is not JSON is skipped and counted in
    ``spoilt``, and if the file ends within the list, ``is_cut`` is true.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read from the beginning of a file."""
        self.spoilt = 0
        self.is_cut = False
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._parse = json.JSONDecoder(strict=False).raw_decode
        self._text = ""
        self._is_over = False

    def __iter__(self) -> Iterator[Any]:
        """The entries in order.

        Raises:
            UnusableProfile: the list is missing, or an entry has no end.
            OSError: the file cannot be read.
        """
        while (match := _START.search(self._text)) is None:
            if len(self._text) > _MOST_BEFORE or not self._read_on():
                raise UnusableProfile(f"there is no {LIST} in it")
        at = match.end()
        while True:
            if at > _PIECE:
                self._text, at = self._text[at:], 0
            entry = _ENTRY.search(self._text, at)
            if entry is None:
                at = len(self._text)
                if self._read_on():
                    continue
                self.is_cut = True
                return
            at = entry.start()
            if self._text[at] == "]":
                return
            try:
                found, at = self._parse(self._text, at)
            except (ValueError, RecursionError):
                following = _BETWEEN.search(self._text, at)
                if following is not None:
                    self.spoilt += 1
                    at = following.end()
                elif len(self._text) - at > _LONGEST:
                    raise UnusableProfile("an entry of its list has no end: it is damaged; profile again") from None
                elif not self._read_on():
                    self.is_cut = True
                    return
            else:
                yield found

    def _read_on(self) -> bool:
        """Read more; return whether there was any."""
        if self._is_over:
            return False
        piece = self._file.read(_PIECE)
        self._is_over = not piece
        self._text += self._decode(piece, not piece)
        return not self._is_over


def read(file: BinaryIO, name: str) -> Profiled:
    """Read a trace; only the needed parts are kept in memory.

    Raises:
        UnusableProfile: it is damaged, or contains no steps.
        OSError: it cannot be read.
    """
    entries = JsonEntries(file)
    trace = _Trace()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("ph") == "X":
            trace.add(entry)
    notes = []
    if entries.spoilt:
        are = "is" if entries.spoilt == 1 else "are"
        notes.append(f"{counted(entries.spoilt, 'event')} of {name} could not be read, and {are} left out")
    if entries.is_cut:
        notes.append(f"{name} is cut off: its events up to that point are used")
    return trace.profiled(name, notes)


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
            traced.add_step(span)
        elif kind == "CudaRuntime":
            self._add_call(traced, name, span, event)
        elif kind == "PythonUserDefined":
            traced.add(traced.names, name, *span)
        else:
            traced.marks[_PHASES[kind]].add(*span)
            if kind == "Forward":
                traced.add(traced.classes, name, *span)

    def profiled(self, name: str, notes: Iterable[str]) -> Profiled:
        """The profile from all events."""
        traced = max(self._threads.values(), key=lambda each: len(each.steps), default=TracedSteps())
        if not traced.steps:
            raise UnusableProfile(
                "it has no steps: call step() of the profiler at the end of each training step, and record some of them"
            )
        return traced.profiled(name, "a trace of Paddle Profiler", "gpu" if self._has_gpu else "cpu", notes)

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
