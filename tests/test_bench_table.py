"""The table that `perflint bench` prints."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from perflint.bench.figures import difference, figures, number, quantile, sentence, verdict
from perflint.bench.labels import shortened, width
from perflint.bench.table import table
from perflint.text.colour import Palette
from tests.bench_reports import FIX, after, before, compared, degenerate, report, run, variant


def test_a_row_a_variant_with_means_and_spread_over_the_rounds() -> None:
    lines = table(report([before(), after()], [compared(1.6, 2.0)]), 200).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "ips (rounds) batch_cost reader_cost memory ratio (95 % interval) losses",
        "before 35.8 (32.0 to 40.0) 225 ms (200 to 250) 110 ms (100 to 120) 512 MiB",
        f"{FIX} 65.3 (53.3 to 80.0) 125 ms (100 to 150) 20.0 ms (20.0 to 20.0) 512 MiB 1.80 (1.60 to 2.00) same faster",
    ]


def test_numbers_stand_under_each_other_also_beside_wide_characters() -> None:
    names = ("PPF101 数据.py:1", "PPF101 data.py:1", "PPF101 d.py:1")
    assert [width(name) for name in names] == [16, 16, 13]
    _, wide, plain, short = table(report([after(name) for name in names]), 160).splitlines()
    assert wide.removeprefix(names[0]) == plain.removeprefix(names[1])
    assert short.removeprefix(names[2]) == "   " + plain.removeprefix(names[1])


@pytest.mark.parametrize(
    ("low", "high", "word", "words"),
    [
        (1.6, 2.0, "faster", "1.80 times as fast (95 % interval 1.60 to 2.00)"),
        (0.9, 1.2, "no gain measured", "no gain measured (ratio 1.05, 95 % interval 0.90 to 1.20)"),
        (1.0, 1.2, "no gain measured", "no gain measured (ratio 1.10, 95 % interval 1.00 to 1.20)"),
        (0.8, 1.0, "no gain measured", "no gain measured (ratio 0.90, 95 % interval 0.80 to 1.00)"),
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
    assert table(measured, 200).splitlines()[-1].endswith(f" {word}")
    assert f"\n  {words}, losses same\n" in table(measured, 110)


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
        "  no gain measured (ratio 1.05, 95 % interval 0.90 to 1.20), losses differ\n"
    )


def test_a_narrow_terminal_gets_a_block_a_variant() -> None:
    assert table(report([before(), after()], [compared(0.9, 1.2)]), 40) == (
        "before\n"
        "  ips          35.8 (32.0 to 40.0)\n"
        "  batch_cost   225 ms (200 to 250)\n"
        "  reader_cost  110 ms (100 to 120)\n"
        "  memory       512 MiB\n"
        "PPF201 train.py:109\n"
        "  no gain measured (ratio 1.05, 95 %\n"
        "    interval 0.90 to 1.20)\n"
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
    assert figures(variant("x", run([0.0]))) is None
    measured = figures(variant("x", run([0.5], 0.1, peak_memory_mib=0.0)))
    assert measured is not None
    assert (measured.memory_mib, measured.reader_share) == (None, 0.2)


def test_the_ips_are_the_geometric_mean_of_the_rounds_and_costs_their_means() -> None:
    measured = figures(variant("x", run([0.1], 0.02), run([0.4], 0.3)))
    assert measured is not None
    assert (measured.ips, measured.slowest, measured.fastest) == pytest.approx((40, 20, 80))  # 40 * 40 = 20 * 80
    assert (measured.batch_ms, measured.reader_ms) == pytest.approx((250, 160))
    assert (*measured.batch_spread, *measured.reader_spread) == pytest.approx((100, 400, 20, 300))


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
