"""Tests that only a configuration or the data decides: what stands under them has low confidence."""

from __future__ import annotations

from textwrap import indent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence
from perflint.run import engine
from tests.support import sources

TRAINER = """\
import paddle
from helpers import align


class Trainer:
    def __init__(self, model, optimizer, parts, config):
        self.model = model
        self.optimizer = optimizer
        self.parts = parts
        self.known = ["encoder", "decoder"]

    def train(self, loader):
        for weak, strong in loader:
            loss = self.model(weak).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            losses = {{"loss": loss}}
{body}
"""
HELPERS = "def align(loss):\n    return loss.numpy()\n"


def confidences(body: str) -> dict[str, Confidence]:
    """How sure the host reads are, by file."""
    text = TRAINER.format(body=indent(body, " " * 12))
    settings = Settings(select=("PPF201",), min_confidence=Confidence.LOW)
    found = engine.check(sources({"train.py": text, "helpers.py": HELPERS}), settings)
    assert engine.check(sources({"train.py": text, "helpers.py": HELPERS}), settings, gated=False) == found
    return {item.path: item.confidence for item in found}


@pytest.mark.parametrize(
    "test",
    [
        '"encoder" in self.parts',
        '"encoder" not in self.parts',
        'weak.ndim == 4 and "encoder" in self.parts',
        "weak.shape != strong.shape",
        "weak.shape[-1] != strong.shape[-1]",
    ],
)
def test_what_only_a_configuration_or_the_data_decides(test: str) -> None:
    assert confidences(f"if {test}:\n    self.seen = loss.item()") == {"train.py": Confidence.LOW}
    assert confidences(f"if {test}:\n    align(loss)")["helpers.py"] == Confidence.LOW


@pytest.mark.parametrize(
    "test",
    [
        '"encoder" in self.known',  # the code itself says so
        '"loss" in losses',
        "weak.shape[0] > 1",
        "weak.shape[0] == 8",
        "self.parts",
    ],
)
def test_what_the_code_shows(test: str) -> None:
    """As sure as without a test: the model is only known by its name."""
    assert confidences(f"if {test}:\n    self.seen = loss.item()") == {"train.py": Confidence.MEDIUM}
    assert confidences(f"if {test}:\n    align(loss)")["helpers.py"] == Confidence.MEDIUM
