"""Runs a training script and notes when its steps end: ``python runner.py PLAN.json``, in the script's interpreter.

This file needs nothing but the standard library, because that interpreter need not have perflint.  The script is run
as ``__main__``; once it imports Paddle, these are wrapped, and neither the script nor Paddle's files are edited:

- ``DataLoader.__iter__`` and the ``__next__`` of what it returns: the time spent there, and the size of the batch;
- ``Tensor.backward``: the loss, which stays on the device until the measured steps are over, since reading it would
  make the device wait;
- ``Optimizer.step`` and ``minimize``, and those of ``GradScaler``: the end of a step.  Of several optimizers the first
  one that steps counts.

After the last measured step the result is written whole and the process ends.  Files outside of the copy of the
project are kept as they are: see ``_guard``.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this directory, where ``statistics`` is another module than the standard library's

import importlib.abc
import importlib.machinery
import json
import os
import random
import runpy
import shutil
import signal
import time
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any


class Recorder:
    """What has been seen so far.  ``write`` puts it into the plan's result file."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.pid = os.getpid()
        self.paddle: Any = None
        self.ends: list[float] = []
        self.readers: list[float] = []
        self.samples: list[int] = []
        self.losses: list[list[Any]] = []
        self.hooked: list[str] = []
        self.seen = {"batches": 0, "backward": 0, "steps": 0}
        self._reader = 0.0
        self._size = self._count = 0
        self._backward: list[Any] = []
        self._optimizer: Any = None
        self._iterators: weakref.WeakSet[Any] = weakref.WeakSet()
        self._inside = 0
        self._reading = False

    def read(self, function: Any, owner: Any) -> Any:
        """Call a function of the loader and count its time; what it gives."""
        if self._reading or os.getpid() != self.pid:
            return function(owner)
        self._reading = True
        start = time.perf_counter()
        try:
            return function(owner)
        finally:
            self._reader += time.perf_counter() - start
            self._reading = False

    def opened(self, iterator: Any) -> None:
        """A loader has begun: its iterator is to be closed at the end."""
        self._iterators.add(iterator)

    def batch(self, data: Any) -> None:
        """A batch has been read."""
        self.seen["batches"] += 1
        self._size = _size(data)

    def backward(self, tensor: Any) -> None:
        """Somebody calls ``backward`` on a tensor: what was read last is trained on, and counts once."""
        self.seen["backward"] += 1
        self._count += self._size
        self._size = 0
        one = all(length == 1 for length in tensor.shape)
        self._backward.append(tensor.detach() if one else None)

    def step(self, function: Any, optimizer: Any, arguments: Any, keywords: Any) -> Any:
        """Call a function that steps; once it has returned, a step is over."""
        self._inside += 1
        try:
            return function(*arguments, **keywords)
        finally:
            self._inside -= 1
            if not self._inside and os.getpid() == self.pid:
                self._end(optimizer)

    def _end(self, optimizer: Any) -> None:
        known = self._optimizer and self._optimizer()
        if known is None:
            self._optimizer = weakref.ref(optimizer)
        elif known is not optimizer:
            return
        self.seen["steps"] += 1
        done = self.seen["steps"]
        if done in (self.plan["warmup"], self.plan["warmup"] + self.plan["steps"]):
            self._wait()
        self.ends.append(time.perf_counter())
        self.readers.append(self._reader)
        self.samples.append(self._count or self._size or 1)
        self.losses.append(self._backward)
        self._reader, self._count, self._size, self._backward = 0.0, 0, 0, []
        if done == self.plan["warmup"] + self.plan["steps"]:
            self.finish("done")

    def _wait(self) -> None:
        # A GPU works on after Python has gone on: what it has queued belongs to the steps that queued it.
        if self.paddle.device.get_device().startswith("gpu"):
            self.paddle.device.synchronize()

    def finish(self, status: str) -> None:
        """Write the result, end the loader's processes, and this one."""
        self.write(status)
        for iterator in list(self._iterators):
            close = getattr(iterator, "_try_shutdown_all", None)
            if close:
                close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def write(self, status: str) -> None:
        """Put what was seen into the result file, whole."""
        first = self.plan["warmup"]
        device = self.paddle.device.get_device() if self.paddle else ""
        result = {
            "status": status,
            "hooked": self.hooked,
            "seen": self.seen,
            "paddle": getattr(self.paddle, "__version__", ""),
            "steps": {
                "batch_s": [end - start for start, end in zip(self.ends[first - 1 :], self.ends[first:])],  # noqa: B905
                "reader_s": self.readers[first:],
                "samples": self.samples[first:],
                "losses": [_number(tensors) for tensors in self.losses[first:]],
                "peak_memory_mib": _peak(self.paddle, device),
                "device": device,
            },
        }
        target = Path(self.plan["result"])
        beside = target.with_suffix(".part")
        beside.write_text(json.dumps(result), encoding="utf-8")
        beside.replace(target)


