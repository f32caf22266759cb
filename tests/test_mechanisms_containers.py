"""Objects and functions in containers are followed, however these are made; so is the closure of an optimizer."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.support import expect_reads

METERS = """\
import collections
import functools
from collections import OrderedDict, defaultdict

import paddle.nn.functional as F


class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total += float(value)  #: PPF201


def train(model, loader, optimizer, names):
{made}
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {used}
"""


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("meters = dict(loss=Meter())", 'meters["loss"].update(loss)'),
        ('meters = OrderedDict([("loss", Meter())])', 'meters["loss"].update(loss)'),
        ("meters = OrderedDict([(name, Meter()) for name in names])", 'meters["loss"].update(loss)'),
        ("meters = dict((name, Meter()) for name in names)", 'meters["loss"].update(loss)'),
        ("meters = dict(zip(names, [Meter(), Meter()]))", 'meters["loss"].update(loss)'),
        ("meters = {name: Meter() for name in names}", 'meters["loss"].update(loss)'),
        ("meters = {name: Meter() for name in names}", "for name, meter in meters.items(): meter.update(loss)"),
        ("meters = {name: Meter() for name in names}", 'meters.get("loss").update(loss)'),
        ("meters = defaultdict(Meter)", 'meters["loss"].update(loss)'),
        ("meters = collections.defaultdict(lambda: Meter())", 'meters["loss"].update(loss)'),
        ("meters = defaultdict(functools.partial(Meter))", 'meters["loss"].update(loss)'),
        ("meters = [Meter() for _ in names]", "meters[0].update(loss)"),
        ("meters = [Meter()] * 3", "for meter in meters: meter.update(loss)"),
        ("meters = []\nmeters.append(Meter())", "meters[0].update(loss)"),
        ("meters = {}\nfor name in names:\n    meters[name] = Meter()", 'meters["loss"].update(loss)'),
    ],
)
def test_a_meter_in_a_container(made: str, used: str) -> None:
    expect_reads(METERS.format(made=indent(made, "    "), used=used))


def test_a_number_beside_the_meters_leaves_open_what_an_item_is() -> None:
    made = "    meters = {}\n    meters[names[0]] = Meter()\n    meters[names[1]] = 0.5"
    expect_reads(METERS.format(made=made, used="meters[names[0]].update(loss)").replace("  #: PPF201", ""))


LOSSES = """\
import paddle
from paddle import nn


class Trainer:
    def __init__(self, kind):
        self.net = nn.Linear(3, 3)
        self.kind = kind
        self.losses = {made}

    def loss_mean(self, x):
        print(x.mean().item())  #: PPF202
        return x.mean()

    def loss_sum(self, x):
        print(x.sum().item())  #: PPF202
        return x.sum()

    def log_sum(self, x):
        print(x.sum().item())

    def train(self, loader, optimizer):
        for x in loader:
            loss = {called}(self.net(x))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("made", "called"),
    [
        ("dict(mean=self.loss_mean, sum=self.loss_sum)", "self.losses[self.kind]"),
        ('{"mean": self.loss_mean, "sum": self.loss_sum}', "self.losses.get(self.kind)"),
        ("None", 'getattr(self, "loss_" + self.kind)'),
        ("None", 'getattr(self, f"loss_{self.kind}")'),
        ("None", 'getattr(self, "loss_%s" % self.kind)'),
        ("None", 'getattr(self, "loss_{}".format(self.kind))'),
    ],
)
def test_a_method_that_is_chosen_by_a_name(made: str, called: str) -> None:
    expect_reads(LOSSES.format(made=made, called=called))


def test_two_letters_do_not_say_which_methods_are_meant() -> None:
    text = LOSSES.format(made="None", called='getattr(self, "lo" + self.kind)')
    expect_reads(text.replace("  #: PPF202", ""))


def test_the_closure_of_an_optimizer_is_the_step() -> None:
    expect_reads("""\
        def train(model, loader, optimizer, criterion):
            total = 0.0
            for x, y in loader:
                def closure():
                    optimizer.clear_grad()
                    loss = criterion(model(x), y)
                    loss.backward()
                    print(loss.item())  #: PPF202
                    return loss

                total += float(optimizer.step(closure))

        import paddle
    """)


def test_a_method_as_the_closure_of_lbfgs() -> None:
    expect_reads("""\
        import paddle


        class Trainer:
            def fit(self, steps):
                self.optimizer = paddle.optimizer.LBFGS(parameters=self.model.parameters())
                history = []
                for _ in range(steps):
                    loss = self.optimizer.step(self.closure)
                    history.append(loss.numpy())  #: PPF201

            def closure(self):
                self.optimizer.clear_grad()
                loss = self.model(self.x).mean()
                loss.backward()
                self.last = loss.item()  #: PPF201
                return loss
    """)


def test_an_environment_that_is_handed_an_action_calls_no_closure() -> None:
    expect_reads("""\
        import paddle


        def act(model, loss):
            loss.backward()


        def run(environment, action, model):
            for _ in range(9):
                environment.step(action)
                print(model.value)
    """)
