"""A sum or a list turns into tensors without asking only where nobody else can look at it while the loop runs."""

from __future__ import annotations

from textwrap import indent

import pytest

from perflint.findings import Level
from tests.support import Files, check

SUM, LIST = "total += loss.item()", "losses.append(loss.item())"
STEP = """\
for step, (x, y) in enumerate(loader):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
IMPORTS = "import paddle\nimport paddle.nn.functional as F\n"
DATA = """\
import paddle

model = paddle.nn.Linear(3, 1)
loader = paddle.io.DataLoader(object())
optimizer = paddle.optimizer.SGD(parameters=model.parameters())
"""


def in_function(adding: str, before: str = "", inside: str = "pass", above: str = "") -> str:
    body = f"total, losses = 0.0, []\n{before}\n{STEP}    {adding}\n    {inside}\nprint(total, losses)\n"
    return f"{IMPORTS}{above}\n\ndef train(model, loader, optimizer):\n{indent(body, '    ')}"


def in_module(adding: str, inside: str = "h.show()") -> str:
    body = f"total, losses = 0.0, []\n{STEP}    {adding}\n    {inside}\nprint(total, losses)\n"
    return f"{IMPORTS}import h\nfrom data import loader, model, optimizer\n{body}"


def is_safe(files: Files) -> bool:
    found = [finding.fix for finding in check(files, "PPF201") if finding.path == "train.py"]
    return bool(found) and all(fix is not None and fix.edits and fix.level is Level.SAFE for fix in found)


@pytest.mark.parametrize(
    "before",
    [
        "losses: list = []",
        "names, losses = [], []",
        "print(len(losses), sum(losses))",
        "for value in losses:\n    print(value)",
        "for at, value in enumerate(losses):\n    print(value)",
    ],
)
def test_a_list_of_one_name(before: str) -> None:
    assert is_safe(in_function(LIST, before))


@pytest.mark.parametrize(
    "before",
    [
        "model.losses = losses = []",
        "losses = model.logs['loss'] = []",
        "kept = losses = []",
        "pair = names, losses = [], []",
        "if (losses := []) is not None:\n    pass",
        "(kept := losses)",
        "kept, count = losses, 1",
        "logs = {'loss': losses}",
        "logs = [*(losses,)]",
        "later = enumerate(losses)",
        "later = iter(losses)",
        "for kept in (losses,):\n    pass",
        "thread = Thread(target=print, args=(losses,))",
        "reference = weakref.proxy(losses)",
    ],
)
def test_a_list_that_has_another_name(before: str) -> None:
    found = check(in_function(LIST, before), "PPF201")
    reasons = {finding.fix.reason for finding in found if finding.fix is not None and finding.fix.edits}
    assert reasons == {"other code that uses the list finds tensors in it while the loop runs"}


@pytest.mark.parametrize(
    ("above", "inside"),
    [
        ("", "print(locals())"),
        ("import builtins", "print(builtins.locals())"),
        ("", "see = locals; print(see())"),
        ("from sys import _getframe as peek", "print(peek().f_locals)"),
        ("import inspect", "show(inspect.stack())"),
        ("import sys\ndef show():\n    print(sys._getframe(1).f_locals['total'])\n", "show()"),
        ("import traceback", "print(traceback.TracebackException(*get(), capture_locals=True))"),
        ("from rich.traceback import install\ninstall(show_locals=True)", "pass"),
        ("import sys\ndef show(name):\n    print(sys._getframe(1).f_locals[name])\n", "show('total')"),
    ],
)
def test_a_function_whose_names_are_looked_up(above: str, inside: str) -> None:
    assert not is_safe(in_function(SUM, inside=inside, above=above))


@pytest.mark.parametrize(
    ("above", "inside"),
    [
        ("", "z = paddle.stack([x, x]); get().eval(); print(vars(model))"),
        ("import sys\ndef show():\n    print(sys._getframe(1).f_globals['__name__'])\n", "show()"),
    ],
)
def test_what_only_looks_like_that(above: str, inside: str) -> None:
    assert is_safe(in_function(SUM, inside=inside, above=above))


def test_a_frame_is_read_by_a_file_of_the_program() -> None:
    other = "import sys\n\n\ndef show():\n    print(sys._getframe(1).f_locals)\n"
    text = in_function(SUM, inside="show()", above="from h import show")
    assert not is_safe({"train.py": text, "h.py": other})
    assert is_safe({"train.py": text.replace("from h import show", ""), "h.py": other})


@pytest.mark.parametrize("adding", [SUM, LIST])
@pytest.mark.parametrize(
    "other",
    [
        "def show():\n    import train\n    print(train.total, train.losses)\n",
        "import train as it\ndef show():\n    print(it.total, it.losses)\n",
        "def show():\n    from train import total, losses\n    print(total, losses)\n",
        "import train\ndef show():\n    print(getattr(train, 'total'), getattr(train, 'losses'))\n",
        "import train\ndef show(name):\n    print(getattr(train, name))\n",
        "import train\ndef show():\n    print(vars(train))\n",
        "import train\ndef show():\n    print(train.__dict__)\n",
        "def show():\n    import __main__\n    print(__main__.total, __main__.losses)\n",
        "import sys\ndef show():\n    print(sys.modules['__main__'].total, sys.modules['train'].losses)\n",
        "import importlib\ndef show(name):\n    it = importlib.import_module(name)\n    print(it.total, it.losses)\n",
        "import inspect\ndef show():\n    print(inspect.currentframe().f_back.f_globals)\n",
    ],
)
def test_a_name_of_a_module_that_another_file_reads(adding: str, other: str) -> None:
    assert not is_safe({"train.py": in_module(adding), "h.py": other, "data.py": DATA})


def test_a_name_of_a_module_that_another_file_reads_through_a_third() -> None:
    files = {"train.py": in_module(LIST), "data.py": DATA, "g.py": "from train import *\n"}
    assert not is_safe({**files, "h.py": "def show():\n    import g\n    print(g.losses)\n"})


@pytest.mark.parametrize(
    "other",
    [
        "def show():\n    print('a step')\n",
        "def show():\n    import train\n    print(train.step)\n",
        "total = 1\n\n\ndef show():\n    print('a step')\n",
    ],
)
def test_a_name_of_a_module_that_no_other_file_reads(other: str) -> None:
    assert is_safe({"train.py": in_module(SUM), "h.py": other, "data.py": DATA})


MAIN = """
import sys
import paddle

total = 0.0


def peek():
    {look}


for x, y in loader:
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    total += float(loss)
    peek()
"""


@pytest.mark.parametrize(
    ("look", "is_seen"),
    [("vars(sys.modules[__name__])['total']", True), ("import __main__; __main__.total", True), ("sys.stdout", False)],
)
def test_a_module_may_look_at_its_own_names(look: str, is_seen: bool) -> None:
    (finding,) = check(MAIN.format(look=look), "PPF201")
    assert finding.fix is not None
    assert (finding.fix.level is Level.SAFE) is not is_seen
