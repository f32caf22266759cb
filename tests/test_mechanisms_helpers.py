"""Helpers that a step calls, in its own file and in others, run at each step; others of their name do not."""

from __future__ import annotations

import pytest

from tests.step_loops import expect_loop_named, loop_row, train
from tests.support import check, expect_reads, in_step

# --- functions and methods of the same file


def test_a_function_of_the_same_file() -> None:
    expect_reads(
        """
        import paddle
        import paddle.nn.functional as F


        def accuracy_of(logits, labels):
            correct = (logits.argmax(axis=-1) == labels).astype("float32").mean()
            return correct.item()  #: PPF201


        def summary_of(logits, labels):
            correct = (logits.argmax(axis=-1) == labels).astype("float32").mean()
            return correct.item()


        def train_one_epoch(model, loader, optimizer, history):
            for images, labels in loader:
                logits = model(images)
                loss = F.cross_entropy(logits, labels)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                history.append(accuracy_of(logits, labels))
            history.append(summary_of(logits, labels))
        """
    )


def test_a_function_that_a_called_function_calls() -> None:
    expect_reads(
        train(
            "report(step, loss)",
            """
            def as_number(value):
                return float(value)  #: PPF201


            def line_of(step, value):
                return "step %d loss %.4f" % (step, as_number(value))


            def report(step, value):
                print(line_of(step, value))  #: PPF405
            """,
        )
    )


def test_a_function_however_many_calls_below_the_step() -> None:
    between = "".join(f"def report{at}(value):\n    return report{at + 1}(value)\n\n\n" for at in range(12))
    expect_reads(train("report0(loss)", between + "def report12(value):\n    return float(value)  #: PPF201\n"))


def test_methods_of_the_trainer() -> None:
    expect_reads(
        """
        import paddle


        class Trainer:
            def __init__(self, model, optimizer, criterion):
                self.model, self.optimizer, self.criterion = model, optimizer, criterion
                self.losses = []

            def fit(self, loader, epochs):
                self._announce(paddle.zeros([1]))
                for epoch in range(epochs):
                    for images, labels in loader:
                        loss = self._forward_backward(images, labels)
                        self._record(loss)
                    self._end_of_epoch(loss)

            def _forward_backward(self, images, labels):
                loss = self.criterion(self.model(images), labels)
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                return loss

            def _record(self, loss):
                self.losses.append(loss.item())  #: PPF201

            def _end_of_epoch(self, loss):
                print("last loss", loss.item())

            def _announce(self, loss):
                print("first loss", loss.item())
        """
    )


# --- helpers in other files

HOT_HELPER = """\
def note(value):
    print("loss", value.item())  #: PPF202
"""
COLD_HELPER = HOT_HELPER.replace("  #: PPF202", "")


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from vision.utils.log import note", "note(loss)"),
        ("from vision.utils import note", "note(loss)"),
        ("from vision import utils", "utils.note(loss)"),
        ("from vision.utils import log", "log.note(loss)"),
        ("import vision.utils.log", "vision.utils.log.note(loss)"),
        ("import vision.utils as helpers", "helpers.note(loss)"),
        ("from ..utils.log import note", "note(loss)"),
        ("from ..utils import note as remember", "remember(loss)"),
        ("from ..utils import *", "note(loss)"),
        ("from .. import utils", "utils.note(loss)"),
        ("from ..utils import log as _log", "_log.note(loss)"),
        ("from vision import note", "note(loss)"),
        ("import vision", "vision.utils.log.note(loss)"),
    ],
)
def test_a_helper_of_the_package(imports: str, call: str) -> None:
    files = {
        "setup.py": "",
        "vision/__init__.py": "from .utils import note\n",
        "vision/engine/__init__.py": "",
        "vision/engine/trainer.py": train(call, imports),
        "vision/utils/__init__.py": "from .log import note\n",
        "vision/utils/log.py": HOT_HELPER,
        "vision/utils/other.py": COLD_HELPER,
    }
    expect_reads(files)
    expect_loop_named(files, "vision/utils/log.py", "vision/engine/trainer.py")


