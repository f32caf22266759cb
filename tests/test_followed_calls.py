"""Calls that are followed through a table, a chosen function, a hook, a generator or an object: where that holds.

The plain cases stand with the other mechanisms; here are their variants, and code that looks alike and is left alone.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.step_loops import meters
from tests.support import check, expect_reads

# --- classes by a literal name

TABLE_TRAIN = """\
import paddle
import tables
from tables import CLASSES, LossMeter, OtherMeter, build, make

{above}


def train(model, loader, optimizer{parameter}):
{before}    meter = {build}
    for images in loader:
        loss = model(images).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        meter.add(loss)
"""

TABLES = """\
from meters import LossMeter, OtherMeter

CLASSES = dict(loss=LossMeter, other=OtherMeter)


def build(name, size=1):
    if name not in CLASSES:
        raise KeyError(name)
    cls = CLASSES[name]
    meter = cls()
    return meter


def make(name):
    if name == "none":
        return None
    return CLASSES[name]()
"""


def table_project(
    build: str, mark: bool, above: str = "", before: str = "", parameter: str = "", tables: str = TABLES
) -> dict[str, str]:
    text = TABLE_TRAIN.format(build=build, above=dedent(above), before=before, parameter=parameter)
    return {"meters.py": meters(mark), "tables.py": tables, "train.py": text}


@pytest.mark.parametrize(
    "build",
    [
        'CLASSES["loss"]()',
        'tables.CLASSES["loss"]()',
        'CLASSES.get("loss", OtherMeter)()',
        'getattr(tables, "LossMeter", None)()',
        'build("loss")',
        'build(size=3, name="loss")',
        'tables.build("loss")',
    ],
)
def test_a_table_of_another_file(build: str) -> None:
    expect_reads(table_project(build, mark=True))


def test_a_table_of_the_function() -> None:
    local = '    kinds = {"loss": LossMeter, "other": OtherMeter}\n'
    expect_reads(table_project('kinds["loss"]()', mark=True, before=local))


@pytest.mark.parametrize(
    ("build", "more"),
    [
        ('CLASSES["loss"]()', {"parameter": ", CLASSES"}),  # the caller's own table
        ('TABLE["loss"]()', {"above": 'TABLE = {"loss": LossMeter}\nTABLE["loss"] = OtherMeter'}),
        ('TABLE["loss"]()', {"above": 'TABLE = {"loss": LossMeter}\nTABLE.update(loss=OtherMeter)'}),
        ('TABLE["loss"]()', {"above": 'TABLE = {"loss": LossMeter}\nTABLE = {"loss": OtherMeter}'}),
        ('TABLE["loss"]()', {"above": 'TABLE = {"loss": LossMeter, **CLASSES}'}),
        ('getattr(model, "LossMeter")()', {}),
        ('make("loss")', {}),  # it may give nothing
        ('build("another")', {}),
        ('build("other"[:3])', {}),
    ],
)
def test_a_table_that_does_not_say_which_class(build: str, more: dict[str, str]) -> None:
    expect_reads(table_project(build, mark=False, **more))


# --- loops in files that do not import Paddle

STEP = """\
import paddle
{imports}


