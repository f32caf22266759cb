"""Several files as one project: calls that lead from a step loop into other functions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perflint.flow.resolving import opened
from perflint.trace import hot_path
from perflint.training.steps import points_of
from tests.support import expect_reads, hot_rows, project, sources

LOOP = """\
import paddle
{imports}


def train(model, loader, optimizer):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {call}
"""
HOT = "def note(value):\n    print(value.item())  #: PPF202\n"
COLD = "def note(value):\n    print(value.item())\n"


def loop(imports: str, call: str) -> str:
    return LOOP.format(imports=imports, call=call)


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from tools.log import note", "note(loss)"),
        ("from tools.log import note as remember", "remember(loss)"),
        ("import tools.log", "tools.log.note(loss)"),
        ("import tools.log as log", "log.note(loss)"),
        ("from tools import log", "log.note(loss)"),
        ("from .tools.log import note", "note(loss)"),
        ("from .tools import log as l", "l.note(loss)"),
        ("from tools.log import *", "note(loss)"),
        ("from .tools.log import *", "note(value=loss)"),
    ],
)
def test_a_helper_in_another_file(imports: str, call: str) -> None:
    expect_reads({"train.py": loop(imports, call), "tools/__init__.py": "", "tools/log.py": HOT})


@pytest.mark.parametrize(
    "init",
    [
        "from .log import note\n",
        "from tools.log import note\n",
        "from .log import remember as note\n",
        "from . import log\nfrom .log import *\n",
        "from .middle import note\n",
        "from .middle import *\n",
    ],
)
def test_a_helper_handed_on_by_a_package(init: str) -> None:
    files = {
        "train.py": loop("from tools import note", "note(loss)"),
        "tools/__init__.py": init,
        "tools/middle.py": "from .log import note\n",
        "tools/log.py": HOT,
    }
    if "remember" in init:
        files["tools/log.py"] = HOT.replace("note", "remember")
    expect_reads(files)


def test_a_helper_beside_the_file_in_a_deeper_directory() -> None:
    expect_reads({"apps/seg/train.py": loop("from log import note", "note(loss)"), "apps/seg/log.py": HOT, "x.py": ""})


def test_the_nearest_of_two_modules_with_one_name() -> None:
    expect_reads(
        {
            "a/train.py": loop("from log import note", "note(loss)"),
            "a/log.py": HOT,
            "b/train.py": "import paddle\n",
            "b/log.py": COLD,
        }
    )


@pytest.mark.parametrize(
    "call",
    [
        "step % 10 == 0 and note(loss)",
        "note(loss) if step % 10 == 0 else None",
        "x = [note(v) for v in [loss]] if step == 0 else []",
        "callbacks.append(lambda: note(loss))",
        "\n        if step % 10 == 0:\n            note(loss)",
        "\n        if step % 10:\n            continue\n        note(loss)",
    ],
)
def test_a_helper_called_now_and_then(call: str) -> None:
    expect_reads({"train.py": loop("from log import note", call), "log.py": COLD})


def test_a_helper_called_both_ways_is_hot() -> None:
    call = "note(loss)\n        if step % 10 == 0:\n            note(loss)"
    expect_reads({"train.py": loop("from log import note", call), "log.py": HOT})


def test_a_helper_called_once_an_epoch() -> None:
    text = loop("from log import note", "pass") + "    note(loss)\n"
    expect_reads({"train.py": text, "log.py": COLD})


def test_a_helper_that_guards_itself() -> None:
    helper = (
        "def note(value, step):\n"
        "    if step % 10 != 0:\n"
        "        return\n"
        "    print(value.item())\n"
        "def other(value, step):\n"
        "    if value is None:\n"
        "        return\n"
        "    print(value.item())  #: PPF202\n"
    )
    call = "note(loss, step)\n        other(loss, step)"
    expect_reads({"train.py": loop("from log import note, other", call), "log.py": helper})


def test_methods_bases_and_helpers_of_an_object() -> None:
    expect_reads(
        {
            "base.py": """\
                class Base:
                    def after_step(self, loss):
                        self.hook(loss)

                    def hook(self, loss):
                        print(loss.item())  #: PPF202
                """,
            "meter.py": """\
                class Meter:
                    def __init__(self):
                        self.total = 0.0

                    def update(self, value):
                        self.total += value.item()  #: PPF201

                    def reset(self, value):
                        self.total = value.item()
                """,
            "train.py": """\
                import paddle
                from base import Base
                from meter import Meter

                class Trainer(Base):
                    def __init__(self, model, optimizer):
                        self.model = model
                        self.optimizer = optimizer
                        self.meter: Meter = Meter()

                    def fit(self, loader):
                        for x in loader:
                            loss = self.model(x).mean()
                            loss.backward()
                            self.optimizer.step()
                            self.after_step(loss)
                            self.meter.update(loss)
                """,
        }
    )


def test_objects_in_local_names_and_static_methods() -> None:
    expect_reads(
        """
        import paddle

        class Meter:
            def update(self, value):
                self.total += value.item()  #: PPF201

            @staticmethod
            def show(value):
                print(value.item())  #: PPF202

            @classmethod
            def make(cls, value):
                print(value.item())  #: PPF202

            def __call__(self, value):
                print(value.item())  #: PPF202

        def train(model, loader, optimizer):
            meter = Meter()
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                meter.update(loss)
                Meter.show(loss)
                Meter.make(loss)
                meter(loss)
        """
    )


def test_functions_within_functions() -> None:
    expect_reads(
        """
        import paddle

        def train(model, loader, optimizer):
            def note(value):
                print(value.item())  #: PPF202

            def unused(value):
                print(value.item())

            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                note(loss)
        """
    )


def test_kinds_go_into_helpers_and_come_back() -> None:
    expect_reads(
        {
            "train.py": loop(
                "from tools import reduce, show, spread, many",
                "mean = reduce(loss, 4)\n"
                "        print(mean)  #: PPF202\n"
                "        show(step)\n"
                "        spread(loss=loss, step=step)\n"
                "        many(step, loss)",
            ),
            "tools.py": """\
                def reduce(tensor, world):
                    return tensor / world

                def show(value):
                    float(value)
                    print(value)  #: PPF405

                def spread(**values):
                    for name, value in values.items():
                        float(value)  #: PPF201

                def many(first, *rest):
                    float(first)
                    for value in rest:
                        float(value)  #: PPF201
                """,
        }
    )


def test_recursion_and_cycles_come_to_an_end() -> None:
    expect_reads(
        {
            "train.py": loop("from a import ping", "ping(loss, 3)"),
            "a.py": (
                "from b import pong\n"
                "from c import lost\n"
                "def ping(value, n):\n"
                "    value.item()  #: PPF201\n"
                "    ping(value, n - 1)\n"
                "    lost(value)\n"
                "    return pong(value, n - 1)\n"
            ),
            "b.py": "from a import ping\ndef pong(value, n):\n    return ping(value, n)\n",
            "c.py": "from d import lost\nfrom d import *\n",
            "d.py": "from c import lost\nfrom c import *\n",
        }
    )


def test_classes_that_are_their_own_base_come_to_an_end() -> None:
    expect_reads(
        {
            "a.py": "from b import B\nclass A(B):\n    pass\nclass C(C):\n    pass\n",
            "b.py": "from a import A\nclass B(A):\n    pass\n",
            "train.py": loop("from a import A, C", "A().note(loss)\n        C().note(loss)\n        A.x.y.z(loss)"),
        }
    )


def test_layers_and_evaluation_are_not_followed() -> None:
    expect_reads(
        """
        import paddle

        class Net(paddle.nn.Layer):
            def forward(self, x):
                print(x.shape)
                return x

        def evaluate(model, x):
            print(model(x).mean().item())

        def train(net, loader, optimizer):
            model = Net()
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                evaluate(model, x)
        """
    )


def test_test_code_is_left_alone() -> None:
    text = loop("", "print(loss.item())")
    quiet = ["tests/train.py", "pkg/test_train.py", "pkg/train_test.py", "conftest.py"]
    for path in quiet:
        assert hot_rows({path: text, "x.py": ""})[path] == set()
    for path in ["contest/train.py", "pkg/latest.py", "attestation.py"]:
        assert hot_rows({path: text, "x.py": ""})[path] != set()


def test_a_file_that_does_not_parse_hides_no_other() -> None:
    found = project({"bad.py": "def f(:\n", "train.py": loop("from bad import f", "f(loss)\n        print(loss)")})
    assert found.files["bad.py"].tree.body == []
    assert set(found.broken) == {"bad.py"}
    assert any(point.step for point in points_of(found.files["train.py"]).values())


@pytest.mark.parametrize("path", ["a.b/c.d.py", "./x/../train.py", "/abs/train.py", "train", ".hidden.py", "ünï.py"])
def test_odd_paths(path: str) -> None:
    assert hot_rows({path: loop("", "print(loss)")})[path] != set()


def test_no_files_are_a_project_too() -> None:
    empty = opened({})
    hot_path.analyse(empty)
    assert not empty.files


def test_the_same_function_name_in_two_classes() -> None:
    expect_reads(
        """
        import paddle

        class A:
            def note(self, value):
                print(value.item())  #: PPF202

        class B:
            def note(self, value):
                print(value.item())

        def train(model, loader, optimizer):
            a, b = A(), B()
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                a.note(loss)
        """
    )


SEVERAL = """
import paddle

class Trainer:
    def note(self, loss):
        return loss.item()

    def learn(self, loss):
        loss.backward()
        self.optimizer.step()
        self.note(loss)

    def train_step(self, loss):
        loss.backward()
        self.optimizer.step()
        self.note(loss)

    def train_batch(self, loss):
        loss.backward()
        self.optimizer.step()
        self.note(loss)

    def fit_batch(self, loss):
        loss.backward()
        self.optimizer.step()
        self.note(loss)
"""


def test_messages_do_not_depend_on_the_order_of_sets() -> None:
    script = (
        "import sys\nfrom tests.support import check\nfor finding in check(sys.stdin.read()):\n    print(finding)\n"
    )
    root = Path(__file__).resolve().parents[1]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=SEVERAL,
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(outputs) == 1
    assert "PPF201" in outputs.pop()


def test_sources_come_from_texts_without_reading_files() -> None:
    assert list(sources({"nowhere/a.py": "x = 1\n"})) == ["nowhere/a.py"]
