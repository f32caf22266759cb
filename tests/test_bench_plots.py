"""Where the pictures of the bench page put what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from perflint.bench.page import distribution, forest, reader_share, timeline
from perflint.bench.web_page import Picture, Scale, element, ticks
from tests.bench_reports import FIX, after, before, compared, report, run, variant
from tests.html_pages import SVG


def _picture(drawn: Picture | None) -> ElementTree.Element:
    assert drawn is not None
    return ElementTree.fromstring(drawn.svg("p", "wide"))


def _numbers(parts: Sequence[ElementTree.Element], key: str) -> list[float]:
    return [float(part.get(key, "nan")) for part in parts]


def _parts(root: ElementTree.Element, tag: str, class_: str) -> list[ElementTree.Element]:
    return [part for part in root.iter(SVG + tag) if part.get("class") == class_]


def test_runs_stand_in_the_order_in_which_they_took_turns() -> None:
    root = _picture(timeline(report([before(), after()]), 500))
    groups = root.findall(f"{SVG}g")
    assert [group.get("class") for group in groups] == ["c0", "c1", "c0", "c1"]
    starts = [_numbers(_parts(group, "line", "median"), "x1")[0] for group in groups]
    assert starts == sorted(starts)
    first, second = _parts(root, "rect", "band") + _parts(root, "rect", "band even")
    assert _numbers([first, second], "width") == [223, 223]  # half of 500 less the margins of 46 and 8
    assert float(first.get("x", "")) < starts[0] < starts[1] < float(second.get("x", "")) < starts[2]
    words = [part.text for part in root.iter(f"{SVG}text")]
    assert words.index("round 1") < words.index("round 2")


@pytest.mark.parametrize("width", [340, 1080])
def test_longer_steps_stand_higher_in_proportion(width: float) -> None:
    root = _picture(timeline(report([variant("before", run([0.1, 0.2, 0.3]))]), width))
    low, middle, high = _numbers(list(root.iter(f"{SVG}circle")), "cy")
    assert low - middle == pytest.approx(middle - high, abs=0.02)
    assert low > middle > high
    floor = max(_numbers(_parts(root, "line", "grid"), "y1"))
    assert floor - high == pytest.approx(3 * (floor - low), abs=0.05)


def test_a_step_far_above_all_others_is_marked_and_does_not_flatten_them() -> None:
    root = _picture(timeline(report([variant("before", run([0.1] * 99 + [10.0]))]), 1080))
    (mark,) = _parts(root, "path", "beyond")
    title = mark.find(f"{SVG}title")
    assert title is not None
    assert title.text == "10000 ms"
    heights = _numbers(list(root.iter(f"{SVG}circle")), "cy")
    assert heights[0] - heights[-1] > 100


def test_a_long_run_is_thinned_and_keeps_its_peak() -> None:
    steps = [0.1] * 20000
    steps[12345] = 0.14
    root = _picture(timeline(report([variant("before", run(steps))]), 340))
    (trace,) = _parts(root, "polyline", "trace")
    points = [tuple(map(float, point.split(","))) for point in trace.get("points", "").split()]
    assert len(points) < 1000
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    low, high = max(y for _, y in points), min(y for _, y in points)
    floor = max(_numbers(_parts(root, "line", "grid"), "y1"))
    assert (floor - high) / (floor - low) == pytest.approx(1.4, abs=0.01)


def test_bars_of_the_histogram_count_steps() -> None:
    root = _picture(distribution(report([variant("before", run([0.05] + [0.1] * 3))]), 400))
    fewer, more = sorted(_numbers(_parts(root, "rect", "bar"), "height"))
    assert more == pytest.approx(3 * fewer, abs=0.02)
    places = _numbers(_parts(root, "rect", "bar"), "x")
    assert places == sorted(places)
    (median,) = _parts(root, "line", "median")
    assert places[1] <= float(median.get("x1", "")) <= places[1] + 400 / 40
    assert "median 100 ms" in [part.text for part in root.iter(f"{SVG}text")]


def test_the_bar_of_the_loader_is_its_part_of_the_step() -> None:
    root = _picture(reader_share(report([before(), after()]), 400))
    solid = _numbers(_parts(root, "rect", "bar"), "width")
    whole = _numbers(_parts(root, "rect", "rest"), "width")
    assert [part / all_ for part, all_ in zip(solid, whole, strict=True)] == pytest.approx([110 / 225, 0.16], abs=1e-3)
    assert whole[1] / whole[0] == pytest.approx(125 / 225, abs=1e-3)
    words = [part.text for part in root.iter(f"{SVG}text")]
    assert "110 of 225 ms (49 %)" in words
    assert "20.0 of 125 ms (16 %)" in words


def test_no_waiting_is_no_bar() -> None:
    root = _picture(reader_share(report([variant("before", run([0.1]))]), 400))
    assert _numbers(_parts(root, "rect", "bar"), "width") == [0]


@pytest.mark.parametrize("width", [340, 1080])
def test_twice_and_half_are_as_far_from_1(width: float) -> None:
    both = [compared(2.0, 2.0, "twice"), compared(0.5, 0.5, "half")]
    root = _picture(forest(report([variant("twice"), variant("half")], both), width))
    twice, half = (x + 5 for x in _numbers(_parts(root, "rect", "bar"), "x"))
    (one,) = set(_numbers(_parts(root, "line", "one"), "x1"))
    assert twice - one == pytest.approx(one - half, abs=0.02)
    assert twice > one


def test_an_interval_reaches_from_its_low_to_its_high_end() -> None:
    rows = [compared(0.8, 1.25), compared(1.25, 2.0, "other")]
    root = _picture(forest(report([before(), after(), after("other")], rows), 1080))
    groups = root.findall(f"{SVG}g")
    assert [group.get("class") for group in groups] == ["c1", "c2"]
    first, second = (_parts(group, "line", "whisker")[0] for group in groups)
    (one,) = set(_numbers(_parts(root, "line", "one"), "x1"))
    assert float(first.get("x1", "")) < one < float(first.get("x2", "")) == float(second.get("x1", ""))
    assert [part.text for part in root.iter(f"{SVG}text")].count("1.02 (0.80 to 1.25)") == 1


def test_names_of_the_forest_plot_are_cut_to_the_room_there_is() -> None:
    long = f"PPF101 {'deep/' * 30}train.py:7"
    measured = report([variant(long)], [compared(1.0, 2.0, long)])
    for width in (340, 1080):
        words = [part.text or "" for part in _picture(forest(measured, width)).iter(f"{SVG}text")]
        (name,) = [word for word in words if word.startswith("PPF101")]
        assert name.endswith("train.py:7")
        assert "…" in name


def test_numbers_of_an_axis_do_not_run_into_each_other() -> None:
    for high in (1.06, 1.5, 4.0, 90.0):
        root = _picture(forest(report([after()], [compared(1.0, high)]), 340))
        numbers = [part for part in _parts(root, "text", "label dim") if (part.text or "x")[0].isdigit()]
        places = _numbers(numbers, "x")
        assert "1" in [part.text for part in numbers]
        assert all(after_ - before_ >= 40 for before_, after_ in pairwise(places))


@pytest.mark.parametrize(
    ("high", "expected"),
    [(100, [0, 20, 40, 60, 80, 100]), (9, [0, 2, 4, 6, 8]), (0.03, [0, 0.01, 0.02, 0.03]), (5, [0, 1, 2, 3, 4, 5])],
)
def test_ticks_are_round_and_within_the_axis(high: float, expected: list[float]) -> None:
    assert ticks(high) == pytest.approx(expected)


def test_values_beyond_a_scale_stand_at_its_ends() -> None:
    scale = Scale(1, 100, 0, 10, logarithmic=True)
    assert [scale(value) for value in (0.1, 1, 10, 100, 1e9)] == pytest.approx([0, 0, 5, 10, 10])


def test_attributes_are_escaped() -> None:
    assert element("g", "x", class_='a"<b', y1=2.5) == '<g class="a&quot;&lt;b" y1="2.5">x</g>'


def test_the_picture_of_nothing_is_none() -> None:
    empty = report([variant("before", run([]))])
    assert [draw(empty, 300) for draw in (timeline, distribution, reader_share, forest)] == [None] * 4
    named = forest(report([], [compared(1, 2)]), 1080)
    assert named is not None and FIX in named.svg("f", "wide")
