"""PPF210: host reads in the forward pass of a layer, told apart from sizes, decoding and what is read once."""

from __future__ import annotations

from textwrap import indent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel
from perflint.run import engine
from tests.support import sources

CODE = "PPF210"
SCRIPT = """\
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn


class {name}(nn.Layer):
    def __init__(self, head):
        super().__init__()
        self.head = nn.Linear(8, 8)
        self.grid = None

    def forward(self, x, lengths, flag=False):
        scores = F.softmax(self.head(x))
{body}

    def {helper}(self, scores):
        return scores.argmax(-1).numpy()
"""


def script(body: str, name: str = "Net", helper: str = "unused") -> str:
    return SCRIPT.format(name=name, helper=helper, body=indent(body, " " * 8))


def found(text: str, confidence: Confidence = Confidence.LOW, path: str = "net.py") -> list[Finding]:
    return engine.check(
        sources({path: text}),
        Settings(join_lines=False, select=(CODE,), min_confidence=confidence, min_impact=ImpactLevel.LOW),
    )


@pytest.mark.parametrize(
    "body",
    [
        "return scores.mean().item()",
        "return int(scores.sum())",
        "return bool(paddle.any(scores > 1))",
        "return np.array(scores)",
        "return scores.detach().cpu().numpy()",
        "for i in range(3):\n    self.seen = scores[0].tolist()\nreturn scores",
        "if self.training:\n    return float(scores.max())\nreturn scores",
    ],
)
def test_read_of_a_tensor_is_certain(body: str) -> None:
    [finding] = found(script(body))
    assert finding.confidence >= Confidence.MEDIUM
    assert "each call of Net.forward" in finding.message
    assert finding.fix is not None
    assert finding.fix.reason


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("return x[:, : lengths.max().item()]", Confidence.MEDIUM),
        ("return lengths.tolist()", Confidence.MEDIUM),
        ("return x[:, : int(lengths)]", Confidence.LOW),  # perhaps a plain number
        ("return self.thing.item()", Confidence.LOW),
    ],
)
def test_read_of_a_parameter_is_less_so(body: str, confidence: Confidence) -> None:
    [finding] = found(script(body))
    assert finding.confidence is confidence


@pytest.mark.parametrize(
    "body",
    [
        "return x.reshape([int(x.shape[0] / 2), -1])",
        "return int(paddle.shape(x)[1])",
        "batch, width = paddle.shape(x)\nreturn scores[: int(batch) - 1]",
        "for size in paddle.shape(x):\n    self.sizes.append(size.item())\nreturn scores",
        "return float(scores.numel())",
        "return scores.ndim, int(len(x)), float(self.head.weight.shape[0])",
        "if not self.training:\n    return scores.numpy()\nreturn scores",
        "if self.training:\n    return scores\nreturn scores.numpy()",
        "if self.is_export:\n    return scores.numpy()\nreturn scores",
        "if self.grid is None:\n    self.grid = scores.sum().item()\nreturn scores",
        "if not hasattr(self, 'size'):\n    self.size = int(scores.sum())\nreturn scores",
        "if flag and self.debug:\n    print(scores.numpy())\nreturn scores",
        "sizes = [4, 8]\nreturn scores[: int(max(sizes))]",
        "return np.sqrt(x.shape[1]), int(np.prod(x.shape[1:]))",
    ],
)
def test_what_waits_for_nothing_is_quiet(body: str) -> None:
    assert found(script(body)) == []


@pytest.mark.parametrize("name", ["ViterbiDecoder", "BeamSearch", "GPTForGeneration", "MeanMetric", "MinMaxObserver"])
def test_layers_that_no_step_runs_are_quiet(name: str) -> None:
    assert found(script("return scores.numpy()", name)) == []
    assert len(found(script("return scores.numpy()", "MetricHead"))) == 1


@pytest.mark.parametrize(
    ("helper", "count"),
    [("assign", 1), ("_cost", 1), ("decode", 0), ("post_process", 0), ("predict", 0), ("generate", 0)],
)
def test_helper_of_a_forward_pass(helper: str, count: int) -> None:
    assert len(found(script(f"return self.{helper}(scores)", helper=helper))) == count


def test_other_places_are_quiet() -> None:
    text = script("return scores.numpy()")
    assert len(found(text)) == 1
    assert found(text, path="tests/test_net.py") == []
    assert found(text, path="deploy/infer.py") == []
    assert found(text, path="ppcls/metric/metrics.py") == []
    assert found(text.replace("    def forward", "    @paddle.no_grad()\n    def forward")) == []
    assert found(text.replace("(nn.Layer)", "")) == []
    assert found(text + "\n\npaddle.set_device('cpu')\n") == []