@pytest.mark.parametrize(
    "imports",
    [
        "from other_package import note",
        "from vision.utils.other import note as unused\n\ndef note(value):\n    return value",
        "from vision.utils import log",
    ],
)
def test_a_helper_with_the_same_name_elsewhere_is_left_alone(imports: str) -> None:
    expect_reads(
        {
            "setup.py": "",
            "vision/__init__.py": "",
            "vision/engine/trainer.py": train("note(loss)", imports),
            "vision/utils/__init__.py": "",
            "vision/utils/log.py": COLD_HELPER,
            "vision/utils/other.py": COLD_HELPER,
        }
    )


def test_a_package_that_is_checked_without_what_is_beside_it() -> None:
    expect_reads(
        {
            "vision/__init__.py": "",
            "vision/engine/__init__.py": "",
            "vision/engine/trainer.py": train("note(loss)", "from vision.utils.log import note"),
            "vision/utils/__init__.py": "",
            "vision/utils/log.py": HOT_HELPER,
        }
    )


def test_a_message_names_the_loop_and_the_call() -> None:
    files = {
        "tools/train.py": train("recorder.note(step, loss)", "from core import recorder\n"),
        "core/__init__.py": "",
        "core/recorder.py": "def note(step, loss):\n    print(step, loss.item())\n",
    }
    (finding,) = check(files, "PPF202")
    assert finding.path == "core/recorder.py"
    row = loop_row(files["tools/train.py"])
    assert f"tools/train.py:{row}" in finding.message
    assert f"tools/train.py:{row + 5}" in finding.message
    assert [(item.path, item.line) for item in finding.related] == [
        ("tools/train.py", row + 5),
        ("tools/train.py", row),
    ]


@pytest.mark.parametrize(
    ("helper", "call", "shown"),
    [
        (COLD_HELPER, "note(loss)", True),
        (COLD_HELPER, "if step % 10 == 0:\n    note(loss)", False),
        (COLD_HELPER, "step % 10 or note(loss)", False),
        ("def note(value):\n    return value * 2\n", "note(loss)", False),
        ("def note(value):\n    return value.item()\n", "note(0.5)", False),
    ],
)
def test_a_call_in_the_loop_points_to_the_read_in_another_file(helper: str, call: str, shown: bool) -> None:
    text = train(call, "from log import note")
    at_the_call = [item for item in check({"log.py": helper, "train.py": text}, "PPF201") if item.path == "train.py"]
    assert [f"log.py:{helper.count(chr(10))}" in item.message for item in at_the_call] == ([True] if shown else [])


NEEDED = """
import paddle


def compute(model, x, y, seen):
    loss = paddle.nn.functional.cross_entropy(model(x), y)
    seen.append(loss.item())
    return loss


class Averaged:
    def step(self, value):
        self.last = value.item()
"""


@pytest.mark.parametrize(
    ("lines", "places"),
    [
        (["other = compute(model, x, y, seen)", "loss = model(x, y).mean()"], {"needed.py", "train.py"}),
        (["loss = compute(model, x, y, seen)"], {"needed.py"}),
        (["loss = model(x, y).mean()", "averaged.step(loss)"], {"needed.py"}),
    ],
)
def test_what_each_step_needs_is_not_shown_at_the_call(lines: list[str], places: set[str]) -> None:
    """The loss is made, and the optimizer's step taken, at each step: the read in there is what can go."""
    rows = [
        *("from needed import Averaged, compute", "", ""),
        *("def train(model, loader, optimizer, seen):", "    averaged = Averaged()", "    for x, y in loader:"),
        *(f"        {line}" for line in [*lines, "loss.backward()", "optimizer.step()", "optimizer.clear_grad()"]),
    ]
    found = check({"needed.py": NEEDED, "train.py": "\n".join(["import paddle", *rows]) + "\n"}, "PPF201")
    assert {item.path for item in found} == places


def test_a_call_of_a_helper_beside_it_is_not_shown_twice() -> None:
    text = train("note(loss)", f"\n\n{COLD_HELPER}")
    assert [item.code for item in check(text, "PPF201", "PPF202")] == ["PPF202"]


