"""PPF205: tensors made of host data at each step; which of them, how sure, and with which fix."""

from __future__ import annotations

import math
import random
from textwrap import dedent

import numpy as np
import paddle
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.fix.fixer import spliced
from perflint.lint.statement_code import StatementCode
from perflint.run import engine
from tests.support import check, expect_marked, expect_marked_in_step, fixed_body, in_step, sources

RULE = "PPF205"
FORWARD = """\
import numpy as np
import paddle
from paddle import nn
from scipy.optimize import linear_sum_assignment

MEAN = [0.5, 0.25]


class Net(nn.Layer):
    def __init__(self, width, cfg):
        super().__init__()
        self.order = list(range(width))
        self.seen = [0]
        self.weights = None

    def forward(self, x, lengths):
        {body}
        self.seen.append(1)
        return x
"""
ZEROS = "if lengths > 0: x = x + 1\n        else: x = paddle.to_tensor([0.0])"


def found(text: str) -> list[Finding]:
    """The findings of the rule, down to the least sure."""
    settings = Settings(join_lines=False, select=(RULE,), min_confidence=Confidence.LOW, min_impact=ImpactLevel.LOW)
    return engine.check(sources(text), settings)


def only(body: str) -> Finding:
    """The one finding at the end of a training step."""
    (finding,) = found(in_step(body))
    return finding


def in_forward(body: str) -> list[Finding]:
    """The findings in a model's forward pass."""
    return found(FORWARD.format(body=body))


@pytest.mark.parametrize(
    ("body", "said", "confidence"),
    [
        ("loss = loss * paddle.to_tensor(0.5)", "copies a constant", Confidence.HIGH),
        ("loss = loss * paddle.to_tensor(data=-1.0)", "copies a constant", Confidence.HIGH),
        ("k = 3\nloss = loss * paddle.to_tensor(k)", "copies a constant", Confidence.HIGH),
        ("from math import pi\nimport math\nloss = loss * paddle.to_tensor(math.pi)", "a constant", Confidence.HIGH),
        ("from paddle import to_tensor\nloss = loss * to_tensor([1.0, 1.0])", "copies a constant", Confidence.HIGH),
        ("loss = loss * paddle.to_tensor([1.0, 2.0])", "the same values", Confidence.HIGH),
        ("k = [[-1, 0, 1]]\nloss = loss * paddle.to_tensor(k)", "the same values", Confidence.HIGH),
        ("k = [[-1, 0, 1]]\nk = paddle.to_tensor(k)\nloss = loss * k", "the same values", Confidence.HIGH),
        ("loss = loss * paddle.Tensor(np.zeros([3]))", "an array", Confidence.HIGH),
        ("m = np.ones(y.shape).astype('float32')\nm = paddle.to_tensor(m)", "an array", Confidence.HIGH),
        ("from cfg import stats\nm = paddle.to_tensor(stats.MEAN)", "the same values", Confidence.HIGH),
        ("m = paddle.to_tensor(args.weight)", "the same values", Confidence.MEDIUM),
        ("m = paddle.to_tensor(np.random.rand(4))", "random numbers", Confidence.MEDIUM),
        ("m = paddle.to_tensor(step)", "fill it there, with `paddle.full`", Confidence.MEDIUM),
        ("m = x * paddle.to_tensor(step)", "use the number itself", Confidence.MEDIUM),
        ("m = paddle.divide(x, paddle.to_tensor(step) + 1)", "with `paddle.full`", Confidence.MEDIUM),
        ("m = paddle.divide(x, x + paddle.to_tensor(step))", "use the number itself", Confidence.MEDIUM),
        ("m = paddle.where(y > 0, x, paddle.to_tensor(0.0))", "fill it there, with `paddle.full`", Confidence.HIGH),
        ("m = paddle.exp(x - paddle.to_tensor(0.5))", "write the number itself", Confidence.HIGH),
        ("m = paddle.to_tensor(len(y) / 8)", "copies a number to the device", Confidence.MEDIUM),
        (
            "w = args.of(step)\nm = paddle.to_tensor(w / np.sum(w))",
            "creates a tensor from host data",
            Confidence.MEDIUM,
        ),
        ("m = paddle.to_tensor(x)", "a batch that already is a tensor, at", Confidence.MEDIUM),
        ("m = [paddle.to_tensor(part, dtype='float32') for part in x]", "only to cast it", Confidence.MEDIUM),
        ("m = paddle.to_tensor(x.numpy())", "sends back", Confidence.HIGH),
        ("m = y.numpy()\nm = paddle.to_tensor(m)", "sends back", Confidence.HIGH),
        ("m = paddle.to_tensor(x, place=paddle.CPUPlace())", "a batch that already is a tensor", Confidence.LOW),
        ("m = paddle.to_tensor(x, dtype='float32', stop_gradient=False)", "only to cast it", Confidence.LOW),
        ("m = paddle.to_tensor(model(x))", "copies a tensor", Confidence.LOW),
        ("m = paddle.to_tensor(np.argsort(y.numpy()))", "the host has computed", Confidence.LOW),
        ("m = x.numpy()\nm[0] = 1\nm = paddle.to_tensor(m)", "the host has computed", Confidence.LOW),
        ("m = paddle.to_tensor([step, step + 1])", "the host has computed", Confidence.MEDIUM),
        ("m = []\nm.append(step)\nm = paddle.to_tensor(np.asarray(m))", "creates a tensor", Confidence.MEDIUM),
        ("m = []\nm.append(y.numpy())\nm = paddle.to_tensor(np.asarray(m))", "creates a tensor", Confidence.LOW),
        ("m = paddle.to_tensor(args.make(step))", "creates a tensor", Confidence.MEDIUM),
        ("m = paddle.to_tensor(args.make(step), place=args.place)", "creates a tensor", Confidence.LOW),
        ("m = paddle.to_tensor(args.make(y))", "creates a tensor", Confidence.LOW),
    ],
)
def test_each_origin_has_its_own_sentence(body: str, said: str, confidence: Confidence) -> None:
    finding = only(body)
    assert said in finding.message
    assert finding.confidence is confidence
    assert "{" not in finding.message


