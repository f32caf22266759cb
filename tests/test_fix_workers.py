"""PPF101 fixed in code as people format it: an argument more."""

from __future__ import annotations

import pytest

from perflint.findings import Level
from tests.support import fixed, levels


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("DataLoader(data, shuffle=True)", "DataLoader(data, shuffle=True, num_workers=4)"),
        ("DataLoader(data, shuffle=True,)", "DataLoader(data, shuffle=True, num_workers=4,)"),
        ("DataLoader(data, batch_size=8, num_workers=0)", "DataLoader(data, batch_size=8, num_workers=4)"),
        ("DataLoader(data, num_workers = 0 , shuffle=True)", "DataLoader(data, num_workers = 4 , shuffle=True)"),
        ("DataLoader(data, num_workers=(0))", "DataLoader(data, num_workers=(4))"),
        (
            "DataLoader(data, None, None, True, None, 8, True, False, None, 0)",
            "DataLoader(data, None, None, True, None, 8, True, False, None, 4)",
        ),
        (
            "DataLoader(\n    data,\n    shuffle=True,\n)",
            "DataLoader(\n    data,\n    shuffle=True,\n    num_workers=4,\n)",
        ),
        (
            "DataLoader(\n    data,\n    shuffle=True\n)",
            "DataLoader(\n    data,\n    shuffle=True,\n    num_workers=4\n)",
        ),
        (
            "DataLoader(\n    data, shuffle=True\n)",
            "DataLoader(\n    data, shuffle=True, num_workers=4\n)",
        ),
        (
            "DataLoader(data,\n           shuffle=True)",
            "DataLoader(data,\n           shuffle=True,\n           num_workers=4)",
        ),
        (
            "DataLoader(\n    data,  # all, of it\n    # mixed\n    shuffle=True,  # yes, do\n    # the end\n)",
            "DataLoader(\n    data,  # all, of it\n    # mixed\n"
            "    shuffle=True,  # yes, do\n    num_workers=4,\n    # the end\n)",
        ),
        (
            "DataLoader(\n    data,\n    shuffle=True  # yes, do\n)",
            "DataLoader(\n    data,\n    shuffle=True,  # yes, do\n    num_workers=4\n)",
        ),
        (
            "DataLoader(\n    data\n    , shuffle=True  # a, b\n    ,\n)",
            "DataLoader(\n    data\n    , shuffle=True  # a, b\n    , num_workers=4,\n)",
        ),
        (
            "DataLoader(\n\tdata,\n\tshuffle=True,\n)",
            "DataLoader(\n\tdata,\n\tshuffle=True,\n\tnum_workers=4,\n)",
        ),
        (
            "DataLoader(data, collate_fn=lambda b: [\n    b, 1,\n], shuffle=True)",
            "DataLoader(data, collate_fn=lambda b: [\n    b, 1,\n], shuffle=True, num_workers=4)",
        ),
        (
            'DataLoader(data, collate_fn=f("""\n  a,\n"""))',
            'DataLoader(data, collate_fn=f("""\n  a,\n"""), num_workers=4)',
        ),
        (
            "[DataLoader(d, shuffle=True) for d in (a, b)]",
            "[DataLoader(d, shuffle=True, num_workers=4) for d in (a, b)]",
        ),
        (
            "first(iter(DataLoader(data, shuffle=True)()))[0]",
            "first(iter(DataLoader(data, shuffle=True, num_workers=4)()))[0]",
        ),
        (
            "DataLoader(data, shuffle=True, dataset=DataLoader(d, shuffle=True))",
            "DataLoader(\n    data, shuffle=True, dataset=DataLoader(d, shuffle=True, num_workers=4), num_workers=4\n)",
        ),
    ],
)
def test_workers_are_added_in_the_style_of_the_call(call: str, expected: str) -> None:
    text = f"from paddle.io import DataLoader\n\nloader = {call}  # loader\n"
    assert fixed(text, "PPF101") == text
    assert fixed(text, "PPF101", level=Level.UNSAFE) == text.replace(call, expected)
    crlf = fixed(text.replace("\n", "\r\n"), "PPF101", level=Level.UNSAFE)
    assert crlf == text.replace(call, expected).replace("\n", "\r\n")


@pytest.mark.parametrize(
    "call",
    [
        "DataLoader(data, shuffle=True, num_workers=2)",
        "DataLoader(data, shuffle=True, num_workers=args.workers)",
        "DataLoader(data, shuffle=True, num_workers=0 if debug else 4)",
        "DataLoader(data, shuffle=True, **options)",
        "DataLoader(*arguments, shuffle=True)",
        "DataLoader(data, None, None, True, None, 8, True, False, None, 2)",
        "DataLoader(data, shuffle=True, num_workers=False)",
        "DataLoader",
    ],
)
def test_calls_that_chose_their_workers(call: str) -> None:
    assert levels(f"from paddle.io import DataLoader\nx = {call}\n", "PPF101") == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("model.fit(data, epochs=2)", "model.fit(data, epochs=2, num_workers=2)"),
        ("model.fit(train_data=data, num_workers=0)", "model.fit(train_data=data, num_workers=2)"),
        ("model.evaluate(data)", "model.evaluate(data, num_workers=2)"),
        ("model.evaluate(data, 8, 2, 1, 0)", "model.evaluate(data, 8, 2, 1, 2)"),
        ("model.predict(data, 8, 0)", None),
        ("model.fit(loader, epochs=2)", None),
        ("model.fit(train_data=loader)", None),
        ("model.evaluate(loader)", None),
        ("model.fit(data, num_workers=2)", None),
        ("other.fit(data)", None),
    ],
)
def test_the_high_level_api_takes_workers_where_it_is_handed_a_dataset(call: str, expected: str | None) -> None:
    text = (
        "import paddle\nfrom paddle.vision.datasets import MNIST\n"
        "data = MNIST()\nloader = paddle.io.DataLoader(data, shuffle=True, num_workers=2)\n"
        f"model = paddle.Model(net)\nother = Other()\n{call}\n"
    )
    assert fixed(text, "PPF101", level=Level.UNSAFE) == text.replace(call, expected or call)
