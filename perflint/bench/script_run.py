"""Runs a script once, through ``runner``, stops it with all its processes, and says why if it has measured nothing."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perflint.bench.results import Steps
from perflint.bench.run_directory import held
from perflint.bench.runner import recorder
from perflint.bench.runner.supervisor import Process
from perflint.bench.supervised import Call, StallWatch, Supervised, ended, stack, where, where_all
from perflint.paddle.tensor_methods import WATCHED_METHODS
from perflint.text.visible import counted

Waiting = Callable[[str], None]
"""A function that is called with messages for the waiting user."""
_RUNNER = Path(__file__).with_name("runner") / "__main__.py"
_LOOK = 0.1
"""Seconds between two checks of the script."""
_BEAT, _RESULT, _ERROR = "beat-0.bin", "result-0.json", "error-0.txt"
"""What a rank writes, with its number in place of 0."""
_LOGS = "ranks"
_TAIL = 15
"""How many lines of a script's output are shown."""
_STACK = 12
"""How many calls of a stack are shown."""


class RunFailed(Exception):
    """A run has not measured anything; ``str(error)`` says why, and what to do."""


class OutOfTime(RunFailed):
    """The time limit was reached before the run was finished."""


@dataclass(frozen=True)
class Plan:
    """How a script is run.

    ``script`` and ``directory`` (where it starts) are relative to ``root``, the project. ``warmup`` and ``steps`` are
    optimizer steps: those that are not counted, and those that are. ``seed`` None leaves the seeds unchanged.
    ``environment`` has variables in addition to those of this process. ``stall_limit`` is in seconds (None: the default
    of `StallWatch`). ``launch`` is the module that starts several processes, such as ``paddle.distributed.launch``, and
    its arguments; if it is empty, there is one process. ``profile``: also record what the time of the steps
    is spent on.
    """

    root: Path
    script: Path
    directory: Path
    arguments: list[str]
    python: str
    warmup: int = 10
    steps: int = 50
    seed: int | None = 0
    environment: dict[str, str] = field(default_factory=dict)
    stall_limit: float | None = None
    launch: list[str] = field(default_factory=list)
    profile: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run.

    ``files`` are the Python files of the project that it has loaded, relative to the project; ``seconds`` is the time
    of the whole run, including its start. ``profile`` is the record of ``runner.profiler``, if the plan asked for it.
    """

    steps: Steps
    versions: dict[str, str]
    machine: str
    files: list[str]
    seconds: float
    profile: dict[str, Any] | None = None


def together(ranks: Sequence[Steps]) -> Steps:
    """Combine the steps of all ranks into those of one training.

    A step lasts as long as on the slowest rank, and has the samples of all ranks: two ranks with batches of 8 that take
    0.1 s and 0.2 s make 16 samples in 0.2 s, 80 per second. The waiting time is that of the rank that waits longest,
    the loss is the mean, and the memory is that of the rank that needs most.

    Args:
        ranks: what each rank has measured, one or more; if one has fewer steps than the others, only that many count.
    """
    first = ranks[0]
    if len(ranks) == 1:
        return first
    steps = range(min(len(rank.batch_s) for rank in ranks))
    return replace(
        first,
        batch_s=[max(rank.batch_s[step] for rank in ranks) for step in steps],
        reader_s=[max(rank.reader_s[step] for rank in ranks) for step in steps],
        samples=[sum(rank.samples[step] for rank in ranks) for step in steps],
        losses=[_mean([rank.losses[step] for rank in ranks]) for step in steps],
        peak_memory_mib=max(rank.peak_memory_mib for rank in ranks),
        device=f"{len(ranks)} x {first.device.partition(':')[0]}",
    )


def _mean(losses: Sequence[float | None]) -> float | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) / len(known) if known and len(known) == len(losses) else None


def exit_message(plan: Plan, status: int, said: Sequence[str]) -> str:
    """The message for a script that has ended with an error."""
    if any("No module named 'paddle'" in line for line in said[-_TAIL:]) or _lacks_paddle(plan, said):
        return f"{plan.python} has no Paddle: name the interpreter that trains with --python"
    return f"{plan.script} failed (exit status {status}): {_last(said)}"


def _lacks_paddle(plan: Plan, said: Sequence[str]) -> bool:
    """Whether the script lacks a module because its interpreter is not the one that trains: it has no Paddle either."""
    if not any("ModuleNotFoundError: No module named" in line for line in said[-_TAIL:]):
        return False
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('paddle') is None)"
    return subprocess.run([plan.python, "-I", "-c", look], check=False).returncode == 1


def time_message(plan: Plan, watch: StallWatch, ranks: Sequence[Sequence[Call]], said: Sequence[str]) -> str:
    """The message for a run that reached the time limit; ``ranks`` are the calls that each rank was in."""
    more = "allow more with --time-limit, or measure fewer steps with --steps"
    if not watch.steps:
        at = f" at {where_all(ranks)}" if any(ranks) else ""
        return f"{plan.script} was still running{at} at the time limit; {more}. Its last output: {_last(said)}"
    return f"{plan.script} had made {watch.steps} of {plan.warmup + plan.steps} steps at the time limit; {more}"


def stall_message(
    plan: Plan,
    watch: StallWatch,
    now: float,
    ranks: Sequence[Sequence[Call]],
    started: Sequence[Process],
    said: Sequence[str],
) -> str:
    """The message for a run in which nothing has happened for too long.

    Args:
        plan: the script, and how it was run.
        watch: what was seen of it.
        now: the current time on the clock of ``watch``.
        ranks: the calls that the main thread of each rank is in; there is one rank unless a launcher has started more.
        started: all processes of the script.
        said: its last output.
    """
    at = f"it hangs at {where_all(ranks)}" if any(ranks) else "perflint could not find out where it hangs"
    longest = f" (a step took up to {watch.longest:.2g} s)" if watch.longest else ""
    first = (
        f"{plan.script} was stopped, because nothing happened for {watch.quiet(now):.0f} s after "
        f"{watch.seen()}{longest}: {at}; if it only needs more time, raise --stall-limit"
    )
    lines = [first, *ended(started)]
    shown: set[str] = set()
    for rank, calls in enumerate(ranks):
        if calls and where(calls) not in shown:
            shown.add(where(calls))
            of_rank = f" of rank {rank}" if len(ranks) > 1 else ""
            lines.append(f"what the main thread{of_rank} was doing, the innermost call first:")
            lines += [f"  {call}" for call in calls[:_STACK]]
    if said:
        lines += ["its last output:", *(f"  {line}" for line in said[-_TAIL:])]
    return "\n".join(lines)


def no_steps_message(plan: Plan, results: Sequence[dict[str, Any]]) -> str:
    """The message for a script that ended normally, but without a measured step."""
    result = min(results, key=lambda each: int(each["seen"]["steps"]))
    count = result["seen"]
    steps, batches, backward = int(count["steps"]), int(count["batches"]), int(count["backward"])
    if not steps and result["started"]:
        return (
            f"{plan.script} made no step itself, but started another process, which perflint does not watch: "
            f"{result['started']}; name the script that trains there, and measure it with the same arguments"
        )
    if not result["hooked"]:
        return f"{plan.script} never imported paddle, so there is nothing to measure: name the script that trains"
    if result["status"] == recorder.SPAWNED:
        return (
            f"{plan.script} starts its processes itself with paddle.distributed.spawn, at {result['where']}, so "
            "perflint cannot see what they do: make the script call the function that trains, and measure one process, "
            'or start as many as you want with --launch "paddle.distributed.launch --nproc_per_node 2"'
        )
    if steps:
        can = f", or lower --warmup (with {steps - 1} one step is measured)" if steps > 1 else ""
        return (
            f"{plan.script} made {counted(steps, 'step')} and ended, but the first {plan.warmup} are warm-up and are "
            f"not measured: give it more data or epochs{can}"
        )
    return (
        f"{plan.script} ended without an optimizer step; perflint saw {batches} batches and {backward} calls of "
        f"backward, and watched {', '.join(result['hooked'])}: name the script that trains, with the arguments that "
        "make it train after --"
    )


def _last(said: Sequence[str]) -> str:
    """The last line of an output, which usually says most, and those before it."""
    return "\n".join([*said[-1:], *(["before that:"] if said[1:] else []), *said[:-1]]) or "nothing"


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
        RunFailed: the script failed, made too few steps, or nothing happened any more.
        OSError: the interpreter cannot be started.
    """
    file, temporary = scratch / "plan.json", scratch / "tmp"
    temporary.mkdir()
    file.write_text(json.dumps(_data(plan, copy, scratch)), encoding="utf-8")
    start = time.monotonic()
    script = Supervised(
        [plan.python, *_launcher(plan, scratch), str(_RUNNER), str(file)],
        scratch,
        copy / plan.directory,
        _environment(plan, copy, temporary),
        lock,
    )
    try:
        _watch(plan, script, copy, scratch, start + seconds, waiting)
    finally:
        with held():
            script.end()
    results = [json.loads(file.read_text(encoding="utf-8")) for file in _files(scratch, _RESULT)]
    status = script.status()
    if status or not results:
        raise RunFailed(exit_message(plan, status, _said(scratch)))
    if not all(result["steps"]["batch_s"] for result in results):
        raise RunFailed(no_steps_message(plan, results))
    steps = together([Steps.from_json(result["steps"]) for result in results])
    first, took = results[0], time.monotonic() - start
    return Outcome(steps, first["versions"], first["machine"], first["files"], took, first.get("profile"))


