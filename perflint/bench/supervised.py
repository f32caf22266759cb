"""Runs a script under ``runner.supervisor``, which stops it even if this process is killed, and sees when it hangs."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflint.bench.run_directory import held
from perflint.bench.runner import recorder, supervisor
from perflint.query import gathered

_SUPERVISOR = Path(supervisor.__file__)
_PATIENCE = 3 * supervisor.GRACE
"""Seconds after which the supervisor itself is killed, if it is waiting for a process that cannot be stopped."""


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
_RUNNER = str(Path(recorder.__file__).parent)


class Supervised:
    """A command that is stopped, with everything that it has started, when `end` is called or this process dies."""

    def __init__(
        self,
        command: Sequence[str],
        place: Path,
        directory: Path,
        environment: Mapping[str, str],
        lock: int | None = None,
    ) -> None:
        """Start it.

        Args:
            command: the command to run.
            place: the directory of the run; its output is written to ``log.txt`` there.
            directory: where it starts.
            environment: its variables.
            lock: a file handle that its processes keep open as long as they live.

        Raises:
            OSError: no process can be started.
        """
        self._status = place / supervisor.STATUS
        handle = lock if os.name == "posix" else None
        arguments = [str(place), "" if handle is None else str(handle), *command]
        try:
            with (place / "log.txt").open("wb") as log, held():
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_SUPERVISOR), *arguments],
                    cwd=directory,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=() if handle is None else (handle,),
                )
        except BaseException:
            if hasattr(self, "_process"):
                self.end()
            raise

    @property
    def has_ended(self) -> bool:
        """Whether the command has ended."""
        return self._process.poll() is not None

    def started(self) -> list[supervisor.Process]:
        """Its processes and their children; none if the system does not list them."""
        return supervisor.descendants(self._process.pid)

    def end(self) -> None:
        """Stop it cleanly, and wait until nothing of it is running."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended by itself
            self._process.stdin.write(supervisor.STAY)
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def status(self) -> int:
        """The exit status of the command after its end; negative: the number of the signal that ended it.

        Raises:
            OSError: the command could not be started.
        """
        said = self._status.read_text(encoding="utf-8") if self._status.exists() else str(-signal.SIGTERM)
        try:
            return int(said)
        except ValueError:
            raise OSError(said) from None


@dataclass
class StallWatch:
    """Notices when nothing happens any more: no batch, no backward, no step, on any rank.

    ``limit`` is the value of ``--stall-limit`` in seconds; ``since`` is when something happened last, on a monotonic
    clock: at first, the current time.
    """

    limit: float | None
    since: float
    beats: Sequence[recorder.Beat] = ()
    _told: float = field(init=False, default=2 * _TELL)

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

    def look(self, beats: Sequence[recorder.Beat], now: float) -> None:
        """Take in the progress that the ranks have reported."""
        counts, before = ([(beat.batches, beat.backward, beat.steps) for beat in each] for each in (beats, self.beats))
        if counts != before:
            self.since = now
            self._told = _TELL if any(beat.steps for beat in beats) else 2 * _TELL
        self.beats = beats

    def quiet(self, now: float) -> float:
        """Seconds since anything happened."""
        return now - self.since

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
    file = recorder.stack_file(beat_file)
    text = ""
    try:
        beat = recorder.read_beat(beat_file)
        if not beat.stack_signal:
            return []
        before = file.stat().st_size
        os.kill(beat.pid, beat.stack_signal)
        end = time.monotonic() + _WAIT_FOR_STACK
        while time.monotonic() < end:
            time.sleep(0.05)
            now = file.read_text(encoding="utf-8", errors="replace")[before:]
            if now and now == text:
                break
            text = now
    except OSError:  # it has ended
        return []
    return frames(text, beat.thread, str(copy))


def frames(text: str, thread: int, copy: str) -> list[Call]:
    """The calls of one thread, from the output of ``faulthandler``, without those of the runner."""
    found: list[Call] = []
    inside = False
    for line in text.splitlines():
        heading = _THREAD.match(line)
        if heading:
            inside = int(heading[1], 16) == thread
        match = _FRAME.match(line) if inside else None
        if match and not match["file"].startswith((_RUNNER, "<frozen ")):
            real, root = os.path.realpath(match["file"]), os.path.realpath(copy)
            is_own = real.startswith(root + os.sep)
            file = os.path.relpath(real, root) if is_own else _INSTALLED.sub("", match["file"])
            found.append(Call(f"{file}:{match['line']}", match["name"], is_own))
    return found


def where_all(ranks: Sequence[Sequence[Call]]) -> str:
    """Where each rank is (`where`); empty if it is not known for any.

    Many ranks wait in a library for another one; the one that they wait for is at another place.
    """
    by_place = gathered((where(calls), str(rank)) for rank, calls in enumerate(ranks) if calls)
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
