"""What stays the same at each step although it comes through a parameter: PPF205 in what a forward pass calls."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.findings import Finding
from tests.support import check

LAYER = """\
import paddle
from paddle import nn


def drop_path(x, drop_prob=0.0, training=False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = paddle.to_tensor(1 - drop_prob)
    random_tensor = paddle.floor(keep_prob + paddle.rand([x.shape[0], 1, 1], dtype=x.dtype))
    return x.divide(keep_prob) * random_tensor


class DropPath(nn.Layer):
    def __init__(self, drop_prob=None):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, {handed}, self.training)


class Block(nn.Layer):
    def __init__(self, dim, drop_path=0.0):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()

    def forward(self, x):
        return x + self.drop_path(self.fc(x))
"""


def found(text: str) -> list[Finding]:
    return check(dedent(text), "PPF205")


@pytest.mark.parametrize("handed", ["self.drop_prob", "0.5", "drop_prob=self.drop_prob"])
def test_a_number_that_a_layer_keeps_is_the_same_in_the_function_it_is_handed_to(handed: str) -> None:
    text = LAYER.replace("{handed}, self.training", f"{handed}, training=self.training")
    (finding,) = found(text)
    assert text[finding.start :].startswith("paddle.to_tensor(1 - drop_prob)")
    assert "copies the same number" in finding.message
    assert "paddle.full" in finding.message


def test_a_parameter_that_is_called_like_the_function_is_handed_on_as_it_is() -> None:
    text = LAYER.replace("{handed}", "self.drop_prob")
    picked = "drop_path[0] if isinstance(drop_path, list) else drop_path"
    assert found(text.replace("DropPath(drop_path)", f"DropPath({picked})"))


@pytest.mark.parametrize("handed", ["self.drop_prob * float(paddle.rand([]))", "self.rates[self.calls]", "x.shape[1]"])
def test_what_differs_from_call_to_call_is_left_alone(handed: str) -> None:
    assert not found(LAYER.format(handed=handed))


def test_one_call_that_hands_over_something_else_is_enough() -> None:
    other = """

        class Scheduled(nn.Layer):
            def forward(self, x, rate):
                return drop_path(x, rate, self.training)
    """
    assert not found(LAYER.format(handed="self.drop_prob") + dedent(other))


def test_a_function_that_hands_its_own_parameter_to_itself_ends() -> None:
    again = "    if drop_prob > 1:\n        return drop_path(x, drop_prob, training)\n    keep_prob ="
    assert not found(LAYER.replace("    keep_prob =", again).format(handed="self.drop_prob"))


def test_values_that_are_no_number_are_kept_by_the_layer_that_calls() -> None:
    text = """
        import paddle
        from paddle import nn


        def normalize(x, mean):
            return x - paddle.to_tensor(mean)


        class Net(nn.Layer):
            def __init__(self, mean):
                super().__init__()
                self.mean = list(mean)

            def forward(self, x):
                return normalize(x, self.mean)
    """
    (finding,) = found(text)
    assert "create the tensor once, in the `__init__` of the layer that calls" in finding.message


@pytest.mark.parametrize("written", ["keep_prob", "[keep_prob]"])
def test_a_name_that_is_bound_to_the_number_stands_for_it(written: str) -> None:
    text = LAYER.format(handed="self.drop_prob")
    text = text.replace("paddle.to_tensor(1 - drop_prob)", "1 - drop_prob")
    (finding,) = found(text.replace("x.divide(keep_prob)", f"x.divide(paddle.to_tensor({written}))"))
    assert "copies the same number" in finding.message


def test_an_annotation_says_that_a_parameter_is_a_number() -> None:
    text = LAYER.format(handed="self.drop_prob").replace("drop_prob=0.0,", "drop_prob: float,")
    (finding,) = found(text.replace("drop_prob == 0.0 or ", ""))
    assert "copies the same number" in finding.message


def test_a_parameter_hides_the_function_of_its_name() -> None:
    """``DropPath(drop_path)`` hands over a number, and not the function ``drop_path`` of the file."""
    assert found(LAYER.format(handed="self.drop_prob"))
