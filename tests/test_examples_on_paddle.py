"""Examples of the rules run on Paddle (CPU), before and after their fixes: same weights, same output, same samples.

What waits for a GPU is replaced by a function that counts; what starts worker processes runs in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
import pytest
from paddle import nn

from perflint import catalogue
from perflint.catalogue import Example

Names = dict[str, Any]
Run = Callable[[Names], object]


def example(code: str, title: str) -> Example:
    return next(each for each in catalogue.shipped()[code].examples if each.title == title)


def ran(text: str | None, given: Names, run: Run) -> object:
    """What ``run`` gives with the names of an example; weights and random numbers begin alike each time."""
    assert text is not None
    paddle.seed(7)
    names = dict(given)
    exec(compile(text, "example", "exec"), names)
    return run(names)


def both(code: str, title: str, run: Run, given: Names | None = None) -> tuple[object, object]:
    chosen = example(code, title)
    return ran(chosen.bad, given or {}, run), ran(chosen.fixed, given or {}, run)


def trained(step: Callable[[nn.Layer, Any, Any], object], rows: int = 4) -> list[npt.NDArray[Any]]:
    """The weights after a function has trained a small network on two batches."""
    model = nn.Linear(6, 3)
    optimizer = paddle.optimizer.Adam(0.1, parameters=model.parameters())
    batches = [(paddle.rand([rows, 6]), paddle.randint(0, 3, [rows])) for _ in range(2)]
    step(model, batches, optimizer)
    return [value.numpy() for value in model.parameters()]


def assert_same(before: object, after: object) -> None:
    assert isinstance(before, list) and isinstance(after, list) and len(before) == len(after) > 0
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


# --- PPF204: the waits


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The calls that wait for the device, noted instead."""
    noted: list[str] = []
    for module, name in ((paddle.device, "synchronize"), (paddle.device.cuda, "synchronize")):
        monkeypatch.setattr(module, name, lambda *_: noted.append("synchronize"))
    stream = SimpleNamespace(synchronize=lambda: noted.append("stream"))
    monkeypatch.setattr(paddle.device.cuda, "current_stream", lambda *_: stream)
    yield noted


STEPS: dict[str, Run] = {
    "Left over at the end of a step": lambda names: trained(
        lambda *given: names["train_one_epoch"](*given, SimpleNamespace(update=lambda loss: None))
    ),
    "The only statement of a branch": lambda names: trained(lambda *given: names["train"](*given, True)),
    "The current stream, on which training runs": lambda names: trained(names["train"]),
    "A clock that waits, called at each step": lambda names: trained(
        lambda *given: names["train"](*given, SimpleNamespace(update=lambda seconds: None))
    ),
}


@pytest.mark.parametrize("title", STEPS)
def test_ppf204_a_training_without_the_wait_gives_the_same_weights(title: str, waits: list[str]) -> None:
    chosen = example("PPF204", title)
    before = ran(chosen.bad, {}, STEPS[title])
    assert waits
    waits.clear()
    after = ran(chosen.fixed, {}, STEPS[title])
    assert not waits
    assert_same(before, after)


# --- PPF209: the slices


def test_ppf209_the_numbers_of_a_matrix_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    chosen, printed = example("PPF209", "Single numbers of a matrix"), []
    for text in (chosen.bad, chosen.fixed):
        ran(text, {}, lambda names: names["show"]([0, 1, 2, 1], [0, 2, 2, 1], 3))
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == 9


def masks(names: Names) -> object:
    written: list[object] = []
    names["write"] = lambda name, array: written.append(array)
    names["save_masks"](nn.Linear(6, 3), paddle.rand([4, 6]), ["a", "b", "c", "d"])
    return written


def graphs(names: Names) -> object:
    def train(model: nn.Layer, batches: Any, optimizer: Any) -> None:
        names["train"](lambda made: model(paddle.to_tensor(np.stack(made))), batches, optimizer, 4)

    return trained(train)


SLICES: dict[str, tuple[Run, Names]] = {
    "The images of a batch": (masks, {}),
    "In a comprehension, as lists": (lambda names: names["neighbours"](paddle.rand([5, 3]), 4), {}),
    "Columns: the returned array has another memory order": (
        lambda names: names["covariances"]([paddle.rand([8, 3, 2]) for _ in range(2)]),
        {},
    ),
    "A parameter that is known to be a tensor only because its shape is used": (
        lambda names: [names["best_thresholds"](paddle.rand([6, 3]), paddle.ones([6])).numpy()],
        {"search": lambda scores, labels: float(np.median(scores))},
    ),
    "The samples of a batch, in the training step": (graphs, {"build": lambda array: array}),
}


