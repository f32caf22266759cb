"""Where constants come from: each way from an expression to the place where its value is written."""

from __future__ import annotations

import ast

import pytest

from perflint.flow.constant_values import Setter, ValueOrigin
from perflint.flow.constants import Constants
from perflint.index.project import Place, Project
from tests.support import project

OPTIONS = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--workers', default=2)\n"
By = ValueOrigin


def asked(given: Project, text: str, function: str = "ask") -> list[tuple[object, list[ValueOrigin], Setter]]:
    """What an expression may be in a function of ``train.py``, the last statement of which reads it."""
    file = given.files["train.py"]
    scope = next(scope for scope in file.scopes.scopes if scope.qualname == function)
    node = ast.parse(text, mode="eval").body
    found = Constants.of(given).possible(node, Place(file, scope, scope.statements[-1]))
    return [(value.value, [step.origin for step in value.steps], value.setter) for value in found if value.is_constant]


@pytest.mark.parametrize(
    ("before", "function", "text", "expected"),
    [
        ("", "def ask():\n    return 1\n", "2", [(2, [], Setter.NOBODY)]),
        ("", "def ask():\n    a = 2\n    return a\n", "a", [(2, [By.NAME], Setter.NOBODY)]),
        ("", "def ask():\n    a = 2\n    return a\n", "a * 3 - 1", [(5, [By.NAME], Setter.NOBODY)]),
        ("", "def ask(a=2):\n    return a\nask()\n", "a", [(2, [By.DEFAULT], Setter.CALLERS)]),
        ("", "def ask(a=2):\n    return a\nask(3)\n", "a", [(3, [By.ARGUMENT], Setter.CALLERS)]),
        ("", "def ask(a=2):\n    return a\n", "a", [(2, [By.UNKNOWN, By.DEFAULT], Setter.USER)]),
        (
            "",
            "def ask(a=2):\n    return a\nask()\nask(3)\n",
            "not a",
            [(False, [By.DEFAULT], Setter.CALLERS), (False, [By.ARGUMENT], Setter.CALLERS)],
        ),
        ("C = {'a': 2}\n", "def ask():\n    return C\n", "C['a']", [(2, [By.NAME, By.ENTRY], Setter.NOBODY)]),
        ("C = {'a': 2}\n", "def ask():\n    return C\n", "C.get('b', 4)", [(4, [By.NAME, By.FALLBACK], Setter.USER)]),
        ("", "def ask():\n    return 1\n", "C.get('b', 4)", [(4, [By.UNKNOWN, By.FALLBACK], Setter.USER)]),
        (
            OPTIONS,
            "args = parser.parse_args()\ndef ask():\n    return args\n",
            "args.workers",
            [(2, [By.NAME, By.NAME, By.OPTION], Setter.USER)],
        ),
        (
            "class Box:\n    def __init__(self):\n        self.a = 2\n",
            "def ask():\n    box = Box()\n    return box\n",
            "box.a",
            [(2, [By.NAME, By.ATTRIBUTE], Setter.NOBODY)],
        ),
    ],
)
def test_ways_to_a_constant(
    before: str, function: str, text: str, expected: list[tuple[object, list[ValueOrigin], Setter]]
) -> None:
    assert asked(project(before + function), text) == expected


def test_a_constant_of_another_module() -> None:
    files = {"config.py": "WORKERS = 2\n", "train.py": "from config import WORKERS\ndef ask():\n    return WORKERS\n"}
    assert asked(project(files), "WORKERS") == [(2, [By.IMPORTED, By.NAME], Setter.NOBODY)]


def test_a_function_as_one_call_runs_it() -> None:
    given = project("def t(x, kind, scale=3):\n    size = scale * 8\n    return size\nt(1, 'a')\nt(1, 'b')\n")
    file = given.files["train.py"]
    module, function = file.scopes.scopes
    constants, call = Constants.of(given), module.statements[0].calls[0]
    inside = constants.entered(call, Place(file, module), Place(file, function))
    assert inside is not None
    kind = constants.by_default(ast.Name("kind"), inside)
    assert kind is not None and kind.value == "a" and [step.origin for step in kind.steps] == [By.ARGUMENT]
    size = constants.by_default(ast.Name("size"), inside)
    assert size is not None and size.value == 24 and [step.origin for step in size.steps] == [By.NAME]
    assert constants.certain("kind", Place(file, function)) is None


def test_an_attribute_that_only_init_sets() -> None:
    given = project(
        "class A:\n    def __init__(self):\n        self.dims = None\n    def f(self):\n        pass\nA()\n"
    )
    file = given.files["train.py"]
    found = Constants.of(given).certain("self.dims", Place(file, file.scopes.scopes[2]))
    assert found is not None and found.value is None


def test_a_chain_that_python_could_not_follow_at_once() -> None:
    length = 400
    functions = "".join(f"def h{at}(flag):\n    return h{at + 1}(flag)\n" for at in range(length))
    given = project({"t.py": f"{functions}def h{length}(flag):\n    return flag\nh0(False)\n"})
    file = given.files["t.py"]
    found = Constants.of(given).certain("flag", Place(file, file.scopes.scopes[-1]))
    assert found is not None and found.value is False
