"""What the tests of the command line share: its output, files and standard input to check, perflint in a process."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
PRELUDE = """\
import sys
sys.path[:0] = {paths!r}
from tests import fake_rules
from perflint import catalogue
from perflint.run import engine
catalogue.shipped = lambda: fake_rules.RULES
engine.check, engine.check_projects = fake_rules.check, fake_rules.check_projects
from perflint.cli import main
"""
Output = pytest.CaptureFixture[str]


def write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.py").write_bytes(text.encode())


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def process(arguments: Sequence[str], **options: object) -> subprocess.Popen[bytes]:
    """perflint with the fake rules in a process of its own."""
    code = PRELUDE.format(paths=[str(ROOT)]) + f"sys.exit(main({list(arguments)!r}))"
    # Which of the many signatures of Popen is meant, mypy cannot tell from options that are handed on.
    return subprocess.Popen([sys.executable, "-c", code], **options)  # type: ignore[call-overload, no-any-return]
