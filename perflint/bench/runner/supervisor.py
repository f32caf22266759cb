"""Starts a script, and makes sure that none of its processes outlives the run: ``python supervisor.py ...``.

``perflint bench`` starts this small process for each run and holds the other end of its standard input. When that
closes, because the run should end or because ``perflint bench`` itself was killed, everything that the script has
started is stopped: first with a request, so that loaders can free their shared memory, then by force.

It needs only the standard library, and is run by its path. On Linux, processes that have left the group of the script
(as those of ``paddle.distributed.launch`` do) are found too: the system makes them children of this one when their own
parent ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GRACE = 5.0
"""Seconds that the script gets to end by itself after it is asked to."""
STAY = b"stay"
"""What ``perflint bench`` writes before it closes the input, to say that it is alive and will remove the directory."""
STATUS = "status"
"""The file, in the directory of the run, with the exit status of the script, or why it could not be started."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_PROC = Path("/proc")
_SOON = 0.02


class Process(NamedTuple):
    """A process, as described in Linux's ``/proc/PID/stat``.

    ``state`` is a letter, ``Z`` for one that has ended and was not waited for; ``status`` is what ``waitpid`` would
    return for it.
    """

    pid: int
    parent: int
    state: str
    status: int


def descendants(pid: int) -> list[Process]:
    """The child processes of a process, and their children; none if there is no ``/proc``."""
    children: dict[int, list[Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found, todo = [], [pid]
    while todo:
        more = children.pop(todo.pop(), [])
        found += more
        todo += [process.pid for process in more]
    return found


def _processes() -> Iterator[Process]:
    for place in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = (place / "stat").read_text(encoding="utf-8", errors="replace")
            fields = re.sub(r"^.*\) ", "", text, count=1, flags=re.DOTALL).split()  # the name may contain anything
            yield Process(int(place.name), int(fields[1]), fields[0], int(fields[-1]))


def _prctl(option: int, value: int) -> None:
    """Call ``prctl``, which only Linux has; without it, only the process group of the script is found."""
    if _LIBC is not None:
        with contextlib.suppress(OSError, AttributeError):
            _LIBC.prctl(option, value, 0, 0, 0)


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def _end_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Supervisor:
    """Runs one command, and stops it with everything that it has started."""

    def __init__(self, place: Path, lock: int | None, command: list[str]) -> None:
        """Start the command in its own process group; ``place`` is the directory of the run."""
        self._place = place
        self._bench_lives = False
        self._asked = threading.Event()
        self._script = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_end_with_parent if os.name == "posix" else None,  # no thread has started yet
            pass_fds=() if lock is None else (lock,),
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def run(self) -> None:
        """Wait until the command ends or should end, then make sure that nothing of it is still running."""
        try:
            self._script.wait()
        finally:
            self._kill_rest()
            (self._place / STATUS).write_text(str(self._script.returncode), encoding="utf-8")
            if self._asked.is_set() and not self._bench_lives:
                shutil.rmtree(self._place, ignore_errors=True)

    def _listen(self) -> None:
        said = b""
        while part := os.read(0, len(STAY)):
            said += part
        self._bench_lives = said == STAY
        self._asked.set()
        self.end()

    def end(self) -> None:
        """Ask the script to end; kill it if it does not."""
        with contextlib.suppress(OSError):
            self._script.terminate()
        end = time.monotonic() + GRACE
        while self._script.returncode is None and time.monotonic() < end:
            time.sleep(_SOON)
        with contextlib.suppress(OSError):
            self._script.kill()

    def _kill_rest(self) -> None:
        """Kill the rest of the group, and processes that have left it, until none remain."""
        with contextlib.suppress(OSError):
            self._script.kill()
        self._script.wait()
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self._script.pid, signal.SIGKILL)
        # a process waiting in the kernel cannot be killed: its lock shows that to the next bench
        end = time.monotonic() + GRACE
        while (left := descendants(os.getpid())) and time.monotonic() < end:
            for process in left:
                if process.state == "Z":
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(process.pid, os.WNOHANG)
                else:
                    with contextlib.suppress(OSError):
                        os.kill(process.pid, signal.SIGKILL)
            time.sleep(_SOON)


def _main(place: str, lock: str, *command: str) -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        supervisor = Supervisor(Path(place), int(lock) if lock else None, [*command])
    except OSError as error:
        (Path(place) / STATUS).write_text(f"{command[0]}: {error.strerror or error}", encoding="utf-8")
        return

    def asked(*_: object) -> None:
        threading.Thread(target=supervisor.end, daemon=True).start()

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), asked)
    supervisor.run()
    os._exit(0)  # a thread may still be reading, and Python would wait for it


if __name__ == "__main__":
    _main(*sys.argv[1:])
