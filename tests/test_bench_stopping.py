"""``--until``: how many rounds are run, and what becomes of the interval when its width decides that."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest

from perflint.bench.results import Rounds, half_width

Draw = Callable[[random.Random], list[float]]
"""One round: the logarithm of the ratio of each of two comparisons."""


def _normal(chance: random.Random) -> list[float]:
    return [chance.gauss(0, 0.1), chance.gauss(0, 0.05)]


def _alike(chance: random.Random) -> list[float]:
    """Both comparisons have one ``before``, so what that does is in both."""
    before = chance.gauss(0, 0.07)
    return [before + chance.gauss(0, 0.07), before + chance.gauss(0, 0.03)]


def _with_slow_runs(chance: random.Random) -> list[float]:
    """One run in ten of either side takes half as long again: far from normal."""
    slow = [math.log(1.5) * (chance.random() < 0.1) for _ in range(3)]
    return [chance.gauss(0, 0.03) + slow[0] - slow[1], chance.gauss(0, 0.03) + slow[0] - slow[2]]


def _held(draw: Draw, pilot: int, until: float, trials: int, naive: bool = False) -> float:
    """How often the interval of the first comparison holds the truth, 0, when it was gone on until both are narrow."""
    chance = random.Random(1)
    stop = Rounds(pilot, until)
    held = 0
    for _ in range(trials):
        rounds: list[list[float]] = []
        while len(rounds) < (
            _naive(rounds, pilot, until) if naive else stop.wanted([*map(list, zip(*rounds, strict=True))])
        ):
            rounds.append(draw(chance))
        first = [each[0] for each in rounds]
        held += abs(statistics.fmean(first)) <= half_width(first, 0 if naive else pilot)
    return held / trials


def _naive(rounds: list[list[float]], pilot: int, until: float) -> int:
    """Stop as soon as the usual interval is narrow."""
    if len(rounds) < pilot:
        return pilot
    wide = any(half_width([each[at] for each in rounds]) > math.log1p(until) for at in range(2))
    return len(rounds) + wide


@pytest.mark.parametrize("draw", [_normal, _alike, _with_slow_runs])
@pytest.mark.parametrize("pilot", [3, 5])
def test_the_interval_keeps_its_promise_though_its_width_decides_when_to_stop(draw: Draw, pilot: int) -> None:
    trials = 400
    # Three standard deviations of such a share below 95 %.
    assert _held(draw, pilot, 0.15, trials) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_stopping_by_the_usual_interval_would_not_keep_it() -> None:
    """So the test above can fail: this is what it would catch."""
    trials = 1_000
    assert _held(_normal, 3, 0.06, trials, naive=True) < 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_it_stops_at_the_width_that_was_asked_for() -> None:
    chance, stop, values = random.Random(2), Rounds(5, 0.05), [0.0]
    while len(values) < stop.wanted([values]):
        values.append(chance.gauss(0.3, 0.1))
    assert len(values) > 5
    assert half_width(values, 5) <= math.log(1.05) < half_width(values[:-1], 5)


def test_the_number_of_rounds_is_foretold_from_those_that_are_over() -> None:
    stop = Rounds(4, 0.05)
    assert stop.wanted([]) == stop.wanted([[0.1, 0.2]]) == 4
    assert stop.wanted([[0.1] * 4]) == 4
    # The standard deviation is 0.1, and 3.182 * 0.1 / sqrt(n) is at most log(1.05) from n = 42.5 on.
    values = [0.0, 0.2, 0.0, 0.2]
    deviation = statistics.stdev(values)
    assert stop.wanted([values, [0.1] * 4]) == math.ceil((3.182 * deviation / math.log(1.05)) ** 2)


def test_without_a_width_the_rounds_are_those_that_were_asked_for() -> None:
    stop = Rounds(5)
    assert (stop.pilot, stop.wanted([[0.0, 9.0, -9.0, 9.0, -9.0]])) == (0, 5)


def test_a_measurement_that_is_gone_on_with_was_looked_at_before() -> None:
    """The width has decided on its rounds, so the first of them go on to count by themselves."""
    assert [Rounds(20, None, 5).pilot, Rounds(20, 0.05, 5).pilot, Rounds(20, 0.05).pilot] == [5, 5, 20]
