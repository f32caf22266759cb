"""Where values come from: each step from an expression to the expressions that may create its value."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from perflint.flow.sources import EVERYTHING, Through, ValueSource, asked, sources
from perflint.index.project import Place
from tests.support import project

OTHER = "SIZE = 4\nTABLE = {'a': 1, 'b': (2, 3)}\ndef build(flag=True):\n    return Box(5) if flag else None\n"
BOX = "class Box:\n    def __init__(self, size=1):\n        self.size, self.name = size, 'box'\n"


def found(before: str, body: str, text: str, through: Through = EVERYTHING, **more: Any) -> list[ValueSource]:
    """The sources of an expression at the last statement of the function ``ask`` in ``train.py``."""
    indented = "\n    ".join(body.split("\n"))
    script = f"{before}\ndef ask(given=None):\n    {indented}\n    return 0\n"
    file = project({"train.py": script, "other.py": OTHER}).files["train.py"]
    scope = next(scope for scope in file.scopes.scopes if scope.name == "ask")
    place = Place(file, scope, scope.statements[-1])
    return list(sources(ast.parse(text, mode="eval").body, place, through=through, **more))


def shown(given: list[ValueSource]) -> list[tuple[str, list[Through]]]:
    return [(ast.unparse(source.node), [step.kind for step in source.steps]) for source in given]


@pytest.mark.parametrize(
    ("before", "body", "text", "expected"),
    [
        ("", "pass", "7", [("7", [])]),
        ("", "a = 1\na = 2", "a", [("2", [Through.NAME])]),
        ("", "if x:\n    a = 1\nelse:\n    a = 2", "a", [("2", [Through.NAME]), ("1", [Through.NAME])]),
        ("", "a, b = 1, 2", "b", [("2", [Through.NAME])]),
        ("", "a = 1\na += 2", "a", [("a + 2", [Through.NAME])]),
        ("", "for a in b:\n    pass", "a", [("a", [Through.NAME, Through.UNKNOWN])]),
        ("A = 3", "pass", "A", [("3", [Through.NAME])]),
        ("ask(8)", "pass", "given", [("8", [Through.ARGUMENT])]),
        ("ask(8)\nask()", "pass", "given", [("8", [Through.ARGUMENT]), ("None", [Through.DEFAULT])]),
        ("ask(*b)", "pass", "given", [("given", [Through.ARGUMENT, Through.UNKNOWN])]),
        ("", "pass", "given", [("None", [Through.DEFAULT]), ("given", [Through.ARGUMENT, Through.UNKNOWN])]),
        ("def f(x):\n    return x", "pass", "f(6)", [("6", [Through.RETURN, Through.ARGUMENT])]),
        ("def f(x=9):\n    return x", "pass", "f()", [("9", [Through.RETURN, Through.DEFAULT])]),
        ("def f(x):\n    yield x", "pass", "f(6)", [("f(6)", [Through.RETURN, Through.UNKNOWN])]),
        (BOX, "box = Box(4)", "box.size", [("4", [Through.ATTRIBUTE, Through.ARGUMENT])]),
        (BOX, "box = Box()", "box.size", [("1", [Through.ATTRIBUTE, Through.DEFAULT])]),
        (f"{BOX}    def double(self):\n        return 8", "pass", "Box(4).double()", [("8", [Through.RETURN])]),
        (
            f"{BOX}    def double(self):\n        return 8",
            "box = Box()",
            "other().double()",
            [("other().double()", [])],
        ),
        (BOX, "box = Box()", "box.other", [("box.other", [Through.ATTRIBUTE, Through.UNKNOWN])]),
        ("", "table = {'a': 1, 'b': 2}", "table['b']", [("2", [Through.NAME, Through.ITEM])]),
        ("", "table = load()", "table['b']", [("load()", [Through.NAME, Through.ITEM, Through.UNKNOWN])]),
        ("from other import SIZE", "pass", "SIZE", [("4", [Through.IMPORT, Through.NAME])]),
        (
            "from other import TABLE",
            "_, a = TABLE['b']",
            "a",
            [("3", [Through.NAME, Through.IMPORT, Through.NAME, Through.ITEM, Through.ITEM])],
        ),
        ("import numpy", "pass", "numpy.pi", [("numpy.pi", [])]),
    ],
)
def test_steps_to_a_source(before: str, body: str, text: str, expected: list[tuple[str, list[Through]]]) -> None:
    assert shown(found(before, body, text)) == expected


def test_the_object_in_question_decides_about_an_attribute() -> None:
    before = f"{BOX}def area(box):\n    return box.size\n"
    assert [ast.unparse(source.node) for source in found(before, "one, two = Box(2), Box(3)", "area(two)")] == ["3"]


def test_a_function_inside_a_method_calls_the_methods_of_its_object() -> None:
    inner = "    def make(self):\n        def ask():\n            return 0\n        return ask\n\n"
    text = f"{BOX}{inner}    def double(self):\n        return 8"
    file = project({"train.py": text}).files["train.py"]
    scope = next(scope for scope in file.scopes.scopes if scope.name == "ask")
    place = Place(file, scope, scope.statements[-1])
    assert shown(list(sources(ast.parse("self.double()", mode="eval").body, place))) == [("8", [Through.RETURN])]


def test_a_step_that_is_not_followed_is_where_the_search_ends() -> None:
    before = "def f(x):\n    return x"
    assert shown(found(before, "a = f(6)", "a", through=Through.NAME)) == [("f(6)", [Through.NAME])]
    assert shown(found("ask(8)", "a = given", "a", through=Through.NAME)) == [("given", [Through.NAME])]


def test_a_value_that_comes_from_itself_has_no_other_source() -> None:
    before = "class Box:\n    def __init__(self):\n        self.a = 1\n    def set(self):\n        self.a = self.a"
    assert {ast.unparse(source.node) for source in found(before, "box = Box()", "box.a")} == {"1"}


def test_recursion_and_a_spent_budget_end_unknown() -> None:
    before = "def f(n):\n    return f(n - 1)"
    assert not any(source.is_known for source in found(before, "pass", "f(1)"))
    names = "\n".join(f"a{at + 1} = a{at} if x else a{at}" for at in range(20))
    last = found("", f"a0 = 1\n{names}", "a20", budget=30)[-1]
    assert last.is_out_of_budget
    assert not last.is_known


def test_branches_that_training_does_not_take() -> None:
    before = "def f(mode):\n    if mode == 'train':\n        return 1\n    return 2"
    assert [ast.unparse(source.node) for source in found(before, "pass", "f('train')", in_training=True)] == ["1"]
    assert [ast.unparse(source.node) for source in found(before, "pass", "f('test')", in_training=True)] == ["2"]


def test_a_rule_goes_on_from_a_source() -> None:
    file = project({"train.py": f"{BOX}def run(box):\n    return box\nrun(Box(12))\n"}).files["train.py"]
    call = file.scopes.module.statements[-1].calls[0]
    (source,) = asked(call, Place(file, file.scopes.module)).sources()
    assert isinstance(source.node, ast.Call)
    assert source.object is not None
    assert source.object.owner.name == "Box"
    inside = source.method("size", "__init__")
    assert inside is not None
    assert inside.place.scope.name == "__init__"
    assert [ast.unparse(each.node) for each in source.part(source.node.args[0]).sources()] == ["12"]
