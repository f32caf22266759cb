"""PPF207: operations whose result has a size that the values decide."""

from __future__ import annotations

from textwrap import indent

import paddle
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel, Level
from perflint.fix.fixer import spliced
from perflint.run import engine
from tests.support import in_step, sources

CODE = "PPF207"
SCRIPT = """\
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nonzero


class {name}(paddle.nn.Layer):
    def forward(self, x, y):
        loss = F.cross_entropy(x, y, reduction="none").reshape([-1])
        mask = y > 0
{body}

    def picked(self, values, keep=None):
        return values if keep is None else values[keep].reshape([-1])
"""


def script(body: str, name: str = "Loss") -> str:
    return SCRIPT.format(name=name, body=indent(body, " " * 8))


def found(text: str, path: str = "loss.py") -> list[Finding]:
    return engine.check(
        sources({path: text}),
        Settings(join_lines=False, select=(CODE,), min_confidence=Confidence.LOW, min_impact=ImpactLevel.LOW),
    )


@pytest.mark.parametrize(
    "body",
    [
        "return paddle.nonzero(mask)",
        "return nonzero(mask)",
        "return loss.nonzero(as_tuple=False)",
        "return paddle.masked_select(loss, mask).sum()",
        "return loss.masked_select(mask)",
        "return paddle.unique(loss)",
        "return paddle.where(mask)",
        "return paddle.where(condition=mask)",
        "return loss[mask].sum()",
        "return loss[loss > 0.5]",
        "return loss[mask & (loss > 0.5)]",
        "return loss[mask * (loss > 0.5)]",
        "return loss[~mask]",
        "keep = paddle.logical_and(mask, loss > 1)\nreturn loss[keep]",
        "loss[mask] += 1\nreturn loss.sum()",
        "return paddle.repeat_interleave(loss, mask.astype('int64'))",
        "return paddle.bincount(loss.astype('int64'))",
        "y = y.flatten(1).astype(paddle.bool)\nreturn loss[y]",
        "y = paddle.cast(y, 'bool')\ny = paddle.reshape(y, [-1])\nreturn loss[y]",
        "keep = paddle.ones_like(y, dtype='bool')\nkeep &= y > 1\nreturn loss[keep]",
        "keeps = []\nkeeps.append(mask)\nfor keep in keeps:\n    loss = loss[keep]\nreturn loss",
        "self.keep = mask\nreturn loss[self.keep]",
        "return loss[:, mask]",
        "return x[~y]",
        "rest = ~y\nreturn x[y], rest",
        "return self.picked(x, y > 0)",
    ],
)
def test_size_that_the_values_decide(body: str) -> None:
    [finding] = found(script(body))
    assert finding.confidence >= Confidence.MEDIUM
    assert finding.fix is not None
    assert finding.fix.level is Level.DISPLAY
    assert finding.fix.message in finding.message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("n = mask.astype('int64').sum()\nreturn loss[:n]", "a bound of the slice"),
        ("return x[:, y.max() :]", "a bound of the slice"),
        ("first = paddle.argmax(loss)\nreturn loss[first : first + 4]", "a bound of the slice"),
        ("n = paddle.randint(1, 9, [1])\nx[:, :n] = 0\nreturn x", "a bound of the slice"),
        ("return paddle.arange(y.max() + 1)", "a size"),
        ("return x.reshape([mask.astype('int64').sum(), -1])", "a size"),
        ("return paddle.zeros(shape=[y.max(), 4])", "a size"),
        ("return self.cut(loss, y.max())", "a bound of the slice"),
        (
            "ends = paddle.cumsum(mask.sum(axis=1))\nfor end in ends:\n    x[:, :end].sum()\nreturn x",
            "a bound of the slice",
        ),
        (
            "for at, end in enumerate(paddle.argmax(x, axis=1)):\n    loss[at, :end] = 0\nreturn loss",
            "a bound of the slice",
        ),
        ("for part, end in zip(x, y.max(axis=1)):\n    loss += part[:end].sum()\nreturn loss", "a bound of the slice"),
        (
            "for span in paddle.to_tensor(self.spans):\n    a, b = span\n    x[:, a:b] = 0\nreturn x",
            "a bound of the slice",
        ),
    ],
)
def test_a_size_that_is_a_tensor(body: str, said: str) -> None:
    [finding] = found(script(body) + "\n    def cut(self, values, n):\n        return values[:n].mean()\n")
    assert f"{said} is a tensor" in finding.message
    assert finding.confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    "body",
    [
        "return loss[: y.shape[0]]",
        "n, c = paddle.shape(x)\nreturn x.reshape([n, c])",
        "n = paddle.numel(y)\nreturn loss[:n]",
        "return x[:, : int(self.size)]",
        "n = y.max() if y.ndim > 2 else y.shape[0]\nreturn loss[:n]",
        "n = self.count(y)\nreturn loss[:n]",
        "n = paddle.ceil(paddle.shape(x)[2:3] / 4).astype('int32')\nreturn x.reshape([n, -1])",
        "return one_hot(y.max(), 3)",
        "return paddle.full([2], fill_value=y.max())",
        "return paddle.topk(x, k=self.size, axis=1)",
        "return self.masked(x, y, 9)",
        "for n in self.sizes:\n    x = x[:, :n]\nreturn x",
        "for n in [x.shape[0], 4]:\n    x = x[:, :n]\nreturn x",
        "ns = [4, int(y.max())]\nfor n in ns:\n    x = x[:, :n]\nreturn x",
        "for at, part in enumerate(y.argsort()):\n    x = x[:, :at]\nreturn x",
        "return self.cut(loss, y.max()) + self.cut(loss, y.shape[0])",
    ],
)
def test_a_size_that_may_be_a_number(body: str) -> None:
    cut = "    def cut(self, values, n):\n        return values[:n].mean()\n"
    count = "    def count(self, y):\n        return y.shape[0]\n"
    masked = (
        "    def masked(self, x, y, n=None):\n        n = y.max() if n is None else n\n        return x[:, :n].sum()\n"
    )
    assert found("\n".join([script(body), cut, count, masked])) == []