class Task{base}:
    def {step}(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss.item(){mark}

    def score(self, batch):
        return self.model(batch).mean().item()

{more}
"""

BASE = """\
class Runner:
    def run(self, loader):
        for batch in loader:
            self.one(batch)

    def one(self, batch):
        return self.run_batch(batch)

    def evaluate(self, loader):
        for batch in loader:
            self.show(self.run_batch(batch))

    def show(self, value):
        print(value)

    def run_batch(self, batch):
        {body}
"""


def step_file(mark: bool, step: str = "run_batch", base: str = "", imports: str = "", more: str = "") -> str:
    return STEP.format(imports=imports, base=base, step=step, mark="  #: PPF201" if mark else "", more=more)


@pytest.mark.parametrize("body", ["raise NotImplementedError", "pass", "...", '"""One batch."""'])
def test_a_hook_behind_a_method_of_the_base(body: str) -> None:
    trainer = step_file(mark=True, base="(Runner)", imports="from base import Runner")
    expect_reads({"base.py": BASE.format(body=body), "train.py": trainer})


@pytest.mark.parametrize(
    ("base", "step"),
    [
        ("", "run_batch"),  # another class with such a method
        ("(Runner)", "another_batch"),
    ],
)
def test_a_hook_that_no_subclass_trains_in(base: str, step: str) -> None:
    trainer = step_file(mark=False, base=base, step=step, imports="from base import Runner")
    expect_reads({"base.py": BASE.format(body="raise NotImplementedError"), "train.py": trainer})


def test_a_base_whose_own_method_does_something_is_not_taken_for_a_trainer() -> None:
    trainer = step_file(mark=False, base="(Runner)", imports="from base import Runner")
    expect_reads({"base.py": BASE.format(body="return self.model(batch)"), "train.py": trainer})


ENGINE = """\
def run_epoch(loader, step_function):
    for batch in loader:
        print(step_function(batch)){log}
"""


@pytest.mark.parametrize(
    "given",
    ["self.step", "lambda batch: self.step(batch)", "self.step if self.fast else self.slow", "chosen", "either"],
)
def test_a_function_handed_to_a_loop_without_paddle(given: str) -> None:
    more = f"""\
    def slow(self, batch):
        return self.step(batch)

    def fit(self, loader):
        chosen = self.step
        if self.fast:
            either = chosen
        else:
            either = self.slow
        run_epoch(loader, {given})
"""
    if given == "either":
        more = more.replace("either = chosen", "either = self.step").replace("run_epoch(loader, either)", "")
        more += "        for batch in loader:\n            either(batch)\n"
    trainer = step_file(mark=True, step="step", imports="from engine import run_epoch", more=more)
    log = "" if given == "either" else "  #: PPF405"
    expect_reads({"engine.py": ENGINE.format(log=log), "train.py": trainer})


@pytest.mark.parametrize("given", ["self.score", "lambda batch: self.score(batch)", "print", "chosen"])
def test_a_function_that_does_not_train_handed_to_a_loop_without_paddle(given: str) -> None:
    more = f"""\
    def fit(self, loader):
        chosen = self.step
        for chosen in loader:
            pass
        run_epoch(loader, {given})
"""
    trainer = step_file(mark=False, step="step", imports="from engine import run_epoch", more=more)
    expect_reads({"engine.py": ENGINE.format(log=""), "train.py": trainer})


def test_a_chosen_function_of_which_one_does_not_train() -> None:
    expect_reads(
        """
        import paddle


        def plain_step(model, optimizer, x):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return float(loss)  #: PPF201


        def predict(model, optimizer, x):
            return float(model(x).mean())


        def train(model, loader, optimizer):
            step = plain_step
            for x in loader:
                step(model, optimizer, x)


        def show(model, loader):
            step = predict
            for x in loader:
                step(model, None, x)
        """
    )


# --- what a step draws from

DRAWN = """\
import paddle
from paddle.io import DataLoader


class Plain:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset, batch_size=8)
        self.batches = iter(self.loader)

    def __iter__(self):
        start = paddle.ones([1]).item()
        return self

    def __next__(self):
        images, labels = next(self.batches)
        return images, labels.max().item(){plain}


def endless(loader):
    while True:
        scale = paddle.ones([1]).item()
        for images, labels in loader:
            yield images, labels.max().item() * scale{generator}


class Trainer:
    def __init__(self, model, optimizer, dataset):
        self.model, self.optimizer = model, optimizer
        self.kept = endless(DataLoader(dataset, batch_size=8))

    def fit(self, dataset, steps):
        batches = endless(DataLoader(dataset, batch_size=8))
        plain = Plain(dataset)
        first = next(batches)
        for step, {target} in enumerate({loop}):
            {draw}
            loss = self.model(images).mean() * largest
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("loop", "target", "draw", "marked"),
    [
        ("plain", "(images, largest)", "pass", "plain"),
        ("iter(plain)", "(images, largest)", "pass", "plain"),
        ("range(steps)", "_", "images, largest = next(plain)", "plain"),
        ("batches", "(images, largest)", "pass", "generator"),
        ("range(steps)", "_", "images, largest = next(batches)", "generator"),
        ("range(steps)", "_", "images, largest = next(self.kept)", "generator"),
        ("zip(range(steps), batches)", "(_, (images, largest))", "pass", "generator"),
        ("range(steps)", "_", "images, largest = next(batches) if step % 100 == 0 else first", ""),
        ("range(steps)", "_", "images, largest = first", ""),
        ("range(steps)", "_", "images, largest = next(dataset)", ""),
    ],
)
def test_what_a_step_draws_from(loop: str, target: str, draw: str, marked: str) -> None:
    marks = {name: "  #: PPF201" if marked == name else "" for name in ("plain", "generator")}
    expect_reads(DRAWN.format(loop=loop, target=target, draw=draw, **marks))


def test_what_an_object_gives_is_known() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        class Pairs:
            def __init__(self, dataset):
                self.loader = DataLoader(dataset, batch_size=8)

            def __iter__(self):
                for images, labels in self.loader:
                    yield images, images.shape[0]


        def train(model, dataset, optimizer, history):
            for images, count in Pairs(dataset):
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                history.append(float(count))
                history.append(float(images.max()))  #: PPF201
        """
    )


# --- what a forward gives

FORWARD = """\
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x, scale=1.0):
        count = x.shape[0]
        {returns}


