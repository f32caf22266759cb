"""What a profile costs itself: steps with its recorder and with that of ``perflint bench``, in turns.

python benchmarks/profile_overhead.py [--rounds N]

The recorder of ``perflint bench`` is the least that tells steps apart: it wraps the loader's ``next``, ``backward``
and the optimizer's ``step``, and reads the clock once or twice a step.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from record import write

from perflint.bench.figures import quantile
from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE, Steps, compare
from perflint.bench.script_run import Plan
from perflint.bench.variants import VariantFiles

SCRIPTS = Path(__file__).resolve().parents[1] / "tests" / "profile_scripts"
PLANS = {
    "fit_cnn": ("train.py", []),
    "language_model": ("pretrain.py", []),
    "detection": ("train.py", ["-c", "config.yml"]),
    "static_graph": ("train.py", []),
}


def overhead(name: str, rounds: int) -> dict[str, float]:
    """The time of a step with the profile by that without it.

    Returns:
        Milliseconds of the mean step without the profile; the ratio, with its interval; and the same ratio of the
        10th percentiles of all steps, which other work on the machine disturbs least.
    """
    script, arguments = PLANS[name]
    plan = Plan(SCRIPTS / name, Path(script), Path(), [*arguments], sys.executable)
    benches = [Bench(plan), Bench(replace(plan, profile=True))]
    runs: list[list[Steps]] = [[], []]
    for at in range(rounds):
        for which in (0, 1) if at % 2 == 0 else (1, 0):
            runs[which].append(benches[which].run(VariantFiles(BEFORE)).steps)
    found = compare(runs[0], runs[1])
    steps = [[second for run in each for second in run.batch_s] for each in runs]
    return {
        "step_ms": 1000 * sum(steps[0]) / len(steps[0]),
        "ratio_of_quiet_steps": quantile(steps[1], 0.1) / quantile(steps[0], 0.1),
        "ratio": 1 / found.ratio,
        "low": 1 / found.high,
        "high": 1 / found.low,
    }


def main(arguments: list[str]) -> None:
    """Measure the four scripts of tests/profile_scripts and write the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args(arguments).rounds
    write({"rounds": rounds, "scripts": {name: overhead(name, rounds) for name in PLANS}})


if __name__ == "__main__":
    main(sys.argv[1:])
