"""Runs a script once, through ``runner``, and stops it with all its processes."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perflint.bench import failures
from perflint.bench.interrupts import held
from perflint.bench.plan import Outcome, Plan, RunFailed
from perflint.bench.rank_sums import together
from perflint.bench.results import Steps
from perflint.bench.runner import heartbeat
from perflint.bench.stalls import Call, StallWatch, stack
from perflint.bench.supervised import Supervised

Waiting = Callable[[str], None]
"""A function that is called with messages for the waiting user."""
_RUNNER = Path(__file__).with_name("runner") / "__main__.py"
_LOOK = 0.1
"""Seconds between two checks of the script."""
_BEAT, _RESULT, _ERROR = "beat-0.bin", "result-0.json", "error-0.txt"
"""What a rank writes, with its number in place of 0."""
_LOGS = "ranks"


class OutOfTime(RunFailed):
    """The time limit was reached before the run was finished."""


class Stalled(RunFailed):
    """The script no longer makes progress."""


def run(
    plan: Plan, copy: Path, scratch: Path, seconds: float, lock: int | None = None, waiting: Waiting | None = None
) -> Outcome:
    """Run the script of a plan in a copy of the project.

    Args:
        plan: the script, and how to run it.
        copy: the directory of the copy.
        scratch: a directory outside of the copy for what the runner needs, and for the script's temporary files.
        seconds: how long it may take.
        lock: a file handle that its processes keep open as long as they live.
        waiting: called when nothing happens for a while.

    Raises:
        OutOfTime: it took longer.
        Stalled: nothing happened any more.
        RunFailed: the script failed, or made too few steps.
        OSError: the interpreter cannot be started.
    """
    file, temporary = scratch / "plan.json", scratch / "tmp"
    temporary.mkdir()
    file.write_text(json.dumps(_data(plan, copy, scratch)), encoding="utf-8")
    start = time.monotonic()
    script: Supervised | None = None
    try:
        script = Supervised(
            [plan.python, *_launcher(plan, scratch), str(_RUNNER), str(file)],
            scratch,
            copy / plan.directory,
            _environment(plan, copy, temporary),
            lock,
        )
        problem = _watched(plan, script, copy, scratch, start + seconds, waiting)
    finally:
        if script is not None:
            with held():
                script.end()
    if problem is not None:
        raise problem
    results = _results(scratch)
    status = script.status()
    if status or not results:
        raise RunFailed(failures.of_exit(plan, status, _said(scratch)))
    if not all(result["steps"]["batch_s"] for result in results):
        raise RunFailed(failures.of_no_steps(plan, results))
    steps = together([Steps.from_json(result["steps"]) for result in results])
    first, took = results[0], time.monotonic() - start
    return Outcome(steps, first["versions"], first["machine"], first["files"], took, first.get("profile"))


def _watched(
    plan: Plan, script: Supervised, copy: Path, scratch: Path, end: float, waiting: Waiting | None
) -> RunFailed | None:
    """Wait until a script ends; if it has to be stopped, return why."""
    watch = StallWatch(plan.stall_limit, time.monotonic())
    while not script.has_ended:
        now = time.monotonic()
        watch.look([heartbeat.read(file) for file in _files(scratch, _BEAT)], now)
        if now >= end:
            return OutOfTime(failures.of_time(plan, watch, _calls(scratch, copy), _said(scratch)))
        if watch.hangs(now):
            calls = _calls(scratch, copy)
            return Stalled(failures.of_stall(plan, watch, now, calls, script.started(), _said(scratch)))
        news = watch.news(now)
        if news and waiting:
            waiting(news)
        time.sleep(_LOOK)
    return None


def _data(plan: Plan, copy: Path, scratch: Path) -> dict[str, Any]:
    return {
        "script": str(copy / plan.script),
        "arguments": plan.arguments,
        "warmup": plan.warmup,
        "steps": plan.steps,
        "seed": plan.seed,
        "result": str(scratch / _RESULT),
        "beat": str(scratch / _BEAT),
        "error": str(scratch / _ERROR),
        "is_launched": bool(plan.launch),
        "copy": os.path.realpath(copy),
        "original": os.path.realpath(plan.root),
        "profile": plan.profile,
    }


def _launcher(plan: Plan, scratch: Path) -> list[str]:
    """The arguments between the interpreter and the script if several processes are started."""
    if not plan.launch:
        return []
    module, *arguments = plan.launch
    has_logs = any(argument.startswith("--log_dir") for argument in arguments)
    logs = ["--log_dir", str(scratch / _LOGS)] if module == "paddle.distributed.launch" and not has_logs else []
    return ["-m", module, *logs, *arguments]


def _files(scratch: Path, name: str) -> list[Path]:
    """The files of all ranks, by rank."""
    return sorted(scratch.glob(name.replace("0", "*")), key=lambda path: int(path.stem.rpartition("-")[2]))


def _results(scratch: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in _files(scratch, _RESULT)]


def _calls(scratch: Path, copy: Path) -> list[list[Call]]:
    """What each rank is doing."""
    found: list[list[Call]] = []
    for file in _files(scratch, _BEAT):
        found.append([])
        with contextlib.suppress(OSError):
            found[-1] = stack(file, copy)
    return found


def _said(scratch: Path) -> list[str]:
    """The last output of the script; with several ranks, the error of the one that failed first."""
    errors = sorted(_files(scratch, _ERROR), key=lambda path: path.stat().st_mtime_ns)
    return failures.last_lines(errors[0] if errors else scratch / "log.txt")


def _environment(plan: Plan, copy: Path, temporary: Path) -> dict[str, str]:
    """The user's environment, with the copy in place of the project on the path, and a temporary directory."""
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
