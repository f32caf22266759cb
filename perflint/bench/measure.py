"""The engine: runs all variants in turn, round after round, and computes what each gains.

Each run is a separate process in a fresh copy of the project. A round runs every variant once; every other round runs
them in reverse order, so that a machine that gets slower or faster favours none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

from perflint import __version__
from perflint.bench import notes, script_run
from perflint.bench.results import BenchReport, Variant
from perflint.bench.run_directory import ProjectCopy, scratch, sweep
from perflint.bench.script_run import Outcome, Plan, RunFailed
from perflint.bench.statistics import LEAST_ROUNDS, Rounds, compare
from perflint.bench.variants import VariantFiles

Tell = Callable[[int, int, str], None]
"""Called before each run with the number of finished runs, the number of all runs, and the name of the variant."""
Keep = Callable[[BenchReport], None]
"""Called after each round with the report so far."""
_Round = dict[int, Outcome]
"""The results of the runs of a round, by the index of the variant."""
_Failed = dict[int, RunFailed]


class Bench:
    """Runs one script in copies of its project, which are removed after each run, as are copies left by killed runs."""

    def __init__(self, plan: Plan, time_limit: float = math.inf) -> None:
        """Prepare the runs of a plan; ``time_limit`` is in seconds from now, for all runs together."""
        sweep()
        self.plan = plan
        self._workspace = ProjectCopy(plan.root)
        self._end = time.monotonic() + time_limit
        self._written: set[str] = set()
        self.waiting: script_run.Waiting | None = None

    def run(self, state: VariantFiles) -> Outcome:
        """Run the script once in one state.

        Raises:
            OutOfTime: the time limit was reached.
            RunFailed: the run has not measured anything.
            OSError: there is no room for the copy, or the interpreter cannot be started.
        """
        with scratch() as (place, lock):
            copy = place / "copy" / self.plan.root.name
            copy.parent.mkdir()
            self._workspace.make(copy, state.changed, state.removed)
            try:
                return script_run.run(self.plan, copy, place, self._end - time.monotonic(), lock, self.waiting)
            except RunFailed as error:
                if state.changed or state.removed:  # the links may be the reason, so the report names them
                    error.args = (f"with {state.name}: {error}",)
                raise
            finally:
                self._written.update(self._workspace.written())

    def linked_and_written(self) -> tuple[list[str], list[str]]:
        """The files that were links in the last copy, and those among them that a run has changed."""
        return self._workspace.linked, sorted(self._written)

    def measure(
        self,
        states: Sequence[VariantFiles],
        rounds: int,
        tell: Tell | None = None,
        keep: Keep | None = None,
        earlier: BenchReport | None = None,
        until: float | None = None,
    ) -> BenchReport:
        """Run and compare the variants. At the time limit, the completed rounds are compared if there are enough.

        A variant whose run fails is left out from then on and named in the report.

        Args:
            states: the variants; the first is what the others are compared with.
            rounds: how often each is run, ``LEAST_ROUNDS`` or more; with ``until``, how often at least.
            tell: called with the progress.
            keep: called with the report after each round, which has no comparisons before ``LEAST_ROUNDS``.
            earlier: a report whose rounds count as the first ones, of the same variants.
            until: continue until the intervals are this narrow, as in `statistics.Rounds`.

        Raises:
            RunFailed: the first variant or all others failed, or too few rounds fit into the time limit.
            OSError: there is no room for the copy, or the interpreter cannot be started.
        """
        done, failed = _taken_over(states, earlier) if earlier else ([], {})
        before = len(done)
        stop = Rounds(rounds, until, earlier.pilot if earlier else 0)
        while len(done) < (wanted := stop.wanted(_logs(done))):
            try:
                done.append(self._round(states, wanted, len(done), failed, _without(tell, before * len(states))))
            except script_run.OutOfTime as error:
                if len(done) < LEAST_ROUNDS:
                    raise RunFailed(f"{len(done)} of {LEAST_ROUNDS} rounds were finished: {error}") from error
                break
            if len(failed) == len(states) - 1:
                raise next(iter(failed.values()))
            if keep:
                keep(self._report(states, stop, done, failed, is_over=False))
        return self._report(states, stop, done, failed)

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
            except script_run.OutOfTime:
                raise
            except RunFailed as error:
                if index == 0:  # there is nothing left to compare with
                    raise
                failed[index] = error
        return found

    def _report(
        self,
        states: Sequence[VariantFiles],
        stop: Rounds,
        rounds: Sequence[_Round],
        failed: _Failed,
        is_over: bool = True,
    ) -> BenchReport:
        """The report of the rounds; before the end it does not mention missing rounds."""
        plan = self.plan
        variants = [
            Variant(
                state.name,
                state.codes,
                state.places,
                [found[index].steps for found in rounds],
                state.fixes,
                state.event,
            )
            for index, state in enumerate(states)
            if index not in failed
        ]
        before = variants[0]
        others = variants[1:] if len(rounds) >= LEAST_ROUNDS else []
        comparisons = [compare(before.runs, other.runs, other.name, stop.pilot) for other in others]
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
                *(notes.of_time(stop, len(rounds), comparisons) if is_over else []),
                *notes.of_steps(plan.steps, variants),
                *notes.of_losses(before, variants[1:], comparisons),
                *notes.of_files(*self.linked_and_written()),
            ],
            failed={states[index].name: str(error) for index, error in failed.items()},
            pilot=stop.pilot,
        )


def _without(tell: Tell | None, before: int) -> Tell | None:
    """Report progress without counting the runs that were done before."""
    return tell and (lambda done, runs, name: tell(done - before, runs - before, name))


def _taken_over(states: Sequence[VariantFiles], earlier: BenchReport) -> tuple[list[_Round], _Failed]:
    """The rounds of an earlier report, and the variants that failed in it."""
    runs = {variant.name: variant.runs for variant in earlier.variants}
    known = earlier.failed or {}
    failed = {index: RunFailed(known[state.name]) for index, state in enumerate(states) if state.name in known}
    measured = [index for index in range(len(states)) if index not in failed]
    rounds = [
        {index: Outcome(runs[states[index].name][at], earlier.versions, earlier.machine, [], 0.0) for index in measured}
        for at in range(earlier.rounds)
    ]
    return rounds, failed


def _logs(rounds: Sequence[_Round]) -> list[list[float]]:
    """For each variant that ran in all rounds, the logarithms of its ips relative to the first variant."""
    lasting = [index for index in (rounds[-1] if rounds else {}) if index]
    return [
        [math.log(found[index].steps.ips / found[0].steps.ips) for found in rounds if found[0].steps.ips]
        for index in lasting
        if all(found[index].steps.ips for found in rounds)
    ]
