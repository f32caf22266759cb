"""Imports that an edit leaves unused: which they are, and how they are taken out."""

from __future__ import annotations

import ast

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Edit, Finding, Fix, Level
from perflint.fix.fixer import apply, fix_all, spliced
from perflint.fix.import_edits import removals, unused_imports
from perflint.run import engine
from perflint.syntax.tree import Reading
from perflint.text.source import Source
from tests.evaluation_samples import EVALUATE


def without(text: str, *names: str) -> str:
    """A text without some imports, except for those that have to stay."""
    return spliced(text, 0, len(text), sorted(removals(Source("a.py", text), ast.parse(text), names)))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("import gc\nimport os\n", "gc", "import os\n"),
        ("import os, gc\nx = 1\n", "gc", "import os\nx = 1\n"),
        ("import gc, os\n", "gc", "import os\n"),
        ("import os, gc, re\n", "gc", "import os, re\n"),
        ("import numpy as np\nx = 1\n", "numpy as np", "x = 1\n"),
        ("import os.path\nx = 1\n", "os.path", "x = 1\n"),
        ("from gc import collect\nx = 1\n", "gc.collect", "x = 1\n"),
        ("from gc import collect as c, get_count\n", "gc.collect as c", "from gc import get_count\n"),
        ("from .a import tools\nfrom .a import more\n", ".a.tools", "from .a import more\n"),
        ("from paddle import nn, save\n", "paddle.save", "from paddle import nn\n"),
        ("from gc import (\n    b,\n    c,\n)\n", "gc.c", "from gc import (\n    b,\n)\n"),
        ("from gc import (\n    b,\n    c,\n)\n", "gc.b", "from gc import (\n    c,\n)\n"),
        ("import gc  # for the cards\nx = 1\n", "gc", "# for the cards\nx = 1\n"),
        ("import paddle\nimport paddle.nn as nn\n", "paddle", "import paddle.nn as nn\n"),
        ("import gc", "gc", ""),
        ("import gc\n\n\n    # here\nx = 1\n", "gc", "    # here\nx = 1\n"),
        ("import os\nimport gc\n\nx = 1\n", "gc", "import os\n\nx = 1\n"),
        ("import gc\n\n", "gc", ""),
    ],
)
def test_an_import_is_taken_out(text: str, name: str, expected: str) -> None:
    assert without(text, name) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import package\n", "package"),
        ("from . import tools\nfrom . import more\n", ".tools"),
        ("from .tools import more\n", ".tools.more"),
        ("from package import more\n", "package.more"),
        ("import gc; x = 1\n", "gc"),
        ("try:\n    import gc\nexcept ImportError:\n    gc = None\n", "gc"),
        ("import gc\nimport gc\n", "gc"),
        ("import os\n", "gc"),
        ("from gc import (\n    b,  # kept\n    c,\n)\n", "gc.c"),
    ],
)
def test_an_import_that_cannot_go_without_harm_stays(text: str, name: str) -> None:
    assert without(text, name) == text


def test_of_two_names_of_one_statement_one_stays() -> None:
    assert without("from gc import b, c\nx = 1\n", "gc.b", "gc.c") == "from gc import c\nx = 1\n"


def test_of_two_imports_of_a_package_with_effects_one_stays() -> None:
    text = "import package\nfrom package import more\nx = 1\n"
    assert without(text, "package", "package.more") == "from package import more\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "name", "goes"),
    [
        ("import paddle\nimport os\nfrom paddle import nn\n", "paddle", True),
        ("from paddle import nn\nx = 1\nimport paddle\n", "paddle", True),
        ('import os\nimport paddle\nos.environ["A"] = "1"\nfrom paddle import nn\n', "paddle", False),
        ('import os\nimport numpy as np\nos.environ["A"] = "1"\nimport paddle\n', "numpy as np", False),
        ('import os\nimport numpy as np\nos.environ["A"] = "1"\nimport sys\n', "numpy as np", True),
        ("import paddle\ndef f():\n    import paddle as P\n", "paddle as P", True),
        ("def f():\n    import paddle as P\nimport paddle\n", "paddle", False),
    ],
)
def test_a_package_is_not_loaded_later_than_before(text: str, name: str, goes: bool) -> None:
    assert (without(text, name) != text) is goes


@pytest.mark.parametrize("row", ["import gc", "import numpy as np", "import os.path", "from os.path import join as d"])
def test_pyflakes_names_imports_in_the_same_way(row: str) -> None:
    names = unused_imports(Reading(""), Reading(f"{row}\n"))
    assert names is not None and len(names) == 1
    assert without(f"{row}\n", *names) == ""


def test_what_was_unused_before_or_is_no_import_is_not_meant() -> None:
    assert unused_imports(Reading("import gc\n"), Reading("import gc\n")) == []
    assert unused_imports(Reading(""), Reading("import gc\nmissing\n")) is None


