"""What the page of PPF802 says of `paddle.DataParallel`, tried in two processes of Paddle itself (CPU)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import check

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "no_sync.py"
WRAPPED = """
import paddle
from paddle.distributed import fleet


def train(net, loader, optimizer, accum_steps):
    model = {wrapper}(net)
    for step, (x, y) in enumerate(loader):
        loss = paddle.nn.functional.cross_entropy(model{method}(x), y) / accum_steps
        loss.backward()
        if {test}:
            optimizer.step()
            {clear}
"""
USUAL = {
    "wrapper": "paddle.DataParallel",
    "method": "",
    "test": "(step + 1) % accum_steps == 0",
    "clear": "optimizer.clear_grad()",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    path = tmp_path_factory.mktemp("no_sync") / "found.json"
    subprocess.run([sys.executable, str(SCRIPT), "8", str(path)], check=True, capture_output=True, timeout=120)
    answer: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return answer


def test_both_passes_under_no_sync_exchange_nothing_and_train_alike(found: dict[str, dict[str, Any]]) -> None:
    assert found["no_sync nowhere"]["same in both"]
    assert not found["forward and backward"]["same in both"]
    assert found["forward and backward"]["difference"] < 1e-6


def test_the_backward_pass_alone_under_no_sync_changes_nothing(found: dict[str, dict[str, Any]]) -> None:
    assert found["backward alone"]["same in both"]
    assert found["backward alone"]["difference"] == 0


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 1),
        ({"wrapper": "fleet.distributed_model"}, 1),
        ({"test": "not (step + 1) % accum_steps"}, 1),
        ({"method": ".training_loss"}, 0),  # a wrapped model has no such method
        ({"test": "(step + 1) % 1 == 0"}, 0),
        ({"test": "loss.item() < 10"}, 0),
        ({"clear": "pass\n        optimizer.clear_grad()"}, 0),  # nothing is added up
    ],
)
def test_what_counts_as_an_update_after_several_passes(change: dict[str, str], count: int) -> None:
    assert len(check(WRAPPED.format(**{**USUAL, **change}), "PPF802")) == count


def test_programs_that_exchange_gradients_by_themselves() -> None:
    text = WRAPPED.format(**USUAL)
    by_hand = f"{text}            fused_allreduce_gradients(list(model.parameters()), None)\n"
    assert len(check(f"{text}            # model.no_sync() once\n", "PPF802")) == 1
    assert len(check(by_hand.replace("fused", "hpu.fused"), "PPF802")) == 0
