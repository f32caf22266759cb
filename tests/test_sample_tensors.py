"""Which tensors of a dataset PPF106 speaks of, and which edits it offers."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.findings import Confidence, Finding, ImpactLevel, Level
from perflint.fix.fixer import complete_edits, spliced
from tests.support import check, expect_marked, places

DATASET = """\
import numpy as np
import paddle
from paddle.vision.transforms import {imported}


class Points(paddle.io.Dataset):
    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        {body}
"""
LOADER = """\
import paddle
from points import Points

loader = paddle.io.DataLoader(Points(){given})
for x, y in loader:
    print(x)
"""
RETURN = 'return paddle.to_tensor(self.points[index], dtype="float32"), self.labels[index]'


TRAINING = """\
import paddle
from points import Points


def train(model, optimizer, epochs):
    loader = paddle.io.DataLoader(Points(), batch_size=32, shuffle=True{given})
    for epoch in range(epochs):
        for x, y in loader:
            loss = paddle.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""


def _found(*body: str, imported: str = "Resize", program: str = LOADER.replace("{given}", "")) -> list[Finding]:
    text = DATASET.format(body="\n        ".join(body), imported=imported)
    return check({"points.py": text, "train.py": program}, "PPF106", min_confidence=Confidence.LOW)


def test_a_tensor_beside_a_number_is_made_an_array() -> None:
    (found,) = _found(RETURN, program=TRAINING.replace("{given}", ""))
    assert found.fix is not None and found.impact is not None
    assert (found.fix.level, found.impact.level, found.confidence) == (
        Level.UNSAFE,
        ImpactLevel.MEDIUM,
        Confidence.HIGH,
    )


@pytest.mark.parametrize(
    "body",
    [
        ('label = paddle.to_tensor(self.labels[index], dtype="int64")', "return paddle.reshape(self.x, [-1]), label"),
        (
            "sample = {}",
            "for scale in range(4):",
            '    sample["k", scale] = paddle.to_tensor(self.k)',
            "self.mix(sample)",
            'sample["depth"] = paddle.to_tensor(self.depth[index])',
            "return sample",
        ),
    ],
)
def test_nothing_is_won_where_another_part_stays_a_tensor(body: tuple[str, ...]) -> None:
    assert _found(*body) == []


@pytest.mark.parametrize(
    "body",
    [
        (
            "x = self.transform(self.points[index])",
            'return x, paddle.to_tensor(self.labels[index], dtype="int64")',
        ),
        (
            "x, y = self.transform(self.points[index], self.labels[index])",
            'return x, paddle.to_tensor(y, dtype="int64")',
        ),
    ],
)
def test_what_a_transform_gives_may_be_a_tensor(body: tuple[str, ...]) -> None:
    assert [one.confidence for one in _found(*body)] == [Confidence.LOW]
    assert _found(*body, imported="ToTensor") == []


def test_a_sample_of_another_dataset_may_be_a_tensor_already() -> None:
    (found,) = _found("x, y = self.dataset[self.order[index]]", 'return paddle.to_tensor(x, dtype="float32"), y')
    assert found.fix is not None
    assert not found.fix.edits and "pass them on unchanged" in found.fix.reason


def test_code_that_indexes_the_dataset_may_count_on_tensors() -> None:
    program = "from points import Points\n\npoints = Points()\nprint(points[0][0].unsqueeze(0))\n"
    (found,) = _found(RETURN, program=program)
    assert found.fix is not None
    assert not found.fix.edits and "indexes the dataset directly" in found.fix.reason


@pytest.mark.parametrize(
    ("given", "count"), [("", 1), (", collate_fn=None", 1), (", collate_fn=padded", 0), (", 8, collate_fn=Pad()", 0)]
)
def test_a_function_of_its_own_collates_in_another_file(given: str, count: int) -> None:
    assert len(_found(RETURN, program=LOADER.replace("{given}", given))) == count


def test_the_loader_of_another_dataset_says_nothing() -> None:
    program = "import paddle\nfrom points import Points\n\nloader = paddle.io.DataLoader(Words(), collate_fn=padded)\n"
    assert len(_found(RETURN, program=program)) == 1


def test_a_part_that_is_returned_twice_is_still_returned() -> None:
    (found,) = _found(
        'x = paddle.to_tensor(self.points[index], dtype="float32")',
        'y = paddle.to_tensor(self.labels[index], dtype="int64")',
        "if self.is_train:",
        "    return x, y",
        "return x, y, y",
    )
    assert "2 tensors" in found.message


