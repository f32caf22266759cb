"""How many rounds find how small a gain: the same measurement many times, of a step of known work.

``python -m tests.ips.trials --repeats 20 --rounds 10`` writes ``evidence/trials/cpu/repeats.json``.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean

from perflint.bench.results import LEAST_ROUNDS, Steps, Variant, compare
from tests.ips import busy_loop, evidence

NAME = "repeats"
"""How the names of the files begin."""
GAINS = (1.0, 1.03, 1.10)
"""By how much the second variant is faster; 1 is the same once more."""
SHOWN = (LEAST_ROUNDS, 5, 10, 20)
"""The rounds that the table has, as far as so many were made."""


@dataclass(frozen=True)
class Repeats:
    """Many measurements.

    ``seconds``: of each, the mean seconds of a step by round: first of the step as it is, and then of one for each of
    ``gains``.  ``load``: of the machine before the first measurement and after the last, as in ``evidence.Evidence``.
    """

    machine: str
    date: str
    gains: list[float]
    load: list[float]
    seconds: list[list[list[float]]]


def measure(count: int, rounds: int, load: Callable[[], float]) -> Repeats:
    """Make so many measurements of so many rounds each.

    Raises:
        perflint.bench.script_run.RunFailed: a run has not measured anything.
    """
    counted = busy_loop.work()
    before = load()
    reports = []
    for number in range(count):
        reports.append(busy_loop.measure([1 / gain for gain in GAINS], counted, rounds))
        print(f"measurement {number + 1} of {count}", flush=True)
    seconds = [[_seconds(variant) for variant in report.variants] for report in reports]
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Repeats(reports[0].machine, date, list(GAINS), [before, load()], seconds)


def write(found: Repeats, directory: Path = evidence.EVIDENCE) -> Path:
    """Write a file, beside those that are there; where it is."""
    names = itertools.chain([NAME], (f"{NAME}-{number}" for number in itertools.count(2)))
    paths = (directory / "trials" / "cpu" / f"{name}.json" for name in names)
    free = next(path for path in paths if not path.exists())
    evidence.write_whole(free, asdict(found))
    return free


def committed(directory: Path = evidence.EVIDENCE) -> list[Repeats]:
    """What was written, in the order of time."""
    paths = (directory / "trials" / "cpu").glob(f"{NAME}*.json")
    found = [Repeats(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    return sorted(found, key=lambda each: each.date)


def table(found: Repeats) -> Iterator[str]:
    """The table of docs/measuring.md: how many of the measurements find a gain, by their rounds."""
    rounds = len(found.seconds[0][0])
    yield "| rounds | " + " | ".join(_heading(gain) for gain in found.gains) + " | half of the intervals |"
    yield "| --- |" + " --- |" * (len(found.gains) + 1)
    for number in (each for each in SHOWN if each <= rounds):
        cells = [
            f"{sum(_finds(each, place, number) for each in found.seconds)} of {len(found.seconds)}"
            for place in range(1, len(found.gains) + 1)
        ]
        yield f"| {number} | {' | '.join(cells)} | {_half(found, number)} |"


def _heading(gain: float) -> str:
    return "a gain where there is none" if gain == 1 else f"a gain of {100 * (gain - 1):.0f} %"


def _finds(measurement: list[list[float]], place: int, rounds: int) -> bool:
    low, _ = _interval(measurement, place, rounds)
    return low > 1


def _half(found: Repeats, rounds: int) -> str:
    """By how much the intervals of a script against itself reach to either side, in the middle one of them."""
    halves = sorted(math.sqrt(high / low) - 1 for low, high in (_interval(each, 1, rounds) for each in found.seconds))
    return f"±{100 * halves[len(halves) // 2]:.1f} %"


def _interval(measurement: list[list[float]], place: int, rounds: int) -> tuple[float, float]:
    before, after = (_runs(measurement[each][:rounds]) for each in (0, place))
    found = compare(before, after)
    return found.low, found.high


def _seconds(variant: Variant) -> list[float]:
    """The mean seconds of a step, by round."""
    return [round(fmean(run.batch_s), 8) for run in variant.runs]


def _runs(seconds: list[float]) -> list[Steps]:
    """Runs of one step each, of a sample, that take so long."""
    return [Steps([each], [0.0], [1], [None], 0.0, "cpu") for each in seconds]
