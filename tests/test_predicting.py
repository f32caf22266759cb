"""Forward passes that nothing near them trains cost a training nothing."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.findings import ImpactLevel
from tests.support import check

NET = dedent("""
    import paddle
    from paddle import nn


    class Net(nn.Layer):
        def forward(self, x):
            return x * paddle.to_tensor(2.0)
    """)
PREDICT = dedent("""
    from .net import Net


    def predict(x):
        net = Net()
        net.eval()
        return net(x)
    """)
TRAIN = dedent("""
    from paddle.optimizer import Adam


    def train(net, loader):
        optimizer = Adam(parameters=net.parameters())
        for x in loader:
            net(x).mean().backward()
            optimizer.step()
            optimizer.clear_grad()
    """)
LEVELS = {True: ImpactLevel.LOW, False: ImpactLevel.MEDIUM}


def level(files: dict[str, str]) -> ImpactLevel:
    (impact,) = [finding.impact for finding in check(files, "PPF205") if finding.path == "a/net.py"]
    assert impact is not None
    assert ("only predicts" in impact.reason) == (impact.level is ImpactLevel.LOW)
    return impact.level


@pytest.mark.parametrize(
    ("files", "predicts"),
    [
        ({"a/use.py": PREDICT, "b/train.py": TRAIN}, True),
        ({"a/use.py": PREDICT.replace("net.eval()", "pass"), "b/train.py": TRAIN}, False),
        ({"a/use.py": PREDICT, "a/train.py": TRAIN}, False),
        ({"a/use.py": PREDICT, "a/c/train.py": TRAIN}, False),
        ({"a/use.py": PREDICT, "b/train.py": TRAIN + "\nfrom a.net import Net\n"}, False),
        ({"a/use.py": PREDICT, "b/train.py": TRAIN, "b/other.py": "from a import use\n"}, False),
        ({"a/use.py": PREDICT + "\nfrom b import train\n", "b/train.py": TRAIN}, False),
        ({"a/use.py": PREDICT, "b/train.py": TRAIN, "a/make.py": "instantiate(1)\n"}, False),
        ({"b/train.py": TRAIN}, False),
        ({"a/use.py": PREDICT}, False),
        ({"a/use.py": PREDICT + "\nif __name__ == '__main__':\n    predict(1)\n"}, True),
    ],
)
def test_what_only_predicts(files: dict[str, str], predicts: bool) -> None:
    assert level({"a/__init__.py": "", "a/net.py": NET, **files}) is LEVELS[predicts]


def test_a_helper_that_another_forward_pass_shares() -> None:
    helper = "import paddle\n\ndef doubled(x):\n    return x * paddle.to_tensor(2.0)\n"
    net = """
        from paddle import nn
        from shared import doubled


        class Net(nn.Layer):
            def forward(self, x):
                return doubled(x)
        """
    files = {"a/net.py": net, "a/use.py": PREDICT, "b/train.py": TRAIN, "shared.py": helper}
    (alone,) = check(files, "PPF205")
    (both,) = check({**files, "b/net.py": net}, "PPF205")
    assert alone.impact is not None and alone.impact.level is ImpactLevel.LOW
    assert both.impact is not None and both.impact.level is ImpactLevel.MEDIUM
