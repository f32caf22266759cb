"""``concise`` and ``--statistics``."""

from __future__ import annotations

import json

import pytest

from perflint.findings import Level
from perflint.output import concise, grouped
from tests.output_samples import PLAIN, SAFE, SHOWN, UNSAFE, finding, rendered, report

pytestmark = pytest.mark.usefixtures("fake_catalogue")


def test_concise_is_one_line_a_finding_with_a_mark() -> None:
    lines = rendered(concise.render, report(SAFE, UNSAFE, SHOWN, PLAIN)).splitlines()
    assert lines == [
        "a.py:3:14: PPF201 [*] It costs time.",
        "a.py:5:10: PPF101 [u] It costs time.",
        "a.py:4:5: PPF401 [s] It costs time.",
        "a.py:2:10: PPF201 [-] It costs time.",
    ]


def test_unsafe_fixes_count_as_applicable_when_asked_for() -> None:
    lines = rendered(concise.render, report(SAFE, UNSAFE, SHOWN, applicable=Level.UNSAFE)).splitlines()
    assert [line.split()[2] for line in lines] == ["[*]", "[*]", "[s]"]


def test_columns_count_code_points() -> None:
    source = "\u635f\u5931\U0001f600 = DataLoader(data)\n"
    shown = finding("PPF101", "DataLoader(data)", None, source=source)
    assert rendered(concise.render, report(shown, source=source)).startswith("a.py:1:7: ")


def test_statistics_count_each_code_and_how_much_of_it_is_fixable() -> None:
    shown = report(SAFE, UNSAFE, SHOWN, PLAIN)
    assert rendered(grouped.render_counts, shown).splitlines() == [
        "2  PPF201  [~]  host-sync-in-step",
        "1  PPF101  [u]  dataloader-no-workers",
        "1  PPF401  [s]  save-in-step-loop",
    ]
    assert "1  PPF101  [*]" in rendered(grouped.render_counts, report(UNSAFE, applicable=Level.UNSAFE))


def test_statistics_line_up_and_the_largest_count_comes_first() -> None:
    lines = rendered(grouped.render_counts, report(UNSAFE, *[SAFE] * 12)).splitlines()
    assert lines == ["12  PPF201  [*]  host-sync-in-step", " 1  PPF101  [u]  dataloader-no-workers"]


def test_statistics_as_json() -> None:
    assert json.loads(rendered(grouped.render_counts_json, report(SAFE, PLAIN))) == [
        {"code": "PPF201", "name": "host-sync-in-step", "count": 2, "fixable": False, "fixable_count": 1}
    ]