@pytest.mark.parametrize("title", SLICES)
def test_ppf209_a_slice_that_is_copied_alone_holds_the_same(title: str) -> None:
    run, given = SLICES[title]
    assert_same(*both("PPF209", title, run, given))


# --- PPF801: the search


def one_network(names: Names) -> object:
    def train(model: nn.Layer, batches: Any, optimizer: Any) -> None:
        names["Net"], names["train"] = lambda: model, lambda wrapped, _: steps(wrapped, batches, optimizer)
        names["main"](None)

    return trained(train)


def wrapped(names: Names) -> object:
    return trained(lambda model, batches, optimizer: steps(names["wrap"](model), batches, optimizer))


def steps(model: nn.Layer, batches: Any, optimizer: Any) -> None:
    for x, y in batches:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("title", "run"),
    [("A single network", one_network), ("On its own line, with a comment about something else", wrapped)],
)
def test_ppf801_one_process_trains_to_the_same_weights_without_the_search(title: str, run: Run) -> None:
    assert_same(*both("PPF801", title, run))


# --- PPF101 and PPF102: the loaders

LOAD = """
import json, os, sys
from types import SimpleNamespace
import numpy as np
import paddle

class Samples(paddle.io.Dataset):
    def __len__(self):
        return 70
    def __getitem__(self, index):
        return np.full(2, index, "float32")

def loaders(found):
    if isinstance(found, paddle.io.DataLoader):
        yield found
    elif isinstance(found, dict):
        for each in found.values():
            yield from loaders(each)

def samples(text, call):
    data = Samples()
    names = {name: data for name in ("dataset", "train_set", "train_dataset", "val_set", "test_set")}
    names["sampler"] = paddle.io.BatchSampler(data, batch_size=16)
    names |= {"pad": lambda samples: np.stack(samples), "make_dataset": lambda args: data}
    names["args"] = SimpleNamespace(batch_size=16, num_workers=2)
    exec(text, names)
    made = {"called": eval(call, names)} if call else names
    for loader in loaders(made):
        batches = (batch[0] if isinstance(batch, list) else batch for batch in loader)
        yield sorted(float(row[0]) for batch in batches for row in batch.numpy())

# A process for each text: workers are forked from one that has run nothing of Paddle yet.
for number, (text, call) in enumerate(json.load(open(sys.argv[1]))):
    if os.fork() == 0:
        with open(f"{sys.argv[2]}-{number}", "w") as answer:
            json.dump(list(samples(text, call)), answer)
        os._exit(0)
    os.wait()
"""

CALLS = {
    "One argument per line, without a trailing comma": "build(dataset, sampler)",
    "Inside a function, imported there": "main(args)",
    "In a method, for training and for validation": "vars(Trainer(dataset, dataset))",
    "The number of workers comes from the command line": "build_loader(dataset, args)",
}
LOADERS = [
    ("PPF101", "A training loader without num_workers"),
    ("PPF101", "A 0 as the tenth positional argument"),
    ("PPF101", "The finding is at the line of the argument"),
    ("PPF101", "A wrapper that passes its arguments on, called without workers"),
    ("PPF101", "A dict of settings, a constant and a class of settings"),
    ("PPF101", "A subclass of the loader"),
    ("PPF101", "A loader in a dict gets as many workers as the one next to it"),
    *[("PPF101", title) for title in list(CALLS)[:3]],
    ("PPF102", "A training loader with workers and without shared memory"),
    ("PPF102", "On one line, imported by name"),
    ("PPF102", "The number of workers comes from the command line"),
]


def test_ppf101_and_ppf102_the_same_samples_arrive_from_the_workers(tmp_path: Path) -> None:
    texts = [(text, CALLS.get(title)) for code, title in LOADERS for text in _texts(example(code, title))]
    given = tmp_path / "given.json"
    given.write_text(json.dumps(texts))
    command = [sys.executable, "-c", LOAD, str(given), str(tmp_path / "answer")]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    found = [json.loads((tmp_path / f"answer-{number}").read_text()) for number in range(len(texts))]
    for (code, title), before, after in zip(LOADERS, found[::2], found[1::2], strict=True):
        assert before, (code, title)
        assert before == after, (code, title)
        assert all(set(samples) <= set(map(float, range(70))) and len(samples) >= 70 for samples in before), title


def _texts(chosen: Example) -> tuple[str, str]:
    assert chosen.bad is not None and chosen.fixed is not None
    return chosen.bad, chosen.fixed
