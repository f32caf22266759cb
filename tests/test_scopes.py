"""Scopes, classes and places: what stands where."""

from __future__ import annotations

import ast

import pytest

from perflint.syntax.names import Names
from perflint.syntax.scopes import FileScopes, Scope, Statement, leaves


def scopes(text: str) -> FileScopes:
    return FileScopes(ast.parse(text), Names("m"))


def named(file: FileScopes, qualname: str) -> Scope:
    return next(scope for scope in file.scopes if scope.qualname == qualname)


def statement(file: FileScopes, row: int) -> Statement:
    [found] = [item for scope in file.scopes for item in scope.statements if item.node.lineno == row]
    return found


def places(text: str, row: int) -> list[tuple[str, str]]:
    """The chain of compound statements around a row, from the inside out."""
    place = statement(scopes(text), row).place
    return [(type(link.node).__name__, link.branch) for link in place.chain()] if place else []


def test_functions_classes_and_methods_are_named_by_their_place() -> None:
    file = scopes(
        "def outer():\n"
        "    def inner():\n"
        "        pass\n"
        "class Trainer:\n"
        "    def run(self):\n"
        "        class Local:\n"
        "            async def go(self):\n"
        "                pass\n"
    )
    assert [scope.qualname for scope in file.scopes] == [
        "",
        "outer",
        "outer.inner",
        "Trainer.run",
        "Trainer.run.Local.go",
    ]
    assert set(file.classes) == {"Trainer", "Local"}
    assert set(file.classes["Trainer"].methods) == {"run"}


def test_parameters_leave_out_self_and_cls_but_not_for_a_static_method() -> None:
    file = scopes(
        "class A:\n"
        "    def plain(self, x, /, y, *, z): pass\n"
        "    @classmethod\n"
        "    def of_class(cls, x): pass\n"
        "    @staticmethod\n"
        "    def static(x, y): pass\n"
        "def function(self, x): pass\n"
    )
    assert named(file, "A.plain").parameters == ["x", "y"]
    assert named(file, "A.of_class").parameters == ["x"]
    assert named(file, "A.static").parameters == ["x", "y"]
    assert named(file, "function").parameters == ["self", "x"]
    assert file.module.parameters == []


def test_bases_are_resolved_through_imports() -> None:
    file = scopes("from paddle import nn\nclass Net(nn.Layer): pass\nclass Deep(Net, make()): pass\n")
    assert file.classes["Net"].bases == ("paddle.nn.Layer",)
    assert file.classes["Deep"].bases == ("m.Net",)


def test_attributes_of_self_are_collected_with_their_scope() -> None:
    file = scopes(
        "class A:\n"
        "    def __init__(self):\n"
        "        self.meter = Meter()\n"
        "        self.state: State = State()\n"
        "        self.declared: int\n"
        "        self.a.b = 1\n"
        "        other.c = 2\n"
        "    def reset(self):\n"
        "        if True:\n"
        "            self.meter = None\n"
    )
    attributes = file.classes["A"].attributes
    assert set(attributes) == {"meter", "state"}
    assert [(ast.unparse(value), scope.name) for value, scope in attributes["meter"]] == [
        ("Meter()", "__init__"),
        ("None", "reset"),
    ]


def test_attributes_of_self_that_one_statement_sets_have_a_value_each() -> None:
    file = scopes(
        "class A:\n"
        "    def __init__(self, size, pair):\n"
        "        self.size, self.steps = size, []\n"
        "        self.first, self.second = pair\n"
        "        self.all, *self.rest = size, pair\n"
    )
    attributes = file.classes["A"].attributes
    assert {name: [ast.unparse(value) for value, _ in found] for name, found in attributes.items()} == {
        "size": ["size"],
        "steps": ["[]"],
        "all": ["size"],
    }


NESTED = """\
for epoch in range(2):
    if epoch:
        with x:
            a()
    else:
        b()
    while c():
        d()
    else:
        e()
    try:
        f()
    except E:
        g()
    else:
        h()
    finally:
        i()
    match j():
        case 1:
            k()
        case _:
            l()
else:
    m()
"""


