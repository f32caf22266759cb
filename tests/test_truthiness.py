"""PPF203: decisions of Python on device tensors, and what only looks like one."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel, Level
from perflint.fix.fixer import apply
from perflint.run import engine
from tests.support import check, expect_marked, expect_marked_in_step, in_step, sources

RULE = "PPF203"


def found(files: dict[str, str] | str, confidence: Confidence = Confidence.LOW) -> list[Finding]:
    """The findings of the rule down to a confidence."""
    settings = Settings(join_lines=False, select=(RULE,), min_confidence=confidence, min_impact=ImpactLevel.LOW)
    return engine.check(sources(files), settings)


def only(body: str) -> Finding:
    """The one finding in the end of a training step."""
    (finding,) = found(in_step(body))
    return finding


@pytest.mark.parametrize(
    "statement",
    [
        "if loss > 10: pass",
        "if 0 < loss: pass",
        "if loss: pass",
        "if not loss: pass",
        "if paddle.isnan(loss): pass",
        "if not paddle.isfinite(loss).all(): pass",
        "if (x != 0).any(): pass",
        "if ~(x > 0).all(): pass",
        "if paddle.any(x > 3): pass",
        "if x.sum() > 0: pass",
        "if y[0] == 3: pass",
        "if args.debug is None and loss > 3: pass",
        "if loss < 0.5 or args.force: pass",
        "if (bad := paddle.isnan(loss)): pass",
        "if args.flag: pass\nelif loss > 3: pass",
        "while x.max() > 3: x = x / 2",
        "assert loss < 100",
        "assert paddle.isfinite(loss), 'diverged'",
        "weight = 1.0 if loss > 3 else 0.5",
        "weight = loss > 3 and args.weight",
        "flag = not paddle.isnan(loss)",
        "kept = [part for part in (x, y) if part.sum() > 0]",
        "ok = all(paddle.isfinite(part).all() for part in (x, y))",
        "largest = max(loss, args.floor)",
        "z = x.mean() if x.sum() > 0 else paddle.zeros(shape=[1])",
        "if x.sum() > 0:\n    z = paddle.zeros([1])\nelse:\n    z = x.mean()",
        "z = x[x > 0].mean() if x.sum() > 0 else x.mean()",
        "if x.sum() > 0:\n    x = x[x > 0]",
        "if not x.any(): x = None",
        "largest = max([loss, 2 * loss])",
        "ordered = sorted([loss, loss * 2])",
        "import math; ok = math.isfinite(loss)",
        "seen = loss in [x, y]",
        "if loss < args.best: args.best = 3",
    ],
)
def test_decisions_on_a_tensor(statement: str) -> None:
    assert len(found(in_step(statement))) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "if x is None or y is not None: pass",
        "if x.shape[0] > 3 or x.ndim == 2 or len(x) > 3: pass",
        "if x.dtype == paddle.float32 or x.stop_gradient: pass",
        "if x.numel() > 3 or paddle.numel(x) > 3 or paddle.shape(x)[0] > 2: pass",
        "if sum(paddle.shape(x)) > 0 or paddle.max(paddle.shape(x)) > 9: pass",
        "if isinstance(x, paddle.Tensor) or paddle.is_complex(x) or paddle.is_tensor(x): pass",
        "if hasattr(x, 'grad') or callable(x): pass",
        "if 'mask' in x or step in (1, 2): pass",
        "batch = (x, y)\nif batch: pass",
        "losses = [loss]\nif losses: pass",
        "losses = {'a': loss}\nif losses or not losses: pass",
        "losses = {}\nlosses['a'] = loss\nif losses: pass",
        "if x == 'image' or x != None or x == []: pass",
        "value = loss.item()\nif value > 3 and not np.isnan(value): pass",
        "if np.isfinite(args.scale) or args.scale > 3: pass",
        "mask = loss > 3",
        "loss = paddle.where(loss > 3, loss, 2 * loss)",
        "largest = paddle.maximum(loss, x)",
        "largest = max(args.a, args.b)",
        "longest = max([x, y], key=len)",
        "seen = loss in {x: 1}",
        "if optimizer.get_lr() > 0.1: pass",
        "if step % 10 == 0 and loss > 3: pass",
        "if step % 10 == 0:\n    if paddle.isnan(loss): pass",
        "text = 'bad' if step % 100 == 0 and paddle.isnan(loss) else ''",
        "check = lambda value: value > 3 or loss > 3",
    ],
)
def test_what_is_no_decision_on_a_tensor(statement: str) -> None:
    assert [finding.message for finding in found(in_step(statement))] == []


def test_the_read_of_a_decision_is_reported_once() -> None:
    expect_marked_in_step(
        """
        if loss.item() > 3:  #: PPF201
            pass
        if paddle.isnan(loss).item():  #: PPF201
            pass
        if paddle.isnan(loss) or paddle.isinf(loss):  #: PPF203
            pass
        if (x - float(y)).abs().max() > 3:  #: PPF203
            pass
        """
    )


def test_only_the_part_that_is_a_tensor() -> None:
    text = in_step("if args.limit is not None and loss > args.limit: pass")
    (finding,) = found(text)
    assert text[finding.start : finding.end] == "loss > args.limit"


def test_a_helper_in_another_file_names_the_loop() -> None:
    expect_marked(
        {
            "lib/checks.py": """
                import paddle


                def stop_if_bad(loss, limit=None):
                    if not paddle.isfinite(loss).all():  #: PPF203
                        raise RuntimeError("diverged")
                """,
            "train.py": """
                import paddle.nn.functional as F
                from lib.checks import stop_if_bad


                def train(model, loader, optimizer):
                    for x, y in loader:
                        loss = F.cross_entropy(model(x), y)
                        stop_if_bad(loss)
                        loss.backward()
                        optimizer.step()
                        optimizer.clear_grad()
                """,
        },
        RULE,
    )


def test_a_check_that_no_call_turns_on() -> None:
    text = """
        import paddle
        import paddle.nn.functional as F


        def clip(parameters, strict=False):
            norm = parameters[0].grad.norm()
            if strict and paddle.isnan(norm):
                raise RuntimeError


        def train(model, loader, optimizer, strict):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                {call}
                optimizer.step()
                optimizer.clear_grad()
        """
    assert not found(text.format(call="clip(model.parameters())"))


def test_a_function_that_runs_once() -> None:
    body = """
        import paddle
        from paddle import nn


        class Quantizer(nn.Layer):
            def forward(self, weight):
                if paddle.max(weight) > 3:{mark}
                    weight = weight / 2
                if not self.ready:
                    self.init_scale(weight)
                return weight

            def init_scale(self, weight):
                if paddle.max(weight) > 1:
                    self.scale = 1
        """
    expect_marked(body.format(mark="  #: PPF203"), RULE)


FORWARD = """
import paddle
from paddle import nn


