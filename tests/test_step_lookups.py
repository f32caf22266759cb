"""What a step draws from, what it may run that a configuration names, and how often its inner loops run."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.output.step_text import as_json, text
from perflint.trace.events import StepEvent
from perflint.trace.loading import loadings
from perflint.trace.step_trace import Repeat, StepCall, StepTrace, all_nodes, possible, unknown_calls
from tests.test_step import events, in_loop, trace

LOADER = """\
import paddle
from paddle.io import DataLoader

"""


def loaders(code: str) -> list[tuple[int, tuple[int | None, ...]]]:
    """The rows and workers of the loaders of the one step of a program."""
    step = trace(LOADER + dedent(code))
    return [(each.row, each.workers) for each in sorted(loadings(step.place, step.loop), key=lambda each: each.row)]


def test_a_loader_that_is_called() -> None:
    code = """\
        def train(model, optimizer, data):
            loader = DataLoader(data, num_workers=2)
            for x in loader():
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
        """
    assert loaders(code) == [(5, (2,))]


def test_one_of_the_loaders_in_a_dict() -> None:
    code = """\
        def train(model, optimizer, data, other, phase):
            loaders = {"train": DataLoader(data, num_workers=2), "val": DataLoader(other)}
            for x in loaders[phase]:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
        """
    assert loaders(code) == [(5, (2,)), (5, (0,))]


def test_what_an_object_and_a_generator_draw_from() -> None:
    code = """\
        class Endless:
            def __init__(self, loader):
                self.loader = loader
                self.batches = iter(loader)

            def __next__(self):
                try:
                    return next(self.batches)
                except StopIteration:
                    self.batches = iter(self.loader)
                    return next(self.batches)


        def moved(batches):
            for batch in batches:
                yield batch


        def train(model, optimizer, data, other, steps):
            batches = Endless(DataLoader(data, num_workers=2))
            more = moved(DataLoader(other))
            for _ in range(steps):
                x, y = next(batches), next(more)
                loss = model(x).mean() + model(y).mean()
                loss.backward()
                optimizer.step()
        """
    assert loaders(code) == [(23, (2,)), (24, (0,))]


def test_a_loader_that_is_looked_up_by_a_computed_name() -> None:
    code = """\
        def register(cls):
            return cls


        @register
        class TrainReader:
            def __call__(self, data, workers):
                self.loader = DataLoader(data, num_workers=workers)
                return self

            def __iter__(self):
                return iter(self.loader)


        @register
        class Crop:
            def __call__(self, data, workers):
                return DataLoader(data)


        def train(model, optimizer, data, mode, create):
            loader = create("{}Reader".format(mode))(data, 2)
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
        """
    assert loaders(code) == [(11, (2,))]


def test_a_number_of_workers_that_a_configuration_may_change_is_not_certain() -> None:
    code = """\
        def train(model, optimizer, data, config):
            loader = DataLoader(data, num_workers=config.get("workers", 0))
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
        """
    assert loaders(code) == [(5, (0, None))]


def counts(code: str) -> list[int | None]:
    """How often each loop in a step runs."""
    return [node.count for node in all_nodes(trace(in_loop(code)).nodes) if isinstance(node, Repeat)]


@pytest.mark.parametrize(
    ("loop", "count"),
    [
        ("for i in range(3):", 3),
        ("for i in range(1, 7, 2):", 3),
        ("for i in range(args.n):", None),
        ("for i in range(3, args.n):", None),
        ("for value in (x, y):", 2),
        ("for i, value in enumerate([x, y, x]):", 3),
        ("for i, value in zip((x, y), range(5)):", 2),
        ("for value in [x, *args.more]:", None),
        ("for value in args.values:", None),
    ],
)
def test_how_often_a_loop_in_a_step_runs(loop: str, count: int | None) -> None:
    assert counts(f"{loop}\n    loss.item()") == [count]


def test_a_list_that_grows_has_no_known_length() -> None:
    assert counts("kept = [x]\nfor value in kept:\n    loss.item()") == [1]
    assert counts("kept = [x]\nkept.append(y)\nfor value in kept:\n    loss.item()") == [None]


def test_a_comprehension_repeats_what_it_evaluates_but_not_what_it_goes_over() -> None:
    step = trace(in_loop("read = [value.item() for value in (x, y)]"))
    (loop,) = (node for node in all_nodes(step.nodes) if isinstance(node, Repeat))
    assert (loop.count, [type(node) for node in loop.body]) == (2, [StepEvent])
    nested = counts("read = [value.item() for pair in [(x, y)] * 3 for value in pair]")
    assert nested == [None]  # what ``pair`` is does not show


def test_numpy_of_something_unknown_is_a_read_and_item_is_not() -> None:
    assert [kind for *_, kind in events(in_loop("args.value.numpy()\nargs.value.item()"))][2:] == ["read"]


def test_the_step_of_a_learning_rate_is_none_of_the_optimizer() -> None:
    found = [kind for *_, kind in events(in_loop("optimizer._learning_rate.step()"))]
    assert found == ["backward", "optimizer"]


MODELS = """\
import paddle