def train(loader, optimizer, history):
    net = Net()
    for x in loader:
        {call}
        outputs.backward()
        optimizer.step()
        optimizer.clear_grad()
        history.append(float(outputs.max()))  #: PPF201
        history.append(float(count)){mark}
"""


@pytest.mark.parametrize(
    ("returns", "call", "known"),
    [
        ("return self.body(x), count", "outputs, count = net(x)", True),
        ("return self.body(x), len(x)", "outputs, count = net(*x)", True),
        ("return self.body(x), 3", "outputs, count = net.forward(x)", True),
        ("return self.body(x), self.body(x)", "outputs, count = net(x)", False),
        ("return self.body(x), paddle.to_tensor(count)", "outputs, count = net(x)", False),
        ("return (self.body(x), count) if count else x", "outputs, count = net(x)", False),
    ],
)
def test_the_parts_of_a_forward(returns: str, call: str, known: bool) -> None:
    expect_reads(FORWARD.format(returns=returns, call=call, mark="" if known else "  #: PPF201"))


# --- timed parts

TIMED = """\
import time
from time import perf_counter

import paddle


def speed(model, loader, optimizer, times):
    for x in loader:
        start = perf_counter()
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {read}
        {after}
        times.append(0.0)
"""


@pytest.mark.parametrize(
    ("read", "after", "quiet"),
    [
        ("loss.item()", "times.append(perf_counter() - start)", True),
        ("loss.numpy()", "end = time.time()", True),
        ("value = loss.item()", "times.append(perf_counter() - start)", False),
        ("times.append(loss.item())", "end = time.time()", False),
        ("loss.item()", "pass", False),
        ("loss.item()", "end = model.time()", False),
    ],
)
def test_a_read_before_a_look_at_the_clock(read: str, after: str, quiet: bool) -> None:
    expect_reads(TIMED.format(read=read + ("" if quiet else "  #: PPF201"), after=after))


# --- the device of a run

ENGINE_READS = """\
import paddle


def train(model, loader, optimizer, history):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        history.append(loss.item())
"""


@pytest.mark.parametrize(
    ("drivers", "quiet"),
    [
        ({"main.py": "{main}{cpu}"}, True),
        ({"main.py": "{main}if __name__ == '__main__':\n    {cpu}"}, True),
        ({"main.py": "{main}def main():\n    {cpu}"}, True),
        ({"main.py": "{main}if not paddle.is_compiled_with_cuda():\n    {cpu}"}, False),
        ({"main.py": "{main}{cpu}", "other.py": "{main}"}, False),
        ({"tests/test_engine.py": "{main}{cpu}"}, False),
        ({"main.py": "import paddle\n{cpu}"}, False),
        ({"middle.py": "from engine import train\n", "main.py": "import paddle\nimport middle\n\n{cpu}"}, True),
        ({"main.py": "{main}{cpu}paddle.set_device(DEVICE)\n"}, False),
    ],
)
def test_the_device_that_the_scripts_set(drivers: dict[str, str], quiet: bool) -> None:
    main, cpu = "import paddle\nfrom engine import train\n\n", 'paddle.set_device("cpu")\n'
    files = {path: text.format(main=main, cpu=cpu) + "\ntrain(*make())\n" for path, text in drivers.items()}
    found = check({"engine.py": ENGINE_READS, **files}, "PPF201")
    assert bool(found) is not quiet, found


# --- numbers that a layer hands through


@pytest.mark.parametrize("kept", ["self.model = model", "self.model = paddle.DataParallel(model)"])
@pytest.mark.parametrize("rate", ["brentq(abs, 0.0, 1.0)", "embeds.mean()"])
def test_a_number_that_a_method_hands_to_forward(kept: str, rate: str) -> None:
    """``loss, rate = self.loss(...)`` and ``return loss, rate``: what SciPy gives is no tensor."""
    files = {
        "encoder.py": f"""\
            import paddle
            from paddle import nn
            from scipy.optimize import brentq


            class Encoder(nn.Layer):
                def loss(self, embeds):
                    rate = {rate}
                    return nn.CrossEntropyLoss()(embeds, embeds), rate

                def forward(self, inputs):
                    loss, rate = self.loss(self.embed(inputs))
                    return loss, rate
            """,
        "train.py": f"""\
            import paddle
            from encoder import Encoder


            class Experiment:
                def setup(self):
                    model = Encoder()
                    {kept}

                def train(self, loader):
                    for batch in loader:
                        loss, rate = self.model(batch)
                        loss.backward()
                        self.optimizer.step()
                        self.optimizer.clear_grad()
                        print(rate)
            """,
    }
    reads = [item.code for item in check({path: dedent(text) for path, text in files.items()}, "PPF202", "PPF405")]
    assert reads == (["PPF405"] if "brentq" in rate else ["PPF202"])
