"""How the static trace of a step is compared with what a run has recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from step_against_runs import PAGE, RESULT, rates, table
from trace_parts.against import Compared, Times, compare, total
from trace_parts.against_page import page
from trace_parts.programs import PROGRAMS, is_set_aside

from perflint.flow.resolving import opened
from perflint.trace.step_trace import traces
from tests.support import sources

PROGRAM = """\
import paddle
from paddle.io import DataLoader


def train(model, optimizer, data, args, writer):
    loader = DataLoader(data, num_workers=2)
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        for value in (loss, x):
            print(value.mean().item())
        if args.save:
            paddle.save(model.state_dict(), "model")
        for value in args.values:
            value.numpy()
        paddle.to_tensor(1.0)
"""


def line(kind: str, row: int, times: float = 1.0, share: float = 1.0, **more: Any) -> dict[str, Any]:
    """A line of a recorded run, in the step loop of the program above."""
    found = {"kind": kind, "file": "train.py", "line": row, "times_a_step": times, "share_of_steps": share}
    return {**found, "phase": "step", "what": [kind], "via": [], "note": [], "called": [["train.py", 9]], **more}


def against(*lines: dict[str, Any]) -> Compared:
    return compare({"lines": lines}, list(traces(opened(sources(PROGRAM)))))


def test_a_recorded_line_is_found_by_its_kind_and_statement() -> None:
    found = against(line("host read", 13, 2), line("log", 13, 2), line("host read", 14), line("to_tensor", 18))
    assert [each.is_in_both for each in found.recorded] == [True, True, False, True]
    assert found.counts()["waits"] == [2, 1, 2, 1]


def test_a_line_that_came_in_few_steps_is_no_line_of_each_step() -> None:
    assert against(line("host read", 13, 0.4, 0.4)).recorded == []


def test_what_the_trace_says_and_did_not_happen() -> None:
    found = against(line("host read", 13, 2))
    assert sorted(each.text.partition(":")[2][:9] for each in found.shown if not each.is_in_both) == [
        "13 logs: ",
        "17 waits:",
        "18 copies",
        "6 loads: ",
    ]  # not the save, which a test may leave out


@pytest.mark.parametrize(
    ("row", "kind", "times", "share", "right"),
    [
        (13, "host read", 2, 1, True),
        (13, "host read", 3, 1, False),
        (17, "host read", 5, 1, True),  # once for each of something
        (17, "host read", 1, 1, False),
        (15, "save", 0.6, 0.6, True),
        (15, "save", 2, 1, False),
    ],
)
def test_how_often_a_step_does_it(row: int, kind: str, times: float, share: float, right: bool) -> None:
    (found,) = against(line(kind, row, times, share)).recorded
    assert (found.is_in_both, found.times) == (True, right)


def test_a_loader_is_that_of_its_line_with_its_workers() -> None:
    waits = [line("loader wait", 7, note=[note]) for note in ("2 workers@train.py:6", "0 workers@train.py:6")]
    assert [each.is_in_both for each in against(*waits).recorded] == [True, False]


def test_a_read_of_a_function_that_reads_only_on_a_cpu_is_left_out() -> None:
    assert against(line("host read", 9, via=["paddle.tensor.stat.std"])).recorded == []


def test_times_in_words() -> None:
    assert (str(Times(1, 2)), str(Times(0, 1, True))) == ("1 to 2", "0 to 1 in a loop")


def test_the_sums_and_the_table() -> None:
    rows = {"one": against(line("host read", 13, 2)).counts(), "two": against(line("log", 13, 3)).counts()}
    sums = total(rows.values())
    assert sums["waits"] == [1, 1, 4, 1]
    assert sums["times"] == [2, 1]
    assert rates(sums) == "recall 1.00 (2 of 2), precision 0.20 (2 of 10), times 0.50 (1 of 2)"
    assert [row.split()[0] for row in table(rows)] == ["waits", "one", "two"]


def test_about_half_of_the_programs_are_set_aside_by_their_names() -> None:
    aside = [program.name for program in PROGRAMS if is_set_aside(program.name)]
    assert len(PROGRAMS) >= 40
    assert len(PROGRAMS) * 0.35 < len(aside) < len(PROGRAMS) * 0.65


def test_the_page_shows_the_first_figures_beside_the_last_ones() -> None:
    counts = against(line("host read", 13, 2)).counts()
    before = {**counts, "waits": [1, 0, 2, 1]}
    halves = {"tuned": {"one": before}, "aside": {"two": counts}}
    said = page({"first": halves, "last": {"tuned": {"one": counts}, "aside": {"two": counts}}})
    assert "| one | 0/1, 1/2 → 1/1, 1/2 |" in said
    assert "| two | 1/1, 1/2 |" in said
    assert "| **shares** | 0.00, 0.50 → 1.00, 0.50 |" in said


def test_the_page_is_that_of_the_kept_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(RESULT.read_text(encoding="utf-8")))