CALLS = "import gc\nimport os\n\nos.sep\ngc.collect()\ngc.collect()\n"


def _calls(sources: dict[str, Source], unneeded: tuple[str, ...] = ("gc",)) -> list[Finding]:
    """Each ``gc.collect()`` with the fix that deletes its row, which leaves the other one and the import."""
    text = sources["train.py"].text
    row = "gc.collect()\n"
    starts = [at for at in range(len(text)) if text.startswith(row, at)]
    return [
        Finding(
            "PPF704",
            "train.py",
            at,
            at + 12,
            "m",
            Fix("delete it", (Edit(at, at + 13, ""),), Level.SAFE, unneeded=unneeded),
        )
        for at in starts
    ]


def test_an_import_that_only_several_fixes_together_leave_unused_goes_with_them() -> None:
    outcome = fix_all({"train.py": Source("train.py", CALLS)}, lambda now: _calls(dict(now)), Level.SAFE)
    assert outcome.changed["train.py"].text == "import os\n\nos.sep\n"


def test_it_stays_where_something_else_needs_it() -> None:
    outcome = fix_all({"train.py": Source("train.py", CALLS)}, lambda now: _calls(dict(now), ()), Level.SAFE)
    assert outcome.changed["train.py"].text == "import gc\nimport os\n\nos.sep\n"


def test_it_stays_where_another_fix_of_the_run_uses_it() -> None:
    text = "import gc\n\ngc.collect()\nx = 1\n"
    first = Fix("delete it", (Edit(11, 24, ""),), Level.SAFE, unneeded=("gc",))
    other = Fix("free", (Edit(28, 29, "gc.get_count()"),), Level.SAFE)
    assert apply(text, [first]).text == "x = 1\n"
    assert apply(text, [first, other]).text == "import gc\n\nx = gc.get_count()\n"


IN_FUNCTIONS = """\
def one(x):
    import gc
    gc.collect()
    return x


def two(x):
    {before}import gc
    gc.collect()
    return gc.get_count()
"""


@pytest.mark.parametrize("before", ["", "import package.gc\n    "])
def test_imports_of_the_same_name_in_several_functions(before: str) -> None:
    text = IN_FUNCTIONS.format(before=before)
    at = text.index("    gc.collect()")
    fix = Fix("delete it", (Edit(at, at + 17, ""),), Level.SAFE, unneeded=("gc",))
    other = Fix(
        "count", (Edit(text.rindex("gc.get_count()"), len(text), "gc.get_count() + gc.isenabled()\n"),), Level.SAFE
    )
    expected = text.replace("    import gc\n    gc.collect()\n    return x", "    return x")
    assert apply(text, [fix]).text == expected
    assert apply(text, [fix, other]).text == expected.replace("_count()", "_count() + gc.isenabled()")


@pytest.mark.parametrize(
    ("beside", "goes"),
    [("import package\n", True), ("from package import more\n", True), ("x = package_of()\n", False)],
)
def test_a_package_is_loaded_all_the_same_by_an_import_of_the_function(beside: str, goes: bool) -> None:
    text = f"def f():\n    {beside}    import package as P\n"
    assert (without(text, "package as P") != text) is goes


SETTINGS = Settings(select=("PPF206", "PPF601"), min_confidence=Confidence.LOW)
SAMPLES = """\
import paddle
import paddle.nn.functional as F


def step(model, x, optimizer):
    target = paddle.to_tensor(F.softmax(model(x)).numpy())
    loss = F.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss
"""
LOOP = """\
from steps import step

for x in loader:
    step(model, x, optimizer)
"""


def _fixed(files: dict[str, str]) -> str:
    known = {path: Source(path, text) for path, text in files.items()}
    outcome = fix_all(known, lambda now: engine.check(dict(now), SETTINGS), Level.SAFE)
    assert outcome.rejected == ()
    return outcome.changed["steps.py"].text


def test_a_run_removes_an_import_that_nothing_needs() -> None:
    assert _fixed({"steps.py": SAMPLES, "main.py": LOOP}).startswith("import paddle.nn")


def test_a_run_keeps_an_import_that_another_of_its_fixes_uses() -> None:
    evaluate = EVALUATE.replace("import paddle\n", "")
    text = _fixed({"steps.py": SAMPLES + evaluate, "main.py": LOOP})
    assert text.startswith("import paddle\n")
    assert "@paddle.no_grad()" in text
    assert ".detach()" in text


def test_a_fix_is_made_although_its_import_stays() -> None:
    text = _fixed({"steps.py": SAMPLES, "main.py": f"{LOOP}import steps as S\nS.paddle.seed(1)\n"})
    assert text.startswith("import paddle\n")
    assert ".detach()" in text
