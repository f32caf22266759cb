"""Where AMP is in use."""

from __future__ import annotations

import ast

import pytest

from perflint.index import amp
from perflint.index.names import Names
from perflint.index.scopes import FileScopes
from tests.support import expect_marked


def turns_on(text: str) -> bool:
    return amp.turns_on_amp(FileScopes(ast.parse(text), Names("m")))


@pytest.mark.parametrize(
    "text",
    [
        "import paddle\nwith paddle.amp.auto_cast():\n    pass\n",
        "import paddle\nwith paddle.amp.auto_cast(enable=args.amp, level='O2'):\n    pass\n",
        "from paddle.amp import auto_cast, GradScaler\nwith auto_cast(True):\n    pass\n",
        "import paddle.amp as amp\nscaler = amp.GradScaler(init_loss_scaling=1024)\n",
        "import paddle\nclass A:\n    def f(self):\n        return paddle.amp.decorate(models=self.m, level='O2')\n",
        "import paddle\nwith paddle.amp.amp_guard():\n    pass\n",
        "import paddle.fluid as fluid\nwith fluid.dygraph.amp_guard():\n    pass\n",
        "import paddle\nmodel = paddle.Model(net)\nmodel.prepare(optimizer, loss, amp_configs='O1')\n",
        "from paddle.amp import *\nscaler = GradScaler()\n",
    ],
)
def test_amp_is_on(text: str) -> None:
    assert turns_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "import paddle\nwith paddle.amp.auto_cast(enable=False):\n    pass\n",
        "import paddle\nwith paddle.amp.auto_cast(False):\n    pass\n",
        "import paddle\nscaler = paddle.amp.GradScaler(enable=False)\n",
        "import torch\nwith torch.cuda.amp.autocast():\n    pass\n",
        "import paddle\n# with paddle.amp.auto_cast():\ntext = 'paddle.amp.auto_cast()'\n",
        "import paddle\nmodel.prepare(optimizer, loss)\n",
        "from paddle.amp import GradScaler\n",
        "def auto_cast(): pass\nauto_cast()\n",
    ],
)
def test_amp_is_off(text: str) -> None:
    assert not turns_on(text)


def test_a_script_speaks_for_its_directory_and_those_below() -> None:
    found = amp.applications([("apps", "seg", "train")], frozenset())
    assert amp.is_under(("apps", "seg", "model"), found)
    assert amp.is_under(("apps", "seg", "models", "unet"), found)
    assert not amp.is_under(("apps", "cls", "model"), found)
    assert not amp.is_under(("apps", "model"), found)
    assert not amp.is_under(("seg", "model"), found)


def test_a_trainer_inside_a_package_speaks_for_the_package() -> None:
    packages = frozenset({("pkg",), ("pkg", "engine"), ("pkg", "models")})
    found = amp.applications([("pkg", "engine", "trainer")], packages)
    assert amp.is_under(("pkg", "models", "unet"), found)
    assert not amp.is_under(("tools", "train"), found)


def test_a_script_at_the_root_speaks_for_all() -> None:
    assert amp.is_under(("models", "unet"), amp.applications([("train",)], frozenset()))


def test_no_amp_anywhere() -> None:
    assert not amp.is_under(("train",), amp.applications([], frozenset({()})))


MODEL = """
import paddle

class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = paddle.nn.Linear(256, 625)MARK
        self.b = paddle.nn.Linear(625, 10)MARK

    def forward(self, x):
        return self.b(self.a(x))
"""
TRAIN = "import paddle\nscaler = paddle.amp.GradScaler()\n"


def test_alignment_matters_only_where_amp_trains_the_file() -> None:
    expect_marked(
        {
            "seg/train.py": TRAIN,
            "seg/models/net.py": MODEL.replace("MARK", "  #: PPF306"),
            "cls/train.py": "import paddle\n",
            "cls/net.py": MODEL.replace("MARK", ""),
            "tests/test_amp.py": TRAIN,
        },
        "PPF306",
    )
