"""Writes a measurement to a file, and reads it to continue it.

A file has everything needed to compute its comparisons again, and no more. Its rounds count for another measurement if
they were measured under the same conditions.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perflint import __version__
from perflint.bench.results import BenchReport, Steps, compare
from perflint.bench.script_run import Outcome, Plan, RunFailed
from perflint.bench.variants import VariantFiles

_NUMBERS = re.compile(r"\[\s[^\[\]{}\"]*\]")
"""A list of numbers, which is written on one line."""


_FILE, _VARIANT = "file ", "variant "
"""How the conditions about files and about variants begin; their values are hashes."""
_VARIABLES = ("CPU_NUM", "CUDA_", "FLAGS_", "MKL_", "NCCL_", "OMP_", "OPENBLAS_")
"""The prefixes of environment variables that affect speed."""


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


def conditions(plan: Plan, states: Sequence[VariantFiles], first: Outcome) -> dict[str, str]:
    """What the figures of a measurement depend on, each as text for comparison.

    Args:
        plan: how the script is run.
        states: the variants.
        first: a run of the unchanged script.
    """
    variables = {**os.environ, **plan.environment}
    values = {
        "script": plan.script.as_posix(),
        "directory": plan.directory.as_posix(),
        "arguments": shlex.join(plan.arguments),
        "--launch": shlex.join(plan.launch),
        "--steps": str(plan.steps),
        "--warmup": str(plan.warmup),
        "seed": str(plan.seed),
        "machine": first.machine,
        "device": first.steps.device,
        "perflint": __version__,
        **first.versions,
        **{name: variables[name] for name in sorted(variables) if name.startswith(_VARIABLES)},
    }
    files = sorted(name for name in {*first.files, plan.script.as_posix()} if (plan.root / name).is_file())
    hashes = {_FILE + name: _hash({name: (plan.root / name).read_bytes()}) for name in files}
    changes = {_VARIANT + state.name: _changes(state) for state in states}
    return {**values, **hashes, **changes}


def _changes(state: VariantFiles) -> str:
    gone = dict.fromkeys((f"gone {path.as_posix()}" for path in state.removed), b"")
    return _hash({**{path.as_posix(): content for path, content in state.changed.items()}, **gone})


def _hash(files: Mapping[str, bytes]) -> str:
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        for part in (name.encode(), content):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def read(path: Path, now: Mapping[str, str]) -> BenchReport:
    """The report of an earlier measurement.

    Args:
        path: a file that ``--json`` has written, of a measurement that was finished or interrupted.
        now: the conditions of this one.

    Raises:
        RunFailed: the file cannot be read, or its measurement cannot be compared with the current one.
    """
    try:
        report = BenchReport.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RunFailed(f"--resume {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFailed(f"--resume {path}: this file was not written by perflint bench --json") from error
    if report.conditions is None:
        raise RunFailed(f"--resume {path}: it does not say what it was measured with: measure again without --resume")
    found = differences(report.conditions, now)
    if found:
        raise RunFailed(f"--resume {path}: it was measured under other conditions: {'; '.join(found)}")
    return report


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The differences between the conditions of two measurements, one clause each."""
    names = [*before, *(name for name in now if name not in before)]
    return [_difference(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name)]


def _difference(name: str, before: str | None, now: str | None) -> str:
    for kind in (_FILE, _VARIANT):
        if name.startswith(kind):
            shown = name.removeprefix(_FILE)
            what = "is not the same as then" if before and now else "was not there then" if now else "is missing now"
            return f"{shown} {what}"
    return f"{name} was {before or 'not set'} then and is {now or 'not set'} now"
