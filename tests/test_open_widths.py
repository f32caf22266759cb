"""Which files can hold a misaligned width: all that do, and few others."""

from __future__ import annotations

import pytest

from perflint.rules import alignment, width_chain
from tests.support import Files, project

HEADER = "import paddle\nfrom paddle import nn\n"
NET = HEADER + (
    "import lib\nfrom lib import Child, Middle, Unit, Unit as Own, make, make_deeper\n"
    "from paddle.nn import Conv3D, Linear as Dense\n"
    "def resize(height, width):\n    return height\n"
    "class Net(nn.Layer):\n    def __init__(self, width, num_classes=100):\n        {body}\n"
)
AMP = "import paddle\nwith paddle.amp.auto_cast():\n    pass\n"
UNIT = HEADER + (
    "class Unit(nn.Layer):\n    def __init__(self, cin, cout):\n"
    "        self.a = nn.Linear(cin, cout)\n        self.b = nn.Linear(cout, cin)\n"
)


def found(files: Files) -> set[str]:
    """The files that can hold a misaligned width; every file that does is among them."""
    known = project({"run.py": AMP, **files} if isinstance(files, dict) else files)
    misaligned = {path for path, file in known.files.items() if width_chain.misaligned(file)}
    assert misaligned <= alignment.files(known)
    return set(alignment.files(known))


@pytest.mark.parametrize(
    "call",
    [
        "nn.Linear(64, 100)",
        "nn.Conv2D(in_channels=100, out_channels=64, kernel_size=3)",
        "paddle.nn.layer.common.Linear(64, 10 * 10)",
        "Dense(64, 100)",
        "Conv3D(64, 100, 3)",
        "Unit(64, 100)",
        "Own(64, 100)",
        "lib.Unit(cin=64, cout=100)",
        "Child(64, 100)",
        "Middle(64, 100)",
        "make(64, 100)",
        "make_deeper(9)",
    ],
)
def test_a_number_that_may_become_an_odd_width(call: str) -> None:
    lib = UNIT + (
        "class Child(Unit):\n    pass\n"
        "class Middle(Child):\n    def __init__(self, cin, cout):\n        super().__init__(cin, cout)\n"
        "def make(cin, cout=8):\n    return Middle(cin, cout)\n"
        "def make_deeper(n):\n    return Unit(64, 8 * n + 8)\n"
    )
    assert found({"lib.py": lib, "user.py": NET.format(body=f"self.net = {call}")}) == {"user.py"}


@pytest.mark.parametrize(
    "body",
    [
        "self.a = nn.Linear(64, 104)\n        self.b = Unit(64, 256)",
        "self.a = nn.Linear(width, 64)\n        self.b = Unit(width, 64)",
        "self.a = nn.Linear(16, 30)\n        self.b = Unit(4, 2)",
        "self.a = nn.Linear(num_classes, 8, 100)\n        self.b = resize(640, 333)",
        "self.a = Unit(64, True, 'a', 100.0)",
    ],
)
def test_numbers_that_are_aligned_or_small_or_not_known_or_no_widths(body: str) -> None:
    assert found({"lib.py": UNIT, "user.py": NET.format(body=body)}) == set()


def test_a_width_is_followed_no_deeper_than_it_is_looked_at() -> None:
    lib = UNIT + (
        "def one(n):\n    return Unit(n, 64)\ndef two(n):\n    return one(n)\ndef three(n):\n    return two(n)\n"
    )
    user = "from lib import one, two, three\nnet = {}(100)\n"
    assert [bool(found({"lib.py": lib, "user.py": user.format(name)})) for name in ("one", "two", "three")] == [
        True,
        True,
        False,
    ]


def test_nothing_is_looked_at_where_nothing_speaks_of_amp() -> None:
    known = project({"net.py": HEADER + "net = nn.Sequential(nn.Linear(64, 100), nn.Linear(100, 64))\n"})
    assert alignment.files(known) == frozenset()
    assert not known.files["net.py"].is_parsed


def test_files_without_layers_are_not_parsed() -> None:
    known = project({"run.py": AMP, "net.py": UNIT, "data.py": "size = (1, 333)\n"})
    assert alignment.files(known) == frozenset()
    assert not known.files["data.py"].is_parsed


def test_calls_are_those_of_the_call_graph() -> None:
    lib = UNIT + "class Own:\n    def Unit(self, cin, cout):\n        return nn.Linear(8, 8)\n"
    assert found({"lib.py": lib, "user.py": NET.format(body="self.net = lib.Unit(64, 100)")}) == {"user.py"}
    assert found({"lib.py": lib, "user.py": NET.format(body="self.net = lib.Own().Unit(64, 100)")}) == set()


def test_a_variable_that_holds_a_function_is_not_followed() -> None:
    lib = UNIT + "def make(cin, cout):\n    return Unit(cin, cout)\n"
    assert found({"lib.py": lib, "user.py": NET.format(body="build = make; self.net = build(64, 100)")}) == set()
