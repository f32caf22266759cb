"""Code for `paddle.fluid`: what Paddle 1.x does otherwise, and what it calls otherwise."""

from __future__ import annotations

import pytest

from perflint.findings import Level
from tests.evaluation_samples import EVALUATE, RULE, expect_quiet, found, only
from tests.support import check, fixed, in_step

FLUID = EVALUATE.replace("import paddle\n", "import paddle.fluid as fluid\n")
SILENT = FLUID.replace("    model.eval()\n", "")


def test_eval_switches_the_tracer_of_paddle_1() -> None:
    expect_quiet(FLUID)
    expect_quiet(FLUID.replace("paddle.fluid as fluid", "paddle\nfrom paddle.fluid.dygraph import Conv2D"))


def test_fluid_beside_names_of_paddle_2_is_no_paddle_1() -> None:
    assert only(FLUID.replace("fluid\n", "fluid\nfrom paddle import nn\n", 1)).message.endswith("paddle.no_grad().")
    assert only(FLUID + "    return paddle.to_tensor(0)\n")


def test_an_import_that_may_fail_says_nothing() -> None:
    text = FLUID.replace("import paddle.fluid as fluid", "import paddle\ntry:\n    import paddle.fluid\nexcept: pass")
    assert only(text).message.endswith("paddle.no_grad().")


def test_the_file_of_the_model_says_which_paddle() -> None:
    model = "class Net(Layer):\n    def forward(self, x):\n        return x\n"
    text = EVALUATE.replace("import paddle\n", "import paddle\nfrom net import Net\n")
    text = text.replace("    model.eval", "    model = Net()\n    model.eval")
    expect_quiet({"train.py": text, "net.py": "from paddle.fluid.dygraph import Layer\n" + model})
    assert found({"train.py": text, "net.py": "from paddle.nn import Layer\n" + model})


def test_eval_by_every_caller() -> None:
    caller = "\n\ndef main(model, loader):\n    model.eval()\n    evaluate(model, loader)\n"
    expect_quiet(SILENT + caller)
    assert only(SILENT + caller.replace("    model.eval()\n", ""))
    assert only(SILENT + caller + caller.replace("main", "other").replace("eval()", "train()"))


@pytest.mark.parametrize(
    ("made", "is_frozen"),
    [
        ("y = fluid.dygraph.to_variable(y)", False),
        ("y = model.weight", True),
        ("y = fluid.dygraph.to_variable(y)\n        y, z = model.weights", True),
    ],
)
def test_a_label_without_a_gradient_freezes_no_weight(made: str, is_frozen: bool) -> None:
    said = f"        {made}\n        y.stop_gradient = True\n        metric."
    assert len(found(SILENT.replace("        metric.", said))) == (0 if is_frozen else 1)


def test_a_metric_that_is_evaluated_switches_nothing() -> None:
    assert only(SILENT.replace("    for", "    print(metric.eval()[0])\n    total = metric.eval()\n    for"))


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import paddle.fluid as fluid", "fluid.dygraph.no_grad"),
        ("import paddle.fluid", "paddle.fluid.dygraph.no_grad"),
        ("from paddle import fluid as F", "F.dygraph.no_grad"),
        ("from paddle.fluid import dygraph", "dygraph.no_grad"),
        ("import paddle.fluid.dygraph as dg", "dg.no_grad"),
        ("from paddle.fluid.dygraph import no_grad", "no_grad"),
    ],
)
def test_without_eval_the_fix_is_in_the_words_of_fluid(imports: str, name: str) -> None:
    text = SILENT.replace("import paddle.fluid as fluid", imports)
    finding = only(text)
    assert finding.message.endswith("evaluate under fluid.dygraph.no_grad.")
    assert finding.fix is not None and finding.fix.level is Level.UNSAFE
    result = fixed(text, RULE, level=Level.UNSAFE)
    assert result == text.replace("def evaluate", f"@{name}\ndef evaluate")
    expect_quiet(result)


def test_a_part_of_a_function_is_put_under_with() -> None:
    text = SILENT.replace("evaluate(model, loader)", "main(model, valid_loader)").replace(
        "in loader", "in valid_loader"
    )
    assert "    with fluid.dygraph.no_grad():\n        for x" in fixed(text, RULE, level=Level.UNSAFE)


def test_an_import_of_fluid_that_is_missing_is_added() -> None:
    text = SILENT.replace("import paddle.fluid as fluid", "from paddle.fluid.dygraph import Layer")
    assert "import paddle.fluid as fluid\n" in fixed(text, RULE, level=Level.UNSAFE)


