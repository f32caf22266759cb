"""PPF114: which lazy maps tokenize the samples of a training again, and what it takes for PaddleNLP's to be known."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from perflint.findings import ImpactLevel
from perflint.fix.fixer import complete_edits, spliced
from tests.support import check, expect_marked, places

CODE = "PPF114"
CONVERT = """\
def convert(row, tokenizer, limit=128):
    encoded = tokenizer(row["text"], max_seq_len=limit)
    return encoded["input_ids"], row["label"]


"""
LOOP = """\
def run(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        for ids, labels in loader:
            loss = paddle.nn.functional.cross_entropy(model(ids), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()


"""


def program(body: str, *, convert: str = CONVERT, loop: str = LOOP, imports: str = "load_dataset, MapDataset") -> str:
    """A program with a body for its ``main``, in which ``train`` runs a training on a dataset."""
    start = f"from functools import partial\n\nimport paddle\nfrom paddlenlp.datasets import {imports}\n\n\n"
    end = "    loader = paddle.io.DataLoader(data, batch_size=32, shuffle=True)\n"
    end += "    run(model, loader, optimizer, epochs)\n"
    head = "def main(model, optimizer, tokenizer, epochs, rows):\n"
    return start + convert + loop + head + indent(dedent(body), "    ") + end


@pytest.mark.parametrize(
    "body",
    [
        'data = load_dataset("lcqmc", splits="train").map(partial(convert, tokenizer=tokenizer))  #: PPF114',
        'data, dev = load_dataset("lcqmc", splits=["a", "b"])\ndata.map(lambda x: convert(x, tokenizer))  #: PPF114',
        'data = load_dataset("lcqmc", splits=("train", "dev"))[0].map(lambda x: convert(x, tokenizer))  #: PPF114',
        "data = MapDataset(rows).map(lambda x: convert(x, tokenizer), lazy=True)  #: PPF114",
        "data = MapDataset(rows).map(lambda x: convert(x, tokenizer), lazy=False)",
        "data = MapDataset(rows).map(lambda x: convert(x, tokenizer), num_workers=4)",
        "data = MapDataset(rows).map(lambda xs: [convert(x, tokenizer) for x in xs], batched=True)",
        "data = MapDataset(rows).map(lambda x: (x['ids'], x['label']))",
        "data = rows.map(lambda x: {'ids': tokenizer(x['text'])})",
    ],
)
def test_a_lazy_map_of_paddlenlp_is_known_by_what_creates_its_dataset(body: str) -> None:
    expect_marked(program(body + "\n"), CODE)


def test_a_builder_of_the_project_reads_into_memory_unless_it_is_asked_for_a_stream() -> None:
    builder = "class Talks(DatasetBuilder):\n    def _read(self, name):\n        return open(name)\n\n\n"
    body = 'data = Talks({given}).read("train.tsv")\ndata = data.map(lambda x: convert(x, tokenizer))  #: PPF114\n'
    text = program(body, convert=CONVERT + builder, imports="DatasetBuilder")
    expect_marked(text.replace("{given}", ""), CODE)
    assert check(text.replace("{given}", "lazy=True"), CODE) == []


HELPER = """\
import paddle
from paddlenlp.data import Pad, Stack, Tuple


def convert(row, tokenizer):
    ids = tokenizer(row["text"])["input_ids"]
    return {given}


def make_loader(dataset, tokenizer):
    dataset = dataset.map(lambda row: convert(row, tokenizer))
    return paddle.io.DataLoader(dataset, batch_size=32, shuffle=True, collate_fn=Tuple(Pad(), Stack()))


def train(model, dataset, tokenizer, optimizer, epochs):
    loader = make_loader(dataset, tokenizer)
    for epoch in range(epochs):
        for ids, labels in loader:
            loss = paddle.nn.functional.cross_entropy(model(ids), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""


def test_a_function_that_returns_a_tuple_suits_no_other_dataset() -> None:
    text = HELPER.replace("{given}", 'ids, row["label"]').replace("lambda row: convert(row, tokenizer)", "convert")
    assert [row for _, row, _ in places(text, CODE)] == [11]
    assert check(text.replace('ids, row["label"]', '{"ids": ids, "label": row["label"]}'), CODE) == []
    assert check("import datasets\n" + text, CODE) == []


@pytest.mark.parametrize(
    "line",
    [
        "random.shuffle(row['text'])",
        "row = augment(row)",
        "row['ids'] = np.random.permutation(10)",
        "image = cv2.imread(row['path'])",
    ],
)
def test_a_function_that_draws_or_reads_files_stays_lazy(line: str) -> None:
    convert = CONVERT.replace("    encoded =", f"    {line}\n    encoded =")
    body = "data = MapDataset(rows).map(partial(convert, tokenizer=tokenizer))\n"
    text = "import random\nimport cv2\nimport numpy as np\n" + program(body, convert=convert)
    assert check(text, CODE) == []


@pytest.mark.parametrize(
    ("epochs", "found"), [("range(1)", 0), ("range(3)", 1), ("range(epochs)", 1), ("itertools.count()", 1)]
)
def test_one_epoch_converts_each_sample_once(epochs: str, found: int) -> None:
    loop = "import itertools\n\n\n" + LOOP.replace("range(epochs)", epochs)
    body = "data = MapDataset(rows).map(partial(convert, tokenizer=tokenizer))\n"
    assert len(check(program(body, loop=loop), CODE)) == found


def test_workers_that_convert_the_samples_make_it_matter_little() -> None:
    text = program("data = MapDataset(rows).map(partial(convert, tokenizer=tokenizer))\n")
    (alone,) = check(text, CODE)
    (helped,) = check(text.replace("shuffle=True)", "shuffle=True, num_workers=4)"), CODE)
    assert alone.impact is not None and alone.impact.level is ImpactLevel.HIGH
    assert helped.impact is not None and helped.impact.level is ImpactLevel.LOW


def test_the_fix_also_converts_what_is_evaluated_after_each_epoch() -> None:
    loop = LOOP.replace("loader, optimizer", "loader, dev, optimizer")
    loop = loop.rstrip("\n") + "\n        for ids, labels in dev:\n            model(ids)\n\n\n"
    body = """\
        data, dev = load_dataset("lcqmc", splits=["train", "dev"])
        data = data.map(partial(convert, tokenizer=tokenizer))
        dev = dev.map(partial(convert, tokenizer=tokenizer), lazy=True)
        dev_loader = paddle.io.DataLoader(dev, batch_size=32)
        """
    text = program(body, loop=loop).replace("loader, optimizer, epochs)\n", "loader, dev_loader, optimizer, epochs)\n")
    (found,) = check(text, CODE)
    assert found.fix is not None and len(found.related) == 1
    fixed = spliced(text, 0, len(text), complete_edits(text, found.fix))
    assert fixed.count("lazy=False") == 2 and "lazy=True" not in fixed


def test_a_function_of_one_epoch_may_run_in_each_epoch() -> None:
    loop = LOOP.replace("range(epochs)", "range(1)")
    text = program("data = MapDataset(rows).map(partial(convert, tokenizer=tokenizer))\n", loop=loop)
    again = text.replace("    run(model,", "    for epoch in range(epochs):\n        run(model,")
    assert check(text, CODE) == [] and len(check(again, CODE)) == 1


@pytest.mark.parametrize(("given", "found"), [("", 1), ("num_train_epochs=5", 1), ("num_train_epochs=1", 0)])
def test_a_trainer_reads_its_data_once_for_each_epoch(given: str, found: int) -> None:
    text = f"""\
    import paddle
    from paddlenlp.datasets import load_dataset
    from paddlenlp.trainer import Trainer, TrainingArguments


    class Weighted(Trainer):
        def compute_loss(self, model, inputs):
            return model(**inputs)


    def main(model, tokenizer):
        train_ds = load_dataset("lcqmc", splits="train").map(lambda row: tokenizer(row["text"]))
        args = TrainingArguments("out", {given})
        Weighted(model=model, args=args, train_dataset=train_ds, tokenizer=tokenizer).train()


    main(None, None)
    """
    assert len(check(text, CODE)) == found
