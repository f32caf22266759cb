"""What the plugin costs flake8: the same run in an environment without perflint and in one with it, in turns.

    python benchmarks/flake8_cost.py --pairs 30

Makes two virtual environments with the flake8 of this one, and installs this checkout into the second.  Each case is
one command; ``without_ms`` and ``with_ms`` are medians of as many runs as there are pairs, and ``ratio`` is the median
of the ratios of the pairs, so that what disturbs a machine for a while disturbs both.  ``select_f`` asks for no rule of
perflint, ``default`` and ``select_ppf`` do.  ``plain`` files do not name Paddle, ``train`` is a training script that
perflint checks each time (no cache).  ``--json`` also writes ``results/flake8_cost.json``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import record

ROOT = Path(__file__).resolve().parents[1]
PLAIN = "import os\n\n\ndef name(path):\n    return os.path.basename(path)\n"
PLAIN_FILES = 20
CASES = {
    "plain, select_f": ["--select=F", "plain.py"],
    "plain, default": ["plain.py"],
    "plain, select_ppf": ["--select=PPF", "plain.py"],
    "20 plain files, select_f": ["--select=F", "several"],
    "20 plain files, default": ["several"],
    "train, select_f": ["--select=F", "train.py"],
    "train, select_ppf": ["--select=PPF", "train.py"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30, help="runs of each command (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="also write benchmarks/results/flake8_cost.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        _write_code(place / "code")
        without = _environment(place / "without")
        having = _environment(place / "with", str(ROOT))
        results = {
            name: _compared(without, having, arguments, place / "code", options.pairs)
            for name, arguments in CASES.items()
        }
    for name, found in results.items():
        print(
            f"{name:26} {found['without_ms']:7.1f} ms {found['with_ms']:7.1f} ms {found['ratio']:6.3f}", file=sys.stderr
        )
    if options.json:
        record.write({"pairs": options.pairs, "flake8": version("flake8"), **results})


def _write_code(place: Path) -> None:
    (place / "several").mkdir(parents=True)
    (place / "plain.py").write_text(PLAIN, encoding="utf-8")
    (place / "train.py").write_bytes((ROOT / "examples" / "cifar10.py").read_bytes())
    for number in range(PLAIN_FILES):
        (place / "several" / f"plain_{number}.py").write_text(PLAIN, encoding="utf-8")


def _environment(place: Path, *more: str) -> Path:
    """A new virtual environment with flake8 and more; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    wanted = [f"{name}=={version(name)}" for name in ("flake8", "pycodestyle", "pyflakes", "mccabe")]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted, *more], check=True)
    return python


def _compared(without: Path, having: Path, arguments: list[str], code: Path, pairs: int) -> dict[str, float]:
    for python in (without, having):
        _seconds(python, arguments, code)  # byte code is written, files are in memory
    measured = [(_seconds(without, arguments, code), _seconds(having, arguments, code)) for _ in range(pairs)]
    return {
        "without_ms": statistics.median(first for first, _ in measured) * 1e3,
        "with_ms": statistics.median(second for _, second in measured) * 1e3,
        "ratio": statistics.median(second / first for first, second in measured),
    }


def _seconds(python: Path, arguments: list[str], code: Path) -> float:
    start = time.perf_counter()
    subprocess.run(
        [str(python), "-m", "flake8", "--isolated", *arguments],
        cwd=code,
        env={**os.environ, "PERFLINT_CACHE_DIR": "", "PYTHONPATH": ""},
        stdout=subprocess.DEVNULL,
        check=False,  # findings are no error here
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
