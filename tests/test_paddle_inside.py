"""The table of what Paddle's calls do: the installed Paddle has each of them, and does what it says."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perflint.bench.runner import watched_calls
from perflint.inputs.input_files import version_of
from perflint.paddle.inside import DISTRIBUTED, INSIDE, SYNCHRONIZING, TABLE, UNKNOWN_SIZES, Does, PaddleCall, short
from tests.paddle_inside import EXAMPLES

paddle = pytest.importorskip("paddle")
ROOT = Path(__file__).parents[1]
PYTHONS = [sys.executable, *filter(None, os.environ.get("PERFLINT_OTHER_PADDLES", "").split(os.pathsep))]
"""The interpreters whose Paddle is asked: this one, and those that the caller names."""
NOT_HERE = {
    "paddle.device.synchronize": "there is nothing to wait for on a CPU",
    "paddle.incubate.nn.functional.int_bincount": "only a GPU has its kernel",
    "paddle.incubate.distributed.models.moe.MoELayer.forward": "it needs several processes",
    "paddle.static.save": "it saves a static graph",
    "paddle.amp.AmpScaler.minimize": "the same as that of GradScaler",
}
"""Calls that no example runs, and why."""
SHOWN = {
    Does.READS: {"read", "sized"},
    Does.SIZES: {"sized"},
    Does.COPIES: {"copy"},
    Does.DUPLICATES: {"copy"},
    Does.WRITES: {"save"},
    Does.PRINTS: {"log"},
}
"""What the recorder calls it."""
CALLS = sorted(call for call in INSIDE if not call.startswith("paddle.fluid."))


@pytest.fixture(scope="module", params=PYTHONS, ids=[Path(each).parents[1].name for each in PYTHONS])
def recorded(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """What the examples did under the recorder."""
    program = [request.param, str(ROOT / "tests" / "paddle_inside.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def found(name: str) -> Any:
    """What a qualified name refers to in the installed Paddle; a function may have the name of its module."""
    names = name.split(".")
    for length in range(1, len(names)):
        try:
            owner = importlib.import_module(".".join(names[:length]))
            for part in names[length:]:
                owner = getattr(owner, part)
        except (ImportError, AttributeError):
            continue
        if callable(owner):
            return owner
    raise AssertionError(f"Paddle {paddle.__version__} has no {name}")


def does(call: str, recorded: Mapping[str, Any]) -> set[str]:
    """What an example did, or nothing if this Paddle has no such call."""
    said = recorded[call]
    if isinstance(said, str) and said.startswith("AttributeError"):
        pytest.skip(f"Paddle {recorded['paddle']} has no {call}")
    assert not isinstance(said, str), said
    return set(said)


def is_still_done(entry: PaddleCall, recorded: Mapping[str, Any]) -> bool:
    until, here = version_of(entry.until), version_of(recorded["paddle"])
    return until is None or (here is not None and here < until)


@pytest.mark.parametrize("call", CALLS)
def test_paddle_has_the_call(call: str) -> None:
    owner = found(call)
    for entry in INSIDE[call]:
        if entry.only is not None:
            names = [name for name in inspect.signature(owner).parameters if name != "self"]
            position = entry.only.position + (call.startswith("paddle.Tensor.") and names[0] in ("x", "arr"))
            assert names[position] == entry.only.parameter


@pytest.mark.parametrize("source", sorted({entry.source for entry in TABLE}))
def test_paddle_has_the_function_that_shows_it(source: str) -> None:
    assert found(source)


@pytest.mark.parametrize("call", sorted(EXAMPLES))
def test_a_call_does_what_the_table_says(call: str, recorded: Mapping[str, Any]) -> None:
    done = does(call, recorded)
    entries = INSIDE[call] if call != "paddle.to_tensor" else ()
    for shown in (SHOWN[entry.does] for entry in entries):
        still = [entry for entry in entries if SHOWN[entry.does] == shown and is_still_done(entry, recorded)]
        assert bool(shown & done) is bool(still)


@pytest.mark.parametrize(
    ("call", "does_read"),
    [("paddle.to_tensor", False), ("paddle.to_tensor(x)", False), ("paddle.to_tensor([x])", True)],
)
def test_what_is_made_of_tensors_reads_them(call: str, does_read: bool, recorded: Mapping[str, Any]) -> None:
    assert ("read" in does(call, recorded)) is does_read


def test_each_call_has_an_example_or_a_reason() -> None:
    """Exchanges need other processes, and memory is returned to the driver only on a GPU."""
    left = {
        call
        for call in CALLS
        if not call.startswith(DISTRIBUTED) and not call.endswith("empty_cache") and "cuda" not in call
    }
    assert left - EXAMPLES.keys() == NOT_HERE.keys()


def test_the_recorder_watches_what_the_table_names() -> None:
    """The recorder runs without perflint, so it has names of its own."""
    assert set(watched_calls.WAITS) == {call.rpartition(".")[2] for call in SYNCHRONIZING}
    assert set(watched_calls.SIZED_CALLS) < UNKNOWN_SIZES


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("paddle.amp.GradScaler.step", "GradScaler.step"),
        ("paddle.nn.GaussianNLLLoss.forward", "GaussianNLLLoss"),
        ("paddle.nn.utils.clip_grad_norm_", "clip_grad_norm_"),
        ("paddle.Tensor.lcm", "Tensor.lcm"),
    ],
)
def test_the_name_for_people(call: str, said: str) -> None:
    assert short(call) == said
