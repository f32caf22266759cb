"""The commands in ``docs/old-code.md`` print what stands there; each part begins with the examples as they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.git_runs import commit, start

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "old-code.md"
PARTS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
SESSION = re.compile(r"```\n(\$ .*?)```\n", re.DOTALL)


def run(command: str) -> str:
    """What a shell prints for a command, with perflint as people call it."""
    script = f'perflint() {{ "{sys.executable}" -m perflint "$@"; }}\n{command}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "PERFLINT_CACHE_DIR": ""}
    shell = subprocess.run(
        ["bash", "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return shell.stdout.decode()


def played(part: str) -> str:
    """A part of the page with what its commands print now."""
    return SESSION.sub(lambda block: f"```\n{_session(block[1])}```\n", part)


def _session(block: str) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{run(line[2:])}" for line in commands)


@pytest.mark.skipif(sys.platform != "linux", reason="the commands are those of GNU")
@pytest.mark.parametrize("part", PARTS, ids=[part.partition("\n")[0] for part in PARTS])
def test_the_page_shows_what_the_commands_print(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path / "examples", monkeypatch)
    for path in (ROOT / "examples").glob("*.py"):
        shutil.copy(path, Path.cwd())
    commit()
    assert SESSION.search(part)
    assert played(part) == part
