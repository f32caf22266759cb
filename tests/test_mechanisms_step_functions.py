"""A step that is handed on, chosen, kept or made by another function is one; in other loops it is not."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.step_loops import expect_loop_named
from tests.support import check, expect_marked, expect_reads

# --- step functions as values

STEP_FUNCTIONS = """\
import functools

import paddle
import paddle.nn.functional as F


def train_step(model, optimizer, batch):
    images, labels = batch
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss.item(){mark}


@paddle.no_grad()
def eval_step(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels).item()


def run_epoch(loader, step_function):
    values = []
    for batch in loader:
        values.append(step_function(batch))
    return sum(values) / len(values)


def main(model, optimizer, loader, eval_loader, epochs):
{body}
"""


def step_functions(body: str, mark: bool = True) -> str:
    return STEP_FUNCTIONS.format(mark="  #: PPF201" if mark else "", body=indent(dedent(body).strip("\n"), "    "))


@pytest.mark.parametrize(
    "body",
    [
        "run_epoch(loader, functools.partial(train_step, model, optimizer))",
        "step = functools.partial(train_step, model, optimizer)\nrun_epoch(loader, step)",
        "run_epoch(loader, step_function=functools.partial(train_step, model, optimizer))",
        "run_epoch(loader, lambda batch: train_step(model, optimizer, batch))",
        "step = lambda batch: train_step(model, optimizer, batch)\nfor epoch in range(epochs):\n"
        "    run_epoch(loader, step)\n    run_epoch(eval_loader, lambda batch: eval_step(model, batch))",
        "def step(batch):\n    return train_step(model, optimizer, batch)\n\nrun_epoch(loader, step)",
        "step = functools.partial(train_step, model, optimizer)\nfor batch in loader:\n    step(batch)",
        "step = lambda batch: train_step(model, optimizer, batch)\nfor batch in loader:\n    step(batch)",
        "step = train_step\nfor batch in loader:\n    step(model, optimizer, batch)",
        "for mode, data in (('train', loader), ('eval', eval_loader)):\n    for batch in data:\n"
        "        train_step(model, optimizer, batch) if mode == 'train' else eval_step(model, batch)",
    ],
)
def test_a_step_function_handed_to_the_loop(body: str) -> None:
    expect_reads(step_functions(body))


@pytest.mark.parametrize(
    "body",
    [
        "run_epoch(eval_loader, functools.partial(eval_step, model))",
        "run_epoch(eval_loader, lambda batch: eval_step(model, batch))",
        "train_step(model, optimizer, next(iter(loader)))",
        "step = functools.partial(train_step, model, optimizer)\nstep(next(iter(loader)))",
        "register(train_step)",
        "for epoch in range(epochs):\n    train_step(model, optimizer, next(iter(loader)))",
    ],
)
def test_a_function_handed_to_a_loop_that_does_not_train(body: str) -> None:
    expect_reads(step_functions(body, mark=False))


def test_a_step_function_handed_to_a_loop_in_another_file() -> None:
    files = {
        "engine.py": """\
            def run_epoch(loader, step_function):
                values = []
                for batch in loader:
                    values.append(step_function(batch))
                return sum(values) / len(values)
            """,
        "tools/train.py": """\
            import paddle
            from engine import run_epoch


            class Task:
                def step(self, batch):
                    loss = self.model(batch).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    return loss.item()  #: PPF201

                def fit(self, loader):
                    return run_epoch(loader, self.step)
            """,
    }
    expect_reads(files)
    expect_loop_named(files, "tools/train.py", "engine.py")


def test_a_step_function_that_is_chosen() -> None:
    expect_reads(
        """
        import paddle


        def amp_step(model, optimizer, scaler, x):
            with paddle.amp.auto_cast():
                loss = model(x).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return float(loss)  #: PPF201


        def plain_step(model, optimizer, scaler, x):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return float(loss)  #: PPF201


        def train(model, loader, optimizer, scaler, use_amp):
            step = amp_step if use_amp else plain_step
            for x in loader:
                step(model, optimizer, scaler, x)
        """
    )


def test_a_step_function_kept_on_the_object() -> None:
    expect_reads(
        """
        import paddle


        class Trainer:
            def __init__(self, model, optimizer, use_amp):
                self.model, self.optimizer = model, optimizer
                self.step_function = self._plain_step

            def _plain_step(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                return float(loss)  #: PPF201

            def _unused_step(self, x):
                loss = self.model(x).mean()
                loss.backward()
                self.optimizer.step()
                return float(loss)

            def fit(self, loader):
                for x in loader:
                    self.step_function(x)
        """
    )


# --- closures


def test_a_closure_that_the_loop_calls() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer, writer):
            history = []

            def record(loss):
                history.append(loss.item())  #: PPF201

            def finish(loss):
                history.append(loss.item())

            def step_once(images):
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                record(loss)
                return loss

            for images in loader:
                loss = step_once(images)
            finish(loss)
        """
    )


def test_a_closure_reads_what_the_loop_binds() -> None:
    expect_reads(
        """
        import paddle


        def train(model, loader, optimizer):
            for step, images in enumerate(loader):
                loss = model(images).mean()

                def text():
                    return f"loss {loss.item():.4f}"  #: PPF201

                def unused():
                    return loss.item()

                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                print(text())  #: PPF405
        """
    )


def test_a_step_that_a_factory_makes() -> None:
    expect_reads(
        """
        import paddle


        def make_step(model, optimizer):
            print("weight", model.weight.mean().item())

            def step(images):
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                return loss.item()  #: PPF201

            return step


        def train(model, loader, optimizer):
            step = make_step(model, optimizer)
            for images in loader:
                step(images)
        """
    )


