"""Records what happens in a training (its steps, the time spent in the loader, the losses), and reports its progress.

Progress is a few numbers in a small memory-mapped file. Writing them costs a microsecond and no system call; ``perflint
bench`` reads them regularly, and so notices when nothing happens any more.

A report names what the script runs in, too: its device, the versions of what it uses, its files and its memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import mmap
import os
import platform
import re
import signal
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

_NUMBERS = struct.Struct("<qQqqqdq")
_STACK_SIGNAL = getattr(signal, "SIGRTMAX", None) or getattr(signal, "SIGUSR2", None)
"""The signal that makes the process write its stack: on Linux the last real-time signal, which nothing else uses."""


PATIENCE = 10.0
"""Seconds that the workers of a loader have to end before they are killed."""
SPAWNED = "spawned"
"""The status of a run that was ended because it was about to start other processes, at the line ``where``."""


class Beat(NamedTuple):
    """The progress that a training process has reported so far.

    Attributes:
        pid: its process id; 0 before it has reported anything.
        thread: its main thread, as it is named in stacks.
        batches: batches that were read.
        backward: calls of ``backward``.
        steps: optimizer steps.
        longest: the longest time so far, in seconds, from the end of one step to the end of the next.
        stack_signal: the signal that makes it write its stack; 0: none.
    """

    pid: int = 0
    thread: int = 0
    batches: int = 0
    backward: int = 0
    steps: int = 0
    longest: float = 0.0
    stack_signal: int = 0


def read_beat(path: Path) -> Beat:
    """Read the progress that a process has reported in its file."""
    data = path.read_bytes()
    return Beat(*_NUMBERS.unpack(data[: _NUMBERS.size])) if len(data) >= _NUMBERS.size else Beat()


def stack_file(beat_file: Path) -> Path:
    """The file to which the process with this beat writes its stacks."""
    return beat_file.with_suffix(".stack")


class Heartbeat:
    """The side of the training, which writes. Forked processes inherit the file, but do not write to it."""

    def __init__(self, path: Path) -> None:
        """Create the file, and start reporting in it."""
        path.write_bytes(bytes(_NUMBERS.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _NUMBERS.size)
        self._stack = stack_file(path).open("wb")
        self._pid = os.getpid()
        self._thread = threading.main_thread().ident or 0
        self._signal = 0
        self._steps = 0
        self._longest = 0.0
        self._last = time.monotonic()
        self._listen()
        self.note(0, 0, 0)

    def note(self, batches: int, backward: int, steps: int) -> None:
        """Report how often each has happened."""
        if os.getpid() != self._pid:
            return
        if steps != self._steps:
            now = time.monotonic()
            if self._steps:  # before the first step, much time is spent on other work
                self._longest = max(self._longest, now - self._last)
            self._last, self._steps = now, steps
        _NUMBERS.pack_into(
            self._memory, 0, self._pid, self._thread, batches, backward, steps, self._longest, self._signal
        )

    def _listen(self) -> None:
        """Write all stacks when `Beat.stack_signal` comes, even while the interpreter cannot run Python."""
        if _STACK_SIGNAL is None or not hasattr(faulthandler, "register"):
            return  # on Windows
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            faulthandler.register(_STACK_SIGNAL, file=self._stack, all_threads=True)
            self._signal = int(_STACK_SIGNAL)


def end_workers(iterator: Any, seconds: float = PATIENCE) -> None:
    """End the workers of ``iter(loader)``; nothing is done for a loader without workers, or of another library.

    Paddle tells them to end and then waits for as long as it takes. A worker that was forked while another thread held
    a lock never ends: with it, the wait would not either.

    Args:
        iterator: what ``iter(loader)`` returned.
        seconds: how long to wait before the workers that are left are killed.
    """
    close = getattr(iterator, "_try_shutdown_all", None)
    if close is None:
        return
    killer = threading.Timer(seconds, _kill, [list(getattr(iterator, "_workers", None) or ())])
    killer.daemon = True
    killer.start()
    try:
        close()
    finally:
        killer.cancel()


def _kill(workers: Iterable[Any]) -> None:
    for worker in workers:
        worker.kill()  # which does nothing to a process that has ended


class Recorder:
    """The record so far. ``write`` puts it into the plan's result file.

    A step ends when the optimizer has stepped, or when an executor has run a static graph that trains. With several
    optimizers, or graphs, only the first one that steps counts.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        """Start with nothing seen; ``plan`` was written by ``perflint.bench.script_run``."""
        self.paddle: Any = None
        self.hooked: list[str] = []
        self.where = self.started = ""
        self.before_end: Callable[[], None] = lambda: None
        self._plan = plan
        self._beat = Heartbeat(Path(plan["beat"])) if "beat" in plan else None
        self._pid = os.getpid()
        self._seen = {"batches": 0, "backward": 0, "steps": 0}
        self._ends: list[float] = []
        self._readers: list[float] = []
        self._samples: list[int] = []
        self._losses: list[list[Any]] = []
        self._iterators: Any = weakref.WeakSet()
        self._optimizer: Any = None
        self._inside = 0
        self._reading = False
        self._next_step()

    def _next_step(self) -> None:
        self._reader = 0.0
        self._size = self._count = 0
        self._backward: list[Any] = []

    @property
    def is_here(self) -> bool:
        """Whether this is the process that trains, and not one that it has started."""
        return os.getpid() == self._pid

    def read(self, function: Callable[[Any], Any], owner: Any) -> Any:
        """Call a function of the loader, add its time, and return its result."""
        if self._reading or not self.is_here:
            return function(owner)
        self._reading = True
        start = time.perf_counter()
        try:
            return function(owner)
        finally:
            self._reader += time.perf_counter() - start
            self._reading = False

    def opened(self, iterator: Any, loader: Any) -> None:
        """Note that a loader has started: its iterator is to be closed at the end."""
        self._iterators.add(iterator)

    def batch(self, data: Any) -> None:
        """Note that a batch has been read."""
        self._seen["batches"] += 1
        self._size = _size(data)
        self._tell()

    def backward(self, tensor: Any) -> None:
        """Note that ``backward`` is called on a tensor.

        The loss stays on the device until the end of the measured steps: reading it would make the device wait.
        """
        one = all(length == 1 for length in tensor.shape)
        self.trained_on(tensor.detach() if one else None)

    def trained_on(self, loss: Any, data: Any = None) -> None:
        """Count the samples of the batch that was read last, once; ``data`` is used if no loader has read anything."""
        self._seen["backward"] += 1
        self._count += self._size or _size(data)
        self._size = 0
        self._backward.append(loss)
        self._tell()

    def _tell(self) -> None:
        if self._beat:
            self._beat.note(self._seen["batches"], self._seen["backward"], self._seen["steps"])

    def step(self, function: Any, optimizer: Any, arguments: Any, keywords: Any) -> Any:
        """Call a function that steps; when it returns, a step is finished."""
        if is_static(self.paddle):  # this adds the step to a graph, which an executor runs later
            return function(*arguments, **keywords)
        return self.stepped(function, optimizer, arguments, keywords)

    def execute(self, function: Any, program: Any, arguments: Any, keywords: Any) -> Any:
        """Call an executor with a static graph; if ``program`` trains (it is not None), this is a step."""
        if program is None:
            return function(*arguments, **keywords)
        return self.stepped(function, program, arguments, keywords)

    def stepped(self, function: Any, optimizer: Any, arguments: Any, keywords: Any) -> Any:
        """Call a function; if it is the outermost one that steps, a step is finished when it returns.

        Args:
            function: the function that steps.
            optimizer: the optimizer, or the static graph; only steps of the first one count.
            arguments: its arguments.
            keywords: its keyword arguments.
        """
        self._inside += 1
        try:
            return function(*arguments, **keywords)
        finally:
            self._inside -= 1
            if not self._inside and self.is_here:
                self._end(optimizer)

    def _end(self, optimizer: Any) -> None:
        known = self._optimizer and self._optimizer()
        if known is None:
            self._optimizer = weakref.ref(optimizer)
        elif known is not optimizer:
            return
        self._seen["steps"] += 1
        self._tell()
        done, first = self._seen["steps"], self._plan["warmup"]
        last = first + self._plan["steps"]
        if done in (first, last):
            wait(self.paddle)
        self._ends.append(time.perf_counter())
        self._readers.append(self._reader)
        self._samples.append(self._count or self._size or 1)
        self._losses.append(self._backward)
        self._next_step()
        if done == last:
            self.finish("done")

    def finish(self, status: str) -> None:
        """Write the result, and end the loader's processes and this one."""
        self.write(status)
        self.before_end()
        for iterator in list(self._iterators):
            end_workers(iterator)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # the rest of the script is not measured, and could take hours

    def write(self, status: str) -> None:
        """Write the whole record to the result file."""
        target = Path(self._plan["result"])
        beside = target.with_suffix(".part")
        beside.write_text(json.dumps(self.result(status)), encoding="utf-8")
        beside.replace(target)

    def result(self, status: str) -> dict[str, Any]:
        """The record as it is written; ``status`` says how the run ended."""
        return {
            "status": status,
            "where": self.where,
            "started": self.started,
            "hooked": self.hooked,
            "seen": self._seen,
            "files": files(self._plan["copy"]),
            "versions": versions(self.paddle),
            "machine": machine(self.paddle),
            "steps": self._steps(),
        }

    def _steps(self) -> dict[str, Any]:
        first = self._plan["warmup"]
        starts, ends = self._ends[first - 1 :], self._ends[first:]
        return {
            "batch_s": [end - start for start, end in zip(starts, ends)],  # noqa: B905  # "strict" came with 3.10
            "reader_s": self._readers[first:],
            "samples": self._samples[first:],
            "losses": [_number(tensors) for tensors in self._losses[first:]],
            "peak_memory_mib": peak_memory_mib(self.paddle),
            "device": device(self.paddle),
        }


