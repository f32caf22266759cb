"""What the rule pages say of Paddle, tried on Paddle itself (CPU).

Each test is named after the page that says so.  What only a card can show is not here, and the pages say that it is
still to be settled there.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.distributed.fleet.runtime.collective_runtime import CollectiveRuntime

CPU_BUILD = pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="says what a build for the CPU does")

LOSS = paddle.to_tensor([1.0, 2.0, 3.0])
MASK = paddle.to_tensor([True, False, True])
EMPTY = paddle.to_tensor([False, False, False])


# --- PPF101 and PPF102: what workers can carry

READ_SAMPLES = """
import json, sys
import numpy as np
import paddle

class Samples(paddle.io.Dataset):
    def __init__(self, sample):
        self.sample = sample
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return self.sample

boxes = np.empty(2, dtype=object)
boxes[:] = [[1.0], [1.0, 2.0]]
found = {}
for name, sample in {"numbers": np.ones(3), "no boxes": np.zeros((0, 4)), "objects": boxes}.items():
    for shared in (True, False):
        loader = paddle.io.DataLoader(Samples(sample), batch_size=2, num_workers=1, use_shared_memory=shared)
        try:
            found[f"{name}, {'shared memory' if shared else 'pipe'}"] = len(list(loader))
        except Exception as error:
            found[f"{name}, {'shared memory' if shared else 'pipe'}"] = "fails"
json.dump(found, open(sys.argv[1], "w"))
"""


def test_ppf102_an_array_of_size_zero_fails_in_shared_memory_alone(tmp_path: Path) -> None:
    answer = tmp_path / "found.json"
    command = [sys.executable, "-c", READ_SAMPLES, str(answer)]
    subprocess.run(command, check=False, capture_output=True, timeout=300)
    assert json.loads(answer.read_text()) == {
        "numbers, shared memory": 2,
        "numbers, pipe": 2,
        "no boxes, shared memory": "fails",
        "no boxes, pipe": 2,
        "objects, shared memory": "fails",
        "objects, pipe": "fails",
    }


# --- PPF307: layout tuning

TUNE_LAYOUTS = """
import sys
import paddle

def left_of_a_slice():
    whole = paddle.to_tensor([1.0, 2.0])
    whole[0:1].zero_()
    return whole.tolist()

