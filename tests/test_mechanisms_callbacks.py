"""Callbacks, and ``train_batch`` of a ``paddle.Model``, run at each step; their neighbours for epochs do not."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.support import check, expect_reads

# --- callbacks


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("import paddle", "paddle.callbacks.Callback"),
        ("import paddle\nfrom paddle.callbacks import Callback", "Callback"),
        ("import paddle\nfrom paddle.hapi.callbacks import Callback", "Callback"),
        ("import paddle\nfrom paddle import callbacks as cb", "cb.VisualDL"),
        ("import paddle\nfrom base import QuietCallback", "QuietCallback"),
    ],
)
def test_a_callback_of_the_high_level_api(imports: str, base: str) -> None:
    expect_reads(
        {
            "base.py": "import paddle\n\n\nclass QuietCallback(paddle.callbacks.Callback):\n    pass\n",
            "callbacks.py": f"""\
{imports}


class WeightLog({base}):
    def on_train_begin(self, logs=None):
        print("start")

    def on_train_batch_end(self, step, logs=None):
        weight = paddle.mean(self.model.network.weight)
        self.history.append(weight.item())  #: PPF201
        print("step", step)  #: PPF405
        if step % 10 == 0:
            print("step", step, weight.item())

    def on_epoch_end(self, epoch, logs=None):
        weight = paddle.mean(self.model.network.weight)
        print("epoch", epoch, weight.item())

    def on_eval_batch_end(self, step, logs=None):
        print("eval", step)
""",
        }
    )


def test_a_class_that_is_no_callback_but_has_its_methods() -> None:
    expect_reads(
        """
        import paddle


        class Replay:
            def on_train_batch_end(self, step, logs=None):
                print("step", step, paddle.mean(self.weight).item())
        """
    )


HOOKS = """\
class Hook:
    def on_step_end(self, step, loss):
        pass

    def on_epoch_end(self, epoch, loss):
        pass


class LossPrinter(Hook):
    def on_step_end(self, step, loss):
        print(step, loss.item()){mark}

    def on_epoch_end(self, epoch, loss):
        print(epoch, loss.item())


class Checkpoint(Hook):
    def on_step_end(self, step, loss):
        if step % 1000 == 0:
            print("saved", loss.item())


class HookList:
    def __init__(self, hooks):
        self.hooks = hooks

    def on_step_end(self, step, loss):
        for hook in self.hooks:
            hook.on_step_end(step, loss)

    def on_epoch_end(self, epoch, loss):
        for hook in self.hooks:
            hook.on_epoch_end(epoch, loss)
"""

HOOK_TRAINER = """\
import paddle
from hooks import Checkpoint, HookList, LossPrinter


