"""How a report is worked out from what the profiler has noted: two steps of 20 ms, on paper."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from perflint.bench.script_run import Outcome, Plan
from perflint.profile.profile_report import PhaseTime, ProfileReport, summed_up
from tests.bench_reports import run

TEXT = "first = 1\n    second = 2  # 損失\nthird = 3\n"


def spent(kind: str, line: int, seconds: float, times: int, **changes: Any) -> dict[str, Any]:
    """What was charged in both steps together."""
    values = {"what": kind, "via": "", "path": "train.py", "note": "", "evaluating": False}
    return {"kind": kind, "line": line, "seconds": seconds, "times": times, **values, **changes}


def other(line: int, seconds: float) -> dict[str, Any]:
    return spent("other", line, seconds, 0, what="other code", note="after this line")


def report(root: Path, charged: list[dict[str, Any]], looks: list[list[Any]], text: str = TEXT) -> ProfileReport:
    (root / "train.py").write_text(text, encoding="utf-8")
    noted = {
        "spent": charged,
        "sampled": looks,
        "sha256": {"train.py": hashlib.sha256(TEXT.encode()).hexdigest()},
    }
    outcome = Outcome(run([0.018, 0.022]), {"python": "3.11", "paddle": "3"}, "2 cores", ["train.py"], 9.0, noted)
    return summed_up(Plan(root, Path("train.py"), Path(), [], "python"), outcome)


def test_means_of_a_step_and_shares_of_it(tmp_path: Path) -> None:
    found = report(tmp_path, [spent("reader", 1, 0.010, 2), spent("save", 3, 0.004, 1)], [])
    assert (found.step_ms.mean, found.step_ms.median) == (20, 20)
    assert found.step_ms.p95 == pytest.approx(21.8)
    assert found.ips == 400  # 8 samples in each of two steps, which take 40 ms together
    assert [(event.line, event.ms, event.share, event.times) for event in found.events] == [
        (1, 5, 0.25, 1),
        (3, 2, 0.1, 0.5),
    ]
    assert found.phases["reader"] == PhaseTime(5, 0.25)
    assert found.phases["other"] == PhaseTime(13, 0.65)  # what nothing was charged with


def test_a_cheap_call_has_a_share(tmp_path: Path) -> None:
    found = report(tmp_path, [spent("read", 1, 0.0000012, 2)], [])
    assert [(event.ms, event.share) for event in found.events] == [(0.001, 0.00003)]


def test_more_precise_kinds_belong_to_a_phase(tmp_path: Path) -> None:
    kinds = ("read", "sized", "wait", "sleep", "evaluate", "collect")
    found = report(tmp_path, [spent(kind, 1, 0.002, 2) for kind in kinds], [])
    assert {event.kind: event.phase for event in found.events} == {
        **dict.fromkeys(("read", "sized", "wait"), "read"),
        **dict.fromkeys(("sleep", "evaluate", "collect"), "other"),
    }
    assert found.phases["read"].ms == 3


def test_code_between_two_calls_is_divided_among_the_lines_that_were_seen(tmp_path: Path) -> None:
    looks = [["train.py", 1, "train.py", 2, 3], ["train.py", 1, "net.py", 9, 1], ["train.py", 3, "train.py", 3, 2]]
    found = report(tmp_path, [other(1, 0.016), other(3, 0.008)], looks)
    assert [(event.place, event.ms, event.note) for event in found.events] == [
        ("train.py:2", 6, "by sampling"),
        ("train.py:3", 4, "after this line"),  # two looks say little
        ("net.py:9", 2, "by sampling"),
    ]
    assert found.phases["other"].ms == 20


def test_code_before_the_first_call_has_no_line(tmp_path: Path) -> None:
    found = report(tmp_path, [spent("other", 0, 0.016, 0, path="")], [])
    assert (found.events, found.phases["other"].ms) == ([], 20)


def test_a_line_is_quoted_as_it_was_run(tmp_path: Path) -> None:
    charged = [spent("read", 2, 0.002, 2), spent("read", 99, 0.001, 2), spent("read", 1, 0.001, 2, path="gone.py")]
    assert [event.source for event in report(tmp_path, charged, []).events] == ["second = 2  # 損失", "", ""]
    assert [event.source for event in report(tmp_path, charged, [], "changed\n\n").events] == ["", "", ""]
