"""``python -m tests.programs --seed 1 --count 1000``: makes up programs and judges their fixes; 1 where one fails."""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import shorten

import perflint
from tests.programs.campaign import Judged, fails_again, judge_program
from tests.programs.frameworks import Paddle, StandIn
from tests.programs.generator import program
from tests.programs.judge import Failure
from tests.programs.runner import Framework
from tests.programs.shrink import shrink_program

_MOST = 400
"""Characters of a difference that are printed."""


def main() -> int:
    """Judge programs until their number or the time is reached, and print each sort of failure once, shrunk."""
    options = _options()
    framework: Framework = Paddle() if options.paddle else StandIn()
    sorts: Counter[str] = Counter()
    seeds: dict[str, list[int]] = {}
    end = time.monotonic() + options.seconds
    made = fixed = runs = 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() > end:
            break
        judged = judge_program(program(seed), framework, seed, options.gains)
        made, fixed, runs = made + 1, fixed + judged.fixed, runs + judged.runs
        for failure in judged.failures:
            sort = sort_of(failure)
            sorts[sort] += 1
            seeds.setdefault(sort, []).append(seed)
            if sorts[sort] <= options.show:
                again = f"python -m tests.programs{' --paddle' if options.paddle else ''} --seed {seed} --count 1"
                print(f"# seed {seed}: {again}\n{report(judged, failure, framework, options)}", flush=True)
    print(f"{made} programs, {fixed} fixed texts, {runs} runs, {sum(sorts.values())} failures of {len(sorts)} sorts")
    for sort, count in sorts.most_common():
        print(f"{count:6d}  {sort}")
    if options.json:
        _record(Path(options.json), options, {"programs": made, "fixed_texts": fixed, "runs": runs}, seeds)
    return 1 if sorts else 0


def _record(path: Path, options: argparse.Namespace, figures: dict[str, int], seeds: dict[str, list[int]]) -> None:
    """Write the figures of a campaign beside those of others, with the seeds of the programs that failed."""
    folder = Path(perflint.__file__).resolve().parent
    git = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    revision = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or perflint.__version__
    paddle = " --paddle" if options.paddle else ""
    command = f"python -m tests.programs{paddle} --seed {options.seed} --count {options.count} --no-shrink"
    sorts = {sort: {"failures": len(found), "seeds": found} for sort, found in sorted(seeds.items())}
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[f"{revision}: {command}"] = {**figures, "failures": sum(map(len, seeds.values())), "sorts": sorts}
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def sort_of(failure: Failure) -> str:
    """What failures are counted by: the fix, how far it may be trusted, and what has changed."""
    what = f" ({failure.what})" if failure.kind in ("fixing", "pyflakes") else ""
    return f"{failure.variant.name}, {failure.variant.level}: {failure.kind}{what}"


def report(judged: Judged, failure: Failure, framework: Framework, options: argparse.Namespace) -> str:
    """A failure as a person needs it: a whole program, the fix as a diff, and what differs first."""
    sort = sort_of(failure)

    program = judged.program
    if options.shrink:
        program = shrink_program(program, lambda smaller: fails_again(smaller, failure, framework) is not None)
        failure = fails_again(program, failure, framework) or failure
    text, after = program.text, failure.variant.program.text
    if options.keep:
        _keep(Path(options.keep), sort, text)
    diff = difflib.unified_diff(text.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2)
    reasons = "; ".join(failure.variant.reasons)
    head = [
        f"## {sort}",
        f"differs: {shorten(failure.what, _MOST)}{f' ({failure.cut})' if failure.cut else ''}",
        f"admits to: {reasons or 'nothing'}",
    ]
    return "\n".join([*head, "```python", text.rstrip(), "```", "```diff", *list(diff)[2:], "```", ""])


def _keep(folder: Path, sort: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(letter if letter.isalnum() else "_" for letter in sort.lower())[:80]
    (folder / f"{name}.py").write_text(text, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    add: Callable[..., object] = parser.add_argument
    add("--seed", type=int, default=1, help="the first program; the others have the numbers after it")
    add("--count", type=int, default=1000, help="how many programs to make at most")
    add("--seconds", type=float, default=float("inf"), help="stop after this long")
    add("--paddle", action="store_true", help="run them with Paddle on the CPU rather than with the stand-in")
    add("--show", type=int, default=1, help="how many failures of one sort are printed")
    add("--no-shrink", dest="shrink", action="store_false", help="print programs as they were made up")
    add("--gains", action="store_true", help="also complain of fixes after which the host waits as often")
    add("--keep", default="", metavar="FOLDER", help="write the programs that are printed into this folder")
    add("--json", default="", metavar="FILE", help="write the figures and the seeds of failures into this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
