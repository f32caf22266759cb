"""The shipped examples: they train, perflint finds in them what they are there to show, and they train when fixed."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked_scripts import Script, run_scripts

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
FINDINGS = {
    "cifar10": {"PPF101", "PPF201", "PPF202", "PPF306"},
    "text_classifier": {"PPF101"},
    "segmentation": {"PPF101", "PPF201", "PPF202", "PPF401"},
}
CHECKPOINTS = {"cifar10": "cifar10-0.pdparams", "segmentation": "latest.pdparams"}


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def losses(script: Path, folder: Path) -> list[float]:
    """Train for one short epoch in ``folder`` and return the mean losses that the script prints."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    [done] = run_scripts([Script(script, ["--epochs", "1", "--steps", "4"], folder, environment)])
    assert done.status == 0, done.errors
    return [float(number) for number in re.findall(r"(?:mean|test) loss (\S+)", done.output)]


def test_every_example_is_tried() -> None:
    assert {script.stem for script in EXAMPLES.glob("*.py")} == FINDINGS.keys()


@pytest.mark.parametrize("name", FINDINGS)
def test_example_trains(name: str, tmp_path: Path) -> None:
    [loss] = losses(EXAMPLES / f"{name}.py", tmp_path)
    assert math.isfinite(loss)
    assert 0 < loss < 10
    if name in CHECKPOINTS:
        assert (tmp_path / "output" / CHECKPOINTS[name]).stat().st_size > 0


@pytest.mark.parametrize("name", FINDINGS)
def test_example_has_the_findings_it_is_there_for(name: str, tmp_path: Path) -> None:
    shutil.copyfile(EXAMPLES / f"{name}.py", tmp_path / "train.py")
    command = [sys.executable, "-m", "perflint", "check", "--isolated", "--no-cache", "--output-format", "json"]
    done = run([*command, "train.py"], tmp_path)
    assert done.returncode == 1, done.stderr
    assert {found["code"] for found in json.loads(done.stdout)} == FINDINGS[name]


@pytest.mark.parametrize("name", FINDINGS)
def test_example_trains_when_fixed(name: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    shutil.copyfile(EXAMPLES / f"{name}.py", script)
    before = script.read_text(encoding="utf-8")
    command = [sys.executable, "-m", "perflint", "check", "--isolated", "--no-cache", "--fix", "--unsafe-fixes"]
    done = run([*command, "train.py"], tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert script.read_text(encoding="utf-8") != before
    [loss] = losses(script, tmp_path)
    assert math.isfinite(loss)
    assert 0 < loss < 10
