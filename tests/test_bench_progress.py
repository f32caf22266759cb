"""How far a measurement is, on a terminal and elsewhere."""

from __future__ import annotations

import io
import sys
from contextlib import closing

import pytest

from perflint.commands.bench import MeasuringProgress
from perflint.output.console import Console


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    """What six runs of 30 s show."""
    monkeypatch.setattr(sys, "stderr", stream)
    with closing(MeasuringProgress(Console())) as progress:
        progress.tell("a first run")
        progress.start(6, 30.0)
        for done in range(6):
            progress.run(done, 6, "before" if done % 2 else "all fixes")
    return stream.getvalue()


def test_a_line_for_each_run_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(io.StringIO(), monkeypatch).splitlines()
    assert lines[:3] == [
        "a first run",
        "6 runs, about 3 min in all; Ctrl-C stops them",
        "run 1 of 6: all fixes (about 3 min left)",
    ]
    assert lines[-1] == "run 6 of 6: before (about 30 s left)"
    assert len(lines) == 8


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm", reason="the extra bench has it")
    said = shown(Terminal(), monkeypatch)
    assert "0/6" in said
    assert "5/6" in said
    assert "before" in said
    assert "run 1 of 6" not in said
    assert said.split("\r")[-1].strip() == ""  # the bar does not stay


def test_lines_on_a_terminal_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert "run 1 of 6: all fixes" in shown(Terminal(), monkeypatch)
