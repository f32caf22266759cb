"""PPF101 and PPF102 where workers would crash: samples that are Paddle tensors, and arrays of size zero."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.run.session import Session
from perflint.text.source import Source
from tests.support import check

DATASET = """\
import numpy as np
import paddle
from paddle.io import DataLoader, Dataset
from paddle.vision import transforms as T


class Images(Dataset):
    def __init__(self, paths, transform=None):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        {body}

    def load(self, index):
        return paddle.to_tensor(index)

    def __len__(self):
        return len(self.paths)
"""
TRAIN = """\


def train(model, optimizer, paths):
    {loader}
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
LOADER = "loader = DataLoader(Images(paths), batch_size=8, shuffle=True)"


def script(body: str, loader: str = LOADER, more: str = "") -> str:
    indented = body.replace("\n", "\n        ")
    return DATASET.format(body=indented) + more + TRAIN.format(loader=loader.replace("\n", "\n    "))


def of(text: str, code: str = "PPF101", path: str = "train.py") -> Finding:
    (finding,) = check({path: text}, code)
    return finding


def assert_words(finding: Finding, *said: str) -> None:
    assert finding.fix is not None
    assert (finding.fix.edits, finding.fix.level) == ((), Level.DISPLAY)
    for text in said:
        assert text in finding.fix.reason


@pytest.mark.parametrize(
    ("body", "loader", "more"),
    [
        ("return paddle.to_tensor(self.paths[index])", LOADER, ""),
        (
            "x = self.load(index)\nreturn x",
            LOADER,
            "",
        ),
        ("return make(self.paths[index])", LOADER, "\n\ndef make(path):\n    return paddle.stack([path])\n"),
        ("return self.transform(index)", "loader = DataLoader(Images(paths, T.ToTensor()), batch_size=8)", ""),
        (
            "return self.transform(index)",
            "steps = [T.Resize(8)]\nsteps.append(T.ToTensor())\nsteps += [T.ToTensor()]\n"
            "data = Images(paths, transform=T.Compose(steps))\nloader = DataLoader(data, batch_size=8)",
            "",
        ),
        (
            "return self.transform(index)",
            "data, other = build(paths)\nloader = DataLoader(data, batch_size=8)",
            "\n\nTO_TENSOR = T.Compose([T.ToTensor()])\n\n\ndef build(paths):\n"
            "    return Images(paths, TO_TENSOR), None\n",
        ),
        (
            "return index",
            "loader = DataLoader(Images(paths), **options(8))",
            "\n\ndef collate(batch):\n    return paddle.to_tensor(batch)\n\n\n"
            "def options(size):\n    return dict(batch_size=size, collate_fn=collate)\n",
        ),
        (
            "return self.transform(index)",
            "loader = make_loader(Images(paths, T.ToTensor()))",
            "\n\ndef make_loader(data):\n    return DataLoader(data, batch_size=8, shuffle=True)\n",
        ),
    ],
)
def test_samples_that_are_tensors_get_words(body: str, loader: str, more: str) -> None:
    assert_words(
        of(script(body, loader, more)), "the samples are Paddle tensors (`", "on which worker processes can crash"
    )


@pytest.mark.parametrize(
    ("collate", "name", "more"),
    [
        ("collate", " `collate`", "\n\ndef collate(batch):\n    return paddle.to_tensor(batch)\n"),
        ("lambda batch: paddle.to_tensor(batch)", "", ""),
        (
            "Collate(4)",
            " `Collate`",
            "\n\nclass Collate:\n    def __init__(self, size):\n        self.size = size\n\n"
            "    def __call__(self, batch):\n        return [item.tensor() for item in batch]\n",
        ),
        (
            "texts.padded",
            " `texts.padded`",
            "\n\nclass Texts:\n    def __init__(self, tokenizer):\n        self.tokenizer = tokenizer\n\n"
            '    def padded(self, batch):\n        return self.tokenizer(batch, return_tensors="pd")\n',
        ),
    ],
)
def test_a_collate_function_that_makes_tensors_is_named(collate: str, name: str, more: str) -> None:
    loader = f"texts = Texts(tokenizer)\nloader = DataLoader(Images(paths), batch_size=8, collate_fn={collate})"
    finding = of(script("return index", loader, more))
    assert_words(finding, f"the collate function{name} makes Paddle tensors (`", "let it return NumPy arrays instead")
    assert f"; let the collate function{name} return NumPy arrays first, since workers can crash on " in finding.message