@pytest.mark.parametrize(
    "body",
    [
        "if step % 100 == 0: loss = paddle.to_tensor(0.5)",
        "loss = paddle.to_tensor(0.5) if step % 100 == 0 else loss",
        "m = paddle.to_tensor([])",
        "from paddle.fluid.dygraph import to_variable\nfor a, b in paddle.io.DataLoader(y):\n    m = to_variable(a)",
        "m = paddle.to_tensor(*x)",
        "m = args.to_tensor(0.5)",
        "from paddle.vision.transforms import to_tensor\nm = to_tensor(args.image)",
        "import torch\nm = torch.Tensor([0.5])",
        "m = lambda: paddle.to_tensor(0.5)",
        "from paddle import to_tensor as other\nm = other(0.5)",
    ],
)
def test_not_at_each_step_or_not_paddle(body: str) -> None:
    assert found(in_step(body)) == []


def test_outside_the_step() -> None:
    expect_marked(
        """
        import paddle

        SCALE = paddle.to_tensor(2.0)

        def train(model, loader, optimizer, epochs):
            start = paddle.to_tensor(0.0)
            for epoch in range(epochs):
                weights = paddle.to_tensor([0.5, epoch])
                for x, y in loader:
                    loss = model(x, y, weights) * SCALE + start
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                model.eval()
                for x, y in loader:
                    model(paddle.to_tensor(x), paddle.to_tensor(y), paddle.to_tensor(1.0))
        """,
        RULE,
    )


def test_a_value_from_before_the_loop_stays_unless_the_loop_changes_it() -> None:
    expect_marked(
        """
        import numpy as np
        import paddle

        def train(model, loader, optimizer, sizes, table):
            grid = np.load("grid.npy")
            counts = [1, 2]
            buffer = np.load("buffer.npy")
            for step, x in enumerate(loader):
                a = paddle.to_tensor(grid)  #: PPF205
                b = paddle.to_tensor(sizes)  #: PPF205
                c = paddle.to_tensor(counts)  #: PPF205
                d = paddle.to_tensor(buffer)  #: PPF205
                e = paddle.to_tensor(table[step])  #: PPF205
                np.copyto(buffer, table[step])
                counts.append(step)
                loss = model(x, a, b, c, d, e)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """,
        RULE,
    )