class {name}(nn.Layer):
    def forward(self, x, mask=None):
        {body}
        return x
"""


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("if paddle.any(x > 3): x = x / 2", Confidence.MEDIUM),
        ("if x.sum() > 3: x = x / 2", Confidence.MEDIUM),
        ("if not (x == 3).any(): x = x / 2", Confidence.MEDIUM),
        ("low = x.min()\n        if low > 3: x = x / 2", Confidence.LOW),
        ("bad = paddle.isnan(x).any()\n        if bad: x = x / 2", Confidence.MEDIUM),
        ("assert paddle.all(x > 0)", Confidence.MEDIUM),
        ("if x.dtype == paddle.float16 and paddle.isinf(x).any(): x = x.clip(max=3)", Confidence.LOW),
        ("if x.ndim == 3 and paddle.isinf(x).any(): x = x.clip(max=3)", Confidence.MEDIUM),
        ("x = x / x.sum() if paddle.sum(x) > 0 else x", Confidence.MEDIUM),
        ("if x > 3: x = x / 2", None),
        ("if mask is not None and self.training: x = x.sum()", None),
        ("if max(x.shape) > 3: x = x.sum()", None),
        ("if not self.training and paddle.any(x > 3): x = x / 2", None),
    ],
)
def test_a_forward_pass_needs_a_call_that_says_it(body: str, confidence: Confidence | None) -> None:
    confidences = [finding.confidence for finding in found(FORWARD.format(name="Net", body=body))]
    assert confidences == ([] if confidence is None else [confidence])


OPTIONAL = """
    import paddle
    from paddle import nn


    class Loss(nn.Layer):
        def forward(self, x, weight=None):
            {body}
            return x