def test_samples_and_batches_are_both_named() -> None:
    collate = "\n\ndef collate(batch):\n    return paddle.stack(batch)\n"
    loader = "loader = DataLoader(Images(paths), batch_size=8, collate_fn=collate)"
    finding = of(script("return paddle.to_tensor(self.paths[index])", loader, collate))
    assert_words(
        finding,
        "the samples are Paddle tensors (`paddle.to_tensor` at line 13)",
        "the collate function `collate` makes others (`paddle.stack` at line 23)",
        "return NumPy arrays from both",
    )
    assert "return NumPy arrays as samples, and from the collate function `collate`, first" in finding.message


def test_arrays_from_a_collate_function_are_fine() -> None:
    collate = "\n\ndef collate(batch):\n    return np.stack(batch)\n"
    loader = "loader = DataLoader(Images(paths), batch_size=8, collate_fn=collate)"
    fix = of(script("return np.load(self.paths[index])", loader, collate)).fix
    assert fix is not None
    assert fix.level is Level.UNSAFE


def test_what_else_the_object_does_that_makes_the_loader_is_no_part_of_it() -> None:
    text = """\
from paddle.io import DataLoader


class Demo:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, text):
        return self.tokenizer(text, return_tensors="pd")

    def loader(self, words):
        return DataLoader(converted(words, self.tokenizer), batch_size=8, shuffle=True)


Demo(made).loader(read())
"""
    fix = of(text).fix
    assert fix is not None
    assert fix.level is Level.UNSAFE


def test_tensors_that_an_attribute_gets_by_unpacking() -> None:
    load = "\n\ndef load(paths):\n    return [paddle.to_tensor(path) for path in paths], len(paths)\n"
    text = script("return self.paths[index]", more=load)
    text = text.replace("self.paths = paths", "self.paths, self.count = load(paths)")
    assert_words(of(text), "the samples are Paddle tensors (`paddle.to_tensor` at line")


def test_the_reason_names_the_place_and_what_helps() -> None:
    finding = of(
        script("return self.transform(index)", "loader = DataLoader(Images(paths, T.ToTensor()), batch_size=8)")
    )
    assert_words(
        finding, "(`paddle.vision.transforms.ToTensor` at line 23)", "`Transpose()` and `Normalize([0.0], [255.0])`"
    )
    finding = of(script("return paddle.to_tensor(self.paths[index])"))
    assert_words(finding, "(`paddle.to_tensor` at line 13)", "return NumPy arrays instead")


COLLATED = "loader = DataLoader(Images(paths), batch_size=8, shuffle=True, collate_fn={collate})"


@pytest.mark.parametrize("collate", ["DataCollatorWithPadding(tokenizer)", "default_data_collator"])
def test_what_paddlenlp_collates_with_gives_tensors(collate: str) -> None:
    more = "\n\nfrom paddlenlp.data import DataCollatorWithPadding, default_data_collator\n"
    finding = of(script("return np.load(self.paths[index])", COLLATED.format(collate=collate), more))
    name = collate.partition("(")[0]
    assert_words(
        finding,
        f"the collate function `{name}` makes Paddle tensors (`paddlenlp.data.{name}` at line 26)",
        "turn every field into int64",
    )
    arrays = 'DataCollatorWithPadding(tokenizer, return_tensors="np")'
    fix = of(script("return np.load(self.paths[index])", COLLATED.format(collate=arrays), more)).fix
    assert fix is not None
    assert fix.level is Level.UNSAFE


SUBCLASS = """


from paddlenlp.data import DataCollatorWithPadding


class AsList(DataCollatorWithPadding):
{body}


class Nearer(AsList):
    pass
"""
CALLS_IT = """\
    def __call__(self, features):
        batch = super().__call__(features)
        return list(batch.values()){more}"""


@pytest.mark.parametrize("name", ["AsList", "Nearer"])
@pytest.mark.parametrize("body", ["    pass", CALLS_IT.format(more="")])
def test_a_subclass_of_a_collator_gives_tensors(name: str, body: str) -> None:
    loader = COLLATED.format(collate=f"{name}(tokenizer)")
    finding = of(script("return np.load(self.paths[index])", loader, SUBCLASS.format(body=body)))
    assert_words(
        finding, f"the collate function `{name}` makes Paddle tensors (`paddlenlp.data.DataCollatorWithPadding`"
    )


@pytest.mark.parametrize(
    ("made", "body"),
    [
        ('AsList(tokenizer, return_tensors="np")', CALLS_IT.format(more="")),
        ("AsList(tokenizer)", '    return_tensors: str = "np"'),
        ("AsList(tokenizer)", "    def __call__(self, features):\n        return self.tokenizer.pad(features)"),
        ("AsList(tokenizer)", CALLS_IT.format(more="[0].numpy()")),
    ],
)
def test_a_subclass_of_a_collator_that_gives_arrays(made: str, body: str) -> None:
    loader = COLLATED.format(collate=made)
    fix = of(script("return np.load(self.paths[index])", loader, SUBCLASS.format(body=body))).fix
    assert fix is not None
    assert fix.level is Level.UNSAFE


