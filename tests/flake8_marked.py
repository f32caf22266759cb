"""A real flake8 over one file, with a plugin that reports marked calls, to see which comments it honours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PLUGIN = """\
import ast


class Plugin:
    def __init__(self, tree):
        self.tree = tree

    def run(self):
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                for code in CODES.get(name, ()):
                    yield node.lineno, node.col_offset, f"{code} costly", type(self)


CODES = {"item": ["PPF201"], "DataLoader": ["PPF101"], "numpy": ["PPF201", "PPF202"]}
"""
_CONFIG = """\
[flake8]
select = PPF
[flake8:local-plugins]
extension =
    PPF = marked_calls:Plugin
paths = .
"""


def reported(directory: Path, text: str) -> list[tuple[int, str]]:
    """Row and code of what flake8 reports: ``.item()`` is PPF201, ``.numpy()`` PPF201 and PPF202, DataLoader PPF101.

    ``text`` is written as it is to a file in ``directory``.
    """
    (directory / "marked_calls.py").write_text(_PLUGIN)
    (directory / "flake8.cfg").write_text(_CONFIG)
    (directory / "train.py").write_bytes(text.encode())
    command = [sys.executable, "-m", "flake8", "--config", "flake8.cfg", "--format", "%(row)d %(code)s", "train.py"]
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert not run.stderr, run.stderr
    return sorted((int(row), code) for row, code in (line.split() for line in run.stdout.splitlines()))
