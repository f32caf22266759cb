"""Code that reads tensors for a living: evaluation, inference, export, tests, rollouts, timing and runs on the CPU.

Each of these is quiet, and the same code is not where nothing says that it is one of them.
"""

from __future__ import annotations

import pytest

from tests.support import expect_reads

TRAIN = """\
import time

import numpy as np
import paddle
import paddle.nn.functional as F
{imports}

def {name}(model, loader, optimizer, args):
    values = []
    for step, (images, labels) in enumerate(loader):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        values.append(loss.item()){mark}
    return values
"""
MARK = "  #: PPF201"


def train(mark: bool, name: str = "train", imports: str = "") -> str:
    return TRAIN.format(name=name, imports=imports, mark=MARK if mark else "")


# --- evaluation

EVALUATION = """\
import paddle
import paddle.nn.functional as F


{decorator}
def {name}(model, loader):
    total = 0.0
    for images, labels in loader:
        total += F.cross_entropy(model(images), labels).item()
        print("accuracy", paddle.metric.accuracy(model(images), labels).item())
    return total / len(loader)


def train(model, loader, valid_loader, optimizer):
    for step, (images, labels) in enumerate(loader):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {call}
    print({name}(model, valid_loader))
"""


NAMED = ["evaluate", "validate", "run_eval", "test_epoch", "val_one_epoch", "predict_all"]


@pytest.mark.parametrize("name", NAMED)
def test_evaluation_by_its_name(name: str) -> None:
    expect_reads(EVALUATION.format(decorator="", name=name, call=f"value = {name}(model, valid_loader)"))


@pytest.mark.parametrize(
    ("decorator", "name"),
    [
        *(("", name) for name in NAMED),
        ("@paddle.no_grad()", "score"),
        ("@paddle.no_grad()", "evaluate"),
        ("@paddle.no_grad", "compute_metrics"),
    ],
)
@pytest.mark.parametrize("call", ["pass", "if step % 1000 == 0:\n            value = {name}(model, valid_loader)"])
def test_evaluation_now_and_then(decorator: str, name: str, call: str) -> None:
    expect_reads(EVALUATION.format(decorator=decorator, name=name, call=call.format(name=name)))


def test_evaluation_with_a_loop_of_its_own_in_the_training_function() -> None:
    expect_reads(
        """
        import paddle
        import paddle.nn.functional as F


        def train(model, loader, valid_loader, optimizer, epochs):
            for epoch in range(epochs):
                model.train()
                for images, labels in loader:
                    loss = F.cross_entropy(model(images), labels)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    print(loss.item())  #: PPF202
                model.eval()
                correct = 0.0
                for images, labels in valid_loader:
                    correct += paddle.metric.accuracy(model(images), labels).item()
                with paddle.no_grad():
                    for images, labels in valid_loader:
                        print(F.cross_entropy(model(images), labels).item())
                print(correct)
        """
    )


def test_one_loop_for_training_and_evaluation() -> None:
    expect_reads(
        """
        import paddle
        import paddle.nn.functional as F


        def run(model, loader, optimizer=None):
            for images, labels in loader:
                loss = F.cross_entropy(model(images), labels)
                if model.training:
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    print("train", loss.item())  #: PPF202
                else:
                    print("eval", loss.item())
        """
    )


def test_methods_that_evaluate() -> None:
    expect_reads(
        """
        import paddle


        class Trainer:
            def fit(self, loader):
                for batch in loader:
                    loss = self.model(batch).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.validate(loss)
                    self.measure(loss)
                    self.accumulate(loss)

            def validate(self, loss):
                self.values.append(loss.item())

            @paddle.no_grad()
            def measure(self, loss):
                self.values.append(loss.item())  #: PPF201

            def accumulate(self, loss):
                self.values.append(loss.item())  #: PPF201

            def eval_step(self, batch):
                return self.model(batch).mean().item()

            def test_step(self, batch):
                return self.model(batch).mean().item()

            def validation_step(self, batch):
                return self.model(batch).mean().item()
        """
    )