SAVES = "if step % 50 == 0:\n    {save}(model.state_dict(), 'a')"


def test_no_save_in_the_background_beside_fluid() -> None:
    body = SAVES.format(save="fluid.save_dygraph")
    [finding] = check("import paddle.fluid as fluid\n" + in_step(body), "PPF401")
    assert finding.message.endswith("save less often.")
    assert finding.fix is not None and not finding.fix.edits
    assert "async_save" not in str(finding.fix)


def test_no_save_in_the_background_at_each_epoch_beside_fluid() -> None:
    text = """
    import paddle.fluid as fluid


    def train(model, loader, optimizer):
        for epoch in range(10):
            for x, y in loader:
                loss = model(x, y)
                loss.backward()
                optimizer.minimize(loss)
            fluid.save_dygraph(model.state_dict(), str(epoch))
    """
    [finding] = check(text, "PPF402")
    assert finding.message.endswith("save only every few epochs.")
    assert finding.fix is not None and "async_save" not in str(finding.fix)


FILLING = """
    import numpy as np
    {imports}


    def train(model, loader, optimizer):
        for x, y in loader:
            start = {make}(np.{fill})
            loss = model(x, y, start)
            loss.backward()
            optimizer.minimize(loss)
"""


@pytest.mark.parametrize(
    ("fill", "paddle", "fluid"),
    [
        ("zeros((2, 3))", "paddle.zeros", "fluid.layers.zeros"),
        ("ones((2, 3))", "paddle.ones", "fluid.layers.ones"),
        ("full((2, 3), 0.5)", "paddle.full", "fluid.layers.fill_constant"),
        ("arange(4)", "paddle.arange", "fluid.layers.range"),
    ],
)
def test_what_fills_a_tensor_is_named_as_the_paddle_of_the_file_has_it(fill: str, paddle: str, fluid: str) -> None:
    old = FILLING.format(imports="import paddle.fluid as fluid", make="fluid.dygraph.to_variable", fill=fill)
    new = FILLING.format(imports="import paddle", make="paddle.to_tensor", fill=fill)
    for text, wanted in ((old, fluid), (new, paddle)):
        [finding] = check(text, "PPF205")
        assert finding.message.endswith(f"fill the tensor there, with `{wanted}`.")


def test_a_dtype_that_is_given_is_no_reason_to_doubt_the_dtype() -> None:
    [finding] = check(
        FILLING.format(imports="import paddle", make="paddle.to_tensor", fill="zeros(3, dtype='float32')"), "PPF205"
    )
    assert finding.fix is not None and finding.fix.reason == "give it the same shape and dtype"


MOVING_AVERAGE = """
    {imports}


    def train(model, ema, loader, optimizer):
        for x, y in loader:
            loss = {mean}(model(x))
            loss.backward()
            optimizer.minimize(loss)
            ema.set_value({new})
"""


def test_setting_a_parameter_to_a_tensor_goes_through_the_host_in_paddle_1() -> None:
    old = {"imports": "import paddle.fluid as fluid", "mean": "fluid.layers.mean"}
    [finding] = check(MOVING_AVERAGE.format(**old, new="fluid.layers.clip(ema, 0.0, 1.0)"), "PPF201")
    assert "`fluid.layers.assign(new, parameter)`" in finding.message
    assert not check(MOVING_AVERAGE.format(**old, new="values"), "PPF201")
    new = {"imports": "import paddle", "mean": "paddle.mean"}
    assert not check(MOVING_AVERAGE.format(**new, new="paddle.clip(ema, 0.0, 1.0)"), "PPF201")


GENERATED = """
    import numpy as np
    import paddle
    import paddle.fluid as fluid

    image = fluid.layers.data("image", shape=[1, 28, 28])
    cost = fluid.layers.mean(image)
    fluid.optimizer.Adam(1e-4).minimize(cost)
    {made}
    exe = fluid.Executor(fluid.CUDAPlace(0))
    for step, image in enumerate(mnist_generator()):
        exe.run(feed={{"image": np.array(image)}}, fetch_list=[cost])
"""


@pytest.mark.parametrize(
    "made",
    [
        "mnist_generator = paddle.batch(paddle.dataset.mnist.train(), batch_size=128)",
        "mnist_generator = fluid.io.batch(fluid.io.shuffle(read, 1000), batch_size=128)",
        "from readers import mnist_generator",
    ],
)
def test_what_a_reader_gives_is_no_variable_of_the_graph(made: str) -> None:
    assert not check(GENERATED.format(made=made), "PPF201")
    assert check(GENERATED.format(made="mnist_generator = read"), "PPF201", min_confidence=1) == []
