"""What the text of a file says of its forward passes: never less than its tree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from perflint.syntax.file_text import function_texts
from perflint.syntax.names import Names
from perflint.syntax.scopes import FileScopes
from perflint.training.evidence import terminal_names

CORPUS = Path(__file__).parent / ".corpus"
NAMES = frozenset({"sum", "numpy"})
_CALLED = re.compile(r"\b(\w+)\s*\(")


def may_call(text: str, names: frozenset[str]) -> bool:
    """Whether a ``forward``, or a function of the same file that it calls, may call one of these names."""
    functions = list(function_texts(text))
    called = _called(functions, {"forward"})
    return not names.isdisjoint(called) or not names.isdisjoint(_called(functions, called))


def _called(functions: list[tuple[str, str]], wanted: set[str]) -> set[str]:
    return {name for known, text in functions if known in wanted for name in _CALLED.findall(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A:\n    def forward(self, x):\n        return x.sum()\n", True),
        ("class A:\n    def forward(self, x):\n        return x.sum ()\n", True),
        ("class A:\n    async def forward(self, x):\n        return x.sum()\n", True),
        ("class A:\n\tdef forward(self, x):\n\t\treturn x.sum()\n", True),
        ("class A:\n    def forward(self, x):\n        return x.sum\n", False),
        (
            "class A:\n    def forward(self, x):\n        return x\n    def other(self, x):\n        return x.sum()\n",
            False,
        ),
        (
            "class A:\n    def other(self, x):\n        return x.sum()\n    def forward(self, x):\n        return x\n",
            False,
        ),
        (
            "class A:\n    def b(self, x):\n        return x.sum()\n    def forward(self, x):\n        self.b(x)\n",
            True,
        ),
        ("class A:\n    def forward(self, x):\n        def inner(): pass\n        return x.sum()\n", True),
        ("class A:\n    def forward(self, x):\n        '''\ndef example(): pass\n'''\n        return x.sum()\n", True),
        ('class A:\n    def forward(self, x):\n        """\ndef one(): pass\n"""\n        return x.sum()\n', True),
        ("class A:\n    def forward(self, x):\n        return x\n# def other(x):\n        return x.sum()\n", True),
        ("def step(x):\n    return x.sum()\n", False),
    ],
)
def test_calls_of_a_forward(text: str, expected: bool) -> None:
    assert may_call(text, NAMES) is expected


def test_text_says_no_less_than_the_tree() -> None:
    seen = 0
    for path in sorted(CORPUS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for owner in FileScopes(tree, Names("m", False)).classes.values():
            if "forward" not in owner.methods:
                continue
            called = {name for item in owner.methods["forward"].statements for name in terminal_names(item)}
            for method in called & owner.methods.keys():
                called |= {name for item in owner.methods[method].statements for name in terminal_names(item)}
            seen += len(called)
            assert all(may_call(text, frozenset({name})) for name in called), path
    assert seen or not CORPUS.exists()
