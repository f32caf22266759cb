"""What perflint says about `paddle.async_save`, tried on Paddle itself (CPU).

The saver thread is held back with an event, so that "training went on before the file was written" is not a race here.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import paddle
import pytest
from paddle import nn
from paddle.framework import io as paddle_io


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Background saves start writing when this event is set."""
    opened = threading.Event()
    real_save = paddle_io.save

    def save_later(obj: Any, path: str, protocol: int) -> None:
        opened.wait(timeout=60)
        real_save(obj, path, protocol)

    monkeypatch.setattr(paddle_io, "save", save_later)
    yield opened
    opened.set()
    paddle.clear_async_save_task_queue()


def make_layer() -> nn.Layer:
    layer = nn.Linear(4, 3)
    layer.weight.set_value(np.zeros((4, 3), dtype="float32"))
    return layer


def train_on(layer: nn.Layer) -> None:
    """One SGD step of size 1 on the sum of the outputs: each weight moves from 0 to -2."""
    optimizer = paddle.optimizer.SGD(learning_rate=1.0, parameters=layer.parameters())
    layer(paddle.ones([2, 4])).sum().backward()
    optimizer.step()


def weights_in(path: Path) -> npt.NDArray[Any]:
    value: npt.NDArray[Any] = paddle.load(str(path))["weight"].numpy()
    return value


def test_a_snapshot_keeps_the_weights_of_its_moment(gate: threading.Event, tmp_path: Path) -> None:
    layer, path = make_layer(), tmp_path / "snapshot.pdparams"
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(path))
    train_on(layer)
    gate.set()
    paddle.clear_async_save_task_queue()
    assert (layer.weight.numpy() == -2).all()
    assert (weights_in(path) == 0).all()


def test_without_a_snapshot_the_file_holds_later_weights(gate: threading.Event, tmp_path: Path) -> None:
    layer, path = make_layer(), tmp_path / "live.pdparams"
    paddle.async_save(layer.state_dict(), str(path))
    train_on(layer)
    gate.set()
    paddle.clear_async_save_task_queue()
    assert (weights_in(path) == -2).all()


def test_the_snapshot_that_the_fix_writes_is_a_copy_on_a_cpu_build(gate: threading.Event, tmp_path: Path) -> None:
    """A build for the GPU copies each tensor to pinned memory itself, which a clone would only do once more."""
    layer, path = make_layer(), tmp_path / "snapshot.pdparams"
    paddle.async_save(
        {k: v if paddle.is_compiled_with_cuda() else v.clone() for k, v in layer.state_dict().items()},
        str(path),
        sync_other_task=True,
    )
    train_on(layer)
    gate.set()
    paddle.clear_async_save_task_queue()
    assert (weights_in(path) == 0).all()


def test_flushing_the_queue_waits_for_the_file(tmp_path: Path) -> None:
    layer, path = make_layer(), tmp_path / "new" / "folder" / "flushed.pdparams"
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(path))
    paddle.clear_async_save_task_queue()
    assert (weights_in(path) == 0).all()


def test_saves_to_one_path_can_wait_for_each_other(gate: threading.Event, tmp_path: Path) -> None:
    layer, first, second = make_layer(), tmp_path / "first.pdparams", tmp_path / "second.pdparams"
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(first))
    assert not first.exists()
    threading.Timer(0.1, gate.set).start()
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(second), sync_other_task=True)
    assert (weights_in(first) == 0).all()


def test_of_two_saves_to_one_path_the_older_may_be_what_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing orders the two threads: here the older one is held back, as a busy machine may do."""
    layer, path = make_layer(), tmp_path / "latest.pdparams"
    older_began, younger_done, real_save = threading.Event(), threading.Event(), paddle_io.save

    def save(obj: Any, path: str, protocol: int) -> None:
        if not older_began.is_set():
            older_began.set()
            younger_done.wait(timeout=60)
        real_save(obj, path, protocol)
        younger_done.set()

    monkeypatch.setattr(paddle_io, "save", save)
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(path))
    older_began.wait(timeout=60)
    train_on(layer)
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(path))
    paddle.clear_async_save_task_queue()
    assert (weights_in(path) == 0).all()


def test_saves_that_do_not_wait_for_each_other_pile_up(gate: threading.Event, tmp_path: Path) -> None:
    layer = make_layer()
    for number in range(3):
        paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(tmp_path / f"{number}.pdparams"))
    assert [thread.is_alive() for thread in paddle_io.async_save_queue] == [True] * 3
    assert not any(thread.daemon for thread in paddle_io.async_save_queue), "a normal exit waits for the file"


def test_a_program_that_ends_normally_finishes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "last.pdparams"
    program = "import sys, paddle; paddle.async_save(dict(paddle.nn.Linear(2048, 2048).state_dict()), sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True, timeout=120)
    assert weights_in(path).shape == (2048, 2048)


def test_a_snapshot_loads_into_a_layer(tmp_path: Path) -> None:
    source, target, path = nn.Linear(4, 3), nn.Linear(4, 3), tmp_path / "layer.pdparams"
    paddle.async_save({k: v.clone() for k, v in source.state_dict().items()}, str(path))
    paddle.clear_async_save_task_queue()
    missing, unexpected = target.set_state_dict(paddle.load(str(path)))
    assert (missing, unexpected) == ([], [])
    for name, value in source.state_dict().items():
        assert target.state_dict()[name].numpy().tobytes() == value.numpy().tobytes()


def test_a_snapshot_loses_the_names_of_the_parameters(tmp_path: Path) -> None:
    """The file also lists each parameter's own name; a clone has a name of its own.

    Only ``set_state_dict(use_structured_name=False)`` reads those, which is why the fix is not a safe one.
    """
    layer = nn.Linear(4, 3)
    table = "StructuredToParameterName@@"
    paddle.save(layer.state_dict(), str(tmp_path / "now.pdparams"))
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(tmp_path / "later.pdparams"))
    paddle.clear_async_save_task_queue()
    now = paddle.load(str(tmp_path / "now.pdparams"), keep_name_table=True)[table]
    later = paddle.load(str(tmp_path / "later.pdparams"), keep_name_table=True)[table]
    assert now == {"weight": layer.weight.name, "bias": layer.bias.name}
    assert later.keys() == now.keys()
    assert later["weight"] != now["weight"]


@pytest.mark.parametrize("state", [[], ()])
def test_only_a_dict_or_a_tensor_can_be_saved(state: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="does not support this type"):
        paddle.async_save(state, str(tmp_path / "state.pdparams"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failed_write_is_not_reported_to_the_caller(tmp_path: Path) -> None:
    layer, taken = make_layer(), tmp_path / "taken"
    taken.mkdir()
    with pytest.raises(IsADirectoryError):
        paddle.save(layer.state_dict(), str(taken))
    paddle.async_save({k: v.clone() for k, v in layer.state_dict().items()}, str(taken))
    paddle.clear_async_save_task_queue()


def test_the_flush_has_the_name_that_the_fix_writes() -> None:
    assert callable(paddle.clear_async_save_task_queue)
    assert not hasattr(paddle, "clear_async_task_queue")  # the name in Paddle's own example
    assert not hasattr(paddle.incubate, "async_save")
