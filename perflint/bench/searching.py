"""Searches for the fixes that are fastest together, as long as the losses stay the same.

All combinations of ten fixes are a thousand, so the search is greedy: each fix is tried alone, and then, from the best
one on, each that gained something is tried on top of those that were kept. A few rounds are enough to choose, but not
enough to trust the result: luck helps the winner of many trials. So the winner is measured again, against the unchanged
script, with rounds that had no part in choosing it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from perflint.bench.figures import interval, ratio
from perflint.bench.results import (
    BEFORE,
    LEAST_ROUNDS,
    BenchReport,
    Comparison,
    Steps,
    compare,
    compared,
    difference_in_words,
    largest_difference,
)
from perflint.bench.script_run import RunFailed
from perflint.bench.variants import Fixes, FixGroup, VariantFiles

TRIAL_ROUNDS = LEAST_ROUNDS
"""The number of rounds for choosing a fix."""
_MANY = 8
"""From this number of fixes on, the fixes of each rule are tried together, not each fix."""

Measure = Callable[[Sequence[VariantFiles], int], BenchReport]
"""Runs variants in turn for a number of rounds, and compares them with the first; may raise ``RunFailed``."""


class CannotSearch(Exception):
    """The losses cannot be compared, so it is unknown which fixes keep them; ``str(error)`` says what to do."""


@dataclass(frozen=True)
class Trial:
    """One fix on top of others, as measured with few rounds.

    ``ratio``, ``low`` and ``high`` compare it with these others (None: it was not measured). ``kept``: it is in the
    winner or, if it was tried alone, it is tried on top of others too. ``verdict`` says the result in words.
    """

    fix: str
    on_top_of: list[str]
    ratio: float | None
    low: float | None
    high: float | None
    kept: bool
    verdict: str


@dataclass(frozen=True)
class SearchResult:
    """The winner (None: no fix is worth it), and all trials, in order; there was no time left for ``untried``.

    ``alone`` has the first trials: the unchanged script, and each fix alone.
    """

    winner: VariantFiles | None
    alone: BenchReport
    trials: list[Trial] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The search for ``json.dumps``."""
        return {"trials": [asdict(trial) for trial in self.trials], "untried": self.untried}


def most_runs(candidates: int, rounds: int) -> int:
    """The most runs that a search can take, including the last measurement with ``rounds``."""
    return TRIAL_ROUNDS * (candidates + 1) + 2 * TRIAL_ROUNDS * max(candidates - 1, 0) + 2 * rounds


def candidates(fixes: Fixes) -> list[FixGroup]:
    """The fixes that can be applied, or, if there are many, the fixes of each rule together."""
    findings = fixes.findings()
    alone = fixes.of_one_fix(findings)
    return alone if len(alone) < _MANY else fixes.of_one_rule(findings)