@pytest.mark.parametrize(
    "body",
    [
        "loss[mask] = 0.0\nreturn loss.sum()",
        "return paddle.where(mask, loss, paddle.zeros_like(loss)).sum()",
        "return (loss * mask).sum() / mask.sum().clip(min=1)",
        "return paddle.repeat_interleave(loss, 4).sum()",
        "return loss.repeat_interleave(repeats=4).sum()",
        "return loss[paddle.argmax(loss)].sum()",
        "return loss[y[0]].sum()",
        "return loss[:4].sum() + loss[..., 0] + loss[[0, 1]].mean()",
        "rows = np.nonzero(np.ones(3))[0]\nreturn loss.sum(), np.where(rows > 1), rows[rows > 1]",
        "if not self.training:\n    return loss[mask].mean()\nreturn loss.mean()",
        "if self.exporting:\n    return paddle.nonzero(mask)\nreturn loss.mean()",
    ],
)
def test_size_that_is_known(body: str) -> None:
    assert found(script(body)) == []


def test_mask_of_a_container_is_none() -> None:
    assert found(script("names = {True: 1}\nreturn names[len(x) > 1], loss.sum()")) == []


@pytest.mark.parametrize("name", ["MaxIoUAssigner", "RPNHead", "SwitchGate", "HungarianMatcher", "OhemLoss"])
def test_code_that_is_there_to_pick_is_for_those_who_ask(name: str) -> None:
    [finding] = found(script("return paddle.nonzero(mask)", name))
    assert finding.confidence is Confidence.LOW


@pytest.mark.parametrize("name", ["TopkAcc", "PostProcess", "ViterbiDecoder"])
def test_what_no_step_runs_is_quiet(name: str) -> None:
    assert found(script("return paddle.nonzero(mask)", name)) == []


