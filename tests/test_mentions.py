"""What the words of a text say, before it is parsed: never less than what stands in it."""

from __future__ import annotations

import ast

import pytest

from perflint.configuration.settings import Settings
from perflint.index.project import FileIndex, Mentions, Project
from perflint.run import engine
from perflint.syntax.file_text import uses, words
from perflint.syntax.names import dotted
from perflint.syntax.scopes import terminal
from perflint.trace import hot_path
from perflint.training.live import Live
from tests import corpus
from tests.support import project


def test_words_are_what_can_stand_in_a_name() -> None:
    assert words("a.b_1('über' + x2)\n# ﬁn") == {"a", "b_1", "über", "x2", "fin"}
    assert words("") == frozenset()


def test_a_name_may_be_called_or_stand_for_its_value() -> None:
    found = uses("def step(x):\n    return other\nrun(y)\nloop(step, z . call())\nclass A(Base, metaclass=m.M): pass")
    assert found.called == {"run", "loop", "call", "A"}
    assert {"step", "other", "x", "y", "z", "Base"} <= found.others
    assert not {"run", "loop", "call"} & found.others
    assert found.bases >= {"Base", "m", "M", "metaclass"}


def test_a_name_that_is_called_where_it_is_defined_is_called() -> None:
    assert "f" in uses("def f(): pass\nf()").called
    assert "f" not in uses("def f(): pass").called
    assert "f" in uses("f").others
    assert "f" not in uses("f()").others


@pytest.mark.parametrize(
    "call", ["f(x)", "f (x)", "(f)(x)", "a.f(x)", "a.b\\\n.f(x)", "f\\\n(x)", "g(1)(2).f\t(x)", "@f(1)\ndef g(): pass"]
)
def test_every_way_to_call_is_one(call: str) -> None:
    assert "f" in uses(call).called


@pytest.mark.parametrize(
    ("text", "called", "held", "derived"),
    [
        ("f(x)", True, False, False),
        ("ff(x)", False, False, False),
        ("x.f", False, True, False),
        ("def f(): pass", False, False, False),
        ("def f(): pass\nf()", True, False, False),
        ("class A(f): pass", False, True, True),
        ("class A(m.f, B): pass", False, True, True),
        ("class A(g(f)): pass", False, True, True),
        ("class f(A): pass", True, False, False),
        ("ｆ(x)", True, False, False),  # Python takes it for f
        ("调用 f(x)", True, False, False),
    ],
)
def test_a_text_says_what_is_done_with_a_name(text: str, called: bool, held: bool, derived: bool) -> None:
    found = uses(text)
    assert tuple("f" in part for part in (found.called, found.others, found.bases)) == (called, held, derived)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f", True),
        ("self.x = a.f", True),
        ("self.x = (\n    f)", True),
        ("self.x = \\\n    f", True),
        ("self.x = self.y = f", True),
        ("x = f  # the one", True),
        ("x = (\n    a.f\n)", True),
        ("x = f; y = 1", True),
        ("x = f(1)", False),
        ("x = 'f'", False),
        ("x = f.g", False),
        ("x = g(f, 1)", False),
        ("g(f)", False),
        ("def f(): pass", False),
    ],
)
def test_what_may_bind_a_function_is_told(text: str, expected: bool) -> None:
    files = project({"a.py": text, "b.py": "x = 1"}).mentions.assigned("f")
    assert [file.path for file in files] == ["a.py"] * expected


def test_other_names_are_followed_through_several_files() -> None:
    mentions = project(
        {
            "a.py": "from net import Net as Model",
            "b.py": "from a import Model as Other, x as y",
            "c.py": "with open(Net) as file: pass",
        }
    ).mentions
    assert mentions.other_names("Net") >= {"Net", "Model", "Other"}
    assert "y" not in mentions.other_names("Net")


def test_no_word_of_real_code_is_missed() -> None:
    """Whatever ``ast`` sees called, used as a value or named as a base stands in what the text alone says."""
    for source in corpus.sources().values():
        try:
            tree = ast.parse(source.text)
        except SyntaxError:
            continue
        found, known = uses(source.text), words(source.text)
        nodes = list(ast.walk(tree))
        called = {terminal(node) for node in nodes if isinstance(node, ast.Call)} - {None}
        functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        others = {
            node.id if isinstance(node, ast.Name) else node.attr
            for node in nodes
            if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in functions
        }
        bases = {
            name.rpartition(".")[2]
            for node in nodes
            if isinstance(node, ast.ClassDef)
            for name in map(dotted, node.bases)
            if name
        }
        defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert called <= found.called, source.path
        assert others <= found.others, source.path
        assert bases <= found.bases, source.path
        assert called | others | bases | defined <= known, source.path


@pytest.mark.slow
def test_words_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings are the same when every file is asked for everything, and every loop may train."""
    sources = {path: source for path, source in corpus.sources().items() if path.startswith("paddledet")}
    settings = Settings(join_lines=False, select=("ALL",))
    expected = engine.check(sources, settings)

    def everywhere(mentions: Mentions[FileIndex], *_: str) -> list[FileIndex]:
        return mentions._files

    for name in ("of", "calls", "values", "assigned", "bases"):
        monkeypatch.setattr(Mentions, name, everywhere)
    monkeypatch.setattr(hot_path, "live", _everything)
    assert engine.check(sources, settings) == expected
    assert len(expected) > 5


def _everything(of: Project) -> Live:
    scopes = [scope for file in of.files.values() for scope in file.scopes.scopes]
    names = {scope.name for scope in scopes if scope.name not in ("<module>", "__init__")}
    return Live(frozenset(names), tuple(of.files.values()))
