"""How long ``perflint check --watch`` takes to show what a change has made of the findings, against a full check.

    python benchmarks/watch.py PaddleDetection ppdet/engine/trainer.py

Changes one line of the file again and again, each time on top of the changes before.  The first change leads to a full
check, as does every change without a session (``full_ms``, the median of several, in as many processes as ``--watch``
uses).  Behind it a session is made ready (``ready_ms``), which is asked after each later change (``later_ms``: the
median of ``runs_ms``).  ``checked`` says how many other files each later change has led to.  ``ready_ratio`` and
``later_ratio`` are parts of a full check.  Prints one JSON object.  Every tenth result is compared with that of a full
check (``compared``: how many were).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
from functools import partial
from pathlib import Path

from edit import changed, parser, timed

from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.run import engine
from perflint.run.discovery import python_files, read_all
from perflint.run.session import Session
from perflint.text.source import Source

FULL_RUNS = 3


def main() -> None:
    options = _options()
    os.chdir(options.tree)
    settings, jobs = Settings(), options.jobs or os.cpu_count() or 1
    sources, _ = read_all(python_files([Path()], settings).files)
    path = os.path.normpath(options.file)
    text, chance = sources[path].text, random.Random(options.seed)
    full = statistics.median(timed(lambda: engine.check(sources, settings, jobs))[1] for _ in range(FULL_RUNS))
    gc.collect()
    session, ready = timed(lambda: Session(sources, settings, [path]))
    gc.freeze()
    runs: list[float] = []
    checked: list[int] = []
    compared = 0
    for number in range(options.edits):
        text = changed(text, chance)
        files, took = timed(partial(_again, session, path, text))
        runs.append(took)
        checked.append(len(files))
        if options.compare and number % options.compare == 0:
            compared += _is_the_same(session.findings(), {**sources, path: Source(path, text)}, settings)
    later = statistics.median(runs)
    result = {
        "full_ms": round(full, 1),
        "ready_ms": round(ready, 1),
        "ready_ratio": round(ready / full, 2),
        "later_ms": round(later, 1),
        "later_ratio": round(later / full, 3),
        "runs_ms": [round(run, 1) for run in runs],
        "checked": checked,
        "project": Path.cwd().name,
        "file": path,
        "files": len(sources),
        "jobs": jobs,
        "compared": compared,
    }
    print(json.dumps(result))


def _again(session: Session, path: str, text: str) -> list[str]:
    session.edit(path, text)
    return session.catch_up()


def _is_the_same(found: list[Finding], sources: dict[str, Source], settings: Settings) -> bool:
    if found != engine.check(sources, settings):
        raise SystemExit("after an edit there are other findings than after a full check")
    return True


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=0, help="processes of a full check; 0: one a core")
    return options.parse_args()


if __name__ == "__main__":
    main()
