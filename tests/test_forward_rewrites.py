"""Where rewriting a forward pass is not worth a word: PPF901, PPF905 and PPF907."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence, Finding, ImpactLevel
from perflint.fix.fixer import apply
from tests.support import check

HEAD = """\
import paddle
import paddle.nn.functional as F
from paddle import nn


"""
TRAINING = """

net = Net()
for x, y in loader:
    loss = paddle.mean(net(x) - y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def _found(code: str, model: str) -> list[Finding]:
    return check({"train.py": HEAD + model + TRAINING}, code)


# --- PPF907

SAMPLES = """\
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.gates = [self.create_parameter([8]) for _ in range(4)]

    def forward(self, x):
        {first}
        parts = []
        for i in range({size}):
            {body}
            parts.append(out)
        return paddle.stack(parts)
"""


def _over_samples(size: str, body: str = "out = paddle.exp(h[i])", first: str = "h = paddle.tanh(x)") -> list[Finding]:
    return _found("PPF907", SAMPLES.format(size=size, body=body, first=first))


@pytest.mark.parametrize(
    ("size", "first"),
    [
        ("h.shape[0]", "h = paddle.tanh(x)"),
        ("len(h)", "h = paddle.tanh(x)"),
        ("len(h)", "h = self.net(x); print(h.shape)"),
    ],
)
def test_a_tensor_has_samples(size: str, first: str) -> None:
    assert len(_over_samples(size, first=first)) == 1


@pytest.mark.parametrize(
    "first",
    ["h = [paddle.tanh(x), paddle.exp(x)]", "h = paddle.split(x, 2)", "h = list(); h.append(paddle.tanh(x))"],
)
def test_a_list_of_tensors_has_none(first: str) -> None:
    assert _over_samples("len(h)", first=first) == []


def test_the_length_of_something_that_may_be_a_list_says_nothing() -> None:
    assert _over_samples("len(x)", "x[i] = F.normalize(x[i]); out = paddle.exp(x[i])") == []


def test_a_list_of_parameters_has_no_samples() -> None:
    assert _over_samples("len(self.gates)", "out = paddle.multiply(x, self.gates[i])") == []


@pytest.mark.parametrize(
    "body",
    [
        "out = paddle.histogram(h[i], bins=8)",
        "out = paddle.bincount(h[i])",
        'out = getattr(self, f"fc{i}")(paddle.exp(h[i]))',
    ],
)
def test_what_has_no_form_for_a_batch_stays_in_a_loop(body: str) -> None:
    assert _over_samples("h.shape[0]", body) == []


def test_a_loop_that_keeps_the_last_sample_alone_is_no_pattern() -> None:
    model = """\
class Net(nn.Layer):
    def forward(self, x):
        h = paddle.tanh(x)
        for i in range(h.shape[0]):
            out = paddle.matmul(h[i], h[i])
        return out
"""
    assert _found("PPF907", model) == []


@pytest.mark.parametrize(
    ("size", "body"),
    [
        ("h.shape[1]", "out = paddle.exp(h[:, i, 0])"),
        ("h.shape[1]", "out = paddle.exp(h[:, i : i + 1])"),
        ("16", "out = paddle.exp(h[:, i])"),
        ("h.shape[0]", "start = x[i]; out = paddle.exp(h[i, start : start + 4])"),
        ("h.shape[0]", "x[i] = x[i] * 2 + 1; out = h[i]"),
    ],
)
def test_any_axis_of_a_tensor_has_parts(size: str, body: str) -> None:
    assert len(_over_samples(size, body)) == 1


@pytest.mark.parametrize(
    ("size", "body"),
    [
        ("4", "out = paddle.exp(h[:, i])"),  # few
        ("len(self.gates)", "out = paddle.exp(h[:, i])"),
        ("h.shape[1]", "out = paddle.exp(h[:, :i])"),  # they grow
        ("h.shape[0]", "end = x[i]; out = paddle.exp(h[i, 2:end])"),  # each as long as its sample
        ("h.shape[0]", "out = paddle.exp(h[i] + parts[-1])"),  # needs the last one
        ("h.shape[0]", "x[i] = x[i - 1] * 2 + 1; out = h[i]"),
        ("h.shape[0]", "out = paddle.exp(h[i]) * float(h[i].max())"),
    ],
)
def test_parts_that_differ_or_need_each_other_stay_in_a_loop(size: str, body: str) -> None:
    assert _over_samples(size, body) == []


@pytest.mark.parametrize(("test", "count"), [("h > 4", 0), ("h is None", 1), ("flag", 1)])
def test_a_function_that_compares_what_it_gets_may_treat_parts_differently(test: str, count: int) -> None:
    model = f"""\
def scaled(h, flag=True):
    if {test}:
        return paddle.exp(h)
    return h * 2


class Net(nn.Layer):
    def forward(self, x):
        return self.over(paddle.tanh(x))

    def over(self, h):
        parts = []
        for i in range(h.shape[0]):
            parts.append(scaled(h[i]))
        return paddle.stack(parts)
"""
    assert len(_found("PPF907", model)) == count


@pytest.mark.parametrize(("test", "count"), [("i == 0", 0), ("self.training", 1)])
def test_a_test_of_the_number_of_the_pass_treats_parts_differently(test: str, count: int) -> None:
    model = f"""\
class Net(nn.Layer):
    def forward(self, x):
        h = paddle.tanh(x)
        parts = []
        for i in range(h.shape[0]):
            out = paddle.exp(h[i])
            if {test}:
                out = out + 1
            parts.append(out)
        return paddle.stack(parts)
"""
    assert len(_found("PPF907", model)) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for part in h:\n            parts.append(paddle.exp(part) * 2)", 1),
        ("for i, (a, b) in enumerate(zip(h, paddle.exp(h))):\n            parts.append(a * b)", 0),  # a list, perhaps
        ("g = paddle.exp(h)\n        for a, b in zip(h, g):\n            parts.append(a * b)", 1),
        ("for part in x:\n            parts.append(paddle.exp(part) * 2)", 0),  # x may be a list
        ("for part in h.unbind(1):\n            parts.append(paddle.exp(part) * 2)", 1),
        ("for part in h.split([2, 3], 1):\n            parts.append(paddle.exp(part) * 2)", 0),
        ("labels = h.argmax(1)\n        for i, at in enumerate(labels):\n            h[i, at] = 0.5", 1),
        ("labels = h.argmax(1)\n        for at in labels:\n            h[at] += 0.5", 0),  # adds twice to the same
        ("mask = h > 0\n        for i in range(h.shape[0]):\n            parts.append(h[i][mask[i]].max())", 1),
        ("mask = h > 0\n        for i in range(h.shape[0]):\n            parts.append(h[i][mask[i]])", 0),
        ("parts = [paddle.stack([paddle.exp(h[i]) for i in range(h.shape[0])])]", 1),
        ("parts = [paddle.concat([paddle.exp(each) * 2 for each in h.unstack()])]", 1),
        ("parts = [paddle.exp(h[:, i]) for i in range(h.shape[1])]", 1),
        ("return [paddle.exp(h[:, i]) for i in range(h.shape[1])]", 0),  # it may need a list
        ("for i in range(h.shape[0]):\n            h[i] = i", 1),
        ("for i in range(h.shape[0]):\n            self.names[i] = i", 0),
        ("parts = [paddle.stack([float(part.sum()) * part for part in h])]", 0),
        ("parts = [paddle.stack([paddle.exp(h[i]) for i in range(h.shape[0]) if self.use[i]])]", 0),
    ],
)
def test_what_else_goes_along_a_tensor(body: str, count: int) -> None:
    first = "h = paddle.tanh(x)\n        parts = []\n        "
    model = (
        f"class Net(nn.Layer):\n    def forward(self, x):\n        {first}{body}\n        return paddle.stack(parts)\n"
    )
    assert len(_found("PPF907", model)) == count


