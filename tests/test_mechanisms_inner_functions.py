"""What a function inside another one knows of it, and steps that were not seen: one an epoch, or without a caller."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import ImpactLevel
from perflint.flow.resolving import opened
from perflint.index.imports import Imports
from perflint.run import engine
from perflint.trace.events import EventKind
from perflint.trace.step_trace import occurrences, traces
from tests.support import check, expect_reads, in_step, sources

NET = """
import paddle


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = paddle.nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)

    def measure(self, x):
        return x.mean().item()  #: PPF201
"""


@pytest.mark.parametrize(
    "body",
    [
        """
        def main(loader):
            net = Net()
            optimizer = paddle.optimizer.Adam(parameters=net.parameters())

            def step(x):
                loss = net(x).sum()
                net.measure(loss)
                loss.backward()
                optimizer.step()

            for x in loader:
                step(x)
        """,
        """
        class Trainer:
            def __init__(self):
                self.net = Net()
                self.optimizer = paddle.optimizer.Adam(parameters=self.net.parameters())

            def fit(self, loader):
                def closure(x):
                    def forward():
                        return self.net(x).sum()

                    loss = forward()
                    self.net.measure(loss)
                    loss.backward()
                    self.optimizer.step()

                for x in loader:
                    closure(x)
        """,
        """
        def train(net, loader, optimizer):
            def step(x):
                loss = net(x).sum()
                net.measure(loss)
                loss.backward()
                optimizer.step()

            for x in loader:
                step(x)


        def main(loader, optimizer):
            train(Net(), loader, optimizer)
        """,
    ],
)
def test_an_inner_function_knows_the_objects_around_it(body: str) -> None:
    expect_reads(NET + dedent(body))


def test_a_name_of_the_inner_function_itself_hides_the_one_around_it() -> None:
    quiet = """
    class Other:
        def measure(self, x):
            return x


    def main(loader, pick):
        net = Net()
        optimizer = paddle.optimizer.Adam(parameters=net.parameters())

        def step(x, net):
            net.measure(x)

        def other(x):
            net = Other()
            net.measure(x)

        for x in loader:
            loss = net(x).sum()
            step(loss, pick())
            other(loss)
            loss.backward()
            optimizer.step()
    """
    expect_reads(NET.replace("  #: PPF201", "") + dedent(quiet))


def test_self_of_another_object_in_an_inner_function() -> None:
    other = """
    class Trainer:
        def __init__(self):
            self.net = Net()

        def fit(self, loader, optimizer):
            def step(self, x):
                self.net.measure(x)

            for x in loader:
                loss = self.net(x).sum()
                step(optimizer, loss)
                loss.backward()
                optimizer.step()
    """
    expect_reads(NET.replace("  #: PPF201", "") + dedent(other))


# -- a step of all data an epoch ---------------------------------------------------------------------------------------

FIT = """
import paddle


class Solver:
    def __init__(self, net, epochs):
        self.net, self.epochs = net, epochs
        self.optimizer = paddle.optimizer.Adam(parameters=net.parameters())

    def fit(self, points, epochs):
        best = 1e9
        for epoch in range({count}):
            loss = self.net(points).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            best = min(best, loss.item()){mark}
        return best
"""


@pytest.mark.parametrize("count", ["epochs", "self.epochs"])
def test_a_loop_over_as_many_epochs_as_somebody_says_is_a_step_loop(count: str) -> None:
    expect_reads(FIT.format(count=count, mark="  #: PPF201"))


@pytest.mark.parametrize("count", ["600", "EPOCHS", "len(points.epochs)"])
def test_a_loop_over_a_written_number_of_epochs_is_a_trial(count: str) -> None:
    expect_reads(FIT.format(count=count, mark=""))


def test_an_epoch_that_goes_over_batches_is_no_step() -> None:
    expect_reads(
        """
        import paddle


        def fit(net, loader, optimizer, epochs):
            for epoch in range(epochs):
                for x in loader:
                    loss = net(x).mean()
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                print(loss.item())
        """
    )


def test_an_epoch_that_draws_from_a_loader_is_no_step() -> None:
    text = FIT.format(count="epochs", mark="").replace("self.net(points)", "self.net(next(self.train_loader))")
    expect_reads(text)


# -- a change that a step looks for ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "mark"),
    [
        ("before != self.ratio", ""),
        ("before != self.ratio or self.is_new", ""),  # the branch itself turns that off
        ("not before == self.ratio", ""),
        ("before == self.ratio", "  #: PPF202"),
        ("before != self.goal", "  #: PPF202"),  # nothing says that they are ever the same
        ("before != self.ratio or self.goal", "  #: PPF202"),
    ],
)
def test_what_runs_where_a_step_has_changed_a_field(test: str, mark: str) -> None:
    expect_reads(
        f"""
        import paddle


        class Pruner:
            def __init__(self, goal):
                self.ratio, self.goal, self.is_new, self.count = 0.0, goal, True, 0

            def step(self, x):
                before = self.ratio
                if self.count % 100 == 0:
                    self.ratio = self.ratio + 0.1
                self.count += 1
                if {test}:
                    print(x.mean()){mark}
                    self.is_new = False


        def train(net, loader, optimizer, goal):
            pruner = Pruner(goal)
            for x in loader:
                net(x).sum().backward()
                optimizer.step()
                pruner.step(x)
        """
    )


# -- classes as values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decorator", "mark"), [("@property", "  #: PPF201"), ("@cached_property", "  #: PPF201"), ("", "")]
)
def test_what_a_property_returns(decorator: str, mark: str) -> None:
    text = f"""
    from functools import cached_property


    class Trainer:
        def __init__(self):
            self._net = Net()

        {decorator}
        def net(self):
            return self._net

        def fit(self, loader, optimizer):
            for x in loader:
                loss = self.net(x).sum()
                self.net.measure(loss)
                loss.backward()
                optimizer.step()
    """
    expect_reads(NET.replace("  #: PPF201", mark) + dedent(text))


# -- a step that nothing in the project calls --------------------------------------------------------------------------

MODEL = """
import paddle