def test_batches_that_a_loop_cuts_or_reads_itself() -> None:
    expect_marked(
        """
        import numpy as np
        import paddle

        def train(model, features, labels, dataset, optimizer, size):
            features = np.load("features.npy")
            for start in range(0, len(features), size):
                x = paddle.to_tensor(features[start:start + size])  #: PPF205
                y = paddle.to_tensor(np.asarray(dataset.getNextBatchData()[1]).astype("int64"))  #: PPF205
                loss = model(x, y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """,
        RULE,
    )


def test_batch_of_a_helper_in_another_file() -> None:
    files = {
        "train.py": """
            from feeds import create_feeds

            def train(model, loader, optimizer):
                for batch in loader:
                    loss = model(*create_feeds(batch))
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
            """,
        "feeds.py": """
            import paddle

            def create_feeds(batch):
                ids = [paddle.to_tensor(part, dtype="int64") for part in batch[:4]]  #: PPF205
                return ids, paddle.to_tensor(1.0)  #: PPF205

            def unused(batch):
                return paddle.to_tensor(batch)
            """,
    }
    expect_marked(files, RULE)


def test_old_spellings() -> None:
    expect_marked(
        """
        import numpy as np
        import paddle.fluid as fluid
        from paddle.fluid.dygraph.base import to_variable

        def train(model, reader, optimizer):
            for data in reader():
                image = to_variable(np.array([x[0] for x in data]).astype("float32"))  #: PPF205
                label = fluid.dygraph.to_variable(value=data[1])  #: PPF205
                loss = model(image, label)
                loss.backward()
                optimizer.minimize(loss)
                model.clear_gradients()
        """,
        RULE,
    )


def test_a_list_of_numbers_read_from_the_device_gives_a_number() -> None:
    body = "hits = []\nhits.append((model(x) == y).sum().item())\nmeter = paddle.to_tensor(sum(hits) / args.size)"
    assert "copies a number to the device" in only(body).message


def test_what_an_environment_gives_is_left_alone() -> None:
    expect_marked(
        """
        import paddle

        def fit(agent, rpc_env, optimizer, reader):
            for batch in reader():
                value = agent(paddle.to_tensor(batch)) * paddle.to_tensor(0.5)  #: PPF205
                value.backward()
                optimizer.step()
                optimizer.clear_grad()
            rpc_env.step(value)

        def fit_too(agent, optimizer, reader):
            for batch in reader():
                value = agent(paddle.to_tensor(batch))  #: PPF205
                value.backward()
                optimizer.step()
                optimizer.clear_grad()
        """,
        RULE,
    )


def test_batches_of_dali_have_to_be_wrapped() -> None:
    finding = only("if args.use_dali:\n    m = paddle.to_tensor(x[0])")
    assert finding.confidence is Confidence.LOW


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("x = x * paddle.to_tensor(0.5)", 1),
        ("x = x * paddle.to_tensor(MEAN)", 1),
        ("x = x * paddle.to_tensor(self.order)", 1),
        ("x = x + paddle.to_tensor(np.zeros([4], 'float32'))", 1),
        ("x = x * paddle.to_tensor(self.seen)", 0),
        ("x = x * paddle.to_tensor(self.weights)", 0),
        ("x = x * paddle.to_tensor(lengths)", 0),
        ("x = x * paddle.to_tensor([len(lengths)])", 0),
        ("x = x * paddle.to_tensor(x.shape[0] ** -0.5)", 0),
        ("x = paddle.to_tensor(linear_sum_assignment(x)[0])", 0),
    ],
)
def test_forward_passes_are_told_of_certain_waste_only(body: str, count: int) -> None:
    assert len(in_forward(body)) == count