def test_loops_of_one_function_over_the_same_parts_are_one_finding() -> None:
    model = """\
class Net(nn.Layer):
    def forward(self, x):
        h = paddle.tanh(x)
        first = paddle.stack([paddle.exp(part) * 2 for part in h])
        second = paddle.stack([paddle.log(part) * 2 for part in h])
        return self.third(first + second)

    def third(self, x):
        h = paddle.tanh(x)
        return paddle.stack([paddle.exp(part) * 2 for part in h])
"""
    one, other = _found("PPF907", model)
    first = model[: model.index("first =")].count("\n") + HEAD.count("\n") + 1
    assert f"the samples of `h` (and 1 more, at line {first + 1}) launches" in one.message
    assert one.related[0].line == first + 1
    assert "the samples of `h` launches" in other.message


def test_what_a_loop_writes_is_told_once() -> None:
    model = """\
class Net(nn.Layer):
    def forward(self, x):
        h = paddle.tanh(x)
        out = paddle.zeros([x.shape[0], 8, 8])
        for i in range(h.shape[0]):
            {}out[i] = paddle.exp(h[i]) * 2
        return out
"""
    files = {"train.py": HEAD + model.format("") + TRAINING}
    assert [len(check(files, code)) for code in ("PPF907", "PPF912")] == [1, 0]
    differing = {"train.py": HEAD + model.format("if i > 1: ") + TRAINING}
    assert [len(check(differing, code)) for code in ("PPF907", "PPF912")] == [0, 1]


