"""Runs a script once, through ``runner``, in a process group of its own that is ended with the run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from perflint.bench.plan import Outcome, Plan, RunFailed
from perflint.bench.results import Steps

_RUNNER = Path(__file__).with_name("runner")
_GRACE = 5.0
"""Seconds that a process has to write what it has seen before it is killed."""
_TAIL = 15
"""Lines of a failed script's errors that are shown."""


class OutOfTime(RunFailed):
    """The time limit came before the run was over."""


def run(plan: Plan, copy: Path, scratch: Path, seconds: float, lock: int | None = None) -> Outcome:
    """Run the script of a plan in a copy of the project.

    Args:
        plan: the script, and how to run it.
        copy: the directory of the copy.
        scratch: a directory outside of the copy for what the runner needs, and for the script's temporary files.
        seconds: how long it may take.
        lock: a handle that its processes keep open as long as they live.

    Raises:
        OutOfTime: it took longer.
        RunFailed: the script failed, or made too few steps.
    """
    result, log = scratch / "result.json", scratch / "log.txt"
    file, temporary = scratch / "plan.json", scratch / "tmp"
    temporary.mkdir()
    file.write_text(json.dumps(_data(plan, copy, result)), encoding="utf-8")
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [plan.python, str(_RUNNER), str(file)],
            cwd=copy / plan.directory,
            env=_environment(plan, copy, temporary),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=() if lock is None or os.name != "posix" else (lock,),
        )
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(seconds, 0.0))
            in_time = process.returncode is not None
        finally:
            _end(process)
    seen = json.loads(result.read_text(encoding="utf-8")) if result.exists() else None
    if not in_time:
        raise OutOfTime(_too_slow(plan, seen, log))
    if seen is None or process.returncode:
        raise RunFailed(_failure(plan, process.returncode, log))
    if not seen["steps"]["batch_s"]:
        raise RunFailed(_no_steps(plan, seen))
    steps = Steps.from_json(seen["steps"])
    return Outcome(steps, seen["versions"], seen["machine"], seen["files"], time.monotonic() - start)


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


def _environment(plan: Plan, copy: Path, temporary: Path) -> dict[str, str]:
    """The user's variables, the copy where the project is on the path, and temporary files that go with the run."""
    environment = {**os.environ, "TMPDIR": str(temporary), **plan.environment}
    if plan.seed is not None:
        environment["PYTHONHASHSEED"] = str(plan.seed)
    entries = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        environment["PYTHONPATH"] = os.pathsep.join(_moved(entry, plan.root, copy) for entry in entries)
    return environment


def _moved(entry: str, root: Path, copy: Path) -> str:
    real = Path(os.path.realpath(entry))
    return str(copy / real.relative_to(root)) if real.is_relative_to(root) else str(real)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, with its loaders (their batches in shared memory would stay), and kill what is left of it."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # on Windows, where there are no groups to kill
            process.kill()
    process.wait()


def _said(log: Path) -> str:
    """The last line of the output, which tells most, and those before it."""
    lines = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-_TAIL:]
    before = "".join(f"\n{line}" for line in lines[:-1])
    return (lines[-1] if lines else "nothing") + (f"\nbefore that:{before}" if before else "")


def _failure(plan: Plan, status: int, log: Path) -> str:
    said = _said(log)
    if "No module named 'paddle'" in said:
        return f"{plan.python} has no Paddle: name the interpreter that trains with --python"
    return f"{plan.script} failed (exit status {status}): {said}"


def _too_slow(plan: Plan, seen: dict[str, Any] | None, log: Path) -> str:
    more = "allow more with --time-limit, or measure fewer steps with --steps"
    if seen is None:
        return f"{plan.script} was still at work at the time limit; {more}. It said last: {_said(log)}"
    done, wanted = seen["seen"]["steps"], plan.warmup + plan.steps
    return f"{plan.script} had made {done} of {wanted} steps at the time limit; {more}"


def _no_steps(plan: Plan, seen: dict[str, Any]) -> str:
    if not seen["hooked"]:
        return f"{plan.script} never imported paddle, so there is nothing to measure: name the script that trains"
    count = seen["seen"]
    what = f"{count['steps']} optimizer steps, {count['batches']} batches, {count['backward']} calls of backward"
    return (
        f"{plan.script} made no step after the {plan.warmup} of the warm-up (--warmup) before it ended; "
        f"seen were {what}; watched were {', '.join(seen['hooked'])}"
    )
