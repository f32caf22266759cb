"""Measures a step of known work against others, without Paddle: ``tests/ips/busy/busy.py``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from perflint.bench.measure import Bench, rounded
from perflint.bench.results import BEFORE, BenchReport
from perflint.bench.script_run import Plan
from perflint.bench.variants import VariantFiles
from tests.ips.busy import busy
from tests.ips.measuring import WARMUP
from tests.ips.places import PLACES

FOLDER = Path(busy.__file__).resolve().parent
PADDLE = FOLDER.parents[1] / "bench_paddle"
"""So much of Paddle as the measurement looks at."""
STEP_MS = 3.0
"""How long a step is to take."""

_TRIED = 200_000
"""The count by which the machine's speed is found."""
_TURNS = 9


def work(milliseconds: float = STEP_MS, clock: Callable[[], float] = time.perf_counter) -> int:
    """To what a step has to count to take so long on this machine, by the fastest of some tries."""
    fastest = min(_seconds(clock) for _ in range(_TURNS))
    return max(1, round(_TRIED * milliseconds / 1000 / fastest))


def measure(factors: Sequence[float], counted: int, rounds: int) -> BenchReport:
    """A step that counts to ``counted`` against steps that do a multiple of its work.

    Args:
        factors: the work of the others, as multiples: 1 for the same, 1.03 for a step that is 3 % longer.
        counted: to what the first counts.
        rounds: how often each is run.

    Raises:
        perflint.bench.script_run.RunFailed: a run has not measured anything.
    """
    plan = Plan(
        root=FOLDER,
        script=Path("busy.py"),
        directory=Path(),
        arguments=[str(counted)],
        python=sys.executable,
        warmup=WARMUP,
        steps=busy.STEPS - WARMUP,
        environment={**PLACES["cpu"].environment, "PYTHONPATH": str(PADDLE)},
    )
    states = [_state(BEFORE, 1.0), *(_state(f"work {factor:g}", factor) for factor in factors)]
    return rounded(Bench(plan).measure(states, rounds))


def _state(name: str, factor: float) -> VariantFiles:
    text = (FOLDER / "busy.py").read_text(encoding="utf-8")
    changed = text.replace("\nFACTOR = 1.0\n", f"\nFACTOR = {factor}\n")
    return VariantFiles(name, [], [], {Path("busy.py"): changed.encode("utf-8")})


def _seconds(clock: Callable[[], float]) -> float:
    start = clock()
    busy.count(_TRIED)
    return clock() - start
