"""Step loops: which loops train, and what runs once per step rather than once per epoch."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from perflint.syntax import vocabulary
from perflint.syntax.names import Names
from perflint.syntax.scopes import FileScopes
from perflint.training import evidence
from tests.support import expect_marked, hot_rows


def loop_rows(text: str) -> list[int]:
    """Rows of the step loops of a text's first function, or of its module."""
    file = FileScopes(ast.parse(dedent(text).lstrip("\n")), Names("m"))
    scope = file.scopes[1] if len(file.scopes) > 1 else file.module
    return [loop.lineno for loop in evidence.step_loops(scope, lambda call: evidence.makes_step(call, True, False))]


@pytest.mark.parametrize(
    "body",
    [
        "loss.backward()",
        "loss.mean().backward()",
        "scaler.scale(loss).backward()",
        "optimizer.minimize(loss)",
        "scaler.minimize(optimizer, scaled)",
        "scaler.step(optimizer)",
        "trainer.train_iter()",
        "self.train_batch(x)",
        "gan.optimize_parameters()",
        "loss_scaler(loss, optimizer)",
        "optimizer.step()\n    optimizer.clear_grad(set_to_zero=False)",
        "optimizer.clear_gradients()\n    opt.step()",
        "opt.zero_grad()\n    accelerator.backward(loss)",
        "if ready:\n        loss.backward()",
        "with paddle.amp.auto_cast():\n        loss.backward()",
    ],
)
def test_what_makes_a_loop_train(body: str) -> None:
    assert loop_rows(f"for x in loader:\n    {body}\n") == [1]


@pytest.mark.parametrize(
    "body",
    [
        "scheduler.step()",
        "scheduler.step()\n    optimizer.clear_grad(set_to_zero=False)",
        "self.lr_scheduler.step()\n    x.clear_gradients()",
        "profiler.step()",
        "prof.step()",
        "pbar.step()",
        "optimizer.step()",
        "optimizer.clear_grad(set_to_zero=False)",
        "env.step(action)\n    loss.backward()",
        "learn()",
        "minimize(loss)",
        "backward(loss)",
        "super().backward(x)",
        "scaler.step()",
        "MinMaxScaler(values)",
        "def closure():\n        loss.backward()",
        "callback = lambda: loss.backward()",
    ],
)
def test_what_does_not(body: str) -> None:
    assert loop_rows(f"for x in loader:\n    {body}\n") == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("for epoch in range(9):\n    for x in loader:\n        loss.backward()\n", [2]),
        ("for epoch in range(9):\n    loss.backward()\n    opt.step()\n", []),
        ("while epoch < 9:\n    loss.backward()\n", []),
        ("while step < 9:\n    loss.backward()\n", [1]),
        ("for i in range(1000):\n    loss.backward()\n", [1]),
        ("for epoch, x in enumerate(loader):\n    loss.backward()\n", [1]),
        ("for x in loader:\n    for _ in range(5):\n        loss.backward()\n", [1]),
        (
            "for x in loader:\n    for opt in optimizers:\n"
            "        opt.step()\n        opt.clear_grad(set_to_zero=False)\n",
            [1],
        ),
        ("for x in loader:\n    loss.backward()\n    for p in params:\n        p.clear_grad(set_to_zero=False)\n", [1]),
        ("for split in splits:\n    for x in loader:\n        loss.backward()\n", [2]),
        ("for i in range(500):\n    for _ in range(n_critic):\n        loss.backward()\n    g.backward()\n", [1]),
        ("for x in a_loader:\n    x.backward()\nfor y in b_loader:\n    y.backward()\n", [1, 3]),
        ("for x in loader:\n    loss.backward()\n    with paddle.no_grad():\n        for y in z: f(y)\n", [1]),
        ("with paddle.no_grad():\n    for x in loader:\n        loss.backward()\n", []),
        ("while True:\n    for x in loader:\n        loss.backward()\n", [2]),
        (
            "for x in loader:\n    if i % 4 == 0:\n"
            "        opt.step()\n        opt.clear_grad(set_to_zero=False)\n    loss.backward()\n",
            [1],
        ),
        ("for x in loader:\n    pass\nelse:\n    loss.backward()\n", []),
    ],
)
def test_which_loop_is_the_step_loop(text: str, rows: list[int]) -> None:
    assert loop_rows(text) == rows


