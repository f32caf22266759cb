"""PPF601: which loops evaluate with gradients on, who may have switched them off, and how the fix is written."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest

from perflint import engine
from perflint.findings import Confidence, Finding, Level
from perflint.index.project import Project
from perflint.settings import Settings
from tests.support import expect_marked, fixed, sources

RULE = "PPF601"
EVALUATE = """\
import paddle


def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        metric.update(model(x).numpy(), y.numpy())
"""


def found(files: Mapping[str, str] | str, gated: bool = True) -> list[Finding]:
    """The findings of the rule, the unsure ones included, which a gated and an ungated run must agree on."""
    settings = Settings(select=(RULE,), min_confidence=Confidence.LOW)
    findings = engine.check(sources(files), settings, gated=gated)
    if gated:
        assert findings == found(files, gated=False)
    return findings


def confidences(files: Mapping[str, str] | str) -> list[Confidence]:
    return [finding.confidence for finding in found(files)]


def only(files: Mapping[str, str] | str) -> Finding:
    """The one finding."""
    (finding,) = found(files)
    return finding


def expect_quiet(files: Mapping[str, str] | str) -> None:
    """The rule says nothing, not even with a low confidence."""
    assert [finding.message for finding in found(files)] == []


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
    "off",
    [
        "@paddle.no_grad()",
        "@paddle.no_grad",
        "@no_grad()",
        "@fluid.dygraph.no_grad()",
        "@paddle.fluid.dygraph.no_grad",
        "@paddle.autograd.no_grad()",
        "@run_once\n@paddle.no_grad()",
        "@without_gradients",
    ],
)
def test_decorators_that_switch_gradients_off(off: str) -> None:
    wrapper = """\
        import functools

        from paddle import fluid
        from paddle import no_grad


        def without_gradients(function):
            @functools.wraps(function)
            def wrapped(*args):
                with paddle.no_grad():
                    return function(*args)
            return wrapped


        """
    expect_quiet(dedent(wrapper) + EVALUATE.replace("def evaluate", f"{off}\ndef evaluate"))


@pytest.mark.parametrize(
    "guard",
    [
        "paddle.no_grad()",
        "fluid.dygraph.no_grad()",
        "solver.no_grad_context_manager()",
        "paddle.set_grad_enabled(False)",
        "paddle.amp.auto_cast(), paddle.no_grad()",
        "paddle.no_grad() if testing else nullcontext()",
        "quietly()",
        "switch",
    ],
)
def test_with_that_switches_gradients_off(guard: str) -> None:
    expect_quiet(
        f"""
        import contextlib
        import paddle

        switch = paddle.no_grad()


        @contextlib.contextmanager
        def quietly():
            with paddle.no_grad():
                yield


        def evaluate(model, loader):
            model.eval()
            with {guard}:
                for x, y in loader:
                    metric.update(model(x).numpy(), y.numpy())
        """
    )


def test_other_decorators_and_withs_do_not() -> None:
    expect_marked(
        """
        import paddle


        @timed
        def evaluate(model, loader):
            model.eval()
            with paddle.amp.auto_cast():
                for x, y in loader:  #: PPF601
                    metric.update(model(x).numpy(), y.numpy())
        """,
        RULE,
    )


def test_with_around_every_call_of_the_model_and_around_one() -> None:
    expect_marked(
        """
        import paddle


        def evaluate(model, loader):
            model.eval()
            for x, y in loader:
                with paddle.no_grad():
                    output = model(x)
                metric.update(output.numpy(), y.numpy())
            for x, y in loader:  #: PPF601
                with paddle.no_grad():
                    output = model(x)
                metric.update(model(output).numpy(), y.numpy())
        """,
        RULE,
    )


def test_gradients_switched_by_hand_anywhere_in_the_file() -> None:
    expect_quiet("import paddle\npaddle.set_grad_enabled(False)\n" + EVALUATE)
    expect_quiet(EVALUATE + "\n\nevaluate = paddle.no_grad()(evaluate)\n")


CALLER = """\
import paddle

from tools.evaluation import evaluate


def train(model, optimizer, loader, valid_loader):
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{call}
"""
HELD = "    with paddle.no_grad():\n        evaluate(model, valid_loader)"
OPEN = "    evaluate(model, valid_loader)"


@pytest.mark.parametrize(("calls", "findings"), [((HELD,), 0), ((HELD, HELD), 0), ((OPEN,), 1), ((HELD, OPEN), 1)])
def test_callers_in_other_files(calls: tuple[str, ...], findings: int) -> None:
    files = {"tools/evaluation.py": EVALUATE}
    files |= {f"train{number}.py": CALLER.format(call=call) for number, call in enumerate(calls)}
    assert len(found(files)) == findings


INFER = """\
import paddle

from engine import predict


def run(model, loader):
    {call}


if __name__ == "__main__":
    run(model, loader)
