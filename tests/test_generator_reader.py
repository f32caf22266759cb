"""PPF101: a training that goes over a generator, or over a reader with threads, which reads its samples."""

from __future__ import annotations

from textwrap import indent

import pytest

from perflint.findings import ImpactLevel
from tests.support import check

CODE = "PPF101"
TRAIN = """\
def train(model, paths, optimizer, epochs):
{made}
    for epoch in range(epochs):
        for images in {drawn}:
            loss = model(paddle.to_tensor(images))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""
ABOVE = "import cv2\nimport numpy as np\nimport paddle\n\n\n"
READER = """\
def images(paths, size):
    def reader():
        batch = []
        for path in paths:
            batch.append({read})
            if len(batch) == size:
                yield np.array(batch)
                batch = []
    return reader


"""


def program(above: str, made: str = "reader = images(paths, 32)", drawn: str = "reader()") -> str:
    return ABOVE + above + TRAIN.format(made=indent(made, "    "), drawn=drawn)


def found(text: str) -> list[tuple[str, str]]:
    """The rows of the findings, and their messages."""
    return [(text.splitlines()[text.count("\n", 0, each.start)].strip(), each.message) for each in check(text, CODE)]


def test_a_reader_that_decodes_pictures_between_the_steps() -> None:
    ((row, message),) = found(program(READER.format(read="cv2.imread(path)"), drawn="enumerate(reader())"))
    assert row == "reader = images(paths, 32)"
    assert message == (
        "`images(paths, 32)` gives the training at line 20 its batches from a generator, which loads them between the "
        "steps (`cv2.imread` at line 10), so that loading and training take turns; make it a `paddle.io.Dataset` "
        "of NumPy arrays, which worker processes can load."
    )


@pytest.mark.parametrize(
    "read",
    [
        "cv2.imread(path)",
        "np.load(path)",
        "np.array(PIL.Image.open(path))",
        "tokenizer(path)",
        "pickle.load(open(path, 'rb'))",
    ],
)
def test_what_counts_as_work_for_a_sample(read: str) -> None:
    assert len(found(program(READER.format(read=read)))) == 1


@pytest.mark.parametrize("read", ["path", "np.zeros((3, 4))", "kept[path]", "path.reshape([1, -1])", "path / 255"])
def test_batches_of_what_is_in_memory_are_left_alone(read: str) -> None:
    assert found(program(READER.format(read=read))) == []


def test_what_is_read_before_the_loop_of_a_generator_is_read_once() -> None:
    text = "def images(path):\n    kept = np.load(path)\n    for row in kept:\n        yield row\n\n\n"
    assert found(program(text, "pass", "images(paths)")) == []


OBJECT = """\
class Pictures:
    def __init__(self, paths):
        self.paths = paths

    def {name}(self):
        for path in self.paths:
            yield self.decode(path)

    def make(self):
        def reader():
            for path in self.paths:
                yield self.decode(path)
        return reader

    def decode(self, path):
        return cv2.imread(path)


"""


@pytest.mark.parametrize(
    ("name", "made", "drawn", "row"),
    [
        ("__iter__", "data = Pictures(paths)", "data", None),
        ("__call__", "data = Pictures(paths)", "data()", "data = Pictures(paths)"),
        ("batches", "data = Pictures(paths)", "data.batches()", "for images in data.batches():"),
        ("batches", "data = Pictures(paths).make()", "data()", "data = Pictures(paths).make()"),
        ("batches", "data = paddle.batch(Pictures(paths).make(), 32)", "data()", None),
        ("batches", "data = paddle.reader.shuffle(Pictures(paths).make(), 99)", "data()", None),
    ],
)
def test_a_generator_of_an_object(name: str, made: str, drawn: str, row: str | None) -> None:
    ((shown, message),) = found(program(OBJECT.format(name=name), made, drawn))
    assert row is None or shown == row
    assert "`cv2.imread` at line 21" in message


THREADS = """\
def images(paths, size):
    def names():
        yield from paths

    pictures = paddle.reader.xmap_readers({mapper}, names, 4, 64)

    def reader():
        batch = []
        for picture in pictures():
            batch.append(picture)
            if len(batch) == size:
                yield batch
                batch = []
    return reader


"""


def test_readers_with_threads_share_the_interpreter_lock() -> None:
    ((row, message),) = found(program(THREADS.format(mapper="lambda path: cv2.imread(path)")))
    assert row == "reader = images(paths, 32)"
    assert message.startswith(
        "`images(paths, 32)` gives the training at line 25 batches that threads of its own process"
    )
    assert found(program(THREADS.format(mapper="lambda path: path"))) == []


@pytest.mark.parametrize(
    "drawn",
    [
        "paddle.reader.multiprocess_reader([reader])()",
        "prefetched(reader())",
        "paddle.io.DataLoader(paths, num_workers=4)",
    ],
)
def test_what_may_load_elsewhere_is_left_alone(drawn: str) -> None:
    assert found(program(READER.format(read="cv2.imread(path)"), drawn=drawn)) == []


def test_a_loop_that_does_not_train_and_a_program_for_the_cpu_need_no_workers() -> None:
    text = program(READER.format(read="cv2.imread(path)"))
    assert found(text.replace("loss.backward()", "print(loss)").replace("optimizer.step()", "pass")) == []
    assert found(text.replace("    for epoch", "    paddle.set_device('cpu')\n    for epoch")) == []


def test_the_reader_of_another_file_is_reported_where_the_training_makes_it() -> None:
    reader = ABOVE + READER.format(read="cv2.imread(path)")
    files = {"readers.py": reader, "train.py": program("from readers import images\n\n\n")}
    (finding,) = check(files, CODE)
    assert finding.path == "train.py"
    assert "`cv2.imread` at readers.py:10" in finding.message
    assert finding.impact is not None
    assert finding.impact.level is ImpactLevel.HIGH
    assert [(each.path, each.line) for each in finding.related] == [("readers.py", 10)]


@pytest.mark.parametrize(
    ("made", "fills", "count"),
    [
        ("paddle.io.DataLoader.from_generator(capacity=8)", "loader.set_batch_generator(images(paths, 32))", 1),
        ("paddle.fluid.io.PyReader(capacity=8)", "loader.decorate_sample_list_generator(images(paths, 32))", 1),
        (
            "paddle.io.DataLoader.from_generator(capacity=8, use_multiprocess=True)",
            "loader.set_batch_generator(images(paths, 32))",
            0,
        ),
        ("paddle.io.DataLoader.from_generator(capacity=8)", "loader.set_batch_generator(given)", 0),
    ],
)
def test_a_loader_that_is_given_a_generator_runs_it_in_a_thread(made: str, fills: str, count: int) -> None:
    text = program(READER.format(read="cv2.imread(path)"), f"loader = {made}\n{fills}", "loader()")
    results = found(text)
    assert [row for row, _ in results] == [fills] * count
    assert all("batches that threads of its own process load (`cv2.imread` at line 10)" in said for _, said in results)


TWO = """\
class Net:
    def inputs(self):
        self.feeder = paddle.io.DataLoader.from_generator(capacity=8)
        return self.feeder


"""


def test_of_two_loaders_that_one_call_makes_the_one_is_meant_that_the_training_gets() -> None:
    made = (
        "loader, other = Net().inputs(), Net().inputs()\n"
        "loader.set_batch_generator(images(paths, 32))\nother.set_batch_generator(images(paths, 8))"
    )
    text = program(TWO + READER.format(read="cv2.imread(path)"), made, "loader()")
    assert [row for row, _ in found(text)] == ["loader.set_batch_generator(images(paths, 32))"]
