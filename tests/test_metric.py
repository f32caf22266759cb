"""PPF208: metrics that are brought up to date at each training step."""

from __future__ import annotations

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Level
from perflint.run import engine
from tests.support import check, expect_marked, fixed, in_step, sources

RULE = "PPF208"


def with_metric(made: str, body: str, imports: str = "") -> str:
    """A training function that makes a metric and uses it at the end of each step."""
    before, after = in_step(body).split("    for step, (x, y)")
    return f"{imports}\n{before}    metric = {made}\n    for step, (x, y){after}"


def found(files: dict[str, str] | str) -> list[Finding]:
    """All findings of the rule."""
    return engine.check(sources(files), Settings(join_lines=False, select=(RULE,), min_confidence=Confidence.LOW))


@pytest.mark.parametrize("metric", ["Accuracy()", "Precision()", "Recall()", "Auc(num_thresholds=200)"])
def test_metrics_of_paddle(metric: str) -> None:
    (finding,) = found(with_metric(f"paddle.metric.{metric}", "metric.update(x, y)\nacc = metric.accumulate()"))
    assert finding.confidence is Confidence.HIGH


@pytest.mark.parametrize(
    "body",
    [
        "correct = metric.compute(x, y)",
        "acc = metric.accumulate()",
        "if step % 10 == 0:\n    metric.update(x, y)",
        "if step % 10 == 0: metric.update(x, y)",
        "acc = paddle.metric.accuracy(x, y)",
        "metric.reset()",
    ],
)
def test_what_costs_little(body: str) -> None:
    assert not found(with_metric("paddle.metric.Accuracy()", body))


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("args.metric.update(args.metric.compute(x, y))", True),
        ("correct = args.metric.compute(x, y)\nargs.metric.update(correct)", True),
        ("args.metrics[0].update(preds=x.numpy(), labels=y.numpy())", True),
        ("args.auc.update(x, y)\nprint(args.auc.accumulate())", True),
        ("args.metric.update(x, y)", False),
        ("args.metrics.update({'loss': loss})", False),
        ("args.table.update(args.table.compute(x, y))", False),
        ("args.metric.update(3)\nargs.metric.accumulate()", False),
    ],
)
def test_a_metric_by_its_name_and_use(body: str, reported: bool) -> None:
    assert [finding.confidence for finding in found(in_step(body))] == [Confidence.MEDIUM] * reported


def test_a_metric_object_that_is_called() -> None:
    body = "args.evaluate(x, y)\nmetric = args.evaluate.get_metric()"
    (finding,) = found(in_step(body))
    assert finding.confidence is Confidence.MEDIUM
    assert not found(in_step("metric = args.evaluate.get_metric()"))
    assert not found(in_step("if step % 10 == 0:\n    args.evaluate(x, y)\n    metric = args.evaluate.get_metric()"))


def test_functions_of_another_library() -> None:
    body = "score = f1_score(y.numpy(), x.argmax(axis=1).numpy())"
    text = "from sklearn.metrics import f1_score\n" + in_step(body)
    expect_marked(text.replace(body, body + "  #: PPF208"), "PPF2")


def test_functions_of_texts_copy_nothing() -> None:
    body = "score = f1_score(args.labels, args.predictions)"
    assert not found("from seqeval.metrics import f1_score\n" + in_step(body))


def test_reads_inside_belong_to_the_update() -> None:
    body = "metric.update(x.numpy(), y.numpy())  #: PPF208"
    expect_marked(with_metric("paddle.metric.Precision()", body), "PPF2")


CLASS = """
import numpy as np
import paddle


class {name}({base}):
    def update(self, logits, label):
        self.right += np.sum(logits.numpy() == label.numpy()){mark}

    def accumulate(self):
        return self.right
"""
TRAINER = """
import paddle.nn.functional as F
from scores import Right


def train(model, loader, optimizer):
    right = Right()
    for x, y in loader:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        right.update(logits, y){mark}
"""


def test_a_metric_class_of_the_project_in_another_file() -> None:
    files = {
        "scores.py": CLASS.format(name="Right", base="paddle.metric.Metric", mark=""),
        "train.py": TRAINER.format(mark="  #: PPF208"),
    }
    expect_marked(files, "PPF2")


def test_another_class_is_read_where_it_reads() -> None:
    files = {
        "scores.py": CLASS.format(name="Right", base="object", mark="  #: PPF201 PPF201"),
        "train.py": TRAINER.format(mark="  #: PPF201"),
    }
    expect_marked(files, "PPF201", RULE)


def test_a_subclass_of_a_subclass() -> None:
    text = """
        import paddle
        import paddle.nn.functional as F


        class Base(paddle.metric.Accuracy):
            pass


        class Top(Base):
            pass


        class Trainer:
            def __init__(self):
                self.score = Top()

            def train(self, model, loader, optimizer):
                for x, y in loader:
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    self.score.update(x)  #: PPF208
        """
    expect_marked(text, RULE)


