"""The name that counts the steps of a loop."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from perflint.syntax.scopes import LOOPS
from perflint.training.counting import StepIndex, step_index
from tests.support import module


def index_of(text: str) -> StepIndex | None:
    """The index of the first loop of a text's first function, or of its module."""
    file = module(dedent(text))
    scope = file.scopes.scopes[-1]
    loop = next(item.node for item in scope.statements if isinstance(item.node, LOOPS))
    assert isinstance(loop, LOOPS)
    return step_index(scope, loop, file.identifiers)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("for i, x in enumerate(loader):", "i"),
        ("for step, (x, y) in enumerate(loader, start=1):", "step"),
        ("for i, x in enumerate(tqdm(loader)):", "i"),
        ("for i, x in tqdm(enumerate(loader), total=len(loader)):", "i"),
        ("for i, x in tqdm.tqdm(enumerate(loader)):", "i"),
        ("for [i, x] in enumerate(loader):", None),
        ("for it in range(100):", "it"),
        ("for it in range(start, stop):", "it"),
        ("for it in trange(100):", "it"),
        ("for it in tqdm(range(100)):", "it"),
    ],
)
def test_a_loop_that_counts(header: str, name: str | None) -> None:
    found = index_of(f"{header}\n    train(x)\n")
    assert (found.name if found and not found.enumerate else None) == name


@pytest.mark.parametrize(
    "header",
    [
        "for x in loader:",
        "for x, y in loader():",
        "for (x, y) in tqdm(loader):",
        "for x in self.loader:",
        "for x in zip(a, b):",
        "for x in loader[0]:",
    ],
)
def test_a_loop_that_can_be_made_to_count(header: str) -> None:
    assert index_of(f"{header}\n    train(x)\n") == StepIndex("step", enumerate=True)


@pytest.mark.parametrize(
    "header",
    [
        "while True:",
        "for x, *rest in loader:",
        "for x in [1, 2]:",
        "for x in a_loader, b_loader:",
        "for x in *a_loader, b_loader:",
    ],
)
def test_a_loop_that_cannot(header: str) -> None:
    assert index_of(f"{header}\n    train()\n") is None


def test_an_async_loop_cannot() -> None:
    assert index_of("async def f():\n    async for x in loader:\n        train(x)\n") is None


@pytest.mark.parametrize("counter", ["global_step", "self.step", "n"])
def test_a_counter_that_the_loop_increments(counter: str) -> None:
    assert index_of(f"while True:\n    train()\n    {counter} += 1\n") == StepIndex(counter)
    assert index_of(f"for x in loader:\n    train()\n    {counter} += 1\n") == StepIndex(counter)


@pytest.mark.parametrize(
    "body",
    [
        "n += 2",
        "n += k",
        "n -= 1",
        "n = n + 1\n    n += 1",
        "n += 1\n    n = 0",
        "n += 1\n    n += 1",
        "if x:\n        n += 1",
        "n += 1\n    for n in x: pass",
        "n += 1\n    with x as n: pass",
        "n += 1\n    (n := 3)",
        "n += 1\n    a, n = 1, 2",
        "a[n] += 1",
        "n += 1.5",
    ],
)
def test_what_is_no_counter(body: str) -> None:
    assert index_of(f"while True:\n    {body}\n") is None


def test_an_index_that_the_body_changes_is_none() -> None:
    found = index_of("for i, x in enumerate(loader):\n    i = 0\n    train(x)\n")
    assert found is None or found.name != "i"
    found = index_of("for i in range(9):\n    for i, y in enumerate(z):\n        train(x)\n")
    assert found is None or found.name != "i"


def test_a_new_name_is_one_that_the_file_does_not_use() -> None:
    assert index_of("for x in loader:\n    train(x, step)\n") == StepIndex("step_id", enumerate=True)
    assert index_of("def f(step, step_id):\n    for x in loader:\n        train(x)\n") == StepIndex(
        "batch_step", enumerate=True
    )
    assert index_of("step = step_id = batch_step = train_step_id = 0\nfor x in loader:\n    train(x)\n") is None
    assert index_of("import os as step\nfor x in loader:\n    train(x)\n") == StepIndex("step_id", enumerate=True)
    assert index_of(
        "def step():\n    pass\nfor x in loader:\n    train(x)\n".replace("def", "class").replace("()", "")
    ) == (StepIndex("step_id", enumerate=True))


def test_the_thrown_away_count_takes_the_name() -> None:
    for header in ("for _, x in enumerate(loader):", "for _ in range(100):"):
        found = index_of(f"{header}\n    train(x)\n")
        assert found is not None
        assert (found.name, found.enumerate) == ("step", False)
        assert isinstance(found.unnamed, ast.Name)
        assert found.unnamed.id == "_"


def test_the_thrown_away_count_stays_where_something_reads_it() -> None:
    assert index_of("for _, x in enumerate(loader):\n    train(x, _)\n") is None
    assert index_of("def f():\n    for _ in range(9):\n        train(x)\n    return _\n") is None


@pytest.mark.parametrize(
    ("bar", "name"),
    [
        ("bar = tqdm(enumerate(loader))", "i"),
        ("bar = tqdm(loader)\nbar = tqdm(enumerate(loader))", "i"),
        ("bar = tqdm(zip(loader, others))", None),
        ("bar = enumerate(loader)\nif fast:\n    bar = zip(loader, others)", None),
    ],
)
def test_a_loop_that_counts_through_a_name(bar: str, name: str | None) -> None:
    found = index_of(f"{bar}\nfor i, x in bar:\n    train(x)\n")
    assert (found.name if found and not found.enumerate else None) == name


def test_a_counter_that_is_an_index_of_what_is_stored_still_counts() -> None:
    assert index_of("for i, x in enumerate(loader):\n    losses[i] = train(x)\n") == StepIndex("i")
    assert index_of("for i, x in enumerate(loader):\n    losses[i], i = train(x)\n") is None
