"""What an edit changes in a tree: the same tree as parsing all of the text gives."""

from __future__ import annotations

import ast

import pytest

from perflint.incremental.pieces import Pieces
from perflint.incremental.splice import Nodes, Splice, Window
from perflint.syntax.tree import alike
from perflint.text.source import lines_of

TEXT = '''\
import os

# about f
@deco
def f(a, b=1):
    """What f does."""
    return a + b


class C(object):
    value = 1

    def first(self):
        self.x = [
            1,
        ]

    @property
    def second(self):
        def inner():
            return self.x
        return inner
    # behind second

    class Inner:
        def third(self): return 3


def g():
    pass
'''


def spliced(before: str, after: str) -> Splice | None:
    """What an edit of ``TEXT`` changes, put into the tree, which is compared with that of the new text."""
    new = TEXT.replace(before, after)
    tree, rows = ast.parse(TEXT), (lines_of(TEXT), lines_of(new))
    splice = Splice.of(tree, Window.between(*rows), *rows)
    if splice is not None:
        splice.apply(Nodes())
        assert ast.dump(tree, include_attributes=True) == ast.dump(ast.parse(new), include_attributes=True)
    return splice


@pytest.mark.parametrize(
    ("before", "after", "function"),
    [
        ("return a + b", "x = 2\n    return a + b", "f"),
        ("return a + b", "return (a +\n        b)", "f"),
        ("            1,\n", "", "first"),
        ("            1,\n", "            1,\n            # a note\n", "first"),
        ("return self.x", "return self.y", "second"),
        ("        def inner", "        print()\n\n        def inner", "second"),
        ("    pass", "    pass\n    pass", None),
        ("    value = 1\n\n", "    value = 1\n    # a note\n\n", None),
        ("# about f", "# about\n\n# the function f", None),
        ("    # behind second\n", "", None),
    ],
)
def test_what_stays_is_moved(before: str, after: str, function: str | None) -> None:
    splice = spliced(before, after)
    assert (splice.old.name if splice is not None and splice.old is not None else None) == function


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("b=1", "b=2"),
        ("def first", "def other"),
        ("    value = 1", "    value = 2"),
        ("        return inner", "    return inner"),
        ("        return inner", "        import re"),
        ("return a + b", 'return """a'),
        ("return a + b", "return (a +"),
        ("        return inner", "        return \\"),
        ("import os\n", "import os\\\n"),
        ("object", "int"),
    ],
)
def test_what_is_parsed_as_a_whole(before: str, after: str) -> None:
    assert spliced(before, after) is None


def test_layout_alone_leaves_the_nodes() -> None:
    tree, new = ast.parse(TEXT), TEXT.replace("            1,\n", "            # one\n            1,\n")
    before = list(ast.walk(tree))
    splice = Splice.of(tree, Window((15, 14), (15, 15)), lines_of(TEXT), lines_of(new))
    assert splice is not None
    splice.apply(Nodes())
    assert all(one is other for one, other in zip(before, ast.walk(tree), strict=True))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a + 1", "(a  +\n1)", True),
        ("1", "1.0", False),
        ("True", "1", False),
        ("a - 1", "a + 1", False),
        ("f()", "f(a)", False),
    ],
)
def test_nodes_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert alike(ast.parse(one), ast.parse(other)) is same


def test_rows_are_those_that_python_counts() -> None:
    text = "a\r\nb\rc\n\x0cd \u2028 e\n\nf"
    assert "".join(lines_of(text)) == text
    assert lines_of(text) == ["a\r\n", "b\r", "c\n", "\x0cd \u2028 e\n", "\n", "f"]


def test_pieces_ask_again_what_has_changed_alone() -> None:
    asked: list[str] = []
    pieces = Pieces("x = 1\ndef f():\n    pass\nclass C:\n    def g(self): pass\n")
    for text in ("x = 1\ndef f():\n    return\nclass C:\n    def g(self): pass\n", "x = 1\ndef f(): pass\n"):
        pieces.ask("length", lambda piece: asked.append(piece))
        pieces.put(text)
    assert asked == [
        "x = 1\n",
        "def f():\n    pass\n",
        "class C:\n",
        "    def g(self): pass\n",
        "def f():\n    return\n",
    ]