def _watch(plan: Plan, script: Supervised, copy: Path, scratch: Path, end: float, waiting: Waiting | None) -> None:
    """Wait until a script ends; raise why it has to be stopped."""
    watch = StallWatch(plan.stall_limit, time.monotonic())
    while not script.has_ended:
        now = time.monotonic()
        watch.look([recorder.read_beat(file) for file in _files(scratch, _BEAT)], now)
        if now >= end:
            raise OutOfTime(time_message(plan, watch, _calls(scratch, copy), _said(scratch)))
        if watch.hangs(now):
            calls = _calls(scratch, copy)
            raise RunFailed(stall_message(plan, watch, now, calls, script.started(), _said(scratch)))
        news = watch.news(now)
        if news and waiting:
            waiting(news)
        time.sleep(_LOOK)


def _data(plan: Plan, copy: Path, scratch: Path) -> dict[str, Any]:
    return {
        **{key: getattr(plan, key) for key in ("arguments", "warmup", "steps", "seed", "profile")},
        "script": str(copy / plan.script),
        "result": str(scratch / _RESULT),
        "beat": str(scratch / _BEAT),
        "error": str(scratch / _ERROR),
        "is_launched": bool(plan.launch),
        "copy": os.path.realpath(copy),
        "original": os.path.realpath(plan.root),
        "reads": sorted(WATCHED_METHODS),
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


def _calls(scratch: Path, copy: Path) -> list[list[Call]]:
    """What each rank is doing."""
    return [stack(file, copy) for file in _files(scratch, _BEAT)]


def _said(scratch: Path) -> list[str]:
    """The last lines of the script's output; with several ranks, the error of the one that failed first."""
    errors = sorted(_files(scratch, _ERROR), key=lambda path: path.stat().st_mtime_ns)
    log = errors[0] if errors else scratch / "log.txt"
    return log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-_TAIL:]


def _environment(plan: Plan, copy: Path, temporary: Path) -> dict[str, str]:
    """The user's environment, with the copy in place of the project on the path, and a temporary directory."""
    environment = {**os.environ, "TMPDIR": str(temporary), **plan.environment}
    if plan.seed is not None:
        environment["PYTHONHASHSEED"] = str(plan.seed)
    entries = [Path(os.path.realpath(entry)) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        moved = (copy / each.relative_to(plan.root) if each.is_relative_to(plan.root) else each for each in entries)
        environment["PYTHONPATH"] = os.pathsep.join(map(str, moved))
    return environment