"""


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("if weight is not None and paddle.any(x > 3): x = x / 2", Confidence.LOW),
        ("if (weight is not None) and (not paddle.any(weight > 0)) and self.a: x = x / 2", Confidence.LOW),
        ("if weight is not None:\n                if paddle.any(x > 3): x = x / 2", Confidence.LOW),
        ("if x.ndim > 1 and weight is not None:\n                assert paddle.all(x > 3)", Confidence.LOW),
        ("if weight is None and paddle.any(x > 3): x = x / 2", Confidence.MEDIUM),
        ("if x is not None and paddle.any(x > 3): x = x / 2", Confidence.MEDIUM),
        ("if (weight is not None or self.a) and paddle.any(x > 3): x = x / 2", Confidence.MEDIUM),
        ("if paddle.any(x > 3) and weight is not None: x = x / 2", Confidence.MEDIUM),
    ],
)
def test_a_decision_that_needs_an_argument_which_may_be_left_out(body: str, confidence: Confidence) -> None:
    assert [finding.confidence for finding in found(OPTIONAL.format(body=body))] == [confidence]


LED_TO = """
import paddle


def limited(x):
    return x * 2 if x.max() > 3 else x  #: PPF203


class BeamDecoder(paddle.nn.Layer):
    def forward(self, x):
        if x.sum() == 0:  #: PPF203
            return x
        return limited(x)


net, optimizer = BeamDecoder(), make_optimizer()
for x, y in paddle.io.DataLoader(data):
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_a_step_that_certainly_leads_there_says_more_than_names() -> None:
    expect_marked(LED_TO, "PPF203")
    assert found(LED_TO.replace("loss.backward()", "pass").replace("optimizer.step()", "pass")) == []


def test_a_layer_that_only_predicts() -> None:
    body = "if paddle.max(x) == 3: return x"
    assert found(FORWARD.format(name="Decoder", body=body))
    assert not found(FORWARD.format(name="GreedyGeneration", body=body))
    assert not found(FORWARD.format(name="YOLOPostProcess", body=body))
    text = """
        import paddle
        from paddle import nn


        class SequenceGenerator(nn.Layer):
            def __init__(self, model, size):
                super().__init__()
                self.model = model
                self.{name} = size

            def forward(self, x):
                assert paddle.all(x > 0)
                return self.model(x)
        """
    assert found(text.format(name="width"))
    assert not found(text.format(name="beam_size"))


def test_confidence_follows_what_is_known_of_the_tensor() -> None:
    assert only("if loss > 3: pass").confidence is Confidence.HIGH
    text = """
        import paddle


        def train(model, batches, optimizer):
            for batch in batches:
                loss = model.compute_it(batch)
                total = loss * 2
                total.backward()
                optimizer.step()
                optimizer.clear_grad()
                if loss > 3:
                    break
        """
    assert [finding.confidence for finding in found(text)] == [Confidence.MEDIUM]


def test_evaluation_and_cpu_runs_are_quiet() -> None:
    assert not found(
        "import paddle\n\n\ndef evaluate(model, loader):\n    for x in loader:\n        assert model(x) > 3\n"
    )
    assert not found("import paddle\npaddle.set_device('cpu')\n" + in_step("if loss > 3: pass"))


