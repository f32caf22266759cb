"""Rows that an edit makes too long are broken, and no others."""

from __future__ import annotations

import ast
import random

import pytest

from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.fix.trial import composed, fitted

LONG = 'loss.detach().astype("float64")'


def changed(text: str, old: str, new: str, limit: int = 60, newline: str = "\n") -> str:
    start = text.index(old)
    edits = fitted(text, [Edit(start, start + len(old), new)], limit, newline)
    return spliced(text, 0, len(text), edits)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        (
            "    total += loss.item() * images.shape[0]\n",
            "loss.item()",
            LONG,
            f"    total += (\n        {LONG} * images.shape[0]\n    )\n",
        ),
        (
            "    loader = paddle.io.DataLoader(train_set, batch_size=64)\n",
            "batch_size=64",
            "batch_size=64, num_workers=4",
            "    loader = paddle.io.DataLoader(\n        train_set, batch_size=64, num_workers=4\n    )\n",
        ),
        (
            "    for image, label in build_the_training_loader(options):\n        pass\n",
            "build_the_training_loader(options)",
            "enumerate(build_the_training_loader(options))",
            "    for image, label in enumerate(\n        build_the_training_loader(options)\n    ):\n        pass\n",
        ),
        (
            "    all_the_losses_of_this_epoch.append(loss.item())\n",
            "loss.item()",
            "loss.detach().clone()",
            "    all_the_losses_of_this_epoch.append(\n        loss.detach().clone()\n    )\n",
        ),
    ],
    ids=["sum", "argument", "loop", "append"],
)
def test_a_row_that_becomes_too_long_is_broken(text: str, old: str, new: str, expected: str) -> None:
    whole = f"def f():\n{text}"
    assert changed(whole, old, new) == f"def f():\n{expected}"
    ast.parse(changed(whole, old, new))


def test_a_guard_that_pushes_a_row_over_the_limit_breaks_it() -> None:
    text = 'for step, x in enumerate(y):\n    print("step", step, "the loss of this step", x)\n'
    at = text.index("    print")
    result = changed(text, text[at:], f"    if step % 10 == 0:\n    {text[at:]}", limit=52)
    assert result == (
        "for step, x in enumerate(y):\n    if step % 10 == 0:\n        print(\n"
        '            "step", step, "the loss of this step", x\n        )\n'
    )


def test_tabs_line_ends_and_comments_stay() -> None:
    text = "def f():\r\n\ttotal += loss.item() * images.shape[0]  # the sum\r\n"
    result = changed(text, "loss.item()", LONG, newline="\r\n")
    assert result == (f"def f():\r\n\ttotal += (\r\n\t\t{LONG} * images.shape[0]\r\n\t)  # the sum\r\n")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("x = 1\n", "1", "2"),
        (f"a_long_name = {'b' * 60} + 1\n", "1", "2"),
        ("total = a.item()\n", "a.item()", "a" * 80),
        ("import one, two\n", "two", "t" * 60),
        ('x = f(1, """\n""", 2)\n', "1", "a" * 70),
    ],
    ids=["short", "long before", "no break helps", "import", "several rows"],
)
def test_what_is_short_or_cannot_be_broken_stays_as_the_edit_makes_it(text: str, old: str, new: str) -> None:
    assert changed(text, old, new) == text.replace(old, new, 1)


def test_a_long_row_with_what_python_does_not_take_for_a_line_end_stays_as_it_is() -> None:
    long = 'said = describe("the loss\u2028of this step", loss, step, epoch, accuracy)\n'
    text = f"{long}total += loss.item()\n"
    assert changed(text, "loss.item()", LONG) == text.replace("loss.item()", LONG)


@pytest.mark.parametrize("seed", range(40))
def test_edits_of_edits_are_edits(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice("abc\n ") for _ in range(60))
    places = sorted(chance.sample(range(61), 6))
    edits = [
        Edit(low, high, "".join(chance.choice("XYZ ") for _ in range(chance.randrange(6))))
        for low, high in zip(places[::2], places[1::2], strict=True)
    ]
    result = spliced(text, 0, len(text), edits)
    # Only places that the first edits have left alone, or insertions, as breaks of rows are.
    later = [Edit(at, at, "|") for at in sorted(chance.sample(range(len(result) + 1), 4))]
    assert spliced(text, 0, len(text), composed(edits, later)) == spliced(result, 0, len(result), later)
