"""A save into memory makes nobody wait for a disk, and no process writes over the file of another."""

from __future__ import annotations

import pytest

from tests.support import check

PROGRAM = """\
import io
from io import BytesIO

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
net = paddle.DataParallel(paddle.nn.Linear(3, 3))
opt = paddle.optimizer.SGD(parameters=net.parameters())
for epoch in range(3):
    for step, (x, y) in enumerate(paddle.io.DataLoader(data, num_workers=2)):
        loss = paddle.nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.clear_grad()
        {at_each_step}
    {at_each_epoch}
"""


def codes(target: str, at_each_step: bool) -> set[str]:
    """The rules that speak of a save, which ``target`` makes: a block on one row, with the save in it."""
    rows = {"at_each_step": "pass", "at_each_epoch": "pass"}
    rows["at_each_step" if at_each_step else "at_each_epoch"] = target
    return {item.code for item in check(PROGRAM.format(**rows), "PPF401", "PPF402", "PPF403")}


@pytest.mark.parametrize("at_each_step", [True, False])
@pytest.mark.parametrize(
    "target",
    [
        "buffer = BytesIO(); paddle.save(net.state_dict(), buffer)",
        "paddle.save(net.state_dict(), io.BytesIO())",
        "with io.BytesIO() as buffer: paddle.save(net.state_dict(), buffer)",
    ],
)
def test_memory_is_no_file(target: str, at_each_step: bool) -> None:
    assert codes(target, at_each_step) == set()


def test_a_file_is_one() -> None:
    assert codes("path = 'net'; paddle.save(net.state_dict(), path)", True) == {"PPF401"}
    assert codes("with open('net', 'wb') as file: paddle.save(net.state_dict(), file)", False) == {"PPF403"}
