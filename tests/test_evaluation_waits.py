"""PPF604: which evaluations wait at each batch for nothing, and which need a value there."""

from __future__ import annotations

import pytest

from perflint.findings import Finding, ImpactLevel
from tests.support import check

LOOP = """\
import numpy as np
import paddle
import paddle.nn.functional as F


@paddle.no_grad()
def evaluate(model, loader, metric, args):
    model.eval()
    total, losses = 0.0, []
    for step, (x, y) in enumerate(loader):
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        {body}
    model.train()
    return total, losses, metric.accumulate()


def train(model, loader, dev_loader, optimizer, args):
    metric = paddle.metric.Accuracy()
    for epoch in range(args.epochs):
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            {each}
        {after}
"""


def _text(body: str, after: str = "evaluate(model, dev_loader, metric, args)", each: str = "pass") -> str:
    return LOOP.format(body=body.replace("\n", "\n        "), after=after, each=each)


def _found(body: str, **where: str) -> list[Finding]:
    return check(_text(body, **where), "PPF604")


def _rows(body: str) -> list[tuple[int, list[int]]]:
    """The row of each finding in the loop, and those of its other waits; the last related place is the call."""
    text = _text(body)
    return [
        (text[: found.start].count("\n") - 11, [each.line - 12 for each in found.related[:-1]])
        for found in check(text, "PPF604")
    ]


@pytest.mark.parametrize(
    "body",
    [
        "total += loss.item()",
        "losses.append(float(loss))",
        "losses.append(loss.numpy())",
        "value = float(loss) / np.log(2)\nlosses.append(value)",
        "total += loss.item()\nif step % 10 == 0:\n    print(loss.item())",  # it waits at every tenth batch then
        "metric.update(metric.compute(logits, y))",
    ],
)
def test_a_value_that_is_used_after_the_loop(body: str) -> None:
    assert [row for row, _ in _rows(body)] == [1]


def test_one_finding_has_all_waits_of_a_loop() -> None:
    body = "losses.append(loss.numpy())\nmetric.update(metric.compute(logits, y))\ntotal += loss.item()"
    assert _rows(body) == [(1, [2, 3])]


@pytest.mark.parametrize(
    "body",
    [
        "total += loss.item()\nprint(total)",
        "total += loss.item()\nprint(loss.item())",
        "losses.append(loss.item())\nif np.mean(losses) > 9:\n    raise ValueError",
        "total += loss.item()\nargs.file.write(str(logits.numpy()))",
        "total += loss.item()\nargs.scores.extend(logits.numpy())",  # as many as the data set has
        "total += loss.item()\nargs.metric.update(logits, y)",  # nobody knows what it reads
        "metric.update(metric.compute(logits, y))\nprint(metric.accumulate())",
        "total += loss.item()\nfor row in paddle.argmax(logits, axis=-1):\n    args.found.append(int(row))",
        "total += loss.item()\nx = paddle.to_tensor(args.more)",  # waits as well
        "total += step",
    ],
)
def test_a_value_that_each_batch_needs_or_that_is_no_wait(body: str) -> None:
    assert _rows(body) == []


def test_a_helper_that_reads() -> None:
    body = "total += loss.item()\nshow(logits)"
    shows = "\n\ndef show(logits):\n    print(logits.numpy())\n"
    assert check(_text(body) + shows, "PPF604") == []
    assert len(check(_text(body) + "\n\ndef show(logits):\n    return logits.shape\n", "PPF604")) == 1


def test_only_where_training_runs_it() -> None:
    body = "total += loss.item()"
    assert _found(body, after="pass") == []
    [found] = _found(body)
    assert found.related[-1].line == len(_text(body).splitlines())
    behind = _text(body, after="pass") + "    evaluate(model, dev_loader, metric, args)\n"
    assert check(behind, "PPF604") == []
    through = _text(body, after="run(model, dev_loader, metric, args)")
    run = "\n\ndef run(model, dev_loader, metric, args):\n    evaluate(model, dev_loader, metric, args)\n"
    assert len(check(through + run, "PPF604")) == 1


def test_the_impact_is_that_of_the_interval() -> None:
    def level(each: str) -> ImpactLevel | None:
        [found] = _found("total += loss.item()", after="pass", each=each)
        return found.impact.level if found.impact is not None else None

    run = "evaluate(model, dev_loader, metric, args)"
    assert level(f"if step % 100 == 0: {run}") is ImpactLevel.MEDIUM  # 100 ms / 100 steps are one per cent of a step
    assert level(f"if step % 200 == 0: {run}") is ImpactLevel.LOW


def test_the_loss_of_a_parameter_is_one_number_if_each_call_says_so() -> None:
    own = """\
        import paddle


        def evaluate(model, loader, criterion):
            model.eval()
            losses = []
            for x, y in loader:
                losses.append(criterion(model(x), y).numpy())
            return losses


        def train(model, loader, dev_loader, optimizer):
            criterion = paddle.nn.loss.CrossEntropyLoss({reduction})
            for epoch in range(9):
                for x, y in loader:
                    criterion(model(x), y).mean().backward()
                    optimizer.step()
                    optimizer.clear_grad()
                evaluate(model, dev_loader, criterion)
        """
    assert len(check(own.format(reduction=""), "PPF604")) == 1
    assert check(own.format(reduction="reduction='none'"), "PPF604") == []