def _size(data: Any) -> int:
    """The length of the first array in a batch; 0 if there is none."""
    shape = getattr(data, "shape", None)
    if callable(shape):  # the size of a static graph's tensor
        shape = shape()
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ()
    return next((size for size in map(_size, parts) if size), 0)


def _number(tensors: list[Any]) -> float | None:
    """The sum of the losses of a step (several if gradients are accumulated)."""
    if not tensors or any(tensor is None for tensor in tensors):
        return None
    return float(sum(float(tensor) for tensor in tensors))


def device(paddle: Any) -> str:
    """``cpu`` or ``gpu:0``; empty before Paddle is imported."""
    return str(paddle.device.get_device()) if paddle else ""


def _on_gpu(paddle: Any) -> bool:
    return device(paddle).startswith("gpu")


def is_static(paddle: Any) -> bool:
    """Whether operators are currently added to a static graph instead of being computed."""
    dynamic = getattr(paddle, "in_dynamic_mode", None)
    return dynamic is not None and not dynamic()


def wait(paddle: Any) -> None:
    """Wait until a GPU has finished its queued work, which belongs to the steps that have queued it."""
    if _on_gpu(paddle):
        paddle.device.synchronize()


def peak_memory_mib(paddle: Any) -> float:
    """The most memory so far, in MiB: of the GPU if there is one, otherwise of the process; 0 if unknown."""
    if _on_gpu(paddle):
        return float(paddle.device.cuda.max_memory_allocated()) / 2**20
    return _peak_of_process()


def _peak_of_process() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss in a new process is that of its parent, if that was larger
        return int(re.findall(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.MULTILINE)[0]) / 2**10
    try:
        import resource
    except ImportError:  # does not exist on Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def versions(paddle: Any) -> dict[str, str]:
    """The versions of Python, Paddle and numpy."""
    found = {"python": platform.python_version(), "paddle": str(getattr(paddle, "__version__", ""))}
    if "numpy" in sys.modules:
        found["numpy"] = str(getattr(sys.modules["numpy"], "__version__", ""))
    return found


def machine(paddle: Any) -> str:
    """The GPU if there is one, the processor, its cores, and the system."""
    parts = [_processor(), f"{os.cpu_count()} cores", platform.system()]
    if _on_gpu(paddle):
        parts.insert(0, str(paddle.device.cuda.get_device_name()))
    return ", ".join(part for part in parts if part)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def files(root: str) -> list[str]:
    """The Python files below a directory that are imported or run, relative to it."""
    paths = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    real = {os.path.realpath(path) for path in paths if path}
    inside = (path for path in real if path.startswith(root + os.sep) and path.endswith(".py"))
    return sorted(os.path.relpath(path, root) for path in inside)
