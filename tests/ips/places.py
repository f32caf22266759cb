"""Where the suite measures: a device, with Paddle or with the stand-in for it (docs/measuring.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from perflint import catalogue
from perflint.bench.results import BenchReport
from perflint.catalogue import Device
from tests.ips import stand_in_rules

Hardware = Literal["cpu", "gpu"]

STAND_IN = Path(__file__).resolve().parent / "stand_in"
"""On the path of a process, its ``import paddle`` finds the stand-in."""

TORCH_PYTHON = "PERFLINT_TORCH_PYTHON"
"""The variable that names an interpreter with PyTorch, where the one that runs pytest has none."""

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_VERSION = "stand-in on torch "
"""How ``paddle.__version__`` of the stand-in begins."""
_NOTE = "Measured with a stand-in for Paddle on PyTorch: evidence for what the card does, and no measurement of Paddle."


@dataclass(frozen=True)
class Place:
    """A kind of hardware, and whether the stand-in takes Paddle's place there."""

    hardware: Hardware
    stand_in: bool = False

    @property
    def device(self) -> Device | None:
        """The name under which evidence is kept; None with the stand-in on a CPU, which is evidence for nothing."""
        if not self.stand_in:
            return self.hardware
        return "stand-in-gpu" if self.hardware == "gpu" else None

    @property
    def python(self) -> str:
        """The interpreter that runs the scripts."""
        named = os.environ.get(TORCH_PYTHON) if self.stand_in else None
        return named or sys.executable

    @property
    def environment(self) -> dict[str, str]:
        """The variables that both sides run with: one thread for each library, and no GPU where the CPU is measured."""
        found = dict.fromkeys(_THREADS, "1")
        return found if self.hardware == "gpu" else {**found, "CUDA_VISIBLE_DEVICES": ""}

    @property
    def path(self) -> dict[str, str]:
        """The variable by which a script finds the stand-in; apart, since it names a folder of this machine."""
        return {"PYTHONPATH": str(STAND_IN)} if self.stand_in else {}

    @property
    def arguments(self) -> list[str]:
        """The command line of the scripts: less work where all that counts is that they run."""
        return [] if self.device else ["--batch", "4", "--side", "16"]

    def reason(self, code: str) -> str:
        """Why a rule is not measured here, "" where it is."""
        measuring = catalogue.shipped()[code].measuring
        if self.stand_in:
            return measuring.why_not("stand-in-gpu") or stand_in_rules.reason(code)
        return measuring.why_not(self.hardware)

    def missing(self) -> str:
        """What this machine lacks for a measurement, "" where it lacks nothing."""
        return _missing(self.python, self.hardware, self.stand_in)

    def labelled(self, report: BenchReport) -> BenchReport:
        """A report that says what stood for Paddle, and does not name Paddle as what was measured."""
        if not self.stand_in:
            return report
        versions = dict(report.versions)
        torch = versions.pop("paddle").removeprefix(_VERSION)
        return replace(report, versions={"torch": torch, **versions}, notes=[_NOTE, *report.notes])

    def mislabelled(self, report: BenchReport) -> list[str]:
        """What of a report says that it was measured with something else than it was here."""
        paddle = report.versions.get("paddle", "")
        noted = _NOTE in report.notes
        if not self.stand_in:
            return ["it was measured with the stand-in"] if noted or paddle.startswith(_VERSION) else []
        found = [] if noted else ["the notes do not tell of the stand-in"]
        if paddle or "torch" not in report.versions:
            found.append(f"the versions {report.versions} are not those of the stand-in")
        return found


PLACES: dict[Device, Place] = {"cpu": Place("cpu"), "gpu": Place("gpu"), "stand-in-gpu": Place("gpu", stand_in=True)}
"""Those that evidence is kept of."""


_ASKED = {
    False: "import paddle; print(paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0)",
    True: "import torch; print(torch.cuda.is_available())",
}
"""What an interpreter is asked, with the stand-in and without: whether it sees a card."""


@cache
def _missing(python: str, hardware: Hardware, stand_in: bool) -> str:
    name = "PyTorch" if stand_in else "Paddle"
    try:
        done = subprocess.run([python, "-c", _ASKED[stand_in]], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        more = f": name an interpreter that has it in {TORCH_PYTHON}" if stand_in else ""
        return f"{python} has no {name}{more}"
    sees = done.stdout.split()[-1:] == ["True"]
    return f"{name} of {python} sees no CUDA device" if hardware == "gpu" and not sees else ""