# --- what is said


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("if loss > 3: raise ValueError", "check it only every 10 steps."),
        ("if loss > 3: print('high')", "check it only every 10 steps."),
        ("assert loss < 3", "check it only every 10 steps."),
        ("if loss > 3: loss = loss / 2", "choose on the device, with `paddle.where` or `.clip`."),
        ("if loss == float('Inf'): loss = x.mean()", "such as `F.softplus`."),
        ("if loss >= np.inf: loss = x.mean()", "such as `F.softplus`."),
        ("if paddle.isnan(loss): loss = x.mean()", "choose the input of what overflows with `paddle.where`"),
        ("if loss == float('3'): loss = x.mean()", "choose on the device, with `paddle.where` or `.clip`."),
        ("if x.sum() > 0: y = paddle.masked_select(x, x > 0)", "instead of selecting them"),
        ("z = x[x > 0].mean() if (x > 0).any() else loss", "instead of selecting them"),
        ("if (x > 0).any(): z = x[x > 0].mean()", "instead of selecting them"),
        ("if not x.any(): x = None", "always pass it on, without this test"),
        ("z = x if x.any() else None", "always pass it on, without this test"),
        (
            "if loss > 3: args.high.append(step)",
            "decide by something that the host knows without a read, such as a shape",
        ),
        ("n = max(x.max(), y.max())\nz = paddle.zeros([n, 3])", "take the size from `.shape`, or from the data"),
        ("names = [n for i, n in enumerate(args.names) if y[i] > 0]", "once before, with `.tolist()`"),
        ("total = None if args.a else loss * 2\nif total > 3: pass", "choose on the device"),
        (
            "if step % 2:\n    loss = model(x).mean()\nelse:\n    loss = []\nif loss: pass",
            "use `None` for a missing value, and test `is not None`",
        ),
        ("total = loss * 2\nif total: pass", "choose on the device"),
    ],
)
def test_the_advice_can_be_followed(body: str, said: str) -> None:
    assert said in only(body).message


@pytest.mark.parametrize("arm", ["x[x > 0].mean()", "paddle.masked_select(x, x > 0).sum()"])
def test_a_choice_pays_off_together_with_the_size_that_its_arm_waits_for(arm: str) -> None:
    together = "which pays off together with"
    impact = only(f"if x.any():\n    z = {arm}\nelse:\n    z = loss").impact
    assert impact is not None
    assert together in impact.reason
    impact = only("if x.any():\n    z = x.mean()\nelse:\n    z = loss").impact
    assert impact is not None
    assert together not in impact.reason


# --- what is shown instead


def shown(body: str) -> str:
    """The end of a step as the fix of its one finding would leave it."""
    finding = only(body)
    assert finding.fix is not None
    assert finding.fix.level is Level.DISPLAY
    assert finding.fix.reason
    text = in_step(body)
    for edit in sorted(finding.fix.edits, reverse=True):
        text = text[: edit.start] + edit.content + text[edit.end :]
    return text[len(in_step("")) - 1 :].strip()


@pytest.mark.parametrize(
    ("body", "instead"),
    [
        ("assert loss < 100", "assert step % 10 != 0 or loss < 100"),
        ("if paddle.isnan(loss): raise ValueError", "if step % 10 == 0 and paddle.isnan(loss): raise ValueError"),
        (
            "if paddle.isnan(loss) or args.stop: raise ValueError",
            "if step % 10 == 0 and (paddle.isnan(loss) or args.stop): raise ValueError",
        ),
        (
            "if (paddle.isnan(loss) or args.stop): raise ValueError",
            "if (step % 10 == 0 and (paddle.isnan(loss) or args.stop)): raise ValueError",
        ),
        ("loss = loss if loss > 1 else 2 * loss", "loss = paddle.where(loss > 1, loss, 2 * loss)"),
        ("largest = max(loss, x)", "largest = paddle.maximum(loss, x)"),
        ("if x.sum() > 0:\n    x = x / 2", "x = paddle.where(x.sum() > 0, x / 2, x)"),
        (
            "if x.sum() > 0:\n    z = x.mean()\nelse:\n    z = x.sum()",
            "z = paddle.where(x.sum() > 0, x.mean(), x.sum())",
        ),
        ("while x.max() > 3: x = x / 2", "while x.max() > 3: x = x / 2"),
    ],
)
def test_shown_instead(body: str, instead: str) -> None:
    assert shown(body) == instead


