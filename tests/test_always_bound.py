"""Which names imports have always bound where a line runs, and how an edit writes a name there."""

from __future__ import annotations

import ast
import re

import pytest

from perflint.findings import Level
from perflint.index.imports import Imports
from perflint.rules.spelled import Spelling, spelling
from perflint.syntax.always_bound import AlwaysBound
from perflint.syntax.tree import walk
from tests.evaluation_samples import EVALUATE, RULE, only
from tests.support import fixed, project

NO_GRAD = "paddle.no_grad"


def here(tree: ast.AST) -> ast.stmt:
    """The statement of a text that is ``here``."""
    return next(
        node
        for node in walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node.value.id == "here"
    )


def written(text: str, is_loaded: bool = False) -> str | None:
    tree = ast.parse(text)
    return AlwaysBound(tree).spelled(NO_GRAD, "paddle", here(tree), is_loaded)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import paddle\nhere\n", "paddle.no_grad"),
        ("import paddle as P\ndef f():\n    here\n", "P.no_grad"),
        ("import paddle.nn\nhere\n", "paddle.no_grad"),
        ("import paddle\nx = lambda: 1 if y else 2\nhere\n", "paddle.no_grad"),
        ("from paddle import no_grad as off\nhere\n", "off"),
        ("import paddle.nn as nn\nhere\n", None),
        ("here\nimport paddle\n", None),
        ("def f():\n    here\nimport paddle\n", None),
        ("if a:\n    import paddle\nhere\n", None),
        ("if a:\n    import paddle\nelse:\n    import paddle.nn\nhere\n", "paddle.no_grad"),
        ("if a:\n    raise ValueError\nelse:\n    import paddle\nhere\n", "paddle.no_grad"),
        ("if a:\n    import paddle\n    here\n", "paddle.no_grad"),
        ("if TYPE_CHECKING:\n    import paddle\nhere\n", None),
        ("if typing.TYPE_CHECKING:\n    import torch\nelse:\n    import paddle\nhere\n", "paddle.no_grad"),
        ("try:\n    import paddle\nexcept ImportError:\n    sys.exit(1)\nhere\n", "paddle.no_grad"),
        ("try:\n    import paddle\nexcept ImportError:\n    pass\nhere\n", None),
        ("try:\n    x()\nfinally:\n    import paddle\nhere\n", "paddle.no_grad"),
        ("with warnings.catch_warnings():\n    import paddle\nhere\n", "paddle.no_grad"),
        ("with optional():\n    import paddle\nhere\n", None),
        ("with lock:\n    import paddle\nhere\n", None),
        ("with contextlib.suppress(ImportError):\n    import paddle\nhere\n", None),
        ("for i in x:\n    import paddle\nhere\n", None),
        ("for i in x:\n    import paddle\n    here\n", "paddle.no_grad"),
        ("import paddle\ndef f(paddle):\n    here\n", None),
        ("import paddle\ndef f(*paddle):\n    here\n", None),
        ("import paddle\ndef f():\n    here\n    paddle = 1\n", None),
        ("import paddle\ndef f():\n    x = [paddle for paddle in y]\n    here\n", "paddle.no_grad"),
        ("import paddle\ndef f():\n    x = [paddle := y]\n    here\n", None),
        ("import paddle\ndef f(paddle):\n    def g():\n        here\n", None),
        ("import paddle\nclass A:\n    paddle = 1\n    def f(self):\n        here\n", "paddle.no_grad"),
        ("import paddle\nclass A:\n    paddle = 1\n    here\n", None),
        ("class A:\n    import paddle\n    def f(self):\n        here\n", None),
        ("import paddle\ndel paddle\ndef f():\n    here\n", None),
        ("import paddle\ndef f():\n    here\nfor paddle in x:\n    pass\n", None),
        ("import paddle\ndef f():\n    here\ndef g():\n    global paddle\n    paddle = 1\n", None),
        ("def f():\n    global paddle\n    import paddle\n    here\n", None),
        ("def f():\n    import paddle\n    def g():\n        here\n", "paddle.no_grad"),
        ("def f():\n    import paddle\ndef g():\n    here\n", None),
        ("import paddle\ntry:\n    x\nexcept E as paddle:\n    pass\nhere\n", None),
        ("import paddle\nmatch x:\n    case [paddle]:\n        pass\nhere\n", None),
        ("import paddle\nfrom games import paddle\nhere\n", None),
    ],
)
def test_a_name_that_an_import_has_always_bound(text: str, expected: str | None) -> None:
    assert written(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try:\n    import paddle\nexcept ImportError:\n    paddle = None\ndef f():\n    here\n", "paddle.no_grad"),
        (
            "try:\n    import paddle\n    import other\nexcept ImportError:\n    paddle = None\ndef f():\n    here\n",
            None,
        ),
        ("if a:\n    import paddle\ndef f():\n    here\n", None),
        ("if TYPE_CHECKING:\n    import paddle\ndef f():\n    here\n", None),
    ],
)
def test_a_try_of_an_import_has_not_failed_where_its_package_runs(text: str, expected: str | None) -> None:
    assert written(text, is_loaded=True) == expected
    assert written(text) is None


