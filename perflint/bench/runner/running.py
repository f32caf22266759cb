"""Runs the script of a plan as ``__main__``, with hooks and guard in place."""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

from .hooks import after_import, hook
from .recorder import Recorder
from .write_guard import guard


def run(plan_file: str) -> None:
    """Run the script of a plan, until its measured steps are over or it ends.

    Args:
        plan_file: the JSON file that ``perflint.bench.child`` has written.
    """
    plan = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    recorder = Recorder(plan)
    guard(plan["copy"], plan["original"])

    def stopped(*_: Any) -> None:
        if recorder.is_here:
            recorder.finish("stopped")
        os._exit(0)

    def imported(paddle: Any) -> None:
        if plan["seed"] is not None:
            _seed(paddle, plan["seed"])
        hook(paddle, recorder)
        signal.signal(signal.SIGTERM, stopped)  # again: Paddle has taken the signal for itself

    signal.signal(signal.SIGTERM, stopped)
    after_import(imported)
    run_as_main(plan["script"], plan["arguments"])
    if recorder.is_here:
        recorder.finish("ended")


def run_as_main(script: str, arguments: list[str]) -> None:
    """Run a script in this process as ``python SCRIPT ARGUMENTS`` would; return where it exits without an error."""
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise


def _seed(paddle: Any, seed: int) -> None:
    """Seed what scripts draw from, so that two runs can be compared; a script that seeds itself does so later."""
    random.seed(seed)
    paddle.seed(seed)
    if "numpy" in sys.modules:  # which Paddle's samplers shuffle with
        sys.modules["numpy"].random.seed(seed)
