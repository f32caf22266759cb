"""The GitHub action and the examples of ``docs/ci.md``: their schemas, their commands, and the shell of the action."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from perflint import __version__, cli
from tests.tools import missing

ROOT = Path(__file__).resolve().parents[1]
ACTION = ROOT / "action.yml"
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(?:yaml|groovy)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WORKFLOWS = [text for text in EXAMPLES if "runs-on:" in text]
GITLAB = [text for text in EXAMPLES if text.startswith("perflint:\n  image:")]
TRAIN = """\
import paddle
from helpers import note


def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        note(loss)
"""
HELPERS = "def note(loss):\n    return loss.item()\n"


# --- what is written


def is_valid(schema: str, path: Path) -> None:
    """Check a file against a JSON schema that check-jsonschema brings along; no network is used."""
    if importlib.util.find_spec("check_jsonschema") is None:
        if sys.version_info < (3, 11):
            pytest.skip("check-jsonschema needs Python 3.11")
        missing("check-jsonschema is not installed")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_has_the_form_of_an_action() -> None:
    is_valid("vendor.github-actions", ACTION)


def test_the_examples_have_the_form_that_their_readers_expect(tmp_path: Path) -> None:
    assert (len(EXAMPLES), len(WORKFLOWS), len(GITLAB)) == (8, 5, 1)
    for number, text in enumerate(WORKFLOWS):
        (tmp_path / f"{number}.yml").write_text(text)
        is_valid("vendor.github-workflows", tmp_path / f"{number}.yml")
    (tmp_path / "gitlab.yml").write_text(GITLAB[0])
    is_valid("vendor.gitlab-ci", tmp_path / "gitlab.yml")
    for text in EXAMPLES:
        if "pipeline {" not in text:
            assert isinstance(yaml.safe_load(text), dict)


def test_perflint_takes_the_commands_of_the_examples() -> None:
    commands = re.findall(r"perflint (check [^'\n]*)", "\n".join(EXAMPLES))
    assert len(commands) == 4
    for command in commands:
        assert cli.parse(shlex.split(command)).paths == [Path()]


def test_the_examples_use_inputs_that_the_action_has() -> None:
    steps = [step for text in WORKFLOWS for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    used = [step.get("with", {}) for step in steps if step.get("uses", "").startswith("perflint-paddle/perflint@")]
    assert len(used) == 3
    inputs = set(yaml.safe_load(ACTION.read_text())["inputs"])
    assert set().union(*used) <= inputs
    assert all(f"`{name}`" in PAGE or f"{name}:" in PAGE for name in inputs)


# --- what the action does


def steps() -> dict[str, Any]:
    """The steps of the action that run a script, by id."""
    return {step["id"]: step for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "run" in step}


def test_no_script_holds_an_expression() -> None:
    assert steps().keys() == {"install", "check"}
    for step in steps().values():
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]


Step = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with training code in two commits: the second one is a helper alone."""
    place = tmp_path / "work space"
    place.mkdir()
    monkeypatch.chdir(place)
    Path("train.py").write_text(TRAIN)
    git("init", "--quiet")
    commit()
    Path("helpers.py").write_text(HELPERS)
    commit()
    return place


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], check=True)


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", "Work")


@pytest.fixture
def run(workspace: Path, tmp_path: Path) -> Step:
    """Runs a step of the action as GitHub does: its inputs in the environment, its script in bash."""
    temporary = tmp_path / "runner temp"
    temporary.mkdir()
    perflint = temporary / "perflint-here"
    perflint.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m perflint "$@"\n')
    perflint.chmod(0o755)

    def run_step(name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        step, action = steps()[name], yaml.safe_load(ACTION.read_text())
        defaults = {key: value["default"] for key, value in action["inputs"].items()}
        given = {key.replace("_", "-"): value for key, value in inputs.items()}
        assert given.keys() <= defaults.keys()
        values = {f"inputs.{key}": value for key, value in {**defaults, **given}.items()}
        values |= {"github.action_path": str(ROOT), "steps.install.outputs.perflint": str(perflint)}
        script = temporary / "script.sh"
        script.write_text(step["run"])
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace / _filled(step.get("working-directory", "."), values),
            env={
                **os.environ,
                "GITHUB_ACTIONS": "true",
                "GITHUB_OUTPUT": str(temporary / "output"),
                "GITHUB_WORKSPACE": str(workspace),
                "RUNNER_TEMP": str(temporary),
                **{key: _filled(value, values) for key, value in step["env"].items()},
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run_step


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], text)


