"""What is said beside the figures of a measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perflint.bench import notes
from perflint.bench.results import Rounds, Variant, compare
from tests.bench_reports import compared, run

BEFORE = Variant("before", [], [], [run([0.1, 0.1], losses=[1.0, 2.0])] * 3)


def after(*codes: str) -> Variant:
    return Variant("all fixes", list(codes), [], [run([0.1, 0.1], losses=[1.0, 2.5])] * 3)


@pytest.mark.parametrize(
    ("codes", "why"),
    [
        (["PPF101", "PPF201"], "That can come from PPF101 (with a fixed seed the shuffle order and "),
        (["PPF201"], "Safe fixes must not do that: please report it at https://"),
        ([], ""),
    ],
)
def test_other_losses_are_explained(codes: list[str], why: str) -> None:
    fixed = after(*codes)
    (note,) = notes.of_losses(BEFORE, [fixed], [compare(BEFORE.runs, fixed.runs, fixed.name)])
    start = "all fixes: the losses differ from before from measured step 2 on, by up to 0.25 of the loss."
    assert note.startswith(f"{start} {why}".rstrip())
    assert (note == start) == (not why)


def test_nothing_is_said_where_nothing_is_to_be_said() -> None:
    same = replace(BEFORE, name="all fixes")
    assert notes.of_losses(BEFORE, [same], [compare(BEFORE.runs, same.runs, same.name)]) == []
    assert (
        notes.of_time(Rounds(5), 5, [])
        == notes.of_steps(2, [BEFORE])
        == notes.of_files([], [])
        == notes.of_failures([])
        == []
    )


def test_a_time_limit_that_came_before_the_intervals_were_narrow_is_told() -> None:
    wide, narrow = compared(0.8, 1.25), compared(0.97, 1.01)
    (said,) = notes.of_time(Rounds(3, 0.05), 7, [narrow, wide])
    assert said == (
        "The time limit was reached after 7 rounds, before all intervals were within 5 %: "
        "the widest reaches 25 % above its ratio."
    )
    assert notes.of_time(Rounds(3, 0.05), 7, [narrow]) == []
    assert notes.of_time(Rounds(5), 3, [wide]) == [
        "The time limit was reached after 3 of 5 rounds: those are compared."
    ]


def test_revisions_are_named_where_losses_differ() -> None:
    older = replace(BEFORE, name="HEAD~1 (1a2b3c4)")
    newer = replace(after(), name="working tree")
    (note,) = notes.of_losses(older, [newer], [compare(older.runs, newer.runs, newer.name)])
    assert note.startswith("working tree: the losses differ from HEAD~1 (1a2b3c4) from measured step 2 on")


def test_many_files_are_counted() -> None:
    linked, written = notes.of_files([f"{number}.npy" for number in range(7)], ["0.npy"])
    assert linked == "Linked into the copies rather than copied: 0.npy, 1.npy, 2.npy, 3.npy, 4.npy and 2 more."
    assert written == "CHANGED in your own project, since the script wrote to them as linked files: 0.npy."
