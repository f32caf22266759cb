"""PPF115: what pads batches of texts of any length, and what shows that they have one length or are grouped."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.support import check, places

CODE = "PPF115"
TRAIN = """\
def train(model, data, tokenizer, optimizer, epochs, vocab):
{body}
    for epoch in range(epochs):
        for ids, labels in loader:
            loss = paddle.nn.functional.cross_entropy(model(ids), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""
SAMPLER = "sampler = BatchSampler(data, batch_size=32, shuffle=True)"
LOADER = "loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate)"


def program(*body: str, above: str = "") -> str:
    """A training whose loader the body makes."""
    imports = (
        "import numpy as np\nimport paddle\nfrom paddle.io import BatchSampler, DataLoader, DistributedBatchSampler\n"
        "from paddle.io import RandomSampler\n"
        "from paddlenlp.data import DataCollatorWithPadding, Dict, Pad, Stack, Tuple\n\n\n"
    )
    return imports + above + TRAIN.replace("{body}", indent("\n".join(body), "    "))


def _rows(text: str) -> list[str]:
    """The rows of the findings."""
    return [text.splitlines()[row - 1].strip() for _, row, _ in places(text, CODE)]


@pytest.mark.parametrize(
    "collate",
    [
        "collate = Tuple(Pad(pad_val=tokenizer.pad_token_id), Stack())",
        "collate = lambda samples, fn=Dict({'input_ids': Pad(pad_val=0), 'label': Stack()}): fn(samples)",
        "collate = DataCollatorWithPadding(tokenizer)",
        "collate = DataCollatorWithPadding(tokenizer, padding=True)",
        "collate = lambda rows: tokenizer.pad(rows)",
        "parts = {'input_ids': Pad(pad_val=0)}\ncollate = lambda samples, fn=Dict(parts): fn(samples)",
    ],
)
def test_what_pads_is_found_wherever_the_collating_function_comes_from(collate: str) -> None:
    assert _rows(program(collate, SAMPLER, LOADER)) == [SAMPLER]


@pytest.mark.parametrize(
    "collate",
    [
        "collate = Tuple(Stack(), Stack())",
        "collate = DataCollatorWithPadding(tokenizer, padding='max_length', max_length=128)",
        "collate = DataCollatorWithPadding(tokenizer, padding=False)",
        "collate = DataCollatorWithPadding(tokenizer)\ndata.map(lambda x: tokenizer(x, pad_to_max_seq_len=True))",
    ],
)
def test_samples_of_one_length_need_no_groups(collate: str) -> None:
    assert _rows(program(collate, SAMPLER, LOADER)) == []


OWN = """\
def collate(samples):
    {longest}
    ids = [{padded} for text, label in samples]
    return np.array(ids), np.array([label for text, label in samples])


"""


@pytest.mark.parametrize(
    ("longest", "padded", "found"),
    [
        ("longest = max(len(text) for text, label in samples)", "text + [0] * (longest - len(text))", True),
        ("longest = max([text.shape[0] for text, _ in samples])", "np.pad(text, (0, longest))", True),
        ("longest = 128", "text + [0] * (longest - len(text))", False),
        ("longest = max(len(boxes) for boxes, label in samples)", "text + [0] * (longest - len(text))", False),
        ("longest = max(len(text) for text, label in samples)", "text[:longest]", False),
        ("lengths = [len(text) for text, _ in samples]; longest = np.max(lengths)", "np.pad(text, (0, longest))", True),
        ("lengths = [len(boxes) for boxes, _ in samples]; longest = max(lengths)", "np.pad(text, (0, longest))", False),
        ("limits = [128, 256]; longest = max(limits)", "np.pad(text, (0, longest))", False),
    ],
)
def test_a_function_that_looks_for_the_longest_pads_to_it(longest: str, padded: str, found: bool) -> None:
    own = OWN.replace("{longest}", longest).replace("{padded}", padded)
    assert _rows(program(SAMPLER, LOADER, above=own)) == ([SAMPLER] if found else [])


SPECTRA = """\
def {name}(arrays):
    lengths = [each.shape[0] for each in arrays]
    longest = max(lengths)
    return np.stack([np.pad(each, [(0, longest - each.shape[0]), (0, 0)]) for each in arrays])


def collate(samples):
    return {name}([first for first, _ in samples]), np.array([label for _, label in samples])


"""


@pytest.mark.parametrize(("name", "found"), [("batch_spec", True), ("batch_pictures", False)])
def test_the_name_of_the_function_that_pads_may_say_what_it_pads(name: str, found: bool) -> None:
    text = program(SAMPLER, LOADER, above=SPECTRA.replace("{name}", name))
    assert _rows(text) == ([SAMPLER] if found else [])


PADS = "collate = Tuple(Pad(pad_val=tokenizer.pad_token_id), Stack())"


def test_a_copy_of_paddlenlp_in_the_repository_pads_too() -> None:
    copied = {"paddlenlp/__init__.py": "", "paddlenlp/data.py": "class Pad:\n    pass\n\n\nclass Stack:\n    pass\n"}
    text = program("collate = [Pad(pad_val=tokenizer.pad_token_id), Stack()]", SAMPLER, LOADER)
    assert [path for path, _, _ in places({"train.py": text, **copied}, CODE)] == ["train.py"]


@pytest.mark.parametrize(
    ("sampler", "found"),
    [
        ("sampler = BatchSampler(data, batch_size=32)", True),
        ("sampler = BatchSampler(data, batch_size=32, shuffle=False)", True),
        ("sampler = BatchSampler(data, batch_size=2, shuffle=False)", False),
        ("sampler = BatchSampler(sampler=model.sampler, batch_size=32)", False),
        ("sampler = BatchSampler(data, batch_size=2, shuffle=True)", False),
        ("sampler = BatchSampler(data, shuffle=True)", False),
        ("sampler = BatchSampler(sampler=RandomSampler(data), batch_size=32)", True),
        ("sampler = DistributedBatchSampler(data, 32, None, None, True)", True),
        ("sampler = GroupedSampler(data, batch_size=32, shuffle=True)", False),
    ],
)
def test_only_samplers_of_paddle_mix_lengths(sampler: str, found: bool) -> None:
    assert _rows(program(PADS, sampler, LOADER)) == ([sampler] if found else [])


@pytest.mark.parametrize(
    ("before", "shuffle", "found"),
    [
        ("data = list(data)", False, True),
        ("data.shuffle()", False, True),
        ("data = sorted(data, key=len)", False, False),
        ("data.sort(key=len)", False, False),
        ("data = by_bucket(data)", False, False),
        ("data.sort(key=len)", True, True),
    ],
)
def test_samples_that_something_sorts_may_stand_together_by_their_lengths(
    before: str, shuffle: bool, found: bool
) -> None:
    sampler = f"sampler = BatchSampler(data, batch_size=32, shuffle={shuffle})"
    assert _rows(program(PADS, before, sampler, LOADER)) == ([sampler] if found else [])


def test_the_sampler_that_shuffles_is_the_one_for_training() -> None:
    other = "sampler = DistributedBatchSampler(data, batch_size=32, shuffle=True)"
    text = program(PADS, f"if tokenizer.trains:\n    {other}\nelse:\n    sampler = BatchSampler(data, 32)", LOADER)
    assert _rows(text) == [other]


def test_the_sampler_for_one_process_is_named_first() -> None:
    both = (
        "if paddle.distributed.get_world_size() > 1:\n"
        "    sampler = DistributedBatchSampler(data, batch_size=32, shuffle=True)\nelse:\n    " + SAMPLER
    )
    text = program(PADS, both, LOADER)
    assert _rows(text) == [SAMPLER]
    (found,) = check(text, CODE)
    assert [(text.splitlines()[each.line - 1].split()[0], each.message) for each in found.related] == [
        ("collate", "pads each batch to its longest sample"),
        ("sampler", "likewise"),
    ]


MADE = """\
def make(data, tokenizer, mode="train"):
    collate = Tuple(Pad(pad_val=tokenizer.pad_token_id), Stack())
    shuffle = mode == "train"
    if {test}:
        sampler = {first}(data, batch_size=32, shuffle=shuffle)
    else:
        sampler = {second}(data, batch_size=32, shuffle=shuffle)
    return DataLoader(data, batch_sampler=sampler, collate_fn=collate)


"""


@pytest.mark.parametrize(
    ("test", "first", "second"),
    [
        ('mode == "train"', "DistributedBatchSampler", "BatchSampler"),
        ('mode != "train"', "BatchSampler", "DistributedBatchSampler"),
        ('mode == "eval"', "BatchSampler", "DistributedBatchSampler"),
    ],
)
def test_the_sampler_of_an_evaluation_is_not_the_one_that_trains(test: str, first: str, second: str) -> None:
    made = MADE.replace("{test}", test).replace("{first}", first).replace("{second}", second)
    body = 'loader = make(data, tokenizer, "train")\ndev_loader = make(data, tokenizer, "eval")'
    (row,) = _rows(program(body, above=made))
    assert row.startswith("sampler = DistributedBatchSampler")


def test_a_loader_that_shuffles_is_reported_where_its_batches_are_padded() -> None:
    text = program(PADS, "loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate, num_workers=2)")
    assert _rows(text) == [PADS]
    (found,) = check(text, CODE)
    (related,) = found.related
    assert text.splitlines()[related.line - 1].strip().startswith("loader = DataLoader")


def test_a_loader_for_one_process_beside_one_with_a_sampler_is_the_same_to_the_reader() -> None:
    both = (
        "if paddle.distributed.get_world_size() > 1:\n"
        f"    {SAMPLER}\n    {LOADER}\nelse:\n"
        "    loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate)"
    )
    assert _rows(program(PADS, both)) == [SAMPLER]


FLAGGED = """\
def make(data, tokenizer, is_train=True):
    collate = Tuple(Pad(pad_val=tokenizer.pad_token_id), Stack())
    {test}
        sampler = {first}(data, batch_size=32, shuffle=is_train)
    else:
        sampler = {second}(data, batch_size=32, shuffle=True)
    return DataLoader(data, batch_sampler=sampler, collate_fn=collate)


"""


@pytest.mark.parametrize(
    ("test", "first", "second"),
    [
        ("if is_train:", "DistributedBatchSampler", "BatchSampler"),
        ("if not is_train:", "BatchSampler", "DistributedBatchSampler"),
    ],
)
def test_of_calls_with_both_values_of_a_flag_the_one_for_training_counts(test: str, first: str, second: str) -> None:
    made = FLAGGED.replace("{test}", test).replace("{first}", first).replace("{second}", second)
    body = "loader = make(data, tokenizer, True)\ndev_loader = make(data, tokenizer, False)"
    (row,) = _rows(program(body, above=made))
    assert row.startswith("sampler = DistributedBatchSampler")
