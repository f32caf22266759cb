"""What the text of a file says of its evaluation loops, before anything is parsed: never less than its tree."""

from __future__ import annotations

import ast

import pytest

from perflint.rules import no_grad
from perflint.syntax.names import Names
from perflint.syntax.scopes import FileScopes
from perflint.text.source import Source
from tests import corpus


def _as_its_tree_says(text: str) -> bool:
    scopes = FileScopes(ast.parse(text), Names("m", False)).scopes
    return any(no_grad._may_evaluate(scope, switches=True) for scope in scopes)


@pytest.mark.parametrize(
    "text",
    [
        "def evaluate(model):\n    for x in y:\n        model(x)\n",
        "def \\\n  evaluate(model):\n\tfor x in y: model(x)",
        "def evaluate(model):\n    def inner():\n        pass\n    for x in y:\n        model(x)\n",
        "def evaluate(model):\n    '''\ndef other():\n    '''\n    for x in y:\n        model(x)\n",
        "model.eval()\n\ndef other():\n    pass\n\nfor x in y:\n    model(x)\n",
        "def run(model):\n    model . \\\n        eval()\n    for x in y:\n        model(x)\n",
        "def run(model):\n    for x in enumerate(\n        val_loader,\n    ):\n        model(x)\n",
        "def run(model):\n    for x in test_loader: model(x)",
        "def evaluate(model):\r    for x in y:\r        model(x)\r",
        "def ｅｖａｌｕａｔｅ(model):\n    for x in y:\n        model(x)\n",
    ],
)
def test_a_loop_that_may_evaluate(text: str) -> None:
    assert _as_its_tree_says(text)
    assert no_grad._names_evaluation(Source("m.py", text).rows_text)


@pytest.mark.parametrize(
    "text",
    [
        "def evaluate(model):\n    return [model(x) for x in y]\n",
        "def evaluate(model):\n    return model(y)\n\ndef other():\n    for x in y:\n        pass\n",
        "model.eval()\n",
        "# model.eval\ndef run(model):\n    for x in train_loader:\n        model(x)\n",
        "val_loader = 1\nfor x in train_loader:\n    model(x)\n",
    ],
)
def test_no_such_loop(text: str) -> None:
    assert not _as_its_tree_says(text)


@pytest.mark.parametrize("word", ["evaluate", "val_loader"])
def test_a_file_without_a_loop_is_not_parsed(word: str) -> None:
    assert not no_grad._names_evaluation(f"def {word}(model):\n    return [model(x) for x in {word}]\n")


def test_text_says_no_less_than_the_tree() -> None:
    seen = 0
    for path, source in corpus.sources().items():
        text = source.text
        try:
            found = _as_its_tree_says(text)
        except SyntaxError:
            continue
        seen += found
        assert no_grad._names_evaluation(source.rows_text) or not found, path
    assert seen