MAPPED = """\
from paddle.io import DataLoader
from paddlenlp.datasets import MapDataset, load_dataset

{made}
{mapped}
loader = DataLoader({data}, batch_size=8, shuffle=True)
for epoch in range(epochs):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
ONCE = "or pass lazy=False to `words.map` at line 5, which then converts all samples once and keeps them in memory"


@pytest.mark.parametrize(
    ("made", "mapped", "data"),
    [
        ('words = load_dataset("chnsenticorp", splits=["train"])', "words = words.map(convert)", "words"),
        ('words, rest = load_dataset("chnsenticorp", splits=("train", "dev"))', "words.map(convert)", "words"),
        ("words = load_dataset(read, path=path, lazy=False)", "words = words.map(convert, lazy=True)", "words"),
        ("words = MapDataset(list(read(path)))", "pass", "words"),
    ],
)
def test_a_map_that_converts_in_each_epoch_is_named(made: str, mapped: str, data: str) -> None:
    message = of(MAPPED.format(made=made, mapped=mapped, data=data)).message
    assert message.endswith(f"to load in worker processes, {ONCE}.") is (mapped != "pass")


def test_a_map_before_a_single_epoch_is_not_named() -> None:
    program = MAPPED.format(made="words = MapDataset(list(read(path)))", mapped="words.map(convert)", data="words")
    assert ONCE in of(program).message
    assert ONCE not in of(program.replace("range(epochs)", "range(1)")).message


@pytest.mark.parametrize(
    ("made", "mapped"),
    [
        ('words = load_dataset("chnsenticorp", splits=["train"])', "words = words.map(convert, lazy=False)"),
        ('words = load_dataset("chnsenticorp", splits=["train"])', "words = words.map(convert, num_workers=4)"),
        ("words = unknown(path)", "words = words.map(convert)"),
        ("words = load_dataset(read, path=path, lazy=True)", "words = words.map(convert)"),
    ],
)
def test_a_map_that_converts_once_or_cannot_is_not(made: str, mapped: str) -> None:
    assert "lazy=False" not in of(MAPPED.format(made=made, mapped=mapped, data="words")).message


def test_a_dataset_of_paddle_with_its_own_transform() -> None:
    text = """\
import paddle
from paddle.vision.datasets import MNIST
from paddle.vision.transforms import Compose, Normalize, ToTensor, Transpose

