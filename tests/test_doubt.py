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
    settings = Settings(join_lines=False, select=("PPF201",), min_confidence=Confidence.LOW)
    found = engine.check(sources({"train.py": text, "helpers.py": HELPERS}), settings)
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


OPTIONS = """\
import argparse
import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--ortho", type=float, default=0.0)
parser.add_argument("--extra", action="store_true")
parser.add_argument("--every", type=int, default=1)
args = parser.parse_args()


def train(model, loader, optimizer, compare=False):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if {test}:
            args.total = loss.item()
"""


def test_an_option_for_the_training_itself_says_nothing() -> None:
    text = OPTIONS.format(test="x.shape[0] > 1").replace("args.total", "total")
    text = text.replace("    for x in", "    if args.extra:\n      for x in").replace("\n        ", "\n          ")
    settings = Settings(join_lines=False, select=("PPF201",), min_confidence=Confidence.LOW)
    [found] = engine.check(sources({"train.py": text}), settings)
    assert found.confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("args.ortho > 0.0", Confidence.LOW),
        ("args.extra", Confidence.LOW),
        ("args.every > 0 and args.ortho", Confidence.LOW),
        ("not args.every", Confidence.LOW),
        ("args.every > 0", Confidence.MEDIUM),
        ("not args.extra", Confidence.MEDIUM),
        # A parameter that is off by default is for callers that this project does not show.
        ("compare", Confidence.MEDIUM),
        ("compare and args.every", Confidence.MEDIUM),
    ],
)
def test_what_an_option_turns_on_that_is_off_by_default(test: str, confidence: Confidence) -> None:
    settings = Settings(join_lines=False, select=("PPF201",), min_confidence=Confidence.LOW)
    [found] = engine.check(sources({"train.py": OPTIONS.format(test=test)}), settings)
    assert found.confidence is confidence


ENTRY = """\
import argparse
import models
from engine import train


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="ids", type=str)
    parser.add_argument("--norm", action="store_true", default=False)
    parser.add_argument("--resume", action="store_true")
    parser.set_defaults(resume=True)
    return parser.parse_args()


def main(args):
    model = models.__dict__[args.mode]()
    train(model, [], model.optimizer, args=args)


if __name__ == "__main__":
    opts = get_args()
    main(opts)
"""
ENGINE = """\
def train(model, loader, optimizer, args=None):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if args.mode == "random":
            pass
        elif {test}:
            args.total = loss.item()
"""


@pytest.mark.parametrize(
    ("test", "override", "confidence"),
    [
        ('args.mode == "rgb"', "", Confidence.LOW),
        ('args.mode == "ids"', "", Confidence.MEDIUM),
        ("args.norm", "", Confidence.LOW),
        ("args.norm", 'setattr(opts, "other", True)', Confidence.LOW),
        # The default is not the last word.
        ("args.resume", "", Confidence.MEDIUM),
        ("args.norm", 'setattr(opts, "norm", True)', Confidence.MEDIUM),
        ("args.norm", "setattr(opts, name, True)", Confidence.MEDIUM),
        ("args.norm", 'vars(opts)["norm"] = True', Confidence.MEDIUM),
        ("args.norm", 'opts.__dict__["norm"] = True', Confidence.MEDIUM),
        ("args.norm", "opts.__dict__ = vars(known)", Confidence.MEDIUM),
        ("args.norm", "parser.set_defaults(**known)", Confidence.MEDIUM),
        ("args.norm", "parser.set_defaults(seed=int(seed), norm=True)", Confidence.MEDIUM),
    ],
)
def test_options_that_are_handed_over_with_all_others(test: str, override: str, confidence: Confidence) -> None:
    entry = ENTRY.replace("    main(opts)", f"    {override}\n    main(opts)")
    files = {"main.py": entry, "engine.py": "import paddle\n" + ENGINE.format(test=test)}
    [found] = engine.check(
        sources(files), Settings(join_lines=False, select=("PPF201",), min_confidence=Confidence.LOW)
    )
    assert found.confidence is confidence
