"""What constructing a class of the project gives: a layer, data, or any other object."""

from __future__ import annotations

import pytest

from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from tests.support import project


@pytest.mark.parametrize(
    ("bases", "is_layer"),
    [
        ("nn.Layer", True),
        ("Block", True),
        ("toolkit.Module", True),  # not in the project: it has a `forward`, so it may be a layer
        ("Unseen", True),
        ("ABC", False),
        ("Transform", False),
        ("Transform, nn.Layer", True),
        ("object", False),
    ],
)
def test_a_class_with_a_forward_is_a_layer_unless_all_its_bases_are_seen(bases: str, is_layer: bool) -> None:
    text = (
        "import toolkit\nfrom abc import ABC\nfrom paddle import nn\n"
        "class Block(nn.Layer):\n    pass\n"
        "class Unseen(toolkit.Base):\n    pass\n"
        "class Transform(ABC):\n    def forward(self, data):\n        pass\n"
        f"class Net({bases}):\n    def forward(self, x):\n        return x\n"
    )
    known = project({"net.py": text})
    file = known.files["net.py"]
    kind = Modules.of(known).kind_of_instance(file, file.scopes.classes["Net"])
    assert (kind.tag == LAYER_TAG) is is_layer