def test_a_tensor_that_a_return_works_with_stays() -> None:
    body = ("x = paddle.to_tensor(self.points[index])", "if self.flat:", "    return x.unsqueeze(0)", "return x")
    assert _found(*body) == []


def _level(given: str) -> ImpactLevel | None:
    """The impact of a tensor in samples of a loader for training."""
    (found,) = _found(RETURN, program=TRAINING.replace("{given}", given))
    return found.impact.level if found.impact is not None else None


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ("", ImpactLevel.MEDIUM),
        (", num_workers=0", ImpactLevel.MEDIUM),
        (", num_workers=4", ImpactLevel.LOW),
    ],
)
def test_it_matters_where_the_process_that_trains_makes_the_tensors(given: str, level: ImpactLevel) -> None:
    assert _level(given) is level


def test_tensors_that_no_training_is_known_to_read_matter_little() -> None:
    (found,) = _found(RETURN)
    assert found.impact is not None and found.impact.level is ImpactLevel.LOW


ON_THE_WAY = """\
import numpy as np
import paddle


class Faces(paddle.io.Dataset):
    def __init__(self, images):
        self.images, self.scale = images, paddle.to_tensor([0.5])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, label = self.pull(index)
        return image * self.scale, label

    def pull(self, index):
        image = np.transpose(self.images[index], (2, 0, 1))
        return paddle.transpose(paddle.to_tensor(image), [1, 0, 2]), index  #: PPF106


def collate(samples):
    labels = []
    for image, label in samples:
        labels.append(paddle.to_tensor(label))  #: PPF106
    return paddle.stack([image for image, label in samples]), labels


def train(model, images, optimizer, epochs):
    loader = paddle.io.DataLoader(Faces(images), batch_size=32, shuffle=True, collate_fn=collate{given})
    for epoch in range(epochs):
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""


def test_what_a_method_or_the_collating_function_makes_of_a_sample_is_found_not_what_is_made_once() -> None:
    expect_marked(ON_THE_WAY.replace("{given}", ""), "PPF106")


def test_workers_do_that_on_the_cpu_beside_the_training() -> None:
    """One cause, one finding: workers share what the dataset and the collating function do."""
    text = ON_THE_WAY.replace("{given}", ", num_workers=2")
    (found,) = check(text, "PPF106")
    assert found.impact is not None
    assert found.impact.level is ImpactLevel.LOW
    assert "in the workers that load for the training at line" in found.message
    rows = [row for row, line in enumerate(text.splitlines(), 1) if "#: PPF106" in line]
    assert [text.count("\n", 0, found.start) + 1, *(each.line for each in found.related)] == rows


def test_a_dataset_that_one_of_two_loaders_reads_in_the_training_is_reported_for_that_one() -> None:
    text = ON_THE_WAY.replace("{given}", ", num_workers=2")
    again = text[text.index("def train(") :].replace("def train(", "def train_slowly(").replace(", num_workers=2", "")
    levels = [each.impact.level for each in check(f"{text}\n\n{again}", "PPF106") if each.impact is not None]
    assert levels == [ImpactLevel.MEDIUM, ImpactLevel.MEDIUM]


def test_one_tensor_of_a_batch_is_fine() -> None:
    text = ON_THE_WAY.replace("{given}", "")
    text = text.replace("paddle.to_tensor(label)", "label").replace("), labels\n", "), paddle.to_tensor(labels)\n")
    assert [row for _, row, _ in places(text, "PPF106")] == [18]


def test_the_import_of_paddle_stays_although_another_module_loads_it() -> None:
    base = "import paddle\n\n\nclass Base(paddle.io.Dataset):\n    pass\n"
    text = """\
    import numpy as np
    import paddle

    from base import Base


    class Points(Base):
        def __getitem__(self, index):
            return paddle.to_tensor(np.load(self.paths[index]))
    """
    (found,) = check({"points.py": text, "base.py": base}, "PPF106")
    assert found.fix is not None
    text = dedent(text)
    left = spliced(text, 0, len(text), complete_edits(text, found.fix))
    assert left == text.replace("paddle.to_tensor", "np.asarray")


TRANSFORMED = """\
import numpy as np
import paddle
from paddle.vision.transforms import BaseTransform, Compose, Resize


class Whole(BaseTransform):
    def _apply_image(self, image):
        return paddle.to_tensor(np.array(image))  #: PPF106


