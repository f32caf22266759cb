"""PPF209: which slices of which tensors a loop reads one by one, and what is only like it."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Level
from perflint.flow.resolving import opened
from perflint.rules import slice_read
from perflint.run import engine
from tests.support import check, expect_marked, fixed, in_step, sources

CODE = "PPF209"
SCRIPT = """\
import numpy as np
import paddle
import paddle.nn.functional as F


def report(model, images, count, unknown):
    scores = F.softmax(model(images))
{body}
"""


def script(body: str) -> str:
    """A function that has a tensor ``scores`` and does something with it."""
    return SCRIPT.format(body="\n".join("    " + line for line in body.splitlines()))


def found(body: str) -> list[Finding]:
    """Findings of any confidence."""
    return engine.check(
        sources(script(body)), Settings(join_lines=False, select=(CODE,), min_confidence=Confidence.LOW)
    )


def test_the_copy_is_made_on_the_cpu_too() -> None:
    text = script("return [scores[i].numpy() for i in range(count)]").replace(
        "\n\n\ndef", '\n\npaddle.set_device("cpu")\n\n\ndef'
    )
    assert 'set_device("cpu")' in text
    assert [finding.code for finding in check(text, CODE)] == [CODE]


@pytest.mark.parametrize(
    "body",
    [
        "return [scores[i].numpy() for i in range(count)]",
        "return [scores[i].tolist() for i in range(count)]",
        "return [np.array(scores[i]) for i in range(count)]",
        "return {i: np.asarray(scores[:, i]) for i in range(count)}",
        "return [scores[i].detach().numpy() for i in range(count)]",
        "return [scores[i, :4].numpy() for i, _ in enumerate(images)]",
        "return [[float(scores[i, j]) for j in range(count)] for i in range(count)]",
        "for i in range(count):\n    for j in range(3):\n        show(float(scores[i][j]))",
        "at = 0\nwhile at < count:\n    show(scores[at].numpy())\n    at += 1",
        "at = 0\nfor size in images:\n    show(scores[at : at + size].numpy())\n    at += size",
        "for i in range(unknown.shape[0]):\n    show(unknown[i].numpy())",
        "for i in range(count):\n    show(unknown[..., i].numpy())",
        "for i in range(count):\n    if scores[i].numpy().any():\n        show(i)",
    ],
)
def test_slice_of_one_tensor_at_each_pass_is_reported(body: str) -> None:
    [finding] = found(body)
    assert finding.confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    "body",
    [
        "return scores[0].numpy()",  # once
        "return [scores[i].clone().numpy() for i in range(count)]",
        "return [scores[i].cpu().numpy() for i in range(count)]",  # the copy to the CPU takes the slice alone
        "return [scores[i].astype('float16').numpy() for i in range(count)]",
        "return [scores[i, 0].item() for i in range(count)]",
        "return [scores[i].sum().numpy() for i in range(count)]",
        "return [scores[i].shape for i in range(count)]",
        "host = scores.numpy()\nreturn [host[i].tolist() for i in range(count)]",
        "return [unknown[i].numpy() for i in range(count)]",  # perhaps a list
        "return [unknown[i].tolist() for i in range(count)] + [unknown.shape]",  # perhaps an array
        "parts = paddle.split(scores, 4)\nreturn [parts[i].numpy() for i in range(4)]",
        "parts = [scores, images]\nreturn [parts[i].numpy() for i in range(2)]",
        "return [unknown[key].numpy() for key in unknown]",
        "for i in range(count):\n    scores = F.softmax(model(images[i]))\n    show(i, scores[i].numpy())",
        "for i in range(count):\n    show(scores[scores > i].numpy())",
        "for i in range(count):\n    show(scores[[i, 0]].numpy())",
        "for row in paddle.argsort(images):\n    show(scores[row].numpy())",
        "best = paddle.argmax(scores, axis=1)\nreturn [int(best[i]) for i in range(count)]",
        "return [int(scores[i].numpy()) for i in range(count)]",
        "return [unknown[scores[i].numpy()] for i in range(count)]",
        "for x in scores[0].tolist():\n    show(x)",
        "return [unknown[i].numpy() if paddle.is_tensor(unknown[i]) else unknown for i in range(unknown.shape[0])]",
    ],
)
def test_lookalikes_are_not(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize(
    "body",
    [
        "for x in images:\n    masks = F.softmax(model(x))\n    show(masks[0].numpy())",
        "best = paddle.argmax(scores, axis=1)\nreturn [best[i].numpy() for i in range(count)]",
    ],
)
def test_what_may_be_small_or_read_once_is_for_those_who_ask(body: str) -> None:
    [finding] = found(body)
    assert finding.confidence is Confidence.LOW


def test_step_code_has_one_finding_for_a_read() -> None:
    body = """
        for i in range(4):
            seen = x[i, :2].numpy()  #: PPF209
            show(loss[i].numpy(), x[0].numpy())  #: PPF201 PPF201
    """
    expect_marked(in_step(body), "PPF201", CODE)


def test_helper_names_the_step_loop_that_calls_it() -> None:
    files = {
        "train.py": in_step("helper(x)").replace("import paddle\n", "import paddle\nfrom tools import helper\n"),
        "tools.py": """
            import paddle


            def helper(batch):
                rows = paddle.reshape(batch, [8, -1])
                return [rows[i].numpy() for i in range(8)]
            """,
    }
    [finding] = check(files, CODE)
    assert finding.path == "tools.py"
    assert [(place.path, place.message) for place in finding.related][-1] == ("train.py", "the step loop")
    assert "`rows`" in finding.message


def test_message_names_the_tensor_whose_memory_it_is() -> None:
    [finding] = found("for i in range(count):\n    for j in range(3):\n        show(float(scores[i][j]))")
    assert "copies all of `scores` to the host" in finding.message
    assert "each iteration of the loop at line 9" in finding.message


def test_files_that_only_predict_or_test_are_quiet() -> None:
    text = script("return [scores[i].numpy() for i in range(count)]")
    for path in ("deploy/infer.py", "tests/test_masks.py", "tools/predict.py"):
        assert check({path: text}, CODE) == []
    foreign = "import torch\n\n\ndef f(x):\n    return x.shape, [x[:, i].numpy() for i in range(3)]\n"
    assert check(foreign, CODE) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("float(scores[i, 0])", "float(scores[i, 0].item())"),
        ("int(scores[i][0])", "int(scores[i][0].item())"),
        ("scores[i].numpy()", "scores[i].clone().numpy()"),
        ("scores[i][:4].numpy()", "scores[i][:4].clone().numpy()"),
        ("scores[i].detach().tolist()", "scores[i].detach().clone().tolist()"),
        ("np.array(scores[i], copy=False)", "np.array(scores[i].clone(), copy=False)"),
        ("scores[:, i].tolist()", "scores[:, i].clone().tolist()"),
    ],
)
def test_safe_fix(before: str, after: str) -> None:
    text = script(f"return [{before} for i in range(count)]  # all")
    assert fixed(text, CODE) == text.replace(before, after)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return [scores[:, i].numpy() for i in range(count)]", "another memory order"),
        ("turned = scores.transpose([1, 0])\nreturn [turned[i].numpy() for i in range(count)]", "another memory order"),
        ("return [unknown[:, i].numpy() for i in range(count)]", "could not determine"),
        ("with paddle.amp.auto_cast():\n    return [scores[i].numpy() for i in range(count)]", "auto_cast"),
    ],
)
def test_unsafe_fix_says_why(body: str, reason: str) -> None:
    [finding] = found(body)
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE
    assert reason in finding.fix.reason
    assert ".clone()" in fixed(script(body), CODE, level=Level.UNSAFE)


DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_fixed_reads_give_the_same_bits(dtype: str) -> None:
    x = paddle.to_tensor([[0.0, 1.5, -2.25], [3.0, 100.0, 1.0]]).astype(dtype)
    x.stop_gradient = dtype not in ("float32", "float64")
    for i in range(2):
        plain, cloned = x[i].numpy(), x[i].clone().numpy()
        assert plain.dtype == cloned.dtype
        assert plain.strides == cloned.strides
        assert plain.tobytes() == cloned.tobytes()
        assert np.array(x[i]).tobytes() == np.array(x[i].clone()).tobytes()
        assert x[i].tolist() == x[i].clone().tolist()
        for j in range(3):
            for convert in (float, int):
                before, after = convert(x[i, j]), convert(x[i, j].item())
                assert before == after
                assert type(before) is type(after)


def test_array_of_a_slice_holds_the_whole_tensor() -> None:
    """What the rule is about, without timing: the memory behind the array is that of the base."""
    x = paddle.zeros([64, 64])
    columns, rows = x[:, 0].numpy(), x[:, 0].clone().numpy()
    assert columns.strides == (64 * 4,)
    assert rows.strides == (4,)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8", "bool", "complex64"]
)
def test_the_fix_reads_what_was_read_before(dtype: str) -> None:
    """Both arrays are copies of their own: changing one changes neither the tensor nor what is read later."""
    for whole in (np.arange(24).reshape(4, 6) % 3, np.zeros((4, 6))):
        tensor = paddle.to_tensor(whole).astype(dtype)
        before, after = tensor[1].numpy(), tensor[1].clone().numpy()
        assert (before.dtype, before.shape, before.tobytes()) == (after.dtype, after.shape, after.tobytes())
        assert tensor[1].tolist() == tensor[1].clone().tolist()
        for array in (before, after):
            array[:] = 1
        assert tensor.numpy().tobytes() == paddle.to_tensor(whole).astype(dtype).numpy().tobytes()
        if dtype != "complex64":
            assert float(tensor[1, 2]) == float(tensor[1, 2].item())
            assert int(tensor[1, 2]) == int(tensor[1, 2].item())


def test_pieces_of_a_split_are_read_as_before_as_well() -> None:
    tensor = paddle.arange(24, dtype="float32").reshape([4, 6])
    for piece in (*paddle.split(tensor, 2), *paddle.chunk(tensor, 3, axis=1)):
        assert piece[0].numpy().tobytes() == piece[0].clone().numpy().tobytes()
        tensor_before = tensor.numpy().copy()
        array = piece[0].clone().numpy()
        array[:] = -1
        assert (tensor.numpy() == tensor_before).all()


# --- files that are not parsed for it


@pytest.mark.parametrize(
    "read",
    [
        "scores[i].numpy()",
        "scores[i] . numpy ()",
        "scores[i] \\\n        .numpy()",
        "(scores[i]  # the scores )\n        .numpy())",
        "scores[i].detach().tolist()",
        "(scores[i]).numpy()",
        "scores[i].cast(str(i)).numpy()",
        "np.array(scores[i])",
        "np.array(\n        scores  # (all)\n        [i])",
        "np.array([scores, images][0][i])",
        "float(scores[i][0])",
        "int(scores[i, 0])",
        "float(model(images)[i][0])",
    ],
)
def test_a_file_with_a_read_of_a_slice_is_looked_at(read: str) -> None:
    text = "import paddle\n" + script(f"for i in range(count):\n    show({read})")
    file = opened(sources(text)).files["train.py"]
    _ = list(slice_read._reading(file))
    assert file.is_parsed


@pytest.mark.parametrize(
    "read",
    ["scores.numpy()", "np.array([1, i])", "float(scores)", "float(scores[i])", "self.loss . tolist()", "int(i)"],
)
def test_a_file_without_one_is_not_parsed(read: str) -> None:
    text = "import paddle\n" + script(f"for i in range(count):\n    show({read})")
    file = opened(sources(text)).files["train.py"]
    assert list(slice_read._reading(file)) == []
    assert not file.is_parsed


@pytest.mark.parametrize(
    ("before", "count"),
    [
        ("best, where = paddle.max(scores, 1)", 0),
        ("best, where = paddle.sort(scores, axis=1)", 0),
        ("best = paddle.max(scores, 1)", 1),
        ("best, where = paddle.topk(scores, 1)", 1),
        ("low, high = unknown(scores, 1)", 1),
        ("if count > 9:\n    best, where = paddle.max(scores, 1)", 1),
    ],
)
def test_nothing_runs_after_one_tensor_is_unpacked_as_two(before: str, count: int) -> None:
    read = "for i in range(count):\n    print(scores[i].numpy())"
    assert len(found(f"{before}\n{read}")) == count
    assert len(found(f"{read}\n{before}")) == 1
