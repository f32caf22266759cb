"""How long the findings of one edited file take in a process that stays up.

    python benchmarks/edit.py PaddleDetection ppdet/engine/trainer.py

Checks the tree once, and then makes one-line changes at random places of the file, each on top of the others: a
comment, a statement, another number.  Prints one JSON object: milliseconds of each edit (``runs_ms``) and their median,
``first_ms`` for the check before them, and ``open_ms`` for the first edit of the file, after which its answers are told
apart from those of the others.  Every tenth result is compared with that of a full check (``compared``: how many were).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from perflint.configuration.settings import Settings
from perflint.run import engine
from perflint.run.discovery import python_files, read_all
from perflint.run.session import Session
from perflint.text.source import Source

STATEMENTS = ("value = 1", "print(loss)", "loss.item()", "self.model.train()", "total = sum(range(10))")
Result = TypeVar("Result")
_NUMBER = re.compile(r"\b\d+\b")


def main() -> None:
    options = parser(__doc__).parse_args()
    os.chdir(options.tree)
    settings = Settings()
    sources, _ = read_all(python_files([Path()], settings).files)
    path = os.path.normpath(options.file)
    text = sources[path].text
    session, first = timed(lambda: Session(sources, settings))
    _, opened = timed(lambda: session.edit(path, text))
    chance, runs, compared = random.Random(options.seed), [], 0
    for number in range(options.edits):
        text = changed(text, chance)
        found, took = timed(partial(session.edit, path, text))
        runs.append(took)
        if options.compare and number % options.compare == 0:
            compared += _is_the_same(found, {**sources, path: Source(path, text)}, path, settings)
    result = {
        "median_ms": round(statistics.median(runs), 1),
        "runs_ms": [round(run, 1) for run in runs],
        "project": Path(options.tree).resolve().name,
        "lines": text.count("\n"),
        "files": len(sources),
        "first_ms": round(first, 1),
        "open_ms": round(opened, 1),
        "compared": compared,
    }
    print(json.dumps(result))


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What some work gives, and the milliseconds that it takes."""
    start = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - start) * 1000


def _is_the_same(found: object, sources: dict[str, Source], path: str, settings: Settings) -> bool:
    full = [finding for finding in engine.check(sources, settings) if finding.path == path]
    if found != full:
        raise SystemExit(f"an edit of {path} gives other findings than a full check")
    return True


def changed(text: str, chance: random.Random) -> str:
    """The text with another line that still parses."""
    while True:
        lines = text.splitlines(keepends=True)
        row = chance.randrange(len(lines))
        indent = lines[row][: len(lines[row]) - len(lines[row].lstrip())].rstrip("\r\n")
        kind = chance.choice(("comment", "statement", "number"))
        if kind == "number":
            lines[row] = _NUMBER.sub(lambda match: str(int(match.group()) + 1), lines[row])
        else:
            lines.insert(row, f"{indent}{'# a note' if kind == 'comment' else chance.choice(STATEMENTS)}\n")
        changed = "".join(lines)
        if changed != text and _parses(changed):
            return changed


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def parser(what: str) -> argparse.ArgumentParser:
    """The options of a command that edits a file again and again; ``what``: its first sentence."""
    parser = argparse.ArgumentParser(description=what.splitlines()[0])
    parser.add_argument("tree", type=Path, help="directory to check")
    parser.add_argument("file", help="the file in it that is edited")
    parser.add_argument("--edits", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--compare", type=int, default=10, help="compare every so many results with a full check; 0: none"
    )
    return parser


if __name__ == "__main__":
    main()
