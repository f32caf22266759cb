"""What no usual step runs: options of an object that nothing turns on, methods that are replaced, broken files."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence
from perflint.flow.resolving import opened
from perflint.index.imports import Imports
from perflint.inputs.input_files import read_inputs
from perflint.inputs.setting_files import value_of
from perflint.run import engine
from perflint.text.source import Source
from tests.support import check, sources

NET = """\
import paddle
from paddle import nn


class Loss(nn.Layer):
    def __init__(self, use_mask={default}):
        super().__init__()
        self.use_mask = use_mask

    def forward(self, x, y):
        loss = (x - y).abs()
        if {test}:
            loss = paddle.masked_select(loss, y > 0)
        return loss.mean()


def main(config, loader, model, optimizer):
    criterion = Loss({call})
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


if __name__ == "__main__":
    main(load(), make_loader(), make(), make_optimizer())
"""


def _confidences(folder: Path, settings: str = "", **parts: str) -> list[Confidence]:
    text = NET.format(**{"default": "False", "test": "self.use_mask", "call": "**config", **parts})
    if settings:
        (folder / "config.yml").write_text(settings)
    path = str(folder / "train.py")
    chosen = Settings(select=("PPF207",), min_confidence=Confidence.LOW, inputs=read_inputs([path], folder))
    return [found.confidence for found in engine.check({path: Source(path, text)}, chosen)]


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ("", {}),
        ("use_mask: False\nother: True\n", {}),
        ("", {"call": ""}),
        ("use_mask: 1\n", {"default": "1", "test": "self.use_mask > 1"}),
        ("use_mask: none\n", {"default": "'none'", "test": "self.use_mask == 'all'"}),
        ("use_mask: yes\n", {"default": "True", "test": "not self.use_mask"}),
    ],
)
def test_what_nothing_turns_on(tmp_path: Path, settings: str, parts: dict[str, str]) -> None:
    assert _confidences(tmp_path, settings, **parts) in ([], [Confidence.LOW])


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ("loss:\n  use_mask: true  # all of them\n", {}),
        ("use_mask: 4\n", {"default": "1", "test": "self.use_mask > 1"}),
        ("", {"call": "use_mask=True"}),
        ("", {"call": "**dict(use_mask=True)"}),
        ("", {"default": "True"}),
        ("", {"default": "None", "test": "self.use_mask is not None"}),  # no option: callers may pass it
    ],
)
def test_what_something_turns_on(tmp_path: Path, settings: str, parts: dict[str, str]) -> None:
    assert [each > Confidence.LOW for each in _confidences(tmp_path, settings, **parts)] == [True]


def test_what_plain_texts_of_yaml_mean() -> None:
    assert [value_of(text) for text in ("True", "off", "~", "null", "3", "1e-3", "O1")] == [
        *(True, False, None, None, 3, 0.001, "O1")
    ]


# -- methods that only subclasses replace ------------------------------------------------------------------------------

TRAINER = """\
class Base:
    def run(self, loader):
        for x in loader:
            loss = self.step(x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()

    def step(self, x):
        loss = self.model(x).mean()
        print(loss.item())  #: PPF202
        return loss


class Own(Base):
    def step(self, x):
        {body}


{more}
Own().run(loader)
"""


@pytest.mark.parametrize(
    ("body", "more", "is_reported"),
    [
        ("return self.model(x).mean()", "", False),
        ("return super().step(x)", "", True),
        ("return self.model(x).mean()", "Base().run(loader)\n", True),
        ("return self.model(x).mean()", "class Other(Base):\n    pass\n\n\nOther().run(loader)\n", True),
    ],
)
def test_a_method_that_each_created_class_replaces(body: str, more: str, is_reported: bool) -> None:
    text = "import paddle\n\n\n" + TRAINER.format(body=body, more=more)
    assert bool(check(text, "PPF201", "PPF202")) is is_reported


# -- files that cannot be imported -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imported", "module", "fails"),
    [
        ("from helpers import Meter", "class Other: ...\n", True),
        ("from helpers import Meter", "class Meter: ...\n", False),
        ("from helpers import Meter", "from elsewhere import *\n", False),
        ("from helpers import Meter", "def __getattr__(name): ...\n", False),
        ("try:\n    from helpers import Meter\nexcept ImportError:\n    pass", "", False),
        ("from elsewhere import Meter", "", False),
    ],
)
def test_a_file_that_cannot_be_imported(imported: str, module: str, fails: bool) -> None:
    project = opened(sources({"train.py": f"{imported}\n", "helpers.py": module, "main.py": "import train\n"}))
    assert Imports.of(project).fails(project.files["train.py"]) is fails


def test_a_package_may_have_modules_that_are_built() -> None:
    project = opened(sources({"train.py": "from ops import fast\n", "ops/__init__.py": ""}))
    assert not Imports.of(project).fails(project.files["train.py"])
