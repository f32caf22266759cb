"""What ``perflint bench`` concludes from runs whose truth is known: series drawn here."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest

from perflint.bench.results import Comparison, Report, Steps, Variant
from perflint.bench.statistics import compare


def run(draw: random.Random, step_s: float, steps: int = 40, losses: list[float | None] | None = None) -> Steps:
    """A run with 3 % noise on each step and 1 % on the whole run."""
    speed = draw.gauss(1, 0.01)
    batch = [step_s * speed * draw.gauss(1, 0.03) for _ in range(steps)]
    return Steps(batch, [time / 4 for time in batch], [8] * steps, losses or [None] * steps, 100.0, "cpu")


def runs(seed: int, step_s: float, rounds: int = 5) -> list[Steps]:
    draw = random.Random(seed)
    return [run(draw, step_s) for _ in range(rounds)]


def test_of_the_same_twice_the_interval_holds_1() -> None:
    held = [compare(runs(seed, 0.1), runs(seed + 1000, 0.1)) for seed in range(40)]
    assert sum(item.low <= 1 <= item.high for item in held) >= 36  # 38 of 40 are to be expected
    assert sum(item.high - item.low < 0.1 for item in held) >= 36


@pytest.mark.parametrize("ratio", [1.1, 1.5, 0.8])
def test_a_planted_ratio_is_found(ratio: float) -> None:
    found = compare(runs(1, 0.1), runs(2, 0.1 / ratio))
    assert found.low < ratio < found.high
    assert not found.low <= 1 <= found.high
    assert found.ips_before == pytest.approx(8 / 0.1, rel=0.03)
    assert found.ips_after == pytest.approx(8 / 0.1 * ratio, rel=0.03)
    assert found.gains is (ratio > 1)


def test_steps_that_were_held_up_in_some_rounds_change_little() -> None:
    before, after = runs(3, 0.1), runs(4, 0.1)
    after[0].batch_s[7] = 60.0
    after[3].batch_s[20] = 60.0
    found = compare(before, after)
    assert found.ratio == pytest.approx(1, abs=0.03)


def test_what_comes_at_the_same_step_of_each_round_counts_whole() -> None:
    before, after = runs(5, 0.1), runs(6, 0.1)
    for each in before:
        for step in range(0, 40, 4):
            each.batch_s[step] += 0.4  # ten saves in four seconds of work
    assert compare(before, after).ratio == pytest.approx(2, rel=0.03)


def test_few_rounds_give_a_wide_interval() -> None:
    two, ten = (compare(runs(7, 0.1, rounds), runs(8, 0.1, rounds)) for rounds in (2, 10))
    assert two.high - two.low > 2 * (ten.high - ten.low)


@pytest.mark.parametrize("rounds", [0, 1])
def test_one_round_gives_none(rounds: int) -> None:
    with pytest.raises(ValueError, match="at least two"):
        compare(runs(9, 0.1, rounds), runs(10, 0.1, rounds))


def test_of_runs_of_several_lengths_the_steps_that_all_have_count() -> None:
    before, after = runs(11, 0.1), runs(12, 0.1)
    after[2] = run(random.Random(13), 0.1, steps=10)
    for each in (*before, *after):
        each.batch_s[10:] = [9.0] * len(each.batch_s[10:])
    assert compare(before, after).ips_before == pytest.approx(80, rel=0.05)


def test_the_same_seed_gives_the_same_interval() -> None:
    assert compare(runs(1, 0.1), runs(2, 0.1), 3) == compare(runs(1, 0.1), runs(2, 0.1), 3)


def with_losses(*losses: float | None) -> Steps:
    return run(random.Random(0), 0.1, len(losses), list(losses))


@pytest.mark.parametrize(
    ("before", "again", "after", "expected"),
    [
        ((3.0, 2.0), (3.0, 2.0), (3.0, 2.0), (True, None, None)),
        ((3.0, math.nan), (3.0, math.nan), (3.0, math.nan), (True, None, None)),
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
    found = compare([with_losses(*before), with_losses(*again)], [with_losses(*after)] * 2)
    assert (found.same_losses, found.differ_from, found.differ_by) == expected


def test_a_report_reads_as_it_was_written() -> None:
    variants = [Variant("before", [], [], runs(1, 0.1)), Variant("all fixes", ["PPF201"], ["a.py:3"], runs(2, 0.1))]
    found = [replace(compare(variants[0].runs, variants[1].runs), variant="all fixes")]
    report = Report("a.py", ["--x"], "m", {"paddle": "3"}, "2026-01-01", 5, 40, 5, variants, found, ["n"])
    data = json.loads(json.dumps(report.to_json()))
    assert Report.from_json(data) == report
    assert Report.from_json({**data, "later": 1}) == report
    old = {key: value for key, value in found[0].to_json().items() if not key.startswith("differ")}
    assert Comparison.from_json(old) == found[0]
