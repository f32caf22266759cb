"""Functions that an optimizer calls for each parameter (PPF508): which are reported, and which edits are safe."""

from __future__ import annotations

import inspect
from collections import Counter
from textwrap import dedent, indent
from typing import Any

import paddle
import pytest
from paddle import nn

from perflint.findings import Level
from tests.support import check, expect_marked, fixed, levels

LISTED = 'lambda x: x in [p.name for n, p in model.named_parameters() if "norm" not in n]'


def _script(function: str, before: str = "", after: str = "", made: str = "optimizer = ", step: str = "") -> str:
    """A program that trains with AdamW, and code before the optimizer is made, after it, and in each step."""
    return (
        "import functools\n\nimport paddle\n\n\ndef train(model, loader, names):\n"
        + indent(dedent(before), "    ")
        + f"    {made}paddle.optimizer.AdamW(parameters=model.parameters(), apply_decay_param_fun={function})\n"
        + indent(dedent(after), "    ")
        + "    for x, y in loader:\n        paddle.nn.functional.cross_entropy(model(x), y).backward()\n"
        + "        optimizer.step()\n        optimizer.clear_grad()\n"
        + indent(dedent(step), " " * 8)
    )


@pytest.mark.parametrize(
    "function",
    [
        LISTED,
        "lambda x: x not in {p.name for p in model.parameters() if p.ndim == 1}",
        "lambda x: any(p.name == x for p in model.parameters() if p.ndim > 1)",
        "lambda x: dict(model.named_parameters()).get(x) is None",
        "lambda x: x in collected(model)",
        "collect",
        "bound",
    ],
)
def test_a_function_that_goes_through_the_network_is_reported(function: str) -> None:
    before = f"""
        def collected(network):
            return [p.name for n, p in network.named_parameters() if "norm" not in n]

        def collect(name):
            found = {{}}
            for n, p in model.named_parameters():
                found[p.name] = n
            return "norm" not in found[name]

        bound = {LISTED}
    """
    [finding] = check(_script(function, before), "PPF508")
    assert finding.message.startswith("`apply_decay_param_fun` goes through the whole network for each parameter")


@pytest.mark.parametrize(
    "function",
    [
        "lambda x: x in names",
        "lambda x: x in [name.lower() for name in names]",
        'lambda x: not any(part in x for part in ["bias", "norm"])',
        "lambda x, found=[p.name for p in model.parameters()]: x in found",
        "[p.name for p in model.parameters()].__contains__",
        "kept",
        "looked_up",
        "tried",
        "None",
    ],
)
def test_a_function_that_looks_something_up_is_not_reported(function: str) -> None:
    before = """
        @functools.lru_cache
        def kept(name):
            return name in [p.name for p in model.parameters()]

        cache = {}

        def looked_up(name):
            if not cache:
                cache.update((p.name, n) for n, p in model.named_parameters())
            return "norm" not in cache[name]

        def tried(name):
            try:
                return cache[name]
            except KeyError:
                cache.update((p.name, "norm" in n) for n, p in model.named_parameters())
            return cache[name]
    """
    assert check(_script(function, before), "PPF508") == []


def test_every_argument_that_is_called_for_each_parameter_is_looked_at() -> None:
    expect_marked(
        f"""
        import paddle


        def build(model, function):
            walks = {LISTED}
            one = paddle.optimizer.AdamW(
                lr_ratio=lambda p: 0.1 if p.name in dict(model.named_parameters()) else 1.0,  #: PPF508
                apply_decay_param_fun=function,
            )
            two = paddle.optimizer.Lamb(
                parameters=model.parameters(),
                exclude_from_weight_decay_fn=walks,  #: PPF508
            )
            return one, two, paddle.optimizer.Adam(parameters=model.parameters())
        """,
        "PPF508",
    )


# -- how far the edit can be trusted


@pytest.mark.parametrize(
    ("parts", "level"),
    [
        ({}, Level.SAFE),
        ({"after": "model.train()\n"}, Level.SAFE),
        ({"after": "names = [1]\n", "step": "print(model.state_dict())\n"}, Level.SAFE),
        ({"before": "model = paddle.nn.Sequential(model)\n"}, Level.UNSAFE),  # it may be known elsewhere
        ({"after": "model = paddle.DataParallel(model)\n"}, Level.UNSAFE),
        ({"after": "net = paddle.DataParallel(model)\n"}, Level.UNSAFE),
        ({"after": "with names as model:\n    pass\n"}, Level.UNSAFE),
        ({"after": "model.head = paddle.nn.Linear(2, 2)\n"}, Level.UNSAFE),
        ({"after": "setattr(model, 'head', None)\n"}, Level.UNSAFE),
        ({"after": "for p in model.parameters():\n    p.name = 'my_' + p.name\n"}, Level.UNSAFE),
        ({"after": "def other():\n    nonlocal model\n    model = names\n"}, Level.UNSAFE),
        ({"after": "names.append(optimizer)\n"}, Level.UNSAFE),
        ({"step": "return optimizer\n"}, Level.UNSAFE),
        ({"step": "return model\n"}, Level.SAFE),
        ({"made": "names.optimizer = optimizer = "}, Level.UNSAFE),
    ],
)
def test_an_edit_is_safe_if_nothing_can_rename_parameters(parts: dict[str, str], level: Level) -> None:
    assert levels(_script(LISTED, **parts), "PPF508") == [level]