def spelled(text: str, **others: str) -> Spelling | None:
    known = project({"main.py": text, **{f"{name}.py": other for name, other in others.items()}})
    file = known.files["main.py"]
    return spelling(NO_GRAD, here(file.tree), file, allows_row=True)


def test_a_new_import_goes_to_the_top_only_below_one_that_loads_the_package() -> None:
    imports = Spelling(NO_GRAD, ("import paddle",))
    assert spelled("from paddle import nn\ndef f():\n    here\n") == imports
    assert spelled("import net\ndef f():\n    here\n", net="import paddle\n") == imports
    row = Spelling(NO_GRAD, row="import paddle")
    assert spelled("import os\ndef f():\n    here\n") == row
    assert spelled("def f():\n    here\nfrom paddle import nn\n") == row
    assert spelled("import net\ndef f():\n    here\n", net="def g():\n    import paddle\n") == row
    assert spelled("import net\ndef f():\n    here\n", net="try:\n    import paddle\nexcept E:\n    pass\n") == row


def test_a_file_that_imports_this_one_in_turn_may_not_have_loaded_the_package_yet() -> None:
    found = spelled("import net\ndef f():\n    here\n", net="import main\nimport paddle\n")
    assert found is not None
    assert found.row


@pytest.mark.parametrize(
    "text",
    [
        "import os\nhere\n",
        "import os\ndef f():\n    here\n    paddle.seed(1)\nif os:\n    import paddle\n",
    ],
)
def test_what_may_fail_or_come_early_is_in_doubt(text: str) -> None:
    found = spelled(text)
    assert found is not None
    assert found.doubt


@pytest.mark.parametrize(
    "text",
    ["def f(paddle):\n    here\n", "import paddle\nfrom other import *\ndef f():\n    here\n", "paddle = 1\nhere\n"],
)
def test_a_name_with_another_meaning_is_not_written(text: str) -> None:
    assert spelled(text, other="paddle = 1\n") is None


def test_a_star_import_that_brings_the_same_name_is_no_obstacle() -> None:
    text = "import paddle\nfrom other import *\ndef f():\n    here\n"
    assert spelled(text, other="import paddle\n") == Spelling(NO_GRAD)


@pytest.mark.parametrize(
    ("user", "is_row"),
    [
        ("from main import *\nimport paddle\n", False),
        ("import main\npaddle = 1\n", False),
        ("from main import *\n", False),
        ("paddle = 1\nfrom main import *\n", True),
        ("from oars import *\nfrom main import *\n", True),
    ],
)
def test_a_new_import_replaces_no_name_where_a_star_takes_it(user: str, is_row: bool) -> None:
    found = spelled("from paddle import nn\ndef f():\n    here\n", user=user, oars="paddle = 1\n")
    assert found == (Spelling(NO_GRAD, row="import paddle") if is_row else Spelling(NO_GRAD, ("import paddle",)))


def test_a_package_that_a_file_always_loads() -> None:
    known = project(
        {"a.py": "import b\n", "b.py": "from c import x\n", "c.py": "import paddle.nn\n", "d.py": "import e\n"}
    )
    imports = Imports.of(known)
    assert imports.always_loads(known.files["a.py"], "paddle")
    assert imports.always_loads(known.files["a.py"], "numpy")
    assert not imports.always_loads(known.files["d.py"], "paddle")


# --- the fix of an evaluation


@pytest.mark.parametrize(
    "head",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import paddle\n",
        "import os\nos.environ['FLAGS_x'] = '1'\ndef main():\n    import paddle\n    return paddle\n",
        "try:\n    import paddle\nexcept ImportError:\n    paddle = None\n",
    ],
)
def test_a_file_can_still_be_loaded_without_paddle(head: str) -> None:
    typed = EVALUATE.replace("(model,", '(model: "paddle.nn.Layer",')
    files = {"a.py": typed.replace("import paddle\n", head), "main.py": "import a\nimport paddle\n"}
    fix = only(files).fix
    assert fix is not None
    assert fix.level is Level.SAFE
    assert fix.imports == ()
    text = "".join(edit.content for edit in fix.edits)
    assert "with paddle.no_grad():" in text
    assert "@" not in text


def test_an_import_below_the_environment_stays_below_it() -> None:
    text = EVALUATE.replace("import paddle", 'import os\nos.environ["FLAGS_x"] = "1"\nfrom paddle import nn')
    assert re.search(r'= "1"\nfrom paddle import nn\nimport paddle\n\n\n@paddle', fixed(text, RULE))


def test_a_new_import_is_not_shadowed_by_a_loop() -> None:
    file = project({"a.py": "from paddle import nn\ndef other():\n    for paddle in ():\n        pass\nhere\n"}).files[
        "a.py"
    ]
    assert spelling(NO_GRAD, here(file.tree), file) is None