def test_evaluation_is_quiet() -> None:
    text = """
        import paddle


        def evaluate(model, loader):
            metric = paddle.metric.Accuracy()
            for x, y in loader:
                metric.update(metric.compute(model(x), y))
            return metric.accumulate()
        """
    assert not found(text)


def test_fix_samples_the_metric_and_says_so() -> None:
    text = with_metric("paddle.metric.Accuracy()", "metric.update(x)  # running")
    assert fixed(text, RULE, level=Level.SAFE) == text
    assert "        if step % 10 == 0:\n            metric.update(x)  # running\n" in fixed(
        text, RULE, level=Level.UNSAFE
    )
    (finding,) = check(text, RULE)
    assert finding.fix is not None
    assert "every 10th batch" in finding.fix.reason


@pytest.mark.parametrize(
    ("body", "is_offered"),
    [
        ("metric = paddle.metric.Auc()\nmetric.update(x, y)\nprint(metric.accumulate())", False),
        ("metric.reset()\nmetric.update(x, y)\nprint(metric.accumulate())", False),
        ("metric.update(x, y)\nif step % 100 == 0:\n    print(metric.accumulate())\n    metric.reset()", True),
    ],
)
def test_no_edit_where_each_step_has_a_metric_of_its_own(body: str, is_offered: bool) -> None:
    """A step without the update would show the value of an empty metric."""
    (finding,) = check(with_metric("paddle.metric.Auc()", body), RULE)
    assert finding.fix is not None
    assert bool(finding.fix.edits) is is_offered


@pytest.mark.parametrize("body", ["acc = metric.update(x)", "args.scores.append(metric.update(x))"])
def test_fix_of_a_result_that_is_used_is_only_told(body: str) -> None:
    (finding,) = check(with_metric("paddle.metric.Accuracy()", body), RULE)
    assert finding.fix is not None
    assert finding.fix.level is Level.DISPLAY
    assert not finding.fix.edits  # a guard around the whole statement would leave a name without a value
    assert "what uses the result must move too" in finding.fix.reason


@pytest.mark.parametrize(
    ("update", "codes"),
    [
        ("self.sum += float(F.cross_entropy(logits, label))", ["PPF201"]),
        ("self.sum += F.cross_entropy(logits, label).item()", ["PPF201"]),
        ("self.sum += np.sum(logits.argmax(-1) == label)", ["PPF208"]),
        ("self.sum += self.count(logits.numpy(), label.numpy())", ["PPF208"]),
        ("self.sum += self.count(logits, label)", ["PPF201", "PPF208"]),  # the read of the helper, and the update
    ],
)
def test_an_update_of_ones_own_has_to_work_on_the_host(update: str, codes: list[str]) -> None:
    """A metric that works on the device and reads a number of it is a host read like any other."""
    text = f"""
        import numpy as np
        import paddle
        import paddle.nn.functional as F


        class Mine(paddle.metric.Metric):
            def count(self, logits, label):
                return (logits.numpy() == label.numpy()).sum()

            def update(self, logits, label):
                {update}


        def train(model, loader, optimizer):
            metric = Mine()
            for x, y in loader:
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                metric.update(logits, y)
        """
    settings = Settings(join_lines=False, select=("PPF201", "PPF208"))
    assert sorted({item.code for item in engine.check(sources(text), settings)}) == codes


@pytest.mark.parametrize(("given", "rule"), [("loss.numpy()", "PPF208"), ("loss.numpy()[0]", "PPF208"), ("2.5", "")])
def test_metrics_of_fluid_take_numbers_only(given: str, rule: str) -> None:
    body = f"metric.update({given}, weight=4)" + (f"  #: {rule}" if rule else "")
    expect_marked(with_metric("fluid.metrics.Accuracy()", body, "import paddle.fluid as fluid"), "PPF2")


def test_metrics_of_fluid_with_what_a_program_gives_cost_nothing() -> None:
    body = "score, = exe.run(program, fetch_list=[loss])\nmetric.update(score, weight=4)"
    assert not found(with_metric("fluid.metrics.Accuracy()", body, "import paddle.fluid as fluid"))


FORWARD = """\
import paddle


class Net(paddle.nn.Layer):
    def __init__(self, task):
        super().__init__()
        self.task = task
        self.body = paddle.nn.Linear(4, 2)
        self.metric = paddle.metric.Accuracy()

    def forward(self, x, y=None):
        logits = self.body(x)
        {test}
            return logits, self.metric.update(self.metric.compute(logits, y))
        elif self.task == "pairs":
            seen = {{}}
            seen.update(logits=logits)
            return logits, self.metric.update(self.metric.compute(logits, y))
        return logits
"""


def test_a_metric_in_the_forward_pass() -> None:
    first, second = found(FORWARD.format(test='if self.task == "classes":'))
    assert first.fix is not None
    assert first.fix.level is Level.DISPLAY
    assert [one.impact.reason for one in (first, second) if one.impact] == [
        "a metric on the host in each forward pass"
    ] * 2


def test_a_metric_that_only_the_evaluation_asks_of_a_model() -> None:
    assert len(found(FORWARD.format(test="if not self.training:"))) == 1
