"""PPF201 in static graphs: values that are fetched at each step and used every n steps."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence, Level
from tests.support import check, places

TEXT = """\
import paddle.fluid as fluid

fluid.optimizer.Adam(0.001).minimize(avg_cost)
exe = fluid.Executor(fluid.CUDAPlace(0))
for epoch in range(10):
    for batch_id, data in enumerate(train_reader()):
        cost, acc = exe.run(fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost, accuracy])
        if batch_id % 100 == 0:
            print(epoch, cost[0], acc[0])
"""
PRINT = "        if batch_id % 100 == 0:\n            print(epoch, cost[0], acc[0])\n"


def test_values_that_are_printed_every_hundredth_step() -> None:
    (found,) = check(TEXT, "PPF201")
    assert found.fix is not None
    assert (found.confidence, found.fix.level) == (Confidence.MEDIUM, Level.DISPLAY)
    assert places(TEXT, "PPF201") == [("train.py", 7, "PPF201")]
    assert "only the steps with `batch_id % 100 == 0` use `cost` and `acc`; pass `fetch_list=[]`" in found.message


def test_a_value_that_the_step_prepares_for_the_log() -> None:
    mean = "        cost = np.mean(np.array(cost))\n"
    assert places(TEXT.replace(PRINT, mean + PRINT), "PPF201") == [("train.py", 7, "PPF201")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PRINT, "        print(cost[0], acc[0])\n"),
        (PRINT, f"        total += cost[0]\n{PRINT}"),
        (PRINT, f"        if cost[0] < best:\n            break\n{PRINT}"),
        (PRINT, f"        meter.update(cost)\n{PRINT}"),
        (PRINT, f"{PRINT}    print(cost[0])\n"),
        ("batch_id % 100 == 0", "rank == 0"),
        ("fetch_list=[avg_cost, accuracy]", "fetch_list=[]"),
        ("fetch_list=[avg_cost, accuracy]", "fetch_list=[avg_cost] if batch_id % 100 == 0 else []"),
        ("accuracy])", "accuracy], return_numpy=False)"),
        ("fluid.default_main_program()", "test_program"),
        ("cost, acc =", "self.cost, acc ="),
    ],
)
def test_what_is_needed_at_each_step_or_not_fetched(old: str, new: str) -> None:
    assert old in TEXT
    assert check(TEXT.replace(old, new), "PPF201") == []
