"""What makes a statement run at each training step: one small project for each way that real code is put together.

Each way has a project whose marked rows run at each step, and one that looks alike and is left alone.  Only reads and
log lines are looked at here.
"""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.support import check, expect_reads, sources

TRAIN = """\
import paddle
import paddle.nn.functional as F
{imports}

def train(model, loader, optimizer):
{before}
    for step, (images, labels) in enumerate(loader):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{inside}
{after}
"""


def train(inside: str, imports: str = "", before: str = "", after: str = "") -> str:
    """A training function with something in its step, before its step loop (in row 9 at the latest) and after it."""

    def part(text: str, depth: int) -> str:
        return indent(dedent(text).strip("\n"), " " * depth)

    return TRAIN.format(imports=dedent(imports), before=part(before, 4), inside=part(inside, 8), after=part(after, 4))


def loop_row(text: str) -> int:
    """The row of a text's first loop over batches."""
    rows = dedent(text).splitlines()
    return next(row for row, line in enumerate(rows, 1) if line.lstrip().startswith(("for ", "while ")))


def expect_loop_named(files: dict[str, str], helper: str, trainer: str) -> None:
    """Every finding in ``helper`` names the loop in ``trainer`` by path and row."""
    found = [item.message for item in check(files, "PPF201", "PPF202", "PPF405") if item.path == helper]
    place = f"{trainer}:{loop_row(sources(files)[trainer].text)}"
    assert found
    assert all(place in message for message in found), found


# --- functions and methods of the same file


def test_a_function_of_the_same_file() -> None:
    expect_reads(
        """
        import paddle
        import paddle.nn.functional as F


        def accuracy_of(logits, labels):
            correct = (logits.argmax(axis=-1) == labels).astype("float32").mean()
            return correct.item()  #: PPF201


        def summary_of(logits, labels):
            correct = (logits.argmax(axis=-1) == labels).astype("float32").mean()
            return correct.item()


        def train_one_epoch(model, loader, optimizer, history):
            for images, labels in loader:
                logits = model(images)
                loss = F.cross_entropy(logits, labels)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                history.append(accuracy_of(logits, labels))
            history.append(summary_of(logits, labels))
        """
    )


def test_a_function_that_a_called_function_calls() -> None:
    expect_reads(
        train(
            "report(step, loss)",
            """
            def as_number(value):
                return float(value)  #: PPF201


            def line_of(step, value):
                return "step %d loss %.4f" % (step, as_number(value))


            def report(step, value):
                print(line_of(step, value))  #: PPF405
            """,
        )
    )


def test_methods_of_the_trainer() -> None:
    expect_reads(
        """
        import paddle


        class Trainer:
            def __init__(self, model, optimizer, criterion):
                self.model, self.optimizer, self.criterion = model, optimizer, criterion
                self.losses = []

            def fit(self, loader, epochs):
                self._announce(paddle.zeros([1]))
                for epoch in range(epochs):
                    for images, labels in loader:
                        loss = self._forward_backward(images, labels)
                        self._record(loss)
                    self._end_of_epoch(loss)

            def _forward_backward(self, images, labels):
                loss = self.criterion(self.model(images), labels)
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                return loss

            def _record(self, loss):
                self.losses.append(loss.item())  #: PPF201

            def _end_of_epoch(self, loss):
                print("last loss", loss.item())

            def _announce(self, loss):
                print("first loss", loss.item())
        """
    )


# --- helpers in other files

HOT_HELPER = """\
def note(value):
    print("loss", value.item())  #: PPF202
"""
COLD_HELPER = HOT_HELPER.replace("  #: PPF202", "")


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from vision.utils.log import note", "note(loss)"),
        ("from vision.utils import note", "note(loss)"),
        ("from vision import utils", "utils.note(loss)"),
        ("from vision.utils import log", "log.note(loss)"),
        ("import vision.utils.log", "vision.utils.log.note(loss)"),
        ("import vision.utils as helpers", "helpers.note(loss)"),
        ("from ..utils.log import note", "note(loss)"),
        ("from ..utils import note as remember", "remember(loss)"),
        ("from ..utils import *", "note(loss)"),
        ("from .. import utils", "utils.note(loss)"),
        ("from ..utils import log as _log", "_log.note(loss)"),
        ("from vision import note", "note(loss)"),
        ("import vision", "vision.utils.log.note(loss)"),
    ],
)
def test_a_helper_of_the_package(imports: str, call: str) -> None:
    files = {
        "setup.py": "",
        "vision/__init__.py": "from .utils import note\n",
        "vision/engine/__init__.py": "",
        "vision/engine/trainer.py": train(call, imports),
        "vision/utils/__init__.py": "from .log import note\n",
        "vision/utils/log.py": HOT_HELPER,
        "vision/utils/other.py": COLD_HELPER,
    }
    expect_reads(files)
    expect_loop_named(files, "vision/utils/log.py", "vision/engine/trainer.py")