LAYERS = {}


def register(cls):
    LAYERS[cls.__name__] = cls
    return cls


def create(name, **options):
    return LAYERS[name](**options)


@register
class WideHead(paddle.nn.Layer):
    def forward(self, x):
        return x[x > 0].mean()


@register
class DeepHead(paddle.nn.Layer):
    def forward(self, x):
        return x.mean()


@register
class Sum(paddle.nn.Layer):
    def forward(self, x, y):
        return (x + y).nonzero()


@register
class Net(paddle.nn.Layer):
    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x)


def train(config, loader, optimizer):
    model = create(config.name)
    for x in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def test_a_call_of_a_model_that_a_configuration_names_may_run_those_that_take_its_arguments() -> None:
    step = trace(MODELS)
    assert [call.node.lineno for call in unknown_calls(step.nodes)] == [46]
    names = [each.function.scope.qualname for each in possible(step)]
    assert names == ["WideHead.forward", "DeepHead.forward", "Net.forward"]


def test_what_may_run_is_shown_apart_and_counts_for_nothing() -> None:
    step = trace(MODELS)
    said = text(step, {})
    assert "At most, at each step: nothing that keeps the device waiting." in said
    begin = said.index("A caller or a configuration says what these run.")
    assert said[begin:].splitlines()[1:] == ["  WideHead.forward of train.py:17: 1 wait for the device"]
    assert [each["function"] for each in as_json(step, {})["possible"]] == [
        "WideHead.forward",
        "DeepHead.forward",
        "Net.forward",
    ]


def test_a_model_that_is_known_may_not_be_another() -> None:
    step = trace(MODELS.replace("create(config.name)", "Net(WideHead())"))
    assert [call.node.lineno for call in unknown_calls(step.nodes)] == []
    assert possible(step) == []


PLANS = """\
import paddle


class WideNet(paddle.nn.Layer):
    def forward(self, x):
        return x[x > 0].mean()


class DeepNet(paddle.nn.Layer):
    def forward(self, x):
        return x.mean()


class Wide:
    def create_model(self):
        return WideNet()

    def train_forward(self, net, x):
        return net.forward(x)


class Deep:
    def create_model(self):
        return DeepNet()

    def train_forward(self, net, x):
        return net.forward(x)


def train(plan, loader, optimizer):
    net = plan.create_model()
    for x in loader:
        loss = plan.train_forward(net, x)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def inside(step: StepTrace) -> dict[str, list[str]]:
    """What each function that a step reaches calls."""
    calls = [node for node in all_nodes(step.nodes) if isinstance(node, StepCall)]
    summaries = {reached for call in calls for reached in call.reached}
    return {
        each.function.scope.qualname: [
            inner.function.scope.qualname for node in each.nodes if isinstance(node, StepCall) for inner in node.reached
        ]
        for each in summaries
    }


def test_what_one_method_makes_is_what_another_method_of_the_same_class_gets() -> None:
    found = inside(trace(PLANS))
    assert found["Wide.train_forward"] == ["WideNet.forward"]
    assert found["Deep.train_forward"] == ["DeepNet.forward"]


def test_a_log_call_of_the_project_is_followed_to_where_it_logs() -> None:
    logger = "class Log:\n    def info(self, text):\n        print(text)\n\n\nlogger = Log()\n"
    assert events(in_loop('logger.info("step")', before=logger))[2:] == [("train.py", 4, "log")]


def test_an_item_of_a_list_of_layers_of_paddle_is_not_looked_up() -> None:
    step = trace(
        MODELS.replace("self.head = head", "self.parts = paddle.nn.LayerList([paddle.nn.Linear(4, 4)])")
        .replace("return self.head(x)", "return self.parts[0](x)")
        .replace("create(config.name)", "Net(None)")
    )
    assert unknown_calls(step.nodes) == []
