"""What the tests of editors share: one script and what is to be said about it, and a way to run an editor on it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
GUIDE = ROOT / "docs" / "editors.md"

SCRIPT = """\
import paddle


def train(model, loader, optimizer):
    for step, batch in enumerate(loader):
        loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        名 = "损失😀"; paddle.device.synchronize()
        put("损失😀", paddle.to_tensor(0.5))
        print(名)
"""
FIXED = SCRIPT.replace("paddle.to_tensor(0.5)", "paddle.full([], 0.5)")
"""With the only safe fix: that of PPF205.  PPF405, which every editor is told to leave out, has an unsafe one."""

BREAK = "\n)\n"
"""What makes the script no Python when it stands at the end."""

# Rows and columns from 0, ends exclusive, each character counted by hand:
#   |        名 = "损失😀"; paddle.device.synchronize()|   8 blanks, 名, 4 of ` = "`, 损失, 😀, 3 of `"; `, then 27
#   |        put("损失😀", paddle.to_tensor(0.5))|         8 blanks, 5 of `put("`, 损失, 😀, 3 of `", `, then 21
#   |        print(名)|                                   8 blanks, 6 of `print(`, 名, 1: PPF405, which is left out
# 名, 损 and 失 are 3 bytes and 1 unit of UTF-16 each, 😀 is 4 bytes and 2 units.
CHARACTERS = [[9, 19, 9, 46, "PPF204"], [10, 19, 10, 40, "PPF205"]]
UTF16_UNITS = [[9, 20, 9, 47, "PPF204"], [10, 20, 10, 41, "PPF205"]]
BYTES = [[9, 28, 9, 55, "PPF204"], [10, 26, 10, 47, "PPF205"]]


def snippet(name: str) -> str:
    """The configuration that the guide marks with this name, and tells people to use."""
    mark = rf"<!-- run by the tests: {name} -->\n+```\w*\n(.*?)```"
    found = re.search(mark, GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, name
    return found[1]


class Workplace:
    """A project with the script, and a home of its own for whatever runs there.

    Args:
        place: an empty directory.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.project = place / "project"
        self.script = self.project / "train.py"
        self.answers = place / "answers.json"
        for directory in (self.project, place / "home", place / "bin"):
            directory.mkdir()
        (self.project / "perflint.toml").touch()
        self.script.write_text(SCRIPT, encoding="utf-8")
        command = shlex.join([sys.executable, "-m", "perflint"])
        perflint = place / "bin" / "perflint"
        perflint.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {command} "$@"\n', encoding="utf-8")
        perflint.chmod(0o755)

    def run(
        self, command: Sequence[str], more: Mapping[str, str] | None = None, timeout: float = 120
    ) -> dict[str, Any]:
        """What an editor leaves in the file that ``PERFLINT_ANSWERS`` names; ``timeout`` in seconds."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "VIM"))},
            "HOME": str(self.place / "home"),
            "PATH": f"{self.place / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "PERFLINT_ANSWERS": str(self.answers),
            "PERFLINT_BREAK": BREAK,
            **(more or {}),
        }
        run = subprocess.run(
            command,
            cwd=self.project,
            env=environment,
            capture_output=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        said = (run.stdout + run.stderr).decode("utf-8", "replace")
        assert self.answers.exists(), said
        answers = json.loads(self.answers.read_text(encoding="utf-8"))
        assert isinstance(answers, dict)
        assert "error" not in answers, f"{answers['error']}\n{said}"
        return answers

    def fixed(self) -> str:
        """The script after ``perflint check --fix``."""
        copy = self.place / "copy.py"
        copy.write_text(SCRIPT, encoding="utf-8")
        command = [sys.executable, "-m", "perflint", "check", "--isolated", "--ignore", "PPF405", "--fix", str(copy)]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        return copy.read_text(encoding="utf-8")