@pytest.mark.parametrize(
    "imports",
    [
        "from other_package import note",
        "from vision.utils.other import note as unused\n\ndef note(value):\n    return value",
        "from vision.utils import log",
    ],
)
def test_a_helper_with_the_same_name_elsewhere_is_left_alone(imports: str) -> None:
    expect_reads(
        {
            "setup.py": "",
            "vision/__init__.py": "",
            "vision/engine/trainer.py": train("note(loss)", imports),
            "vision/utils/__init__.py": "",
            "vision/utils/log.py": COLD_HELPER,
            "vision/utils/other.py": COLD_HELPER,
        }
    )


def test_a_package_that_is_checked_without_what_is_beside_it() -> None:
    expect_reads(
        {
            "vision/__init__.py": "",
            "vision/engine/__init__.py": "",
            "vision/engine/trainer.py": train("note(loss)", "from vision.utils.log import note"),
            "vision/utils/__init__.py": "",
            "vision/utils/log.py": HOT_HELPER,
        }
    )


def test_a_message_names_the_loop_and_the_call() -> None:
    files = {
        "tools/train.py": train("recorder.note(step, loss)", "from core import recorder\n"),
        "core/__init__.py": "",
        "core/recorder.py": "def note(step, loss):\n    print(step, loss.item())\n",
    }
    (finding,) = check(files, "PPF202")
    assert finding.path == "core/recorder.py"
    row = loop_row(files["tools/train.py"])
    assert f"tools/train.py:{row}" in finding.message
    assert f"tools/train.py:{row + 5}" in finding.message
    assert [(item.path, item.line) for item in finding.related] == [
        ("tools/train.py", row + 5),
        ("tools/train.py", row),
    ]


@pytest.mark.parametrize(
    ("helper", "call", "shown"),
    [
        (COLD_HELPER, "note(loss)", True),
        (COLD_HELPER, "if step % 10 == 0:\n    note(loss)", False),
        (COLD_HELPER, "step % 10 or note(loss)", False),
        ("def note(value):\n    return value * 2\n", "note(loss)", False),
        ("def note(value):\n    return value.item()\n", "note(0.5)", False),
    ],
)
def test_a_call_in_the_loop_points_to_the_read_in_another_file(helper: str, call: str, shown: bool) -> None:
    text = train(call, "from log import note")
    at_the_call = [item for item in check({"log.py": helper, "train.py": text}, "PPF201") if item.path == "train.py"]
    assert [f"log.py:{helper.count(chr(10))}" in item.message for item in at_the_call] == ([True] if shown else [])


def test_a_call_of_a_helper_beside_it_is_not_shown_twice() -> None:
    text = train("note(loss)", f"\n\n{COLD_HELPER}")
    assert [item.code for item in check(text, "PPF201", "PPF202")] == ["PPF202"]


def test_a_finding_beside_the_loop_names_its_row() -> None:
    text = train("print(step, loss.item())")
    (finding,) = check({"tools/train.py": text}, "PPF202")
    assert f"line {loop_row(text)}" in finding.message


# --- objects kept on the trainer

STATS = """
class SmoothedValue:
    def __init__(self, window=20):
        self.values = []
        self.total = 0.0

    def update(self, value, num=1):
        self.values.append(value)
        self.total += value * num

    def median(self):
        return sorted(self.values)[len(self.values) // 2]


class TrainingStats:
    def __init__(self, window):
        self.meters = {}
        self.window = window

    def update(self, stats):
        for name, value in stats.items():
            meter = self.meters.setdefault(name, SmoothedValue(self.window))
            meter.update(float(value))  #: PPF201

    def log(self):
        return ", ".join(f"{name} {meter.median():.4f}" for name, meter in self.meters.items())
"""


def test_the_statistics_of_a_trainer_in_another_file() -> None:
    files = {
        "engine/__init__.py": "",
        "engine/stats.py": STATS,
        "engine/trainer.py": """\
            import paddle
            from .stats import TrainingStats


            class Trainer:
                def __init__(self, cfg, model, optimizer):
                    self.cfg = cfg
                    self.model = model
                    self.optimizer = optimizer
                    self.stats = TrainingStats(cfg.log_iter)

                def train(self, loader):
                    for step, data in enumerate(loader):
                        outputs = self.model(data)
                        loss = outputs["loss"]
                        loss.backward()
                        self.optimizer.step()
                        self.optimizer.clear_grad()
                        self.stats.update(outputs)
                        if step % self.cfg.log_iter == 0:
                            print(step, self.stats.log())
            """,
    }
    expect_reads(files)
    expect_loop_named(files, "engine/stats.py", "engine/trainer.py")


def test_the_statistics_that_are_updated_when_they_are_logged() -> None:
    expect_reads(
        {
            "engine/__init__.py": "",
            "engine/stats.py": STATS.replace("  #: PPF201", ""),
            "engine/trainer.py": """\
                import paddle
                from .stats import TrainingStats


                class Trainer:
                    def __init__(self, cfg, model, optimizer):
                        self.cfg, self.model, self.optimizer = cfg, model, optimizer
                        self.stats = TrainingStats(cfg.log_iter)

                    def train(self, loader):
                        for step, data in enumerate(loader):
                            outputs = self.model(data)
                            outputs["loss"].backward()
                            self.optimizer.step()
                            self.optimizer.clear_grad()
                            if step % self.cfg.log_iter == 0:
                                self.stats.update(outputs)
                                print(step, self.stats.log())
                """,
        }
    )


