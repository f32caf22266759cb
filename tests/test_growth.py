"""Time and memory grow at most like n log n: what a program twice as long costs, counted and not measured.

Calls are counted: of Python functions and of built-in ones, which are the same in each run.  Twice as much may make
2.4 times as many: 2 and what a logarithm adds, where something that looks at all for each makes 4 times as many.
"""

from __future__ import annotations

import cProfile
import gc
import random
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from perflint import baseline, catalogue, context, engine
from perflint.findings import Confidence, Edit, Finding, Fix, Level
from perflint.fix import trial
from perflint.fixer import apply, fix_all
from perflint.output import formats
from perflint.output.report import Report
from perflint.settings import Settings
from perflint.source import Source
from perflint.taken_edits import Taken
from tests.growth_shapes import SHAPES

ALL = Settings(select=("ALL",), min_confidence=Confidence.LOW)
_MOST = 2.4
_SIZES = {"a chain of methods": 150, "nested calls": 200, "nested subscripts": 200}
"""Shapes whose growth only shows beyond a limit of some other kind, and how many of their parts are made."""


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried only so often for one function is tried less often, so that small programs show the growth."""
    monkeypatch.setattr(trial, "_BUDGET", 20_000)
    monkeypatch.setattr(context, "_MOST_LOOKS", 1_000)


def calls(run: Callable[[], object]) -> int:
    """How many functions a run calls."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        run()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def memory(run: Callable[[], object]) -> int:
    """The most memory that a run holds at a time, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def sources(shape: str, n: int) -> dict[str, Source]:
    return {path: Source(path, text) for path, text in SHAPES[shape](n).items()}


def expect_growth(run: Callable[[int], object], n: int, cost: Callable[[Callable[[], object]], int] = calls) -> None:
    """Twice as much costs little more than twice as much.

    Raises:
        AssertionError: it costs far more.
    """
    once, twice = (cost(lambda size=size: run(size)) for size in (n, 2 * n))  # type: ignore[misc]
    assert twice <= _MOST * once, f"{once} for {n}, {twice} for {2 * n}"


def check_all(shape: str, n: int) -> list[Finding]:
    return engine.check(sources(shape, n), ALL)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """What is read and compiled once for each process."""
    for shape in ("reads in a step", "layers", "options of a program"):
        check_all(shape, 3)
