"""Hooks that subclasses fill, and methods of base classes, run at each step where the loop of the other calls them."""

from __future__ import annotations

import pytest

from tests.support import check, expect_reads

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


OWN_LOOP = """\
import paddle
import paddle.nn.functional as F
from core import BaseTrainer


class PairTrainer(BaseTrainer):
    def train(self, loader, epochs):
        {first}
        for image, label in loader:
            loss = F.cross_entropy(self.model(image), label)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()

    def after_step(self, step, loss):
        print(step, loss.item()){mark}
"""


@pytest.mark.parametrize(
    ("first", "mark"),
    [
        ("self.started = True", ""),
        ("super().train(loader, 1)", "  #: PPF202"),
        ("BaseTrainer.train(self, loader, 1)", "  #: PPF202"),
    ],
)
def test_a_subclass_with_a_loop_of_its_own_does_not_run_that_of_its_base(first: str, mark: str) -> None:
    expect_reads(
        {
            "core/__init__.py": "from .trainer import BaseTrainer\n",
            "core/trainer.py": BASE_TRAINER,
            "apps/pairs.py": OWN_LOOP.format(first=first, mark=mark),
        }
    )


def test_a_subclass_of_one_with_a_loop_of_its_own_does_not_either() -> None:
    files = {
        "core/__init__.py": "from .trainer import BaseTrainer\n",
        "core/trainer.py": BASE_TRAINER,
        "apps/pairs.py": OWN_LOOP.format(first="self.started = True", mark=""),
        "apps/more.py": """\
            from apps.pairs import PairTrainer


            class MoreTrainer(PairTrainer):
                def compute_loss(self, batch):
                    return self.model(batch).mean().item()
            """,
    }
    expect_reads(files)


def test_a_read_is_told_of_the_loop_that_runs_it() -> None:
    own = OWN_LOOP.format(first="self.started = True", mark="").replace(
        "            self.optimizer.clear_grad()\n",
        "            self.optimizer.clear_grad()\n            self.after_step(0, loss)\n",
    )
    files = {"core/__init__.py": "from .trainer import BaseTrainer\n", "core/trainer.py": BASE_TRAINER, "pairs.py": own}
    (found,) = check(files, "PPF202")
    assert found.path == "pairs.py"
    assert "at each call reached from the loop at line 9 through line 14" in found.message


LIBRARY = """\
import paddle
from {library}


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).mean()
        self.last = loss.item(){mark}
        return loss

    def prediction_step(self, model, inputs):
        return model(**inputs).mean().item()
"""


def test_a_hook_that_the_trainer_of_a_library_calls_at_each_step() -> None:
    expect_reads(LIBRARY.format(library="paddlenlp.trainer import Trainer", mark="  #: PPF201"))


def test_a_hook_of_a_trainer_that_is_seen_and_never_calls_it() -> None:
    trainer = "class Trainer:\n    def fit(self):\n        pass\n"
    expect_reads({"base.py": trainer, "train.py": LIBRARY.format(library="base import Trainer", mark="")})