def test_rule_is_on_where_the_step_gains_something() -> None:
    text = script("return scores.numpy()")
    (found,) = engine.check(sources({"net.py": text}), Settings(join_lines=False))
    assert found.code == "PPF210"


def test_slice_in_a_loop_has_one_finding() -> None:
    text = script("return [scores[i].numpy() for i in range(8)]")
    codes = [
        item.code
        for item in engine.check(sources({"net.py": text}), Settings(join_lines=False, select=("PPF209", CODE)))
    ]
    assert codes == ["PPF209"]


def needed(body: str) -> list[bool]:
    """Of each finding in a forward pass, whether the host needs the value to go on."""
    return [each.impact is not None and each.impact.reason.endswith("to go on") for each in found(script(body))]


def test_an_array_that_was_just_read_needs_no_index_on_the_host() -> None:
    assert not any(needed("return F.one_hot(paddle.to_tensor(scores.numpy()[lengths.numpy()]), 4)"))
    assert needed("return scores * [1, 2, 3][lengths.sum().item()]") == [True]


PASSES = "for _ in range(9):\n    scores = scores / 2\n    if scores.max().item() < 1:\n        {}\nreturn scores"


def test_a_loop_may_end_some_passes_late() -> None:
    (read,) = found(script(PASSES.format("break")))
    assert read.impact is not None
    assert read.impact.level > ImpactLevel.LOW
    assert "after every few passes" in read.message
    assert needed(PASSES.format("scores = scores + 1\n        break")) == [True]
    assert needed(PASSES.format("raise ValueError(lengths)")) == [True]
    assert needed(PASSES.format("scores = scores + 1")) == [False]


def test_a_branch_that_returns_without_gradients_trains_nothing() -> None:
    body = "if not self.trainable:\n    with paddle.no_grad():\n        return scores.numpy()\nreturn scores"
    assert found(script(body)) == []
    assert len(found(script(body.replace("with paddle.no_grad():", "if flag:")))) == 1


MATCHER = """

class Matcher(nn.Layer):
    @paddle.no_grad()
    def forward(self, scores):
        return scores.numpy()


def train(loader, optimizer):
    net, matcher = Net(8), Matcher()
    for x, lengths in loader:
        loss = net(x, lengths).mean() + matcher(x).mean()
        loss.backward()
        optimizer.step()
"""


def test_a_name_of_what_predicts_does_not_count_where_a_step_leads() -> None:
    text = script("return scores") + MATCHER.replace("Matcher", "CaptionDecoder")
    assert len(found(text, Confidence.MEDIUM)) == 1
    alone = text.replace(" + matcher(x).mean()", "").replace("optimizer.step()", "pass")
    assert found(alone, Confidence.MEDIUM) == []


def test_what_a_step_runs_without_gradients_is_part_of_it() -> None:
    text = script("return scores") + MATCHER
    (read,) = found(text, Confidence.MEDIUM)
    assert text[read.start : read.end] == "scores.numpy()"
    assert found(text.replace(" + matcher(x).mean()", ""), Confidence.MEDIUM) == []


@pytest.mark.parametrize(
    ("body", "is_made_of_host_values"),
    [
        ("rows = np.arange(4)\nself.seen = paddle.to_tensor(rows).astype('int32').numpy()\nreturn scores", True),
        (
            "n = len(scores)\nrows = paddle.arange(0, 8)\nrows = paddle.reshape(rows, [-1])\nself.seen = rows.numpy()",
            True,
        ),
        ("rows = paddle.arange(0, 8) * x\nself.seen = rows.numpy()", False),
        ("rows = paddle.nonzero(x)\nself.seen = rows.numpy()", False),
    ],
)
def test_values_of_the_host_need_no_tensor(body: str, is_made_of_host_values: bool) -> None:
    [read] = found(script(body))
    assert ("make it with NumPy, since line" in read.message) is is_made_of_host_values


@pytest.mark.parametrize(("item", "is_each"), [("counts[i, j]", True), ("counts[i, 0]", False), ("counts[i]", False)])
def test_loops_that_take_each_item_need_one_computation_for_all(item: str, is_each: bool) -> None:
    body = f"""\
counts = lengths.numpy()
where = np.zeros([4, 9, 4])
for i in range(4):
    at = 0
    for j in range(4):
        where[i, at : at + {item}, j] = 1
        at += 1
return paddle.matmul(paddle.to_tensor(where), scores)
"""
    text = script(body)
    row = next(number for number, line in enumerate(text.splitlines(), 1) if "for j" in line)
    [read] = found(text)
    assert ("compute for all items at once" in read.message) is is_each
    assert (f"what the loop at line {row} computes" in read.message) is is_each