@pytest.mark.parametrize(
    "keep",
    [
        "self.meter = Meter()",
        "self.meter: Meter = Meter()",
        "self.meter = meter or Meter()",
        "self.meter = meter if meter is not None else Meter()",
        "self.setup()",
    ],
)
def test_an_object_that_is_kept_in_several_ways(keep: str) -> None:
    expect_reads(
        {
            "meter.py": """\
                class Meter:
                    def __init__(self):
                        self.total = 0.0

                    def add(self, value):
                        self.total += value.item()  #: PPF201

                    def start(self, value):
                        self.total = value.item()
                """,
            "train.py": f"""\
                import paddle
                from meter import Meter

                class Trainer:
                    def __init__(self, model, optimizer, meter=None):
                        self.model, self.optimizer = model, optimizer
                        {keep}

                    def setup(self):
                        self.meter = Meter()

                    def fit(self, loader):
                        self.meter.start(paddle.zeros([1]))
                        for images in loader:
                            loss = self.model(images).mean()
                            loss.backward()
                            self.optimizer.step()
                            self.optimizer.clear_grad()
                            self.meter.add(loss)
                """,
        }
    )


def test_an_object_that_is_handed_to_the_trainer() -> None:
    expect_reads(
        {
            "meter.py": """\
                class Meter:
                    def __init__(self):
                        self.total = 0.0

                    def add(self, value):
                        self.total += value.item()  #: PPF201


                class Silent:
                    def add(self, value):
                        self.last = value.item()
                """,
            "trainer.py": """\
                import paddle

                class Trainer:
                    def __init__(self, model, optimizer, meter):
                        self.model, self.optimizer = model, optimizer
                        self.meter = meter

                    def fit(self, loader):
                        for images in loader:
                            loss = self.model(images).mean()
                            loss.backward()
                            self.optimizer.step()
                            self.optimizer.clear_grad()
                            self.meter.add(loss)
                """,
            "main.py": """\
                from meter import Meter
                from trainer import Trainer

                def main(model, optimizer, loader):
                    Trainer(model, optimizer, Meter()).fit(loader)
                """,
        }
    )


def test_an_object_of_an_object() -> None:
    expect_reads(
        """
        import paddle


        class Meter:
            def add(self, value):
                self.last = float(value.mean())  #: PPF201


        class Reporter:
            def __init__(self):
                self.meter = Meter()


        class Trainer:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.reporter = Reporter()

            def fit(self, loader):
                for images in loader:
                    loss = self.model(images).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.reporter.meter.add(loss)
        """
    )


def test_objects_in_a_dict_of_meters() -> None:
    expect_reads(
        """
        import paddle


        class Meter:
            def add(self, value):
                self.last = value.item()  #: PPF201


        def train(model, loader, optimizer):
            meters = {"loss": Meter(), "grad": Meter()}
            for images in loader:
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                meters["loss"].add(loss)
        """
    )


def test_an_object_that_is_only_asked_after_the_loop() -> None:
    expect_reads(
        """
        import paddle


        class Meter:
            def __init__(self):
                self.total = paddle.zeros([])

            def add(self, value):
                self.total += value.detach()

            def mean(self, steps):
                return self.total.item() / steps


        class Trainer:
            def __init__(self, model, optimizer):
                self.model, self.optimizer, self.meter = model, optimizer, Meter()

            def fit(self, loader):
                for images in loader:
                    loss = self.model(images).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.meter.add(loss)
                print(self.meter.mean(len(loader)))
        """
    )


# --- base classes and subclasses

BASE_TRAINER = """\
import paddle


class BaseTrainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def train(self, loader, epochs):
        for epoch in range(epochs):
            for step, batch in enumerate(loader):
                loss = self.compute_loss(batch)
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                self.after_step(step, loss)
            self.after_epoch(epoch, loss)

    def compute_loss(self, batch):
        raise NotImplementedError

    def after_step(self, step, loss):
        pass

    def after_epoch(self, epoch, loss):
        pass
"""


def test_a_subclass_fills_the_hooks_of_the_loop_in_its_base() -> None:
    files = {
        "core/__init__.py": "from .trainer import BaseTrainer\n",
        "core/trainer.py": BASE_TRAINER,
        "apps/segment.py": """\
            import paddle.nn.functional as F
            from core import BaseTrainer


            class SegmentTrainer(BaseTrainer):
                def compute_loss(self, batch):
                    image, label = batch
                    logits = self.model(image)
                    self.ratio = (label == 255).astype("float32").mean().item()  #: PPF201
                    return F.cross_entropy(logits, label)

                def after_step(self, step, loss):
                    print(step, loss.item())  #: PPF202

                def after_epoch(self, epoch, loss):
                    print(epoch, loss.item())
            """,
    }
    expect_reads(files)
    messages = [item.message for item in check(files, "PPF201", "PPF202")]
    assert all("core/trainer.py:10" in message for message in messages), messages