# --- inference and export


@pytest.mark.parametrize(
    "path",
    ["infer.py", "predict.py", "tools/export_model.py", "deploy/python/infer.py", "serving/server.py", "eval.py"],
)
def test_inference_and_export(path: str) -> None:
    text = """\
        import numpy as np
        import paddle


        def run(model, images, save_dir):
            model.eval()
            for image in images:
                scores = model(paddle.to_tensor(image))
                print(scores.argmax().item())
                print(scores.numpy().tolist())
            paddle.jit.save(model, save_dir)


        def main(model, loader):
            run(model, loader, "out")
            for batch in loader:
                print(float(model(batch).mean()))
        """
    expect_reads({path: text, "train.py": train(mark=True)})


def test_attributions_and_attacks_are_no_training() -> None:
    expect_reads(
        """
        import paddle


        def saliency(model, loader):
            maps = []
            for image in loader:
                image.stop_gradient = False
                model(image).max().backward()
                maps.append(image.grad.numpy())
            return maps


        def attack(model, image, label, steps, criterion):
            for _ in range(steps):
                gradient = paddle.grad(criterion(model(image), label), image)[0]
                image = image + 0.01 * gradient.sign()
                print(gradient.abs().max().item())
            return image
        """
    )


# --- tests


@pytest.mark.parametrize(
    ("path", "quiet"),
    [
        ("tests/train.py", True),
        ("test/train.py", True),
        ("pkg/tests/helpers/train.py", True),
        ("pkg/test_train.py", True),
        ("pkg/train_test.py", True),
        ("pkg/unittests/run.py", True),
        ("test_tipc/run.py", True),
        ("pkg/latest/train.py", False),
        ("contest/train.py", False),
        ("pkg/train_testbed.py", False),
    ],
)
def test_test_code(path: str, quiet: bool) -> None:
    expect_reads({path: train(mark=not quiet), "setup.py": ""})


def test_test_functions_and_classes_beside_training_code() -> None:
    expect_reads(
        """
        import unittest

        import paddle


        class TestTraining(unittest.TestCase):
            def test_loss_falls(self):
                for _ in range(100):
                    loss = self.model(self.x).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.losses.append(loss.item())


        def test_step(model, loader, optimizer):
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                assert loss.item() > 0


        def train(model, loader, optimizer):
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                model.last = loss.item()  #: PPF201
        """
    )


# --- reinforcement learning


def test_a_rollout_acts_on_host_values() -> None:
    expect_reads(
        """
        import paddle


        def rollout(env, policy, steps):
            observation = env.reset()
            rewards = []
            for _ in range(steps):
                action = policy(paddle.to_tensor(observation)).argmax().item()
                observation, reward, done, _ = env.step(action)
                rewards.append(reward)
            return rewards


        def train_online(env, agent, optimizer, episodes):
            for episode in range(episodes):
                observation, done = env.reset(), False
                while not done:
                    q = agent(paddle.to_tensor(observation))
                    action = int(q.argmax())
                    observation, reward, done, _ = env.step(action)
                    loss = (q.max() - reward) ** 2
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()


        class Agent:
            def act(self, observation):
                return self.network(paddle.to_tensor(observation)).argmax().item()

            def run_episode(self, env):
                observation, done = env.reset(), False
                while not done:
                    observation, reward, done, _ = env.step(self.act(observation))
                    self.memory.append(reward)
                    self.learn()

            def learn(self):
                loss = self.network(self.memory.sample()).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
        """
    )


def test_the_update_of_an_agent_is_a_step() -> None:
    expect_reads(
        """
        import paddle


        def update(network, optimizer, batches, history):
            for batch in batches:
                loss = network(batch).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                history.append(loss.item())  #: PPF201


        def train(env, network, optimizer, buffer, history, rounds):
            for _ in range(rounds):
                buffer.fill(env)
                update(network, optimizer, buffer.batches(), history)
        """
    )