@pytest.mark.parametrize(
    "body",
    [
        "largest = max(loss, args.floor)",
        "z = x.mean() if x.sum() > 0 else paddle.zeros(shape=[1])",
        "if x.sum() > 0:\n    z = paddle.zeros([1])\nelse:\n    z = x.mean()",
        "z = x[x > 0].mean() if x.sum() > 0 else x.mean()",
        "if x.sum() > 0:\n    x = x[x > 0]",
        "if not x.any(): x = None",
        "largest = max(loss, 1.0)",
        "weight = 1.0 if loss > 3 else 0.5",
        "name = 'high' if loss > 3 else 'low'",
        "loss = loss if args.a and loss > 1 else 2 * loss",
        "loss = loss if not loss > 1 else 2 * loss",
        "if loss > 3:\n    args.count += 1",
        "if loss > 3:\n    rate = 0.1",
        "if loss > 3:\n    x = model(x)",
        "if loss > 3:  # too large\n    x = x / 2",
        "if paddle.isnan(loss):\n    raise ValueError\nelse:\n    args.good()",
        "if (bad := paddle.isnan(loss)):\n    raise ValueError",
        "if x.sum() > 0:\n    z = x.mean()\nelif args.a:\n    z = x.sum()",
    ],
)
def test_words_where_an_edit_would_change_what_the_code_does(body: str) -> None:
    finding = only(body)
    assert finding.fix is not None
    assert finding.fix.edits == ()
    assert finding.fix.reason


def test_words_where_nothing_counts_the_steps() -> None:
    text = in_step("if paddle.isnan(loss): raise ValueError").replace(
        "step, (x, y) in enumerate(loader)", "x, y in loader"
    )
    (finding,) = found(text)
    assert finding.fix is not None
    assert finding.fix.edits == ()
    assert "`step`" not in finding.fix.message + finding.fix.reason


def test_what_is_shown_is_spelled_as_the_file_imports_paddle() -> None:
    text = in_step("largest = max(loss, x)").replace("import paddle\n", "import paddle as pd\n")
    (finding,) = found(text)
    assert finding.fix is not None
    assert [edit.content for edit in finding.fix.edits] == ["pd.maximum"]
    text = in_step("largest = max(loss, x)").replace("import paddle\n", "")
    (finding,) = found(text)
    assert finding.fix is not None
    assert finding.fix.edits == ()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("best = loss if loss > 1 else 2 * loss", "best"),
        ("best = max(loss, loss * 2)", "best"),
        ("best = loss * 1\nif loss > 1:\n    best = best / loss", "best"),
        ("best = loss * 1\nif best > 1:\n    best = best.clip(max=1.0)", "best"),
    ],
)
def test_what_is_shown_chooses_what_the_code_chose(body: str, name: str) -> None:
    """Each step of a training run with Paddle gives the same value before and after."""
    text = in_step(f"{body}\nargs.append(float({name}))")
    decision = next(item for item in found(text) if item.fix is not None and item.fix.edits)
    assert decision.fix is not None
    assert trained(apply(text, [decision.fix]).text) == trained(text)


def trained(text: str) -> list[float]:
    """What a script's ``train`` appends to its last argument on a few batches."""
    paddle.seed(7)
    random = np.random.default_rng(7)
    model = paddle.nn.Linear(4, 3)
    optimizer = paddle.optimizer.SGD(learning_rate=3.0, parameters=model.parameters())
    loader = [
        (paddle.to_tensor(random.random((2, 4), dtype="float32")), paddle.to_tensor(random.integers(0, 3, 2)))
        for _ in range(9)
    ]
    names: dict[str, Any] = {}
    exec(compile(text, "train.py", "exec"), names)
    values: list[float] = []
    names["train"](model, loader, optimizer, values)
    assert len(set(values)) > 1
    return values


