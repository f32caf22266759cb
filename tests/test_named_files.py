"""Files that are named and are no Python, and runs that have nothing to check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perflint.cli import main
from tests.cli_runs import Output, pipe, write
from tests.support import in_step

FINDING = in_step("total += loss.item()\n")
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["loss.item()"]}], "metadata": {}, "nbformat": 4})

pytestmark = pytest.mark.usefixtures("real_workplace")


def check(capsys: Output, *arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a check."""
    capsys.readouterr()
    status = main(["check", "--no-cache", "--output-format", "concise", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("nb.ipynb", NOTEBOOK, "it is a notebook: write its code to a file"),
        ("NB.IPYNB", NOTEBOOK, "it is a notebook"),
        ("config.yml", "workers: 4\n", "its name does not end in .py"),
        ("data.json", "{}\n", "its name does not end in .py"),
        ("train.py.bak", "x = 1\n", "its name does not end in .py"),
        ("LICENSE", "The quick brown fox\n", "its name does not end in .py"),
        ("weights", "\0\1\2", "its name does not end in .py"),
        ("run.sh", "#!/bin/sh\necho\n", "its name does not end in .py"),
    ],
)
def test_a_file_that_is_no_python_says_so(name: str, text: str, told: str, capsys: Output) -> None:
    Path(name).write_text(text)
    status, out, err = check(capsys, name)
    assert status == 2
    assert err.startswith(f"error: {name} was not checked: {told}")
    assert "error: nothing was checked" in err
    assert out == ""
    write(train=FINDING)
    status, out, err = check(capsys, name, "train.py")
    assert status == 1
    assert "train.py:" in out
    assert "PPF201" in out
    assert err.startswith(f"warning: {name} was not checked: {told}")
    write(train="x = 1\n")
    assert check(capsys, "--quiet", name, "train.py") == (0, "", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", FINDING),
        ("train.pyi", FINDING),
        ("TRAIN.PYW", FINDING),
        ("train", FINDING),
        ("train.cgi", "#!/usr/bin/env python3\n" + FINDING),
        ("train", "#! /usr/bin/python -u\n" + FINDING),
    ],
)
def test_python_is_read_whatever_it_is_called(name: str, text: str, capsys: Output) -> None:
    Path(name).write_text(text)
    status, out, err = check(capsys, name)
    assert (status, err) == (1, "")
    assert f"{name}:" in out


def test_a_script_that_does_not_parse_is_a_finding(capsys: Output) -> None:
    Path("train").write_text("#!/usr/bin/python\nimport paddle\nx = (\n")
    status, out, _ = check(capsys, "train")
    assert status == 1
    assert "PPF001" in out


@pytest.mark.parametrize("options", [[], ["--fix"], ["--diff"], ["--exit-zero"], ["--quiet"], ["--add-noqa"]])
def test_a_run_that_finds_no_file_exits_2(options: list[str], capsys: Output) -> None:
    Path("empty").mkdir()
    Path("empty/notes.txt").write_text("notes\n")
    status, out, err = check(capsys, *options, "empty")
    assert (status, out) == (2, "")
    assert err == "error: there are no Python files in empty\n"
    assert check(capsys, *options)[0] == 2


def test_no_baseline_is_written_where_nothing_was_checked(capsys: Output) -> None:
    Path("config.yml").write_text("workers: 4\n")
    assert check(capsys, "--write-baseline", "config.yml")[0] == 2
    assert not Path("perflint-baseline.json").exists()


def test_reports_are_written_all_the_same(capsys: Output) -> None:
    status, out, _ = check(capsys, "--output-format", "json", "--output", "sarif:out.sarif", ".")
    assert status == 2
    assert json.loads(out) == []
    assert json.loads(Path("out.sarif").read_text())["runs"][0]["results"] == []


def test_what_somebody_has_excluded_is_no_failure(capsys: Output) -> None:
    """pre-commit names the files of a commit, which may all be excluded."""
    Path("perflint.toml").write_text('extend-exclude = ["old"]\n')
    Path("old").mkdir()
    Path("old/a.py").write_text(FINDING)
    assert check(capsys, "--force-exclude", "old/a.py")[0] == 0
    Path("config.yml").write_text("workers: 4\n")
    status, _, err = check(capsys, "--force-exclude", "old/a.py", "config.yml")
    assert status == 0
    assert "config.yml was not checked" in err


def test_context_alone_is_nothing_checked(capsys: Output) -> None:
    Path("lib").mkdir()
    Path("lib/a.py").write_text(FINDING)
    Path("config.yml").write_text("workers: 4\n")
    status, out, err = check(capsys, "--context", "lib", "config.yml")
    assert (status, out) == (2, "")
    assert "config.yml was not checked" in err


@pytest.mark.parametrize("options", [[], ["--fix"]])
def test_a_notebook_through_standard_input(options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    pipe(monkeypatch, NOTEBOOK.encode())
    status, out, err = check(capsys, *options, "--stdin-filename", "nb.ipynb", "-")
    assert status == 2
    assert err.startswith("error: nb.ipynb was not checked: it is a notebook")
    assert out == (NOTEBOOK if options else "")


@pytest.mark.parametrize("arguments", [["-"], ["--stdin-filename", "a.py"], ["--stdin-filename", "train"]])
def test_python_through_standard_input(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    pipe(monkeypatch, FINDING.encode())
    status, out, err = check(capsys, *arguments)
    assert (status, err) == (1, "")
    assert "PPF201" in out
    pipe(monkeypatch, b"")
    assert check(capsys, *arguments)[0] == 0