def outputs(tmp_path: Path) -> dict[str, str]:
    lines = (tmp_path / "runner temp" / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_findings_fail_the_step_and_are_shown_twice(run: Step, tmp_path: Path) -> None:
    done = run("check")
    assert done.returncode == 1
    assert "helpers.py:2:12" in done.stdout
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert [re.search(r"file=(\S+?),line=(\d+)", line)[0] for line in annotations] == [  # type: ignore[index]
        "file=helpers.py,line=2",
        "file=train.py,line=11",
    ]
    assert outputs(tmp_path) == {"status": "1"}


def test_findings_need_not_fail(run: Step, tmp_path: Path) -> None:
    done = run("check", fail_on_findings="false", annotations="false")
    assert done.returncode == 0
    assert "::" not in done.stdout
    assert outputs(tmp_path) == {"status": "1"}


def test_what_cannot_work_fails_all_the_same(run: Step, tmp_path: Path) -> None:
    assert run("check", paths="gone", fail_on_findings="false").returncode == 2
    assert outputs(tmp_path) == {"status": "2"}


def test_sarif_is_written_where_it_is_asked_for(run: Step, workspace: Path, tmp_path: Path) -> None:
    assert run("check", sarif_file="out put.sarif", fail_on_findings="false").returncode == 0
    sarif = workspace / "out put.sarif"
    assert len(json.loads(sarif.read_text())["runs"][0]["results"]) == 2
    assert outputs(tmp_path) == {"status": "1", "sarif": str(sarif.resolve())}


def test_what_has_changed_is_reported_in_its_context(run: Step, tmp_path: Path) -> None:
    done = run("check", changed_since="HEAD~1")
    assert done.returncode == 1
    assert "helpers.py:2:12" in done.stdout
    assert "train.py:11:9" in done.stdout  # it calls the helper, which has changed
    nothing = run("check", changed_since="HEAD", sarif_file="out.sarif")
    assert (nothing.returncode, nothing.stderr) == (0, "")
    assert nothing.stdout.startswith("No findings in ")
    assert outputs(tmp_path)["status"] == "0"


@pytest.mark.parametrize("text", ["origin/gone", "--output=stolen"])
def test_a_commit_that_is_not_there(run: Step, workspace: Path, text: str) -> None:
    done = run("check", changed_since=text)
    assert done.returncode == 2
    assert text in done.stderr
    assert not list(workspace.glob("stolen*"))


def test_inputs_are_never_run(run: Step, workspace: Path) -> None:
    tricks = "$(touch stolen)\n`touch stolen`; touch stolen"
    run("check", paths=tricks, args="--select $(touch${IFS}stolen) ; touch stolen", sarif_file=tricks)
    run("check", changed_since=tricks)
    assert not list(workspace.glob("stolen*"))


def test_arguments_and_paths(run: Step, workspace: Path) -> None:
    (workspace / "a b").mkdir()
    (workspace / "a b" / "train.py").write_text(TRAIN)
    done = run("check", args="--context  .\n--select PPF101,PPF201", paths="a b\nhelpers.py\n", annotations="false")
    assert "Found 2 findings in 2 files" in done.stdout
    assert "a b/train.py:11" in done.stdout


def test_perflint_is_installed_beside_what_is_there(run: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    done = run("install")
    if done.returncode != 0:
        missing("pip reaches no index", done.stderr)
    installed = Path(outputs(tmp_path)["perflint"])
    assert installed.is_relative_to(tmp_path)
    version = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"perflint {__version__}\n"


# --- programs that are made up every night


def test_each_night_has_programs_of_its_own_and_says_how_to_run_them_again() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    nightly = [job for job in workflow["jobs"].values() if job["if"] == "github.event_name == 'schedule'"]
    assert workflow[True]["schedule"] and [step["run"].split()[0] for step in nightly[0]["steps"][-1:]] == [
        ".ci/programs"
    ]
    said = [
        subprocess.run(
            [str(ROOT / ".ci" / "programs"), *arguments],
            env={**os.environ, "PYTHON": "echo"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for arguments in (("7", "20"), ())
    ]
    assert re.findall(r"^-m tests.programs (.*)$", said[0], re.MULTILINE) == [
        "--seed 7 --count 20",
        "--seed 7 --paddle --count 2",
    ]
    assert said[0].startswith("+ python -m tests.programs --seed 7 --count 20 ")
    assert re.search(r"--seed \d{6}0000 --count 5000\b", said[1])