def _size(data: Any) -> int:
    """The length of the first array in a batch; 0 where there is none."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ()
    return next((size for size in map(_size, parts) if size), 0)


def _number(tensors: list[Any]) -> float | None:
    """The sum of the losses of a step (there are several where gradients are accumulated)."""
    if not tensors or any(tensor is None for tensor in tensors):
        return None
    return float(sum(float(tensor) for tensor in tensors))


def _peak(paddle: Any, device: str) -> float:
    """MiB."""
    if device.startswith("gpu"):
        return float(paddle.device.cuda.max_memory_allocated()) / 2**20
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls ``then`` once Paddle is imported: the script may set variables before, so it must not be sooner."""

    def __init__(self, then: Any) -> None:
        self.then = then

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != "paddle":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec and spec.loader and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self.then(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def hook(paddle: Any, recorder: Recorder) -> None:
    """Wrap what the module's docstring names, and set the seeds."""
    recorder.paddle = paddle
    if recorder.plan["seed"] is not None:
        paddle.seed(recorder.plan["seed"])
    _hook_loader(paddle.io.DataLoader, recorder)
    _hook_backward(paddle.Tensor, recorder)
    _hook_optimizer(paddle.optimizer.Optimizer, recorder)
    _hook_scaler(paddle.amp.GradScaler, recorder)


def _hook_loader(loader: Any, recorder: Recorder) -> None:
    begin = loader.__iter__
    wrapped: set[type] = set()

    def iterate(self: Any) -> Any:
        iterator = recorder.read(begin, self)
        recorder.opened(iterator)
        if type(iterator) not in wrapped:
            wrapped.add(type(iterator))
            _hook_next(type(iterator), recorder)
        return iterator

    loader.__iter__ = iterate
    recorder.hooked.append("paddle.io.DataLoader")


def _hook_next(kind: Any, recorder: Recorder) -> None:
    following = kind.__next__

    def step(self: Any) -> Any:
        data = recorder.read(following, self)
        recorder.batch(data)
        return data

    kind.__next__ = step


def _hook_backward(tensor: Any, recorder: Recorder) -> None:
    backward = tensor.backward

    def record(self: Any, *arguments: Any, **keywords: Any) -> Any:
        recorder.backward(self)
        return backward(self, *arguments, **keywords)

    tensor.backward = record
    recorder.hooked.append("paddle.Tensor.backward")


def _hook_optimizer(base: Any, recorder: Recorder) -> None:
    def wrap(kind: Any) -> None:
        for name in ("step", "minimize"):
            if name in vars(kind):
                setattr(kind, name, _stepping(vars(kind)[name], recorder, owner=0))
        for each in kind.__subclasses__():
            wrap(each)

    def later(cls: Any, /, **keywords: Any) -> None:
        super(base, cls).__init_subclass__(**keywords)
        wrap(cls)

    wrap(base)
    base.__init_subclass__ = classmethod(later)
    recorder.hooked.append("paddle.optimizer.Optimizer")


def _hook_scaler(kind: Any, recorder: Recorder) -> None:
    for name in ("step", "minimize"):
        setattr(kind, name, _stepping(getattr(kind, name), recorder, owner=1))
    recorder.hooked.append("paddle.amp.GradScaler")


def _stepping(function: Any, recorder: Recorder, owner: int) -> Any:
    """A function that ends a step; ``owner`` is the place of the optimizer among its arguments."""

    def step(*arguments: Any, **keywords: Any) -> Any:
        optimizer = arguments[owner] if len(arguments) > owner else keywords.get("optimizer")
        return recorder.step(function, optimizer, arguments, keywords)

    return step


def _guard(copy: str, original: str) -> None:
    """Keep what Python opens for writing off the user's files.

    Large files are links in the copy: one that is written becomes a file of its own first.  What would still lead into
    the original, by its whole path or through a linked directory, is refused.
    """

    def inside(path: str, root: str) -> bool:
        return path == root or path.startswith(root + os.sep)

    def look(event: str, arguments: Any) -> None:
        if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        flags = arguments[2] if isinstance(arguments[2], int) else 0
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return
        path = os.fsdecode(arguments[0])
        real = os.path.realpath(path)
        if not inside(real, original) or inside(real, copy):
            return
        if Path(path).is_symlink() and inside(os.path.realpath(Path(path).parent), copy):
            Path(path).unlink()
            if not flags & os.O_TRUNC:
                shutil.copyfile(real, path)
            return
        raise PermissionError(f"perflint bench keeps {real} as it is: write to a path seen from the working directory")

    sys.addaudithook(look)


def main(plan_file: str) -> None:
    """Run the script of a plan."""
    plan = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    recorder = Recorder(plan)
    if plan["seed"] is not None:
        random.seed(plan["seed"])
    _guard(plan["copy"], plan["original"])

    def stopped(*_: Any) -> None:
        if os.getpid() == recorder.pid:
            recorder.write("stopped")
        os._exit(0)

    def imported(paddle: Any) -> None:
        hook(paddle, recorder)
        signal.signal(signal.SIGTERM, stopped)  # again: Paddle has taken the signal for itself

    signal.signal(signal.SIGTERM, stopped)
    sys.meta_path.insert(0, _AfterImport(imported))
    script = plan["script"]
    sys.argv = [script, *plan["arguments"]]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    if os.getpid() == recorder.pid:
        recorder.finish("ended")


if __name__ == "__main__":
    main(sys.argv[1])
