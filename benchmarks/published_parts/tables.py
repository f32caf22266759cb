"""The published tables that are measured again: the script of each, its variants, and what a device cannot show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perflint.catalogue import DEVICES, PADDLE_DEVICES, Device
from published_parts import cited

SCRIPTS = Path(__file__).resolve().parents[1] / "published"


@dataclass(frozen=True)
class Table:
    """One table.

    Each variant sets constants of the script; all are compared with the first.  ``steps`` and ``warmup`` are of each
    run.  ``limits`` has, by device, the words on what this measurement cannot show there.  ``devices`` are those on
    which the script runs.
    """

    name: str
    title: str
    cited: tuple[cited.Cited, ...]
    variants: Mapping[str, Mapping[str, int | bool]]
    steps: int
    warmup: int
    about: str
    limits: Mapping[Device, str] = field(default_factory=dict)
    arguments: Mapping[Device, tuple[str, ...]] = field(default_factory=dict)
    devices: tuple[Device, ...] = PADDLE_DEVICES

    @property
    def script(self) -> Path:
        """The training script."""
        return SCRIPTS / f"train_{self.name}.py"

    def text(self, variant: str) -> str:
        """The script with the constants of a variant.

        Raises:
            ValueError: the script does not set one of them in exactly one line.
        """
        text = self.script.read_text(encoding="utf-8")
        for name, value in self.variants[variant].items():
            text, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
            if count != 1:
                raise ValueError(f"{self.script.name} sets {name} {count} times")
        return text


def _workers(counts: tuple[int, ...]) -> dict[str, dict[str, int | bool]]:
    names = {0: "no workers", 1: "1 worker"}
    return {names.get(count, f"{count} workers"): {"WORKERS": count} for count in counts}


_FEW_CORES = (
    "Workers and convolutions share the cores here, unlike on a GPU machine, so more workers than cores gain little. "
    "Without workers a thread of the training process reads ahead: no row shows much waiting, but reading still takes "
    "time from the training."
)
_PHYSICAL = "GPU machines differ: the ratio depends on the CPU cores as much as on the GPU."

TABLES = (
    Table(
        "cifar10",
        "Workers for the CIFAR-10 example",
        cited.CIFAR10,
        _workers((1, 0, 4)),
        steps=60,
        warmup=10,
        about="the network, optimizer and batch size of the guide, on random pixels in the format of CIFAR-10. "
        "The samples are arrays, not tensors: on the CPU a worker of Paddle 3.3.1 crashes on tensors.",
        limits={"cpu": _FEW_CORES, "gpu": _PHYSICAL},
    ),
    Table(
        "segmentation",
        "Workers for segmentation",
        cited.SEGMENTATION,
        _workers((2, 0, 4, 8)),
        steps=56,
        warmup=24,
        about="JPEG files of 1024 by 512 pixels are decoded, scaled by 0.5 to 2, cropped to 256 and flipped, 4 in a "
        "batch. The network is two convolutions, not DeepLabv3+, so that reading takes most of the time as with a GPU.",
        limits={
            "cpu": "More workers than cores gain nothing. Without workers a thread of the training process "
            "reads ahead, on the other core.",
            "gpu": _PHYSICAL,
        },
    ),
    Table(
        "checkpoints",
        "Checkpoints",
        cited.CHECKPOINTS,
        {"paddle.save": {"IN_BACKGROUND": False}, "paddle.async_save": {"IN_BACKGROUND": True}},
        steps=40,
        warmup=10,
        about="32 MB of weights, saved after every 10 steps to the temporary directory. What is still being written "
        "after the last measured step is not counted.",
        limits={
            "cpu": "Writing in the background takes a core from training, and copying the weights takes time too: on a "
            "CPU the gain is only the time that the writer waits for the disk."
        },
    ),
    Table(
        "widths",
        "Widths that are a multiple of 8",
        cited.WIDTHS,
        {
            "K = 1500": {"K": 1500},
            "K = 1504": {"K": 1504},
            "K = 1504, N odd": {"K": 1504, "N": 9999},
        },
        steps=40,
        warmup=10,
        about="whole training steps of one linear layer in mixed precision: 576 rows of K numbers to N outputs. The "
        "published figures are for the product alone.",
        limits={
            "cpu": "A CPU has no Tensor Cores, and Paddle's mixed precision has no effect on it. The effect needs a "
            "GPU; the command is the same with `--device gpu`. N is divided by 5 here, to keep the steps short."
        },
        arguments={"cpu": ("--shrink", "5")},
        devices=DEVICES,
    ),
    Table(
        "loss_read",
        "Reading the loss",
        cited.LOSS_READ,
        {"read at each step": {"EVERY": 1}, "read every 10 steps": {"EVERY": 10}},
        steps=100,
        warmup=20,
        about="a small network, so that the read takes as large a part of the step as possible. The texts on Paddle "
        "above advise against such reads, but give no figure. The cited figure is from a PyTorch project, whose author "
        "expects less than 1 % in real training.",
        limits={
            "cpu": "On a CPU there is no device to wait for: only the printing remains. The effect needs a GPU; "
            "the command is the same with `--device gpu`."
        },
        devices=DEVICES,
    ),
)
BY_NAME = {table.name: table for table in TABLES}
