"""PPF101: who draws from a loader, what its samples are, and so what a finding can cost and says."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel
from perflint.run import engine
from tests.support import Files, sources

LOW, MEDIUM, HIGH = ImpactLevel
DATASET = """\
import cv2
import numpy as np
import paddle
from paddle.io import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return cv2.imread(self.paths[index])

    def __len__(self):
        return len(self.paths)


class Arrays(Dataset):
    def __init__(self, arrays, labels):
        self.arrays, self.labels = load(arrays)
        self.more = labels

    def __getitem__(self, index):
        x = np.array(self.arrays[index]).astype("float32")
        return x, self.labels[index], self.more[index]


class Part(Dataset):
    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = list(indices)

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]


class Noise(Dataset):
    def __getitem__(self, index):
        image = np.random.random([784]).astype("float32")
        return image, np.random.randint(0, 9, (1,)).astype("int64")


"""
LOOP = """
    for x, y in {loader}:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def found(files: Files) -> list[Finding]:
    return engine.check(sources(files), Settings(join_lines=False, select=("PPF101",), min_impact=LOW))


def one(text: str) -> tuple[ImpactLevel, str]:
    (finding,) = found(DATASET + dedent(text))
    assert finding.impact is not None
    return finding.impact.level, finding.message


def trained(dataset: str, more: str = "") -> tuple[ImpactLevel, str]:
    return one(f"loader = DataLoader({dataset}, batch_size=8)\n{more}" + dedent(LOOP.format(loader="loader")))


def test_a_training_loop_is_named() -> None:
    level, message = trained("Images(paths)")
    assert level is HIGH
    assert message == (
        "`DataLoader(Images(paths), batch_size=8)` uses no worker processes, so a thread of the training process "
        "loads the batches for the training at line 45, and takes turns with its Python code; give it num_workers=4 to "
        "load in worker processes."
    )


@pytest.mark.parametrize(
    ("dataset", "level"),
    [
        ("Images(paths)", HIGH),
        ("Arrays(x, y)", LOW),
        ("Noise()", LOW),
        ("Part(Arrays(x, y), indices)", LOW),
        ("Part(Images(paths), indices)", HIGH),
        ("Part(unknown, indices)", HIGH),
        ("paddle.io.Subset(Arrays(x, y), indices)", LOW),
        ("words.map(convert, lazy=False)", LOW),
        ("words.map(convert)", HIGH),
        ("words.map(convert, batched=True)", LOW),
        ("words.map(convert, num_workers=4)", LOW),
        ("words.map(convert, num_workers=1)", HIGH),
        ("words.map(convert, batched=False)", HIGH),
        ("words.map(convert, num_proc=4)", MEDIUM),
        ("words.map(convert, batched=True, num_proc=4)", MEDIUM),
        ("words.map(convert, remove_columns=['text'])", MEDIUM),
        ("load(streaming=True).map(convert, remove_columns=['text'])", HIGH),
        ("paddle.io.Subset(words.map(convert, num_proc=4), indices)", MEDIUM),
        ("load(streaming=True).map(convert, batched=True)", HIGH),
        ("unknown", HIGH),
    ],
)
def test_samples_that_lie_in_memory_are_little_work(dataset: str, level: ImpactLevel) -> None:
    assert trained(dataset)[0] is level


def test_a_dataset_that_is_converted_in_place() -> None:
    text = "words = read(path)\nwords.map(convert{lazy})\n"
    loader = "loader = DataLoader(words, batch_size=8)\n" + dedent(LOOP.format(loader="loader"))
    assert one(text.format(lazy=", lazy=False") + loader)[0] is LOW
    assert one(text.format(lazy="") + loader)[0] is HIGH


@pytest.mark.parametrize(("how", "level"), [(", batched=True", LOW), ("", HIGH)])
def test_a_parameter_that_is_converted_in_place(how: str, level: ImpactLevel) -> None:
    text = f"def train(words):\n    words.map(convert{how})\n    loader = DataLoader(words, batch_size=8)\n"
    assert one(text + indent(dedent(LOOP.format(loader="loader")), "    ") + "\ntrain(read(path))\n")[0] is level


