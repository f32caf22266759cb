"""What ``bench`` says of a script that fails because of its interpreter."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from perflint.bench.script_run import Plan, exit_message


@pytest.mark.skipif(os.name != "posix", reason="the interpreter is a shell script")
@pytest.mark.parametrize(("has_paddle", "said"), [(False, "has no Paddle: name the interpreter"), (True, "'numpyx'")])
def test_an_interpreter_that_lacks_another_module_first(has_paddle: bool, said: str, tmp_path: Path) -> None:
    """A script that imports NumPy before Paddle fails there; if Paddle is missing as well, that is what to say."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexit {0 if has_paddle else 1}\n")
    python.chmod(0o755)
    plan = cast(Plan, SimpleNamespace(python=str(python), script="train.py"))
    assert said in exit_message(plan, 1, ["ModuleNotFoundError: No module named 'numpyx'"])