@dataclass
class Search:
    """One search among the fixes in the files that a script runs.

    ``measure`` runs variants, and ``has_time`` says whether that many further runs fit into the time limit.
    ``tolerance``: how far the losses may differ, relative to what they were; None: not at all.
    """

    fixes: Fixes
    measure: Measure
    has_time: Callable[[int], bool]
    tolerance: float | None = None
    _before: list[Steps] = field(default_factory=list, init=False)
    _trials: list[Trial] = field(default_factory=list, init=False)

    def run(self, given: Sequence[FixGroup]) -> SearchResult:
        """Try the candidates.

        Raises:
            CannotSearch: no losses are seen, or they differ between runs of the same script and no tolerance is given.
            RunFailed: the unchanged script failed, or all fixes did, or the time was too short for the first trials.
        """
        alone = (self._state([candidate]) for candidate in given)
        report = self.measure([VariantFiles(BEFORE), *filter(None, alone)], TRIAL_ROUNDS)
        self._before = report.variants[0].runs
        self._insist_on_losses()
        order = self._alone(given, report)
        kept, left = order[:1], order[1:]
        while left and self.has_time(2 * TRIAL_ROUNDS):
            candidate = left.pop(0)
            if self._gains(candidate, kept):
                kept.append(candidate)
        winner = self._state(kept) if kept else None
        return SearchResult(winner, report, self._trials, [candidate.name for candidate in left])

    def _alone(self, given: Sequence[FixGroup], report: BenchReport) -> list[FixGroup]:
        """The candidates that gain something alone, the best first."""
        runs = {variant.name: variant.runs for variant in report.variants}
        found: list[tuple[float, FixGroup]] = []
        for candidate in given:
            if candidate.name not in runs:
                self._note(candidate, [], "failed, or could not be made")
                continue
            comparison = compare(self._before, runs[candidate.name])
            if self._tried(candidate, [], comparison, runs[candidate.name]):
                found.append((comparison.ratio, candidate))
        return [candidate for _, candidate in sorted(found, key=lambda each: -each[0])]

    def _gains(self, candidate: FixGroup, kept: list[FixGroup]) -> bool:
        """Whether a fix gains something on top of others."""
        names = [each.name for each in kept]
        below, above = self._state(kept), self._state([*kept, candidate])
        if above is None or below is None:
            return self._note(candidate, names, "cannot be made together with them")
        if above.changed == below.changed:
            return self._note(candidate, names, "changes nothing more")
        try:
            report = self.measure([below, above], TRIAL_ROUNDS)
        except RunFailed as error:
            return self._note(candidate, names, f"failed: {str(error).splitlines()[0]}")
        runs = report.variants[1].runs
        return self._tried(candidate, names, compare(report.variants[0].runs, runs), runs)

    def _tried(self, candidate: FixGroup, names: list[str], found: Comparison, runs: list[Steps]) -> bool:
        """Record the result of a trial; return whether the fix is kept."""
        kept = False
        if not self._is_allowed(runs):
            by = largest_difference(self._before[0], runs)
            verdict = f"changes the losses{'' if by is None else f' by up to {by:.2g} of the loss'}"
        elif found.ratio <= 1:
            verdict = "gains nothing"
        else:
            kept, verdict = True, "kept" if names else "may gain"
        self._trials.append(Trial(candidate.name, names, found.ratio, found.low, found.high, kept, verdict))
        return kept

    def _note(self, candidate: FixGroup, names: list[str], verdict: str) -> bool:
        """Record a trial that was not measured."""
        self._trials.append(Trial(candidate.name, names, None, None, None, False, verdict))
        return False

    def _is_allowed(self, runs: list[Steps]) -> bool:
        """Whether the losses are those of the unchanged script, or close enough."""
        if self.tolerance is None:
            return compared(self._before, runs)[0] is True
        difference = largest_difference(self._before[0], runs)
        return difference is not None and difference <= self.tolerance

    def _insist_on_losses(self) -> None:
        """Raise an error if the losses cannot be compared."""
        if all(loss is None for run in self._before for loss in run.losses):
            raise CannotSearch("no loss was seen, so it is unknown which fixes keep the training the same")
        alone = largest_difference(self._before[0], self._before[1:])
        if alone == 0.0:
            return
        if self.tolerance is None or alone is None or alone > self.tolerance:
            raise CannotSearch(
                f"the losses differ each time the script runs ({difference_in_words(alone)}), so it is unknown which "
                "fixes leave them alone: fix its seeds, or allow for a larger difference with --tolerance"
            )

    def _state(self, chosen: Sequence[FixGroup]) -> VariantFiles | None:
        """The script with some fixes together; None if two of them conflict."""
        findings = [item for candidate in chosen for item in candidate.findings]
        changed, left = self.fixes.made(findings)
        if len(left) < len(findings) and len(chosen) > 1:
            return None
        order = {place: at for at, place in enumerate(changed)}
        places = [place.rpartition(":") for place in self.fixes.places(findings)]
        places.sort(key=lambda place: (order[Path(place[0])], int(place[2])))
        name = " + ".join(candidate.name for candidate in chosen)
        return VariantFiles(name, sorted({item.code for item in findings}), list(map("".join, places)), changed)


def said(found: SearchResult, report: BenchReport | None, tolerance: float | None) -> list[str]:
    """The trials and their results, in sentences."""
    allowed = "the losses equal to the last bit" if tolerance is None else f"losses within {tolerance:g} of theirs"
    lines = [f"Searched for the fastest fixes with {allowed}."]
    if found.winner is None or report is None:
        lines.append("No fix gained anything, so none is recommended.")
    else:
        lines.append(_confirmed(found.winner.name, report))
    lines += [f"Tried {_trial(trial)}." for trial in found.trials]
    if found.untried:
        lines.append(f"There was no time to try {', '.join(found.untried)}; --time-limit allows more.")
    return lines


def _confirmed(name: str, report: BenchReport) -> str:
    """What the last measurement says about the winner, without the luck that helped it to win."""
    result = report.comparisons[0]
    measured = f"{ratio(result)}x ({interval(result)})"
    again = f"measured again in {report.rounds} rounds, since luck helps the winner of trials"
    if result.low <= 1:
        return f"None is recommended: {name} won the trials, and is not surely faster: {measured}, {again}."
    return f"Recommended: {name}: {measured}, {again}."


def _trial(trial: Trial) -> str:
    on = f" on top of {' + '.join(trial.on_top_of)}" if trial.on_top_of else ""
    figures = "" if trial.ratio is None else f" {trial.ratio:.2f}x ({trial.low:.2f} to {trial.high:.2f}),"
    return f"{trial.fix}{on}:{figures} {trial.verdict}"