def test_the_dataset_is_followed_through_names_and_parameters() -> None:
    text = """
        def build(data{hint}):
            train_loader = DataLoader(data, batch_size=8)
            for x, y in train_loader:
                model(x, y).backward()
                optimizer.step()


        {calls}
        """
    calls = "one, two = Arrays(x, y), 3\n        build(one)"
    assert one(text.format(hint="", calls=calls))[0] is LOW
    assert one(text.format(hint="", calls=calls + "\n        build(Images(paths))"))[0] is HIGH
    assert one(text.format(hint="", calls=""))[0] is HIGH
    assert one(text.format(hint=": Arrays", calls=""))[0] is LOW


def test_an_evaluation_that_training_waits_for() -> None:
    text = """
        def evaluate(loader):
            for x, y in loader:
                metric.update(model(x, y))


        dev_loader = DataLoader({dataset}, batch_size=8)
        for epoch in range(10):
            train_epoch(model)
            evaluate(dev_loader)
        """
    level, message = one(text.format(dataset="Images(paths)"))
    assert level is MEDIUM
    assert "the batches for the evaluation at line 45, which training waits for, and takes turns with its " in message
    assert one(text.format(dataset="Noise()"))[0] is LOW
    assert one(text.format(dataset="words.map(convert)"))[0] is LOW
    assert one(text.format(dataset="paddle.vision.datasets.ImageFolder(root)"))[0] is MEDIUM
    assert one(text.format(dataset="unknown"))[0] is LOW
    level, message = one(text.format(dataset="Images(paths)").replace("    train_epoch(model)\n", ""))
    assert level is LOW
    assert "the batches for the evaluation at line 45, and takes turns with its Python code; " in message


@pytest.mark.parametrize(
    ("loader", "level"),
    [
        ("DataLoader(train_set, batch_size=8)", HIGH),
        ("DataLoader(train_set, batch_size=8, shuffle=False)", LOW),
        ("DataLoader(train_set, batch_sampler=BatchSampler(train_set, shuffle=False))", LOW),
        ("DataLoader(train_set, batch_sampler=BatchSampler(train_set, shuffle=True))", HIGH),
    ],
)
def test_a_name_is_not_enough_for_a_loader_that_keeps_the_order(loader: str, level: ImpactLevel) -> None:
    found, message = one(f"def make(train_set):\n    return {loader}\n")
    assert found is level
    assert ("suggests training" in message) is (level is HIGH)


def test_nobody_is_seen() -> None:
    level, message = one("def make(data):\n    return DataLoader(data, batch_size=8)\n")
    assert level is LOW
    assert "takes turns with the Python code that reads them, which perflint cannot see; " in message
    level, message = one("def make(data):\n    return DataLoader(data, batch_size=8, shuffle=True)\n")
    assert level is HIGH
    assert "with its Python code (the name of the loader or its shuffling suggests training); " in message
    assert (
        one("def make(data):\n    train_loader = DataLoader(data, batch_size=8)\n    return train_loader\n")[0] is HIGH
    )


@pytest.mark.parametrize(
    ("call", "level"),
    [
        ("model.fit(loader, epochs=2)", HIGH),
        ("model.fit(train_data=data, eval_data=loader)", MEDIUM),
        ("model.evaluate(loader)", LOW),
    ],
)
def test_calls_that_lead_nowhere_are_read_by_their_names(call: str, level: ImpactLevel) -> None:
    assert one(f"loader = DataLoader(Images(paths), batch_size=8)\n{call}\n")[0] is level