@pytest.mark.parametrize(
    "function",
    [
        "lambda x: x in [p.name for n, p in model.named_parameters() if not p.stop_gradient]",
        "lambda x: x in [p.name for n, p in model.named_parameters() if n in names]",
        "lambda x: x in [p.name for n, p in names.model.named_parameters()]",
    ],
)
def test_an_edit_that_reads_more_than_names_is_unsafe(function: str) -> None:
    assert levels(_script(function), "PPF508") == [Level.UNSAFE]


def test_an_optimizer_in_a_loop_is_not_safe_to_change() -> None:
    text = f"""
        import paddle


        def train(models, loader):
            for model in models:
                optimizer = paddle.optimizer.AdamW(parameters=model.parameters(), apply_decay_param_fun={LISTED})
                for x, y in loader:
                    paddle.nn.functional.cross_entropy(model(x), y).backward()
                    optimizer.step()
                    optimizer.clear_grad()
        """
    assert levels(text, "PPF508") == [Level.UNSAFE]


@pytest.mark.parametrize(
    "function",
    [
        "lambda x: x in [p.name for n, p in model.named_parameters() if x != n]",
        "lambda x, model=names: x in [p.name for n, p in model.named_parameters()]",
        "lambda x: any(p.name == x for p in model.parameters())",
        "lambda x: x in (p.name for p in model.parameters())",
        "lambda x: x in [n for n in names] and model.state_dict()[x] is not None",
        "lambda x: 1 in names in [p.name for p in model.parameters()]",
        "lambda x: x in [p.name for p in later.parameters()]",
    ],
)
def test_other_functions_get_words(function: str) -> None:
    text = _script(function, after="later = model\n")
    assert levels(text, "PPF508") == [Level.DISPLAY]
    assert fixed(text, "PPF508", level=Level.UNSAFE) == text


def test_a_comment_inside_of_the_list_keeps_the_code_as_it_is() -> None:
    function = LISTED.replace("[p.name", "[  # all of them\n        p.name")
    assert levels(_script(function), "PPF508") == [Level.DISPLAY]


def test_the_names_stand_above_the_statement_of_the_lambda_under_a_name_of_their_own() -> None:
    text = _script("decays", f"decay_params = 3\ndecays = {LISTED}  # by name\n")
    result = fixed(text, "PPF508")
    assert '    parameter_names = {p.name for n, p in model.named_parameters() if "norm" not in n}\n' in result
    assert "    decays = lambda x: x in parameter_names  # by name\n" in result


def test_two_optimizers_of_a_function_get_names_of_their_own() -> None:
    two = "paddle.optimizer.AdamW(parameters=net.parameters(), apply_decay_param_fun={})\n"
    other = LISTED.replace("model", "net")
    result = fixed(_script(LISTED, f"net = names[0]\nsecond = {two.format(other)}"), "PPF508")
    assert "second = " + two.format("lambda x: x in decay_params") in result
    assert "optimizer = " + two.replace("net", "model").format("lambda x: x in parameter_names") in result


def test_one_lambda_of_two_optimizers_is_changed_once() -> None:
    text = _script("decays", f"decays = {LISTED}\n")
    [row] = [row for row in text.splitlines(keepends=True) if "AdamW" in row]
    result = fixed(text.replace(row, row + row.replace("optimizer =", "second =")), "PPF508")
    assert result.count("named_parameters()") == 1
    assert "    decays = lambda x: x in decay_params\n" in result


def test_names_that_are_no_attribute_stay_in_a_list() -> None:
    text = _script("lambda x: x in [str(p) for p in model.parameters()]")
    assert "decay_params = [str(p) for p in model.parameters()]\n" in fixed(text, "PPF508", level=Level.UNSAFE)


# -- a list that is built once, and searched for each parameter

BUILT = "found = [p.name for p in model.parameters() if p.ndim > 1]\n"


