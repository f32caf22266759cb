"""Trains scripts as they stand and fixed, and counts what they do: ``python -m tests.counted.running JOBS RESULT``.

Every script runs twice, with few and with more steps.  The difference, by the steps that lie between, is what a step
does; what happens once at the start or at the end is in both runs, so it is not counted.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import io
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from .build import built
from .calls import counted
from .hooks import Counting, install
from .launches import Launches
from .loading import load
from .parts import install_parts, reachable
from .table import IPS_SCRIPTS, SCRIPTS, Row, rows

PEAK = "peak bytes"
"""The most bytes of tensors at a time, which is no matter of the number of steps."""
_STUCK = 120
"""Seconds after which a script that does not end is given up, with the lines where its threads stand."""


def main(jobs: str, result: str) -> None:
    """Run the variants in the folder ``jobs``, as ``PPF201/before/ppf201_running_mean.py``, and write the figures."""
    import paddle

    sys.path[:0] = [str(IPS_SCRIPTS), str(SCRIPTS)]
    warnings.simplefilter("ignore")
    paddle.set_device("cpu")
    tempfile.tempdir = jobs  # the files of scripts are counted there
    counting = install(jobs)
    install_parts(paddle, counting)
    gc.freeze()  # what has been imported is not looked through before each script
    found: dict[str, dict[str, dict[str, float]]] = {}
    for script in sorted(Path(jobs).glob("*/*/*.py")):
        faulthandler.dump_traceback_later(_STUCK, exit=True)
        side, code = script.parent.name, script.parent.parent.name
        found.setdefault(code, {})[side] = _a_step(rows()[code], script, counting)
    Path(result).write_text(json.dumps(found), encoding="utf-8")


def _a_step(row: Row, script: Path, counting: Counting) -> dict[str, float]:
    """What one step of a script does, or one epoch or sample where the row says so."""
    if row.way == "build":
        return dict(built(script))
    runs = [_run(row, script, counting, steps) if steps else Counter[str]() for steps in row.steps]
    units = (row.steps[1] - row.steps[0]) / row.every
    found = {name: round((runs[1][name] - runs[0][name]) / units, 4) for name in sorted({*runs[0], *runs[1]})}
    return {**found, PEAK: runs[1][PEAK]}


def _run(row: Row, script: Path, counting: Counting, steps: int) -> Counter[str]:
    """Everything that so many steps of a script do."""
    import paddle

    counting.start()
    with _alone(paddle, row.cuda), contextlib.redirect_stdout(io.StringIO()):
        module = load(script)
        memory = paddle.base.core.host_memory_stat_current_value("Allocated", 0)
        with counted(row.calls, module, counting), Launches() if row.launched else contextlib.nullcontext() as launches:
            counting.on = True
            try:
                kept = module.train(steps, *row.arguments)
            finally:
                counting.on = False
    figures: Counter[str] = counting.figures
    figures[PEAK] = paddle.base.core.host_memory_stat_peak_value("Allocated", 0) - memory
    figures["graph nodes kept"] = reachable(kept)
    if launches is not None:
        figures["launches"] = launches.kernels.total()
        figures["launches from Python"] = launches.python.total()
        figures["graph nodes made"] = launches.nodes.total()
        figures.update({f"launches of {name}": number for name, number in launches.kernels.items()})
    return figures


@contextmanager
def _alone(paddle: Any, cuda: bool) -> Iterator[None]:
    """A script finds Paddle as it is at the start of a program, whatever the one before it has set."""
    import numpy as np

    paddle.seed(0)
    np.random.seed(0)
    gc.collect()  # so that nothing of the script before is let go while this one runs
    paddle.base.core.host_memory_stat_reset_peak_value("Allocated", 0)
    try:
        with patch.object(paddle, "is_compiled_with_cuda", lambda: cuda):
            yield
    finally:
        paddle.set_default_dtype("float32")


if __name__ == "__main__":
    main(*sys.argv[1:])
