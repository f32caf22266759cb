"""PPF601: which loops evaluate with gradients on."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence
from perflint.flow.resolving import opened
from perflint.rules.no_grad import evaluations
from tests.evaluation_samples import EVALUATE, RULE, confidences, expect_quiet, only
from tests.support import expect_marked, places, sources


def test_message_names_the_model_call_and_the_finding_stands_at_the_header() -> None:
    finding = only(EVALUATE)
    source = sources(EVALUATE)["train.py"]
    assert source.lines.position(finding.start)[0] == 6
    assert finding.message.startswith("`model(x)` builds a graph")
    assert finding.confidence is Confidence.HIGH


@pytest.mark.parametrize("name", ["evaluate", "do_valid", "val_epoch", "test_one_epoch", "infer", "predict_labels"])
def test_names_that_evaluate(name: str) -> None:
    text = EVALUATE.replace("evaluate", name).replace("    model.eval()\n", "")
    assert confidences(text) == [Confidence.MEDIUM]


@pytest.mark.parametrize("name", ["train", "train_and_evaluate", "collect", "retrieval", "latest", "interval", "main"])
def test_other_names_say_nothing(name: str) -> None:
    expect_quiet(EVALUATE.replace("evaluate", name).replace("    model.eval()\n", ""))


def test_loop_after_eval_in_any_function() -> None:
    assert confidences(EVALUATE.replace("evaluate", "main")) == [Confidence.HIGH]


def test_loop_over_validation_data_without_eval() -> None:
    text = EVALUATE.replace("def evaluate(model, loader)", "def main(model, valid_loader)")
    text = text.replace("in loader", "in valid_loader").replace("    model.eval()\n", "")
    assert confidences(text) == [Confidence.MEDIUM]


def test_eval_switched_back_before_the_loop() -> None:
    expect_quiet(EVALUATE.replace("evaluate", "main").replace("model.eval()", "model.eval()\n    model.train()"))


def test_eval_in_another_branch() -> None:
    text = EVALUATE.replace("evaluate", "main").replace("model.eval()", "if freeze:\n        model.eval()")
    expect_quiet(text)


@pytest.mark.parametrize(("batches", "row"), [("for x in loader:", 6), ("with paddle.no_grad():", None)])
def test_a_loop_over_loaders_leaves_the_finding_to_the_loop_over_batches(batches: str, row: int | None) -> None:
    text = f"""\
    import paddle


    def evaluate(model, loader):
        model.eval()
        {batches}
            model(x)


    def evaluate_all(model, valid_loaders):
        for valid_loader in valid_loaders:
            evaluate(model, valid_loader)
    """
    assert [row for _, row, _ in places(text, RULE)] == ([] if row is None else [row])


def test_no_loop_no_finding() -> None:
    expect_quiet(
        """
        import paddle


        def predict(model, x):
            model.eval()
            return model(x).numpy()
        """
    )


@pytest.mark.parametrize(
    ("text", "is_parsed"),
    [
        ("for x in valid_loader:\n    model(x)", True),
        ("for x in loader:\n    net.eval()", True),
        ("def do_predict(loader):\n    for x in loader: model(x)", True),
        ("def \\\n    evaluate(loader):\n    for x in loader: model(x)", True),
        ("def train(loader):\n    for x in loader: model(x)", False),
        ("for x in values:\n    model(x)  # for dev", False),
    ],
)
def test_files_that_name_no_evaluation_are_not_parsed(text: str, is_parsed: bool) -> None:
    file = opened(sources(text)).files["train.py"]
    assert not evaluations(file)
    assert file.is_parsed == is_parsed


@pytest.mark.parametrize(
    "inside",
    [
        "loss.backward()",
        "paddle.grad(loss, x)",
        "paddle.autograd.jacobian(loss, x)",
        "optimizer.minimize(loss)",
        "scaler.step(optimizer)",
        "x.stop_gradient = False",
        "adversary.attack(x)",
        "norms.append(model.weight.grad.norm())",
        "trainer.train_step(x)",
        "tuner.fit(x)",
        "differentiate(model, x)",
    ],
)
def test_loops_that_need_gradients(inside: str) -> None:
    expect_quiet(
        f"""
        import paddle


        def differentiate(model, x):
            return paddle.grad(model(x), x)


        def evaluate(model, loader, criterion):
            model.eval()
            for x, y in loader:
                loss = criterion(model(x), y)
                {inside}
        """
    )


def test_parameters_that_are_frozen() -> None:
    frozen = "for parameter in model.parameters():\n        parameter.stop_gradient = True\n    model.eval()"
    expect_quiet(EVALUATE.replace("model.eval()", frozen))


@pytest.mark.parametrize(
    "made",
    [
        "paddle.jit.load('model')",
        "torch.load('model')",
        "sklearn.svm.SVC()",
        "paddle.inference.create_predictor(config)",
    ],
)
def test_models_that_are_not_trained_by_paddle(made: str) -> None:
    expect_quiet(
        f"""
        import paddle
        import sklearn.svm
        import torch


        def evaluate(loader):
            model = {made}
            for x, y in loader:
                metric.update(model(x), y.numpy())
        """
    )


@pytest.mark.parametrize(
    ("loop", "call", "confidence"),
    [
        ("for batch in batches", "model(**batch)", [Confidence.MEDIUM]),
        ("for i in range(0, len(data), 8)", "model(data[i : i + 8])", []),
        ("for i in range(3)", "model(state)", []),
        ("for i in range(1000)", "model(noise, i)", []),
        ("for name in ['a', 'b']", "model(name)", []),
        ("for epoch in range(3)", "model(load(epoch))", []),
        ("for batch in loader", "build_model(batch)", []),
        ("for batch in loader", "criterion(batch)", []),
        ("for sample in folder", "model(sample)", [Confidence.LOW]),
    ],
)
def test_what_counts_as_a_loop_over_batches(loop: str, call: str, confidence: list[Confidence]) -> None:
    text = f"import paddle\n\n\ndef predict(model, state, noise):\n    {loop}:\n        results.append({call})\n"
    assert confidences(text) == confidence


def test_batches_cut_out_of_the_data_by_a_counter() -> None:
    text = """
        import paddle


        def evaluate(model, data):
            for i in range(len(data) // 8):
                batch = data[i * 8 : (i + 1) * 8]
                results.append(model(batch).numpy())
        """
    assert confidences(text) == [Confidence.MEDIUM]


def test_nested_loops_are_one_finding_at_the_outer_one() -> None:
    expect_marked(
        """
        import paddle


        def evaluate(model, loader, scales):
            model.eval()
            for x, y in loader:  #: PPF601
                for scale in scales:
                    metric.update(model(x * scale).numpy(), y.numpy())
        """,
        RULE,
    )


def test_validation_inside_the_step_loop() -> None:
    expect_marked(
        """
        import paddle


        def train(model, loader, valid_loader, optimizer, criterion):
            for step, (x, y) in enumerate(loader):
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                if step % 100 == 0:
                    model.eval()
                    for x, y in valid_loader:  #: PPF601
                        metric.update(model(x).numpy(), y.numpy())
                    model.train()
        """,
        RULE,
    )


@pytest.mark.parametrize("path", ["tests/evaluate.py", "deploy/python/evaluate.py", "tools/export_model.py"])
def test_files_that_are_left_alone(path: str) -> None:
    expect_quiet({path: EVALUATE, "train.py": "import paddle\n"})


def test_torch_is_left_alone() -> None:
    expect_quiet(EVALUATE.replace("paddle", "torch"))


NETWORK = """\
import paddle
import paddle.nn.functional as F
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)

    def whole(self, x):
        return self(x)

    def part(self, x):
        return self.fc(x)

    def size(self, x):
        return len(x)


