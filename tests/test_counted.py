"""Each rule has a gain in ips or a counted removal, and fixes remove what ``tests/counted/rules.yaml`` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.counted import report
from tests.counted.checking import differences
from tests.counted.counting import count
from tests.counted.page import page
from tests.counted.table import Row, rows

RULES = report.performance_rules()


def test_each_rule_is_timed_or_counted() -> None:
    neither = {rule.code for rule in RULES} - set(rows()) - set(report.timed())
    assert neither == set(), "add a row to tests/counted/rules.yaml, or measure the gain (docs/measuring.md)"


@pytest.mark.parametrize("row", rows().values(), ids=rows())
def test_rows_say_what_changes(row: Row) -> None:
    assert row.code in {rule.code for rule in RULES}
    assert row.removes or row.raises
    assert [name for name, (before, after) in row.removes.items() if before <= after] == []
    assert [name for name, (before, after) in row.raises.items() if before >= after] == []
    assert [name for name, (before, after) in row.keeps.items() if before < after] == []
    assert bool(row.launches) == bool(row.because), "launches that are added need a reason"


def test_fixes_remove_what_the_table_says(tmp_path: Path) -> None:
    """All scripts in one test, since Paddle takes seconds to import; the message names the rules that differ."""
    counts = count(tmp_path.resolve())
    assert [each for code, sides in counts.items() for each in differences(rows()[code], sides)] == []
    expected = report.PAGE.read_text(encoding="utf-8")
    assert report.text(counts) == expected, "docs/counted.md is out of date: python -m tests.counted"


SIDES = {"before": {"host reads": 1, "launches": 7}, "after": {"launches": 9}}


def test_a_fix_that_does_as_its_row_says() -> None:
    assert list(differences(Row("PPF201", {"host reads": (1, 0)}, launches=2, because="a sum"), SIDES)) == []


def test_a_read_that_is_left_is_told() -> None:
    after = {"host reads": 1, "launches": 7}
    found = list(differences(Row("PPF201", {"host reads": (1, 0)}), {"before": SIDES["before"], "after": after}))
    assert found == ["PPF201: host reads: 1 -> 1 were counted, and rules.yaml says 1 -> 0"]


def test_too_many_launches_are_told() -> None:
    found = list(differences(Row("PPF201", {"host reads": (1, 0)}, launches=1, because="a sum"), SIDES))
    assert found == ["PPF201: 2 more launches, and rules.yaml allows 1"]


def test_the_page_says_what_is_neither_timed_nor_counted() -> None:
    rules = [rule for rule in RULES if rule.code in ("PPF201", "PPF102", "PPF204")]
    row = Row("PPF201", {"host reads": (1, 0)}, launches=2, because="a sum")
    text = page({"PPF201": SIDES}, {"PPF201": row}, rules, ["PPF102"])
    assert "host-sync-in-step | host reads | step | 1 | 0 | 7 → 9 |" in text
    assert "* PPF201: 2 more launches: a sum." in text
    assert "shared-memory-off: its gain is measured in ips." in text
    assert "explicit-synchronize: neither measured nor counted." in text


def test_launches_are_those_that_paddle_lists_itself() -> None:
    """Paddle keeps a list of forward operators and updates; the profiler's launches have to agree with its numbers."""
    import paddle

    from tests.counted.launches import Launches

    network = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 3))
    optimizer = paddle.optimizer.Momentum(0.01, parameters=network.parameters())
    x, y = paddle.rand([2, 4]), paddle.to_tensor([0, 2])
    core = paddle.base.core
    paddle.set_flags({"FLAGS_low_precision_op_list": 1})
    try:
        core.clear_low_precision_op_list()
        with Launches() as launches:
            loss = paddle.nn.functional.cross_entropy(network(x), y)
            loss.backward()
            optimizer.step()
        listed = sum(int(number) for types in core.get_low_precision_op_list().values() for number in types.split(","))
    finally:
        paddle.set_flags({"FLAGS_low_precision_op_list": 0})
    forward = {name: number for name, number in launches.kernels.items() if not name.endswith("_grad")}
    assert sum(forward.values()) == listed
    assert launches.kernels["matmul"] == launches.kernels["matmul_grad"] == launches.nodes["matmul"] == 2
    assert launches.kernels["momentum"] == 4