LED_TO = """
import paddle
from paddle import nn


class Loss(nn.Layer):
    def forward(self, scores, targets):
        boxes = sum(len(each["boxes"]) for each in targets)
        return scores.sum() / paddle.to_tensor({data})


criterion = Loss()
for x, targets in paddle.io.DataLoader(data):
    loss = criterion(net(x), targets)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_a_number_of_the_batch_counts_where_a_step_leads() -> None:
    text = LED_TO.format(data="[boxes]")
    (finding,) = check(text, "PPF205")
    assert finding.message.endswith("use the number itself.")
    assert check(text.replace("optimizer.step()", "pass").replace("loss.backward()", "pass"), "PPF205") == []
    assert check(LED_TO.format(data="[len(each) for each in targets]"), "PPF205") == []


def test_zeros_for_a_batch_without_targets_are_rare() -> None:
    sure = [item.confidence > Confidence.LOW for item in in_forward(ZEROS)]
    assert sure == [False]
    sure = [item.confidence > Confidence.LOW for item in in_forward("if self.scale: x = paddle.to_tensor([0.])")]
    assert sure == [True]
    sure = [item.confidence > Confidence.LOW for item in in_forward("x = x if x.any() else paddle.to_tensor(0.)")]
    assert sure == [False]


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        ("paddle.to_tensor(0.5)", "paddle.full([], 0.5)"),
        ("paddle.to_tensor(-1e-3)", "paddle.full([], -1e-3)"),
        ("paddle.to_tensor(2)", 'paddle.full([], 2, "int64")'),
        ("paddle.to_tensor(True)", 'paddle.full([], True, "bool")'),
        ("paddle.to_tensor(data=1, dtype='float32')", "paddle.full([], 1, 'float32')"),
        ("paddle.to_tensor(1., x.dtype)", "paddle.full([], 1., x.dtype)"),
        ("paddle.to_tensor(1., dtype=paddle.float64)", "paddle.full([], 1., paddle.float64)"),
        ("paddle.to_tensor([0.5])", "paddle.full([1], 0.5)"),
        ("paddle.to_tensor([[0, 0], [0, 0]])", 'paddle.full([2, 2], 0, "int64")'),
        ("paddle.to_tensor(0.5, stop_gradient=True)", "paddle.full([], 0.5)"),
    ],
)
def test_one_value_is_filled_in(call: str, fixed: str) -> None:
    assert fixed_body(f"loss = loss * {call}  # why", RULE) == f"loss = loss * {fixed}  # why\n"


def test_what_a_match_looks_at_is_filled_in() -> None:
    body = "match {}:\n    case scale if scale > 0:\n        loss = loss * scale"
    assert fixed_body(body.format("paddle.to_tensor(0.5)"), RULE) == body.format("paddle.full([], 0.5)") + "\n"


@pytest.mark.parametrize(
    "call",
    [
        "paddle.to_tensor(0.5, place=paddle.CPUPlace())",
        "paddle.to_tensor(0.5, stop_gradient=False)",
        "paddle.to_tensor(0.5, dtype=args.dtype)",
        "paddle.to_tensor(0.5, dtype='complex64')",
        "paddle.to_tensor([0.5, 1.0])",
        "paddle.to_tensor([0, 0.0])",
        "paddle.to_tensor(1 / 3)",
        "paddle.to_tensor(\n    0.5  # half\n)",
        "paddle.Tensor([0.5])",
    ],
)
def test_other_constants_are_only_shown(call: str) -> None:
    fix = only(f"loss = loss * {call}").fix
    assert fix is not None
    assert fix.level is Level.DISPLAY


def test_what_cannot_be_edited_is_only_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatementCode, "_header", lambda _: ("", 0))
    fix = only("loss = loss * paddle.to_tensor(0.5)").fix
    assert fix is not None
    assert (fix.level, fix.edits) == (Level.DISPLAY, ())


FILL, SAME = "fill the tensor on the device", "give it the same shape and dtype"
ONCE = ("create the tensor once", "nothing may change it in place afterwards")


@pytest.mark.parametrize(
    ("data", "advised", "title", "reason"),
    [
        ("[0.0], stop_gradient=False", "`paddle.full`", FILL, "set `stop_gradient = False` on it afterwards"),
        ("0.5, place=args.place", "`paddle.full`", FILL, SAME),
        ("np.array([0.5, 0.5])", "`paddle.full`", FILL, SAME),
        ("np.array([[0, 1]])", "`paddle.arange`", FILL, SAME),
        ("[0, 1, 2]", "`paddle.arange`", FILL, SAME),
        ("[[0, 1], [2, 3]]", "create the tensor once, before the loop", *ONCE),
        ("[[0], [1]]", "create the tensor once, before the loop", *ONCE),
        ("[0, 1] * 2", "create the tensor once, before the loop", *ONCE),
        ("np.array([[0, 2]]).astype('float32')", "create the tensor once, before the loop", *ONCE),
        ("[0.0, 1.0], stop_gradient=False", "create the tensor once, before the loop", *ONCE),
    ],
)
def test_message_and_fix_advise_the_same(data: str, advised: str, title: str, reason: str) -> None:
    finding = only(f"m = args.make(paddle.to_tensor({data}))")
    assert advised in finding.message
    assert finding.fix is not None
    assert (finding.fix.message, finding.fix.reason) == (title, reason)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("m += loss", "create one tensor of them, before the loop, and change a `.clone()` of it."),
        ("m[0] = 0.5", "create one tensor of them, before the loop, and change a `.clone()` of it."),
        ("loss += m.sum()", "create the tensor once, before the loop."),
    ],
)
def test_a_tensor_that_is_changed_later_has_to_be_made_anew(then: str, said: str) -> None:
    assert only(f"m = loss * paddle.to_tensor([0.5, 0.25])\n{then}").message.endswith(
        "create the tensor once, before the loop."
    )
    finding = only(f"m = paddle.to_tensor([0.5, 0.25])\n{then}")
    assert finding.message.endswith(said)
    assert finding.fix is not None
    assert bool(finding.fix.edits) == said.startswith("create the tensor once")


def after_fix(body: str) -> str:
    """The program of a step after the fix of its only finding."""
    fix, text = only(body).fix, in_step(body)
    assert fix is not None
    return spliced(text, 0, len(text), fix.edits)


def test_small_values_may_be_rounded_otherwise_in_float16() -> None:
    fix = only("loss = loss + paddle.to_tensor(1e-8, dtype=x.dtype)").fix
    assert fix is not None
    assert fix.level is Level.UNSAFE
    assert "float16" in fix.reason


def test_constant_above_the_loop_is_shown() -> None:
    fix = only("mean = paddle.to_tensor([0.5, 0.25]).reshape([1, 2])").fix
    assert fix is not None
    texts = [edit.content for edit in fix.edits]
    assert texts == ["    constant_tensor = paddle.to_tensor([0.5, 0.25])\n", "constant_tensor"]


def test_batch_as_it_is_is_shown() -> None:
    assert after_fix("m = paddle.to_tensor(x, dtype='float32')") == in_step("m = x.astype('float32')")


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("x = paddle.to_tensor(x)\nargs.library = paddle", "args.library = paddle"),  # `x = x` says nothing
        ("z = paddle.to_tensor(x)\nargs.library = paddle", "z = x\nargs.library = paddle"),
        ("x = paddle.to_tensor(x); args.library = paddle", "x = x; args.library = paddle"),
    ],
)
def test_a_batch_that_keeps_its_name_loses_the_row(body: str, left: str) -> None:
    assert after_fix(body) == in_step(left)


def shown(body: str) -> list[str]:
    """What the edit of the one finding in a forward pass writes."""
    (finding,) = in_forward(body)
    return [edit.content for edit in finding.fix.edits] if finding.fix is not None else []


@pytest.mark.parametrize("data", ["[0.5, 0.25]", "MEAN"])
def test_a_constant_of_a_forward_pass_becomes_a_buffer_that_no_checkpoint_holds(data: str) -> None:
    name = "mean_tensor" if data == "MEAN" else "constant_tensor"
    row = f'        self.register_buffer("{name}", paddle.to_tensor({data}), persistable=False)\n'
    written = [
        " ".join(text.split()).replace("( ", "(").replace(" )", ")")
        for text in shown(f"x = x * paddle.to_tensor({data})")
    ]
    assert written == [row.strip(), f"self.{name}"]
    (finding,) = in_forward(f"x = x * paddle.to_tensor({data})")
    assert "register_buffer(..., persistable=False)" in finding.message
    text = FORWARD.format(body=f"x = x * paddle.to_tensor({data})")
    assert finding.fix is not None
    edited = fixer.apply(text, [finding.fix]).text
    assert edited.index("super().__init__()") < edited.index("register_buffer") < edited.index("self.order")
    assert found(edited) == []


@pytest.mark.parametrize(
    "body",
    ["x = x * paddle.to_tensor(self.order)", "k = [0.5, 1.0]\n        x = x * paddle.to_tensor(k)"],
)
def test_what_init_may_not_know_is_said_in_words(body: str) -> None:
    assert shown(body) == []


def test_a_layer_without_an_init_gets_words() -> None:
    text = FORWARD.format(body="x = x * paddle.to_tensor([0.5, 0.25])")
    start, end = text.index("    def __init__"), text.index("    def forward")
    (finding,) = found(text[:start] + text[end:])
    assert finding.fix is not None
    assert (finding.fix.edits, finding.fix.level) == ((), Level.DISPLAY)


def test_a_buffer_that_is_not_persistable_is_no_key_of_a_checkpoint() -> None:
    layer = paddle.nn.Layer()
    layer.register_buffer("mean", paddle.to_tensor([0.5, 0.25]), persistable=False)
    assert list(layer.state_dict()) == []
    layer.register_buffer("deviation", paddle.to_tensor([0.5, 0.25]))
    assert list(layer.state_dict()) == ["deviation"]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("m = loss * paddle.to_tensor(step)", "m = loss * step"),
        ("m = paddle.to_tensor(step)", "m = paddle.to_tensor(step)"),  # m.item() may follow
        ("args.log(paddle.to_tensor(step))", "args.log(paddle.to_tensor(step))"),
    ],
)
def test_a_number_stands_for_the_tensor_only_beside_another_tensor(body: str, left: str) -> None:
    assert after_fix(body) == in_step(left)


def test_a_tensor_without_dimensions_needs_paddle_2_5() -> None:
    for value, needed in [("0.5", "2.5"), ("[0.5]", "")]:
        fix = only(f"loss = loss * paddle.to_tensor({value})").fix
        assert fix is not None
        assert (fix.level, fix.paddle) == (Level.SAFE, needed)


@pytest.mark.parametrize(
    "dtype", [None, "float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8", "bool"]
)
def test_full_gives_the_bits_of_to_tensor(dtype: str | None) -> None:
    draw = random.Random(3)
    wide = [sign * 10.0**power * draw.random() for power in range(-40, 38) for sign in (-1, 1)]
    tiny = [0.0, -0.0, 1e-45, 1e-40, 0.1, 1 / 3, 3.4e38, math.inf]
    narrow = [0, 1, 3, 100, 255, 0.5, 2.75, 1e-6, 1e-5]
    values = {None: wide + tiny, "float32": wide + tiny, "float64": wide + tiny, "bfloat16": wide + tiny}
    for value in values.get(dtype, narrow):
        made = paddle.to_tensor(value) if dtype is None else paddle.to_tensor(value, dtype=dtype)
        filled = paddle.full([], value, dtype or ("int64" if isinstance(value, int) else None))
        assert made.numpy().tobytes() == filled.numpy().tobytes(), value
        assert (made.dtype, made.shape, made.stop_gradient) == (filled.dtype, filled.shape, filled.stop_gradient)


def test_full_follows_the_default_dtype_as_to_tensor_does() -> None:
    paddle.set_default_dtype("float64")
    try:
        assert paddle.full([], 0.1).dtype == paddle.to_tensor(0.1).dtype == paddle.float64
        assert paddle.full([], 2, "int64").dtype == paddle.to_tensor(2).dtype
        assert paddle.full([1], True, "bool").dtype == paddle.to_tensor([True]).dtype
    finally:
        paddle.set_default_dtype("float32")
    large = 2**62 + 1
    assert paddle.full([], large, "int64").item() == paddle.to_tensor(large).item() == large
    assert paddle.full([2, 1], 0.5, paddle.ones([2]).dtype).shape == [2, 1]
    assert paddle.full([], 0.5, np.dtype("float32")).dtype == paddle.float32


def test_marked_step() -> None:
    expect_marked_in_step(
        dedent("""
            mask = np.ones([4])
            loss = loss + paddle.to_tensor(mask).mean()  #: PPF205
            order = [paddle.to_tensor(i) for i in x]  #: PPF205
        """),
        RULE,
    )


@pytest.mark.parametrize(
    ("test", "confidence"),
    [
        ("mask is not None", Confidence.LOW),
        ("exists(mask)", Confidence.LOW),
        ("exists(x)", Confidence.MEDIUM),
        ("x.ndim == 3", Confidence.MEDIUM),
    ],
)
def test_a_constant_that_needs_an_argument_which_may_be_left_out(test: str, confidence: Confidence) -> None:
    text = f"""
        import paddle
        from paddle import nn


        def exists(value):
            return value is not None


        class Attention(nn.Layer):
            def forward(self, x, mask=None):
                if {test}:
                    x = paddle.where(x > 0, x, paddle.to_tensor(0.0))
                return self.out(x)
        """
    (finding,) = found(text)
    assert finding.confidence is confidence


def test_the_states_of_an_episode_come_from_the_host() -> None:
    expect_marked(
        """
        import paddle

        def train(model, optimizer, episodes, play):
            for episode in range(episodes):
                state = play(episode)
                loss = model(paddle.to_tensor(state))
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """,
        RULE,
    )


def test_code_for_fluid_is_told_what_fluid_has() -> None:
    text = """
        import paddle.fluid as fluid
        from paddle.fluid.dygraph import to_variable

        def train(model, reader, optimizer):
            for x, y in reader():
                loss = model(to_variable(x)).mean()
                scale = to_variable(0.5)
                loss.backward()
                optimizer.minimize(loss)
        """
    batch, constant = (item.message for item in found(text) if item.code == RULE)
    assert "let a `fluid.io.DataLoader` create the tensors" in batch
    assert "with `fluid.layers.fill_constant`" in constant


ARRAYS = """\
import numpy as np
import paddle
import paddle.nn.functional as F


