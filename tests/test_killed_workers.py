"""A worker process that is killed, for lack of memory for one: the others' findings are reported, and all is said."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.run import cache, engine
from perflint.run.processes import can_fork
from perflint.text.source import Source
from tests.cli_runs import Output
from tests.support import in_step

pytestmark = [
    pytest.mark.usefixtures("real_workplace"),
    pytest.mark.skipif(not can_fork(), reason="this system cannot fork"),
]

TEXT = in_step("total += loss.item()")
COUNT = 30


@pytest.fixture
def projects(real_workplace: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories that have nothing to do with each other, with a finding each; whoever checks ``p7`` is killed."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    for number in range(COUNT):
        directory = Path(f"p{number}")
        directory.mkdir()
        (directory / "train.py").write_text(TEXT)
    examined = engine._Run._examined

    def kill(run: engine._Run, project: Mapping[str, Source], last: bool) -> object:
        if "p7/train.py" in project and multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return examined(run, project, last)

    monkeypatch.setattr(engine._Run, "_examined", kill)


def lost(err: str) -> set[str]:
    """What the message says was not checked; with few names it has them all."""
    assert "perflint: a worker process was killed (signal 9), often for lack of memory; try --jobs 1. " in err
    assert "bug" not in err
    return {name.strip() for name in err.partition("not checked:")[2].replace(" and ", ",").split(",")}


@pytest.mark.parametrize("options", [[], ["--no-cache"]])
def test_the_rest_is_reported(projects: None, capsys: Output, options: list[str]) -> None:
    assert main(["check", "-j2", "--output-format", "json", *options]) == 2
    out, err = capsys.readouterr()
    reported = {Path(item["filename"]).parent.name for item in json.loads(out)}
    assert "p7" not in reported
    assert len(reported) > COUNT // 2
    unchecked = lost(err)
    assert f"{COUNT - len(reported)} file" in err
    assert not {f"{name}/train.py" for name in reported} & unchecked


def test_the_next_run_does_not_take_it_for_clean(projects: None, capsys: Output) -> None:
    main(["check", "-j2"])
    capsys.readouterr()
    assert main(["check", "-j1", "--output-format", "json"]) == 1
    assert len(json.loads(capsys.readouterr().out)) == COUNT


def test_a_report_says_that_it_is_not_whole_and_counts_what_was_checked(projects: None, capsys: Output) -> None:
    assert main(["check", "-j2", "--output", "sarif:out.sarif", "--select", "PPF101"]) == 2
    run = json.loads(Path("out.sarif").read_text())["runs"][0]
    assert run["invocations"] == [{"executionSuccessful": False}]
    out, err = capsys.readouterr()
    unchecked = int(err.partition("try --jobs 1. ")[2].split()[0])
    assert out == f"No findings in {COUNT - unchecked} files.\n"


@pytest.mark.parametrize("option", ["--fix", "--diff", "--add-noqa", "--write-baseline"])
def test_nothing_is_written(projects: None, capsys: Output, option: str) -> None:
    assert main(["check", "-j2", option]) == 2
    lost(capsys.readouterr().err)
    assert all(Path(f"p{number}/train.py").read_text() == TEXT for number in range(COUNT))
    assert not Path("perflint-baseline.json").exists()
