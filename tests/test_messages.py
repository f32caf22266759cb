"""Messages: one sentence that names the loop, the call that leads there, and the other reads of the loop."""

from __future__ import annotations

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Related
from perflint.run import engine
from tests.support import Files, check, in_step, sources


def message(files: Files, code: str = "PPF201") -> str:
    found = [item for item in check(files) if item.code == code]
    return found[0].message


def test_the_loop_is_named_by_its_line() -> None:
    text = message(in_step("meter.update(loss.item())"))
    assert "`loss.item()`" in text
    assert "each step of the loop at line 7;" in text
    assert "more wait" not in text


def test_the_other_reads_of_the_loop_are_listed() -> None:
    text = in_step("a.update(loss.item())\nb.update(loss.numpy())\nprint(loss)\nprint(step)")
    found = check(text, "PPF2", "PPF4")
    assert [item.code for item in found] == ["PPF201", "PPF201", "PPF202", "PPF405"]
    assert "each step of the loop at line 7 (2 more waits in the same step: lines 13, 14)" in found[0].message
    assert "(2 more waits in the same step: lines 12, 14)" in found[1].message
    assert "(2 more waits in the same step: lines 12, 13)" in found[2].message
    assert "more wait" not in found[3].message


def test_one_other_read_is_singular_and_a_row_counts_once() -> None:
    found = check(in_step("a.update(loss.item(), loss.numpy())\nb.update(float(loss))"), "PPF201")
    assert "(1 more wait in the same step: line 13)" in found[0].message
    assert "(1 more wait in the same step: line 13)" in found[1].message
    assert "(1 more wait in the same step: line 12)" in found[2].message


def test_a_wait_in_a_lower_row_of_a_text_is_no_other_one() -> None:
    text = in_step('print(f"""\n{loss.item()}\n""")\nkept = x.item()')
    (found,) = check(text, "PPF202")
    assert "(1 more wait in the same step: line 15)" in found.message


@pytest.mark.parametrize(
    ("body", "others"),
    [
        ("if args.a:\n    p.update(loss.item())\nelse:\n    q.update(loss.item())", [0, 0]),
        ("if args.a:\n    p.update(loss.item())\nelif args.b:\n    q.update(loss.item())", [0, 0]),
        ("if args.a:\n    p.update(loss.item())\nif args.b:\n    q.update(loss.item())", [1, 1]),
        ("for a in args.all:\n    if a:\n        p.update(x.item())\n    else:\n        q.update(x.item())", [1, 1]),
        ("p.update(loss.item())\nif args.a:\n    q.update(loss.item())\nelse:\n    r.update(loss.item())", [1, 1, 1]),
    ],
)
def test_the_other_arm_of_a_test_does_not_run_in_the_same_step(body: str, others: list[int]) -> None:
    for found, count in zip(check(in_step(body), "PPF201"), others, strict=True):
        assert (f"({count} more wait" in found.message) == (count > 0)


def test_arms_count_on_the_way_to_a_helper() -> None:
    text = in_step("if args.a:\n    note(loss)\nelse:\n    seen.update(loss.item())")
    found = check(text.replace("def train", "def note(value):\n    value.item()\n\n\ndef train"), "PPF201")
    assert len(found) == 2
    assert not any("more wait" in item.message for item in found)


def test_many_reads_are_cut_short() -> None:
    found = check(in_step("a.update(loss.item())\n" * 9), "PPF201")
    assert "(8 more waits in the same step: lines 13, 14, 15, 16, 17, 18, ...)" in found[0].message


def test_reads_of_another_loop_are_another_matter() -> None:
    step = in_step("a.update(loss.item())")
    second = step.split("\n\n\n")[1].replace("train", "train_more")
    for found in check(f"{step}\n\n{second}", "PPF201"):
        assert "more wait" not in found.message


def test_another_file_is_named_by_its_path() -> None:
    files = {
        "train.py": in_step("note(loss)\na.update(loss.item())").replace(
            "import numpy", "from log import note\nimport numpy"
        ),
        "log.py": "def note(value):\n    value.item()\n",
    }
    in_log, call, in_train = check(files, "PPF201")
    assert "`note(loss)` reads the device in log.py:2" in call.message
    assert call.message.endswith("keep the values on the device, and call it every 10 steps.")
    assert in_log.path == "log.py"
    assert "each call reached from the loop at train.py:8 through train.py:13 (1 more wait" in in_log.message
    assert "(1 more wait in the same step: line train.py:14)" in in_log.message
    assert "each step of the loop at line 8 (1 more wait in the same step: line log.py:2)" in in_train.message
    assert in_log.related == (
        Related("train.py", 13, "called here, on the way from the loop"),
        Related("train.py", 8, "the step loop"),
    )
    assert in_train.related == (Related("train.py", 8, "the step loop"),)


def test_a_read_that_the_host_needs_is_told_once_where_it_is() -> None:
    """Its wait stays, so there is nothing to change at the call."""
    text = in_step("note(loss)").replace("import numpy", "from log import note\nimport numpy")
    for body, paths in (("value.item()", ["log.py", "train.py"]), ("assert value.item() < 9", ["log.py"])):
        assert [
            each.path for each in check({"train.py": text, "log.py": f"def note(value):\n    {body}\n"}, "PPF201")
        ] == paths