def test_async_and_while_loops_count_too() -> None:
    assert loop_rows("async def f():\n    async for x in loader:\n        loss.backward()\n") == [2]
    assert loop_rows("def f():\n    while True:\n        loss.backward()\n") == [2]


def test_epoch_code_is_not_step_code() -> None:
    expect_marked(
        """
        import paddle

        def train(model, loader, optimizer, scheduler, epochs):
            for epoch in range(epochs):
                total = paddle.zeros([1])
                print("start", total.item())
                for x in loader:
                    loss = model(x).mean()
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad(set_to_zero=False)
                    total += loss  #: PPF212
                scheduler.step()
                print(epoch, total.item())
                paddle.save(model.state_dict(), "last.pdparams")  #: PPF402
            print(total.item())
        """
    )


def test_what_a_loop_runs_over_is_evaluated_once() -> None:
    expect_marked(
        """
        import paddle

        def train(model, batches, optimizer, order):
            for i in order.numpy().tolist():
                for j in paddle.randperm(4).tolist():  #: PPF201
                    use(j)
                loss = model(batches[i]).mean()
                loss.backward()
                optimizer.step()
        """
    )


@pytest.mark.parametrize(
    "name",
    ["evaluate", "val", "valid_step", "test_epoch", "predict", "validate", "run_eval", "export_model", "sample_images"],
)
def test_functions_that_evaluate(name: str) -> None:
    assert vocabulary.is_no_training(name)


@pytest.mark.parametrize(
    "name", ["train", "train_and_eval", "update", "train_test_split", "step", "interval", "forward_value"]
)
def test_functions_that_do_not(name: str) -> None:
    assert not vocabulary.is_no_training(name)


def test_evaluation_called_from_the_step_loop_is_not_step_code() -> None:
    expect_marked(
        """
        import paddle

        @paddle.no_grad()
        def evaluate(model, loader):
            for x in loader:
                print(model(x).mean().item())

        def log_batch(loss):
            print(loss.item())  #: PPF202

        def train(model, loader, valid_loader, optimizer):
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
                evaluate(model, valid_loader)
                log_batch(loss)
        """
    )


def test_a_step_function_is_step_code_where_a_loop_calls_it() -> None:
    expect_marked(
        """
        import paddle

        def one_step(model, x, optimizer):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
            return loss.item()  #: PPF201

        def main(model, loader, optimizer):
            for x in loader:
                value = one_step(model, x, optimizer)
                print(value)  #: PPF405

        def once(model, x, optimizer):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            return loss.item()
        """
    )


def test_a_method_with_the_name_of_a_step_needs_no_loop_in_sight() -> None:
    expect_marked(
        """
        import paddle

        class Trainer:
            def train_batch(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                return loss.item()  #: PPF201

            def fit_batch(self, x):
                return self.model(x).item()

            def other(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                return loss.item()
        """
    )


def test_saliency_is_no_training() -> None:
    assert hot_rows(
        """
        import paddle

        def explain(model, loader):
            for x in loader:
                x.stop_gradient = False
                model(x).max().backward()
                print(x.grad.numpy())
        """
    ) == {"train.py": set()}


def test_static_graph_building_is_no_training() -> None:
    assert hot_rows(
        """
        import paddle
        paddle.enable_static()

        def build(losses, optimizer):
            for loss in losses:
                optimizer.minimize(loss)
                print(loss.name)
        """
    ) == {"train.py": set()}


def test_code_after_a_loop_over_a_few_critics_is_still_the_step() -> None:
    expect_marked(
        """
        import paddle

        def train(critic, generator, loader, d_opt, g_opt):
            for i, x in enumerate(loader):
                for _ in range(5):
                    d_loss = critic(x).mean()
                    d_loss.backward()
                    d_opt.step()
                    d_opt.clear_grad(set_to_zero=False)
                    print(d_loss.item())  #: PPF202
                g_loss = generator(x).mean()
                g_loss.backward()
                g_opt.step()
                g_opt.clear_grad(set_to_zero=False)
                print(g_loss.item())  #: PPF202
                if i % 100 == 0:
                    print(g_loss.item())
        """
    )


def test_module_level_loops_train_too() -> None:
    expect_marked(
        """
        import paddle

        model = paddle.nn.Linear(8, 8)
        optimizer = paddle.optimizer.SGD(parameters=model.parameters())
        for i in range(1000):
            loss = model(paddle.rand([4, 8])).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
            print(i, float(loss))  #: PPF202
        """
    )
