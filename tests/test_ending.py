"""A run that is asked to stop ends in order, whenever the request comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perflint import cli
from perflint.commands import Terminated, in_order
from tests.cli_runs import ROOT

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.usefixtures("heeds_sighup"),
]

CODE = """
import os, signal, sys
from perflint import cli

class Cleaned:
    def __del__(self):
        os.kill(os.getpid(), {number})
        for _ in range(1000):
            pass

def run(options):
    made = Cleaned()
    try:
        del made
        for _ in range(10**9):
            pass
    finally:
        print("put in order", flush=True)

cli._run = run
sys.exit(cli.main(["check"]))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_request_that_comes_while_an_object_is_cleaned_up_is_heeded(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """Python drops what is raised there, and tells of it with a traceback."""
    command = [sys.executable, "-c", CODE.format(number=int(number))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "put in order\n", "")


def test_what_there_was_is_there_again() -> None:
    before = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    with pytest.raises(Terminated), in_order():
        signal.raise_signal(signal.SIGTERM)
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


def test_who_has_decided_what_sigterm_does_is_left_alone() -> None:
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with in_order():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [1]


def test_a_command_that_was_terminated_says_so_by_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_run", lambda _: signal.raise_signal(signal.SIGTERM))
    assert cli.main(["check"]) == 143


def test_a_closed_terminal_ends_a_command_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_run", lambda _: signal.raise_signal(signal.SIGHUP))
    assert cli.main(["check"]) == 129


def test_nohup_is_heeded() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with in_order():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
