"""The runs of several processes that train together: which rank this is, and processes started by the script."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .recorder import SPAWNED, Recorder

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