def test_skipping_a_step_is_left_to_the_scaler() -> None:
    fix = only("if not paddle.isfinite(loss): continue").fix
    assert fix is not None
    assert "GradScaler" in fix.message + fix.reason
    assert fix.edits == ()


def test_a_forward_pass_counts_no_steps() -> None:
    for body in ("if paddle.any(x > 3): x.zero_()", "assert paddle.all(x > 0)"):
        (finding,) = found(FORWARD.format(name="Net", body=body))
        assert finding.fix is not None
        assert finding.fix.edits == ()
        assert "every" not in finding.message


def test_a_helper_has_to_be_told_the_step() -> None:
    text = """
        import paddle
        import paddle.nn.functional as F


        def stop_if_bad(loss):
            if paddle.isnan(loss):
                raise RuntimeError


        def train(model, loader, optimizer):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                stop_if_bad(loss)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    (finding,) = found(text)
    assert finding.fix is not None
    assert "another function" in finding.fix.reason
    assert finding.fix.edits == ()


def test_nothing_is_applied() -> None:
    assert {finding.fix.level for finding in check(in_step("if loss > 3: pass"), RULE) if finding.fix} == {
        Level.DISPLAY
    }


@pytest.mark.parametrize(
    ("body", "divisor"),
    [
        ("if x.sum() > 0:\n    x = x / x.sum()", "x.sum()"),
        ("n = x.sum()\nif n == 0:\n    z = x.mean()\nelse:\n    z = x.mean() / n", "n"),
    ],
)
def test_no_where_for_a_test_that_keeps_a_division_from_zero(body: str, divisor: str) -> None:
    """At n = 0 `paddle.where` takes the other value; the gradient of the division is 0 times infinity all the same."""
    fix = only(body).fix
    assert fix is not None
    assert fix.edits == ()
    assert f"`{divisor}.clip(min=...)`" in fix.reason


REJECTING = """
class Caps:
    def __init__(self, scale):
        self.scale = scale

    def rsample(self):
        return self._sample_until_all_fit()

    def _sample_until_all_fit(self):
        left = paddle.ones_like(self.scale) == 1
        while {test}:
            {change}
        return self.scale
"""


@pytest.mark.parametrize(
    ("test", "change", "is_needed"),
    [
        ("left.any()", "left = left & (paddle.rand(left.shape) < 0.5)", False),
        ("left.sum() != 0", "left[paddle.rand(left.shape) < 0.5] = False", False),
        ("left.sum() > 9", "left = left * 0.5", True),
        ("left.sum() > 9", "left -= 1", True),
    ],
)
def test_a_loop_inside_a_step_may_end_some_passes_late(test: str, change: str, is_needed: bool) -> None:
    caps = REJECTING.format(test=test, change=change)
    step = in_step("loss = loss * Caps(x).rsample().mean()\nloss.backward()").replace(
        "import paddle\n", f"import paddle\n{caps}\n"
    )
    (finding,) = found(step)
    assert finding.impact is not None
    assert (finding.impact.level is ImpactLevel.LOW) is is_needed
    assert ("after every few passes" in finding.message) is not is_needed
    assert is_needed or finding.impact.reason.startswith("a wait for the device several times at each step")


def test_items_of_a_tensor_that_a_loop_tests() -> None:
    ends = only("for end in y.cumsum():\n    if end >= 9:\n        break\n    x = x * 2")
    pair = only("for at, (a, b) in enumerate(y.cumsum()):\n    if b > a:\n        x = x * 2")
    for finding in (ends, pair):
        assert "iterate over a list of numbers" in finding.message
        assert finding.impact is not None
        assert finding.impact.level > ImpactLevel.LOW
    assert "iterate over" not in only("for part in [x, y]:\n    if part.sum() > 9:\n        break").message


NUMBERED = """
import paddle


