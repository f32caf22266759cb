"""Writes a measurement to a file: everything needed to compute its comparisons again, and no more."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from perflint.bench.results import BenchReport, Steps
from perflint.bench.statistics import compare

_NUMBERS = re.compile(r"\[\s[^\[\]{}\"]*\]")
"""A list of numbers, which is written on one line."""


def as_text(data: object) -> str:
    """JSON in which each list of numbers takes one line."""
    text = json.dumps(data, indent=1)
    return _NUMBERS.sub(lambda found: re.sub(r"\s+", " ", found.group()), text) + "\n"


def rounded(report: BenchReport) -> BenchReport:
    """A report with times in whole microseconds (more is noise), and the comparisons computed from these."""
    variants = [replace(item, runs=[_rounded(run) for run in item.runs]) for item in report.variants]
    comparisons = [compare(variants[0].runs, item.runs, item.name, report.pilot) for item in variants[1:]]
    return replace(report, variants=variants, comparisons=comparisons)


def _rounded(run: Steps) -> Steps:
    batch, reader = ([round(time, 6) for time in part] for part in (run.batch_s, run.reader_s))
    return replace(run, batch_s=batch, reader_s=reader)
