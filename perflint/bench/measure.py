"""The engine: runs all variants in turn, round after round, and computes what each gains; keeps the result in a file.

Each run is a separate process in a fresh copy of the project. A round runs every variant once; every other round runs
them in reverse order, so that a machine that gets slower or faster favours none.

A file has everything needed to compute its comparisons again, and no more. Its rounds count for another measurement if
they were measured under the same conditions (``--resume``).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from perflint import __version__
from perflint.bench import notes, script_run
from perflint.bench.results import LEAST_ROUNDS, BenchReport, Rounds, Steps, Variant, compare
from perflint.bench.run_directory import ProjectCopy, scratch, sweep
from perflint.bench.script_run import Outcome, Plan, RunFailed
from perflint.bench.variants import VariantFiles

Tell = Callable[[int, int, str], None]
"""Called before each run with the number of finished runs, the number of all runs, and the name of the variant."""
Keep = Callable[[BenchReport], None]
"""Called after each round with the report so far."""


@dataclass
class _Measured:
    """The finished rounds of some variants.

    ``runs`` has those of each variant by its index, one per round; a variant that has ``failed`` has no more of them.
    ``before`` is the number of rounds of an earlier measurement.
    """

    states: Sequence[VariantFiles]
    stop: Rounds
    runs: dict[int, list[Steps]]
    failed: dict[int, RunFailed] = field(default_factory=dict)
    before: int = 0
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        return len(self.runs[0])

    def take_over(self, earlier: BenchReport) -> None:
        """Begin with the rounds of an earlier report, and with the variants that failed in it."""
        runs, known = {variant.name: variant.runs for variant in earlier.variants}, earlier.failed or {}
        self.failed = {at: RunFailed(known[item.name]) for at, item in enumerate(self.states) if item.name in known}
        self.runs = {at: [*runs[item.name]] for at, item in enumerate(self.states) if at not in self.failed}
        self.before, self.machine, self.versions = earlier.rounds, earlier.machine, earlier.versions

    def wanted(self) -> int:
        """How many rounds there should be, judging by the logarithms of the ratios to the first variant."""
        pairs = ([*zip(self.runs[0], runs, strict=True)] for at, runs in self.runs.items() if at)
        return self.stop.wanted([math.log(run.ips / first.ips) for first, run in each] for each in pairs)

    def variants(self) -> list[Variant]:
        """The variants that have not failed."""
        found = ((self.states[at], runs) for at, runs in self.runs.items())
        return [Variant(item.name, item.codes, item.places, [*runs], item.fixes, item.event) for item, runs in found]


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
        stop = Rounds(rounds, until, earlier.pilot if earlier else 0)
        done = _Measured(states, stop, {index: [] for index in range(len(states))})
        if earlier:
            done.take_over(earlier)
        while done.rounds < (wanted := done.wanted()):
            try:
                self._round(done, wanted, tell)
            except script_run.OutOfTime as error:
                if done.rounds < LEAST_ROUNDS:
                    raise RunFailed(f"{done.rounds} of {LEAST_ROUNDS} rounds were finished: {error}") from error
                break
            if len(done.failed) == len(states) - 1:
                raise next(iter(done.failed.values()))
            if keep:
                keep(self._report(done, is_over=False))
        return self._report(done)

    def _round(self, done: _Measured, wanted: int, tell: Tell | None) -> None:
        order, count, past = list(done.runs), len(done.states), done.rounds - done.before
        found: dict[int, Outcome] = {}
        for index in order if done.rounds % 2 == 0 else order[::-1]:
            if tell:
                tell(past * count + len(found), (wanted - done.before) * count, done.states[index].name)
            try:
                found[index] = self.run(done.states[index])
            except script_run.OutOfTime:
                raise
            except RunFailed as error:
                if index == 0:  # there is nothing left to compare with
                    raise
                done.failed[index] = error
                del done.runs[index]
        for index, outcome in found.items():
            done.runs[index].append(outcome.steps)
        done.machine, done.versions = found[0].machine, found[0].versions

    def _report(self, done: _Measured, is_over: bool = True) -> BenchReport:
        """The report of the rounds; before the end it does not mention missing rounds."""
        plan, stop = self.plan, done.stop
        before, *others = variants = done.variants()
        measured = others if done.rounds >= LEAST_ROUNDS else []
        comparisons = [compare(before.runs, other.runs, other.name, stop.pilot) for other in measured]
        return BenchReport(
            script=plan.script.as_posix(),
            arguments=plan.arguments,
            machine=done.machine,
            versions={"perflint": __version__, **done.versions},
            date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            warmup=plan.warmup,
            steps=plan.steps,
            rounds=done.rounds,
            variants=variants,
            comparisons=comparisons,
            notes=[
                *notes.of_failures(done.failed.values()),
                *(notes.of_time(stop, done.rounds, comparisons) if is_over else []),
                *notes.of_steps(plan.steps, variants),
                *notes.of_losses(before, others, comparisons),
                *notes.of_files(*self.linked_and_written()),
            ],
            failed={done.states[index].name: str(error) for index, error in done.failed.items()},
            pilot=stop.pilot,
        )


_NUMBERS = re.compile(r"\[\s[^\[\]{}\"]*\]")
"""A list of numbers, which is written on one line."""


_FILE, _VARIANT = "file ", "variant "
"""How the conditions about files and about variants begin; their values are hashes."""
_VARIABLES = ("CPU_NUM", "CUDA_", "FLAGS_", "MKL_", "NCCL_", "OMP_", "OPENBLAS_")
"""The prefixes of environment variables that affect speed."""


def as_text(data: object) -> str:
    """JSON in which each list of numbers takes one line."""
    text = json.dumps(data, indent=1)
    return _NUMBERS.sub(lambda found: re.sub(r"\s+", " ", found.group()), text) + "\n"


def rounded(report: BenchReport) -> BenchReport:
    """A report with times in whole microseconds (more is noise), and the comparisons computed from these."""
    variants = [replace(item, runs=[_rounded(run) for run in item.runs]) for item in report.variants]
    comparisons = [compare(variants[0].runs, item.runs, item.name, report.pilot) for item in variants[1:]]
    return replace(report, variants=variants, comparisons=comparisons)


def _rounded(run: Steps) -> Steps:
    batch, reader = ([round(time, 6) for time in part] for part in (run.batch_s, run.reader_s))
    return replace(run, batch_s=batch, reader_s=reader)


def conditions(plan: Plan, states: Sequence[VariantFiles], first: Outcome) -> dict[str, str]:
    """What the figures of a measurement depend on, each as text for comparison.

    Args:
        plan: how the script is run.
        states: the variants.
        first: a run of the unchanged script.
    """
    variables = {**os.environ, **plan.environment}
    values = {
        "script": plan.script.as_posix(),
        "directory": plan.directory.as_posix(),
        "arguments": shlex.join(plan.arguments),
        "--launch": shlex.join(plan.launch),
        "--steps": str(plan.steps),
        "--warmup": str(plan.warmup),
        "seed": str(plan.seed),
        "machine": first.machine,
        "device": first.steps.device,
        "perflint": __version__,
        **first.versions,
        **{name: variables[name] for name in sorted(variables) if name.startswith(_VARIABLES)},
    }
    files = sorted(name for name in {*first.files, plan.script.as_posix()} if (plan.root / name).is_file())
    hashes = {_FILE + name: _hash({name: (plan.root / name).read_bytes()}) for name in files}
    changes = {_VARIANT + state.name: _changes(state) for state in states}
    return {**values, **hashes, **changes}


def _changes(state: VariantFiles) -> str:
    gone = dict.fromkeys((f"gone {path.as_posix()}" for path in state.removed), b"")
    return _hash({**{path.as_posix(): content for path, content in state.changed.items()}, **gone})


def _hash(files: Mapping[str, bytes]) -> str:
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        for part in (name.encode(), content):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def read_measurement(path: Path, now: Mapping[str, str]) -> BenchReport:
    """The report of an earlier measurement.

    Args:
        path: a file that ``--json`` has written, of a measurement that was finished or interrupted.
        now: the conditions of this one.

    Raises:
        RunFailed: the file cannot be read, or its measurement cannot be compared with the current one.
    """
    try:
        report = BenchReport.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RunFailed(f"--resume {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFailed(f"--resume {path}: this file was not written by perflint bench --json") from error
    if report.conditions is None:
        raise RunFailed(f"--resume {path}: it does not say what it was measured with: measure again without --resume")
    found = differences(report.conditions, now)
    if found:
        raise RunFailed(f"--resume {path}: it was measured under other conditions: {'; '.join(found)}")
    return report


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The differences between the conditions of two measurements, one clause each."""
    names = [*before, *(name for name in now if name not in before)]
    return [_difference(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)]


def _difference(name: str, before: str | None, now: str | None) -> str:
    for kind in (_FILE, _VARIANT):
        if name.startswith(kind):
            shown = name.removeprefix(_FILE)
            what = "is not the same as then" if before and now else "was not there then" if now else "is missing now"
            return f"{shown} {what}"
    return f"{name} was {before or 'not set'} then and is {now or 'not set'} now"
