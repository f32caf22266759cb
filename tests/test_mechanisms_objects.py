"""What the objects of a step do runs at each step: those that a trainer keeps, is handed, or has by another object."""

from __future__ import annotations

import pytest

from tests.step_loops import expect_loop_named
from tests.support import expect_reads

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


HEAD = """\
import paddle


class Head(paddle.nn.Layer):
    def get_loss(self, out, target):
        return float((out - target).abs().mean()){mark}
"""


@pytest.mark.parametrize(
    ("imported", "new", "old"),
    [("from heads.new import Head", "  #: PPF201", ""), ("from heads import *", "  #: PPF201", "  #: PPF201")],
)
def test_an_old_version_that_nothing_imports_is_not_meant(imported: str, new: str, old: str) -> None:
    """Nothing says what ``head`` is but the name of its method: the two classes have the same one."""
    expect_reads(
        {
            "train.py": f"""\
                import paddle
                {imported}
                from config import pick


                def train(cfg, loader, optimizer, model):
                    head = pick(cfg, Head)
                    for image, target in loader:
                        loss = model(image).mean()
                        head.get_loss(model(image), target)
                        loss.backward()
                        optimizer.step()
                        optimizer.clear_grad()
                """,
            "heads/__init__.py": "from .new import *\nfrom .old import *\n" if old else "",
            "heads/new.py": HEAD.format(mark=new),
            "heads/old.py": HEAD.format(mark=old),
        }
    )


def test_a_property_that_makes_the_model_does_not_run_when_the_model_does() -> None:
    expect_reads(
        """\
        import paddle


        class Config:
            @property
            def model(self):
                print(float(self.weights.mean()))
                return load(self.weights)


        def train(model, loader, optimizer):
            for x, y in loader:
                loss = paddle.nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()


        def main(loader, optimizer):
            config = Config()
            train(config.model, loader, optimizer)
        """
    )


HANDED_AS_OPTIONS = {
    "attack.py": """\
class Attack:
    def __init__(self, model):
        self.model = model

    def __call__(self, x, y):
        if (self.model(x).argmax() == y).item():  #: PPF201
            return x
        return x + 1
""",
    "train.py": """\
import paddle
from attack import Attack


def train(model, loader, path=None, **options):
    attack = options{read}
    optimizer = options["optimizer"]
    for x, y in loader:
        loss = model(attack(x, y)).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


def main(model, loader):
    attack = Attack(model)
    optimizer = paddle.optimizer.Adam(parameters=model.parameters())
    {hand}
""",
}


@pytest.mark.parametrize("read", ['["attack"]', '.get("attack", None)', '.pop("attack")'])
@pytest.mark.parametrize(
    "hand",
    [
        "train(model, loader, attack=attack, optimizer=optimizer)",
        'given = {"attack": attack, "optimizer": optimizer}\n    train(model, loader, path="a", **given)',
        "given = dict(attack=Attack(model), optimizer=optimizer)\n    train(model, loader, **given)",
        'train(model, loader, **{"attack": attack}, optimizer=optimizer)',
    ],
)
def test_an_object_among_the_options_of_a_function(hand: str, read: str) -> None:
    program = HANDED_AS_OPTIONS["train.py"].replace("{read}", read).replace("{hand}", hand)
    expect_reads({**HANDED_AS_OPTIONS, "train.py": program})


def test_a_parameter_that_a_dict_is_unpacked_for() -> None:
    hand = 'given = {"attack": Attack(model), "optimizer": 1}\n    train(model, loader, **given)'
    program = HANDED_AS_OPTIONS["train.py"].replace("path=None, **options", "attack=None, optimizer=None")
    program = program.replace("attack = options{read}", "pass").replace('optimizer = options["optimizer"]', "pass")
    expect_reads({**HANDED_AS_OPTIONS, "train.py": program.replace("{hand}", hand)})


def test_options_that_nobody_is_known_to_hand_over() -> None:
    program = HANDED_AS_OPTIONS["train.py"].replace("{read}", '["attack"]')
    quiet = {"attack.py": HANDED_AS_OPTIONS["attack.py"].replace("  #: PPF201", "")}
    expect_reads({**quiet, "train.py": program.replace("{hand}", "train(model, loader, **make(attack, optimizer))")})
    expect_reads({**quiet, "train.py": program.replace("{hand}", "train(model, loader, defence=attack)")})
