"""One run of a script: a process group of its own, with ``runner`` at its head, which is gone when the run is over."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflint.bench.results import Steps

_RUNNER = Path(__file__).with_name("runner.py")
_GRACE = 5.0
"""Seconds that a process has to write what it has seen before it is killed."""
_TAIL = 15
"""Lines of a failed script's errors that are shown."""
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class RunFailed(Exception):
    """A run has not measured anything; ``str(error)`` tells a person why, and what to do."""


@dataclass(frozen=True)
class Plan:
    """How a script is run.

    ``script`` and ``directory`` (where it starts) are seen from the project, ``seed`` None leaves the seeds alone, and
    ``time_limit`` is in seconds.
    """

    root: Path
    script: Path
    directory: Path
    arguments: list[str]
    python: str
    warmup: int = 10
    steps: int = 50
    time_limit: float = 300.0
    seed: int | None = 0
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The steps of one run, and the version of Paddle that made them."""

    steps: Steps
    paddle: str


def run(plan: Plan, copy: Path, scratch: Path) -> Outcome:
    """Run the script of a plan in a copy of the project.

    Args:
        plan: how.
        copy: the copy.
        scratch: a directory for what the runner needs, outside of the copy.

    Raises:
        RunFailed: the script failed, or made too few steps in the time limit.
    """
    result, log = scratch / "result.json", scratch / "log.txt"
    result.unlink(missing_ok=True)
    file = scratch / "plan.json"
    file.write_text(json.dumps(_data(plan, copy, result)), encoding="utf-8")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [plan.python, str(_RUNNER), str(file)],
            cwd=copy / plan.directory,
            env=_environment(plan, copy),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            in_time = _wait(process, plan.time_limit)
        finally:
            _end(process)
    seen = json.loads(result.read_text(encoding="utf-8")) if result.exists() else None
    if seen is None or (process.returncode and seen["status"] != "stopped"):
        raise RunFailed(_failure(plan, process.returncode, log, in_time))
    if not seen["steps"]["batch_s"]:
        raise RunFailed(_no_steps(plan, seen))
    return Outcome(Steps.from_json(seen["steps"]), seen["paddle"])


def _data(plan: Plan, copy: Path, result: Path) -> dict[str, Any]:
    return {
        "script": str(copy / plan.script),
        "arguments": plan.arguments,
        "warmup": plan.warmup,
        "steps": plan.steps,
        "seed": plan.seed,
        "result": str(result),
        "copy": os.path.realpath(copy),
        "original": os.path.realpath(plan.root),
    }


def _environment(plan: Plan, copy: Path) -> dict[str, str]:
    """The user's variables, with as many threads for each run, and the copy where the project is on the path."""
    environment = {**dict.fromkeys(_THREADS, str(os.cpu_count() or 1)), **os.environ, **plan.environment}
    if plan.seed is not None:
        environment["PYTHONHASHSEED"] = str(plan.seed)
    entries = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        environment["PYTHONPATH"] = os.pathsep.join(_moved(entry, plan.root, copy) for entry in entries)
    return environment


def _moved(entry: str, root: Path, copy: Path) -> str:
    real = Path(os.path.realpath(entry))
    return str(copy / real.relative_to(root)) if real.is_relative_to(root) else str(real)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the group: the process, and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _failure(plan: Plan, status: int, log: Path, in_time: bool) -> str:
    tail = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-_TAIL:]
    said = "".join(f"\n    {line}" for line in tail)
    if not in_time:
        return f"{plan.script} did not end in {plan.time_limit:g} s, nor when it was told to; it said last:{said}"
    if any("No module named 'paddle'" in line for line in tail):
        return f"{plan.python} has no Paddle: name the interpreter that trains with --python"
    return f"{plan.script} failed (exit status {status}); run it by itself first. It said last:{said}"


def _no_steps(plan: Plan, seen: dict[str, Any]) -> str:
    count = seen["seen"]
    if not seen["hooked"]:
        return f"{plan.script} never imported paddle, so there is nothing to measure: name the script that trains"
    what = f"{count['steps']} optimizer steps, {count['batches']} batches, {count['backward']} calls of backward"
    when = f"in {plan.time_limit:g} s (--time-limit)" if seen["status"] == "stopped" else "before the script ended"
    return (
        f"{plan.script} made no step after the {plan.warmup} of the warm-up (--warmup) {when}; seen were {what}; "
        f"watched were {', '.join(seen['hooked'])}"
    )