"""
PREDICT = EVALUATE.replace("evaluate", "predict")


def test_programs_that_only_predict() -> None:
    predict = INFER.format(call="predict(model, loader)")
    assert confidences({"predict.py": PREDICT}) == [Confidence.LOW]
    assert confidences({"engine.py": PREDICT, "tools/infer.py": predict}) == [Confidence.LOW]
    # One caller that trains, or that nothing is known of, and it is no longer certain.
    assert confidences({"engine.py": PREDICT}) == [Confidence.HIGH]
    assert confidences({"engine.py": PREDICT, "tools/infer.py": predict, "train.py": predict}) == [Confidence.HIGH]
    trains = CALLER.replace("tools.evaluation import evaluate", "engine import predict").format(
        call="    predict(model, valid_loader)"
    )
    assert confidences({"engine.py": PREDICT, "infer.py": predict, "train.py": trains}) == [Confidence.HIGH]


def test_file_that_is_named_for_prediction_but_trains() -> None:
    trains = CALLER.replace("from tools.evaluation import evaluate", "").format(call="    predict(model, valid_loader)")
    assert confidences({"predict_stock.py": PREDICT + "\n\n" + trains}) == [Confidence.HIGH]


def test_method_that_only_a_prediction_script_calls() -> None:
    method = METHOD.replace("def evaluate", "def predict")
    script = "from engine import Evaluator\n\n\ndef main(loader):\n    {}\n    trainer.predict(loader)\n"
    chosen = "trainer = Evaluator() if flag else Other()"
    assert confidences({"engine.py": method, "tools/infer.py": script.format(chosen)}) == [Confidence.LOW]
    assert confidences({"engine.py": method, "tools/main.py": script.format(chosen)}) != [Confidence.LOW]


def test_caller_of_the_caller() -> None:
    run = "\n\ndef run(model, loader):\n    evaluate(model, loader)\n"
    train = CALLER.replace("import evaluate", "import run").format(call=HELD.replace("evaluate", "run"))
    expect_quiet({"tools/evaluation.py": EVALUATE + run, "train.py": train})
    assert len(found({"tools/evaluation.py": EVALUATE + run, "train.py": train.replace("no_grad", "guard")})) == 1


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
    file = Project(sources(text)).files["train.py"]
    assert not file.evaluations
    assert file.is_parsed == is_parsed


METHOD = """\
import paddle


class Evaluator:
    def evaluate(self, loader):
        self.model.eval()
        for x, y in loader:
            self.metric.update(self.model(x).numpy(), y.numpy())
"""


def test_method_called_on_an_object_of_unknown_type() -> None:
    held = "import paddle\n\n\ndef run(given, loader):\n    with paddle.no_grad():\n        given.evaluate(loader)\n"
    expect_quiet({"evaluator.py": METHOD, "run.py": held})
    # A method that takes other arguments is another method.
    other = held.replace("(loader)", "(loader, 1, 2, 3)")
    assert len(found({"evaluator.py": METHOD, "run.py": other})) == 1


@pytest.mark.parametrize(("between", "findings"), [(0, 0), (1, 0), (2, 1)])
def test_calls_that_are_known_by_name_alone_are_followed_twice(between: int, findings: int) -> None:
    names = ["evaluate", *(f"run{number}" for number in range(between))]
    steps = [
        f"class Step{number}:\n    def run{number}(self, given):\n        given.{names[number]}(1)\n"
        for number in range(between)
    ]
    held = f"import paddle\n\n\ndef main(given):\n    with paddle.no_grad():\n        given.{names[-1]}(1)\n"
    assert len(found({"evaluator.py": METHOD, "steps.py": "\n\n".join(steps), "main.py": held})) == findings


def test_template_method_of_a_base_class() -> None:
    base = """\
        import paddle


        class Base:
            def run(self):
                with paddle.no_grad():
                    self.evaluate(self.loader)

            def evaluate(self, loader):
                raise NotImplementedError
        """
    child = METHOD.replace("import paddle\n", "import paddle\n\nfrom base import Base\n").replace(
        "class Evaluator:", "class Evaluator(Base):"
    )
    expect_quiet({"base.py": base, "evaluator.py": child})


def test_function_that_is_chosen_by_name_at_run_time() -> None:
    """It is imported, and called by no name that can be seen: whoever calls it may hold no_grad."""
    package = {"tools/evaluation.py": EVALUATE, "tools/__init__.py": "from tools.evaluation import evaluate\n"}
    assert confidences(package) == [Confidence.LOW]


def test_helper_in_another_file_runs_the_model() -> None:
    helper = """\
        import paddle


        def infer(model, batch):
            x = paddle.to_tensor(batch[0])
            return model(x)
        """
    caller = """\
        import paddle

        from helper import infer


        def evaluate(model, loader):
            for batch in loader:
                metric.update(infer(model, batch).numpy())
        """
    assert confidences({"helper.py": helper, "evaluation.py": caller}) == [Confidence.MEDIUM]
    guarded = dedent(helper).replace("def infer", "@paddle.no_grad()\ndef infer")
    expect_quiet({"helper.py": guarded, "evaluation.py": caller})
    inside = dedent(helper).replace("    return model(x)", "    with paddle.no_grad():\n        return model(x)")
    expect_quiet({"helper.py": inside, "evaluation.py": caller})


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


# -- fixes -----------------------------------------------------------------------------------------------------------


def fix_of(text: str) -> tuple[str, Level]:
    fix = only(text).fix
    assert fix is not None
    return fixed(text, RULE, level=Level.UNSAFE), fix.level


def test_both_loops_of_a_function_get_one_decorator() -> None:
    text = EVALUATE + "    for x, y in loader:\n        metric.update(model(x).numpy(), y.numpy())\n"
    assert len(found(text)) == 2
    assert fixed(text, RULE) == text.replace("def evaluate", "@paddle.no_grad()\ndef evaluate")


@pytest.mark.parametrize("decorator", ["@staticmethod", "@property", "@classmethod", "@staticmethod\n    # a note"])
def test_decorator_goes_below_others(decorator: str) -> None:
    text = METHOD.replace("    def evaluate", f"    {decorator}\n    def evaluate")
    result, level = fix_of(text)
    assert level is Level.SAFE
    assert result == text.replace("    def evaluate", "    @paddle.no_grad()\n    def evaluate")


def test_loop_is_wrapped_where_a_decorator_is_not_known() -> None:
    text = EVALUATE.replace("def evaluate", "@registry.register('eval')\ndef evaluate")
    result, level = fix_of(text)
    assert level is Level.SAFE
    assert result.endswith(
        """\
    model.eval()
    with paddle.no_grad():
        for x, y in loader:
            metric.update(model(x).numpy(), y.numpy())