# --- PPF905

TABLE = """\
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = self.create_parameter([1000, 8])
        self.weight = paddle.ones([1000])
        self.fixed = self.rows(paddle.arange(10))
    {decorator}
    def rows(self, ids):
        return paddle.matmul(F.one_hot(ids, 1000), self.table)

    def forward(self, x):
        return {forward}
"""


@pytest.mark.parametrize(
    ("decorator", "forward", "count"),
    [("", "self.rows(x)", 1), ("@paddle.no_grad()", "self.rows(x)", 0), ("", "x * self.fixed", 0)],
)
def test_rows_are_looked_up_where_training_does_it(decorator: str, forward: str, count: int) -> None:
    assert len(_found("PPF905", TABLE.format(decorator=decorator, forward=forward))) == count


def test_code_that_only_predicts_looks_nothing_up_in_training() -> None:
    net = HEAD + TABLE.format(decorator="", forward="self.rows(x)")
    predict = """\
        import paddle
        from serving.net import Net

        if __name__ == "__main__":
            net = Net()
            net.eval()
            print(net(paddle.to_tensor([1])).numpy())
    """
    train = HEAD + "net = nn.Linear(2, 2)" + TRAINING.replace("\nnet = Net()", "")
    files = {"training/train.py": train, "serving/predict.py": predict, "serving/net.py": net}
    assert check(files, "PPF905") == []


SUMMED = """\
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = paddle.ones([10])

    def forward(self, x, ids):
        logits = paddle.tanh(x)
        log_probs = F.log_softmax(logits)
        return paddle.sum(F.one_hot(ids, 10) * {other}, axis=-1)
"""


@pytest.mark.parametrize(
    ("other", "level", "advice"),
    [
        ("logits", ImpactLevel.MEDIUM, "`paddle.take_along_axis` reads"),
        ("log_probs", ImpactLevel.LOW, "`paddle.take_along_axis` reads"),
        ("F.softmax(logits)", ImpactLevel.LOW, "`paddle.take_along_axis` reads"),
        ("self.weight", ImpactLevel.MEDIUM, "`paddle.gather(self.weight, ids.flatten())`, reshaped"),
    ],
)
def test_what_is_summed_decides_how_it_is_looked_up(other: str, level: ImpactLevel, advice: str) -> None:
    (found,) = _found("PPF905", SUMMED.format(other=other))
    assert found.impact is not None and found.fix is not None
    assert found.impact.level is level
    assert advice in found.message
    assert ("ignore_index" in found.fix.reason) is (other == "self.weight")


