"""Who calls a function: which files are read for it, in which order, and which need not be."""

from __future__ import annotations

import pytest

from perflint.flow.resolving import opened
from perflint.index.in_use import Callers
from tests.support import Files, sources

HOME = "def run():\n    pass\n\n\nrun()\n"


def calling(files: Files) -> list[str]:
    """The files with calls that may mean the function ``run`` of ``home.py``."""
    project = opened(sources(files))
    return [file.path for file, *_ in Callers.of(project).named("run", project.files["home.py"])]


@pytest.mark.parametrize(
    "text",
    [
        "from home import run\nrun()",
        "from home import (\n    run\n)\nrun()",
        "from home import *\nrun()",
        "import home\nhome.run()",
        "import home\nhome . run()",
        "import home\n(home\n .\n run)()",
        "import home\nrun = home.run\nrun()",
        "def call(run):\n    run()",
    ],
)
def test_file_that_may_mean_the_function_of_another(text: str) -> None:
    assert calling({"a.py": text, "home.py": HOME}) == ["home.py", "a.py"]


@pytest.mark.parametrize("text", ["def run():\n    pass\n\n\nrun()", "run()"])
def test_file_that_only_means_its_own_is_left_out_unparsed(text: str) -> None:
    project = opened(sources({"a.py": text, "home.py": HOME}))
    home, other = project.files["home.py"], project.files["a.py"]
    assert [file for file, *_ in Callers.of(project).named("run", home)] == [home]
    assert not other.is_parsed
    assert [file for file, *_ in Callers.of(project).named("run")] == [other, home]


def test_files_are_parsed_only_as_long_as_somebody_asks_for_calls() -> None:
    project = opened(sources({"a.py": "from home import run\nrun()", "home.py": HOME}))
    calls = Callers.of(project).named("run", project.files["home.py"])
    _, _, statement, call = next(calls)
    assert statement.calls == [call]
    assert not project.files["a.py"].is_parsed
    assert len(list(calls)) == 1
    assert project.files["a.py"].is_parsed


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("run(); run()\nx = [\n    run()]", [1, 1, 3]),
        ("if run():\n    pass\nelif run(\n):\n    other()", [1, 3]),
        ("def outer():\n    def inner():\n        run()\n    run()\n\n\nclass A:\n    b = run()\nrun()", [8, 9, 4, 3]),
        ("for x in a(\n    run()\n): run()\nwith run(): pass", [2, 3, 4]),
        ("# run()\ntry:\n    text = 'run()'\nfinally: run()", [4]),
    ],
)
def test_calls_are_found_in_their_statements(text: str, rows: list[int]) -> None:
    project = opened(sources({"a.py": text}))
    assert [call.lineno for *_, call in Callers.of(project).named("run")] == rows
