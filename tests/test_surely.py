"""What a value surely is, on every path: a fix that adds ``.detach()`` to a number fails."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from perflint.findings import Level
from perflint.flow.surely import Surely
from perflint.index.project import Place
from perflint.syntax.scopes import Scope
from tests.support import check, module, project, scope_of

HEAD = """\
import contextlib
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import DataLoader
from mine import data, label
model = nn.Linear(4, 4)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(data, batch_size=4)
"""
_STEP = "def train(flag, other):\n    for i, (x, y) in enumerate(loader):\n        out = model(x)\n"


def _calls(scope: Scope) -> list[ast.Call]:
    return [item for item in ast.walk(scope.node) if isinstance(item, ast.Call)]


def _last(inside: str, top: str = "", before: str = "") -> tuple[bool, bool]:
    """Whether the argument of ``seen()`` in a step is surely a tensor, and whether it is surely a number."""
    step = _STEP.replace(":\n", ":\n" + indent(before, "    "), 1) if before else _STEP
    file = module(HEAD + top + step + indent(inside, "        "))
    scope = scope_of(file, "train")
    [call] = [call for call in _calls(scope) if getattr(call.func, "id", "") == "seen"]
    surely = Surely.of(file.project)
    return (surely.is_tensor(call.args[0], Place(file, scope)), surely.is_number(call.args[0], Place(file, scope)))


TENSORS = {
    "a result": "seen(out.mean())\n",
    "a loss": "v = criterion(out, y)\nseen(v)\n",
    "both branches": "if flag:\n    v = out.mean()\nelse:\n    v = out.sum()\nseen(v)\n",
    "bound again": "v = 0.0\nv = out.mean()\nseen(v)\n",
    "a sum with something unknown": "seen(out.mean() + other)\n",
    "a sum with a number": "v = 0.0\nv += out.mean()\nseen(v)\n",
    "both parts of a conditional": "seen(out.mean() if flag else out.sum())\n",
    "a branch that leaves": "v = out.mean()\nif flag:\n    v = 0.0\n    continue\nseen(v)\n",
    "a test of the type": "v = out.mean() if flag else 0.0\nif isinstance(v, paddle.Tensor):\n    seen(v)\n",
    "a test of the type that leaves": "v = other\nif not isinstance(v, paddle.Tensor):\n    continue\nseen(v)\n",
    "a test of the type in the expression": "v = other\nprint(seen(v) if isinstance(v, paddle.Tensor) else v)\n",
    "no longer None": "v = out.mean() if flag else None\nif v is not None:\n    seen(v)\n",
    "None is replaced": "v = out.mean() if flag else None\nif v is None:\n    v = out.sum()\nseen(v)\n",
    "under auto_cast": "v = 0.0\nwith paddle.amp.auto_cast():\n    v = out.mean()\nseen(v)\n",
    "differentiated before": "v = other(out)\nv.backward()\nseen(v)\n",
    "differentiated after": "v = other(out)\nseen(v)\nv.backward()\n",
    "both parts of a tuple": "v, w = (out.mean(), 0.0) if flag else (out.sum(), 1.0)\nseen(v)\n",
    "each of several": "for v in (out.mean(), out.sum()):\n    seen(v)\n",
    "each match": "match i:\n    case 0:\n        v = out.mean()\n    case _:\n        v = out.sum()\nseen(v)\n",
    "after a try": "try:\n    v = out.mean()\nexcept ValueError:\n    continue\nseen(v)\n",
    "a batch": "seen(y.sum())\n",
    "a row of layers": "v = nn.Sequential(nn.Linear(4, 4), ('a', nn.Sequential(other, nn.ReLU())))\nseen(v(x))\n",
    "a row of layers before one that does nothing": "v = nn.Sequential(other, nn.ReLU(), nn.Identity())\nseen(v(x))\n",
    "a layer that does nothing": "v = nn.Identity()\nseen(v(out))\n",
    "what a loss scaler gives": "s = paddle.amp.GradScaler()\nv = s.scale(out.mean())\nseen(v)\n",
}
OTHERS = {
    "one branch": "v = 0.0\nif flag:\n    v = out.mean()\nseen(v)\n",
    "one of three": "if i == 0:\n    v = out\nelif i == 1:\n    v = 0.0\nelse:\n    v = out.sum()\nseen(v)\n",
    "one part of a conditional": "seen(out.mean() if flag else 0.0)\n",
    "or": "seen(other or out.mean())\n",
    "a loop without an iteration": "v = 0.0\nfor k in other:\n    v = out.mean() + k\nseen(v)\n",
    "the target of a loop": "v = out.mean()\nfor v in other:\n    pass\nseen(v)\n",
    "a break": "v = out\nfor k in other:\n    v = 0.0\n    if k:\n        break\n    v = out\nseen(v)\n",
    "a while": "v = 0\nwhile flag:\n    v = v + out.mean()\nseen(v)\n",
    "an exception": "v = out\ntry:\n    v = 0.0\n    other()\n    v = out\nexcept ValueError:\n    pass\nseen(v)\n",
    "the name of an exception": "v = out\ntry:\n    other()\nexcept ValueError as v:\n    pass\nseen(v)\n",
    "finally": "v = 0.0\ntry:\n    v = out.mean()\nfinally:\n    seen(v)\n",
    "a suppressed error": "v = 0.0\nwith contextlib.suppress(ValueError):\n    v = out.mean()\nseen(v)\n",
    "what a with gives": "v = out.mean()\nwith other as v:\n    pass\nseen(v)\n",
    "a case that may not match": "v = 0.0\nmatch i:\n    case 0:\n        v = out.mean()\nseen(v)\n",
    "a name that a case binds": "v = out.mean()\nmatch other:\n    case [v, *_]:\n        pass\nseen(v)\n",
    ":= in a test": "v = out.mean()\nif (v := other) and flag:\n    pass\nseen(v)\n",
    ":= in a comprehension": "v = out.mean()\n[v := k for k in other]\nseen(v)\n",
    "+=": "v = 0.0\nif flag:\n    v += out.mean()\nseen(v)\n",
    "a swap": "v, w = out.mean(), 0.0\nv, w = w, v\nseen(v)\n",
    "a part of a tuple": "v, w = (out.mean(), out.sum()) if flag else (out.mean(), 0.0)\nseen(w)\n",
    "a star": "v, *w = out.mean(), 0.0, 1.0\nseen(w)\n",
    "an import": "v = out.mean()\nfrom mine import v\nseen(v)\n",
    "a function": "v = out.mean()\ndef v():\n    pass\nseen(v)\n",
    "max": "seen(max(out.mean(), 0.0))\n",
    "a sum of none": "seen(sum(v.mean() for v in other))\n",
    "an item": "v = [out.mean()]\nv[0] = 0.0\nseen(v[0])\n",
    "a default of get": "v = {'a': out.mean()}\nseen(v.get('b', 0.0))\n",
    "a default of getattr": "seen(getattr(out, 'b', 0.0))\n",
    "the value of a global": "seen(shared)\n",
    "formatted": "seen(other % out.mean())\n",
    "differentiated on one path": "v = other(out)\nif flag:\n    v.backward()\nseen(v)\n",
    "differentiated unless it leaves": "v = other(out)\nseen(v)\nif flag:\n    continue\nv.backward()\n",
    "a comprehension's own name": "v = out.mean()\n[seen(v) for v in other]\n",
    "the parameter of a lambda": "v = out.mean()\nother(lambda v: seen(v))\n",
    "a row that ends with a layer of the project": "v = nn.Sequential(nn.ReLU(), other)\nseen(v(x))\n",
    "a row of unknown layers": "v = nn.Sequential(*other)\nseen(v(x))\n",
    "a row of layers that do nothing": "v = nn.Sequential(nn.Identity())\nseen(v(x))\n",
    "a layer that does nothing with a number": "v = nn.Identity()\nseen(v(0.0))\n",
    "a parameter of an unknown call": "seen(flag)\n",
}


@pytest.mark.parametrize("inside", TENSORS.values(), ids=TENSORS)
def test_surely_a_tensor(inside: str) -> None:
    assert _last(inside) == (True, False)


@pytest.mark.parametrize("inside", OTHERS.values(), ids=OTHERS)
def test_something_else_on_one_path(inside: str) -> None:
    top = "shared = paddle.ones([])\ndef change():\n    global shared\n    shared = 0.0\n"
    assert not _last(inside, top)[0]


@pytest.mark.parametrize(
    ("inside", "before"),
    [
        ("seen(a)\na = {last}\n", "a = paddle.ones([])\n"),
        ("seen(c)\nc = b\nb = a\na = {last}\n", "a = b = c = paddle.ones([])\n"),
        ("seen(e)\ne, d, c, b, a = d, c, b, a, {last}\n", "a = b = c = d = e = paddle.ones([])\n"),
        ("seen(a)\na = {last}\nif flag:\n    continue\na = out\n", "a = paddle.ones([])\n"),
    ],
)
def test_what_one_iteration_hands_to_the_next(inside: str, before: str) -> None:
    assert not _last(inside.format(last=0.5), before=before)[0]
    assert _last(inside.format(last="out"), before=before)[0] or "e," in inside


def test_deep_loops_say_nothing_about_what_they_hand_on() -> None:
    loops = "".join("    " * depth + f"for k{depth} in other:\n" for depth in range(8))
    inside = f"{loops}{' ' * 32}seen(a)\n{' ' * 32}a = 0.5\n"
    assert not _last(inside, before="a = paddle.ones([])\n")[0]


HELPERS = {
    "a return of a number": ("def f(o, n):\n    if n:\n        return 0.0\n    return o.mean()\n", False),
    "the end of a function": ("def f(o, n):\n    if n:\n        return o.mean()\n", False),
    "a return of nothing": ("def f(o, n):\n    if n:\n        return\n    return o.mean()\n", False),
    "a default that is returned": ("def f(o, n, m=0.0):\n    return m\n", False),
    "a decorator": ("@label\ndef f(o, n):\n    return o.mean()\n", False),
    "two definitions": (
        "if data:\n    def f(o, n):\n        return 0.0\nelse:\n    def f(o, n):\n        return o\n",
        False,
    ),
    "a generator": ("def f(o, n):\n    yield o\n", False),
    "a coroutine": ("async def f(o, n):\n    return o\n", False),
    "another helper": ("def g(o):\n    return 0.0 if o else o\ndef f(o, n):\n    return g(o)\n", False),
    "a lambda": ("f = lambda o, n: 0.0\n", False),
    "two tensors": ("def f(o, n):\n    if n:\n        return o.sum()\n    return o.mean()\n", True),
    "a helper of a helper": ("def g(o):\n    return o * 2\ndef f(o, n):\n    return g(o)\n", True),
    "no gradients": ("@paddle.no_grad()\ndef f(o, n):\n    return o.mean()\n", True),
    "an exception": ("def f(o, n):\n    if n:\n        raise ValueError\n    return o.mean()\n", True),
}


@pytest.mark.parametrize(("helper", "is_tensor"), HELPERS.values(), ids=HELPERS)
def test_what_a_helper_returns(helper: str, is_tensor: bool) -> None:
    assert _last("v = f(out, i)\nseen(v)\n", helper)[0] is is_tensor


def _in_class(rest: str, more: str = "", init: str = "paddle.zeros([])") -> bool:
    text = HEAD + (
        f"class T:\n    def __init__(self):\n        self.model = model\n        self.a = {init}\n"
        f"    def r(self, o):\n        return o.mean()\n    def fit(self, n):\n{indent(rest, ' ' * 8)}{more}"
    )
    file = module(text)
    scope = scope_of(file, "T.fit")
    [call] = [call for call in scope.calls if getattr(call.func, "id", "") == "seen"]
    return Surely.of(file.project).is_tensor(call.args[0], Place(file, scope))


def test_attributes_and_methods() -> None:
    zero = "    def reset(self):\n        self.a = 0.0\n"
    assert _in_class("seen(self.a)\n")
    assert not _in_class("seen(self.a)\n", init="0.0")
    assert not _in_class("seen(self.a)\n", init="None")
    assert not _in_class("seen(self.a)\n", zero)
    assert not _in_class("seen(self.a)\n", "class U(T):\n    def reset(self):\n        self.a = 0.0\n")
    assert not _in_class("seen(self.a)\n", "t = T()\nt.a = 0.0\n")
    assert not _in_class("if n:\n    self.a = paddle.ones([])\nseen(self.a)\n", init="0.0")
    assert _in_class("self.a = paddle.ones([])\nseen(self.a)\n", init="0.0")
    assert not _in_class("self.a = paddle.ones([])\nself.reset()\nseen(self.a)\n", zero)
    assert _in_class("seen(self.r(self.model(paddle.ones([4]))))\n")
    assert not _in_class("seen(self.r(n))\n", "class U(T):\n    def r(self, o):\n        return 0.0\n")


def test_what_the_calls_of_a_function_pass() -> None:
    helper = "def f(v, w=0.0):\n    seen(v)\n    seen(w)\n"

    def surely(calls: str) -> list[bool]:
        file = module(HEAD + helper + "def g(o):\n" + indent(calls, "    "))
        scope = scope_of(file, "f")
        return [Surely.of(file.project).is_tensor(call.args[0], Place(file, scope)) for call in scope.calls]

    t = "paddle.ones([])"
    assert surely(f"f({t}, {t})\n") == [True, True]
    assert surely(f"f({t})\n") == [True, False]
    assert surely(f"f({t}, {t})\nf(0.0, {t})\n") == [False, True]
    assert surely(f"f({t}, {t})\nf(*o)\n") == [False, False]
    assert surely(f"f({t}, {t})\no(f)\n") == [False, False]
    assert surely("pass\n") == [False, False]


@pytest.mark.parametrize(
    ("inside", "before", "is_number"),
    [
        ("seen(w)\n", "w = 0.5\n", True),
        ("seen(w * 2 / len(y))\n", "w = 0.5\n", True),
        ("n = x.shape[0]\nseen(n)\n", "", True),
        ("seen(out.mean().item() * i)\n", "", True),
        ("w = float(other)\nseen(w)\n", "", True),
        ("seen(w)\nfor w in other:\n    pass\n", "w = 0.5\n", False),
        ("seen(w)\nw *= out\n", "w = 0.5\n", False),
        ("with other as w:\n    seen(w)\n", "w = 0.5\n", False),
        ("if (w := other):\n    seen(w)\n", "w = 0.5\n", False),
        ("seen(out.mean().item() * other)\n", "", False),
        ("seen(flag)\n", "", False),
        ("seen(w)\nchange()\n", "w = 0.5\ndef change():\n    nonlocal w\n    w = other\n", False),
        ("from mine import w\nseen(w)\n", "w = 0.5\n", False),
        ("w, n = other\nseen(w)\n", "w = 0.5\n", False),
    ],
)
def test_surely_a_number(inside: str, before: str, is_number: bool) -> None:
    assert _last(inside, before=before) == (False, is_number)


@pytest.mark.parametrize(
    ("before", "inside", "code"),
    [
        ("total = 0.0\n", "v = 0.0\nif i % 2:\n    v = out.mean()\ntotal += float(v)\n", "PPF201"),
        ("total = 0.0\nw = 1.0\n", "for w in other:\n    total += out.mean().item() * w\n", "PPF201"),
        ("kept = []\n", "v = 0.0\nif i % 2:\n    v = criterion(out, y)\n    v.backward()\nkept.append(v)\n", "PPF212"),
    ],
)
def test_the_fix_of_what_is_only_sometimes_a_tensor_is_not_safe(before: str, inside: str, code: str) -> None:
    step = _STEP.replace(":\n", ":\n" + indent(before, "    "), 1) + indent(inside, "        ")
    rest = "        loss = criterion(out, y)\n        loss.backward()\n        other.step()\n    return before\n"
    text = HEAD + step + rest.replace("before", before.partition(" ")[0] or "None")
    found = check(text, code)
    assert found
    assert all(item.fix is None or item.fix.level < Level.SAFE for item in found)


def test_a_default_that_no_call_replaces_is_no_tensor() -> None:
    text = HEAD + (
        "def train(opt):\n    for x, y in loader:\n        loss = criterion(model(x), y)\n        loss.backward()\n"
        "        opt.step()\n        def report(loss=1.0):\n            return float(loss)\n        report({given})\n"
    )
    assert not check(text.replace("{given}", ""), "PPF201")
    assert check(text.replace("{given}", "loss"), "PPF201")
    assert check(text.replace("{given}", "**other"), "PPF201")


def test_helpers_of_other_files() -> None:
    files = {
        "a.py": "import paddle\nfrom b import f, g\ndef train():\n    seen(f(1))\n    seen(g(1))\n",
        "b.py": "import paddle\ndef f(n):\n    return paddle.ones([n])\ndef g(n):\n    return n and paddle.ones([n])\n",
    }
    file = project(files).files["a.py"]
    scope = scope_of(file, "train")
    seen = [call.args[0] for call in scope.calls if getattr(call.func, "id", "") == "seen"]
    assert [Surely.of(file.project).is_tensor(node, Place(file, scope)) for node in seen] == [True, False]
