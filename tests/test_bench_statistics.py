"""What ``perflint bench`` concludes from runs whose truth is known: made up here, or drawn."""

from __future__ import annotations

import json
import math
import random

import pytest

from perflint.bench.results import LEAST_ROUNDS, BenchReport, Comparison, Steps, Variant, compare, half_width


def run(seconds: float, losses: list[float | None] | None = None, steps: int = 10) -> Steps:
    """A run whose steps of 8 samples take so long each."""
    return Steps([seconds] * steps, [0.0] * steps, [8] * steps, losses or [None] * steps, 100.0, "cpu")


def test_a_ratio_worked_out_by_hand() -> None:
    # Ratios of ips: 2, 2 and 4; logarithms 1, 1 and 2 times log 2: mean 4/3, standard deviation sqrt(1/3), and
    # 4.303 * sqrt(1/3) / sqrt(3) = 4.303 / 3 to either side.
    found = compare([run(1.0), run(1.0), run(1.0)], [run(0.5), run(0.5), run(0.25)], "all fixes")
    assert found.variant == "all fixes"
    assert found.ratio == pytest.approx(2 ** (4 / 3))
    assert found.low == pytest.approx(2 ** ((4 - 4.303) / 3))
    assert found.high == pytest.approx(2 ** ((4 + 4.303) / 3))
    assert found.ips_before == pytest.approx(8)
    assert found.ips_after == pytest.approx(8 * 2 ** (4 / 3))
    assert found.low <= 1


def test_what_a_machine_does_to_both_runs_of_a_round_does_not_count() -> None:
    found = compare([run(1.0), run(3.0), run(0.2)], [run(0.5), run(1.5), run(0.1)])
    assert (found.low, found.ratio, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.low > 1


def test_slow_steps_count_as_they_do_in_training() -> None:
    often = Steps([1.0, 1.0, 1.0, 5.0], [0.0] * 4, [8] * 4, [None] * 4, 1.0, "cpu")
    assert often.ips == 32 / 8
    assert compare([often] * 3, [run(1.0)] * 3).ratio == pytest.approx(2.0)


@pytest.mark.parametrize("rounds", [3, 5, 40])
def test_the_interval_holds_the_truth_as_often_as_it_says(rounds: int) -> None:
    chance, held = random.Random(rounds), 0
    for _ in range(2_000):
        before, after = ([run(math.exp(chance.gauss(0, 0.1)), steps=1) for _ in range(rounds)] for _ in range(2))
        found = compare(before, after)
        held += found.low <= 1 <= found.high
    assert 0.935 < held / 2_000 < 0.965  # three standard deviations of such a share around 95 %


def test_a_planted_gain_is_found_through_the_noise() -> None:
    chance = random.Random(1)
    for _ in range(100):
        weather = [math.exp(chance.gauss(0, 0.5)) for _ in range(6)]  # which both runs of a round meet
        before = [run(each * math.exp(chance.gauss(0, 0.01)), steps=1) for each in weather]
        after = [run(each * math.exp(chance.gauss(0, 0.01)) / 1.2, steps=1) for each in weather]
        found = compare(before, after)
        assert found.low > 1
        assert found.ratio == pytest.approx(1.2, rel=0.05)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ([run(1.0)] * 2, [run(1.0)] * 2, f"at least {LEAST_ROUNDS}"),
        ([run(1.0)] * 3, [run(1.0)] * 4, "3 runs against 4"),
        ([run(1.0)] * 3, [run(1.0), run(1.0), run(1.0, steps=0)], "no measured step"),
    ],
)
def test_what_cannot_be_compared(before: list[Steps], after: list[Steps], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compare(before, after)


@pytest.mark.parametrize(
    ("before", "again", "after", "expected"),
    [
        ((3.0, 2.0), (3.0, 2.0), (3.0, 2.0), (True, None, None)),
        ((3.0, math.nan), (3.0, math.nan), (3.0, math.nan), (True, None, None)),
        ((3.0, 2.0), (3.0, 2.0), (3.0, math.nextafter(2.0, 3)), (False, 2, 2**-52)),
        ((3.0, 2.0, 4.0), (3.0, 2.0, 4.0), (3.0, 2.5, 4.0), (False, 2, 0.25)),
        ((3.0, 2.0), (3.0, 2.0), (3.0, math.nan), (False, 2, None)),
        ((3.0, 2.0), (3.0, 2.0), (None, 2.0), (False, 1, None)),
        ((3.0, 2.0), (3.1, 2.0), (3.0, 2.0), (None, None, None)),
        ((None, None), (None, None), (None, None), (None, None, None)),
    ],
)
def test_losses_are_compared_step_by_step(
    before: tuple[float], again: tuple[float], after: tuple[float], expected: tuple[object, ...]
) -> None:
    runs = [run(0.1, list(losses), len(losses)) for losses in (before, before, again)]
    found = compare(runs, [run(0.1, list(after), len(after))] * 3)
    assert (found.same_losses, found.differ_from, found.differ_by) == expected


def test_a_report_reads_as_it_was_written() -> None:
    variants = [
        Variant("before", [], [], [run(1.0, [0.5, None], 2)] * 3),
        Variant("all fixes", ["PPF201"], ["a.py:3"], [run(at, [0.5, None], 2) for at in (0.9, 0.7, 0.8)]),
    ]
    found = [compare(variants[0].runs, variants[1].runs, "all fixes")]
    report = BenchReport("a.py", ["--x"], "m", {"paddle": "3"}, "2026-01-01", 5, 40, 3, variants, found, ["n"])
    data = json.loads(json.dumps(report.to_json()))
    assert BenchReport.from_json(data) == report
    assert BenchReport.from_json({**data, "later": 1}) == report
    old = {key: value for key, value in found[0].to_json().items() if not key.startswith("differ")}
    assert Comparison.from_json(old) == found[0]


def test_milliseconds_worked_out_by_hand() -> None:
    # Saved are 400, 500 and 600 ms: mean 500, standard deviation 100, and 4.303 * 100 / sqrt(3) to either side.
    found = compare([run(1.0), run(1.0), run(1.0)], [run(0.6), run(0.5), run(0.4)])
    half = 4.303 * 100 / math.sqrt(3)
    assert (found.saved_ms, found.saved_low, found.saved_high) == pytest.approx((500, 500 - half, 500 + half))


def test_steps_of_other_batches_are_not_compared_in_milliseconds() -> None:
    other = [Steps([1.0] * 10, [0.0] * 10, [16] * 10, [None] * 10, 1.0, "cpu")] * 3
    found = compare([run(1.0)] * 3, other)
    assert found.ratio == pytest.approx(2.0)
    assert (found.saved_ms, found.saved_low, found.saved_high) == (None, None, None)


def test_the_width_counts_the_rounds_before_the_first_look_by_themselves() -> None:
    values = [1.0, 2.0, 3.0, 2.0, 2.0, 2.0]  # the first three: s = 1, t = 4.303; all: s = sqrt(2 / 5), t = 2.571
    assert half_width(values) == pytest.approx(2.571 * math.sqrt(2 / 5) / math.sqrt(6))
    assert half_width(values, pilot=3) == pytest.approx(4.303 / math.sqrt(6))
    calm = [2.0, 2.0, 2.0, 1.0, 3.0, 2.0]  # where the later rounds differ more, these decide
    assert half_width(calm, pilot=3) == half_width(calm)
    assert half_width(values[:2], pilot=3) == half_width(values[:2])  # the time limit came before