def test_hooks_of_a_class_of_another_family_are_left_alone() -> None:
    expect_reads(
        {
            "core/__init__.py": "",
            "core/trainer.py": BASE_TRAINER,
            "apps/report.py": """\
                import paddle
                from core.trainer import BaseTrainer


                class Report:
                    def after_step(self, step, loss):
                        print(step, loss.item())


                class Tester(BaseTrainer):
                    def show(self, loss):
                        print(loss.item())
                """,
        }
    )


def test_a_subclass_of_a_subclass() -> None:
    expect_reads(
        {
            "core/__init__.py": "",
            "core/trainer.py": BASE_TRAINER,
            "apps/first.py": "from core.trainer import BaseTrainer\n\n\nclass First(BaseTrainer):\n    pass\n",
            "apps/second.py": """\
                from apps.first import First


                class Second(First):
                    def after_step(self, step, loss):
                        self.last = loss.item()  #: PPF201
                """,
        }
    )


def test_an_object_that_is_kept_is_of_the_class_it_shows() -> None:
    """``self.meter`` is a ``Meter``; what its subclasses do with a call is another matter."""
    expect_reads(
        {
            "meters.py": """\
                class Meter:
                    def __call__(self, loss):
                        self.last = loss.item()  #: PPF201


                class Quantile(Meter):
                    def __call__(self, loss):
                        self.seen = loss.numpy()
                """,
            "train.py": """\
                import paddle
                from meters import Meter


                class Trainer:
                    def __init__(self):
                        self.meter = Meter()

                    def train(self, loader):
                        for batch in loader:
                            loss = self.model(batch).mean()
                            loss.backward()
                            self.optimizer.step()
                            self.optimizer.clear_grad()
                            self.meter(loss)
                """,
        }
    )


def test_a_step_that_only_the_subclasses_know() -> None:
    expect_reads(
        {
            "base.py": """\
                class Runner:
                    def run(self, loader):
                        for batch in loader:
                            outputs = self.run_batch(batch)
                            print(outputs)  #: PPF405

                    def run_batch(self, batch):
                        raise NotImplementedError
                """,
            "train.py": """\
                import paddle
                from base import Runner


                class TrainRunner(Runner):
                    def run_batch(self, batch):
                        loss = self.model(batch).mean()
                        loss.backward()
                        self.optimizer.step()
                        self.optimizer.clear_grad()
                        return {"loss": loss.item()}  #: PPF201
                """,
        }
    )


def test_a_method_of_the_base_class_called_by_the_subclass() -> None:
    expect_reads(
        {
            "base.py": """\
                class Base:
                    def remember(self, loss):
                        self.history.append(float(loss))  #: PPF201

                    def finish(self, loss):
                        self.history.append(float(loss))
                """,
            "train.py": """\
                import paddle
                from base import Base


                class Trainer(Base):
                    def fit(self, loader):
                        for batch in loader:
                            loss = self.model(batch).mean()
                            loss.backward()
                            self.optimizer.step()
                            self.optimizer.clear_grad()
                            self.remember(loss)
                        self.finish(loss)
                """,
        }
    )


def test_a_method_of_the_base_class_called_with_super() -> None:
    expect_reads(
        {
            "base.py": """\
                class Base:
                    def after_step(self, loss):
                        self.history.append(float(loss))  #: PPF201

                    def after_epoch(self, loss):
                        self.history.append(float(loss))
                """,
            "train.py": """\
                import paddle
                from base import Base


                class Trainer(Base):
                    def fit(self, loader):
                        for batch in loader:
                            loss = self.model(batch).mean()
                            loss.backward()
                            self.optimizer.step()
                            self.optimizer.clear_grad()
                            self.after_step(loss)
                        self.after_epoch(loss)

                    def after_step(self, loss):
                        super().after_step(loss)

                    def after_epoch(self, loss):
                        super().after_epoch(loss)
                """,
        }
    )


# --- registries

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


METER_CLASSES = """\
class LossMeter:
    def add(self, value):
        self.last = value.item(){mark}


class OtherMeter:
    def add(self, value):
        self.last = value.item()
"""


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
            "meters.py": METER_CLASSES.format(mark="  #: PPF201" if mark else ""),
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