def test_a_finding_beside_the_loop_names_its_row() -> None:
    text = train("print(step, loss.item())")
    (finding,) = check({"tools/train.py": text}, "PPF202")
    assert f"line {loop_row(text)}" in finding.message


CONVERT = """\
def convert(value, kind):
    if kind == "tensor":
        return value
    if kind == "number":
        return value.item()
    return value.numpy()


def through(value, kind="tensor"):
    return convert(value, kind)


"""


@pytest.mark.parametrize(
    ("calls", "reads"),
    [
        (["convert(loss, 'tensor')"], {}),
        (["convert(loss, 'number')"], {"value.item()": 1}),
        (["convert(loss, 'tensor')", "convert(loss, 'number')"], {"value.item()": 2}),
        (["convert(loss, 'number')", "convert(loss, 'array')"], {"value.item()": 1, "value.numpy()": 2}),
        (["convert(loss, args.kind)"], {"value.item()": 1, "value.numpy()": 1}),
        (["convert(loss, 'tensor')", "convert(loss, args.kind)"], {"value.item()": 2, "value.numpy()": 2}),
        (["through(loss)"], {}),
        (["through(loss)", "through(loss, 'array')"], {"value.numpy()": 2}),
        (["through(loss, kind='number')"], {"value.item()": 1}),
    ],
)
def test_what_a_call_tells_decides_what_runs_in_it(calls: list[str], reads: dict[str, int]) -> None:
    """Each read is told with a call that leads there, not with one that hands over another constant."""
    text = CONVERT + in_step("\n".join(calls))
    first = text.splitlines().index(f"        {calls[0]}") + 1
    found = {}
    for finding in check(text, "PPF201"):
        rows = [place.line - first + 1 for place in finding.related if place.line >= first]
        found[text[finding.start : finding.end]] = rows[0]
    assert found == reads


def test_many_calls_that_tell_different_things_leave_nothing_out() -> None:
    calls = [*(f"convert(loss, 'kind {number}')" for number in range(12)), "convert(loss, 'number')"]
    text = CONVERT + in_step("\n".join(calls))
    assert {text[item.start : item.end] for item in check(text, "PPF201")} == {"value.item()", "value.numpy()"}


CHOOSE = """\
def choose(value, kind="tensor", verbose=False):
    shown = verbose and value.tolist()
    return value.item() if kind == "number" else value.numpy() if kind == "array" else value


"""


@pytest.mark.parametrize(
    ("calls", "reads"),
    [
        (["choose(loss)"], set()),
        (["choose(loss, 'number')"], {"value.item()"}),
        (["choose(loss, 'number')", "choose(loss, 'array')"], {"value.item()", "value.numpy()"}),
        (["choose(loss, verbose=True)"], {"value.tolist()"}),
        (["choose(loss, args.kind)"], {"value.item()", "value.numpy()"}),
    ],
)
def test_what_a_call_tells_decides_the_parts_of_an_expression(calls: list[str], reads: set[str]) -> None:
    text = CHOOSE + in_step("\n".join(calls))
    assert {text[item.start : item.end] for item in check(text, "PPF201") if item.start < len(CHOOSE)} == reads


def test_a_helper_in_another_file_reads_nothing_that_its_call_turns_off() -> None:
    imports = "import paddle\nfrom helper import choose\n"
    for kind, reads in (("tensor", 0), ("number", 1)):
        text = in_step(f"choose(loss, '{kind}')").replace("import paddle\n", imports, 1)
        found = check({"helper.py": CHOOSE, "train.py": text}, "PPF201")
        assert len([item for item in found if item.path == "train.py"]) == reads


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        # Numbers and arrays are no tensors.
        ("lr = 0.1 * step", set()),
        ("lr = np.zeros(3)", set()),
        ("lr = loss", {"value.item()"}),
    ],
)
def test_a_test_of_the_type_of_what_is_handed_over(given: str, reads: set[str]) -> None:
    helper = """\
import numpy as np


def note(value):
    if isinstance(value, paddle.Tensor):
        history.append(value.item())
    shown = [value.numpy() for _ in range(1) if isinstance(value, paddle.Tensor) and verbose]


"""
    text = helper.replace("    shown", "    return\n    shown") + in_step(f"{given}\nnote(lr)")
    assert {text[item.start : item.end] for item in check(text, "PPF201") if item.start < len(helper)} == reads


