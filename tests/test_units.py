"""Units: whole rows that LibCST can parse by themselves, with offsets in the file."""

from __future__ import annotations

import ast

import libcst as cst
import pytest

from perflint.lint import units
from perflint.text.source import Source
from tests.support import expect_marked


def rows(text: str) -> list[tuple[int, int, bool]]:
    return [(unit.first, unit.last, unit.indented) for unit in units.units_of(ast.parse(text))]


def test_top_level_statements_and_those_of_class_bodies() -> None:
    text = (
        "import a\n"
        "\n"
        "@decorate(\n"
        "    1,\n"
        ")\n"
        "def f():\n"
        "    pass\n"
        "\n"
        "class A(B):\n"
        '    """Text."""\n'
        "\n"
        "    x = 1\n"
        "    @staticmethod\n"
        "    def g():\n"
        "        pass\n"
        "    class C:\n"
        "        def h(self): pass\n"
        "# the end\n"
    )
    assert rows(text) == [
        (1, 1, False),
        (3, 7, False),
        (10, 10, True),
        (12, 12, True),
        (13, 15, True),
        (17, 17, True),
    ]


def test_statements_that_share_a_row_are_one_unit() -> None:
    assert rows("a = 1; b = [\n2]; c = 3\nd = 4\n") == [(1, 2, False), (3, 3, False)]
    assert rows("class A:\n    a = 1; b = 2\n    c = 3\n") == [(2, 2, True), (3, 3, True)]


def test_a_class_on_one_row_is_one_unit() -> None:
    assert rows("class A: x = 1\n") == [(1, 1, False)]
    assert rows("class A(\n    B): x = 1; y = 2\n") == [(1, 2, False)]
    assert rows("class A(\n    B,\n):\n    x = 1\n") == [(4, 4, True)]


def test_chosen_units_hold_the_rows_asked_for() -> None:
    found = units.units_of(ast.parse("a\n\nb(\n1)\nclass C:\n    d\n"))
    assert [unit.first for unit in units.chosen(found, {1})] == [1]
    assert [unit.first for unit in units.chosen(found, {4, 3})] == [3]
    assert [unit.first for unit in units.chosen(found, {6, 1})] == [1, 6]
    assert units.chosen(found, {2, 5, 99}) == []
    assert units.chosen(found, set()) == []


TEXTS = {
    "plain": "x = 1\ndef f(a):\n    return g(a, 'b')\n",
    "class": "class A:\n    def f(self):\n        return g(self)\n\n\n    y = h(1)\n",
    "nested class": "class A:\n  class B:\n    class C:\n      def f(self):\n        return g(self)\n",
    "tabs": "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn g(self)\n",
    "crlf": "class A:\r\n    def f(self):\r\n        return g(self,\r\n            1)\r\n",
    "cr": "x = 1\rclass A:\r    def f(self):\r        return g(self)\r",
    "form feed": "\x0cx = f(1)\n\x0c\ndef f():\n    pass\n\x0c\n    return g(2)\n",
    "wide characters": "s = '学习率 🚀'; x = f('ä')\nclass A:\n    '''说明'''\n    def 训练(self): return g('损失')\n",
    "no final newline": "def f():\n    return g(1)",
    "backslash": "x = f(1) + \\\n    g(2)\nclass A:\n    y = \\\n        h(3)\n",
    "comments": "class A:\n    # one\n    def f(self):  # two\n        # three\n"
    "        return g(self)  # four\n  # odd\n    # five\n",
    "strings": "class A:\n    '''\nat the margin\n'''\n    def f(self):\n        return g('''\nx''')\n",
    "decorators": "class A:\n    @d(1)\n    @e\n    # note\n    async def f(self):\n        return await g(self)\n",
    "line separators": "x = f('\u2028')\ny = g('\x0b \x1c \x85')\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_offsets_are_those_of_the_file(name: str) -> None:
    text = TEXTS[name]
    source = Source("a.py", text)
    tree = ast.parse(text)
    expected = {
        (source.lines.offset(node.lineno, node.col_offset), source.lines.offset(node.end_lineno, node.end_col_offset))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.end_lineno is not None and node.end_col_offset is not None
    }
    found = set()
    for unit in units.units_of(tree):
        parsed = units.parse(source, unit)
        for node in parsed.spans:
            span = parsed.span(node)
            if isinstance(node, cst.Call):
                found.add(span)
    assert found == expected
    assert all(text[start:end].endswith(")") for start, end in found)


def test_nesting_that_only_looks_deep() -> None:
    [unit] = units.units_of(ast.parse("x = [" + "f(a(b(c))), " * 5000 + "]"))
    assert not unit.is_too_deep
    [unit] = units.units_of(ast.parse("x = a" + ".b" * 600))
    assert unit.is_too_deep


def test_a_method_is_found_whatever_stands_around_it() -> None:
    expect_marked(
        """
        import paddle

        class Trainer(
            paddle.nn.Layer,  # the base
        ):
            '''Trains.'''

            loader = paddle.io.DataLoader(data, shuffle=True)  #: PPF101

            class Options:
                loader = paddle.io.DataLoader(data, shuffle=True)  #: PPF101

            @property
            def loader(self): return paddle.io.DataLoader(self.data, shuffle=True)  #: PPF101

            x = 1; other = paddle.io.DataLoader(data, shuffle=True)  #: PPF101
        # less indented
            def run(self):
                if self.x: return paddle.io.DataLoader(self.data, shuffle=True)  #: PPF101
                return lambda: paddle.io.DataLoader(self.data, shuffle=True)  #: PPF101

        class Short: loader = paddle.io.DataLoader(data, shuffle=True)  #: PPF101
        """
    )