@pytest.mark.parametrize(("optimizer", "confidence"), [("", Confidence.LOW), ("optimizer.step()", Confidence.HIGH)])
def test_gradients_without_an_optimizer_explain_a_prediction(optimizer: str, confidence: Confidence) -> None:
    text = f"""\
        import paddle
        import paddle.nn.functional as F


        def explain(model, features, label):
            scores = paddle.tanh(model(features))
            loss = paddle.sum(F.one_hot(label, 10) * scores, axis=1)
            loss.backward()
            {optimizer}
            return features.grad
    """
    found = check(text, "PPF905", min_confidence=Confidence.LOW)
    assert [one.confidence for one in found] == [confidence]


# --- PPF901


def _grown(text: str) -> list[tuple[Confidence, ImpactLevel]]:
    found = check(text, "PPF901", min_confidence=Confidence.LOW)
    return [(one.confidence, one.impact.level) for one in found if one.impact is not None]


EVALUATION = """\
import argparse
import numpy as np
import paddle


@paddle.no_grad()
def evaluate(model, loader, auc=False):
    everything = np.zeros([0, 10])
    for image, label in loader:
        logits = model(image)
        if auc:
            everything = np.concatenate([everything, logits.numpy()])
    return everything


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--auc", action="store_true")
    return parser.parse_args()


args = parsed()
for epoch in range(10):
    for image, label in train_loader:
        loss = model(image).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    evaluate({given})
"""


@pytest.mark.parametrize(
    ("given", "confidence"),
    [
        ("model, loader", Confidence.LOW),
        ("model, loader, auc=False", Confidence.LOW),
        ("model, loader, args.auc", Confidence.LOW),
        ("model, loader, auc=True", Confidence.HIGH),
        ("model, loader, **settings", Confidence.HIGH),
    ],
)
def test_a_flag_that_nobody_sets_keeps_an_array_from_growing(given: str, confidence: Confidence) -> None:
    assert _grown(EVALUATION.replace("{given}", given)) == [(confidence, ImpactLevel.LOW)]


STEPS = """\
import paddle


class Head(paddle.nn.Layer):
    def forward(self, x, targets=None):
        probs = paddle.zeros([8, 0, 10])
        if {test}:
            {first}
        else:
            {second}
        return probs
"""
GROWS = """for i in range(25):
                probs = paddle.concat([probs, self.step(x[:, i])], axis=1)"""


@pytest.mark.parametrize(
    ("test", "is_training"),
    [
        ("targets is not None", True),
        ("targets is None", False),
        ("self.training", True),
        ("not self.training", False),
        ("self.is_deep", True),
    ],
)
def test_an_array_that_grows_in_inference_alone_has_low_confidence(test: str, is_training: bool) -> None:
    text = STEPS.format(test=test, first=GROWS, second="probs = self.other(x)")
    assert [each for each, _ in _grown(text)] == [Confidence.HIGH if is_training else Confidence.LOW]
    text = STEPS.format(test=test, first="probs = self.other(x)", second=GROWS)
    is_low = is_training and test != "self.is_deep"
    assert [each for each, _ in _grown(text)] == [Confidence.LOW if is_low else Confidence.HIGH]


SAMPLES_OF_A_BATCH = """\
class Net(nn.Layer):
    def forward(self, x):
        out = None
        for num in range({size}):
            part = paddle.exp(x[num]).unsqueeze(0)
            if out is None:
                out = part
            else:
                out = paddle.concat({arguments})
        return out
"""


@pytest.mark.parametrize(
    "arguments", ["[out, part], 0", "[out, part], axis=0", "x=[out, part], axis=0", "axis=0, x=[out, part]"]
)
def test_a_step_that_copies_its_samples_pays_for_it(arguments: str) -> None:
    text = HEAD + SAMPLES_OF_A_BATCH.format(size="x.shape[0]", arguments=arguments)
    assert _grown(text + TRAINING) == [(Confidence.HIGH, ImpactLevel.MEDIUM)]
    fixed = arguments.replace("[out, part]", "out_parts")
    (found,) = check(text + TRAINING, "PPF901")
    assert found.fix is not None
    assert f"out = paddle.concat({fixed})" in apply(text + TRAINING, [found.fix]).text