class Trainer:
    def __init__(self, model, optimizer, hooks=None):
        self.model, self.optimizer = model, optimizer
        self.hooks = {hooks}

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for step, images in enumerate(loader):
                loss = self.model(images).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                {step_end}
            {epoch_end}
{more}
"""


def hook_project(hooks: str, step_end: str, epoch_end: str, more: str = "", mark: bool = True) -> dict[str, str]:
    return {
        "hooks.py": HOOKS.format(mark="  #: PPF202" if mark else ""),
        "train.py": HOOK_TRAINER.format(
            hooks=hooks, step_end=step_end, epoch_end=epoch_end, more=indent(dedent(more), "    ")
        ),
    }


EACH_STEP = "for hook in self.hooks: hook.on_step_end(step, loss)"
EACH_EPOCH = "for hook in self.hooks: hook.on_epoch_end(epoch, loss)"


@pytest.mark.parametrize(
    ("hooks", "step_end", "epoch_end", "more"),
    [
        ("[LossPrinter(), Checkpoint()]", EACH_STEP, EACH_EPOCH, ""),
        ("(Checkpoint(), LossPrinter())", EACH_STEP, EACH_EPOCH, ""),
        ("[LossPrinter(), *(hooks or [])]", EACH_STEP, EACH_EPOCH, ""),
        (
            "[LossPrinter(), Checkpoint()]",
            "for index, hook in enumerate(self.hooks): hook.on_step_end(step, loss)",
            EACH_EPOCH,
            "",
        ),
        ("[LossPrinter(), Checkpoint()]", "[hook.on_step_end(step, loss) for hook in self.hooks]", EACH_EPOCH, ""),
        (
            "HookList([LossPrinter(), Checkpoint()])",
            "self.hooks.on_step_end(step, loss)",
            "self.hooks.on_epoch_end(epoch, loss)",
            "",
        ),
        (
            "[LossPrinter(), Checkpoint()]",
            "self.step_end(step, loss)",
            EACH_EPOCH,
            "def step_end(self, step, loss):\n    for hook in self.hooks:\n        hook.on_step_end(step, loss)\n",
        ),
        (
            "[]\n        self.add_hook(Checkpoint())\n        self.add_hook(LossPrinter())",
            EACH_STEP,
            EACH_EPOCH,
            "def add_hook(self, hook):\n    self.hooks.append(hook)\n",
        ),
        ("[]\n        self.hooks.append(LossPrinter())", EACH_STEP, EACH_EPOCH, ""),
    ],
)
def test_a_list_of_callbacks(hooks: str, step_end: str, epoch_end: str, more: str) -> None:
    files = hook_project(hooks, step_end, epoch_end, more)
    expect_reads(files)
    (finding,) = check(files, "PPF202")
    row = next(row for row, line in enumerate(files["train.py"].splitlines(), 1) if "for step, images" in line)
    assert f"train.py:{row}" in finding.message


@pytest.mark.parametrize(
    ("hooks", "step_end", "epoch_end"),
    [
        ("[Checkpoint()]", EACH_STEP, EACH_EPOCH),
        ("[LossPrinter(), Checkpoint()]", "pass", EACH_EPOCH),
        ("HookList([LossPrinter()])", "pass", "self.hooks.on_epoch_end(epoch, loss)"),
        ("[LossPrinter()]", f"if step % 50 == 0:\n                    {EACH_STEP}", EACH_EPOCH),
    ],
)
def test_callbacks_that_are_not_called_at_each_step(hooks: str, step_end: str, epoch_end: str) -> None:
    expect_reads(hook_project(hooks, step_end, epoch_end, mark=False))


def test_a_list_of_callbacks_handed_to_the_trainer() -> None:
    files = hook_project("hooks", EACH_STEP, EACH_EPOCH)
    files["main.py"] = """\
        from hooks import LossPrinter
        from train import Trainer

        def main(model, optimizer, loader):
            trainer = Trainer(model, optimizer, hooks=[LossPrinter()])
            trainer.fit(loader, 10)
        """
    expect_reads(files)


# --- overrides of paddle.Model


def test_the_train_batch_of_a_model() -> None:
    expect_reads(
        """
        import paddle


        class Distiller(paddle.Model):
            def train_batch(self, inputs, labels=None, update=True):
                outputs = self.network(*inputs)
                loss = self._loss(outputs, *labels)
                loss.backward()
                self._optimizer.step()
                self._optimizer.clear_grad()
                return [loss.numpy()]  #: PPF201

            def eval_batch(self, inputs, labels=None):
                outputs = self.network(*inputs)
                return [self._loss(outputs, *labels).numpy()]

            def predict_batch(self, inputs):
                return [self.network(*inputs).numpy()]
        """
    )


def test_a_train_batch_that_leaves_the_work_to_paddle() -> None:
    expect_reads(
        """
        import paddle


        class Chatty(paddle.Model):
            def train_batch(self, inputs, labels=None, update=True):
                result = super().train_batch(inputs, labels, update)
                print("batch of", len(inputs))  #: PPF405
                return result


        class Server:
            def train_batch(self, queue):
                print("waiting for", len(queue))
        """
    )
