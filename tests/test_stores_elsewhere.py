"""What gives a name another value without an assignment to it: a text, another file, a field of a class, a patch."""

from __future__ import annotations

import pytest

from perflint.flow.surely import Surely
from perflint.index.project import Place
from tests.support import project, scope_of

_HEAD = "import paddle\nfrom dataclasses import dataclass\nfrom unittest import mock\n"
_FIT = "    def start(self):\n        self.a = paddle.ones([])\n    def fit(self):\n        seen(self.a, self.r())\n"
_R = "    def r(self):\n        return paddle.ones([])\n"


def _surely(files: dict[str, str], where: str) -> list[bool]:
    """Whether each argument of ``seen()`` in a function of ``a.py`` is surely a tensor."""
    file = project(files).files["a.py"]
    scope = scope_of(file, where)
    [call] = [call for call in scope.calls if getattr(call.func, "id", "") == "seen"]
    return [Surely.of(file.project).is_tensor(node, Place(file, scope)) for node in call.args]


def _in_class(inside: str = "", decorator: str = "", after: str = "", other: str = "") -> list[bool]:
    text = f"{_HEAD}{decorator}class T:\n{inside}{_FIT}{_R}{after}"
    return _surely({"a.py": text, "b.py": other}, "T.fit")


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"inside": "    a: paddle.Tensor\n"},
        {"inside": "    b: float = 0.0\n"},
        {"after": "class U:\n    def put(self, k):\n        setattr(self, k, 0.0)\n"},
        {"after": "print(vars(T), T.__dict__['a'], globals()['T'])\n"},
        {"other": "t.b = 0.0\nsetattr(t, 'b', 0.0)\n"},
    ],
)
def test_what_sets_nothing_else(parts: dict[str, str]) -> None:
    assert _in_class(**parts) == [True, True]


@pytest.mark.parametrize(
    "parts",
    [
        {"inside": "    a: float = 0.0\n"},
        {"inside": "    a, b = 0.0, 1\n"},
        {"inside": "    a: float\n", "decorator": "@dataclass\n"},
        {"other": "from a import T\nt = T()\nt.a = 0.0\n"},
        {"after": "mock.patch.object(T, 'a', 0.0).start()\n"},
    ],
)
def test_an_attribute_that_something_else_sets(parts: dict[str, str]) -> None:
    assert _in_class(**parts) == [False, True]


@pytest.mark.parametrize(
    "parts",
    [
        {"inside": "    def put(self, k, v):\n        setattr(self, k, v)\n"},
        {"inside": "    def put(self, **more):\n        self.__dict__.update(more)\n"},
        {"inside": "    def put(self, k, v):\n        vars(self)[k] = v\n"},
        {"inside": "    def put(self, k, v):\n        object.__setattr__(self, k, v)\n"},
        {"after": "class U(T):\n    def put(self, k, v):\n        setattr(self, k, v)\n"},
        {"other": "def put(t, more):\n    for k in more:\n        setattr(t, k, more[k])\n"},
        {"other": "def put(t, more):\n    t.__dict__.update(more)\n"},
        {"other": "def put(t):\n    t.__dict__.update(a=0.0, r=len)\n"},
    ],
)
def test_an_attribute_that_a_computed_name_may_set(parts: dict[str, str]) -> None:
    assert _in_class(**parts) == [False, False]


@pytest.mark.parametrize(
    ("after", "other"),
    [
        ("t = T()\nsetattr(t, 'r', lambda: 0.0)\n", ""),
        ("t = T()\nt.r = lambda: 0.0\n", ""),
        ("", "def test_it(monkeypatch, t):\n    monkeypatch.setattr(t, 'r', lambda: 0.0)\n"),
        ("", "import a\na.T.r = lambda self: 0.0\n"),
    ],
)
def test_a_method_that_is_replaced(after: str, other: str) -> None:
    assert _in_class(after=after, other=other) == [True, False]


_MODULE = f"{_HEAD}a = paddle.ones([])\ndef r():\n    return paddle.ones([])\ndef fit():\n    seen(a, r())\n"


@pytest.mark.parametrize(
    ("after", "other", "surely"),
    [
        ("", "", [True, True]),
        (
            "args = mine()\nargs.a = 0.0\nsetattr(args, 'a', 0.0)\n",
            "def f(args, k):\n    setattr(args, k, 1)\n",
            [True, True],
        ),
        ("print(globals()['a'])\n", "class T:\n    def f(self):\n        self.a = 0.0\n", [True, True]),
        ("globals()['a'] = 0.0\n", "", [False, True]),
        ("globals().update(mine)\n", "", [False, False]),
        ("def put(**more):\n    globals().update(a=0.0)\n", "", [False, True]),
        ("", "import a\na.r = lambda: 0.0\n", [True, False]),
        ("", "import a\nsetattr(a, key, 0.0)\n", [False, False]),
        ("", "import a\nvars(a)['a'] = 0.0\n", [False, True]),
        ("", "import sys\nsetattr(sys.modules['a'], 'a', 0.0)\n", [False, True]),
        ("", "@mock.patch('a.r', return_value=0.0)\ndef test_it(r):\n    pass\n", [True, False]),
        ("", "globals().update(mine)\n", [True, True]),
    ],
)
def test_the_names_of_a_module(after: str, other: str, surely: list[bool]) -> None:
    assert _surely({"a.py": _MODULE + after, "b.py": other}, "fit") == surely


def test_a_function_of_paddle_that_is_replaced() -> None:
    text = _HEAD + "def fit(o):\n    seen(paddle.mean(o), paddle.abs(o))\n"
    assert _surely({"a.py": text}, "fit") == [True, True]
    assert _surely({"a.py": text + "paddle.mean = lambda o: 0.0\n"}, "fit") == [False, True]


def test_a_method_that_another_base_of_a_subclass_overrides() -> None:
    other = "class No:\n    def r(self):\n        return 0.0\n"
    assert _in_class(after=other + "class U(T, No):\n    pass\n") == [True, True]
    assert _in_class(after=other + "class U(No, T):\n    pass\n") == [True, False]