class Apply:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return image


class Faces(paddle.io.Dataset):
    def __init__(self, images, transform):
        self.images, self.transform = images, transform

    def __getitem__(self, index):
        return self.transform(self.images[index]), index


def train(model, images, optimizer, epochs):
    steps = [Resize(224)]
    {added}
    loader = paddle.io.DataLoader(Faces(images, {transform}), batch_size=32, shuffle=True)
    for epoch in range(epochs):
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("added", "transform"),
    [
        ("pass", "Whole()"),
        ("pass", "Compose([Resize(224), Whole()])"),
        ("steps.append(Whole())", "Compose(steps)"),
        ("steps.extend([Whole()])", "Compose(steps)"),
        ("pass", "Apply([Resize(224), Whole()])"),
        ("steps.append(Whole())", "Apply(steps)"),
    ],
)
def test_a_step_of_the_transforms_is_found_wherever_their_list_is_made(added: str, transform: str) -> None:
    expect_marked(TRANSFORMED.replace("{added}", added).replace("{transform}", transform), "PPF106")


@pytest.mark.parametrize(
    ("added", "transform"), [("others = []; others.append(Whole())", "Compose(steps)"), ("pass", "Apply(steps)")]
)
def test_a_step_of_other_transforms_makes_no_tensor_of_these_samples(added: str, transform: str) -> None:
    text = TRANSFORMED.replace("{added}", added).replace("{transform}", transform)
    assert places(text, "PPF106") == []


WRITTEN = ON_THE_WAY[: ON_THE_WAY.index("        image, label")].replace(", paddle.to_tensor([0.5])", ", 0.5")
WRITTEN += """\
        return self.images[index], index


def collate(samples):
    out = {made}
    for row, (image, label) in enumerate(samples):
        {written}
    return out


"""
WRITTEN += ON_THE_WAY[ON_THE_WAY.index("def train(") :].replace("{given}", "")
ZEROS = "paddle.zeros([len(samples), 3, 224])"


@pytest.mark.parametrize(
    ("made", "written", "found"),
    [
        (ZEROS, "out[row] = image", True),
        (ZEROS, "out[row, :, : len(image)] += image", True),
        ("paddle.empty(shape=(len(samples), *samples[0].shape))", "out[row] = image", True),
        ("np.zeros([len(samples), 3, 224])", "out[row] = image", False),
        ("paddle.zeros([len(samples)])", "out[row] = label", False),
        (ZEROS, "samples[row] = image", False),
        ("paddle.zeros([len(samples), 3, 224]); out[:] = 1", "pass", False),
    ],
)
def test_samples_that_are_written_into_a_tensor_one_by_one_are_found(made: str, written: str, found: bool) -> None:
    text = WRITTEN.replace("{made}", made).replace("{written}", written)
    rows = [text.splitlines()[row - 1].strip() for _, row, _ in places(text, "PPF106")]
    assert rows == ([written] if found else [])


KEPT = """\
import numpy as np
import paddle
from paddle.io import DataLoader, Dataset, Subset


def prepare(rows):
    return paddle.to_tensor(rows), np.arange(len(rows))


class Table(Dataset):
    def __init__(self, rows, order):
        self.rows = {kept}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {sample}


def train(model, optimizer, data):
    rows, order = prepare(data)
    table = {dataset}
    loader = DataLoader(table, batch_size=64, shuffle=True{given})
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
USUAL = {"kept": "rows", "sample": "self.rows[index]", "dataset": "Table(rows, order)", "given": ""}


@pytest.mark.parametrize(
    ("changed", "levels"),
    [
        ({}, [ImpactLevel.MEDIUM]),
        ({"kept": "paddle.concat([rows, rows])"}, [ImpactLevel.MEDIUM]),
        ({"dataset": "Subset(Table(rows, order), [0, 1])"}, [ImpactLevel.MEDIUM]),
        ({"given": ", num_workers=4"}, [ImpactLevel.LOW]),
        ({"kept": "order"}, []),
        ({"kept": "rows.numpy()"}, []),
        ({"kept": "rows.tolist()"}, []),
        ({"sample": "len(self.rows)"}, []),
    ],
)
def test_items_of_a_tensor_that_the_dataset_keeps(changed: dict[str, str], levels: list[ImpactLevel]) -> None:
    found = check(KEPT.format(**{**USUAL, **changed}), "PPF106")
    assert [each.impact.level for each in found if each.impact is not None] == levels
