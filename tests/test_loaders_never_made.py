"""Loaders and loops that no program ever gets to: what Paddle refuses to make, and tests that fail in every program."""

from __future__ import annotations

import pytest

from tests.support import check, places

LOOP = """\
import paddle
from paddle.io import BatchSampler, DataLoader, Subset

{made}
for x, y in loader:
    loss = model(x, y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("sampler = Subset(order, order)\nloader = DataLoader(data, batch_size=64, batch_sampler=sampler)", 0),
        ("sampler = BatchSampler(data)\nloader = DataLoader(data, shuffle=True, batch_sampler=sampler)", 0),
        ("loader = DataLoader(data, batch_size=size, batch_sampler=BatchSampler(data))", 0),
        ("loader = DataLoader(data, batch_size=1, batch_sampler=BatchSampler(data))", 1),
        ("loader = DataLoader(data, batch_sampler=BatchSampler(data))", 1),
        ("sampler = choose()\nloader = DataLoader(data, batch_size=8, batch_sampler=sampler)", 1),
        ("loader = DataLoader(data, batch_size=8, batch_sampler=None)", 1),
    ],
)
def test_a_batch_sampler_rules_out_a_batch_size(made: str, count: int) -> None:
    assert len(check({"train.py": LOOP.format(made=made)}, "PPF101")) == count


MAIN = """\
import paddle

if __name__ == "{name}":
    loader = paddle.io.DataLoader(Images(), batch_size=8)
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(float(loss))
"""


def test_no_program_has_the_name_main() -> None:
    assert places({"train.py": MAIN.format(name="main")}, "PPF101", "PPF202") == []
    everything = [("train.py", 4, "PPF101"), ("train.py", 9, "PPF202")]
    assert places({"train.py": MAIN.format(name="__main__")}, "PPF101", "PPF202") == everything
    found = places({"main.py": MAIN.format(name="main")}, "PPF101", "PPF202")  # `import main` runs it
    assert found == [("main.py", 4, "PPF101"), ("main.py", 9, "PPF202")]
