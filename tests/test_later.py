"""Modules that are loaded when something in them is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perflint.later import import_later
from tests.support import in_step

LOADED = 'print("loaded")\nvalue = 1\n'


def run(code: str, folder: Path) -> list[str]:
    """What a new interpreter prints that runs this code, with the modules of a folder."""
    code = f"import sys\nsys.path.insert(0, {str(folder)!r})\nfrom perflint.later import import_later\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr[-300:]).split("\n")


def test_a_module_runs_when_something_in_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(LOADED)
    code = 'import_later("slow")\nimport slow\nprint("imported")\nimport slow as other\nprint(other.value, slow.value)'
    assert run(code, tmp_path) == ["imported", "loaded", "1 1", ""]


def test_parts_of_a_package_are_found(tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "__init__.py").write_text(LOADED)
    (tmp_path / "slow" / "part.py").write_text("from slow import value\n")
    code = 'import_later("slow")\nimport slow\nprint("imported")\nfrom slow.part import value\nprint(value)'
    assert run(code, tmp_path) == ["imported", "loaded", "1", ""]


def test_a_module_that_fails_fails_when_it_is_asked_for_and_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("raise ValueError('no')")
    code = (
        'import_later("slow")\nimport slow\ntry:\n    slow.value\nexcept ValueError as error:\n    print(error)\n'
        'print("slow" in sys.modules)'
    )
    assert run(code, tmp_path) == ["no", "False", ""]


def test_what_is_not_there_or_loaded_already_is_left_alone() -> None:
    before = sys.modules["ast"] if "ast" in sys.modules else pytest.fail("ast is loaded")
    import_later("ast")
    assert sys.modules["ast"] is before
    import_later("no_such_module_anywhere")
    assert "no_such_module_anywhere" not in sys.modules


CHECKS = """
import_later("libcst")
from perflint.run import engine
from perflint.rules import load_checks
from perflint.configuration.settings import Settings
from perflint.text.source import Source

load_checks()
print("libcst._nodes" in sys.modules)
text = open(sys.path[0] + "/train.py").read()
found = engine.check({"train.py": Source("train.py", text)}, Settings(join_lines=False), jobs=1)
print([finding.code for finding in found])
print("libcst._nodes" in sys.modules)
"""

MODEL = """
import paddle

class Net(paddle.nn.Layer):
    def forward(self, x):
        return x
"""


LOADER = in_step("pass") + "\n\nimport paddle.io\nloader = paddle.io.DataLoader(data, shuffle=True)\n"


@pytest.mark.parametrize(
    ("text", "codes", "is_needed"),
    [
        (LOADER, "['PPF101']", True),  # an argument is added
        (in_step("paddle.device.synchronize()"), "['PPF204']", False),
        (MODEL, "[]", False),
    ],
)
def test_rules_load_libcst_only_for_what_they_edit_with_it(
    text: str, codes: str, is_needed: bool, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text)
    assert run(CHECKS, tmp_path) == ["False", codes, str(is_needed), ""]
