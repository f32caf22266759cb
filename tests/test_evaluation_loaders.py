"""An evaluation over a loader is one, whatever the loader is called."""

from __future__ import annotations

import pytest

from perflint.findings import Confidence
from tests.support import check

SCRIPT = """\
import paddle

model = paddle.nn.Linear(3, 4)
LOADER
model.eval()
for x, y in ITEMS:
    score(model(x), y)
"""


@pytest.mark.parametrize(
    ("loader", "items", "expected"),
    [
        ("val = paddle.io.DataLoader(samples, batch_size=8)", "val", Confidence.HIGH),
        ("val = paddle.io.DataLoader(samples, batch_size=8)", "tqdm(val)", Confidence.HIGH),
        ("val_loader = make()", "val_loader", Confidence.HIGH),
        ("val = make()", "val", Confidence.LOW),  # it may be a few selected samples
    ],
)
def test_the_loop_over_a_loader(loader: str, items: str, expected: Confidence) -> None:
    text = SCRIPT.replace("LOADER", loader).replace("ITEMS", items)
    [found] = check(text, "PPF601", min_confidence=Confidence.LOW)
    assert found.confidence is expected
