"""PPF601: evaluation loops whose models are handed over, or lie behind the object that the loop calls."""

from __future__ import annotations

from tests.support import Files, places

DECODE = """
    import paddle


    class Decode:
        def __init__(self, model):
            self.model = model

        def detect_batch(self, images):
            return self.predict(images)

        def predict(self, images):
            return [each.numpy() for each in self.model(paddle.to_tensor(images))]
    """
TOOLS = """
    def evaluate(decode, images, steps):
        for step in range(steps):
            batch = images[step]
            boxes = decode.detect_batch(batch)
    """
TRAIN = """
    import paddle
    from decode import Decode
    from tools import evaluate

    decode = Decode(model)
    evaluate(decode, images, 10)
    """
EVALUATOR = """
    import paddle
    from paddle import nn


    class Evaluator(nn.Layer):
        def evaluate(self, net):
            net.eval()
            for i in range(len(self.dataset)):
                image = self.dataset.pull_item(i)
                boxes = net(paddle.to_tensor(image))


    Evaluator().evaluate(net)
    """


def rows(files: Files) -> list[tuple[str, int]]:
    return [(path, row) for path, row, _ in places(files, "PPF601")]


def test_a_model_behind_the_object_that_a_loop_calls() -> None:
    files = {"decode.py": DECODE, "tools.py": TOOLS, "train.py": TRAIN}
    assert rows(files) == [("tools.py", 3)]
    for old, new in (
        ("        def predict", "        @paddle.no_grad()\n        def predict"),
        ("self.model(", "np.sum("),
    ):
        assert old in DECODE
        assert rows({**files, "decode.py": DECODE.replace(old, new)}) == []
    assert rows({**files, "train.py": TRAIN.replace("Decode(model)", "load()")}) == []


def test_a_layer_that_evaluates_a_model_it_is_handed() -> None:
    assert rows(EVALUATOR) == [("train.py", 9)]
    own = EVALUATOR.replace("net.eval()", "self.net.eval()").replace("= net(", "= self.net(")
    assert rows(own) == []
