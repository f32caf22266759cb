"""PPF209 where a loop reads a whole tensor for a part of it, or an evaluation reads one item after the other."""

from __future__ import annotations

import pytest

from perflint.findings import Finding
from tests.support import check

EVALUATE = """\
import paddle
from texts import to_text


@paddle.no_grad()
def evaluate(model, loader, words):
    model.eval()
    found = []
    for x, y in loader:
        tokens = paddle.argmax(model(x), axis=-1)
        {body}
    return found
"""
TEXTS = """\
import paddle


def to_text(tokens, words, skipped=()):
    return [words[int(token)] for token in tokens if int(token) not in skipped]
"""


def _found(body: str) -> list[Finding]:
    return check({"train.py": EVALUATE.format(body=body), "texts.py": TEXTS}, "PPF209")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for i in range(len(y)): found.append(tokens.numpy()[i])", 1),
        ("for i in range(len(y)): found.append(tokens.tolist()[i] + tokens.numpy()[i, 0])", 1),
        ("found += [tokens.numpy()[i] for i in range(len(y))]", 1),
        ("for i in range(2): found.append(tokens.numpy()[i])", 0),  # two parts
        ("for i in range(len(y)): found.append(tokens.numpy()[0])", 0),  # the same part: a read like any other
        ("for i in range(len(y)): tokens = tokens + 1; found.append(tokens.numpy()[i])", 0),
        ("for i in range(len(y)): tokens.add_(y); found.append(tokens.numpy()[i])", 0),
        ("for i in range(len(y)): found.append(model.grad.numpy()[i])", 0),  # an attribute may change
        ("found.append(tokens.numpy()[len(found)])", 0),  # the loop computes the tensor
    ],
)
def test_a_whole_read_is_reported_where_the_loop_does_not_change_the_tensor(body: str, count: int) -> None:
    assert len(_found(body)) == count


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("for i in range(len(y)): found.append(tokens[i].item())", "`tokens`"),
        ("for i in range(len(y)): found.append(int(tokens[i]))", "`tokens`"),
        ("found += [int(token) for token in tokens]", "`tokens`"),
        ("found.append(to_text(tokens, words))", "`tokens`, at texts.py:5"),
        ("for row in tokens: found.append(to_text(row, words))", "`row`, at texts.py:5"),
        ("found.append(to_text(tokens.tolist(), words))", ""),
        ("found += [int(word) for word in words]", ""),  # nothing shows that it is a tensor
        ("found.append(int(tokens[0]))", ""),  # one item
    ],
)
def test_items_that_are_read_one_by_one(body: str, said: str) -> None:
    assert [said in finding.message for finding in _found(body)] == ([True] if said else [])


def test_items_outside_of_an_evaluation_are_not_reported() -> None:
    assert check(TEXTS + "\n\nprint(to_text(paddle.arange(9), 'abcdefghi'))\n", "PPF209") == []
