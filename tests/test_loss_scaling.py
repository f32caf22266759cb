"""What scalers and levels of AMP do on Paddle, as the pages of PPF302, PPF304 and PPF305 say; what is left alone."""

from __future__ import annotations

import paddle
import pytest
from paddle import nn

from tests.support import check, in_step


def test_a_scaler_that_is_off_hands_everything_through() -> None:
    def trained(enable: bool | None) -> list[list[float]]:
        paddle.seed(3)
        net = nn.Linear(4, 2)
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        scaler = paddle.amp.GradScaler(enable=enable) if enable is not None else None
        for _ in range(3):
            loss = net(paddle.ones([3, 4])).square().mean()
            if scaler is None:
                loss.backward()
                optimizer.step()
            else:
                assert scaler.scale(loss) is loss
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            optimizer.clear_grad()
        assert scaler is None or scaler.state_dict() == {}
        weights: list[list[float]] = net.weight.tolist()
        return weights

    assert trained(False) == trained(None)


def test_amp_has_no_effect_on_the_cpu() -> None:
    net = nn.Linear(4, 2)
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        net(paddle.ones([3, 4]))
    assert net.weight.dtype == paddle.float32
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    net, optimizer = paddle.amp.decorate(models=net, optimizers=optimizer, level="O2", dtype="bfloat16")
    assert net.weight.dtype == paddle.float32


class _OnACard(paddle.amp.GradScaler):  # type: ignore[misc]  # Paddle has no types
    """A scaler that is on though there is no card: what decides on that is left out."""

    def __init__(self, dynamic: bool) -> None:
        super().__init__(enable=False)
        self._enable, self._use_dynamic_loss_scaling = True, dynamic
        self._init_loss_scaling, self._scale = 1024.0, paddle.full([1], 1024.0)


def test_dynamic_scaling_turns_itself_off_outside_of_float16() -> None:
    scaler, loss = _OnACard(dynamic=True), paddle.full([1], 3.0)
    with pytest.warns(UserWarning, match="not recommended to use dynamic loss scaling"):
        assert scaler.scale(loss).item() == 3.0
    assert not scaler.is_enable()
    fixed = _OnACard(dynamic=False)
    assert fixed.scale(loss).item() == 3.0 * 1024
    assert fixed.is_enable()


SCALER = "import paddle\nscaler = paddle.amp.GradScaler(use_dynamic_loss_scaling=False)\n"
SCALED = """
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"train.py": SCALER + in_step(SCALED)}, ["PPF304"]),
        (
            {
                "train.py": f"import net\n{SCALER}" + in_step(SCALED),
                "net.py": "import paddle\ndef run(m, x):\n    with paddle.amp.auto_cast():\n        return m(x)\n",
            },
            [],
        ),
        (
            {
                "train.py": f"import net\n{SCALER}" + in_step(SCALED),
                "net.py": "import paddle\ndef run(m, x):\n"
                "    with paddle.amp.auto_cast(dtype='bfloat16'):\n        return m(x)\n",
            },
            ["PPF305"],
        ),
        ({"train.py": SCALER + in_step("x = 1\n")}, []),
        ({"train.py": "import paddle\nscaler = paddle.amp.GradScaler()\n" + in_step(SCALED)}, []),
    ],
)
def test_what_the_other_files_of_a_program_say(files: dict[str, str], expected: list[str]) -> None:
    assert [finding.code for finding in check(files, "PPF302", "PPF304", "PPF305")] == expected


def test_fleet_decorates_a_model_itself() -> None:
    step = in_step("with paddle.amp.auto_cast(level='O2'):\n    loss = model(x)\n")
    assert [finding.code for finding in check("import paddle\n" + step, "PPF302")] == ["PPF302"]
    assert not check("import paddle\nstrategy.amp = True\n" + step, "PPF302")
