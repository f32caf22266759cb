"""PPF401 on saves every so many steps: which are told of, where from, and which are not."""

from __future__ import annotations

import pytest

from perflint.findings import Level
from tests.support import check, in_step, places

SAVE = "paddle.save(model.state_dict(), f'{step}')"


def _said(body: str) -> list[str]:
    """How often the saves of a step are said to be made."""
    return [finding.message.partition(" of the loop")[0].partition("disk ")[2] for finding in check(body, "PPF401")]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("step % 500 == 0", "every 500 steps"),
        ("step and not step % args.n and args.rank == 0", "every `args.n` steps (how many, the code does not say)"),
        ("step % args.n == 0 or step == len(loader) - 1", "every `args.n` steps (how many, the code does not say)"),
        ("np.mod(step, 100) == 0", "every 100 steps"),
    ],
)
def test_the_interval_is_that_of_the_test(test: str, said: str) -> None:
    assert _said(in_step(f"if {test}:\n    {SAVE}")) == [said]


def test_the_interval_of_a_test_with_a_name() -> None:
    assert _said(in_step(f"n = 50\ndue = step % n == 0\nif due:\n    {SAVE}")) == ["every `n` steps (50 by default)"]


def test_the_interval_of_what_notes_when_it_ran_last() -> None:
    text = in_step(f"if step // 100 != part:\n    part = step // 100\n    {SAVE}")
    assert _said(text.replace("    for step", "    part = -1\n    for step")) == ["every 100 steps"]


@pytest.mark.parametrize(
    "body",
    [
        f"if step == 5:\n    {SAVE}",
        f"if step == len(loader) - 1:\n    {SAVE}",
        f"if loss != loss:\n    {SAVE}",
        f"if args.debug and step % 10 == 0:\n    {SAVE}",
        f"if step % 10 == 0:\n    score = rate(model)\n    if score > args.least:\n        {SAVE}",
        f"if step % 10 == 0 and args.score > best:\n    {SAVE}",
        "if step % 10 == 0:\n    paddle.async_save(dict(model.state_dict()), f'{step}')",
    ],
)
def test_what_is_saved_once_or_for_a_reason_is_left_alone(body: str) -> None:
    assert check(in_step(body), "PPF401") == []


def test_one_finding_for_all_saves_that_are_made_together() -> None:
    ema = f"if args.ema:\n        {SAVE}"
    optimizer = "paddle.save(optimizer.state_dict(), 'b')"
    [finding] = check(in_step(f"if step % 10 == 0:\n    {SAVE}\n    {ema}\n    {optimizer}"), "PPF401")
    assert "(and 2 more here)" in finding.message


def test_helpers_are_followed_up_to_the_loop() -> None:
    files = {
        "store.py": "import paddle\n\n\ndef store(model, path):\n    paddle.save(model.state_dict(), path)\n",
        "train.py": "from store import store\n"
        + in_step("if step % 10 == 0:\n    keep(model)")
        + "\n\ndef keep(model):\n    store(model, 'a')\n",
    }
    [finding] = check(files, "PPF401")
    assert places(files, "PPF401") == [("store.py", 5, "PPF401")]
    assert "every 10 steps of the loop at train.py:8, through train.py:14, train.py:18" in finding.message
    assert finding.fix is not None
    assert (finding.fix.level, finding.fix.edits) == (Level.DISPLAY, ())


def test_a_test_in_the_helper_counts() -> None:
    helper = "\n\ndef keep(model, step):\n    if step % 10:\n        return\n    paddle.save(model.state_dict(), 'a')\n"
    assert _said(in_step("keep(model, step)") + helper) == ["every 10 steps"]


EPOCHS = """\
import paddle


def train(model, batches, optimizer):
    for epoch in range(9):
        for step in range({steps}):
            loss = model(next(batches)).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        paddle.save(model.state_dict(), f"{{epoch}}")
"""


def test_an_epoch_of_few_steps() -> None:
    assert _said(EPOCHS.format(steps=20)) == ["after each pass, of 20 steps,"]
    assert _said(EPOCHS.format(steps=20_000)) == []
    assert _said(EPOCHS.format(steps="args.steps")) == []


