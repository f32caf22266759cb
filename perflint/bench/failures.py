"""Error messages for a run that has measured nothing: why, and what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perflint.bench.plan import Plan
from perflint.bench.runner.recorder import SPAWNED
from perflint.bench.runner.supervisor import Process
from perflint.bench.stalls import Call, StallWatch, ended, where, where_all
from perflint.text.visible import counted

_TAIL = 15
"""How many lines of a script's output are shown."""
_STACK = 12
"""How many calls of a stack are shown."""


def of_exit(plan: Plan, status: int, said: Sequence[str]) -> str:
    """The message for a script that has ended with an error."""
    last, before = _last(said)
    if any("No module named 'paddle'" in line for line in said[-_TAIL:]) or _lacks_paddle(plan, said):
        return f"{plan.python} has no Paddle: name the interpreter that trains with --python"
    return f"{plan.script} failed (exit status {status}): {last}{before}"


def _lacks_paddle(plan: Plan, said: Sequence[str]) -> bool:
    """Whether the script lacks a module because its interpreter is not the one that trains: it has no Paddle either."""
    if not any("ModuleNotFoundError: No module named" in line for line in said[-_TAIL:]):
        return False
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('paddle') is None)"
    return subprocess.run([plan.python, "-I", "-c", look], check=False).returncode == 1


def of_time(plan: Plan, watch: StallWatch, ranks: Sequence[Sequence[Call]], said: Sequence[str]) -> str:
    """The message for a run that reached the time limit; ``ranks`` are the calls that each rank was in."""
    more = "allow more with --time-limit, or measure fewer steps with --steps"
    if not watch.steps:
        at = f" at {where_all(ranks)}" if any(ranks) else ""
        last, before = _last(said)
        return f"{plan.script} was still running{at} at the time limit; {more}. Its last output: {last}{before}"
    return f"{plan.script} had made {watch.steps} of {plan.warmup + plan.steps} steps at the time limit; {more}"


def of_stall(
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


def of_no_steps(plan: Plan, results: Sequence[dict[str, Any]]) -> str:
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
    if result["status"] == SPAWNED:
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


def last_lines(log: Path) -> list[str]:
    """The last lines of a script's output."""
    return log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()[-_TAIL:]


def _last(said: Sequence[str]) -> tuple[str, str]:
    """The last line of an output, which usually says most, and those before it."""
    before = "".join(f"\n{line}" for line in said[:-1])
    return said[-1] if said else "nothing", f"\nbefore that:{before}" if before else ""
