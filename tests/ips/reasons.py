"""Why the suite does not measure a rule, on one device or on any: the only place that says so."""

from __future__ import annotations

from typing import Literal

Device = Literal["cpu", "gpu"]

_WAIT = "the gain is the wait for the GPU: on the CPU a result is there when the call that makes it returns"
_NO_GAIN = "there is no speed-up to measure: the rule is about what perflint itself could read or report"
_PROCESSES = "the cost comes with several processes that train together, and the suite runs one"

NEEDS_GPU = {
    "PPF201": _WAIT,
    "PPF203": _WAIT,
    "PPF204": "the call waits for the GPU, and a build of Paddle for the CPU refuses it",
    "PPF206": _WAIT,
    "PPF207": _WAIT,
    "PPF210": _WAIT,
    "PPF306": "the gain is that of Tensor Cores under AMP, which has no effect on the CPU",
    "PPF703": "the call empties the cache of GPU memory, and there is none on the CPU",
}
"""What a GPU shows and a CPU cannot."""

NOT_MEASURED = {
    "PPF001": _NO_GAIN,
    "PPF002": _NO_GAIN,
    "PPF003": _NO_GAIN,
    "PPF212": "what grows is memory, not the time of a step; benchmarks/graph_growth.py measures it",
    "PPF403": _PROCESSES,
    "PPF801": _PROCESSES,
}
"""What the suite measures on no device; such a rule needs no script."""


def reason(code: str, device: Device) -> str:
    """Why a rule is not measured on a device, "" where it is."""
    return NOT_MEASURED.get(code) or (NEEDS_GPU.get(code, "") if device == "cpu" else "")
