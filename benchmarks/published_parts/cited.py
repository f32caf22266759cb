"""Figures that others have published.  None was measured here: each names its source and its hardware."""

from __future__ import annotations

from dataclasses import dataclass

NOT_STATED = "not stated"


@dataclass(frozen=True)
class Source:
    """A text: its title, its address ('' where it shows none), and the hardware that it names for its figures."""

    title: str
    address: str
    hardware: str

    @property
    def link(self) -> str:
        """The title as Markdown."""
        return f"[{self.title}]({self.address})" if self.address else self.title


@dataclass(frozen=True)
class Cited:
    """One published comparison: two figures as they are printed, in ``unit``: a rate ('steps/s') or a time ('ms', 's').

    ``reader`` has the shares of a step spent waiting for data before and after, in percent, where the source has them.
    """

    source: Source
    change: str
    before: str
    after: str
    unit: str
    reader: tuple[float, float] | None = None

    @property
    def ratio(self) -> float:
        """How many times as fast."""
        before, after = float(self.before), float(self.after)
        return after / before if self.unit.endswith("/s") else before / after


_GUIDE = Source(
    "模型性能分析（Profiler）, Paddle's guide",
    "https://www.paddlepaddle.org.cn/documentation/docs/zh/guides/performance_improving/profiling_model.html",
    f"{NOT_STATED} (a GPU)",
)
_PROJECT = Source(
    "Paddle模型性能分析Profiler, AI Studio project 4482932",
    "https://aistudio.baidu.com/aistudio/projectdetail/4482932",
    f"{NOT_STATED} (a GPU)",
)
_SLIDES = Source("模型性能优化方法, slides on Paddle of 2022-11-10", "", f"{NOT_STATED} (a GPU)")
_MATMUL = Source(_SLIDES.title, "", "V100, CUDA 10.1, cuDNN 7.6.5")
_MINDSPORE = Source(
    "MindSpore易点通, 性能调试经验总结下篇",
    "https://www.mindspore.cn/technology-blogs/zh/1832",
    f"{NOT_STATED}; MindSpore",
)
_PADDLE = Source(
    "Paddle pull request 66858",
    "https://github.com/PaddlePaddle/Paddle/pull/66858",
    "8 GPUs of one machine; Llama 2 7B of 10 layers, a save every 20 steps",
)
_LANFACTORY = Source(
    "LANfactory pull request 120", "https://github.com/lnccbrown/LANfactory/pull/120", "RTX 3090; PyTorch"
)

CIFAR10 = (
    Cited(_GUIDE, "1 worker to 4", "39.14", "151.45", "steps/s", (53.5, 1.65)),
    Cited(_PROJECT, "one process to 4 workers", "71.00", "137.31", "steps/s", (35.2, 1.72)),
)
# The means of the three log lines that the slides show for each.
SEGMENTATION = (Cited(_SLIDES, "DeepLabv3+, 2 workers to 8", "8.06", "17.02", "samples/s", (50.1, 0.2)),)
CHECKPOINTS = (
    Cited(_MINDSPORE, "saving in the background", "2200", "2450", "images/s"),
    Cited(_PADDLE, "`dist.save_state_dict` with a process that writes, 100 steps", "137", "102", "s"),
)
WIDTHS = (
    Cited(_MATMUL, "FP16, K = 1500 to 1504", "1.367", "0.267", "ms"),
    Cited(_MATMUL, "FP16, N = 9999 to 10000", "1.388", "0.267", "ms"),
    Cited(_MATMUL, "FP32, K = 1500 to 1504", "1.433", "1.340", "ms"),
)
LOSS_READ = (Cited(_LANFACTORY, "`float(loss)` at each step, to a sum kept on the device", "1.97", "1.89", "ms"),)
