"""PPF101 where the dataset is a part of an object, and what is known of that object."""

from __future__ import annotations

from perflint.findings import Finding, ImpactLevel, Level
from tests.support import check

DATASET = """\
import paddle
from paddle.io import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, x, transform=None):
        self.x = x
        self.transform = transform

    def __getitem__(self, index):
        x = self.x[index]
        if self.transform is not None:
            x = self.transform(x)
        return {"x": x}

    def __len__(self):
        return len(self.x)


class Flow:
    def __init__(self, path):
        self._train = Pairs(paddle.load(path))

    @property
    def train(self):
        return self._train


class Darcy(Flow):
    pass


def fit(model, optimizer, loader):
    for batch in loader:
        loss = model(batch["x"])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

"""


def of(more: str, text: str = DATASET) -> Finding:
    (finding,) = check({"train.py": text + more}, "PPF101")
    return finding


def assert_told(finding: Finding, level: ImpactLevel, said: str) -> None:
    assert finding.impact is not None and finding.fix is not None
    assert finding.impact.level is level
    assert (finding.fix.level, finding.fix.edits) == (Level.DISPLAY, ())
    assert said in finding.message


def test_a_dataset_behind_a_property_of_a_base_class() -> None:
    finding = of("data = Darcy('flow')\nfit(model, optimizer, DataLoader(data.train, batch_size=8, num_workers=0))\n")
    assert_told(finding, ImpactLevel.LOW, "(`paddle.load` at line 22)")


def test_what_one_object_is_told_counts_for_that_object() -> None:
    made = "pairs = Pairs(tensors{})\nfit(model, optimizer, DataLoader(pairs, batch_size=8, num_workers=0))\n"
    others = "\n\ndef other(found, **options):\n    return Pairs(found, **options)\n\n\n"
    quick, slow = of(others + made.format("")), of(others + made.format(", transform=crop"))
    assert quick.impact is not None and slow.impact is not None
    assert (quick.impact.level, slow.impact.level) == (ImpactLevel.LOW, ImpactLevel.HIGH)


def test_any_operation_on_tensors_and_any_layer() -> None:
    text = DATASET.replace("x = self.x[index]", "x = (self.read(index) - 1) / paddle.sqrt(x=self.x)")
    loader = "fit(model, optimizer, DataLoader(Pairs(arrays), batch_size=8, num_workers=0))\n"
    assert_told(of(loader, text), ImpactLevel.HIGH, "(`paddle.sqrt` at line 11)")
    text = DATASET.replace("x = self.x[index]", "x = self.solve(self.read(index))")
    text = text.replace("self.x = x\n", "self.x = x\n        self.solve = Solver()\n")
    text = text.replace("class Pairs", "class Solver(paddle.nn.Layer):\n    pass\n\n\nclass Pairs")
    assert_told(of(loader, text), ImpactLevel.HIGH, "(`Solver` at line 5)")


def test_what_is_read_to_the_host_at_once_is_an_array() -> None:
    text = DATASET.replace("x = self.x[index]", "x = paddle.sqrt(self.read(index)).numpy()")
    finding = of("fit(model, optimizer, DataLoader(Pairs(arrays), batch_size=8, num_workers=0))\n", text)
    assert finding.fix is not None and finding.fix.level is Level.UNSAFE
    text = DATASET.replace("paddle.load(path)", "paddle.load(path, return_numpy=True)")
    finding = of("fit(model, optimizer, DataLoader(Flow('x').train, batch_size=8, num_workers=0))\n", text)
    assert finding.fix is not None and finding.fix.level is Level.UNSAFE


def test_a_method_of_the_dataset_may_have_any_name() -> None:
    text = DATASET.replace("x = self.x[index]", "x = self.get(self.x[index])")
    text = text.replace(
        "    def __len__", "    def get(self, name):\n        return cv2.imread(name)\n\n    def __len__"
    )
    finding = of("fit(model, optimizer, DataLoader(Pairs(names), batch_size=8, num_workers=0))\n", text)
    assert finding.impact is not None and finding.impact.level is ImpactLevel.HIGH


def test_the_calls_that_leave_a_default_are_named() -> None:
    text = DATASET.replace("def fit(model, optimizer, loader):", "def fit(model, optimizer, data, num_workers=0):")
    text = text.replace("for batch in loader:", "for batch in DataLoader(data, batch_size=8, num_workers=num_workers):")
    calls = "fit(model, optimizer, first)\nfit(model, optimizer, second)\nfit(model, optimizer, third, num_workers=2)\n"
    related = of(calls, text).related
    assert [(place.line, place.message) for place in related] == [
        (34, "feeds `DataLoader` here"),
        (40, "keeps this default here"),
        (41, "keeps this default here"),
    ]
