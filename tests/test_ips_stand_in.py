"""The stand-in for Paddle trains as Paddle does, refuses what it does not know, and works under the engine."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.bench.results import LEAST_ROUNDS
from perflint.bench.variants import VariantFiles
from tests.ips import agreement, cases, measuring, stand_in_rules
from tests.ips.cases import SCRIPTS
from tests.ips.places import Place

HERE = Place("cpu", stand_in=True)
QUIET = "PPF704"
"""Not measured with the stand-in, but compared with itself there."""
CODES = sorted([*stand_in_rules.MEASURED, QUIET])

ROUNDING, TERMS, LAYERS = 2.0**-24, 256 * 9, 42
"""Of one operation in float32; of the longest sum, which is in PPF306's convolutions; of the deepest network."""
TOLERANCE = 4 * ROUNDING * (TERMS * LAYERS) ** 0.5
"""Relative.  Roundings of both signs grow with the root of their number; there are two trainings, with two passes."""


@dataclass(frozen=True)
class Trained:
    """What one side has written: its version, and the losses of each script."""

    paddle: str
    losses: dict[str, list[float]]


def needs_torch() -> None:
    if why := HERE.missing():
        pytest.skip(why)


def names(code: str) -> list[str]:
    stem = cases.cases()[code].script.stem
    return [stem, f"{stem}_after"]


def train(python: str, folder: Path, result: Path, path: dict[str, str]) -> Trained:
    """Train the scripts in a folder; several in one process, since importing either framework takes seconds."""
    every = [agreement.EVALUATED, *(name for code in CODES for name in names(code))]
    command = [python, str(Path(agreement.__file__)), str(folder), str(result), *every]
    environment = {**os.environ, **HERE.environment, **path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Trained(**json.loads(result.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trained, Trained]:
    """What Paddle has trained, and what the stand-in has."""
    needs_torch()
    if importlib.util.find_spec("paddle") is None:
        pytest.skip("there is no Paddle to compare with")
    folder = tmp_path_factory.mktemp("scripts")
    shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
    for code in CODES:
        case = cases.cases()[code]
        (folder / f"{names(code)[1]}.py").write_text(cases.fixed(case), encoding="utf-8")
    paddle = train(sys.executable, folder, folder / "paddle.json", {})
    return paddle, train(HERE.python, folder, folder / "stand_in.json", HERE.path)


def test_the_two_sides_are_two(sides: tuple[Trained, Trained]) -> None:
    paddle, other = sides
    assert not paddle.paddle.startswith("stand-in")
    assert other.paddle.startswith("stand-in on torch ")


@pytest.mark.parametrize("name", [agreement.EVALUATED, *(name for code in CODES for name in names(code))])
def test_losses_agree_with_paddle(name: str, sides: tuple[Trained, Trained]) -> None:
    expected, found = (side.losses[name] for side in sides)
    assert len(expected) == agreement.STEPS + 1
    assert len(set(expected)) > 1, "nothing is trained"
    assert found == pytest.approx(expected, rel=TOLERANCE)


def test_it_works_under_the_engine() -> None:
    needs_torch()
    script = cases.cases()["PPF306"].script
    original = script.read_text(encoding="utf-8")
    text = original.replace("steps=60,", f"steps={measuring.WARMUP + 2},")
    assert text != original
    again = VariantFiles("again", [], [], {Path(script.name): text.encode("utf-8")})
    report = measuring.measure(script, text, again, HERE, LEAST_ROUNDS)
    assert "torch" in report.versions
    assert HERE.mislabelled(report) == []
    run = report.variants[0].runs[0]
    assert run.samples == [4, 4]
    assert None not in run.losses
    assert all(time > 0 for time in run.reader_s)
    assert report.comparisons[0].same_losses is True


REFUSED = {
    "import paddle; paddle.Model": "paddle.Model is not in the stand-in for Paddle",
    "from paddle.metric import Auc": "No module named 'paddle.metric'",
    "from paddle.nn import LSTM": "cannot import name 'LSTM' from 'paddle.nn'",
    "paddle.vision.transforms.Resize": "paddle.vision.transforms.Resize is not in the stand-in",
    "paddle.io.DataLoader([], num_workers=2)": "unexpected keyword argument 'num_workers'",
    "x = paddle.to_tensor([[0.5, 0.5]]); paddle.nn.functional.cross_entropy(x, x)": "labels that are probabilities",
}
"""What a script may ask, and the error that it gets."""

TRYING = """\
import sys
for line in sys.argv[1:]:
    try:
        exec(line)
    except Exception as error:
        print(error)
    else:
        print("taken")
"""


def test_what_it_does_not_know_is_refused() -> None:
    needs_torch()
    environment = {**os.environ, **HERE.environment, **HERE.path}
    command = [HERE.python, "-c", TRYING, *REFUSED]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(REFUSED)
    for line, error, expected in zip(REFUSED, said, REFUSED.values(), strict=True):
        assert expected in error, line


def test_each_script_is_measured_or_left_out_with_a_reason() -> None:
    measured, left_out = set(stand_in_rules.MEASURED), set(stand_in_rules.LEFT_OUT)
    assert not measured & left_out
    assert measured | left_out == set(cases.cases()), "say in tests/ips/stand_in_rules.py what the stand-in shows of it"


def test_a_rule_that_is_measured_nowhere_is_not_measured_with_it() -> None:
    where = Place("gpu", stand_in=True)
    assert {code for code in catalogue.shipped() if not where.reason(code)} == set(stand_in_rules.MEASURED)
    assert where.reason("PPF001") == catalogue.shipped()["PPF001"].measuring.nowhere
