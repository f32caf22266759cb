"""Runs a script under ``runner.supervisor``, which stops it even if this process is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from perflint.bench.interrupts import held
from perflint.bench.runner import supervisor

_SUPERVISOR = Path(supervisor.__file__)
_PATIENCE = 3 * supervisor.GRACE
"""Seconds after which the supervisor itself is killed, if it is waiting for a process that cannot be stopped."""


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
                self._process: subprocess.Popen[bytes] | None = None
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
            self.end()
            raise

    @property
    def has_ended(self) -> bool:
        """Whether the command has ended."""
        return self._process is None or self._process.poll() is not None

    def started(self) -> list[supervisor.Process]:
        """Its processes and their children; none if the system does not list them."""
        return supervisor.descendants(self._process.pid) if self._process else []

    def end(self) -> None:
        """Stop it cleanly, and wait until nothing of it is running."""
        if self._process is None or self._process.stdin is None:
            return
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