class Trainer:
    def __init__(self):
        self.model = Net()

    def check(self, loader):
        self.model.eval()
        for x in loader:
            self.model.part(x)
"""


@pytest.mark.parametrize("method", ["whole", "part"])
def test_a_method_of_the_model_that_runs_it(method: str) -> None:
    assert confidences(NETWORK.replace("model.part", f"model.{method}")) == [Confidence.HIGH]


def test_a_method_of_the_model_that_runs_no_layer() -> None:
    expect_quiet(NETWORK.replace("model.part", "model.size"))


@pytest.mark.parametrize("method", ["loss", "compute_loss", "encode", "extract_feat", "get_user_feature", "test_step"])
def test_a_method_whose_name_says_that_it_runs_the_model(method: str) -> None:
    assert confidences(EVALUATE.replace("model(x)", f"model.{method}(x)")) == [Confidence.MEDIUM]


@pytest.mark.parametrize("method", ["generate", "predict", "state_dict", "update", "count_features"])
def test_a_method_that_may_do_anything(method: str) -> None:
    expect_quiet(EVALUATE.replace("model(x)", f"model.{method}(x)"))


def test_a_loop_that_only_looks_at_its_first_batch() -> None:
    expect_quiet(EVALUATE.replace("evaluate", "main") + "        break\n")
    assert confidences(EVALUATE + "        break\n") == [Confidence.HIGH]


STEP_OF_A_TRAINER = """\
import paddle


class Trainer:
    def __init__(self, model):
        self.model = model

    def evaluate(self, loader):
        self.model.eval()
        for batch in loader:
            self.one_batch(batch)

    def one_batch(self, batch):
        return self.model.validation_step(batch)
"""


def test_a_step_that_a_trainer_hands_on_to_the_model() -> None:
    assert confidences(STEP_OF_A_TRAINER) == [Confidence.MEDIUM]


@pytest.mark.parametrize("step", ["self.model.next_step(batch)", "self.log.validation_step(batch)"])
def test_a_step_that_need_not_run_the_model(step: str) -> None:
    expect_quiet(STEP_OF_A_TRAINER.replace("self.model.validation_step(batch)", step))
