"""Fixes against training itself: each fixture script is trained as it stands and after its fix.

A safe fix must leave every weight bit-identical and every reported number as it was.  An unsafe one may show the
difference that its reason states, and no other.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
import pytest

from perflint import cli
from tests.forked_scripts import Script, run_scripts

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "tests" / "training"
Arrays = dict[str, npt.NDArray[Any]]

ACCUMULATORS = (
    "accumulate_item",
    "accumulate_interrupted",
    "accumulate_float",
    "accumulate_weighted",
    "accumulate_weighted_left",
    "accumulate_epochs",
    "accumulate_amp",
    "accumulate_return",
    "append_item",
    "append_float",
)
QUIET = ("graph_growth", "evaluate_function", "evaluate_inline")
"""Scripts whose output must stay as it is."""
NUMBERED_LOGS = (
    "print_enumerate",
    "print_counter",
    "print_neighbours",
    "print_host_values",
    "logger_info",
    "set_postfix",
    "while_counter",
)
OTHER_LOGS = ("print_no_index", "fit_log_freq", "progbar_logger")
TENSORS = ("fill_constant", "round_trip")
SLICES = ("slice_item", "slice_clone")
OPTIMIZERS = ("decay_names", "searched_names")
SAFE = ACCUMULATORS + QUIET + SLICES + TENSORS + OPTIMIZERS
FEWER_LINES = NUMBERED_LOGS + OTHER_LOGS
"""Scripts that print less after an unsafe fix, and train as they did."""
UNSAFE = {
    **dict.fromkeys(FEWER_LINES, "PPF2,PPF4"),
    "accumulate_numpy": "PPF201",
    "loader_workers": "PPF101",
    "loader_workers_shuffle": "PPF101",
    "fit_workers": "PPF101",
    "record_scalar": "PPF202",
    "wider_linear": "PPF306",
    "wider_conv": "PPF306",
    "async_checkpoint": "PPF402",
}


@dataclass(frozen=True)
class Outcome:
    """What one training run left behind: its arrays, its report (empty where it writes none) and its output."""

    arrays: Arrays
    report: dict[str, Any]
    lines: list[str]


def environment() -> dict[str, str]:
    places = [str(ROOT), str(SCRIPTS / "stand_ins"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONIOENCODING": "utf-8"}


def perflint(folder: Path, *options: str) -> str:
    """What ``perflint check`` prints of ``train.py`` in a folder, in this process, which has imported it already."""
    out, err, here = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = cli.main(["check", "--isolated", "--no-cache", *options, "train.py"])
    finally:
        os.chdir(here)
    assert status in (0, 1), out.getvalue() + err.getvalue()
    return out.getvalue()


def fix(folder: Path, *options: str) -> str:
    """Fix ``train.py`` in ``folder`` and return its text."""
    perflint(folder, "--fix", "--min-impact", "low", *options)
    return (folder / "train.py").read_text(encoding="utf-8")


def safe_fixes_left(folder: Path) -> list[str]:
    findings = json.loads(perflint(folder, "--output-format", "json"))
    return [found["message"] for found in findings if found["fix"] and found["fix"]["applicability"] == "safe"]


def train(runs: Sequence[tuple[Path, Sequence[str]]]) -> list[Outcome]:
    """Train several scripts side by side; each run is a script and what follows its output path."""
    scripts = [
        Script(script, [str(script.with_suffix("")), *arguments], Path.cwd(), environment())
        for script, arguments in runs
    ]
    outcomes = []
    for done, (script, _) in zip(run_scripts(scripts), runs, strict=True):
        assert done.status == 0, done.errors
        report = script.with_suffix(".json")
        outcomes.append(
            Outcome(
                arrays=dict(np.load(script.with_suffix(".npz"))),
                report=json.loads(report.read_text()) if report.exists() else {},
                lines=done.output.splitlines(),
            )
        )
    return outcomes


def copy(name: str, folder: Path) -> str:
    """Lay the script out twice: ``before.py`` stays, ``train.py`` is for fixing.  Returns its text."""
    for target in ("before.py", "train.py"):
        shutil.copyfile(SCRIPTS / f"{name}.py", folder / target)
    return (folder / "train.py").read_text(encoding="utf-8")


def train_both(folder: Path) -> tuple[Outcome, Outcome]:
    before, after = train([(folder / "before.py", ()), (folder / "train.py", ())])
    return before, after


def assert_same_arrays(before: Arrays, after: Arrays) -> None:
    assert before
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert value.dtype == after[name].dtype
        assert value.tobytes() == after[name].tobytes(), name


def step_number(line: str) -> int | None:
    found = re.match(r"step:? (\d+)", line)
    return int(found.group(1)) if found else None


def test_every_script_is_tried() -> None:
    assert {script.stem for script in SCRIPTS.glob("*.py")} == {*SAFE, *UNSAFE}


@pytest.mark.parametrize("name", SAFE)
def test_safe_fix_trains_to_the_same_bits(name: str, tmp_path: Path) -> None:
    original = copy(name, tmp_path)
    fixed = fix(tmp_path)
    assert fixed != original
    assert safe_fixes_left(tmp_path) == []
    assert fix(tmp_path) == fixed

    before, after = train_both(tmp_path)

    assert_same_arrays(before.arrays, after.arrays)
    assert before.report == after.report
    if name in ACCUMULATORS + QUIET:
        assert before.lines == after.lines


@pytest.mark.parametrize("name", FEWER_LINES)
def test_fewer_lines_of_the_same_training(name: str, tmp_path: Path) -> None:
    original = copy(name, tmp_path)
    assert fix(tmp_path) == original
    assert fix(tmp_path, "--unsafe-fixes") != original
    before, after = train_both(tmp_path)
    assert_same_arrays(before.arrays, after.arrays)
    assert before.report == after.report
    if name in NUMBERED_LOGS:
        assert_every_tenth_step(before.lines, after.lines)


def assert_every_tenth_step(before: list[str], after: list[str]) -> None:
    """The lines of the steps 0, 10, 20 ... stand as they did, the others are gone, nothing else has moved."""
    numbers = [step_number(line) for line in before]
    assert any(number is not None and number % 10 for number in numbers)
    kept = [line for line, number in zip(before, numbers, strict=True) if number is None or number % 10 == 0]
    # The second line of a printed tensor has no number of its own: it belongs to the step above it.
    if "Tensor(" in "".join(before):
        kept = [line for line in kept if not line.startswith(" ")]
        after = [line for line in after if not line.startswith(" ")]
    assert after == kept


def test_loop_without_index_prints_every_tenth_line(tmp_path: Path) -> None:
    copy("print_no_index", tmp_path)
    fix(tmp_path, "--unsafe-fixes")
    before, after = train_both(tmp_path)
    assert len(before.lines) == 24
    assert after.lines == before.lines[::10]


@pytest.mark.parametrize("name", ["fit_log_freq", "progbar_logger"])
def test_high_level_api_prints_fewer_lines(name: str, tmp_path: Path) -> None:
    copy(name, tmp_path)
    fix(tmp_path, "--unsafe-fixes")
    before, after = train_both(tmp_path)

    def steps(lines: list[str]) -> list[str]:
        progress = (re.search(r"step\s+(\d+)/24", line) for line in lines)
        return [found.group(1) for found in progress if found]

    # 24 steps in each of two epochs; Paddle prints an epoch's last step once more when the epoch ends.
    assert set(steps(before.lines)) == {str(number) for number in range(1, 25)}
    assert steps(after.lines) == ["10", "20", "24"] * 2


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_fix_waits_to_be_asked_for(name: str, tmp_path: Path) -> None:
    original = copy(name, tmp_path)
    selected = ("--select", UNSAFE[name])
    assert fix(tmp_path, *selected) == original
    fixed = fix(tmp_path, *selected, "--unsafe-fixes")
    assert fixed != original
    assert fix(tmp_path, *selected, "--unsafe-fixes") == fixed


def test_sum_of_arrays_changes_by_its_rounding_only(tmp_path: Path) -> None:
    """NumPy 2 adds ``loss.numpy()`` to a Python number in float32; the fixed sum is the one in float64."""
    copy("accumulate_numpy", tmp_path)
    fix(tmp_path, "--select", "PPF201", "--unsafe-fixes")
    before, after = train_both(tmp_path)
    assert_same_arrays(before.arrays, after.arrays)
    steps, float32_rounding = 24, 2.0**-24
    assert abs(before.report["total"] - after.report["total"]) <= steps * float32_rounding * after.report["total"]


@pytest.mark.parametrize("name", ["loader_workers", "fit_workers"])
def test_workers_leave_an_unshuffled_run_as_it_was(name: str, tmp_path: Path) -> None:
    copy(name, tmp_path)
    assert "num_workers=4" in fix(tmp_path, "--select", "PPF101", "--unsafe-fixes")
    before, after = train_both(tmp_path)
    assert_same_arrays(before.arrays, after.arrays)
    assert before.report == after.report


def test_workers_change_the_order_of_a_shuffled_run_and_nothing_else(tmp_path: Path) -> None:
    copy("loader_workers_shuffle", tmp_path)
    fix(tmp_path, "--select", "PPF101", "--unsafe-fixes")
    before, after = train_both(tmp_path)
    assert before.report["orders"] != after.report["orders"]
    for outcome in (before, after):
        for order in outcome.report["orders"]:
            assert sorted(order) == list(range(96))
    [again] = train([(tmp_path / "train.py", ())])
    assert again.report == after.report
    assert_same_arrays(again.arrays, after.arrays)


def test_recorder_keeps_every_tenth_point(tmp_path: Path) -> None:
    copy("record_scalar", tmp_path)
    fix(tmp_path, "--select", "PPF202", "--unsafe-fixes")
    before, after = train_both(tmp_path)
    assert_same_arrays(before.arrays, after.arrays)
    assert [step for step, _ in before.report["curve"]] == list(range(24))
    assert after.report["curve"] == [before.report["curve"][step] for step in (0, 10, 20)]


WIDER = {
    "wider_linear": {"hidden.weight": (16, 632), "hidden.bias": (632,), "head.weight": (632, 4)},
    "wider_conv": {"conv.weight": (104, 16, 3, 3), "conv.bias": (104,), "mix.weight": (16, 104, 1, 1)},
}


@pytest.mark.parametrize("name", WIDER)
def test_added_width_that_starts_at_zero_is_inert(name: str, tmp_path: Path) -> None:
    copy(name, tmp_path)
    fix(tmp_path, "--select", "PPF306", "--unsafe-fixes")
    [before] = train([(tmp_path / "before.py", ())])
    initial = take(before.arrays, "initial.")
    padded = {key: pad(value, WIDER[name].get(key, value.shape)) for key, value in initial.items()}
    np.savez(tmp_path / "initial.npz", **padded)  # type: ignore[arg-type]  # numpy reads the dict as its options

    [after] = train([(tmp_path / "train.py", (str(tmp_path / "initial.npz"),))])

    np.testing.assert_allclose(after.arrays["output"], before.arrays["output"], rtol=0, atol=1e-6)
    for part in ("gradient.", "final."):
        expected, found = take(before.arrays, part), take(after.arrays, part)
        assert found.keys() == expected.keys()
        for key, value in found.items():
            assert value.shape == padded[key].shape
            block = tuple(slice(size) for size in expected[key].shape)
            np.testing.assert_allclose(value[block], expected[key], rtol=0, atol=1e-6, err_msg=key)
            padding = value.copy()
            padding[block] = 0
            assert not padding.any(), f"{part}{key} has something in its padding"


def take(arrays: Arrays, prefix: str) -> Arrays:
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def pad(value: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.pad(value, [(0, wide - narrow) for wide, narrow in zip(shape, value.shape, strict=True)])


def test_checkpoint_written_in_the_background_holds_the_same_weights(tmp_path: Path) -> None:
    copy("async_checkpoint", tmp_path)
    fixed = fix(tmp_path, "--select", "PPF402", "--unsafe-fixes")
    assert "paddle.async_save(" in fixed
    assert "paddle.clear_async_save_task_queue()" in fixed
    before, after = train_both(tmp_path)
    assert_same_arrays(before.arrays, after.arrays)
    for epoch in range(3):
        synchronous, background = (
            {key: value.numpy() for key, value in paddle.load(str(tmp_path / f"{run}-{epoch}.pdparams")).items()}
            for run in ("before", "train")
        )
        assert_same_arrays(synchronous, background)