before = left_of_a_slice()
paddle.incubate.autotune.set_config({"layout": {"enable": True}})
print(before, left_of_a_slice())
"""


def test_ppf307_layout_tuning_turns_views_off() -> None:
    done = subprocess.run([sys.executable, "-c", TUNE_LAYOUTS], check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "[0.0, 2.0] [1.0, 2.0]"
    assert "turn off the Stride policy" in done.stderr


# --- PPF201: reads


def test_ppf201_a_detached_tensor_shares_its_values() -> None:
    loss = paddle.ones([])
    detached, copied = loss.detach(), loss.detach().clone()
    loss.zero_()
    assert (detached.item(), copied.item()) == (0.0, 1.0)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older NumPy warns and goes on")
def test_ppf201_item_takes_a_shape_of_one_and_float_does_not() -> None:
    loss = paddle.ones([1])
    assert loss.item() == 1.0
    with pytest.raises(TypeError):
        float(loss)


def test_ppf201_a_scaler_asks_the_host_whatever_its_scaling() -> None:
    """A scaler does nothing on the CPU, so the source has to do: ``if found_inf`` asks a tensor."""
    source = inspect.getsource(paddle.optimizer.Optimizer._create_optimization_pass)
    assert "found_inf = self._get_auxiliary_var('found_inf')" in source
    assert "if found_inf:" in source
    assert "_use_dynamic_loss_scaling" not in source
    step = inspect.getsource(paddle.amp.GradScaler.step)
    assert step.index("optimizer.step()") < step.index("if not self._use_dynamic_loss_scaling")


# --- PPF203: a loss that is not finite


def losses(skips: Callable[[paddle.Tensor], bool]) -> list[float]:
    """Four steps, of which the second has a batch with NaN; ``skips`` says which losses are left out."""
    layer = nn.Linear(2, 1)
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=layer.parameters())
    found = []
    for step in range(4):
        loss = layer(paddle.full([1, 2], float("nan") if step == 1 else 1.0)).sum()
        found.append(loss.item())
        if skips(loss):
            continue
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return found


def test_ppf203_a_loss_stays_nan_once_the_weights_are() -> None:
    assert np.isnan(losses(skips=lambda loss: False)).tolist() == [False, True, True, True]


def test_ppf203_a_loss_recovers_where_the_bad_batch_is_left_out() -> None:
    found = losses(skips=lambda loss: not np.isfinite(loss.item()))
    assert np.isnan(found).tolist() == [False, True, False, False]


# --- PPF204: what a build for the CPU does


@CPU_BUILD
@pytest.mark.parametrize(
    ("wait", "error"), [(paddle.device.synchronize, TypeError), (paddle.device.cuda.synchronize, RuntimeError)]
)
def test_ppf204_waiting_for_the_device_raises_on_a_cpu_build(wait: Callable[[], None], error: type[Exception]) -> None:
    with pytest.raises(error):
        wait()


@CPU_BUILD
@pytest.mark.skipif(sys.platform != "linux", reason="the signal is Linux's")
def test_ppf204_asking_for_the_current_stream_crashes_on_a_cpu_build() -> None:
    program = "import paddle; paddle.device.cuda.current_stream()"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=120)
    assert done.returncode == -11  # SIGSEGV


# --- PPF207: forms of known size


@pytest.mark.parametrize(
    "form",
    [
        lambda: LOSS * MASK,
        lambda: LOSS * MASK.astype("int64"),
        lambda: paddle.where(MASK, LOSS, 0),
    ],
)
def test_ppf207_floats_are_not_promoted_with_bools_and_ints(form: Callable[[], paddle.Tensor]) -> None:
    with pytest.raises(TypeError, match="Type promotion"):
        form()


def test_ppf207_a_number_in_where_makes_float32_of_float16() -> None:
    assert paddle.where(MASK, LOSS.astype("float16"), 0.0).dtype == paddle.float32


def mean_over(loss: paddle.Tensor, mask: paddle.Tensor) -> float:
    m = mask.astype(loss.dtype)
    return float(((loss * m).sum() / m.sum().clip(min=1)).item())


def test_ppf207_the_advised_forms_give_what_picking_gives() -> None:
    assert mean_over(LOSS, MASK) == paddle.masked_select(LOSS, MASK).mean().item() == 2.0
    assert paddle.where(MASK, LOSS, paddle.zeros_like(LOSS)).sum().item() == LOSS[MASK].sum().item()
    labels = paddle.to_tensor([0, 2, 2])
    assert nn.functional.one_hot(labels, 3).sum(0).tolist() == paddle.bincount(labels).tolist()


def test_ppf207_where_the_advised_forms_differ() -> None:
    spoiled = paddle.to_tensor([1.0, float("nan"), 3.0])
    assert np.isnan(mean_over(spoiled, MASK))
    assert paddle.masked_select(spoiled, MASK).mean().item() == 2.0
    assert paddle.where(MASK, spoiled, paddle.zeros_like(spoiled)).sum().item() == 4.0
    assert mean_over(LOSS, EMPTY) == 0.0
    assert np.isnan(paddle.masked_select(LOSS, EMPTY).mean().item())
    with pytest.raises(ValueError, match="255"):
        nn.functional.one_hot(paddle.to_tensor([0, 255]), 3)


@pytest.mark.parametrize("loss", [nn.functional.mse_loss, nn.functional.l1_loss, nn.functional.smooth_l1_loss])
@pytest.mark.parametrize("bad", [float("nan"), float("-inf")])
def test_ppf207_where_keeps_nan_out_of_the_value_and_before_the_loss_out_of_the_gradient(
    loss: Callable[..., paddle.Tensor], bad: float
) -> None:
    target, zeros = paddle.to_tensor([1.0, bad, 3.0]), paddle.zeros([3])

    def value_and_gradient(of: Callable[[paddle.Tensor], paddle.Tensor]) -> tuple[float, list[float]]:
        x = paddle.to_tensor([0.5, 0.25, 2.0], stop_gradient=False)
        total = of(x).sum()
        total.backward()
        return total.item(), x.grad.tolist()

    picked = value_and_gradient(lambda x: loss(x[MASK], target[MASK], reduction="none"))
    after = value_and_gradient(lambda x: paddle.where(MASK, loss(x, target, reduction="none"), zeros))
    before = value_and_gradient(
        lambda x: loss(paddle.where(MASK, x, zeros), paddle.where(MASK, target, zeros), reduction="none")
    )
    product = value_and_gradient(lambda x: loss(x, target, reduction="none") * MASK.astype("float32"))
    assert before == picked
    assert after[0] == picked[0]
    assert np.isnan(product[0])
    assert np.isnan(after[1][1]) == (loss is not nn.functional.smooth_l1_loss)


# --- PPF208: which part of a metric is cheap


def test_ppf208_compute_sorts_all_classes_and_the_function_only_finds_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(name: str) -> Callable[..., object]:
        real = getattr(paddle, name)

        def call(*args: object, **kwargs: object) -> object:
            asked.append(name)
            return real(*args, **kwargs)

        return call

    for name in ("argsort", "topk"):
        monkeypatch.setattr(paddle, name, noted(name))
    scores, labels, metric = paddle.rand([8, 5]), paddle.randint(0, 5, [8, 1]), paddle.metric.Accuracy()
    correct = metric.compute(scores, labels)
    assert asked == ["argsort"]
    assert correct.shape == [8, 1], "what update copies to the host"
    paddle.metric.accuracy(scores, labels)
    assert asked == ["argsort", "topk"]
    metric.update(correct)
    assert metric.accumulate() == pytest.approx(paddle.metric.accuracy(scores, labels).item())


# --- PPF209: which parts of a tensor share its memory


@pytest.mark.parametrize(
    ("part", "shares"),
    [
        (lambda x: x[0], True),
        (lambda x: x[:, 1], True),
        (lambda x: x[0:2], True),
        (lambda x: x.transpose([1, 0]), True),
        (lambda x: x.unbind()[0], True),
        (lambda x: next(iter(x)), True),
        (lambda x: x.split(2)[0], False),
        (lambda x: x.chunk(2)[0], False),
        (lambda x: x[[0, 1]], False),
        (lambda x: x[paddle.to_tensor([0, 1])], False),
        (lambda x: x[x[:, 0] >= 0], False),
        (lambda x: x[0].clone(), False),
    ],
)
def test_ppf209_which_parts_stand_on_the_memory_of_the_whole(
    part: Callable[[paddle.Tensor], paddle.Tensor], shares: bool
) -> None:
    x = paddle.zeros([4, 6])
    taken = part(x)
    taken.add_(paddle.ones_like(taken))
    assert (x.sum().item() > 0) is shares


# --- PPF403: saves that look at the rank


def test_ppf403_a_model_saves_once_on_each_node() -> None:
    source = inspect.getsource(paddle.Model.save)
    assert "if paddle.distributed.ParallelEnv().local_rank == 0:" in source


def test_ppf403_save_persistables_writes_nothing_in_collective_mode(tmp_path: Path) -> None:
    CollectiveRuntime()._save_persistables(paddle.static.Executor(paddle.CPUPlace()), str(tmp_path / "model"), None, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_loss_of_class_labels_can_ignore_the_others() -> None:
    """``ignore_index=255`` gives the loss and the gradients of the labels that a mask selects; -100 divides by all."""
    paddle.seed(7)
    x, labels = paddle.randn([2, 5, 4, 3]), paddle.randint(0, 3, [2, 5, 4])
    x.stop_gradient = False
    mask = labels != 1
    share = float(mask.astype("float32").mean())
    assert 0.2 < share < 0.9
    losses = {
        "mask": nn.functional.cross_entropy(x[mask], labels[mask]),
        "255": nn.functional.cross_entropy(
            x, paddle.where(mask, labels, paddle.full_like(labels, 255)), ignore_index=255
        ),
        "-100": nn.functional.cross_entropy(x, paddle.where(mask, labels, paddle.full_like(labels, -100))),
    }
    gradients = {name: paddle.grad(loss, x, retain_graph=True)[0].numpy() for name, loss in losses.items()}
    np.testing.assert_allclose(float(losses["255"]), float(losses["mask"]), rtol=1e-6)
    np.testing.assert_allclose(gradients["255"], gradients["mask"], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(float(losses["-100"]), float(losses["mask"]) * share, rtol=1e-5)
    nothing = nn.functional.cross_entropy(x, paddle.full_like(labels, 255), ignore_index=255)
    assert float(nothing) == 0.0
