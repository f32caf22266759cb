"""The engine: runs all variants in turn, round after round, and says what each wins.

Each run is a process of its own in a fresh copy of the project.  A round runs every variant once; every other round
runs them the other way round, so that a machine that gets slower or faster favours none.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from perflint import __version__
from perflint.bench import child, notes
from perflint.bench.plan import Outcome, Plan, RunFailed
from perflint.bench.results import Report, Variant
from perflint.bench.statistics import LEAST_ROUNDS, compare
from perflint.bench.variants import State
from perflint.bench.workspace import Workspace

Tell = Callable[[int, int, str], None]
"""Called before each run with the runs that are done, all of them, and the name of the variant."""
_Round = list[Outcome]


class Bench:
    """The runs of one script, in copies of its project that are gone after each."""

    def __init__(self, plan: Plan, time_limit: float = math.inf) -> None:
        """For a plan; ``time_limit`` is in seconds from now, for all runs together."""
        self.plan = plan
        self._workspace = Workspace(plan.root)
        self._end = time.monotonic() + time_limit
        self._written: set[str] = set()

    def run(self, state: State) -> Outcome:
        """Run the script once in one state.

        Raises:
            OutOfTime: the time limit came.
            RunFailed: the run has not measured anything.
            OSError: there is no room for the copy, or the interpreter cannot be started.
        """
        with tempfile.TemporaryDirectory(prefix="perflint-bench-", ignore_cleanup_errors=True) as name:
            scratch = Path(name).resolve()
            copy = scratch / "copy" / self.plan.root.name
            copy.parent.mkdir()
            self._workspace.make(copy, state.changed)
            try:
                return child.run(self.plan, copy, scratch, self._end - time.monotonic())
            except RunFailed as error:
                if state.changed:  # the fix may be why: a person should know
                    error.args = (f"with {state.name}: {error}",)
                raise
            finally:
                self._written.update(self._workspace.written())

    def measure(self, states: Sequence[State], rounds: int, tell: Tell | None = None) -> Report:
        """Run and compare.  At the time limit the rounds that are complete count, if they are enough.

        Args:
            states: the variants; the first is what the others are compared with.
            rounds: how often each is run, ``LEAST_ROUNDS`` or more.
            tell: told about progress.

        Raises:
            RunFailed: a run has not measured anything, or too few rounds fitted into the time limit.
            OSError: there is no room for the copy, or the interpreter cannot be started.
        """
        done: list[_Round] = []
        while len(done) < rounds:
            try:
                done.append(self._round(states, rounds, len(done), tell))
            except child.OutOfTime as error:
                if len(done) < LEAST_ROUNDS:
                    raise RunFailed(f"{len(done)} of {LEAST_ROUNDS} rounds were over: {error}") from error
                break
        return self._report(states, rounds, done)

    def _round(self, states: Sequence[State], rounds: int, place: int, tell: Tell | None) -> _Round:
        order = list(range(len(states)))
        found: dict[int, Outcome] = {}
        for index in order if place % 2 == 0 else order[::-1]:
            if tell:
                tell(place * len(states) + len(found), rounds * len(states), states[index].name)
            found[index] = self.run(states[index])
        return [found[index] for index in order]

    def _report(self, states: Sequence[State], wanted: int, rounds: Sequence[_Round]) -> Report:
        plan = self.plan
        variants = [
            Variant(state.name, state.codes, state.places, [outcome.steps for outcome in runs])
            for state, runs in zip(states, zip(*rounds, strict=True), strict=True)
        ]
        before = variants[0]
        comparisons = [compare(before.runs, other.runs, other.name) for other in variants[1:]]
        first = rounds[0][0]
        return Report(
            script=plan.script.as_posix(),
            arguments=plan.arguments,
            machine=first.machine,
            versions={"perflint": __version__, **first.versions},
            date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            warmup=plan.warmup,
            steps=plan.steps,
            rounds=len(rounds),
            variants=variants,
            comparisons=comparisons,
            notes=[
                *notes.of_time(wanted, len(rounds)),
                *notes.of_steps(plan.steps, variants),
                *notes.of_losses(before, variants[1:], comparisons),
                *notes.of_files(self._workspace.linked, sorted(self._written)),
            ],
        )