@pytest.mark.parametrize(
    ("parts", "level"),
    [
        ({}, Level.SAFE),
        ({"after": 'print("head.weight" in found)\n'}, Level.SAFE),
        ({"after": "print(found[0])\n"}, Level.DISPLAY),
        ({"after": "found.append('head.weight')\n"}, Level.DISPLAY),
        ({"after": "found += ['head.weight']\n"}, Level.DISPLAY),
        ({"after": "names.decayed = found\n"}, Level.DISPLAY),
        ({"after": "other = found\nprint(len(other))\n"}, Level.DISPLAY),
        ({"after": "print(found in names)\n"}, Level.DISPLAY),
        ({"after": "def add():\n    nonlocal found\n    found = []\n"}, Level.DISPLAY),
        ({"step": "return found\n"}, Level.DISPLAY),
    ],
)
def test_a_searched_list_becomes_a_set_where_nothing_else_needs_a_list(parts: dict[str, str], level: Level) -> None:
    text = _script("lambda x: x in found", BUILT, **parts)
    [finding] = check(text, "PPF508")
    assert "searches a list of names" in finding.message
    assert levels(text, "PPF508") == [level]
    is_changed = "found = {p.name for p in model.parameters() if p.ndim > 1}" in fixed(text, "PPF508")
    assert is_changed is (level is Level.SAFE)


@pytest.mark.parametrize(("other", "level"), [("print(1)", Level.SAFE), ("from train import found", Level.DISPLAY)])
def test_a_searched_list_of_a_module(other: str, level: Level) -> None:
    text = f"""
        import paddle

        model = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.Linear(2, 2))
        {BUILT}
        opt = paddle.optimizer.AdamW(parameters=model.parameters(), apply_decay_param_fun=lambda x: x in found)
        """
    [finding] = check({"train.py": dedent(text), "other.py": f"{other}\n"}, "PPF508")
    assert finding.fix is not None
    assert finding.fix.level is level


@pytest.mark.parametrize(
    "before",
    [
        "found = {p.name for p in model.parameters()}\n",
        "found = [str(p) for p in model.parameters()]\n",  # a set may not hold what it contains
        "found = names.decayed\n",
        f"{BUILT}found = names or found\n",
    ],
)
def test_other_containers_are_not_reported(before: str) -> None:
    assert check(_script("lambda x: x in found", before), "PPF508") == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [("", [Level.SAFE]), ("self.found += ['x']", []), ("print(self.found[0])", [Level.DISPLAY])],
)
def test_a_searched_list_in_an_attribute(other: str, expected: list[Level]) -> None:
    text = f"""
        import paddle


        class Trainer:
            def __init__(self, model):
                self.model = model
                self.found = [p.name for p in model.parameters() if p.ndim > 1]
                self.optimizer = paddle.optimizer.AdamW(
                    parameters=model.parameters(), apply_decay_param_fun=lambda x: x in self.found
                )

            def train(self, loader):
                for x, y in loader:
                    paddle.nn.functional.cross_entropy(self.model(x), y).backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                {other}
        """
    assert levels(text, "PPF508") == expected


# -- what the page says of Paddle


def _calls(made: Any, **arguments: Any) -> Counter[str]:
    """How often an optimizer calls its function for each parameter, in three steps; a last layer gets no gradient."""
    network, unused = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 4)
    seen: Counter[str] = Counter()
    names = {p.name: n for n, p in network.named_parameters()}

    def asked(parameter: Any) -> bool:
        seen[names[getattr(parameter, "name", parameter)]] += 1
        return True

    groups = [{"params": network.parameters()}, {"params": unused.parameters()}]
    whole = [*network.parameters(), *unused.parameters()]
    parameters = groups if arguments.pop("groups", False) else whole
    optimizer = made(learning_rate=0.1, parameters=parameters, **dict.fromkeys(arguments, asked))
    assert not seen
    for _ in range(3):
        network(paddle.ones([2, 4])).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    return seen


EACH_STEP = dict.fromkeys(("0.weight", "0.bias", "1.weight", "1.bias"), 3)


def test_adamw_asks_for_each_parameter_with_a_gradient_at_each_step() -> None:
    assert _calls(paddle.optimizer.AdamW, apply_decay_param_fun=True) == EACH_STEP
    assert _calls(paddle.optimizer.AdamW, apply_decay_param_fun=True, groups=True) == EACH_STEP


def test_lamb_asks_for_each_parameter_with_a_gradient_at_each_step() -> None:
    assert _calls(paddle.optimizer.Lamb, exclude_from_weight_decay_fn=True) == EACH_STEP


def _adamw_with_ratio(lr_ratio: Any, **arguments: Any) -> Any:
    optimizer = paddle.optimizer.AdamW(**arguments)
    optimizer._lr_ratio = lr_ratio  # (AdamW refuses the argument on the CPU)
    return optimizer


def test_adamw_asks_for_the_ratio_as_often() -> None:
    assert _calls(_adamw_with_ratio, lr_ratio=True) == EACH_STEP


@pytest.mark.parametrize("made", [paddle.optimizer.AdamW, paddle.optimizer.Lamb])
def test_there_is_no_operator_for_several_parameters(made: Any) -> None:
    assert "use_multi_tensor" not in inspect.signature(made).parameters
