"""The copies that perflint bench runs in: those of killed runs go with the next, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from perflint.bench.run_directory import scratch, sweep
from tests.cli_runs import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and signals of POSIX")

CODE = """
import subprocess, sys, time
from perflint.bench.run_directory import scratch
with scratch() as (place, lock):
    (place / "copy").mkdir()
    (place / "copy" / "model").write_text("large")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(lock,))
    print(child.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_copy_of_a_killed_run_goes_once_its_script_has_ended_too(temporary: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        child = int(running.stdout.readline())
        sweep()
        assert len(names(temporary)) == 1
        running.kill()
    sweep()
    assert len(names(temporary)) == 1
    os.kill(child, signal.SIGKILL)
    while names(temporary):  # until the system has ended it
        sweep()


def test_nothing_else_goes(temporary: Path) -> None:
    (temporary / "perflint-bench-notes").mkdir()
    (temporary / "perflint-bench-notes" / "lock").touch()
    (temporary / "perflint-bench-abcdefgh").mkdir()
    (temporary / "perflint-bench-abcdefgh" / "thesis").touch()
    os.utime(temporary / "perflint-bench-abcdefgh", (0, 0))
    (temporary / "perflint-bench-abcdefgi").symlink_to(temporary / "perflint-bench-notes")
    (temporary / "perflint-bench-abcdefgj").write_text("a file")
    (temporary / "perflint-bench-abcdefgk").mkdir()
    os.mkfifo(temporary / "perflint-bench-abcdefgk" / "lock")
    before = names(temporary)
    with scratch() as (place, _):
        sweep()
        assert place.is_dir()
    assert names(temporary) == before
    assert names(temporary / "perflint-bench-notes") == ["lock"]


def test_an_old_empty_one_goes(temporary: Path) -> None:
    for name in ("perflint-bench-abcdefgh", "perflint-bench-abcdefgi"):
        (temporary / name).mkdir()
    os.utime(temporary / "perflint-bench-abcdefgh", (0, 0))
    sweep()
    assert names(temporary) == ["perflint-bench-abcdefgi"]
