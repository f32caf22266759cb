"""Runs the script of a plan as ``__main__``, with hooks, and without writing to the original files.

Several processes may train together; each notes which rank it is.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from .profiler import Profiler
from .recorder import SPAWNED, Recorder
from .watched_calls import after_import, hook, watch_pauses, watch_steps

_PATIENCE = 20.0
"""Seconds that a rank waits for the others to finish measuring."""


def of_this_rank(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with the file names of this rank, if a launcher has started several ranks.

    They are numbered by ``PADDLE_TRAINER_ID``, which ``paddle.distributed.launch`` sets.
    """
    if not plan.get("is_launched"):
        return plan
    rank = os.environ.get("PADDLE_TRAINER_ID", "0")
    return {**plan, **{key: str(_numbered(plan[key], rank)) for key in ("result", "beat", "error")}}


def _numbered(file: str, rank: str) -> Path:
    path = Path(file)
    return path.with_name(f"{path.stem.rpartition('-')[0]}-{rank}{path.suffix}")


@contextmanager
def noting_errors(plan: dict[str, Any]) -> Iterator[None]:
    """Write down the error of this rank: the other ranks then fail too, with less useful errors."""
    try:
        yield
    except Exception:
        if plan.get("is_launched"):
            Path(plan["error"]).write_text(traceback.format_exc(), encoding="utf-8")
        raise


def wait_for_others(plan: dict[str, Any]) -> None:
    """Wait until all ranks have written what they have measured: if one is gone, the others fail."""
    if not plan.get("is_launched"):
        return
    others = [_numbered(plan["result"], str(rank)) for rank in range(int(os.environ.get("PADDLE_TRAINERS_NUM", "1")))]
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and not all(path.exists() for path in others):
        time.sleep(0.02)


def hook_spawn(paddle: Any, recorder: Recorder, root: str) -> None:
    """End the run if the script starts processes with ``paddle.distributed.spawn``, whose steps cannot be seen.

    Args:
        paddle: Paddle; a version without that function is left unchanged.
        recorder: where to note it.
        root: the directory of the project's copy.
    """
    distributed: Any = getattr(paddle, "distributed", None)
    if not hasattr(distributed, "spawn"):
        return

    def spawn(*arguments: Any, **keywords: Any) -> None:
        recorder.where = _caller(root)
        recorder.finish(SPAWNED)

    distributed.spawn = spawn


def _caller(root: str) -> str:
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = os.path.realpath(frame.f_code.co_filename)
        if name.startswith(root + os.sep):
            return f"{os.path.relpath(name, root)}:{frame.f_lineno}"
        frame = frame.f_back
    return "a place that is not known"


def note_scripts(recorder: Recorder, root: str) -> None:
    """Note the first other script, or launcher, that this one starts with ``subprocess``: perhaps that one trains.

    Args:
        recorder: where to note it.
        root: the directory of the project's copy.
    """
    begin = subprocess.Popen.__init__

    def note(self: Any, args: Any, *arguments: Any, **keywords: Any) -> None:
        words = [args] if isinstance(args, (str, bytes, os.PathLike)) else [*args]
        command = " ".join(os.fsdecode(word) for word in words)
        if not recorder.started and (".py" in command or "paddle.distributed" in command):
            recorder.started = f"{command} (at {_caller(root)})"
        begin(self, args, *arguments, **keywords)

    subprocess.Popen.__init__ = note  # type: ignore[method-assign]


def guard(copy: str, original: str) -> None:
    """From now on refuse to open a file of the original for writing, in this process and those it forks.

    A file that is a link in the copy is replaced by a real file before it is written. Other writes into the original,
    by its absolute path or through a linked directory, are refused. Libraries that open files without Python are not
    covered; ``perflint.bench.run_directory`` checks the linked files afterwards.

    Args:
        copy: the real path of the copy.
        original: the real path of the project.
    """

    def look(event: str, arguments: Any) -> None:
        if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        flags = arguments[2] if isinstance(arguments[2], int) else 0
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return
        path = os.fsdecode(arguments[0])
        real = os.path.realpath(path)
        if not _inside(real, original) or _inside(real, copy):
            return
        if Path(path).is_symlink() and _inside(os.path.realpath(Path(path).parent), copy):
            Path(path).unlink()
            if not flags & os.O_TRUNC:
                shutil.copyfile(real, path)
            return
        raise PermissionError(
            f"perflint does not let the script change {real}: write to a path relative to the working directory"
        )

    sys.addaudithook(look)


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root + os.sep)


def run(plan_file: str) -> None:
    """Run the script of a plan, until its measured steps are over or it ends.

    Args:
        plan_file: the JSON file that ``perflint.bench.script_run`` has written.
    """
    plan = of_this_rank(json.loads(Path(plan_file).read_text(encoding="utf-8")))
    profiler = Profiler(plan) if plan.get("profile") else None
    recorder = profiler or Recorder(plan)
    recorder.before_end = partial(wait_for_others, plan)
    guard(plan["copy"], plan["original"])

    def stopped(*_: Any) -> None:
        if recorder.is_here:
            recorder.finish("stopped")
        os._exit(0)

    def imported(paddle: Any) -> None:
        if plan["seed"] is not None:
            _seed(paddle, plan["seed"])
        hook(paddle, recorder)
        hook_spawn(paddle, recorder, plan["copy"])
        if profiler:
            watch_steps(paddle, profiler, plan["reads"])
        signal.signal(signal.SIGTERM, stopped)  # again, because Paddle has taken the signal for itself

    signal.signal(signal.SIGTERM, stopped)
    after_import("paddle", imported)
    note_scripts(recorder, plan["copy"])
    if profiler:
        watch_pauses(profiler)
    with noting_errors(plan):
        run_as_main(plan["script"], plan["arguments"])
    if recorder.is_here:
        recorder.finish("ended")


def run_as_main(script: str, arguments: list[str]) -> None:
    """Run a script in this process as ``python SCRIPT ARGUMENTS`` would; return if it exits without an error."""
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise


def _seed(paddle: Any, seed: int) -> None:
    """Set the random seeds, so that two runs can be compared; a script that sets its own does so later."""
    random.seed(seed)
    paddle.seed(seed)
    if "numpy" in sys.modules:  # Paddle's samplers shuffle with it
        sys.modules["numpy"].random.seed(seed)