data = MNIST(transform={transform})
model = paddle.Model(paddle.vision.models.LeNet())
model.fit(data, epochs=2)
"""
    assert_words(of(text.format(transform="ToTensor()")), "ToTensor` at line 5")
    fix = of(text.format(transform="Compose([Transpose(), Normalize([0.0], [255.0])])")).fix
    assert fix is not None
    assert fix.level is Level.UNSAFE


@pytest.mark.parametrize(
    "body",
    [
        "return np.load(self.paths[index])",
        "return self.transform(index)",
        "x = np.zeros((4, 4))\nreturn x.reshape(-1)",
        "return np.array([index])",
    ],
)
def test_arrays_keep_the_edit(body: str) -> None:
    fix = of(script(body)).fix
    assert fix is not None
    assert [edit.content for edit in fix.edits] == [", num_workers=4"]


@pytest.mark.parametrize(
    "body",
    [
        "return np.zeros((0, 4))",
        "return np.empty([0])",
        "boxes = np.array([])\nreturn boxes",
        "return np.load(self.paths[index]).reshape(0, 4)",
    ],
)
def test_arrays_of_size_zero_get_words(body: str) -> None:
    assert_words(of(script(body)), "array of size zero", "use_shared_memory=False")
    loader = "loader = DataLoader(Images(paths), batch_size=8, num_workers=2, use_shared_memory=False)"
    assert not check(script(body, loader), "PPF102")  # it is off for a reason: shown on request only


def test_a_number_of_workers_that_stands_elsewhere_gets_words_too() -> None:
    files = {
        "data.py": script("return paddle.to_tensor(index)"),
        "train.py": dedent(
            """
            import argparse
            import paddle
            from data import Images

            parser = argparse.ArgumentParser()
            parser.add_argument("--num_workers", type=int, default=0)
            args = parser.parse_args()
            train_loader = paddle.io.DataLoader(
                Images([]), batch_size=8, shuffle=True, num_workers=args.num_workers
            )
            for x, y in train_loader:
                loss = model(x, y)
                loss.backward()
                optimizer.step()
            """
        ),
    }
    found = [item for item in check(files, "PPF101") if item.path == "train.py"]
    assert len(found) == 1
    assert_words(found[0], "(`paddle.to_tensor` at data.py:13)")


def test_an_edit_of_the_dataset_brings_the_edit_of_the_loader_back() -> None:
    texts = {
        "data.py": script("return paddle.to_tensor(index)", "loader = None"),
        "train.py": "from paddle.io import DataLoader\nfrom data import Images\n" + TRAIN.format(loader=LOADER),
    }
    session = Session(
        {path: Source(path, text) for path, text in texts.items()},
        Settings(join_lines=False, select=("PPF101",), min_impact=ImpactLevel.LOW),
        ["data.py"],
    )
    assert [item.fix and item.fix.level for item in session.findings()] == [Level.DISPLAY]
    session.edit("data.py", texts["data.py"].replace("paddle.to_tensor(index)", "index"))
    session.catch_up()
    assert [item.fix and item.fix.level for item in session.findings()] == [Level.UNSAFE]


@pytest.mark.parametrize(
    ("above", "value"),
    [
        ('other = DataLoader(Images([]), batch_size=8, num_workers=cfg["num_workers"])\n', 'cfg["num_workers"]'),
        ("other = DataLoader(Images([]), batch_size=8, num_workers=cfg.data.workers)\n", "cfg.data.workers"),
        ("other = DataLoader(Images([]), batch_size=8, num_workers=6)\n", "6"),
        ("n = cfg.workers\nother = DataLoader(Images([]), batch_size=8, num_workers=n)\n", "n"),
        ("if cfg:\n    n = 3\n    other = DataLoader(Images([]), batch_size=8, num_workers=n)\n", "4"),
        ("n = 1\nother = DataLoader(Images([]), batch_size=8, num_workers=n)\nn = 2\n", "4"),
        ("other = DataLoader(Images([]), batch_size=8, num_workers=max(cfg.workers, 1))\n", "4"),
        ("other = DataLoader(Images([]), batch_size=8, num_workers=1)\n", "4"),
    ],
)
def test_the_workers_of_the_loader_beside_it(above: str, value: str) -> None:
    text = script("return index", above + LOADER).replace("paths):\n    ", "paths, cfg):\n    ", 1)
    text = text.replace("def train(model, optimizer, paths)", "def train(model, optimizer, paths, cfg)")
    finding = of(text)
    assert finding.fix is not None
    written = [edit.content.strip() for edit in finding.fix.edits]  # a row that gets too long is broken
    assert [text for text in written if text] == [f", num_workers={value}"]
    assert f"give it num_workers={value} to load" in finding.message


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ("\n\nWORKERS = 6\n\n\ndef test():\n    return DataLoader(Images([]), num_workers=WORKERS)\n", "WORKERS"),
        ("\n\ndef test(workers):\n    return DataLoader(Images([]), num_workers=workers)\n", "4"),
        ("\n\ndef test():\n    workers = 6\n    return DataLoader(Images([]), num_workers=workers)\n", "4"),
        ("\n\ndef test():\n    return DataLoader(Images([]), num_workers=6)\n", "6"),
    ],
)
def test_the_workers_of_a_loader_in_another_function(more: str, value: str) -> None:
    fix = of(script("return index", LOADER, more)).fix
    assert fix is not None
    assert [edit.content for edit in fix.edits] == [f", num_workers={value}"]


START = "\n\ndef start(worker):\n    {body}\n"


@pytest.mark.parametrize(
    "loader",
    [
        "loader = DataLoader(Images(paths), batch_size=8, shuffle=True, worker_init_fn=start)",
        "more = {}\nmore['worker_init_fn'] = start\nloader = DataLoader(Images(paths), batch_size=8, **more)",
    ],
)
def test_workers_that_fail_when_they_start_get_words(loader: str) -> None:
    finding = of(script("return index", loader, START.format(body="torch.manual_seed(worker)")))
    assert_words(finding, "the `worker_init_fn` needs `torch` (")
    assert "; import `torch` first, which the `worker_init_fn` of each worker needs (" in finding.message
    for body in ("np.random.seed(worker)", "import torch\n    torch.manual_seed(worker)", "print(worker, LOADED)"):
        known = script("return index", loader, "\n\nLOADED = 1\n" + START.format(body=body))
        finding = of(known)
        assert finding.fix is not None
        assert finding.fix.edits
