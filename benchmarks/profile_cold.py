"""Where the time of a cold check goes: CPU seconds of one process by phase and by rule, beside the floor.

    python benchmarks/profile_cold.py PaddleDetection

Each run is a process of its own, with and without measuring in turn.  The result is the run with the median total;
``benchmarks/speed.py --render`` shows it in ``docs/performance.md``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from speed import PROFILE, machine, revision
from speed_parts import trees
from speed_parts.page import figure

from perflint import __version__
from perflint.stopwatch import PHASES

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "benchmarks" / "speed_parts" / "cold_run.py"
Run = dict[str, Any]


def main() -> None:
    options = _options()
    runs, plain = _in_turn(options.tree, options.runs)
    result = _result(options, _median(runs), statistics.median(run["total"] for run in plain))
    text = json.dumps(result, indent=1) + "\n"
    print(text, end="")
    options.output.write_text(text, encoding="utf-8")


def _in_turn(tree: Path, count: int) -> tuple[list[Run], list[Run]]:
    """Runs that measure, and plain ones; one of each before them, which nobody keeps, has the files in memory."""
    _run(tree, "--plain")
    pairs = [(_run(tree), _run(tree, "--plain")) for _ in range(count)]
    return [measured for measured, _ in pairs], [plain for _, plain in pairs]


def _run(tree: Path, *arguments: str) -> Run:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, str(RUN), *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}  # compiled once, as if installed
    output = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True).stdout
    run: Run = json.loads(output)
    print(f"{' '.join(('run', *arguments))}: {run['total']:.3f} s of CPU", file=sys.stderr, flush=True)
    return run


def _median(runs: list[Run]) -> Run:
    return sorted(runs, key=lambda run: float(run["total"]))[len(runs) // 2]


def _result(options: argparse.Namespace, run: Run, plain: float) -> Run:
    floor = trees.floor(options.tree)
    result = {
        "command": " ".join(["python", "benchmarks/profile_cold.py", *map(shlex.quote, _shown_arguments())]),
        "machine": machine(),
        "versions": {"perflint": f"{__version__} at {revision()}", "libcst": importlib.metadata.version("libcst")},
        "runs": options.runs,
        "tree": options.tree.name,
        "unit": "CPU seconds of one process",
        "phases": _rounded(run["phases"]),
        "rules": _rounded(run["rules"]),
        "plain": round(plain, 3),
        "floor": {"read": floor["read"], "ast.parse": floor["parse"]},
    }
    return {**result, "notes": list(_notes(result))}


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    """Most expensive first, in thousandths of a second, without what takes none."""
    rounded = {name: round(value, 3) for name, value in sorted(seconds.items(), key=lambda item: -item[1])}
    return {name: value for name, value in rounded.items() if value}


def _notes(result: Run) -> Iterator[str]:
    yield (
        f"`{result['command']}`: of {result['runs']} runs the one with the median total; perflint "
        f"{result['versions']['perflint']}. Each moment counts once, for the innermost phase: if a gate makes perflint "
        "parse a file, that counts as `ast.parse`. The seconds of a rule are those of its gates and checks, which are "
        "part of the phases of these names. A result that several rules use is computed once, and counts for the first."
    )
    words = (f"*{phase}*: {what}" for phase, what in PHASES.items() if phase in result["phases"])
    yield f"The phases in the order of a run: {'; '.join(words)}."
    floor = result["floor"]
    yield (
        f"The same run without measuring: {figure(result['plain'])} s (median). The lower limit: reading the files "
        f"takes {figure(floor['read'])} s, and `ast.parse` of all of them {figure(floor['ast.parse'])} s."
    )


def _shown_arguments() -> Iterator[str]:
    """The arguments with paths by their last name: where they lie on this machine tells nobody anything."""
    for argument in sys.argv[1:]:
        path = Path(argument)
        yield path.name if path.is_absolute() else argument


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, metavar="TREE", help="a checkout of Paddle code")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, default=PROFILE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
