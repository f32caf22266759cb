"""The table that `perflint bench` prints."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from perflint.bench.figures import (
    difference,
    least_seen,
    number,
    quantile,
    saved,
    sentence,
    shortened,
    summary,
    times,
    verdict,
    width,
)
from perflint.bench.notes import advice
from perflint.bench.table import table
from perflint.text.visible import Palette
from tests.bench_reports import FIX, after, before, compared, degenerate, report, run, variant


def test_a_row_a_variant_with_means_and_spread_over_the_rounds() -> None:
    comparison = compared(1.6, 2.0, saved_ms=100.0, saved_low=80.4, saved_high=119.6)
    lines = table(report([before(), after()], [comparison]), 200).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "ips (rounds) batch_cost reader_cost memory ratio (95 % interval) saved per step losses",
        "before 35.8 (32.0 to 40.0) 225 ms (200 to 250) 110 ms (100 to 120) 512 MiB",
        f"{FIX} 65.3 (53.3 to 80.0) 125 ms (100 to 150) 20.0 ms (20.0 to 20.0) 512 MiB 1.80 (1.60 to 2.00) "
        "100 ms (80 to 120) same faster",
    ]


def test_numbers_stand_under_each_other_also_beside_wide_characters() -> None:
    names = ("PPF101 数据.py:1", "PPF101 data.py:1", "PPF101 d.py:1")
    assert [width(name) for name in names] == [16, 16, 13]
    _, wide, plain, short = table(report([after(name) for name in names]), 160).splitlines()
    assert wide.removeprefix(names[0]) == plain.removeprefix(names[1])
    assert short.removeprefix(names[2]) == "   " + plain.removeprefix(names[1])


@pytest.mark.parametrize(
    ("low", "high", "word", "words"),
    [  # the roots of 1.2 / 0.9, 1.2 / 1.0 and 1.0 / 0.8 are 1.155, 1.095 and 1.118
        (1.6, 2.0, "faster", "1.80 times as fast (95 % interval 1.60 to 2.00)"),
        (
            0.9,
            1.2,
            "no gain measured",
            "no gain measured (ratio 1.05, 95 % interval 0.90 to 1.20): this could only have shown 1.15x or more",
        ),
        (
            1.0,
            1.2,
            "no gain measured",
            "no gain measured (ratio 1.10, 95 % interval 1.00 to 1.20): this could only have shown 1.095x or more",
        ),
        (
            0.8,
            1.0,
            "no gain measured",
            "no gain measured (ratio 0.90, 95 % interval 0.80 to 1.00): this could only have shown 1.12x or more",
        ),
        (0.7, 0.9, "slower", "slower, 0.80 times the ips (95 % interval 0.70 to 0.90)"),
        (1.002, 1.2, "faster", "1.101 times as fast (95 % interval 1.002 to 1.200)"),
        (0.8, 0.9996, "slower", "slower, 0.8998 times the ips (95 % interval 0.8000 to 0.9996)"),
    ],
)
def test_what_the_interval_allows_to_say_is_said_in_words(low: float, high: float, word: str, words: str) -> None:
    comparison = compared(low, high)
    assert verdict(comparison).value == word
    assert sentence(comparison) == words
    measured = report([before(), after()], [comparison])
    assert table(measured, 200).splitlines()[2].endswith(f" {word}")
    assert f"{words}, losses same" in " ".join(table(measured, 110).split())


@pytest.mark.parametrize(("same", "word"), [(True, "same"), (False, "differ"), (None, "not known")])
def test_whether_the_losses_stayed_the_same(same: bool | None, word: str) -> None:
    measured = report([before(), after()], [compared(1.6, 2.0, same_losses=same)])
    assert re.search(rf"\) +{word} +faster$", table(measured, 200))
    assert f"\n  losses       {word}\n" in table(measured, 60)


def test_what_is_compared_stands_below_where_all_columns_have_no_room() -> None:
    assert table(report([before(), after()], [compared(0.9, 1.2, same_losses=False)]), 80) == (
        "                      ips  (rounds)        batch_cost  reader_cost   memory\n"
        "before               35.8  (32.0 to 40.0)      225 ms       110 ms  512 MiB\n"
        "PPF201 train.py:109  65.3  (53.3 to 80.0)      125 ms      20.0 ms  512 MiB\n"
        "\n"
        "PPF201 train.py:109\n"
        "  no gain measured (ratio 1.05, 95 % interval 0.90 to 1.20): this could only\n"
        "    have shown 1.15x or more, losses differ\n"
        "\n"
        "No gain measured does not mean that there is none: these 2 rounds could only\n"
        "have shown 1.15x or more of PPF201 train.py:109. To see 1.05x, ask for --until\n"
        "5%, or for --rounds 18, if the runs keep differing this much.\n"
    )


def test_a_narrow_terminal_gets_a_block_a_variant() -> None:
    assert table(report([before(), after()], [compared(1.6, 2.0)]), 40) == (
        "before\n"
        "  ips          35.8 (32.0 to 40.0)\n"
        "  batch_cost   225 ms (200 to 250)\n"
        "  reader_cost  110 ms (100 to 120)\n"
        "  memory       512 MiB\n"
        "PPF201 train.py:109\n"
        "  1.80 times as fast (95 % interval 1.60\n"
        "    to 2.00)\n"
        "  ips          65.3 (53.3 to 80.0)\n"
        "  batch_cost   125 ms (100 to 150)\n"
        "  reader_cost  20.0 ms (20.0 to 20.0)\n"
        "  memory       512 MiB\n"
        "  losses       same\n"
    )


@pytest.mark.parametrize("columns", [40, 80, 100, 120, 140, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    long = f"PPF101 {'训练/' * 20}加载器.py:1131"
    note = "The processor's clock was not fixed, 所以 the spread may be larger than it would be otherwise."
    measured = report([before(), after(long)], [compared(0.9, 1.2, long)], notes=[note])
    assert max(map(width, table(measured, columns).splitlines())) <= columns
    assert ".py:1131" in table(measured, columns)


def test_colours_change_nothing_but_colours() -> None:
    for low, high, code in ((1.6, 2.0, "32"), (0.9, 1.2, "33"), (0.7, 0.9, "31")):
        measured = report([before(), after()], [compared(low, high)])
        for columns in (160, 90, 50):
            painted = table(measured, columns, Palette(True))
            word = verdict(compared(low, high)).value if columns == 160 else sentence(compared(low, high))[:6]
            assert re.search(rf"\x1b\[{code}m *{word}", painted)
            assert re.sub(r"\x1b\[[\d;]*m", "", painted) == table(measured, columns)


def test_losses_that_differ_are_red() -> None:
    for same, red in ((True, False), (False, True), (None, False)):
        painted = table(report([before(), after()], [compared(1.6, 2.0, same_losses=same)]), 160, Palette(True))
        assert ("\x1b[31m" in painted) == red


def test_text_of_the_report_cannot_steer_the_terminal() -> None:
    measured = report([after("\x1b[2Jtrain.py:1")], notes=["\x1b[2Jdone"])
    for columns in (160, 40):
        assert "\x1b" not in table(measured, columns)


@pytest.mark.parametrize("name", degenerate())
@pytest.mark.parametrize("columns", [30, 60, 200])
def test_a_report_with_little_in_it_is_shown(name: str, columns: int) -> None:
    measured = degenerate()[name]
    shown = table(measured, columns)
    assert all(shown.count(shortened(one.name, columns)) for one in measured.variants)
    assert ("not measured" in shown) == (name in {"no run", "no step", "no time", "compared, but no run"})


def test_figures_of_no_time_are_none_and_unknown_memory_is_left_out() -> None:
    assert summary(variant("x", run([0.0]))) is None
    measured = summary(variant("x", run([0.5], 0.1, peak_memory_mib=0.0)))
    assert measured is not None
    assert (measured.memory_mib, measured.reader_share) == (None, 0.2)


def test_the_ips_are_the_geometric_mean_of_the_rounds_and_costs_their_means() -> None:
    measured = summary(variant("x", run([0.1], 0.02), run([0.4], 0.3)))
    assert measured is not None
    assert (measured.ips.mean, *measured.ips.rounds) == pytest.approx((40, 80, 20))  # 40 * 40 = 20 * 80
    assert (measured.batch_ms.mean, measured.reader_ms.mean) == pytest.approx((250, 160))
    assert (*measured.batch_ms.rounds, *measured.reader_ms.rounds) == pytest.approx((100, 400, 20, 300))
    assert measured.ips.ends == "20.0 to 80.0"


def test_where_losses_differ_is_said() -> None:
    comparison = replace(compared(1.6, 2.0, same_losses=False), differ_from=3, differ_by=0.0012)
    assert difference(comparison) == "from step 3 on, by up to 0.12 %"
    assert difference(replace(comparison, differ_by=None)) == "from step 3 on"
    assert difference(replace(comparison, same_losses=True)) == ""
    assert "  losses       differ from step 3 on" in table(report([before(), after()], [comparison]), 50)


def test_numbers_keep_three_digits_and_quantiles_lie_between() -> None:
    shown = [number(value) for value in (0, 0.01234, 1.234, 12.34, 123.4, 12345.6, -1.5)]
    assert shown == ["0", "0.0123", "1.23", "12.3", "123", "12346", "-1.50"]
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert (quantile([7], 0.9), quantile([0, 10], 0.95)) == (7, 9.5)
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_a_long_path_loses_its_middle_and_no_half_of_a_wide_character() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 7) == "ab…ghij"
    assert shortened("数据数据数据", 7) == "数…数据"


@pytest.mark.parametrize(
    ("figures_", "shown"),
    [
        ((0.541, 0.482, 0.6), "0.541 ms (0.482 to 0.600)"),
        ((12.34, 10.1, 14.5), "12.3 ms (10.1 to 14.5)"),
        ((-160.0, -470.0, 150.0), "-160 ms (-470 to 150)"),
        ((-0.04, -1.1, 1.02), "0.0 ms (-1.1 to 1.0)"),
        ((2.0, 2.0, 2.0), "2.00 ms (2.00 to 2.00)"),
        ((0.0, 0.0, 0.0), "0 ms (0 to 0)"),
        ((None, None, None), ""),
        ((float("nan"), 1.0, 2.0), ""),
    ],
)
def test_milliseconds_saved_have_the_digits_that_their_interval_allows(
    figures_: tuple[float | None, float | None, float | None], shown: str
) -> None:
    middle, low, high = figures_
    comparison = compared(1.6, 2.0, saved_ms=middle, saved_low=low, saved_high=high)
    assert saved(comparison) == shown
    assert sentence(comparison).endswith(f"; saved per step: {shown}" if shown else "2.00)")


def test_the_least_gain_that_would_have_been_seen_follows_from_the_interval() -> None:
    # A ratio r with the interval r / f to r * f lies above 1 from r = f on: f * f = 1.45 / 0.24.
    wide = compared(0.24, 1.45)
    assert least_seen(wide) ** 2 == pytest.approx(1.45 / 0.24)
    assert sentence(wide).endswith("0.24 to 1.45): this could only have shown 2.5x or more")
    assert [times(value) for value in (2.46, 1.155, 1.0035, 1.05, 12.4, 2.0)] == [
        *("2.5x", "1.16x", "1.0035x", "1.05x", "12.4x", "2x")
    ]
    assert least_seen(compared(0.0, 2.0)) == float("inf")


def test_advice_is_given_only_where_the_interval_hides_a_gain_that_is_worth_it() -> None:
    def told(low: float, high: float) -> list[str]:
        return advice(report([before(), after()], [compared(low, high)], rounds=5))

    (said,) = told(0.8, 1.25)
    # From half a width of log(1.25) to log(1.05) it takes 4.573 ** 2 = 20.9 times as many rounds.
    assert said.endswith("To see 1.05x, ask for --until 5%, or for --rounds 105, if the runs keep differing this much.")
    assert f"these 5 rounds could only have shown 1.25x or more of {FIX}. " in said
    assert told(0.98, 1.02) == told(1.2, 1.4) == told(0.0, float("inf")) == told(0.7, 0.8) == []


def test_the_event_of_a_fix_that_wins_is_named() -> None:
    one = variant(FIX, run([0.1]), fixes=[FIX], event="a wait for the device")
    known: dict[str, Any] = {"saved_ms": 1.0, "saved_low": 0.9, "saved_high": 1.1}
    (said,) = advice(report([before(), one], [replace(compared(1.6, 2.0), **known)]))
    assert said.startswith(f"{FIX} is about a wait for the device, once a step: ")
    assert advice(report([before(), one], [replace(compared(0.99, 1.01), **known)])) == []
    assert advice(report([before(), one], [compared(1.6, 2.0)])) == []


def test_fixes_that_no_name_says_are_listed() -> None:
    whole = variant("all fixes", run([0.1]), fixes=["PPF201 a.py:3", "PPF101 a.py:9"])
    alone = [variant(name, run([0.1]), fixes=[name]) for name in whole.fixes]
    assert "\nall fixes: PPF201 a.py:3, PPF101 a.py:9\n" in table(report([before(), whole]), 100)
    assert "all fixes:" not in table(report([before(), *alone, whole]), 100)