# --- callbacks


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("import paddle", "paddle.callbacks.Callback"),
        ("import paddle\nfrom paddle.callbacks import Callback", "Callback"),
        ("import paddle\nfrom paddle.hapi.callbacks import Callback", "Callback"),
        ("import paddle\nfrom paddle import callbacks as cb", "cb.VisualDL"),
        ("import paddle\nfrom base import QuietCallback", "QuietCallback"),
    ],
)
def test_a_callback_of_the_high_level_api(imports: str, base: str) -> None:
    expect_reads(
        {
            "base.py": "import paddle\n\n\nclass QuietCallback(paddle.callbacks.Callback):\n    pass\n",
            "callbacks.py": f"""\
{imports}


class WeightLog({base}):
    def on_train_begin(self, logs=None):
        print("start")

    def on_train_batch_end(self, step, logs=None):
        weight = paddle.mean(self.model.network.weight)
        self.history.append(weight.item())  #: PPF201
        print("step", step)  #: PPF405
        if step % 10 == 0:
            print("step", step, weight.item())

    def on_epoch_end(self, epoch, logs=None):
        weight = paddle.mean(self.model.network.weight)
        print("epoch", epoch, weight.item())

    def on_eval_batch_end(self, step, logs=None):
        print("eval", step)
""",
        }
    )


def test_a_class_that_is_no_callback_but_has_its_methods() -> None:
    expect_reads(
        """
        import paddle


        class Replay:
            def on_train_batch_end(self, step, logs=None):
                print("step", step, paddle.mean(self.weight).item())
        """
    )


HOOKS = """\
class Hook:
    def on_step_end(self, step, loss):
        pass

    def on_epoch_end(self, epoch, loss):
        pass


class LossPrinter(Hook):
    def on_step_end(self, step, loss):
        print(step, loss.item()){mark}

    def on_epoch_end(self, epoch, loss):
        print(epoch, loss.item())


class Checkpoint(Hook):
    def on_step_end(self, step, loss):
        if step % 1000 == 0:
            print("saved", loss.item())


class HookList:
    def __init__(self, hooks):
        self.hooks = hooks

    def on_step_end(self, step, loss):
        for hook in self.hooks:
            hook.on_step_end(step, loss)

    def on_epoch_end(self, epoch, loss):
        for hook in self.hooks:
            hook.on_epoch_end(epoch, loss)
"""

HOOK_TRAINER = """\
import paddle
from hooks import Checkpoint, HookList, LossPrinter


class Trainer:
    def __init__(self, model, optimizer, hooks=None):
        self.model, self.optimizer = model, optimizer
        self.hooks = {hooks}

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for step, images in enumerate(loader):
                loss = self.model(images).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                {step_end}
            {epoch_end}
{more}
"""


def hook_project(hooks: str, step_end: str, epoch_end: str, more: str = "", mark: bool = True) -> dict[str, str]:
    return {
        "hooks.py": HOOKS.format(mark="  #: PPF202" if mark else ""),
        "train.py": HOOK_TRAINER.format(
            hooks=hooks, step_end=step_end, epoch_end=epoch_end, more=indent(dedent(more), "    ")
        ),
    }


EACH_STEP = "for hook in self.hooks: hook.on_step_end(step, loss)"
EACH_EPOCH = "for hook in self.hooks: hook.on_epoch_end(epoch, loss)"


@pytest.mark.parametrize(
    ("hooks", "step_end", "epoch_end", "more"),
    [
        ("[LossPrinter(), Checkpoint()]", EACH_STEP, EACH_EPOCH, ""),
        ("(Checkpoint(), LossPrinter())", EACH_STEP, EACH_EPOCH, ""),
        ("[LossPrinter(), *(hooks or [])]", EACH_STEP, EACH_EPOCH, ""),
        (
            "[LossPrinter(), Checkpoint()]",
            "for index, hook in enumerate(self.hooks): hook.on_step_end(step, loss)",
            EACH_EPOCH,
            "",
        ),
        ("[LossPrinter(), Checkpoint()]", "[hook.on_step_end(step, loss) for hook in self.hooks]", EACH_EPOCH, ""),
        (
            "HookList([LossPrinter(), Checkpoint()])",
            "self.hooks.on_step_end(step, loss)",
            "self.hooks.on_epoch_end(epoch, loss)",
            "",
        ),
        (
            "[LossPrinter(), Checkpoint()]",
            "self.step_end(step, loss)",
            EACH_EPOCH,
            "def step_end(self, step, loss):\n    for hook in self.hooks:\n        hook.on_step_end(step, loss)\n",
        ),
        (
            "[]\n        self.add_hook(Checkpoint())\n        self.add_hook(LossPrinter())",
            EACH_STEP,
            EACH_EPOCH,
            "def add_hook(self, hook):\n    self.hooks.append(hook)\n",
        ),
        ("[]\n        self.hooks.append(LossPrinter())", EACH_STEP, EACH_EPOCH, ""),
    ],
)
def test_a_list_of_callbacks(hooks: str, step_end: str, epoch_end: str, more: str) -> None:
    files = hook_project(hooks, step_end, epoch_end, more)
    expect_reads(files)
    (finding,) = check(files, "PPF202")
    row = next(row for row, line in enumerate(files["train.py"].splitlines(), 1) if "for step, images" in line)
    assert f"train.py:{row}" in finding.message


