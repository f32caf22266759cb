"""The hooks, run by pre-commit in an environment that it builds from this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.hooks import MANIFESTS, git, hooks_repository, repository
from tests.tools import missing

CONFIGURATION = """\
repos:
- repo: {hooks}
  rev: {revision}
  hooks:
  - id: perflint
    alias: whole
  - id: perflint
    alias: alone
    args: [--no-context]
  - id: perflint-fix
"""
TRAIN = """\
import paddle
from helpers import note


def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {statement}
"""
PRINTS, CALLS, SCALES = (
    TRAIN.format(statement=statement)
    for statement in ("print(loss.item())", "note(loss)", "model.keep(paddle.to_tensor([1.0]))")
)
HELPERS = """\
def note(loss):
    return loss.item()
"""


def test_the_manifest_is_there_under_both_names_and_valid() -> None:
    first, second = MANIFESTS
    assert first.read_bytes() == second.read_bytes()
    assert not first.is_symlink()
    assert not second.is_symlink()
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", *map(str, MANIFESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs pre-commit in a repository with training code, which is the same before each run but for what is given."""
    hooks, revision = hooks_repository(tmp_path_factory.mktemp("hooks"))
    place = tmp_path_factory.mktemp("project")
    (place / ".pre-commit-config.yaml").write_text(CONFIGURATION.format(hooks=hooks, revision=revision))
    repository(place)
    home = tmp_path_factory.mktemp("home")
    environ = {**os.environ, "HOME": str(home), "PRE_COMMIT_HOME": str(home / "pre-commit"), "PERFLINT_CACHE_DIR": ""}

    def run_in(*arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            path = place / (name if "." in name else f"{name.replace('__', '/')}.py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        git(place, "add", "--all")
        command = [sys.executable, "-m", "pre_commit", *arguments]
        return subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False)

    installed = run_in("install-hooks")
    if installed.returncode != 0:
        missing("pip reaches no index", installed.stdout + installed.stderr)
    return run_in


def test_findings_fail_and_clean_files_pass(run: Run) -> None:
    failed = run("run", "whole", "--files", "train.py", train=PRINTS, helpers=HELPERS, clean="x = 1\n")
    assert failed.returncode == 1
    assert "PPF202" in failed.stdout
    assert "train.py:11:9: PPF202 [u]" in failed.stdout  # one line for each finding
    passed = run("run", "whole", "--files", "clean.py")
    assert (passed.returncode, passed.stdout.split(".")[-1].strip()) == (0, "Passed")


def test_a_helper_that_changed_alone_is_read_with_the_rest(run: Run) -> None:
    failed = run("run", "whole", "--files", "helpers.py", train=CALLS, helpers=HELPERS)
    assert failed.returncode == 1
    assert "helpers.py:2:12" in failed.stdout
    assert "train.py:11:9" not in failed.stdout
    assert run("run", "alone", "--files", "helpers.py").returncode == 0


def test_the_fixing_hook_fails_once_and_then_passes(run: Run) -> None:
    fixed = run("run", "perflint-fix", "--files", "train.py", train=SCALES)
    assert fixed.returncode == 1
    assert "files were modified by this hook" in fixed.stdout
    assert "1 fixed, 0 remaining" in fixed.stdout
    assert run("run", "perflint-fix", "--files", "train.py").returncode == 0


def test_what_is_excluded_is_neither_reported_nor_fixed(run: Run) -> None:
    assert run("run", "whole", "--files", "third_party/train.py", third_party__train=PRINTS).returncode == 1
    excluding = {"perflint.toml": 'extend-exclude = ["third_party"]\n'}
    for hook in ("whole", "perflint-fix"):
        done = run("run", hook, "--files", "third_party/train.py", **excluding)
        assert (done.returncode, done.stdout.split(".")[-1].strip()) == (0, "Passed")
