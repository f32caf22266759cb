"""Runs the script of a plan as ``__main__``, with the hooks and the write guard installed."""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from .hooks import after_import, hook
from .profiled_calls import watch_pauses, watch_steps
from .profiler import Profiler
from .recorder import Recorder
from .several import hook_spawn, note_scripts, noting_errors, of_this_rank, wait_for_others
from .write_guard import guard


def run(plan_file: str) -> None:
    """Run the script of a plan, until its measured steps are over or it ends.

    Args:
        plan_file: the JSON file that ``perflint.bench.child`` has written.
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
            watch_steps(paddle, profiler)
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