@pytest.mark.parametrize(
    ("hooks", "step_end", "epoch_end"),
    [
        ("[Checkpoint()]", EACH_STEP, EACH_EPOCH),
        ("[LossPrinter(), Checkpoint()]", "pass", EACH_EPOCH),
        ("HookList([LossPrinter()])", "pass", "self.hooks.on_epoch_end(epoch, loss)"),
        ("[LossPrinter()]", f"if step % 50 == 0:\n                    {EACH_STEP}", EACH_EPOCH),
    ],
)
def test_callbacks_that_are_not_called_at_each_step(hooks: str, step_end: str, epoch_end: str) -> None:
    expect_reads(hook_project(hooks, step_end, epoch_end, mark=False))


def test_a_list_of_callbacks_handed_to_the_trainer() -> None:
    files = hook_project("hooks", EACH_STEP, EACH_EPOCH)
    files["main.py"] = """\
        from hooks import LossPrinter
        from train import Trainer

        def main(model, optimizer, loader):
            trainer = Trainer(model, optimizer, hooks=[LossPrinter()])
            trainer.fit(loader, 10)
        """
    expect_reads(files)


# --- overrides of paddle.Model


def test_the_train_batch_of_a_model() -> None:
    expect_reads(
        """
        import paddle


        class Distiller(paddle.Model):
            def train_batch(self, inputs, labels=None, update=True):
                outputs = self.network(*inputs)
                loss = self._loss(outputs, *labels)
                loss.backward()
                self._optimizer.step()
                self._optimizer.clear_grad()
                return [loss.numpy()]  #: PPF201

            def eval_batch(self, inputs, labels=None):
                outputs = self.network(*inputs)
                return [self._loss(outputs, *labels).numpy()]

            def predict_batch(self, inputs):
                return [self.network(*inputs).numpy()]
        """
    )


def test_a_train_batch_that_leaves_the_work_to_paddle() -> None:
    expect_reads(
        """
        import paddle


        class Chatty(paddle.Model):
            def train_batch(self, inputs, labels=None, update=True):
                result = super().train_batch(inputs, labels, update)
                print("batch of", len(inputs))  #: PPF405
                return result


        class Server:
            def train_batch(self, queue):
                print("waiting for", len(queue))
        """
    )


# --- step functions as values

STEP_FUNCTIONS = """\
import functools

import paddle
import paddle.nn.functional as F


def train_step(model, optimizer, batch):
    images, labels = batch
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss.item(){mark}


@paddle.no_grad()
def eval_step(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels).item()


def run_epoch(loader, step_function):
    values = []
    for batch in loader:
        values.append(step_function(batch))
    return sum(values) / len(values)


def main(model, optimizer, loader, eval_loader, epochs):
{body}
"""


def step_functions(body: str, mark: bool = True) -> str:
    return STEP_FUNCTIONS.format(mark="  #: PPF201" if mark else "", body=indent(dedent(body).strip("\n"), "    "))


@pytest.mark.parametrize(
    "body",
    [
        "run_epoch(loader, functools.partial(train_step, model, optimizer))",
        "step = functools.partial(train_step, model, optimizer)\nrun_epoch(loader, step)",
        "run_epoch(loader, step_function=functools.partial(train_step, model, optimizer))",
        "run_epoch(loader, lambda batch: train_step(model, optimizer, batch))",
        "step = lambda batch: train_step(model, optimizer, batch)\nfor epoch in range(epochs):\n"
        "    run_epoch(loader, step)\n    run_epoch(eval_loader, lambda batch: eval_step(model, batch))",
        "def step(batch):\n    return train_step(model, optimizer, batch)\n\nrun_epoch(loader, step)",
        "step = functools.partial(train_step, model, optimizer)\nfor batch in loader:\n    step(batch)",
        "step = lambda batch: train_step(model, optimizer, batch)\nfor batch in loader:\n    step(batch)",
        "step = train_step\nfor batch in loader:\n    step(model, optimizer, batch)",
        "for mode, data in (('train', loader), ('eval', eval_loader)):\n    for batch in data:\n"
        "        train_step(model, optimizer, batch) if mode == 'train' else eval_step(model, batch)",
    ],
)
def test_a_step_function_handed_to_the_loop(body: str) -> None:
    expect_reads(step_functions(body))


@pytest.mark.parametrize(
    "body",
    [
        "run_epoch(eval_loader, functools.partial(eval_step, model))",
        "run_epoch(eval_loader, lambda batch: eval_step(model, batch))",
        "train_step(model, optimizer, next(iter(loader)))",
        "step = functools.partial(train_step, model, optimizer)\nstep(next(iter(loader)))",
        "register(train_step)",
        "for epoch in range(epochs):\n    train_step(model, optimizer, next(iter(loader)))",
    ],
)
def test_a_function_handed_to_a_loop_that_does_not_train(body: str) -> None:
    expect_reads(step_functions(body, mark=False))


