"""Verdicts on findings in repositories that nobody has looked at: two readers, and a third where they differ."""

from __future__ import annotations

from typing import Any

import blind
import pytest


def _places(*codes: str) -> list[dict[str, Any]]:
    return [{"number": number, "code": code} for number, code in enumerate(codes, 1)]


def _verdicts(letters: str, why: str) -> list[dict[str, Any]]:
    return [{"number": number, "verdict": v, "why": why} for number, v in enumerate(letters, 1) if v != "-"]


def test_a_third_reader_decides_where_two_differ() -> None:
    places = _places("PPF101", "PPF201", "PPF201")
    blind.judge(places, _verdicts("RTR", "first"), _verdicts("RWT", "second"), _verdicts("-WF", "third"))
    assert [(place["verdict"], place["why"]) for place in places] == [("R", "second"), ("W", "third"), ("F", "third")]
    assert [place["readers"] for place in places] == [["R", "R"], ["T", "W", "W"], ["R", "T", "F"]]


@pytest.mark.parametrize(("first", "second"), [("R", "T"), ("R", "-"), ("R", "x")])
def test_a_place_that_is_not_judged_is_named(first: str, second: str) -> None:
    with pytest.raises(SystemExit, match="place 1"):
        blind.judge(_places("PPF201"), _verdicts(first, ""), _verdicts(second, ""))


def test_places_that_are_still_reported() -> None:
    judged = [
        {"repo": "a/b", "path": "x.py", "row": 10 * number, "code": code, "verdict": verdict}
        for number, (code, verdict) in enumerate([("PPF201", "R"), ("PPF201", "R"), ("PPF101", "W"), ("PPF201", "F")])
    ]
    found = [  # the row behind, as one of the lines of a finding, and by another rule that waits; another file; none
        {"repo": "a/b", "path": "x.py", "rows": [3, 1], "code": "PPF210"},
        {"repo": "a/b", "path": "x.py", "rows": [20], "code": "PPF201"},
        {"repo": "a/b", "path": "y.py", "rows": [10, 30], "code": "PPF201"},
    ]
    assert blind.again(judged, found).splitlines()[2:] == [
        "| PPF101 | 0 of 0 | 0 of 0 | 0 of 1 | 0 of 0 |",
        "| PPF201 | 1 of 2 | 0 of 0 | 0 of 0 | 0 of 1 |",
        "| **all** | 1 of 2 | 0 of 0 | 0 of 1 | 0 of 1 |",
    ]


def test_a_table_counts_by_rule() -> None:
    places = _places("PPF201", "PPF101", "PPF201")
    blind.judge(places, _verdicts("RWR", ""), _verdicts("RWR", ""))
    drawn = {"perflint": "0123456789", "places": places, "repositories": [{"findings": 3, "lines": 2000}]}
    expected = [{"code": "PPF201", "repo": "a/b", "path": "x.py", "row": row, "also": [row + 1]} for row in (3, 8)]
    expected.append({"code": "none", "repo": "a/b", "path": "x.py", "row": 20, "also": []})
    blind.seen(expected, [{"repo": "a/b", "path": "x.py", "rows": rows} for rows in ([2, 4], [30])])
    text = blind.table(1, drawn, expected)
    assert "| PPF201 | 2 | 2 | 0 | 0 | 0 |" in text
    assert "| **all** | 3 | 2 | 0 | 1 | 0 |" in text
    assert "3 findings in 2,000 lines (1.50 per 1,000); R 0.67, T 0.00, W 0.33, F 0.00" in text
    assert "found 1 of 2 (0.50) that a reader expected" in text
    assert "1 of 3 (0.33) including those that no rule describes" in text
