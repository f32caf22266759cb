"""Classes from a registry or a dict by a literal name, and functions behind a decorator, are followed."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.step_loops import meters, train
from tests.support import expect_reads

REGISTRY = """\
class Registry:
    def __init__(self, name):
        self.name = name
        self._classes = {}

    def register(self, target=None):
        def add(cls):
            self._classes[cls.__name__ if not isinstance(target, str) else target] = cls
            return cls

        return add(target) if isinstance(target, type) else add

    register_module = add_component = register

    def get(self, name):
        return self._classes[name]

    def __getitem__(self, name):
        return self._classes[name]


METERS = Registry("meters")
"""

REGISTERED = """\
from registry import METERS


{decorator}
class LossMeter:
    def add(self, value):
        self.last = value.item(){mark}


@METERS.register()
class OtherMeter:
    def add(self, value):
        self.last = value.item()
"""

REGISTRY_TRAIN = """\
import paddle
from registry import METERS
import meters


def train(cfg, model, loader, optimizer):
    meter = {build}
    for images in loader:
        loss = model(images).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        meter.add(loss)
"""


def registry_project(decorator: str, build: str, mark: bool) -> dict[str, str]:
    return {
        "registry.py": REGISTRY,
        "meters.py": REGISTERED.format(decorator=decorator, mark="  #: PPF201" if mark else ""),
        "train.py": REGISTRY_TRAIN.format(build=build),
    }


@pytest.mark.parametrize(
    ("decorator", "build"),
    [
        ("@METERS.register()", 'METERS.get("LossMeter")()'),
        ("@METERS.register", 'METERS.get("LossMeter")()'),
        ('@METERS.register("loss")', 'METERS.get("loss")()'),
        ("@METERS.register_module()", 'METERS.get("LossMeter")()'),
        ("@METERS.add_component", 'METERS["LossMeter"]()'),
        ("@METERS.register()", 'METERS["LossMeter"]()'),
    ],
)
def test_a_class_from_a_registry_by_a_literal_name(decorator: str, build: str) -> None:
    expect_reads(registry_project(decorator, build, mark=True))


@pytest.mark.parametrize(
    "build",
    [
        "METERS.get(cfg.meter)()",
        "METERS[cfg['meter']]()",
        'METERS.get("Unknown")()',
        'SomethingElse.get("LossMeter")()',
    ],
)
def test_a_class_from_a_registry_by_a_name_that_is_not_known(build: str) -> None:
    expect_reads(registry_project("@METERS.register()", build, mark=False))


@pytest.mark.parametrize(
    ("build", "mark"),
    [
        ('{"loss": LossMeter, "other": OtherMeter}["loss"]()', True),
        ('CLASSES["loss"]()', True),
        ('CLASSES.get("loss")()', True),
        ('getattr(meters, "LossMeter")()', True),
        ('build("loss")', True),
        ("CLASSES[cfg.meter]()", False),
        ("build(cfg.meter)", False),
        ('CLASSES["nothing"]()', False),
    ],
)
def test_a_class_from_a_dict_by_a_literal_name(build: str, mark: bool) -> None:
    text = REGISTRY_TRAIN.format(build=build).replace("from registry import METERS", "")
    head = """
        from meters import LossMeter, OtherMeter

        CLASSES = {"loss": LossMeter, "other": OtherMeter}


        def build(name):
            return CLASSES[name]()

        """
    expect_reads(
        {
            "meters.py": meters(mark),
            "train.py": text.replace("import meters\n", "import meters\n" + dedent(head)),
        }
    )


def test_a_decorated_function_is_still_that_function() -> None:
    expect_reads(
        train(
            "note(loss)",
            """
            import functools


            def on_rank_zero(function):
                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    if paddle.distributed.get_rank() == 0:
                        return function(*args, **kwargs)

                return wrapper


            @on_rank_zero
            def note(value):
                print(value.item())  #: PPF202


            @on_rank_zero
            def unused(value):
                print(value.item())
            """,
        )
    )
