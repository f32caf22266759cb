"""PPF107: what starts a loader again at each step, and the look-alikes that do so as often as they should."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence, Level
from tests.support import check, expect_marked, fixed, in_step, places

CODE = "PPF107"
MADE = "import paddle\n\nother = paddle.io.DataLoader(images, batch_size=8, shuffle=True, num_workers=2)\n"


@pytest.mark.parametrize(
    "body",
    [
        "batch = next(iter(other))  #: PPF107",
        "a, b = next(iter(other))  #: PPF107",
        "model.adapt(next(iter(args.target_loader), None))  #: PPF107",
        "if args.weight > 0:\n    batch = next(iter(other))  #: PPF107",
        "batches = iter(other)  #: PPF107\nbatch = next(batches)",
        "fresh = paddle.io.DataLoader(images, batch_size=8, num_workers=2)  #: PPF107",
    ],
)
def test_a_new_start_at_each_step(body: str) -> None:
    expect_marked(MADE + in_step(body), CODE)


@pytest.mark.parametrize(
    "body",
    [
        "if step % 100 == 0:\n    batch = next(iter(other))",
        "if step == 0:\n    batch = next(iter(other))",
        "batch = next(iter({}.values()))",
        "first = next(iter(model.parameters()))",
        "first = next(iter(x))",
        "try:\n    batch = next(batches)\nexcept StopIteration:\n    batches = iter(other)\n    batch = next(batches)",
        "fresh = paddle.io.DataLoader(select(images, loss), batch_size=8, num_workers=2)",
        "one = paddle.io.DataLoader(images, batch_size=8, num_workers=2)\nbatch = next(iter(one))".replace(
            "images", "x"
        ),
        "with open_data(step) as data:\n    batch = next(iter(data))",
        "batch = next(other_batches)",
    ],
)
def test_what_is_no_new_start_at_each_step(body: str) -> None:
    expect_marked(MADE + in_step(body), CODE)


def test_before_after_and_between_the_epochs() -> None:
    expect_marked(
        """\
        import paddle


        def train(model, train_set, optimizer, epochs, steps):
            loader = paddle.io.DataLoader(train_set, batch_size=8, shuffle=True, num_workers=2)
            model.draw(next(iter(loader)))
            for epoch in range(epochs):
                batches = iter(loader)
                shown = next(iter(loader))
                resized = paddle.io.DataLoader(train_set.resized(epoch), batch_size=8, num_workers=2)
                for step in range(steps):
                    loss = model(next(batches), next(iter(resized)))  #: PPF107
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
            return next(iter(loader))
        """,
        CODE,
    )


def test_a_fold_of_its_own_is_another_loader() -> None:
    expect_marked(
        """\
        import paddle


        def cross_validate(folds, make_model, optimizer):
            for fold in folds:
                model = make_model()
                loader = paddle.io.DataLoader(fold, batch_size=8, shuffle=True, num_workers=2)
                for x, y in loader:
                    loss = model(x, y)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
        """,
        CODE,
    )


def test_the_loop_is_named_where_a_helper_starts_the_loader() -> None:
    files = {
        "data.py": "def draw(loader):\n    return next(iter(loader))\n",
        "train.py": MADE + "from data import draw\n\n" + in_step("batch = draw(other)"),
    }
    assert places(files, CODE) == [("data.py", 2, CODE)]
    (finding,) = check(files, CODE)
    assert "at each call reached from the loop at train.py:12 through train.py:17" in finding.message
    assert finding.fix is not None
    assert finding.fix.level is Level.DISPLAY


def test_a_name_alone_is_less_sure_than_a_type() -> None:
    text = MADE + in_step("a = next(iter(other))\nb = next(iter(args.loader))")
    assert [item.confidence for item in check(text, CODE)] == [Confidence.HIGH, Confidence.MEDIUM]


def test_the_reason_says_what_an_empty_loader_does() -> None:
    (finding,) = check(MADE + in_step("batch = next(iter(other))"), CODE)
    assert finding.fix is not None
    assert "if the loader has no batch at all, `next` never returns" in finding.fix.reason


def test_the_fix_draws_from_one_iterator() -> None:
    result = fixed(MADE + in_step("batch = next(iter(other))  # from the other domain"), CODE, level=Level.UNSAFE)
    assert "    other_batches = (batch for _ in itertools.count() for batch in other)\n    for step, (x, y)" in result
    assert "        batch = next(other_batches)  # from the other domain\n" in result
    assert "import itertools\n" in result


def test_the_iterator_of_the_fix_comes_round_again() -> None:
    """What the fix writes gives every batch in turn, and begins again behind the last."""
    names: dict[str, object] = {"other": [1, 2, 3]}
    exec("import itertools\nother_batches = (batch for _ in itertools.count() for batch in other)", names)
    assert [next(names["other_batches"]) for _ in range(7)] == [1, 2, 3, 1, 2, 3, 1]  # type: ignore[call-overload]


def test_a_default_of_next_is_left_to_a_person() -> None:
    text = MADE + in_step("batch = next(iter(other), None)")
    assert fixed(text, CODE, level=Level.UNSAFE) == text
