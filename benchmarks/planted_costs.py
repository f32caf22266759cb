"""Whether ``perflint profile`` finds planted costs again: its shares beside those that the script itself measures.

python benchmarks/planted_costs.py [--steps N]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from record import write

from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE
from perflint.bench.script_run import Plan
from perflint.bench.variants import VariantFiles
from perflint.profile.profile_report import summed_up

SCRIPT = Path(__file__).resolve().parent / "profile_parts"


def main(arguments: list[str]) -> None:
    """Run the script once, and write both shares of each phase, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    steps = parser.parse_args(arguments).steps
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "planted.json"
        given = [str(steps + 1), str(out)]  # the first step is the warm-up of both
        plan = Plan(SCRIPT, Path("planted.py"), Path(), given, sys.executable, 1, steps + 1, profile=True)
        report = summed_up(plan, Bench(plan).run(VariantFiles(BEFORE)))
        planted = json.loads(out.read_text(encoding="utf-8"))
    found = {}
    for name, seconds in planted.items():
        share = seconds / sum(planted.values())
        profiled = report.phases[name].share
        found[name] = {"planted_share": share, "profiled_share": profiled, "ratio": profiled / share}
    write({"steps": steps, "step_ms": report.step_ms.mean, "phases": found})


if __name__ == "__main__":
    main(sys.argv[1:])
