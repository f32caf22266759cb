"""Programs that train one or two small layers, or a small circuit: what is found there has a low impact."""

from __future__ import annotations

import pytest

from perflint.findings import ImpactLevel
from tests.support import check

SCRIPT = """\
import paddle
from paddle.nn import Conv2D, Linear
{more}

WIDTH = 13


class Net(paddle.nn.Layer):
    def __init__(self, width):
        super().__init__()
        {layers}


loader = paddle.io.DataLoader(Rows(), batch_size=10, shuffle=True)
for x, y in loader:
    loss = model(x * paddle.to_tensor([0.5, 1.5]))
    loss.backward()
    optimizer.step()
"""
TWO = "self.first = Linear(in_features=WIDTH, out_features=13)\n        self.second = Linear(13, 1)"


def levels(layers: str, more: str = "", **files: str) -> set[ImpactLevel]:
    found = check({"train.py": SCRIPT.format(layers=layers, more=more), **files}, "PPF101", "PPF205")
    assert [finding.code for finding in found if finding.path == "train.py"] == ["PPF101", "PPF205"]
    return {finding.impact.level for finding in found if finding.impact is not None}


def test_two_small_layers_are_a_toy() -> None:
    assert levels(TWO) == levels("self.only = Linear(784, 10)") == {ImpactLevel.LOW}


def test_a_call_of_a_layer_makes_none() -> None:
    layers = "self.fc = Linear(16, 1)\n\n    def forward(self, x):\n        return self.fc(x)"
    assert levels(layers) == {ImpactLevel.LOW}


CIRCUIT = """\
import paddle
from paddle_quantum.circuit import UAnsatz
{more}

QUBITS = 3


class Search(paddle.nn.Layer):
    def __init__(self, shape):
        super().__init__()
        self.theta = self.create_parameter(shape=shape)

    def forward(self):
        circuit = UAnsatz({qubits})
        circuit.ry(self.theta[0], 0)
        return 1 - paddle.real(circuit.U).trace()


losses = []
for _ in range(1000):
    loss = search()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.append(loss.numpy())
"""


@pytest.mark.parametrize(
    ("qubits", "more", "expected"),
    [
        ("QUBITS", "", ImpactLevel.LOW),
        ("QUBITS", "from units import unitary", ImpactLevel.LOW),
        ("24", "", ImpactLevel.MEDIUM),
        ("paddle.seed", "", ImpactLevel.MEDIUM),
        ("QUBITS", "body = paddle.vision.models.resnet18()", ImpactLevel.MEDIUM),
        ("QUBITS", "from paddlenlp.transformers import BertModel", ImpactLevel.MEDIUM),
        ("QUBITS", "from heads import head", ImpactLevel.MEDIUM),
    ],
)
def test_a_circuit_of_a_few_qubits_is_a_toy(qubits: str, more: str, expected: ImpactLevel) -> None:
    units = "import paddle\nfrom paddle import nn\n\n\ndef unitary():\n    return paddle.eye(8)\n"
    heads = "from paddle.nn import Conv2D\n\n\ndef head():\n    return Conv2D(3, 64, 3)\n"
    text = CIRCUIT.format(qubits=qubits, more=more)
    found = check({"train.py": text, "units.py": units, "heads.py": heads}, "PPF201")
    assert [finding.impact.level for finding in found if finding.impact is not None] == [expected]


@pytest.mark.parametrize(
    ("layers", "more"),
    [
        (TWO + "\n        self.third = Linear(13, 13)", ""),
        ("self.only = Linear(width, 10)", ""),
        ("self.only = Linear(4096, 4096)", ""),
        ("self.only = Linear(8, 8)\n        self.conv = Conv2D(3, 6, 3)", ""),
        ("self.all = []\n        for _ in range(9):\n            self.all.append(Linear(8, 8))", ""),
        (TWO, "import paddlenlp"),
        (TWO, "import backbones"),
    ],
)
def test_more_than_that_is_none(layers: str, more: str) -> None:
    other = {"backbones.py": "import paddle\n\n\nclass Big(paddle.nn.Layer):\n    pass\n"}
    assert ImpactLevel.LOW not in levels(layers, more, **other)


def test_a_small_model_may_wait_for_files() -> None:
    rows = """
class Rows(paddle.io.Dataset):
    def __getitem__(self, index):
        return cv2.imread(self.paths[index]).reshape(-1)
"""
    found = check({"train.py": SCRIPT.format(layers=TWO, more=rows)}, "PPF101", "PPF205")
    assert [finding.impact.level for finding in found if finding.impact] == [ImpactLevel.HIGH, ImpactLevel.LOW]


def test_a_module_with_a_small_layer_trains_nothing_by_itself() -> None:
    layer = """\
import paddle


class Head(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.only = paddle.nn.Linear(8, 8)

    def forward(self, x):
        return self.only(x) * paddle.to_tensor(2.0)
"""
    [finding] = check({"head.py": layer}, "PPF205")
    assert finding.impact is not None
    assert finding.impact.level is ImpactLevel.MEDIUM