class Model:
    def __init__(self):
        self.net = paddle.nn.Linear(4, 4)
        self.optimizer = paddle.optimizer.Adam(parameters=self.net.parameters())

    def optimize_parameters(self, x):
        loss = self.net(x).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        self.logged = loss.item()

    def test(self, x):
        return self.net(x)
"""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("from model import Model\n\nmodel = Model()\nmodel.test(None)\n", ["PPF201"]),
        ("import model\n\nprint(1)\n", []),  # nothing makes an object of it
        (
            # the call that is there never runs, so neither does the step
            "from model import Model\n\n\ndef old(model):\n    model.optimize_parameters(1)\n\n\nModel().test(None)\n",
            [],
        ),
    ],
)
def test_a_step_of_objects_that_only_a_missing_script_trains(script: str, expected: list[str]) -> None:
    settings = Settings(select=("PPF201",), min_impact=ImpactLevel.LOW, whole_project=True)
    found = engine.check(sources({"app/model.py": MODEL, "app/main.py": script}), settings)
    assert [each.code for each in found] == expected


# -- what a step is seen to do -----------------------------------------------------------------------------------------


def kinds(text: str) -> list[EventKind]:
    """What the one step of a program does, in order."""
    (found,) = traces(opened(sources(text)))
    return [each.event.kind for each in occurrences(found)]


def test_a_method_named_like_a_function_of_paddle_is_followed() -> None:
    text = """
    import paddle


    class Regulator(paddle.nn.Layer):
        def expand(self, x, durations):
            return x * durations.numpy().max()

        def forward(self, x, durations):
            return self.expand(x, durations.astype("int64"))


    def main(loader, optimizer):
        net = Regulator()
        for x, durations in loader:
            net(x, durations).sum().backward()
            optimizer.step()
    """
    assert kinds(text) == [EventKind.READ, EventKind.BACKWARD, EventKind.OPTIMIZER]
    direct = text.replace("self.expand(x, durations.astype", "x.expand([2, durations.max()]); (durations.astype")
    assert kinds(direct)[0] is EventKind.SIZE


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("[0, 1, 107]", [EventKind.DECISION]),
        ("(0, 1)", [EventKind.DECISION]),
        ("[0] if loader else []", [EventKind.DECISION]),
        ("[]", []),  # nothing to compare with
        ("{0, 1}", []),  # the hash of the tensor, which differs from that of a number
        ("loader.ignored", []),
    ],
)
def test_a_tensor_that_is_looked_up_in_a_list(made: str, expected: list[EventKind]) -> None:
    text = f"""
    import paddle


    def main(loader, net, optimizer):
        ignored = {made}
        for x, labels in loader:
            loss = net(x).mean()
            loss.backward()
            k = paddle.argmax(x)
            if k in ignored:
                continue
            optimizer.step()
    """
    assert [kind for kind in kinds(text) if kind is EventKind.DECISION] == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [("labels[i]", "iterate over a list of numbers"), ("labels.max()", "decide by something that the host knows")],
)
def test_the_advice_about_a_tensor_that_is_looked_up(value: str, said: str) -> None:
    text = f"""
    for i in range(4):
        k = {value}
        if k in [0, 1]:
            total = total + k
            seen(i)
    """
    (found,) = check(in_step("labels = y.argmax(axis=-1)\ntotal = 0\n" + dedent(text).lstrip()), "PPF203")
    assert said in found.message


@pytest.mark.parametrize(("module", "fails"), [("typing", False), ("shapes", True), (".typing", True)])
def test_a_file_with_the_name_of_a_module_of_python(module: str, fails: bool) -> None:
    files = {
        "app/net/typing.py": "Shape = list\n",
        "app/net/shapes.py": "Shape = list\n",
        "app/net/net.py": f"from {module} import Callable\n",
    }
    project = opened(sources(files))
    assert Imports.of(project).fails(project.files["app/net/net.py"]) is fails