def test_a_call_that_leaves_the_loader_out() -> None:
    """The branch for tests is that of another call than the one that trains."""
    text = """
        def build(data, is_test=False):
            if is_test:
                loader = DataLoader(data, batch_size=8)
            else:
                loader = DataLoader(data, batch_size=8, num_workers=4)
            return loader


        for x, y in build(data):
            model(x, y).backward()
            optimizer.step()
        for x, y in build(data, is_test=True):
            metric.update(model(x, y))
        """
    level, message = one(text)
    assert level is LOW
    assert "for the evaluation at line 55, " in message


def test_the_first_batch_that_a_function_keeps() -> None:
    text = """
        def examples(data):
            loader = DataLoader(data, batch_size=8, shuffle=True)
            for x, y in loader:
                kept = model(x), y
                {leave}
            return kept
        """
    assert found(DATASET + dedent(text.format(leave="break"))) == []
    assert len(found(DATASET + dedent(text.format(leave="pass")))) == 1


@pytest.mark.parametrize(
    ("above", "level"),
    [
        ("place = paddle.CPUPlace()\n", LOW),
        ("paddle.set_device('cpu')\n", LOW),
        ("place = paddle.CUDAPlace(0) if gpu else paddle.CPUPlace()\n", HIGH),
    ],
)
def test_a_program_for_the_cpu(above: str, level: ImpactLevel) -> None:
    assert trained("Images(paths)", above)[0] is level


FEEDER = """
    class Feeder:
        def __init__(self, data):
            self.batches = {{}}
            self.loaders = {{}}
            for split in ("first", "second"):
                self.loaders[split] = DataLoader(data, batch_size=8)
                self.batches[split] = iter(self.loaders[split])

        def batch(self, split):
            try:
                drawn = next(self.batches[split])
            except StopIteration:
                self.batches[split] = iter(self.loaders[split])
                drawn = next(self.batches[split])
            return {given}


    feeder = Feeder(Images(paths))
    while True:
        x, y = feeder.batch("first")
        loss = model(x, y)
        {trains}
    """


@pytest.mark.parametrize(
    ("given", "trains", "level"),
    [
        ("drawn", "loss.backward(); optimizer.step()", HIGH),
        ("drawn", "print(loss)", LOW),
        ("model(drawn)", "loss.backward(); optimizer.step()", HIGH),
        ("len(self.loaders)", "loss.backward(); optimizer.step()", LOW),
    ],
)
def test_a_method_that_draws_a_batch_for_each_step(given: str, trains: str, level: ImpactLevel) -> None:
    found_level, message = one(FEEDER.format(given=given, trains=trains))
    assert found_level is level
    assert ("for the training at line 63, " in message) is (level is HIGH)


@pytest.mark.parametrize(
    ("draws", "level"),
    [
        ("batches = iter(loader)\nwhile True:\n    x, y = next(batches)\n    {step}", HIGH),
        ("batches = iter(loader)\nfor step in range(90000):\n    x, y = next(batches)\n    {step}", HIGH),
        ("batches = iter(loader)\nx, y = next(batches)\nfor x, y in other:\n    {step}", LOW),
        ("batches = iter(loader)\nwhile True:\n    x, y = next(batches)\n    print(model(x, y))", LOW),
    ],
)
def test_batches_that_next_draws_in_a_step_loop(draws: str, level: ImpactLevel) -> None:
    text = "loader = DataLoader(Images(paths), batch_size=8)\n" + draws
    levels = [each.impact.level for each in found(DATASET + text.format(step=STEP)) if each.impact is not None]
    assert levels in ([level], [] if level is LOW else [level])


STEP = "model(x, y).backward(); optimizer.step()"


def test_samples_that_are_tensors_are_to_be_arrays_first() -> None:
    text = DATASET.replace("return cv2.imread(self.paths[index])", "return paddle.to_tensor(cv2.imread(index))")
    loader = "loader = DataLoader(Images(paths), batch_size=8)\n" + dedent(LOOP.format(loader="loader"))
    (finding,) = found(text + loader)
    advice = "return NumPy arrays as samples first, since workers can crash on Paddle tensors"
    assert finding.message.endswith(f"; {advice} (`paddle.to_tensor` at line 12).")