@pytest.mark.parametrize(
    ("row", "chain"),
    [
        (1, []),
        (4, [("With", "body"), ("If", "body"), ("For", "body")]),
        (6, [("If", "else"), ("For", "body")]),
        (7, [("For", "body")]),
        (8, [("While", "body"), ("For", "body")]),
        (10, [("While", "else"), ("For", "body")]),
        (12, [("Try", "body"), ("For", "body")]),
        (14, [("Try", "handler"), ("For", "body")]),
        (16, [("Try", "else"), ("For", "body")]),
        (18, [("Try", "finally"), ("For", "body")]),
        (19, [("For", "body")]),
        (21, [("Match", "body"), ("For", "body")]),
        (23, [("Match", "body"), ("For", "body")]),
        (25, [("For", "else")]),
    ],
)
def test_the_chain_of_compound_statements(row: int, chain: list[tuple[str, str]]) -> None:
    assert places(NESTED, row) == chain


def test_the_loop_of_a_statement_is_the_innermost_that_repeats_it() -> None:
    file = scopes(NESTED)
    loops = {row: statement(file, row).loop for row in (1, 4, 8, 10, 25)}
    rows = {row: loop.lineno if loop else None for row, loop in loops.items()}
    assert rows == {1: None, 4: 1, 8: 7, 10: 1, 25: None}


@pytest.mark.parametrize("way", ["continue", "break", "raise E", "sys.exit(1)"])
def test_what_follows_a_branch_that_leaves_is_after_it(way: str) -> None:
    text = f"for x in y:\n    if a:\n        {way}\n    b()\n    if c:\n        d()\n    e()\n"
    assert places(text, 4) == [("If", "after"), ("For", "body")]
    assert places(text, 7) == [("If", "after"), ("For", "body")]


def test_nothing_is_after_a_branch_that_stays_or_has_an_else() -> None:
    assert places("for x in y:\n    if a:\n        b()\n    c()\n", 4) == [("For", "body")]
    text = "for x in y:\n    if a:\n        continue\n    else:\n        b()\n    c()\n"
    assert places(text, 6) == [("For", "body")]


def test_elif_is_in_the_else_of_the_if_before_it() -> None:
    text = "if a:\n    b()\nelif c:\n    d()\nelse:\n    e()\n"
    assert places(text, 3) == [("If", "else")]
    assert places(text, 4) == [("If", "body"), ("If", "else")]
    assert places(text, 6) == [("If", "else"), ("If", "else")]


def test_a_long_elif_chain_is_not_too_deep() -> None:
    text = "if a == 0:\n    b()\n" + "".join(f"elif a == {n}:\n    b()\n" for n in range(1, 1000)) + "else:\n    c()\n"
    file = scopes(text)
    assert len(file.module.statements) == 2001
    assert statement(file, 2002).place is not None


def test_calls_are_those_of_the_statement_itself() -> None:
    text = (
        "for x in a(b()):\n"
        "    c(lambda: d())\n"
        "    e([f(y) for y in g()])\n"
        "    if h():\n"
        "        i()\n"
        "    with j() as k, l(): m()\n"
        "    @n()\n"
        "    def o(p=q()):\n"
        "        r()\n"
    )
    file = scopes(text)

    def called(row: int) -> set[str]:
        [item] = [item for item in file.module.statements if item.node.lineno == row and item.node.col_offset <= 4]
        return {ast.unparse(call.func) for call in item.calls}

    assert called(1) == {"a", "b"}
    assert called(2) == {"c"}
    assert called(3) == {"e", "f", "g"}
    assert called(4) == {"h"}
    assert called(6) == {"j", "l"}
    assert {ast.unparse(call.func) for call in named(file, "o").statements[0].calls} == {"r"}


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("x = f'{a}'", True),
        ("x = '%d' % a", True),
        ("x = f(g(f'{a}'))", True),
        ("x = 'a'", False),
        ("x = a + 1", False),
    ],
)
def test_making_text_is_noticed(text: str, formats: bool) -> None:
    assert scopes(text).module.statements[0].formats is formats


@pytest.mark.parametrize(
    ("block", "leaving"),
    [
        ("return", True),
        ("x()\ncontinue", True),
        ("exit()", True),
        ("os._exit(0)", True),
        ("continue\nx()", False),
        ("if a:\n    break", False),
        ("log.exit()", False),
    ],
)
def test_a_block_leaves_by_its_last_statement(block: str, leaving: bool) -> None:
    assert leaves(ast.parse(block).body) is leaving
