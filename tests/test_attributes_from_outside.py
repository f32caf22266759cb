"""Attributes that other code than that of a class gives its objects."""

from __future__ import annotations

import pytest

from tests.support import check

TASK = """\
import paddle


class Task:
    def __init__(self, net):
        self.net = net

    def fit(self):
        for x, y in self.trainloader():
            loss = self.net(paddle.to_tensor(x), y)
            loss.backward()
            self.optimizer.step()
"""
MAIN = """\
import paddle


def set_up(task, data):
    {made}
    task.trainloader = found
"""


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            "found = paddle.io.DataLoader(data, batch_size=8, num_workers=2)",
            "a batch that already is a tensor",
        ),
        ("found = data.get_train_dataloader()", "a batch that already is a tensor"),
        ("found = paddle.batch(data.read, batch_size=8)", "let a `DataLoader` create the tensors"),
    ],
)
def test_a_loader_that_another_file_hands_over(made: str, said: str) -> None:
    (finding,) = check({"task.py": TASK, "main.py": MAIN.format(made=made)}, "PPF205")
    assert said in finding.message