def test_a_step_function_handed_to_a_loop_in_another_file() -> None:
    files = {
        "engine.py": """\
            def run_epoch(loader, step_function):
                values = []
                for batch in loader:
                    values.append(step_function(batch))
                return sum(values) / len(values)
            """,
        "tools/train.py": """\
            import paddle
            from engine import run_epoch


            class Task:
                def step(self, batch):
                    loss = self.model(batch).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    return loss.item()  #: PPF201

                def fit(self, loader):
                    return run_epoch(loader, self.step)
            """,
    }
    expect_reads(files)
    expect_loop_named(files, "tools/train.py", "engine.py")


def test_a_step_function_that_is_chosen() -> None:
    expect_reads(
        """
        import paddle


        def amp_step(model, optimizer, scaler, x):
            with paddle.amp.auto_cast():
                loss = model(x).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return float(loss)  #: PPF201


        def plain_step(model, optimizer, scaler, x):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return float(loss)  #: PPF201


        def train(model, loader, optimizer, scaler, use_amp):
            step = amp_step if use_amp else plain_step
            for x in loader:
                step(model, optimizer, scaler, x)
        """
    )


def test_a_step_function_kept_on_the_object() -> None:
    expect_reads(
        """
        import paddle


        class Trainer:
            def __init__(self, model, optimizer, use_amp):
                self.model, self.optimizer = model, optimizer
                self.step_function = self._plain_step

            def _plain_step(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                return float(loss)  #: PPF201

            def _unused_step(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                return float(loss)

            def fit(self, loader):
                for x in loader:
                    self.step_function(x)
        """
    )


# --- generators


def test_a_generator_that_reads_each_batch() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        def weighted(dataset):
            loader = DataLoader(dataset, batch_size=32)
            start = paddle.ones([1]).item()
            for images, labels in loader:
                weight = (labels != 255).astype("float32").mean()
                yield images, labels, weight.item() * start  #: PPF201
            print("end", paddle.ones([1]).item())


        def train(model, dataset, optimizer, criterion):
            for images, labels, weight in weighted(dataset):
                loss = criterion(model(images), labels) * weight
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    )


def test_a_generator_that_serves_evaluation() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        def weighted(dataset):
            for images, labels in DataLoader(dataset, batch_size=32):
                yield images, labels, (labels != 255).astype("float32").mean().item()


        def evaluate(model, dataset, criterion):
            with paddle.no_grad():
                return [criterion(model(images), labels) * weight for images, labels, weight in weighted(dataset)]


        def statistics(dataset):
            total = 0.0
            for images, labels, weight in weighted(dataset):
                total += weight
            return total
        """
    )


def test_a_generator_of_batches_in_another_file() -> None:
    files = {
        "data/__init__.py": "from .batches import batches\n",
        "data/batches.py": """\
            from paddle.io import DataLoader


            def batches(dataset, steps):
                loader = DataLoader(dataset, batch_size=32)
                count = 0
                while count < steps:
                    for images, labels in loader:
                        count += 1
                        yield images, labels, int(labels.max())  #: PPF201
            """,
        "train.py": """\
            import paddle
            from data import batches


            def train(model, dataset, optimizer, criterion):
                for step, (images, labels, classes) in enumerate(batches(dataset, 1000)):
                    loss = criterion(model(images), labels)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    print(step, classes)  #: PPF405
                    positive = labels.astype("float32").mean()
                    model.scale = float(positive)  #: PPF201
            """,
    }
    expect_reads(files)
    expect_loop_named(files, "data/batches.py", "train.py")


def test_an_endless_generator_asked_for_the_next_batch() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        def endless(loader: DataLoader):
            while True:
                for images, labels in loader:
                    yield images, labels.max().item()  #: PPF201


        def train(model, dataset, optimizer, steps):
            batches = endless(DataLoader(dataset, batch_size=8))
            for step in range(steps):
                images, largest = next(batches)
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                if step % 10 == 0:
                    print(step, largest)
        """
    )


def test_an_iterable_object_that_yields_batches() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        class Prefetcher:
            def __init__(self, dataset):
                self.loader = DataLoader(dataset, batch_size=8)

            def __len__(self):
                return len(self.loader)

            def __iter__(self):
                for images, labels in self.loader:
                    yield images, labels.max().item()  #: PPF201


        def train(model, dataset, optimizer):
            batches = Prefetcher(dataset)
            for images, largest in batches:
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    )


# --- closures


def test_a_closure_that_the_loop_calls() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer, writer):
            history = []

            def record(loss):
                history.append(loss.item())  #: PPF201

            def finish(loss):
                history.append(loss.item())

            def step_once(images):
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                record(loss)
                return loss

            for images in loader:
                loss = step_once(images)
            finish(loss)
        """
    )


def test_a_closure_reads_what_the_loop_binds() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer):
            for step, images in enumerate(loader):
                loss = model(images).mean()

                def text():
                    return f"loss {loss.item():.4f}"  #: PPF201

                def unused():
                    return loss.item()

                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                print(text())  #: PPF405
        """
    )


def test_a_step_that_a_factory_makes() -> None:
    expect_reads(
        """
        import paddle


        def make_step(model, optimizer):
            print("weight", model.weight.mean().item())

            def step(images):
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                return loss.item()  #: PPF201

            return step


        def train(model, loader, optimizer):
            step = make_step(model, optimizer)
            for images in loader:
                step(images)
        """
    )