def test_what_goes_on_from_step_to_step_is_not_to_be_called_more_seldom() -> None:
    """The averages of the weights would come out otherwise."""
    text = in_step("ema.update()").replace("import numpy", "from ema import Average\nimport numpy")
    text = text.replace("    for step", "    ema = Average(model)\n    for step")
    average = "import paddle\n\n\nclass Average:\n    def __init__(self, model):\n        self.model = model\n"
    average += "    def update(self):\n        self.kept = paddle.ones([1]).numpy()\n"
    _, call = check({"train.py": text, "ema.py": average}, "PPF201")
    assert call.message.endswith("; keep the values on the device.")


@pytest.mark.parametrize(
    ("helper", "shown"),
    [
        ("if 'box' in data:\n        data['box'].item()", False),
        ("if value.ndim > 1 and 'box' in data:\n        value.item()", False),
        ("if 'box' in data:\n        value.item()\n    value.sum().item()", True),
        ("if 'box' in KEYS:\n        value.item()", True),
        ("if 'box' not in data:\n        value.item()", True),
    ],
)
def test_a_read_that_depends_on_a_key_is_not_announced_at_the_call(helper: str, shown: bool) -> None:
    files = {
        "train.py": "from align import align\n" + in_step("align(x, loss)"),
        "align.py": f"KEYS = []\n\n\ndef align(data, value):\n    {helper}\n",
    }
    found = engine.check(sources(files), Settings(join_lines=False, select=("PPF201",), min_confidence=Confidence.LOW))
    assert [item.path for item in found if item.path == "align.py"]
    [call] = [item for item in found if item.path == "train.py"]
    assert (call.confidence is Confidence.HIGH) is shown
    assert (call.confidence is Confidence.LOW) is not shown


def test_a_call_in_the_same_file_is_named_by_its_line() -> None:
    text = in_step("note(loss)") + "\n\ndef note(value):\n    value.item()\n"
    assert "each call reached from the loop at line 7 through line 12" in message(text)


def test_a_file_of_the_same_folder_goes_by_its_name() -> None:
    log = "def note(value):\n    value.item()\n"
    text = in_step("note(loss)\ntell(loss)")
    files = {
        "a/train.py": "from a.log import note\nfrom b.log import tell\n" + text,
        "a/log.py": log,
        "b/log.py": log.replace("note", "tell"),
    }
    near, far = (item for item in check(files, "PPF201") if item.path != "a/train.py")
    assert "from the loop at train.py:9 through train.py:14 (" in near.message
    assert "from the loop at a/train.py:9 through a/train.py:15 (" in far.message


EXPERIMENT = """\
class Experiment:
    def train(self):
        for step in range(100):
            self.train_batch()
"""
CHILD = """\
import paddle

from experiment import Experiment


class {name}(Experiment):
    def train_batch(self):
        loss = self.model(next(self.batches)).mean()
        loss.backward()
        self.optimizer.step()
        self.log(loss.item())
        self.record(float(loss))
"""


def test_the_reads_of_another_subclass_are_another_program() -> None:
    files = {"experiment.py": EXPERIMENT, "one.py": CHILD.format(name="One"), "two.py": CHILD.format(name="Two")}
    found = check(files, "PPF201")
    assert [item.path for item in found] == ["one.py", "one.py", "two.py", "two.py"]
    assert "each call reached from the loop at experiment.py:3 through experiment.py:4 (1 more wait" in found[0].message
    assert "(1 more wait in the same step: line 12)" in found[0].message
    assert "(1 more wait in the same step: line 11)" in found[3].message


def test_the_reads_of_two_helpers_belong_together() -> None:
    files = {
        "train.py": "from one import note\nfrom two import tell\n" + in_step("note(loss)\ntell(loss)"),
        "one.py": "def note(value):\n    value.item()\n",
        "two.py": "def tell(value):\n    value.item()\n",
    }
    found = [item for item in check(files, "PPF201") if item.path != "train.py"]
    assert [item.path for item in found] == ["one.py", "two.py"]
    assert "(1 more wait in the same step: line two.py:2)" in found[0].message
    assert "(1 more wait in the same step: line one.py:2)" in found[1].message


def test_a_step_function_known_by_its_name() -> None:
    text = """
        import paddle

        class Trainer:
            def train_batch(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                return loss.item()
        """
    assert "each call of the training step Trainer.train_batch" in message(text)
    assert check(text)[0].related == ()


def test_long_and_many_lined_code_is_shortened() -> None:
    found = check(
        in_step("meter.update((loss * one_long_name\n    + another_long_name - a_third_long_name).item())"), "PPF201"
    )
    [shown] = [item.message.split("`")[1] for item in found]
    assert len(shown) == 40
    assert "\n" not in shown
    assert shown.startswith("(loss * one_long_name + ")
    assert shown.endswith(".item()")


def test_braces_in_code_do_not_disturb() -> None:
    found: list[Finding] = check(in_step("print('{0} {x}'.format(loss, x={}), f'{{}}{loss}', {'a': {1}})"), "PPF202")
    assert len(found) == 1
    assert "`print(" in found[0].message


def test_settings_are_in_the_messages() -> None:
    text = "import paddle\npaddle.io.DataLoader(dataset, shuffle=True)\n"
    assert "num_workers=7" in check(text, default_workers=7)[0].message
