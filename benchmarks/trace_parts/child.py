"""Runs a training script as ``__main__`` and traces it: ``python -m trace_parts.child PLAN.json``."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from perflint.bench.runner.running import run_as_main
from perflint.bench.runner.watched_calls import after_import, hook, watch, watch_curves
from perflint.paddle.tensor_methods import WATCHED_METHODS

from .tracer import Tracer


def run(plan_file: str) -> None:
    """Run the script of a plan, until its steps are over or it ends."""
    plan = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    tracer = Tracer(plan)

    def imported(paddle: object) -> None:
        watch(paddle, tracer, WATCHED_METHODS)
        hook(paddle, tracer)
        for line in plan["shims"]:
            exec(line, {"paddle": paddle})

    for line in plan["before"]:
        exec(line, {})
    after_import("paddle", imported)
    watch_curves(tracer)
    try:
        run_as_main(plan["script"], plan["arguments"])
    except Exception:
        traceback.print_exc()
        if tracer.is_here:
            tracer.finish("failed")
    if tracer.is_here:
        tracer.finish("ended")


if __name__ == "__main__":
    run(sys.argv[1])