def counted(labels, skipped):
    ignored = [0, 1] if skipped else []
    if not skipped:
        ignored = [7]
    found = []
    for i in range(labels.shape[0]):
        k = labels[i]
        {test}
            continue
        {body}
    return found


class Loss(paddle.nn.Layer):
    def forward(self, x, labels):
        return x.mean() * len(counted(labels, True))


net, loss_of = make_net(), Loss()
for x, labels in paddle.io.DataLoader(data):
    loss = loss_of(net(x), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize("test", ["if k in ignored:", "if labels[i] == 0:", "if k > 2:"])
def test_items_of_a_tensor_that_a_loop_counts_to(test: str) -> None:
    (finding,) = found(NUMBERED.format(test=test, body="found.append(i)"), Confidence.MEDIUM)
    assert "read once with `.tolist()`" in finding.message


def test_items_of_a_tensor_that_the_loop_changes_are_read_where_they_are() -> None:
    text = "for at in range(9):\n    if y[at] > 2:\n        {} = x * 2"
    assert "read once with `.tolist()`" in only(text.format("x")).message
    for changed in ("y", "y[at + 1]"):
        assert ".tolist()" not in only(text.format(changed)).message


@pytest.mark.parametrize(
    ("made", "loop"),
    [
        (
            "{name: part.mean() for name, part in parts(y).items()}",
            "for k in found:\n    if k not in ['a', 'b']:\n        use(k)",
        ),
        ("{'a': y.mean(), 'b': y.sum()}", "rest = {k: found[k] for k in found if k not in ['a', 'b']}"),
    ],
)
def test_a_key_of_a_dict_of_tensors_is_no_tensor(made: str, loop: str) -> None:
    assert check(in_step(f"found = {made}\n{loop}"), "PPF203") == []


def test_a_set_or_a_dict_looks_for_a_tensor_by_its_hash() -> None:
    text = NUMBERED.format(test="if k in ignored:", body="found.append(i)")
    assert found(text.replace("ignored = [7]", "ignored = {7}")) == []


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("n = x.sum(1)[j] * 3\n            n = n if n > 0 else x", 1),
        ("seen = paddle.zeros([9])\n            x = x if seen[j] > 0 else -x\n            n = 1 if x.sum() else 2", 2),
        ("h = paddle.matmul(x, x).sqrt()\n            h = max([h[i][j] if self.a else 0.0 for i in range(9)])", 1),
        ("n = paddle.shape(x)[0].cast('int32') * 2\n            x = x * 2 if n > j else x", 0),
        ("n = paddle.to_tensor(j)\n            x = x * 2 if n - 1 > j else x", 0),
        ("x = x * 2 if x > j else x", 0),
    ],
)
def test_a_loop_of_a_forward_pass_that_tests_what_it_computes_certainly_tests_a_tensor(body: str, count: int) -> None:
    body = f"for j in range(9):\n            {body}"
    assert len(found(FORWARD.format(name="Net", body=body), Confidence.MEDIUM)) == count


@pytest.mark.parametrize(
    ("first", "count"), [("domains == 1", 1), ("paddle.any(x)", 1), ("[False] * 9", 0), ("None", 0)]
)
def test_items_of_a_mask_that_branches_bind(first: str, count: int) -> None:
    body = f"""\
keep = {first}
if args.two:
    keep = paddle.logical_or(keep, x > 2)
names = [name for i, name in enumerate(args.names) if keep[i]]
"""
    assert len(check(in_step(body), "PPF203")) == count


def test_the_largest_of_some_of_a_row_needs_a_mask() -> None:
    text = "h = paddle.matmul(x, x)\nfor i in range(9):\n    x = max([h[i][j] if args.a[j] else 0.0 for j in range(9)])"
    assert "paddle.where(mask, x, paddle.full_like(x, limit)).max(axis=1)" in only(text).message
