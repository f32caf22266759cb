"""Notices when a running script no longer makes progress, and finds out where it hangs."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflint.bench.runner import heartbeat, supervisor
from perflint.bench.runner.heartbeat import Beat

AT_FIRST = 120.0
"""Seconds without progress before the first step after which a script counts as hanging: it may load or unpack data."""
LATER = 30.0
"""The same after the first step, at least."""
_STEPS = 20
"""How many times the longest step may last before the script counts as hanging."""
_TELL = 15.0
"""Seconds without progress before a message (twice as many before the first step); doubled after each message."""
_WAIT_FOR_STACK = 2.0
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x0*([0-9a-f]+)\b")
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$')
_INSTALLED = re.compile(r"^.*[/\\](?:site|dist)-packages[/\\]")
_RUNNER = str(Path(heartbeat.__file__).parent)


@dataclass
class StallWatch:
    """Notices when nothing happens any more: no batch, no backward, no step, on any rank.

    ``limit`` is the value of ``--stall-limit`` in seconds; ``start`` is the current time on a monotonic clock.
    """

    limit: float | None
    start: float
    beats: Sequence[Beat] = ()
    _since: float = field(init=False)
    _told: float = field(init=False, default=2 * _TELL)

    def __post_init__(self) -> None:
        """Start with nothing having happened."""
        self._since = self.start

    @property
    def steps(self) -> int:
        """Steps so far."""
        return max((beat.steps for beat in self.beats), default=0)

    @property
    def longest(self) -> float:
        """Seconds of the longest step so far."""
        return max((beat.longest for beat in self.beats), default=0.0)

    @property
    def patience(self) -> float:
        """Seconds without progress after which the script currently counts as hanging."""
        if not self.steps:
            return AT_FIRST if self.limit is None else self.limit
        return max(LATER if self.limit is None else self.limit, _STEPS * self.longest)

    def look(self, beats: Sequence[Beat], now: float) -> None:
        """Take in the progress that the ranks have reported."""
        if _counts(beats) != _counts(self.beats):
            self._since = now
            self._told = _TELL if any(beat.steps for beat in beats) else 2 * _TELL
        self.beats = beats

    def quiet(self, now: float) -> float:
        """Seconds since anything happened."""
        return now - self._since

    def hangs(self, now: float) -> bool:
        """Whether it has been quiet for too long."""
        return self.quiet(now) >= self.patience

    def news(self, now: float) -> str | None:
        """A message for the waiting user; None if there is nothing new."""
        quiet = self.quiet(now)
        if quiet < self._told:
            return None
        self._told = 2 * quiet
        return f"{self.seen()} so far, nothing for {quiet:.0f} s (stopped after {self.patience:.0f} s: --stall-limit)"

    def seen(self) -> str:
        """``12 steps, 13 batches, 12 calls of backward``."""
        batches = max((beat.batches for beat in self.beats), default=0)
        backward = max((beat.backward for beat in self.beats), default=0)
        return f"{self.steps} steps, {batches} batches, {backward} calls of backward"


def _counts(beats: Sequence[Beat]) -> list[tuple[int, int, int]]:
    return [(beat.batches, beat.backward, beat.steps) for beat in beats]


@dataclass(frozen=True)
class Call:
    """A call that has not returned: where it is, with the path that the user knows."""

    place: str
    name: str
    is_own: bool

    def __str__(self) -> str:
        """``train.py:22 (main)``."""
        return f"{self.place} ({self.name})"


def stack(beat_file: Path, copy: Path) -> list[Call]:
    """The calls that the main thread of a process is in now, innermost first; none if they cannot be read.

    The process writes them itself when it gets a signal, even while it waits in a library.

    Args:
        beat_file: the file in which the process reports its progress.
        copy: the copy of the project, to which paths are relative.
    """
    beat = heartbeat.read(beat_file)
    file = heartbeat.stack_file(beat_file)
    if not beat.stack_signal:
        return []
    before = file.stat().st_size
    with contextlib.suppress(OSError):
        os.kill(beat.pid, beat.stack_signal)
    end = time.monotonic() + _WAIT_FOR_STACK
    text = ""
    while time.monotonic() < end:
        time.sleep(0.05)
        now = file.read_text(encoding="utf-8", errors="replace")[before:]
        if now and now == text:
            break
        text = now
    return frames(text, beat.thread, str(copy))


def frames(text: str, thread: int, copy: str) -> list[Call]:
    """The calls of one thread, from the output of ``faulthandler``, without those of the runner."""
    found, inside = [], False
    for line in text.splitlines():
        heading = _THREAD.match(line)
        if heading:
            inside = int(heading[1], 16) == thread
        match = _FRAME.match(line) if inside else None
        if match and not match["file"].startswith((_RUNNER, "<frozen ")):
            found.append(_frame(match["file"], match["line"], match["name"], copy))
    return found


def _frame(file: str, line: str, name: str, copy: str) -> Call:
    real, root = os.path.realpath(file), os.path.realpath(copy)
    if real.startswith(root + os.sep):
        return Call(f"{os.path.relpath(real, root)}:{line}", name, is_own=True)
    return Call(f"{_INSTALLED.sub('', file)}:{line}", name, is_own=False)


def where_all(ranks: Sequence[Sequence[Call]]) -> str:
    """Where each rank is (`where`); empty if it is not known for any.

    Many ranks wait in a library for another one; the one that they wait for is at another place.
    """
    by_place: dict[str, list[str]] = {}
    for rank, calls in enumerate(ranks):
        if calls:
            by_place.setdefault(where(calls), []).append(str(rank))
    if len(ranks) == 1 or not by_place:
        return next(iter(by_place), "")
    return "; ".join(f"{place} (rank {', '.join(numbers)})" for place, numbers in by_place.items())


def where(calls: Sequence[Call]) -> str:
    """``train.py:22 (main), in paddle/io/dataloader.py:852 (__next__)``; empty if it is not known."""
    if not calls:
        return ""
    own = next((call for call in calls if call.is_own), None)
    if own is None or own is calls[0]:
        return str(calls[0])
    return f"{own}, in {calls[0]}"


def ended(processes: Sequence[supervisor.Process]) -> list[str]:
    """Child processes of the script that have failed, in case the script has not noticed."""
    codes = {item.pid: os.waitstatus_to_exitcode(item.status) for item in processes if item.state == "Z"}
    return [f"process {pid} that it had started ended {_how(code)}" for pid, code in codes.items() if code]


def _how(code: int) -> str:
    if code > 0:
        return f"with exit status {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
