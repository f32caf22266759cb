"""Functions that a step reaches through a container, a computed name or an installed package are followed."""

from __future__ import annotations

import pytest

from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.resolving import opened
from perflint.index.project import Place
from tests.support import places, sources

CRITERION = """\
import paddle


class Criterion(paddle.nn.Layer):
    def __init__(self, names):
        super().__init__()
        self.names = names
        self.kept = {{"boxes": self.loss_boxes, "labels": self.loss_labels}}

    def loss_boxes(self, outputs, targets):
        return paddle.to_tensor(outputs.numpy()).sum()

    def loss_labels(self, outputs, targets):
        return paddle.to_tensor(targets.numpy()).sum()

    def _get_loss(self, name, outputs, targets):
        known = {{"boxes": self.loss_boxes, "labels": self.loss_labels}}
        return {chosen}(outputs, targets)

    def forward(self, outputs, targets):
        return sum(self._get_loss(name, outputs, targets) for name in self.names)


def train(model, loader, optimizer):
    criterion = Criterion(["boxes"])
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def _rows(text: str) -> set[int]:
    """The rows with a copy to the host and back."""
    return {row for _, row, _ in places(text, "PPF206")}


@pytest.mark.parametrize(
    "chosen",
    [
        '{"boxes": self.loss_boxes, "labels": self.loss_labels}[name]',
        "known[name]",
        "known.get(name)",
        "self.kept[name]",
        "[self.loss_boxes, self.loss_labels][number]",
        'getattr(self, "loss_" + name)',
    ],
)
def test_a_method_from_a_container_in_a_forward_pass(chosen: str) -> None:
    assert _rows(CRITERION.format(chosen=chosen)) == {11, 14}


def test_a_container_that_is_not_known() -> None:
    assert _rows(CRITERION.format(chosen="others[name]")) == set()


CAPTIONS = """\
import paddle


class Captions(paddle.nn.Layer):
    def forward(self, *args, **kwargs):
        mode = {mode}
        return getattr(self, {name})(*args, **kwargs)


class Attention(Captions):
    def _forward(self, features):
        return paddle.to_tensor(features.numpy())

    def _pick(self, features):
        return paddle.to_tensor(features.numpy())

    def _other(self, features):
        return paddle.to_tensor(features.numpy())


def train(loader, optimizer):
    model = Attention()
    for x, y in loader:
        loss = model(x).sum() + model(x, {given}).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize("name", ['"_" + mode', 'f"_{mode}"', '"_%s" % mode'])
def test_a_method_whose_name_a_few_letters_and_a_text_make(name: str) -> None:
    text = CAPTIONS.format(mode='kwargs.pop("mode", "forward")', name=name, given='mode="pick"')
    assert _rows(text) == {12, 15}


@pytest.mark.parametrize(
    ("mode", "given", "rows"),
    [
        ('kwargs.pop("mode", "forward")', "2", {12}),
        ('kwargs.pop("mode")', 'mode="pick"', {15}),
        ('kwargs.pop("mode")', 'kind="pick"', set()),
    ],
)
def test_only_the_texts_that_the_name_may_be_count(mode: str, given: str, rows: set[int]) -> None:
    assert _rows(CAPTIONS.format(mode=mode, name='"_" + mode', given=given)) == rows


ALIGN = """\
import paddle
from align import path


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        path(loss)
"""


@pytest.mark.parametrize(
    ("packages", "found"),
    [
        (["tools/align/src/align"], True),
        (["src/align"], True),
        (["tools/align/lib/align"], False),
        (["one/src/align", "two/src/align"], False),
    ],
)
def test_a_package_that_is_installed_from_src(packages: list[str], found: bool) -> None:
    helpers = {f"{package}/__init__.py": "def path(x):\n    return x.numpy()\n" for package in packages}
    paths = {path for path, _, _ in places({"scripts/train.py": ALIGN, **helpers}, "PPF201")}
    assert bool(paths & helpers.keys()) is found


ANNOTATED = """\
import paddle
from typing import Optional


class Meter:
    def add(self, value):
        self.last = value.item()


class Other:
    def add(self, value):
        self.all.append(value)


def train(model, loader, optimizer, meter{said}):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        meter.add(loss)
"""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (": Meter", True),
        (': "Meter"', True),
        (": Optional[Meter]", True),
        (": Meter | None = None", True),
        (": Other", False),
        ("", False),
    ],
)
def test_an_object_of_the_class_that_an_annotation_names(said: str, found: bool) -> None:
    assert bool(places(ANNOTATED.format(said=said), "PPF201")) is found


def test_an_annotation_of_a_class_with_subclasses_says_too_little() -> None:
    text = ANNOTATED.format(said=": Meter").replace("class Other:", "class Other(Meter):")
    assert places(text, "PPF201") == []


BUILT = """\
import paddle


class Encoder(paddle.nn.Layer):
    def forward_features(self, x):
        return paddle.to_tensor(x.numpy())


class Wrapper(paddle.nn.Layer):
    def __init__(self, config):
        super().__init__()
        self.backbone = build_backbone(config)

    def forward(self, x):
        x = x.mean()
        return self.backbone.{called}


def train(loader, optimizer):
    model = Wrapper({{}})
    for x, y in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("called", "reached"), [("forward_features(x)", ["Encoder.forward_features"]), ("index_select(x)", [])]
)
def test_a_method_of_a_model_that_a_configuration_builds(called: str, reached: list[str]) -> None:
    file = opened(sources(BUILT.format(called=called))).files["train.py"]
    (forward,) = (scope for scope in file.scopes.scopes if scope.qualname == "Wrapper.forward")
    found = [each for call in forward.calls for each in CallGraph.of(file.project).callees(Place(file, forward), call)]
    assert [(each.scope.qualname, each.certainty) for each in found] == [(name, Certainty.NAME) for name in reached]


def test_a_function_that_branches_give_a_name_in_a_forward_pass() -> None:
    chosen = """\
        if name == "boxes":
            chosen = self.loss_boxes
        else:
            chosen = self.loss_labels
        return chosen("""
    text = CRITERION.format(chosen="known[name]")
    assert _rows(text.replace("        return known[name](", chosen)) == {11, 14}
    unknown = chosen.replace("self.loss_labels", "outputs.other")
    assert _rows(text.replace("        return known[name](", unknown)) == set()


def test_a_parameter_hides_a_function_of_its_name_and_is_what_callers_pass() -> None:
    text = "def note(x):\n    pass\n\ndef other(x):\n    pass\n\ndef run(note):\n    note(1)\n\nrun(other)\n"
    file = opened(sources(text)).files["train.py"]
    (run,) = (scope for scope in file.scopes.scopes if scope.name == "run")
    (call,) = run.calls
    assert [each.scope.name for each in CallGraph.of(file.project).callees(Place(file, run), call)] == ["other"]
