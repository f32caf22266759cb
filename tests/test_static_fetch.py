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
        (PRINT, f"        total += cost[0]\n{PRINT}"),
        (PRINT, f"        if cost[0] < best:\n            break\n{PRINT}"),
        (PRINT, f"        meter.update(cost)\n{PRINT}"),
        (PRINT, f"{PRINT}    print(cost[0])\n"),
        ("fetch_list=[avg_cost, accuracy]", "fetch_list=[]"),
        ("fetch_list=[avg_cost, accuracy]", "fetch_list=[avg_cost] if batch_id % 100 == 0 else []"),
        (PRINT, "        total = total + cost[0]\n        if batch_id % 100 == 0:\n            print(total, acc)\n"),
        (PRINT, "        print(cost[0], acc[0])\n        if acc[0] > 0.9:\n            break\n"),
        ("accuracy])", "accuracy], return_numpy=False)"),
        ("fluid.default_main_program()", "test_program"),
        ("cost, acc =", "self.cost, acc ="),
    ],
)
def test_what_is_needed_at_each_step_or_not_fetched(old: str, new: str) -> None:
    assert old in TEXT
    assert check(TEXT.replace(old, new), "PPF201") == []


LOGGED = "copies what it fetches to the host and waits for the device at each step of the loop at line 6, only to log "


@pytest.mark.parametrize(
    "uses",
    [
        "        print(cost[0], acc[0])\n",
        f"        writer.add_scalar('cost', cost[0], batch_id)\n{PRINT}",
        "        line = ''\n        line += str(cost[0])\n        line += str(acc[0])\n        print(line)\n",
    ],
)
def test_values_that_each_step_only_logs(uses: str) -> None:
    (found,) = check(TEXT.replace(PRINT, uses), "PPF201")
    assert f"{LOGGED}`cost` and `acc`; log every n steps, and pass `fetch_list=[]` on the others." in found.message


def test_a_text_that_goes_on_from_step_to_step_needs_each_value() -> None:
    longer = "        line += str(cost[0])\n        print(line)\n"
    assert check(TEXT.replace(PRINT, longer), "PPF201") == []


RETURNED = """\
import paddle.fluid as fluid

fluid.optimizer.Adam(0.001).minimize(avg_cost)
exe = fluid.Executor(fluid.CUDAPlace(0))


def step_with(data):
    cost, acc = exe.run(fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost, accuracy])
    return {"cost": cost, "acc": acc}


for batch_id, data in enumerate(train_reader()):
    values = step_with(data)
    values = {key: value[0] for key, value in values.items()}
    if batch_id % 100 == 0:
        print(values)
"""


def test_values_that_a_function_hands_to_the_step_loop() -> None:
    (found,) = check(RETURNED, "PPF201")
    assert "only the steps with `batch_id % 100 == 0` use `values`;" in found.message
    assert check(RETURNED.replace("    if batch_id", "    meter.update(values)\n    if batch_id"), "PPF201") == []


def test_a_step_method_that_is_known_by_its_name() -> None:
    model = (
        "import paddle\n\npaddle.enable_static()\n\n\nclass Model:\n"
        "    def _execute(self, program, feed, fetches):\n        return self.exe.run(program, feed, fetches)\n\n"
        "    def train_step(self, feed):\n        return self._execute(self.train_program, feed, self.fetches)\n"
    )
    train = (
        "from model import Model\n\n\ndef main(loader, model: Model):\n    for step, data in enumerate(loader):\n"
        "        values = model.train_step(data)\n        if step % 100 == 0:\n            print(values)\n"
    )
    (found,) = check({"model.py": model, "train.py": train}, "PPF201")
    assert found.path == "model.py"
    assert "only the steps with `step % 100 == 0` use `values` at train.py:8;" in found.message
    assert (
        check({"model.py": model, "train.py": train.replace("        if", "        meter(values)\n        if")}) == []
    )
