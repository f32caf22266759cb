"""What a command costs: wall and CPU seconds of a whole process tree, and the peak of its memory."""

from __future__ import annotations

import os
import shlex
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROC = Path("/proc")
SAMPLE_SECONDS = 0.01
SHORT_SECONDS = 10.0
"""A command that takes less is sampled for memory more than once: few samples fall into a short run."""


@dataclass(frozen=True)
class Candidate:
    """A command to measure.

    Attributes:
        name: What the results call it.
        command: The words of the command.
        directory: Where it runs.
        environment: Variables on top of those of this process.
        exits: Exit statuses that mean it has done its work.
        slow: Whether it runs only ``--slow-runs`` times.
    """

    name: str
    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    exits: Sequence[int] = (0, 1)
    slow: bool = False

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """The process, in a session of its own, without output; if the block fails, the session ends with it."""
        process = subprocess.Popen(
            self.command,
            cwd=self.directory,
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise

    def output(self) -> str:
        """What it writes to standard output. Raises CalledProcessError if it fails."""
        return subprocess.run(
            self.command, cwd=self.directory, env=self._variables(), stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    def _variables(self) -> dict[str, str]:
        # Without the directory that it runs in on Python's path: a tree may have a file that is called like a module.
        # And compiled once, as pip leaves what it installs, wherever this process is told not to write bytecode.
        return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "", **self.environment}

    def ended(self, exit_status: int) -> None:
        """Raises SystemExit if the exit status says that the command has failed."""
        if exit_status not in self.exits:
            raise SystemExit(f"{shlex.join(self.command)} ended with {exit_status} in {self.directory}")


@dataclass(frozen=True)
class Cost:
    """One run: wall seconds, and CPU seconds (user and system) of the process and all that it waited for."""

    wall: float
    cpu: float


def timed(candidate: Candidate) -> Cost:
    """Run it once. Raises SystemExit if it fails."""
    started = time.perf_counter()
    with candidate.running() as process:
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    candidate.ended(process.returncode)
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def peak_memory(candidate: Candidate) -> float:
    """Run it once; the largest sum over all of its processes at one moment, in MiB, by samples.

    A page that processes share is counted once (PSS) where Linux tells, else in each of them (RSS).
    """
    largest = 0
    with candidate.running() as process:
        while process.poll() is None:
            started = time.perf_counter()
            largest = max(largest, session_memory(process.pid))
            # Looking takes a core's time too, which what is looked at may want.
            time.sleep(max(SAMPLE_SECONDS, 9 * (time.perf_counter() - started)))
    candidate.ended(process.returncode)
    return largest / 1024


def session_memory(session: int) -> int:
    """Memory of all processes of a session, in KiB; 0 where it has ended."""
    if PROC.is_dir():
        return sum(_proportional(process) for process in _in_session(session))
    listing = subprocess.run(["ps", "-A", "-o", "sess=,pgid=,rss="], capture_output=True, text=True, check=False)
    rows = [line.split() for line in listing.stdout.splitlines()]
    return sum(int(row[2]) for row in rows if len(row) == 3 and str(session) in row[:2])


def _in_session(session: int) -> Iterator[Path]:
    for process in PROC.iterdir():
        if process.name.isdigit():
            stat = _read(process / "stat")
            # After the name, which stands in brackets and may hold anything: state, parent, group, session.
            if stat and stat.rpartition(")")[2].split()[3] == str(session):
                yield process


def _proportional(process: Path) -> int:
    for line in _read(process / "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    for line in _read(process / "status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # the process has ended, or belongs to somebody else
        return ""


def in_turn(
    candidates: Sequence[Candidate],
    runs: int,
    slow_runs: int,
    tell: Callable[[str], None] = lambda line: None,
    measure: Callable[[Candidate], Cost] = timed,
) -> dict[str, list[Cost]]:
    """Run all in turn (A B C A B C ...), so that a busy machine disturbs all alike; the costs by name."""
    costs: dict[str, list[Cost]] = {candidate.name: [] for candidate in candidates}
    for turn in range(max(runs, slow_runs)):
        for candidate in candidates:
            if turn < (slow_runs if candidate.slow else runs):
                cost = measure(candidate)
                costs[candidate.name].append(cost)
                tell(f"run {turn + 1} {candidate.name}: {cost.wall:.3f} s wall, {cost.cpu:.3f} s CPU")
    return costs


def peaks(
    candidates: Sequence[Candidate],
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, float]:
    """Peak memory of each in MiB, in runs that nobody times: sampling takes time itself."""
    result = {}
    for candidate in candidates:
        started = time.perf_counter()
        highest = peak_memory(candidate)
        if time.perf_counter() - started < SHORT_SECONDS:
            highest = max(highest, peak_memory(candidate), peak_memory(candidate))
        result[candidate.name] = highest
        tell(f"memory {candidate.name}: {highest:.1f} MiB")
    return result


def summary(costs: Mapping[str, Sequence[Cost]], memory: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """For each name the medians of wall and CPU seconds, the peak in MiB (where measured) and all runs."""
    return {
        name: {
            "wall": round(statistics.median(run.wall for run in runs), 4),
            "cpu": round(statistics.median(run.cpu for run in runs), 4),
            **({"peak": round(memory[name], 1)} if name in memory else {}),
            "runs": [[round(run.wall, 4), round(run.cpu, 4)] for run in runs],
        }
        for name, runs in costs.items()
        if runs
    }


def sitting(
    candidates: Sequence[Candidate], runs: int, slow_runs: int, tell: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Memory first, which warms the page cache for all alike, then the timed runs in turn; see :func:`summary`."""
    memory = peaks(candidates, tell)
    return summary(in_turn(candidates, runs, slow_runs, tell), memory)