# --- timing


@pytest.mark.parametrize("name", ["benchmark", "bench_step", "profile_model", "debug_loop", "run_benchmark"])
def test_functions_that_time_or_debug(name: str) -> None:
    expect_reads(train(mark=False, name=name) + "\n\n" + train(mark=True).partition("\n\n\n")[2])


def test_a_read_that_ends_a_timed_part() -> None:
    expect_reads(
        """
        import time

        import paddle


        def speed(model, loader, optimizer, times):
            for x in loader:
                start = time.perf_counter()
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                loss.item()
                times.append(time.perf_counter() - start)
        """
    )


def test_a_clock_in_the_step_does_not_make_it_a_benchmark() -> None:
    expect_reads(
        """
        import time

        import paddle


        def train(model, loader, optimizer, meters):
            start = time.time()
            for step, x in enumerate(loader):
                meters["data"].update(time.time() - start)
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                meters["loss"].update(loss.item())  #: PPF201
                meters["batch"].update(time.time() - start)
                start = time.time()
                if step % 10 == 0:
                    print(step, meters["loss"].avg)
        """
    )


# --- the CPU, other frameworks, odd branches


@pytest.mark.parametrize(
    ("device", "quiet"),
    [
        ('paddle.set_device("cpu")', True),
        ('paddle.device.set_device("cpu")', True),
        ('paddle.set_device("gpu")', False),
        ('paddle.set_device("gpu:0")', False),
        ('paddle.set_device("gpu" if paddle.is_compiled_with_cuda() else "cpu")', False),
        ("paddle.set_device(DEVICE)", False),
        ('if USE_CPU:\n    paddle.set_device("cpu")\nelse:\n    paddle.set_device("gpu")', False),
    ],
)
def test_a_run_on_the_cpu_has_nothing_to_wait_for(device: str, quiet: bool) -> None:
    names = 'USE_CPU = False\nDEVICE = "gpu"\n'
    expect_reads(train(mark=not quiet, imports=f"\n{names}{device}\n"))


def main_on(device: str) -> str:
    """A script that trains with another file's function on a device."""
    return f"""\
        import paddle
        from engine import train

        paddle.set_device("{device}")
        train(None, [], None, None)
        """


def test_a_run_on_the_cpu_that_the_main_script_asks_for() -> None:
    expect_reads(
        {
            "engine.py": train(mark=False),
            "main.py": main_on("cpu"),
        }
    )


def test_one_of_two_scripts_runs_on_the_cpu() -> None:
    expect_reads(
        {
            "engine.py": train(mark=True),
            "main.py": main_on("gpu"),
            "small.py": main_on("cpu"),
        }
    )


def test_other_frameworks() -> None:
    text = train(mark=False).replace("import paddle.nn.functional as F", "import torch.nn.functional as F")
    expect_reads(
        {
            "torch_train.py": text.replace("import paddle\n", "import torch\n"),
            "ported_train.py": text.replace(
                "import paddle\n", "import paddle  # left from a comparison\nimport torch\n"
            ),
            "paddle_train.py": train(mark=True),
        }
    )


def test_branches_of_trouble() -> None:
    expect_reads(
        """
        import logging
        import sys

        import paddle

        logger = logging.getLogger(__name__)


        def train(model, loader, optimizer, threshold):
            for step, x in enumerate(loader):
                loss = model(x).mean()
                try:
                    loss.backward()
                except RuntimeError:
                    logger.error("backward failed at %d with %s", step, loss.item())
                    raise
                optimizer.step()
                optimizer.clear_grad()
                if model.broken:
                    logger.error("broken at loss %s", loss.item())
                    sys.exit(1)
                if model.stopped:
                    print("stopped", loss.item())
                    break
                if model.odd:
                    raise ValueError(f"loss is {loss.item()}")
                if model.noisy:
                    print("noise", loss.item())  #: PPF202
        """
    )
