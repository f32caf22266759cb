"""The engine: runs all variants in turn, round after round, and says what each wins.

Each run is a process of its own in a fresh copy of the project.  A round runs every variant once; every other round
runs them the other way round, so that a machine that gets slower or faster favours none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

from perflint import __version__
from perflint.bench import child, notes
from perflint.bench.plan import Outcome, Plan, RunFailed
from perflint.bench.project_copy import ProjectCopy
from perflint.bench.results import BenchReport, Variant
from perflint.bench.scratch import scratch, sweep
from perflint.bench.statistics import LEAST_ROUNDS, compare
from perflint.bench.variants import VariantFiles

Tell = Callable[[int, int, str], None]
"""Called before each run with the runs that are done, all of them, and the name of the variant."""
_Round = dict[int, Outcome]
"""What the runs of a round have shown, by the place of the variant."""
_Failed = dict[int, RunFailed]


class Bench:
    """The runs of one script, in copies of its project that are gone after each, as are those that a kill has left."""

    def __init__(self, plan: Plan, time_limit: float = math.inf) -> None:
        """For a plan; ``time_limit`` is in seconds from now, for all runs together."""
        sweep()
        self.plan = plan
        self._workspace = ProjectCopy(plan.root)
        self._end = time.monotonic() + time_limit
        self._written: set[str] = set()

    def run(self, state: VariantFiles) -> Outcome:
        """Run the script once in one state.

        Raises:
            OutOfTime: the time limit came.
            RunFailed: the run has not measured anything.
            OSError: there is no room for the copy, or the interpreter cannot be started.
        """
        with scratch() as (place, lock):
            copy = place / "copy" / self.plan.root.name
            copy.parent.mkdir()
            self._workspace.make(copy, state.changed)
            try:
                return child.run(self.plan, copy, place, self._end - time.monotonic(), lock)
            except RunFailed as error:
                if state.changed:  # the fix may be why: a person should know
                    error.args = (f"with {state.name}: {error}",)
                raise
            finally:
                self._written.update(self._workspace.written())

    def measure(self, states: Sequence[VariantFiles], rounds: int, tell: Tell | None = None) -> BenchReport:
        """Run and compare.  At the time limit the rounds that are complete count, if they are enough.

        A variant whose run fails is left out from then on, and named in the report.

        Args:
            states: the variants; the first is what the others are compared with.
            rounds: how often each is run, ``LEAST_ROUNDS`` or more.
            tell: told about progress.

        Raises:
            RunFailed: the first variant or all others failed, or too few rounds fitted into the time limit.
            OSError: there is no room for the copy, or the interpreter cannot be started.
        """
        done: list[_Round] = []
        failed: _Failed = {}
        while len(done) < rounds:
            try:
                done.append(self._round(states, rounds, len(done), failed, tell))
            except child.OutOfTime as error:
                if len(done) < LEAST_ROUNDS:
                    raise RunFailed(f"{len(done)} of {LEAST_ROUNDS} rounds were over: {error}") from error
                break
            if len(failed) == len(states) - 1:
                raise next(iter(failed.values()))
        return self._report(states, rounds, done, failed)

    def _round(
        self, states: Sequence[VariantFiles], rounds: int, place: int, failed: _Failed, tell: Tell | None
    ) -> _Round:
        order = list(range(len(states)))
        found: _Round = {}
        for index in order if place % 2 == 0 else order[::-1]:
            if index in failed:
                continue
            if tell:
                tell(place * len(states) + len(found), rounds * len(states), states[index].name)
            try:
                found[index] = self.run(states[index])
            except child.OutOfTime:
                raise
            except RunFailed as error:
                if not states[index].changed:
                    raise
                failed[index] = error
        return found

    def _report(
        self, states: Sequence[VariantFiles], wanted: int, rounds: Sequence[_Round], failed: _Failed
    ) -> BenchReport:
        plan = self.plan
        variants = [
            Variant(state.name, state.codes, state.places, [found[index].steps for found in rounds])
            for index, state in enumerate(states)
            if index not in failed
        ]
        before = variants[0]
        comparisons = [compare(before.runs, other.runs, other.name) for other in variants[1:]]
        first = rounds[0][0]
        return BenchReport(
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
                *notes.of_failures(failed.values()),
                *notes.of_time(wanted, len(rounds)),
                *notes.of_steps(plan.steps, variants),
                *notes.of_losses(before, variants[1:], comparisons),
                *notes.of_files(self._workspace.linked, sorted(self._written)),
            ],
        )
