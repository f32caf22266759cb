"""PPF601: who may have switched the gradients of an evaluation off, around it or by calling it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.findings import Confidence
from tests.evaluation_samples import EVALUATE, METHOD, RULE, confidences, expect_quiet, found
from tests.support import check, expect_marked


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
    files = {"evaluator.py": METHOD, "steps.py": "\n\n".join(steps), "main.py": held}
    assert confidences(files) == [Confidence.LOW] * findings


METRIC = """\
from evaluation import evaluate


class Score:
    def update(self, model, loader):
        evaluate(model, loader)
"""


@pytest.mark.parametrize(
    ("held", "others", "expected"),
    [
        ("paddle.no_grad()", 0, []),
        ("timer()", 0, [Confidence.HIGH]),
        ("timer()", 40, [Confidence.LOW]),  # too many calls of that name to say which of them is meant
    ],
)
def test_calls_that_begin_in_a_method_of_an_object_of_unknown_class(
    held: str, others: int, expected: list[Confidence]
) -> None:
    calls = "".join(f"\n\ndef other{number}(given):\n    given.update(1, 2)\n" for number in range(others))
    main = f"import paddle\n\n\ndef main(metrics):\n    with {held}:\n        begin(metrics)\n"
    begin = "\n\ndef begin(metrics):\n    for metric in metrics:\n        metric.update(1, 2)\n"
    files = {"evaluation.py": EVALUATE, "metric.py": METRIC, "main.py": main + begin + calls}
    assert confidences(files) == expected


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


@pytest.mark.parametrize(("package", "is_reported"), [("g2pM", False), ("paddlespeech", True)])
def test_a_model_of_another_package_is_not_run_with_gradients(package: str, is_reported: bool) -> None:
    text = f"""
import paddle
from {package} import Model


class Frontend:
    def __init__(self):
        self.text_model = Model()

    def ids(self, text):
        return paddle.to_tensor(self.text_model(text))


def evaluate(net, texts):
    net.eval()
    front = Frontend()
    for text in texts:
        ids = front.ids(text)
        with paddle.no_grad():
            print(net(ids).numpy())
"""
    assert bool(check(text, RULE)) is is_reported
