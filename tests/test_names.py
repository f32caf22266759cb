"""What a name stands for: import tables of files."""

from __future__ import annotations

import ast

import pytest

from perflint.syntax.names import Names, canonical, dotted
from tests.support import expect_marked, module


def names(text: str, name: str = "", is_package: bool = False) -> Names:
    table = Names(name, is_package)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            table.add_import(node)
    return table


@pytest.mark.parametrize(
    ("statement", "spelling"),
    [
        ("import paddle", "paddle.io.DataLoader"),
        ("import paddle as pd", "pd.io.DataLoader"),
        ("import paddle.io", "paddle.io.DataLoader"),
        ("import paddle.io as pio", "pio.DataLoader"),
        ("from paddle import io", "io.DataLoader"),
        ("from paddle import io as data", "data.DataLoader"),
        ("from paddle.io import DataLoader", "DataLoader"),
        ("from paddle.io import DataLoader as L", "L"),
        ("from paddle.io.reader import DataLoader", "DataLoader"),
        ("from paddle.io import *", "DataLoader"),
        ("import paddle.fluid as fluid", "fluid.io.DataLoader"),
        ("from paddle import fluid", "fluid.reader.DataLoader"),
        ("from paddle.fluid.io import DataLoader", "DataLoader"),
        ("from paddle.io import (\n    Dataset,\n    DataLoader,\n)", "DataLoader"),
        ("import os, paddle.nn as nn, paddle.io as io", "io.DataLoader"),
        ("def build():\n    from paddle.io import DataLoader", "DataLoader"),
        ("try:\n    from paddle.io import DataLoader\nexcept ImportError:\n    pass", "DataLoader"),
    ],
)
def test_every_way_to_import_the_loader(statement: str, spelling: str) -> None:
    assert names(statement).resolve(spelling) == "paddle.io.DataLoader"


@pytest.mark.parametrize(
    ("statement", "spelling", "meaning"),
    [
        ("from torch.utils.data import DataLoader", "DataLoader", "torch.utils.data.DataLoader"),
        ("from pgl.utils.data import Dataloader", "Dataloader", "pgl.utils.data.Dataloader"),
        ("from mypaddle.io import DataLoader", "DataLoader", "mypaddle.io.DataLoader"),
        ("import paddle_torch as paddle", "paddle.io.DataLoader", "paddle_torch.io.DataLoader"),
        ("", "DataLoader", "DataLoader"),
        ("import numpy as np", "np.array", "numpy.array"),
    ],
)
def test_what_only_looks_like_the_loader(statement: str, spelling: str, meaning: str) -> None:
    assert names(statement).resolve(spelling) == meaning


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("paddle.hapi.Model", "paddle.Model"),
        ("paddle.hapi.callbacks.ProgBarLogger", "paddle.callbacks.ProgBarLogger"),
        ("paddle.nn.layer.common.Linear", "paddle.nn.Linear"),
        ("paddle.fluid.save_dygraph", "paddle.save"),
        ("paddle.framework.io.save", "paddle.save"),
        ("paddle.fluid.dygraph.to_variable", "paddle.to_tensor"),
        ("paddle.nn.layers.common.Linear", "paddle.nn.layers.common.Linear"),
        ("torch.hapi.Model", "torch.hapi.Model"),
        ("paddlenlp.hapi.Model", "paddlenlp.hapi.Model"),
    ],
)
def test_old_homes_of_a_name(old: str, new: str) -> None:
    assert canonical(old) == new


@pytest.mark.parametrize(
    ("module_name", "is_package", "statement", "meaning"),
    [
        ("pkg.engine.trainer", False, "from . import helper", "pkg.engine.helper"),
        ("pkg.engine.trainer", False, "from .. import helper", "pkg.helper"),
        ("pkg.engine.trainer", False, "from ..data import helper", "pkg.data.helper"),
        ("pkg.engine", True, "from . import helper", "pkg.engine.helper"),
        ("pkg.engine", True, "from .. import helper", "pkg.helper"),
        ("trainer", False, "from .data import helper", "data.helper"),
        ("trainer", False, "from ..data import helper", "data.helper"),
        ("a.b.c", False, "from ....data import helper", "data.helper"),
        ("a.b.c.d", False, "from .......data import helper", "data.helper"),
    ],
)
def test_relative_imports(module_name: str, is_package: bool, statement: str, meaning: str) -> None:
    assert names(statement, module_name, is_package).resolve("helper") == meaning


def test_own_class_hides_an_import_of_its_name() -> None:
    file = module(
        """
        from paddle.io import DataLoader

        class DataLoader:
            pass
        """
    )
    assert file.names.resolve("DataLoader") == "train.DataLoader"


def test_own_loader_class_is_not_paddles() -> None:
    expect_marked(
        """
        import paddle

        class DataLoader:
            def __init__(self, dataset):
                self.dataset = dataset

        own = DataLoader([1, 2, 3])
        theirs = paddle.io.DataLoader(numbers, shuffle=True)  #: PPF101
        """
    )


def test_a_dotted_name_is_a_chain_of_attributes_on_a_name() -> None:
    def of(text: str) -> str | None:
        return dotted(ast.parse(text, mode="eval").body)

    assert of("a") == "a"
    assert of("a.b.c") == "a.b.c"
    assert of("a().b") is None
    assert of("a[0].b") is None
    assert of("(a).b") == "a.b"
    assert of("1 .real") is None