@pytest.mark.parametrize(
    ("after", "reads"),
    [
        # What follows sees a number.
        ("if isinstance(loss, paddle.Tensor):\n    loss = float(loss)\nnumbers.append(float(loss))", ["float(loss)"]),
        (
            "value = loss.item() if isinstance(loss, paddle.Tensor) else loss\nnumbers.append(float(value))",
            ["loss.item()"],
        ),
        ("value = loss if isinstance(loss, float) else loss.item()\nnumbers.append(float(value))", ["loss.item()"]),
        ("if isinstance(x, np.ndarray):\n    numbers.append(float(x))", []),
        ("if not isinstance(x, np.ndarray):\n    numbers.append(float(x))", ["float(x)"]),
        ("assert isinstance(x, (int, float))\nnumbers.append(float(x))", []),
        ("if paddle.is_tensor(x) or flag:\n    numbers.append(float(x))", ["float(x)"]),
        ("numbers += [float(v) for v in (loss, 1.0) if isinstance(v, float)]", []),
    ],
)
def test_what_a_test_of_a_type_says_of_the_value(after: str, reads: list[str]) -> None:
    text = "import numpy as np\n" + in_step(after)
    assert [text[item.start : item.end] for item in check(text, "PPF201")] == reads


LOGGER = """\
import paddle


class Console:
    def __init__(self, prefix):
        self.prefix = prefix

    def info(self, message, *values):
        print(self.prefix, message, *values){mark}

    def log(self, step):
        print(step, paddle.ones([1])){shows}


def tell(message):
    print(message){told}
"""


@pytest.mark.parametrize(
    ("lines", "mark", "told"),
    [
        ("logger.info('step', step)  #: PPF405", "", ""),
        ("logger.info('step', step)  #: PPF405\nlogger.info('more', step)  #: PPF405", "", ""),
        ("logger.info('loss', loss)  #: PPF202", "", ""),
        # What no log line calls, or one that is left on purpose, is reported where it is written.
        ("tell(step)", "", "  #: PPF405"),
        ("logger.info('step', step)  # noqa: PPF405", "  #: PPF405", ""),
        # A guard around the outer line guards both; it says nothing of a tensor that only the inner one shows.
        ("print(shown(step))  #: PPF405", "", ""),
        ("logger.log(step)  #: PPF405", "", ""),
    ],
)
def test_a_log_line_and_the_line_that_calls_it_are_one_finding(lines: str, mark: str, told: str) -> None:
    text = in_step(lines).replace("    for step", "    logger = Console('train')\n    for step", 1)
    shows = "  #: PPF202" if "logger.log(" in lines else ""
    shown = "\n\ndef shown(value):\n    print('shown')\n    return 1\n"
    expect_reads(
        {
            "train.py": "from console import Console, tell\n" + text + shown,
            "console.py": LOGGER.format(mark=mark, told=told, shows=shows),
        }
    )


# --- what is named for evaluation

METRICS = """
    import paddle


    class Result:
        def evaluate(self, output, target):
            self.mse = float(((output - target) ** 2).mean())  #: PPF201


    def train(model, loader, optimizer):
        for x, y in loader:
            out = model(x)
            loss = paddle.nn.functional.mse_loss(out, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            result = Result()
            result.evaluate(out.detach(), y)
    """


def test_metrics_of_the_outputs_of_a_step_are_a_part_of_it() -> None:
    expect_reads(METRICS)


@pytest.mark.parametrize("given", ["model, y", "out.detach(), loader", "out.detach()", "y.shape, 10"])
def test_an_evaluation_of_something_else_is_not(given: str) -> None:
    text = METRICS.replace("out.detach(), y)", f"{given})")
    assert not check(text.replace("output, target)", "output, target=0)"), "PPF201")