"""
    )


def test_function_that_also_trains_gets_its_loop_wrapped() -> None:
    result, level = fix_of(EVALUATE + "    tuner.fit(model)\n")
    assert level is Level.SAFE
    assert "    with paddle.no_grad():\n        for x, y in loader:\n" in result
    assert "@" not in result


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("import paddle", "@paddle.no_grad()"),
        ("import paddle as pd", "@pd.no_grad()"),
        ("import paddle.nn as nn\nfrom paddle import no_grad", "@no_grad()"),
        ("import paddle.nn.functional", "@paddle.no_grad()"),
    ],
)
def test_spelling_follows_the_imports(imports: str, decorator: str) -> None:
    text = EVALUATE.replace("import paddle", imports)
    assert fix_of(text)[0] == text.replace("def evaluate", f"{decorator}\ndef evaluate")


def test_missing_import_is_added() -> None:
    text = EVALUATE.replace("import paddle", "from paddle import nn")
    result = text.replace("nn\n", "nn\nimport paddle\n", 1).replace("def evaluate", "@paddle.no_grad()\ndef evaluate")
    assert fix_of(text)[0] == result


def test_import_inside_a_function_does_not_count() -> None:
    text = EVALUATE.replace("import paddle\n\n\n", "").replace(
        "    model.eval()", "    import paddle\n\n    model.eval()"
    )
    assert fix_of(text)[0] == "import paddle\n" + text.replace("def evaluate", "@paddle.no_grad()\ndef evaluate")


def test_name_that_is_taken_is_left_to_a_person() -> None:
    text = EVALUATE.replace("import paddle", "from paddle import nn\nfrom games import paddle")
    fix = only(text).fix
    assert fix is not None
    assert fix.level is Level.DISPLAY


def test_result_that_a_caller_differentiates_makes_the_fix_unsafe() -> None:
    text = """
        import paddle


        def predict(model, loader):
            return sum(model(x).mean() for x in loader), [model(x) for x in loader]


        def test_loss(model, loader):
            total = 0
            for x in loader:
                total = total + model(x).mean()
            return total


        def train(model, loader, optimizer):
            for batch in loader:
                loss = test_loss(model, [batch])
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    finding = only(text)
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE
    assert "backward pass" in finding.fix.reason


def test_loss_of_the_loop_that_is_differentiated_after_it() -> None:
    text = """
        import paddle


        def train(model, loader, valid_loader, optimizer, criterion):
            model.eval()
            for x, y in valid_loader:
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        """
    finding = only(text)
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE


def test_wrapped_loop_keeps_strings_comments_and_tabs() -> None:
    text = (
        "import paddle\n\n\ndef main(model, loader):\n\tmodel.eval()\n\tfor x, y in loader:  # all\n"
        "\t\t# a batch\n\t\tmetric.update(model(x).numpy(), '''\nleft\n\tright''')\n\n"
        "\t\t# the end\n\t# after\n\tmodel.train()\n"
    )
    assert fix_of(text) == (
        "import paddle\n\n\ndef main(model, loader):\n\tmodel.eval()\n\twith paddle.no_grad():\n"
        "\t\tfor x, y in loader:  # all\n\t\t\t# a batch\n"
        "\t\t\tmetric.update(model(x).numpy(), '''\nleft\n\tright''')\n\n\t\t\t# the end\n\t# after\n\tmodel.train()\n",
        Level.SAFE,
    )
