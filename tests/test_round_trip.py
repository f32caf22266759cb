"""PPF206: tensors that are read to the host and sent straight back."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Level
from perflint.fix.fixer import complete_edits, spliced
from perflint.run import engine
from tests.support import check, expect_marked, expect_marked_in_step, fixed, fixed_body, in_step, sources

RULE = "PPF206"
OTHERS = "\nseen = paddle.sum(np.ones(3))"
"""What keeps the imports of a script in use, whatever a fix takes away."""

READS = ("PPF201", "PPF205", "PPF206", "PPF209", "PPF210")


def found(text: str) -> list[Finding]:
    """The findings of the rule, down to the least sure."""
    settings = Settings(join_lines=False, select=(RULE,), min_confidence=Confidence.LOW)
    return engine.check(sources(text), settings)


def only(body: str) -> Finding:
    """The one finding at the end of a training step."""
    (finding,) = found(in_step(body))
    return finding


def test_reported_at_the_read_in_place_of_the_host_read() -> None:
    expect_marked_in_step(
        """
        a = paddle.to_tensor(x.numpy())  #: PPF205 PPF206
        b = paddle.to_tensor(  #: PPF205
            x.detach().numpy()  #: PPF206
            .astype("float32"))
        c = paddle.to_tensor(np.asarray(y.numpy(), dtype="int64").reshape(-1, 1))  #: PPF205 PPF206
        d = [paddle.to_tensor(data=part.numpy()) for part in x]  #: PPF205 PPF206
        e = loss.cpu().cuda()  #: PPF206
        f = loss.numpy()  #: PPF201
        """,
        *READS,
    )


def test_by_way_of_a_name() -> None:
    expect_marked_in_step(
        """
        a = x.numpy()  #: PPF206
        a = paddle.to_tensor(a)  #: PPF205
        print(a.shape)  #: PPF405
        b = y.numpy().astype("int64")  #: PPF206
        c = paddle.to_tensor(b)  #: PPF205
        """,
        *READS,
        "PPF405",
    )


@pytest.mark.parametrize(
    "body",
    [
        "a = x.numpy()\na[0] = 1\nb = paddle.to_tensor(a)",
        "a = x.numpy()\nb = paddle.to_tensor(a)\nargs.seen.append(a)",
        "a = x.numpy()\nif args.flag:\n    b = paddle.to_tensor(a)",
        "a = x.numpy()\nb = paddle.to_tensor(a + a)",
        "a = x.numpy()\nargs.last = a",
        "b = paddle.to_tensor(args.edges(y.numpy()))",
        "b = paddle.to_tensor(np.argsort(y.numpy()))",
        "b = paddle.to_tensor(x.numpy()[0])",
        "b = paddle.to_tensor(x.numpy().sum())",
        "b = paddle.to_tensor(x.shape)",
        "b = paddle.to_tensor(np.ones([3]))",
        "b = x.cuda()",
        "b = x.cuda().cpu()",
        "if step % 50 == 0: b = paddle.to_tensor(x.numpy())",
        "b = paddle.to_tensor(args.frame.numpy()) if step == 0 else x",
    ],
)
def test_more_than_a_round_trip_or_less(body: str) -> None:
    assert found(in_step(body)) == []


def test_arrays_of_what_is_only_named_like_a_loader() -> None:
    expect_marked(
        """
        import numpy as np
        import paddle

        def train(model, train_loader, optimizer):
            for data in train_loader():
                x = paddle.to_tensor(np.array(data[0]))  #: PPF205
                features = paddle.nn.functional.relu(x)
                same = paddle.to_tensor(np.array(features))  #: PPF205 PPF206
                loss = model(features, same)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """,
        "PPF205",
        RULE,
    )


def test_training_on_the_cpu_waits_for_nothing() -> None:
    text = in_step("b = paddle.to_tensor(x.numpy())").replace("def train", 'paddle.set_device("cpu")\n\n\ndef train')
    assert found(text) == []


def test_in_a_forward_pass_in_place_of_the_read_there() -> None:
    expect_marked(
        """
        import paddle
        from paddle import nn

        class Net(nn.Layer):
            def forward(self, x):
                hidden = nn.functional.relu(x)
                target = paddle.to_tensor(hidden.numpy())  #: PPF206
                return hidden - target
        """,
        RULE,
        "PPF210",
    )


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("b = paddle.to_tensor(x.numpy())  # why", "b = x.detach().clone()  # why\n"),
        ("b = paddle.to_tensor((x + y).numpy())", "b = (x + y).detach().clone()\n"),
        ("b = paddle.to_tensor(x.detach().numpy())", "b = x.detach().clone()\n"),
        ("b = paddle.to_tensor(x.numpy().astype('float16'))", "b = x.detach().clone().astype('float16')\n"),
        ("b = paddle.to_tensor(x.numpy(), dtype='float32')", "b = x.detach().clone().astype('float32')\n"),
        (
            "b = paddle.to_tensor(np.array(x.numpy(), dtype='float32').reshape(-1, 2))",
            "b = x.detach().clone().astype('float32').reshape([-1, 2])\n",
        ),
        ("b = paddle.to_tensor(x[\n    0].numpy())", "b = x[\n    0].detach().clone()\n"),
        (
            "b = paddle.to_tensor(x.mean(\n    0, keepdim=True,\n).numpy())",
            "b = x.mean(\n    0, keepdim=True,\n).detach().clone()\n",
        ),
        ("b = paddle.to_tensor(x.numpy().reshape([2, -1]))", "b = x.detach().clone().reshape([2, -1])\n"),
    ],
)
def test_the_copy_is_made_on_the_device(body: str, made: str) -> None:
    assert fixed_body(body + OTHERS, RULE) == made.rstrip("\n") + OTHERS + "\n"


@pytest.mark.parametrize(
    ("body", "level", "said"),
    [
        ("b = paddle.to_tensor(y.numpy().astype('int64'))", Level.UNSAFE, "converted differently"),
        ("b = paddle.to_tensor(x.numpy().astype(np.float32))", Level.UNSAFE, "converted differently"),
        ("b = paddle.to_tensor(x.numpy().reshape(args.rows, -1))", Level.UNSAFE, "converted differently"),
        ("b = paddle.to_tensor(args.frame.numpy())", Level.UNSAFE, "a Paddle tensor"),
        ("b = paddle.to_tensor(loss.numpy())", Level.UNSAFE, "Paddle 2.5"),
        ("b = paddle.to_tensor(x.cpu().numpy())", Level.UNSAFE, "its device"),
        ("b = paddle.to_tensor(x.numpy(), place=args.place)", Level.DISPLAY, "sets `place`"),
        ("b = paddle.to_tensor(x.numpy(), stop_gradient=False)", Level.DISPLAY, "`stop_gradient`"),
        ("b = paddle.to_tensor(loss.item())", Level.DISPLAY, "the dtype"),
        ("b = paddle.to_tensor(\n    x.numpy()  # a copy\n)", Level.DISPLAY, "comment"),
        ("b = loss.cpu().cuda()", Level.DISPLAY, "on the CPU"),
    ],
)
def test_how_far_the_fix_may_be_trusted(body: str, level: Level, said: str) -> None:
    fix = only(body + OTHERS).fix
    assert fix is not None
    assert (fix.level, said in fix.reason) == (level, True), fix


def test_sureness_follows_the_kind() -> None:
    assert only("b = paddle.to_tensor(x.numpy())").confidence is Confidence.HIGH
    assert only("b = paddle.to_tensor(args.frame.numpy())").confidence is Confidence.MEDIUM


def test_each_way_back_is_found() -> None:
    text = in_step("a = x.numpy()\na = paddle.to_tensor(a)\nb = paddle.to_tensor(y.numpy())\nc = loss.cpu().cuda()")
    assert len(found(text)) == 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
def test_clone_gives_the_bits_of_the_trip(dtype: str) -> None:
    values = np.random.default_rng(5).normal(0, 50, (40, 3))
    tensor = paddle.to_tensor(values, stop_gradient=False).astype(dtype)
    trip, clone = paddle.to_tensor(tensor.numpy()), tensor.detach().clone()
    assert trip.numpy().tobytes() == clone.numpy().tobytes()
    assert (trip.dtype, trip.shape, trip.stop_gradient) == (clone.dtype, clone.shape, clone.stop_gradient)
    assert clone.data_ptr() != tensor.data_ptr()


@pytest.mark.parametrize("source", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float32", "float64", "float16"])
def test_casting_on_the_device_gives_the_bits_of_numpy(source: str, target: str) -> None:
    values = np.random.default_rng(5).normal(0, 50, (400, 3)).astype(source)
    tensor = paddle.to_tensor(values)
    assert tensor.numpy().astype(target).tobytes() == tensor.detach().clone().astype(target).numpy().tobytes()


@pytest.mark.parametrize(
    "listed",
    [
        "[loss]",
        "(loss, loss)",
        "[part.mean() for part in x]",
        "list(x)",
        "parts",
    ],
)
def test_an_array_of_a_list_of_tensors_is_no_round_trip(listed: str) -> None:
    """A list has no ``detach``, and there is no one tensor that could stay where it is."""
    body = f"parts = [loss, loss * 2]\nb = paddle.to_tensor(np.array({listed})).astype('float32')"
    assert found(in_step(body)) == []


def test_a_list_that_is_filled_in_the_step_is_no_round_trip() -> None:
    body = "parts = []\nfor part in x:\n    parts.append(part.mean())\nb = paddle.to_tensor(np.array(parts))"
    assert found(in_step(body)) == []


def test_a_tensor_that_is_sent_to_another_device_keeps_its_trip() -> None:
    assert only("b = loss.cpu().cuda()").fix is not None
    assert found(in_step("b = loss.cpu().cuda(1)")) == []


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        ("b = paddle.to_tensor(np.asarray(x.numpy()))\nc = paddle.ones([3])", "import numpy as np\n"),
        ("b = paddle.to_tensor(x.numpy())\nc = np.ones(3)", "import paddle\n"),
        ("b = paddle.to_tensor(np.asarray(x.numpy()))", "import numpy as np\nimport paddle\n"),
    ],
)
def test_an_import_that_the_fix_leaves_unused_goes_with_it(body: str, gone: str) -> None:
    """`import paddle` may go where `import paddle.nn.functional as F` stays."""
    result = fixed(in_step(body), RULE)
    assert result.startswith(in_step("pass").replace(gone, "")[:60])
    assert "b = x.detach().clone()" in result


def test_an_import_may_stay_without_a_use() -> None:
    imports = "try:\n    import numpy as np\nexcept ImportError:\n    raise\nimport paddle\n"
    text = in_step("b = paddle.to_tensor(np.asarray(x.numpy()))\nc = paddle.ones([3])")
    [finding] = found(text.replace("import numpy as np\nimport paddle\n", imports))
    assert finding.fix is not None
    assert finding.fix.level is Level.SAFE
    assert "numpy as np" not in finding.fix.unneeded


def test_the_only_import_of_paddle_stays() -> None:
    text = in_step("b = paddle.to_tensor(x.numpy())").replace("import paddle.nn.functional as F\n", "import F\n")
    result = fixed(text, "PPF206")
    assert "b = x.detach().clone()" in result
    assert "import paddle\n" in result


def test_an_import_that_a_round_trip_by_a_name_leaves_unused() -> None:
    text = in_step("a = np.asarray(x.numpy())\na = paddle.to_tensor(a)")
    [finding] = found(text)
    assert finding.fix is not None
    left = spliced(text, 0, len(text), complete_edits(text, finding.fix))
    assert left == in_step("a = x.detach().clone()\na = a").replace("import numpy as np\nimport paddle\n", "")


def test_no_clone_for_paddle_1() -> None:
    """A tensor of Paddle 1.x has no such method."""
    text = """
    from paddle import fluid


    def train(model, loader, optimizer):
        for step, (x, y) in enumerate(loader):
            loss = fluid.layers.cross_entropy(model(x), y)
            loss.backward()
            optimizer.minimize(loss)
            model.clear_gradients()
            kept = fluid.dygraph.to_variable(loss.numpy())
    """
    [finding] = check(text, "PPF206")
    assert finding.fix is not None
    assert finding.fix.edits == ()
    assert "since Paddle 2.0" in finding.fix.reason