def train(model, optimizer, size):
    rows = read_all()
    order = np.random.permutation(len(rows))
    rows = rows[order]
    {loop}
        {batch}
        loss = F.cross_entropy(model(paddle.to_tensor({part})), 0)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
COUNTED = "for step in range(len(rows) // size):"


@pytest.mark.parametrize(
    ("loop", "batch", "part", "is_slice"),
    [
        (COUNTED, "x = rows[step * size : (step + 1) * size]", "x", True),
        (COUNTED, "x = rows[step * size : (step + 1) * size, :8]", "x.astype('float32')", True),
        (COUNTED, "pass", "np.array(rows[step * size : (step + 1) * size])", True),
        ("for step, x in enumerate([rows[k : k + size] for k in range(0, 100, size)]):", "pass", "x[:, :-1]", True),
        (COUNTED, "x = np.stack([decode(row) for row in rows[step * size : (step + 1) * size]])", "x", False),
        ("for step, x in enumerate(reader()):", "pass", "x[:, :-1]", False),
    ],
)
def test_rows_of_an_array_in_memory_are_sliced_on_the_device(loop: str, batch: str, part: str, is_slice: bool) -> None:
    [finding] = check(ARRAYS.format(loop=loop, batch=batch, part=part), RULE, min_confidence=Confidence.LOW)
    advice = "create one tensor of the whole array before the loop, if it fits on the device, and slice that"
    assert (advice in finding.message) is is_slice


WRAPPER = """\
import numpy as np
import paddle


def tensor(values):
    return paddle.to_tensor(values)


def train(model, loader, optimizer, labels):
    for at, images in enumerate(loader):
        loss = paddle.nn.functional.cross_entropy(model(images), tensor({handed}))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("handed", "confidence"),
    [
        ("labels.of(at)", Confidence.MEDIUM),
        ("labels.of(loss.item())", Confidence.LOW),
        ("images", Confidence.LOW),
        ("images.mean(axis=1)", Confidence.LOW),
    ],
)
def test_a_function_that_only_makes_a_tensor(handed: str, confidence: Confidence) -> None:
    items = found(WRAPPER.format(handed=handed))
    assert [item.confidence for item in items] == [confidence]


@pytest.mark.parametrize(("name", "count"), [("neighbor_search", 1), ("my_neighbour_search", 1), ("beam_search", 0)])
def test_a_search_for_neighbors_is_a_part_of_the_model(name: str, count: int) -> None:
    text = (
        "import paddle\n\n\nclass Layer(paddle.nn.Layer):\n    def forward(self, x):\n"
        f"        return {name}(x)\n\n\ndef {name}(x):\n    return x + paddle.to_tensor([0.0])\n"
    )
    assert len(found(text)) == count