# --- while loops


@pytest.mark.parametrize(
    "head",
    ["while step < max_steps:", "while True:", "while not done:", "while trainer.global_step < max_steps:", "while 1:"],
)
def test_while_loops_over_steps(head: str) -> None:
    expect_reads(
        f"""
        import paddle


        def train(trainer, model, loader, optimizer, max_steps, done=False):
            step = 0
            batches = iter(loader)
            print("first", paddle.zeros([1]).item())
            {head}
                images = next(batches)
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                step += 1
                print(step, loss.item())  #: PPF202
                if step >= max_steps:
                    print("last", loss.item())
                    break
            print("end", loss.item())
        """
    )


@pytest.mark.parametrize("head", ["while epoch < epochs:", "while True:", "while step < max_steps:"])
def test_while_loops_around_the_step_loop(head: str) -> None:
    expect_reads(
        f"""
        import paddle


        def train(model, loader, optimizer, epochs, max_steps):
            epoch = step = 0
            {head}
                for images in loader:
                    loss = model(images).mean()
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    step += 1
                    model.last = loss.item()  #: PPF201
                epoch += 1
                print(epoch, loss.item())
        """
    )


def test_while_loops_that_do_not_train() -> None:
    expect_reads(
        """
        import paddle


        def wait(queue, model, optimizer):
            while not queue.empty():
                print("left", queue.get().mean().item())
            optimizer.step()
            optimizer.clear_grad()


        def search(model, low, high):
            while high - low > 1e-3:
                middle = paddle.to_tensor((low + high) / 2)
                low, high = (middle.item(), high) if model(middle).mean().item() > 0 else (low, middle.item())
            return low
        """
    )


# --- static graphs


def test_a_static_graph_logs_at_each_step() -> None:
    expect_reads(
        """
        import numpy as np
        import paddle

        paddle.enable_static()


        def train(net, loader, epochs):
            main = paddle.static.default_main_program()
            images = paddle.static.data("images", [None, 3, 224, 224])
            loss = net(images).mean()
            paddle.optimizer.SGD(learning_rate=0.1).minimize(loss)
            print("built", loss.name)
            exe = paddle.static.Executor()
            exe.run(paddle.static.default_startup_program())
            total = 0.0
            for epoch in range(epochs):
                for step, batch in enumerate(loader):
                    (value,) = exe.run(main, feed={"images": batch}, fetch_list=[loss])
                    total += float(np.mean(value))
                    total += value.item()
                    print("step", step, "loss", value)  #: PPF405
                    if step % 10 == 0:
                        print("step", step, float(value))
                print("epoch", epoch, float(value))
        """
    )


def test_a_static_graph_through_a_helper() -> None:
    expect_reads(
        {
            "program.py": """\
                def train_batch(exe, program, feed, fetch_list):
                    values = exe.run(program, feed=feed, fetch_list=fetch_list)
                    print("loss", values[0])  #: PPF405
                    return values
                """,
            "train.py": """\
                import paddle
                from program import train_batch

                paddle.enable_static()


                def main(loader, loss):
                    paddle.optimizer.SGD(learning_rate=0.1).minimize(loss)
                    exe = paddle.static.Executor()
                    exe.run(paddle.static.default_startup_program())
                    program = paddle.static.default_main_program()
                    for data in loader:
                        train_batch(exe, program, data, [loss])
                """,
        }
    )


def test_static_graphs_that_do_not_train() -> None:
    expect_reads(
        """
        import paddle

        paddle.enable_static()


        def start(exe, programs):
            for program in programs:
                exe.run(program)
                print("started", program)


        def evaluate(exe, test_program, loader, accuracy):
            for data in loader:
                (value,) = exe.run(test_program, feed=data, fetch_list=[accuracy])
                print("accuracy", value)


        def predict(path, images):
            exe = paddle.static.Executor()
            program, feeds, targets = paddle.static.load_inference_model(path, exe)
            for image in images:
                result = exe.run(program, feed={feeds[0]: image}, fetch_list=targets)
                print(result)
        """
    )


# --- gradient accumulation


def test_accumulation_keeps_the_loop_a_step_loop() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer, args):
            for step, images in enumerate(loader):
                loss = model(images).mean() / args.accumulation_steps
                loss.backward()
                model.last = loss.item()  #: PPF201
                if (step + 1) % args.accumulation_steps == 0:
                    optimizer.step()
                    optimizer.clear_grad()
        """
    )


def test_an_inner_loop_over_parts_of_a_batch_belongs_to_the_step() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer, accum_steps):
            for images in loader:
                for part in range(accum_steps):
                    loss = model(images[part]).mean()
                    loss.backward()
                    model.last = loss.item()  #: PPF201
                optimizer.step()
                optimizer.clear_grad()
                print("loss", loss.item())  #: PPF202
            print("epoch", loss.item())
        """
    )