def test_the_fix_speaks_of_a_path_that_is_written_over() -> None:
    over, fresh = (
        finding.fix.reason
        for path in ("'a'", "f'{step}'")
        for finding in check(in_step(f"if step % 10 == 0:\n    paddle.save(model.state_dict(), {path})"), "PPF401")
        if finding.fix is not None
    )
    assert "os.replace" in over
    assert "os.replace" not in fresh


def test_a_model_that_saves_itself() -> None:
    assert _said(in_step("if step % 10 == 0:\n    model.save_pretrained('a')")) == ["every 10 steps"]
    assert check(in_step("if step % 10 == 0:\n    tokenizer.save_pretrained('a')"), "PPF401") == []


def test_no_edit_of_one_among_saves_that_are_made_together() -> None:
    both = f"if step % 10 == 0:\n    {SAVE}\n    paddle.save(optimizer.state_dict(), 'b')"
    [finding] = check(in_step(both), "PPF401")
    assert finding.fix is not None and not finding.fix.edits
    assert finding.fix.reason.endswith("it is one of several saves that are made together")


@pytest.mark.parametrize(
    ("helper", "is_offered"),
    [
        ("paddle.load('b')", False),
        ("args.net.load('b')", False),
        ("load_checkpoint('b')", False),
        ("shutil.copytree('a', 'b')", False),
        ("subprocess.run(['eval.sh'])", False),
        ("args.client.upload_file('b')", False),
        ("json.load(open('b'))", True),
        ("shutil.which('b')", True),
        ("print('b')", True),
    ],
)
def test_no_edit_where_a_function_that_the_loop_calls_loads_a_checkpoint(helper: str, is_offered: bool) -> None:
    body = f"if step % 10 == 0:\n    {SAVE}\nscore()"
    imports = "import json\nimport shutil\nimport subprocess\n"
    text = imports + in_step(body) + f"\n\ndef score():\n    return again()\n\n\ndef again():\n    return {helper}\n"
    [finding] = check(text, "PPF401")
    assert finding.fix is not None
    assert bool(finding.fix.edits) is is_offered


@pytest.mark.parametrize(
    ("after", "is_offered"),
    [("publish(folder)", False), ("publish(where=folder)", False), ("print(folder)", True), ("publish(step)", True)],
)
def test_no_edit_where_the_folder_of_the_file_is_handed_on(after: str, is_offered: bool) -> None:
    save = "paddle.save(model.state_dict(), folder + '/model')"
    [finding] = check(in_step(f"if step % 10 == 0:\n    folder = f'out/{{step}}'\n    {save}\n    {after}"), "PPF401")
    assert finding.fix is not None
    assert bool(finding.fix.edits) is is_offered


TRAINER = """\
import paddle


class Trainer:
    def __init__(self, {given}):
        self.freq = {kept}

    def train(self, model, loader, optimizer):
        for step, (x, y) in enumerate(loader):
            loss = paddle.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            if step % self.freq == 0:
                paddle.save(model.state_dict(), str(step))
"""


def test_the_interval_of_an_option_that_an_object_keeps() -> None:
    main = """
    import argparse

    from trainer import Trainer


    def checked(args):
        print(args)
        return args


    def parse():
        parser = argparse.ArgumentParser()
        parser.add_argument("--freq", type=int, default=70)
        return checked(parser.parse_args())


    def main():
        args = parse()
        Trainer(args).train(None, None, None)
    """
    [finding] = check({"trainer.py": TRAINER.format(given="args", kept="args.freq"), "main.py": main}, "PPF401")
    assert "every `self.freq` steps (70 by default)" in finding.message


def test_what_a_call_hands_over_goes_before_the_default_of_the_parameter() -> None:
    text = TRAINER.format(given="freq=200", kept="freq") + "\n\n"
    [one] = check(text + "Trainer(70).train(None, None, None)\n", "PPF401")
    assert "every `self.freq` steps (70 by default)" in one.message
    [several] = check(text + "Trainer(70).train(None, None, None)\nTrainer(80).train(None, None, None)\n", "PPF401")
    assert "every `self.freq` steps (how many, the code does not say)" in several.message
