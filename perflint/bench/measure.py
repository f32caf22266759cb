"""The engine: runs all variants in turn, round after round, and says what each wins.

Each run is a process of its own in a fresh copy of the project.  A round runs every variant once; every other round
runs them the other way round, so that a machine that gets slower or faster favours none.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from perflint import __version__
from perflint.bench import workspace
from perflint.bench.child import Outcome, Plan, run
from perflint.bench.results import BEFORE, Comparison, Report, Variant
from perflint.bench.statistics import compare
from perflint.bench.variants import State

Tell = Callable[[int, int, str], None]
"""Called before each run with the runs that are done, all of them, and the name of the variant."""
_SHOWN = 5


def measure(plan: Plan, states: Sequence[State], rounds: int, tell: Tell | None = None) -> Report:
    """Run and compare.

    Args:
        plan: how the script is run.
        states: the variants; the first is what the others are compared with.
        rounds: how often each is run, 2 or more.
        tell: told about progress.

    Raises:
        RunFailed: a run has not measured anything.
        OSError: there is no room for the copy, or the interpreter cannot be started.
    """
    outcomes: list[list[Outcome]] = [[] for _ in states]
    linked: list[str] = []
    with tempfile.TemporaryDirectory(prefix="perflint-bench-", ignore_cleanup_errors=True) as name:
        for place in range(rounds):
            order = range(len(states)) if place % 2 == 0 else reversed(range(len(states)))
            for done, index in enumerate(order):
                if tell:
                    tell(place * len(states) + done, rounds * len(states), states[index].name)
                with tempfile.TemporaryDirectory(dir=name, ignore_cleanup_errors=True) as scratch:
                    copy = Path(scratch).resolve() / plan.root.name
                    linked = workspace.make(plan.root, copy, states[index].changed)
                    outcomes[index].append(run(plan, copy, Path(scratch)))
    return _report(plan, states, rounds, outcomes, linked)


def _report(
    plan: Plan, states: Sequence[State], rounds: int, outcomes: list[list[Outcome]], linked: list[str]
) -> Report:
    variants = [
        Variant(state.name, state.codes, state.places, [outcome.steps for outcome in found])
        for state, found in zip(states, outcomes, strict=True)
    ]
    before = variants[0]
    comparisons = [compare(before.runs, other.runs, variant=other.name) for other in variants[1:]]
    versions = {"perflint": __version__, "paddle": outcomes[0][0].paddle, "interpreter": plan.python}
    return Report(
        script=plan.script.as_posix(),
        arguments=plan.arguments,
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {before.runs[0].device}",
        versions=versions,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        warmup=plan.warmup,
        steps=plan.steps,
        rounds=rounds,
        variants=variants,
        comparisons=comparisons,
        notes=[*_notes(plan, variants, comparisons), *_linked(linked)],
    )


def _notes(plan: Plan, variants: Sequence[Variant], comparisons: Sequence[Comparison]) -> list[str]:
    notes = []
    shortest = min(len(run.batch_s) for variant in variants for run in variant.runs)
    if shortest < plan.steps:
        notes.append(f"The script made {shortest} of the {plan.steps} steps to be measured: those are compared.")
    for item in comparisons:
        if item.same_losses is False:
            by = "" if item.differ_by is None else f", by up to {item.differ_by:.2g} of the loss"
            notes.append(
                f"{item.variant}: the losses differ from {BEFORE} from measured step {item.differ_from} on{by}."
            )
    if all(loss is None for run in variants[0].runs for loss in run.losses):
        notes.append("No loss was seen, so whether the losses stay the same is not known.")
    elif any(item.same_losses is None for item in comparisons):
        notes.append("The script gives other losses each time it runs, so a fix cannot be told to change them.")
    return notes


def _linked(linked: Sequence[str]) -> list[str]:
    if not linked:
        return []
    more = f" and {len(linked) - _SHOWN} more" if len(linked) > _SHOWN else ""
    return [f"Linked into the copies rather than copied: {', '.join(linked[:_SHOWN])}{more}."]
