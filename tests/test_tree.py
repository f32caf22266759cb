"""``walk`` gives what ``ast.walk`` gives, operators and contexts left out, in the same order; trees that are alike."""

from __future__ import annotations

import ast

import pytest

from perflint.syntax.tree import alike, children, walk
from tests import corpus

LEFT_OUT = (ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context, ast.TypeIgnore)
TEXT = """
@decorated(1)
def f(a, /, b: int = 1, *c, d=2, **e) -> int:
    global g
    x: int = a[1:b, ...]
    with open(a) as h, i:
        pass
    try:
        return {**a, 1: f"{b!r:>{c}}"} | {k: v for k, v in d if k if v}
    except (A, B) as error:
        raise C from error
    for y, *z in (q := [w async for w in e]), -1 < a <= not_b and not c:
        del x[0]
    match a:
        case {"k": [1, *rest], **others} | A(b=1) as whole if a: pass
        case _: pass
    lambda *s, t=1: (yield from s) if t else await_(t)
"""


def same(tree: ast.AST) -> None:
    assert list(map(id, walk(tree))) == [id(node) for node in ast.walk(tree) if not isinstance(node, LEFT_OUT)]
    assert list(map(id, children(tree))) == [
        id(node) for node in ast.iter_child_nodes(tree) if not isinstance(node, LEFT_OUT)
    ]


def test_all_kinds_of_nodes() -> None:
    for node in ast.walk(ast.parse(TEXT)):
        if not isinstance(node, LEFT_OUT):
            same(node)


def test_real_code() -> None:
    for source in list(corpus.sources().values())[::20]:
        same(ast.parse(source.text))


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        ("a + 1", "(a  +\n1)", True),
        ("1", "1.0", False),
        ("True", "1", False),
        ("a - 1", "a + 1", False),
        ("f()", "f(a)", False),
    ],
)
def test_nodes_that_say_the_same(one: str, other: str, are: bool) -> None:
    assert alike(ast.parse(one), ast.parse(other)) is are
