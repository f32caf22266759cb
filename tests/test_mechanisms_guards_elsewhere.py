"""What keeps a statement off the hot path from elsewhere: guards in helpers, in callers, and kept by an object."""

from __future__ import annotations

import pytest

from tests.support import expect_reads

HELPER_LOOP = """\
import paddle
from report import {name}


def train(model, loader, optimizer, args):
    for step, images in enumerate(loader):
        loss = model(images).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {call}
"""


def with_helper(helper: str, call: str, name: str = "report") -> dict[str, str]:
    """A step that calls a helper in another file."""
    return {"report.py": helper, "train.py": HELPER_LOOP.format(call=call, name=name)}


PLAIN_REPORT = """\
def report(step, loss):
    print(step, loss.item())
"""


@pytest.mark.parametrize(
    "call",
    [
        "if step % args.log_interval == 0:\n            report(step, loss)",
        "step % 10 or report(step, loss)",
        "if step % 10:\n            continue\n        report(step, loss)",
        "if args.debug:\n            report(step, loss)",
        "for part in (loss, loss * 2):\n            if step == 0:\n                report(step, part)",
    ],
)
def test_a_guard_in_the_caller(call: str) -> None:
    expect_reads(with_helper(PLAIN_REPORT, call))


@pytest.mark.parametrize(
    "call",
    [
        "report(step, loss)",
        "if args.rank == 0:\n            report(step, loss)",
        "if step % 10 == 0:\n            report(step, loss)\n        report(step, loss)",
        "if step % 1 == 0:\n            report(step, loss)",
    ],
)
def test_no_guard_in_the_caller(call: str) -> None:
    expect_reads(with_helper(PLAIN_REPORT.rstrip() + "  #: PPF202\n", call))


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        ("def report(step, loss):\n    if step % 10 == 0:\n        print(loss.item())\n", "report(step, loss)"),
        ("def report(step, loss):\n    if step % 10:\n        return\n    print(loss.item())\n", "report(step, loss)"),
        (
            "def report(step, loss, every=10):\n    if step % every == 0:\n        print(loss.item())\n",
            "report(step, loss)",
        ),
        (
            "def report(step, loss, every):\n    if step % every == 0:\n        print(loss.item())\n",
            "report(step, loss, 50)",
        ),
        (
            "def report(step, loss, every=1):\n    if step % every == 0:\n        print(loss.item())\n",
            "report(step, loss, every=50)",
        ),
        (
            "def report(step, loss, every=1):\n    if step % every == 0:\n        print(loss.item())\n",
            "report(step, loss, args.log_interval)",
        ),
        ("def report(loss, verbose=False):\n    if verbose:\n        print(loss.item())\n", "report(loss)"),
        ("def report(loss, with_value=False):\n    if with_value:\n        print(loss.item())\n", "report(loss)"),
        (
            "def report(loss, with_value=True):\n    if with_value:\n        print(loss.item())\n",
            "report(loss, with_value=False)",
        ),
        ("def report(loss, writer=None):\n    if writer is not None:\n        print(loss.item())\n", "report(loss)"),
        (
            "def report(loss, writer=None):\n    if writer is None:\n        return\n    print(loss.item())\n",
            "report(loss)",
        ),
        (
            "def report(loss, due):\n    if due:\n        print(loss.item())\n",
            "report(loss, step % 10 == 0)",
        ),
        (
            "def report(loss, due):\n    if not due:\n        return\n    print(loss.item())\n",
            "report(loss, due=step % 10 == 0)",
        ),
    ],
)
def test_a_guard_in_the_helper(helper: str, call: str) -> None:
    expect_reads(with_helper(helper, call))


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        (
            "def report(step, loss, every=1):\n    if step % every == 0:\n        print(loss.item())  #: PPF202\n",
            "report(step, loss)",
        ),
        (
            "def report(step, loss, every=10):\n    if step % every == 0:\n        print(loss.item())  #: PPF202\n",
            "report(step, loss, every=1)",
        ),
        (
            "def report(loss, with_value=False):\n    if with_value:\n        print(loss.item())  #: PPF202\n",
            "report(loss, with_value=True)",
        ),
        (
            "def report(loss, verbose=True):\n    if verbose:\n        print(loss.item())  #: PPF202\n",
            "report(loss)",
        ),
        (
            "def report(loss, rank=0):\n    if rank == 0:\n        print(loss.item())  #: PPF202\n",
            "report(loss, args.rank)",
        ),
        (
            "def report(loss, writer=None):\n    if writer is not None:\n        print(loss.item())  #: PPF202\n",
            "report(loss, args.writer)",
        ),
        (
            "def report(loss, due):\n    if due:\n        print(loss.item())  #: PPF202\n",
            "report(loss, True)",
        ),
        (
            "def report(loss, due=False):\n    if due:\n        print(loss.item())  #: PPF202\n",
            "report(loss)\n        report(loss, True)",
        ),
    ],
)
def test_no_guard_in_the_helper(helper: str, call: str) -> None:
    expect_reads(with_helper(helper, call))


