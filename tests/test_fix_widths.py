"""PPF306 fixed in code as people format it: pad and slice."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from perflint.findings import Level
from tests.support import fixed, levels


def network(layers: str, forward: str) -> str:
    return (
        "import paddle\nfrom paddle import nn\n\n\nclass Net(nn.Layer):\n"
        "    def __init__(self):\n        super().__init__()\n"
        + indent(dedent(layers).strip("\n"), " " * 8)
        + "\n\n    def forward(self, x):\n"
        + indent(dedent(forward).strip("\n"), " " * 8)
        + "\n\n\nscaler = paddle.amp.GradScaler()\n"
    )


@pytest.mark.parametrize(
    ("layers", "forward", "new_layers", "new_forward"),
    [
        (
            "self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)",
            "return self.b(self.a(x))",
            "self.a = nn.Linear(256, 632)\nself.b = nn.Linear(625, 8)",
            "return self.b(self.a(x)[..., :625])",
        ),
        (
            "self.a = nn.Linear(\n    256,\n    out_features = 625,  # wide\n)\nself.b = nn.Linear(625, 8)",
            "y = self.a(\n    x,\n)  # one\nz = self.a(y) + 1\nreturn self.b(z)",
            "self.a = nn.Linear(\n    256,\n    out_features = 632,  # wide\n)\nself.b = nn.Linear(625, 8)",
            "y = self.a(\n    x,\n)[..., :625]  # one\nz = self.a(y)[..., :625] + 1\nreturn self.b(z)",
        ),
        (
            "self.a = nn.Conv2D(64, 100, 3, padding=1)\nself.b = nn.Conv2D(100, 64, 3)",
            "return self.b(nn.functional.relu(self.a(x)))",
            "self.a = nn.Conv2D(64, 104, 3, padding=1)\nself.b = nn.Conv2D(100, 64, 3)",
            "return self.b(nn.functional.relu(self.a(x)[:, :100]))",
        ),
    ],
)
def test_a_hidden_width_is_padded_and_sliced(layers: str, forward: str, new_layers: str, new_forward: str) -> None:
    text = network(layers, forward)
    assert fixed(text, "PPF306") == text
    assert fixed(text, "PPF306", level=Level.UNSAFE) == network(new_layers, new_forward)


@pytest.mark.parametrize(
    ("layers", "forward"),
    [
        ("n = 625\nself.a = nn.Linear(256, n)\nself.b = nn.Linear(n, 8)", "return self.b(self.a(x))"),
        ("self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(self.a(x) @ self.a.weight.T)"),
        ("self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "f = self.a\nreturn self.b(f(x))"),
        ("self.a = nn.Sequential(nn.Linear(256, 625), nn.ReLU(), nn.Linear(625, 8))", "return self.a(x)"),
        ("self.a = nn.Linear(100, 64)\nself.b = nn.Linear(64, 8)", "return self.b(self.a(x))"),
        ("self.a = self.c = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(self.a(self.c(x)))"),
        (
            "self.a = nn.Linear(256, 625)\nself.a = nn.Linear(128, 625)\nself.b = nn.Linear(625, 8)",
            "return self.b(self.a(x))",
        ),
        ("self.a = nn.Linear(256, 625)\nself.b = nn.Linear(625, 8)", "return self.b(x)"),
    ],
)
def test_widths_that_a_person_has_to_change(layers: str, forward: str) -> None:
    text = network(layers, forward)
    assert set(levels(text, "PPF306")) == {Level.DISPLAY}
    assert fixed(text, "PPF306", level=Level.UNSAFE) == text
