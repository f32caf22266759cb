"""Objects whose attributes a function sets, by the arguments it makes them with or by methods that it calls."""

from __future__ import annotations

import pytest

from tests.support import check, in_step

NOTER = """\
import paddle


class Noter:
    def __init__(self, sync=False, kind="mean"):
        self.sync = sync
        self.kind = kind

    def note(self, value):
        if self.sync:
            self.read(value)
        if self.kind == "last":
            self.last = value.numpy()

    def read(self, value):
        self.seen.append(value.item())


"""


@pytest.mark.parametrize(
    ("made", "reads"),
    [
        ("Noter()", set()),
        ("Noter(sync=True)", {"value.item()"}),
        ("Noter(True, 'last')", {"value.item()", "value.numpy()"}),
        ("Noter(kind='last')", {"value.numpy()"}),
        # Nobody knows what the user asks for, or what has been stored later.
        ("Noter(args.sync)", {"value.item()"}),
        ("Noter(*args)", {"value.item()", "value.numpy()"}),
        ("Noter()\n    noter.sync = True", {"value.item()"}),
    ],
)
def test_what_an_object_is_made_with(made: str, reads: set[str]) -> None:
    step = in_step("noter.note(loss)").replace("    for ", f"    noter = {made}\n    for ", 1)
    others = "\n\ndef other(loss):\n    Noter(True, 'last').note(loss)\n"
    text = NOTER + step + others
    assert {text[item.start : item.end] for item in check(text, "PPF201")} == reads


RUNNER = """\
import paddle


class Runner:
    def __init__(self):
        self.mode = None

    def setup(self, layer, optimizer):
        self.mode = "TRAIN"
        self.layer, self.optimizer = layer, optimizer

    def load_model(self, path):
        self.mode = "INFER"
        self.layer = paddle.jit.load(path)

    def run(self, x, y):
        if self.mode == "TRAIN":
            return self.run_for_train(x, y)
        return self.layer(x)

    def run_for_train(self, x, y):
        loss = self.layer(x, y)
        loss.backward()
        self.optimizer.step()
        return loss


def main(loader, layer, optimizer):
    runner = Runner()
    {prepare}
    for x, y in loader:
        loss = runner.run(x, y)
        print(loss.item())
"""


@pytest.mark.parametrize(
    ("prepare", "trains"),
    [
        ("runner.setup(layer, optimizer)", True),
        ("runner.load_model('net')", False),
        ("runner.load_model('net')\n    runner.setup(layer, optimizer)", True),
        ("prepare(runner)", True),
    ],
)
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_the_mode_that_methods_put_an_object_into(prepare: str, trains: bool, is_elsewhere: bool) -> None:
    text = RUNNER.replace("{prepare}", prepare)
    if is_elsewhere:
        runner, main = text.split("\n\ndef main")
        files = {"runner.py": runner, "main.py": f"from runner import Runner\n\n\ndef main{main}"}
        assert bool(check(files, "PPF201", "PPF202")) is trains
    else:
        assert bool(check(text, "PPF201", "PPF202")) is trains


def test_an_object_that_changes_its_own_mode() -> None:
    text = RUNNER.replace("{prepare}", "runner.load_model('net')").replace(
        "        if self.mode", "        self.setup(self.layer, self.optimizer)\n        if self.mode"
    )
    assert check(text, "PPF201", "PPF202")