def test_step_code() -> None:
    text = in_step("rows = paddle.nonzero(y)\nshow(loss[loss > 1])")
    assert [item.confidence for item in found(text)] == [Confidence.HIGH] * 2
    guarded = in_step("if step % 100 == 0:\n    rows = paddle.nonzero(y)")
    assert found(guarded) == []


def test_other_places_are_quiet() -> None:
    text = script("return paddle.nonzero(mask)")
    assert found(text, "tests/test_loss.py") == []
    assert found("import paddle\n\n\ndef f(x):\n    return paddle.nonzero(x)\n") == []
    assert found(text.replace("paddle", "torch").replace("Layer", "Module")) == []


@pytest.mark.parametrize("mask", [[True, False, True, True], [False] * 4])
def test_shown_mean_is_the_mean(mask: list[bool]) -> None:
    text = script("return paddle.masked_select(loss, mask).mean()")
    [finding] = found(text)
    assert finding.fix is not None
    rows = spliced(text, 0, len(text), finding.fix.edits).splitlines()
    [shown] = [row.partition("return ")[2] for row in rows if ".where(" in row]
    names = {"paddle": paddle, "loss": paddle.to_tensor([1.0, 2.0, 3.0, 5.0]), "mask": paddle.to_tensor(mask)}
    assert float(eval(shown, names)) == (3.0 if any(mask) else 0.0)
    assert "empty mask" in finding.fix.reason


@pytest.mark.parametrize(
    ("body", "advised"),
    [
        ("return loss[mask].sum()", "zeros for those that the mask excludes"),
        ("picked = loss[mask].abs()\nreturn paddle.mean(picked)", "zeros for those that the mask excludes"),
        ("return paddle.masked_select(loss, mask).max()", "by a limit"),
        (
            "rows = paddle.nonzero(mask).flatten()\nreturn F.cross_entropy(paddle.gather(x, rows), y)",
            "ignore_index=255",
        ),
        ("keep = y != 255\nreturn F.cross_entropy(x[keep], y)", "ignore_index=255"),
        ("return F.cross_entropy(x[mask], y, ignore_index=255)", "labels of 255 where the mask is false"),
        ("return F.cross_entropy(x[mask], y, soft_label=True)", "reduction="),
        ("return F.mse_loss(x[mask], y)", "reduction="),
        ("a = self.head(x, mask)\nreturn F.cross_entropy(a, y[mask])", "in the data pipeline"),
        ("keep = y.to('bool')\nreturn loss[keep].sum()", "zeros for those that the mask excludes"),
        ("kept = loss[mask]\nkept = kept * 2\nreturn kept.sum()", "zeros for those that the mask excludes"),
        ("if mask.any():\n    loss = loss[mask].sum()\nreturn loss", "remove the test at line 11"),
        ("return loss[mask].sum() if mask.any() else loss.sum()", "remove the test at line 11"),
        ("count = max(loss.nonzero().shape[0], 1)\nreturn loss.sum() / count", "count with a sum"),
        ("keep = paddle.zeros_like(y)\nkeep[paddle.where(mask)] = 1\nreturn keep", "fill with the mask"),
        ("loss[mask] = x[mask]\nreturn loss", "y = paddle.where(mask, x, y)"),
        ("kept = x[mask] * 2\nloss[mask] = kept.sqrt()\nreturn loss", "y = paddle.where(mask, x, y)"),
        ('loss[mask] = F.mse_loss(x[mask], y, reduction="none")\nreturn loss', "y = paddle.where(mask, x, y)"),
        ("loss[mask] = F.mse_loss(x[mask], y)\nreturn loss", 'with `reduction="none"`'),
        ("n = x.shape[0]\nreturn x[mask].reshape([n, -1, 4])", "the same number"),
        ("n = x.shape[0]\nreturn paddle.max(x[mask].reshape([n, -1]), axis=1)", "reduce each row"),
        ("n = x.shape[0]\nreturn paddle.masked_select(x, mask).reshape([n, -1]).min(axis=1)", "reduce each row"),
    ],
)
def test_advice_follows_from_the_use(body: str, advised: str) -> None:
    [finding] = found(script(body))
    assert advised in finding.message
    assert finding.impact is not None
    assert finding.impact.level is ImpactLevel.MEDIUM


