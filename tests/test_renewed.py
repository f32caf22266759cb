"""What an edit leaves as it was: the tree is that of the new text, and what says the same is the same object."""

from __future__ import annotations

import ast

import pytest

from perflint.incremental.kept_project import renew_body, renew_scopes
from perflint.syntax.names import Names
from perflint.syntax.scopes import Class, FileScopes, Scope
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

    @second.setter
    def second(self, value):
        pass

    class Inner:
        def third(self): return 3


def g():
    pass


value = f(1); other = g()
'''


ALL = ["C", "C.first", "C.second", "C.second", "C.second.inner", "Inner", "Inner.third", "f", "g"]


def renewed(before: str, after: str) -> tuple[FileScopes, list[Scope | Class], list[Scope | Class]]:
    """The definitions of ``TEXT`` after an edit, with those that are not as they were, and those that are gone."""
    new = TEXT.replace(before, after)
    old_tree, tree = ast.parse(TEXT), ast.parse(new)
    old = FileScopes(old_tree, Names("m"))
    renew_body(old_tree.body, tree.body, lines_of(TEXT), lines_of(new))
    assert ast.dump(tree, include_attributes=True) == ast.dump(ast.parse(new), include_attributes=True)
    now = FileScopes(tree, Names("m"))
    changed, gone = renew_scopes(old, now)
    assert _told(now) == _told(FileScopes(ast.parse(new), Names("m")))
    return now, changed, gone


def _told(scopes: FileScopes) -> list[object]:
    """What a file's definitions are, without regard to which objects stand for them."""
    return [
        [
            (scope.qualname, scope.parent and scope.parent.qualname, scope.owner and scope.owner.qualname, scope.row)
            for scope in scopes.scopes
        ],
        [[ast.dump(item.node, include_attributes=True) for item in scope.statements] for scope in scopes.scopes],
        [[link.node.lineno for link in item.place.chain()] for item in scopes.module.statements if item.place],
        {name: (owner.bases, [*owner.methods], [*owner.attributes]) for name, owner in scopes.classes.items()},
    ]


@pytest.mark.parametrize(
    ("before", "after", "changed", "gone"),
    [
        ("return a + b", "x = 2\n    return a + b", ["f"], []),
        ("return a + b", "return (a +\n        b)", [], []),
        ("# about f", "# about\n\n# the function f", [], []),
        ("            1,\n", "            1,\n            # a note\n", [], []),
        ("            1,\n", "", ["C", "C.first"], []),
        ("    # behind second\n", "", [], []),
        ("b=1", "b=2", ["f"], []),
        ("    value = 1", "    value = 2", [""], []),
        ("value = f(1)", "value = f(2)", [""], []),
        ("import os\n", "import os\n\nif os.name:\n    raise SystemExit\n\n", [""], []),
        ("return self.x", "return self.y", ["C.second", "C.second.inner"], []),
        ("def first", "def other", ["C"], ["C.first"]),
        ("class C(object):", "class C(int):", ["C"], []),
        ("@second.setter\n    def second(self, value):\n        pass", "", ["C"], ["C.second"]),
        ("def g():\n    pass\n", "def g():\n    pass\n\n\ndef g():  # again\n    pass\n", [""], []),
        (TEXT, "", [""], ALL),
    ],
)
def test_what_is_not_as_it_was(before: str, after: str, changed: list[str], gone: list[str]) -> None:
    _, other, left = renewed(before, after)
    found = sorted(part.qualname for part in other), sorted(part.qualname for part in left)
    assert found == (changed, gone)


def test_functions_that_say_the_same_keep_their_nodes() -> None:
    tree, new = ast.parse(TEXT), ast.parse("# first\n" + TEXT.replace("return a + b", "return b"))
    before = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    renew_body(tree.body, new.body, lines_of(TEXT), lines_of("# first\n" + TEXT.replace("return a + b", "return b")))
    after = {node.name: node for node in ast.walk(new) if isinstance(node, ast.FunctionDef)}
    assert [name for name, node in after.items() if node is not before[name]] == ["f"]