SEVERAL_STEPS = """\
import paddle


class Trainer:
    def process(self, batch):
        for _ in range(self.rounds):
            loss = self.net(batch).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
        return loss.item(){mark}

    def run(self, {data}):
        for batch in {data}:
            print(self.process(batch).shape)
"""


def test_a_function_that_takes_several_steps_on_one_batch() -> None:
    text = SEVERAL_STEPS.replace("print(self.process(batch).shape)", "self.process(batch)")
    expect_reads(text.format(mark="  #: PPF201", data="loader"))


def test_a_function_that_trains_as_a_whole() -> None:
    text = SEVERAL_STEPS.replace("print(self.process(batch).shape)", "self.process(batch)")
    expect_reads(text.format(mark="", data="clients"))


# --- a trainer that hands its step on to the model

TRAINER = """\
import paddle


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def fit(self, loader):
        for batch in loader:
            loss = self.training_step(batch)
            loss.backward()
            self.optimizer.step()

    def training_step(self, batch):
        return self.model.training_step(batch)
"""

MODULE = """\
import paddle
import paddle.nn.functional as F


class Classifier(paddle.nn.Layer):
    def training_step(self, batch):
        return self.validation_step({handed})

    def validation_step(self, batch):
        loss = F.cross_entropy(self(batch[0]), batch[1])
        print(loss.item()){mark}
        return loss
"""


@pytest.mark.parametrize("directory", ["", "nets/"])
def test_a_step_that_calls_the_step_of_the_model(directory: str) -> None:
    model = MODULE.format(handed="batch", mark="  #: PPF202")
    start = "from nets.module import Classifier\n" if directory else "from module import Classifier\n"
    train = (
        start
        + "from trainer import Trainer\n\n\ndef main(optimizer, loader):\n    Trainer(build(), optimizer).fit(loader)\n"
    )
    expect_reads({"trainer.py": TRAINER, f"{directory}module.py": model, "train.py": train})


def test_a_step_that_evaluates_something_else() -> None:
    model = MODULE.format(handed="self.held_out", mark="")
    expect_reads({"trainer.py": TRAINER, "module.py": model})


# --- optimizers that are written out

OPTIMIZER = """\
import paddle


class Lars(paddle.optimizer.Optimizer):
    @paddle.no_grad()
    def {method}(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.{attribute} is None:
                    continue
                state = self.state[p.name]
                if not state:
                    state["average"] = paddle.zeros_like(p)
                average = state["average"]
                average.multiply_(y=paddle.to_tensor(beta1)){copy}
                norm = paddle.norm(p)
                if norm != 0:{read}
                    p.add_(average / norm)
"""


def test_the_step_of_an_optimizer_is_a_part_of_each_training_step() -> None:
    marks = {"copy": "  #: PPF205", "read": "  #: PPF203"}
    expect_marked(OPTIMIZER.format(method="step", attribute="grad", **marks), "PPF203", "PPF205")
    for method, attribute in (("freeze", "grad"), ("step", "name")):
        expect_marked(OPTIMIZER.format(method=method, attribute=attribute, copy="", read=""), "PPF203", "PPF205")


@pytest.mark.parametrize(
    ("written", "advised"),
    [
        ("average.multiply_(y=paddle.to_tensor(beta1))", "with `x.scale_(number)`"),
        ("average.sqrt().add_(paddle.to_tensor(group['eps']))", "with `x.scale_(1.0, bias=number)`"),
        ("average = average.divide(paddle.to_tensor(1 - beta2))", "with `x / number`"),
        ("decay = paddle.to_tensor(group['weight_decay'])", "with `paddle.full`"),
    ],
)
def test_the_options_of_an_optimizer_are_numbers(written: str, advised: str) -> None:
    text = OPTIMIZER.format(method="step", attribute="grad", copy="", read="")
    (finding,) = check(text.replace("average.multiply_(y=paddle.to_tensor(beta1))", written), "PPF205")
    assert advised in finding.message


SAMPLER = """\
import paddle


class Uniform:
    def sample(self, count, losses):
        steps = paddle.randint(0, 1000, [count])
        print(losses.mean().item()){mark}
        return steps


def train(model, optimizer, loader):
    sampler = Uniform()
    for images in loader:
        losses = model(images)
        {draw}
        loss = (losses * steps).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {after}
"""
DRAW = "steps = sampler.sample(8, losses)"


def test_what_a_step_samples_for_its_loss() -> None:
    expect_reads(SAMPLER.format(mark="  #: PPF202", draw=DRAW, after="pass"))


def test_what_a_step_samples_to_show_it() -> None:
    expect_reads(SAMPLER.format(mark="", draw="steps = 1", after=DRAW))
    by_layer = SAMPLER.replace("Uniform:", "Uniform(paddle.nn.Layer):")
    expect_reads(by_layer.format(mark="", draw="sampler.sample(8, losses)", after="pass"))


def test_the_methods_that_a_sampler_samples_with() -> None:
    sampler = """
class Caps:
    def rsample(self, losses):
        scale = self.{helper}(losses)
        return scale

    def {helper}(self, losses):
        return losses.max().item(){mark}


"""
    text = SAMPLER.format(mark="", draw="steps = Caps().rsample(losses)", after="pass")
    at = text.index("class Uniform")
    for helper in ("_sample_by_rejection", "__sample_w"):
        expect_reads(text[:at] + sampler.format(helper=helper, mark="  #: PPF201").lstrip() + text[at:])
    # What is not assigned may show samples, and a function of something else may evaluate.
    shown = sampler.replace("scale = self.{helper}(losses)", "self.{helper}(losses)").replace(
        "return scale", "return 1"
    )
    expect_reads(text[:at] + shown.format(helper="_sample_images", mark="").lstrip() + text[at:])