@pytest.mark.parametrize(
    "body",
    [
        "return loss[mask]",
        "picked = loss[mask]\nreturn picked.sum(), picked",
        "loss[y < 0] = x[mask]\nreturn loss",
        "kept = x[mask]\nloss[mask] = kept\nreturn loss, kept",
        "picked = loss[mask]\nif picked.shape[0] == 0:\n    return loss\nreturn loss * 2",
        "return x[mask].reshape([-1, 4])",
        "return x[mask].view([2, -1])",
        "count = loss.nonzero().shape[0]\nreturn paddle.zeros([count])",
    ],
)
def test_size_that_the_code_goes_on_with_has_a_low_impact(body: str) -> None:
    [finding] = found(script(body))
    assert finding.impact is not None
    assert finding.impact.level is ImpactLevel.LOW


def levels(body: str) -> list[ImpactLevel | None]:
    return [item.impact.level if item.impact is not None else None for item in found(script(body))]


@pytest.mark.parametrize(
    "body",
    [
        "a = x[mask].view(-1)\nb = y[mask].view(-1)\nreturn F.l1_loss(a, b), (a == b).sum()",
        "a = x[mask]\nkeep = a > 0\nkeep &= a < 9\nreturn F.l1_loss(a[keep], loss[keep])",
        "a = x[mask]\nb = F.one_hot(y[mask], 4)[:, :-1]\nb.stop_gradient = True\nreturn F.mse_loss(a, b)",
        "a = x[mask]\na *= loss[mask]\nreturn a.sum()",
    ],
)
def test_both_sides_of_a_loss_are_picked(body: str) -> None:
    assert set(levels(body)) == {ImpactLevel.MEDIUM}


@pytest.mark.parametrize(
    "body",
    [
        # Each row that was picked has a value of its own here, so no weight but one of picked rows fits.
        "rows = x[mask]\nweight = loss[mask]\nreturn (self.head(rows) * weight).sum()",
        "rows = x[mask]\nmade = self.head(rows)\nreturn F.mse_loss(made, loss[mask])",
        "rows = x[mask]\nmade = self.head(rows)\nmade = paddle.diag(made)\nreturn (loss[mask] * made).sum()",
        "rows = x[mask]\nmade = self.head(rows)\nlabel = y * 1\nlabel *= made\nreturn F.mse_loss(loss[mask], label)",
    ],
)
def test_values_that_are_combined_with_rows_the_code_goes_on_with(body: str) -> None:
    assert levels(body) == [ImpactLevel.LOW] * 2


def test_how_many_of_each_row_are_the_largest() -> None:
    body = "ks = x.sum(1).astype('int64')\nfor at in range(x.shape[0]):\n    x.topk(4)\n    {}\nreturn x"
    for call in ("paddle.topk(x[at], k=ks[at], largest=False)", "x[at].topk(ks[at])"):
        [finding] = found(script(body.format(call), "Matcher"))  # a name of what picks: but ranks need no sizes
        assert "rank the values of all rows instead" in finding.message
        assert finding.confidence is Confidence.MEDIUM


def test_ranks_mark_what_topk_picks() -> None:
    x, ks = paddle.to_tensor([[3.0, 1.0, 2.0, 5.0], [0.0, 9.0, 4.0, 7.0]]), paddle.to_tensor([1, 3])
    least = x.argsort(axis=1).argsort(axis=1) < ks.unsqueeze(1)
    for row, k in enumerate(ks.tolist()):
        picked = paddle.topk(x[row], k=ks[row], largest=False)[1]
        assert picked.shape == [k]
        assert sorted(picked.tolist()) == least[row].nonzero().flatten().tolist()