def test_a_guard_that_the_object_keeps() -> None:
    expect_reads(
        {
            "meter.py": """\
                class Meter:
                    def __init__(self, every=10):
                        self.every = every
                        self.count = 0

                    def is_due(self):
                        return self.count % self.every == 0

                    def update(self, loss):
                        self.count += 1
                        if self.count % self.every == 0:
                            print(loss.item())
                        if self.is_due():
                            print(loss.item())
                        if self.count % self.every != 0:
                            return
                        print(loss.item())


                class Eager:
                    def __init__(self, every=1):
                        self.count = 0

                    def update(self, loss):
                        self.count += 1
                        print(loss.item())  #: PPF202
                """,
            "train.py": """\
                import paddle
                from meter import Eager, Meter

                def train(model, loader, optimizer):
                    meter, eager = Meter(), Eager()
                    for images in loader:
                        loss = model(images).mean()
                        loss.backward()
                        optimizer.step()
                        optimizer.clear_grad()
                        meter.update(loss)
                        eager.update(loss)
                """,
        }
    )


def test_a_guard_that_a_method_of_the_trainer_answers() -> None:
    expect_reads(
        """
        import paddle


        class Trainer:
            def time_to_log(self):
                return self.step % self.log_interval == 0

            def on_main_process(self):
                return paddle.distributed.get_rank() == 0

            @property
            def due(self):
                return self.step % self.log_interval == 0

            def fit(self, loader):
                for images in loader:
                    loss = self.model(images).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.step += 1
                    if self.time_to_log():
                        print(loss.item())
                    if self.due:
                        print(loss.item())
                    if self.on_main_process():
                        print(loss.item())  #: PPF202
        """
    )


CONFIGURED = """\
import paddle
from configs import Large, Small


def main(model, loader, optimizer, size):
    if size == "small":
        cfg = Small()
    else:
        cfg = Large()
    {change}
    for step, images in enumerate(loader):
        loss = model(images).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step % cfg.ema_steps == 0:
            print(loss.item()){mark}
"""
CONFIGS = """\
class Small:
    def __init__(self):
        self.ema_steps = {small}


class Large:
    def __init__(self):
        self.ema_steps = {large}
"""


@pytest.mark.parametrize(
    ("small", "large", "change", "mark"),
    [
        ("1", "1", "", "  #: PPF202"),
        ("1", "20", "", ""),
        ("20", "20", "", ""),
        ("1", "1", "cfg.ema_steps = 20", ""),
    ],
)
def test_an_interval_that_every_configuration_sets_to_1(small: str, large: str, change: str, mark: str) -> None:
    configs = CONFIGS.format(small=small, large=large)
    expect_reads({"configs.py": configs, "train.py": CONFIGURED.format(change=change or "pass", mark=mark)})
