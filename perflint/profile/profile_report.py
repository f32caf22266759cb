"""A profile as stored in JSON, made from the records of the profiler in the script's process.

All times are in milliseconds, and means of one measured step; a share is a part of such a step, from 0 to 1.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, median
from typing import Any

from perflint.bench.figures import quantile
from perflint.bench.results import KeptAsJson
from perflint.bench.runner import watched_calls
from perflint.bench.script_run import Outcome, Plan
from perflint.files import plain_files
from perflint.text.source import Source, UnreadableSource, decode

_LEAST_LOOKS = 3
"""The least number of samples of the code between two calls for naming its lines: fewer say too little."""


@dataclass(frozen=True)
class StepTimes(KeptAsJson):
    """How long the measured steps took, from the end of one to the end of the next."""

    mean: float
    median: float
    p95: float


@dataclass(frozen=True)
class PhaseTime(KeptAsJson):
    """The time and share of a step that a phase takes."""

    ms: float
    share: float


@dataclass(frozen=True)
class ProfileEvent(KeptAsJson):
    """A line of the project that takes time, and what it spends it on.

    Attributes:
        path: its file, relative to the root of the project, with "/".
        line: its number, from 1.
        kind: one of ``watched_calls.PHASE_OF``, such as "read".
        what: the function, such as ``Tensor.item``.
        times: calls per step; 0 (unknown) for code that was seen by sampling (kind "other").
        ms: milliseconds per step.
        share: the part of a step, from 0 to 1.
        phase: the phase that it belongs to.
        note: more about it, such as the workers of a loader, or "".
        via: the library function that the line has called, if that has called ``what``; else "".
        evaluating: whether the trained model was in evaluation mode.
        source: the text of the line, or "".
    """

    path: str
    line: int
    kind: str
    what: str
    times: float
    ms: float
    share: float
    phase: str
    note: str = ""
    via: str = ""
    evaluating: bool = False
    source: str = ""

    @property
    def place(self) -> str:
        """``train.py:73``."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class ProfileReport(KeptAsJson):
    """A whole profile.

    Attributes:
        made: when it was made, in UTC, as in ISO 8601.
        script: the script, relative to the root of the project.
        arguments: what it was called with.
        python: the version of the Python that ran it.
        paddle: the version of Paddle.
        device: "cpu", or "gpu:0".
        warmup: steps that were left out.
        steps: steps that were measured.
        step_ms: their times.
        ips: samples per second.
        phases: all phases, in the order of ``watched_calls.PHASES``; their times add up to the mean step.
        events: the lines, the longest first.
        files: the SHA-256 of each Python file of the project that the script has loaded, by path.
        machine: the GPU if there is one, processor, cores, system.
        notes: remarks on the figures.
    """

    made: str
    script: str
    arguments: list[str]
    python: str
    paddle: str
    device: str
    warmup: int
    steps: int
    step_ms: StepTimes
    ips: float
    phases: dict[str, PhaseTime]
    events: list[ProfileEvent]
    files: dict[str, dict[str, str]]
    machine: str = ""
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields for ``json.dumps``."""
        return {"format": "perflint-profile", "version": 1, **super().to_json()}


def summed_up(plan: Plan, outcome: Outcome, notes: Iterable[str] = ()) -> ProfileReport:
    """The report of a run whose plan asked for a profile.

    Args:
        plan: how the script was run.
        outcome: the outcome of the run.
        notes: remarks on the figures.
    """
    noted = outcome.profile or {"spent": [], "sampled": [], "sha256": {}}
    steps = [1000 * second for second in outcome.steps.batch_s]
    mean = fmean(steps)
    spent = [{**each, "ms": 1000 * each["seconds"] / len(steps)} for each in noted["spent"]]
    sources = {path: _source(plan.root / path, digest) for path, digest in noted["sha256"].items()}

    def event(path: str, line: int, kind: str, what: str, ms: float, times: float, **more: Any) -> ProfileEvent:
        more = {"phase": watched_calls.PHASE_OF[kind], "source": _line(sources.get(path), line), **more}
        return ProfileEvent(path, line, kind, what, _rounded(times), _rounded(ms), _share(ms, mean), **more)

    calls = (each for each in spent if each["kind"] != watched_calls.OTHER and each["path"])
    named = ("path", "line", "kind", "what", "ms", "note", "via", "evaluating")
    events = [event(times=each["times"] / len(steps), **{name: each[name] for name in named}) for each in calls]
    others = _others((each for each in spent if each["kind"] == watched_calls.OTHER), noted["sampled"])
    for (path, line, note), ms in others.items():
        if path:
            events.append(event(path, line, watched_calls.OTHER, "other code", ms, 0.0, note=note))
    return ProfileReport(
        made=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        script=plan.script.as_posix(),
        arguments=plan.arguments,
        python=outcome.versions.get("python", ""),
        paddle=outcome.versions.get("paddle", ""),
        device=outcome.steps.device,
        machine=outcome.machine,
        warmup=plan.warmup,
        steps=len(steps),
        step_ms=StepTimes(_rounded(mean), _rounded(median(steps)), _rounded(quantile(steps, 0.95))),
        ips=_rounded(outcome.steps.ips),
        phases=_phases(spent, mean),
        events=sorted(events, key=lambda each: (-each.ms, each.path, each.line)),
        files={path: {"sha256": digest} for path, digest in noted["sha256"].items()},
        notes=list(notes),
    )


def _phases(spent: Iterable[Mapping[str, Any]], mean: float) -> dict[str, PhaseTime]:
    """The phases; time that no call is charged with belongs to "other"."""
    found = dict.fromkeys(watched_calls.PHASES, 0.0)
    for each in spent:
        found[watched_calls.PHASE_OF[each["kind"]]] += each["ms"]
    found[watched_calls.OTHER] += max(0.0, mean - sum(found.values()))
    return {name: PhaseTime(_rounded(ms), _share(ms, mean)) for name, ms in found.items()}


def _others(
    spent: Iterable[Mapping[str, Any]], looks: Iterable[tuple[str, int, str, int, int]]
) -> dict[tuple[str, int, str], float]:
    """The milliseconds between wrapped calls by file, line and note, divided among lines if samples suffice."""
    seen: dict[tuple[str, int], Counter[tuple[str, int]]] = {}
    for after, row, path, line, count in looks:
        seen.setdefault((after, row), Counter())[path, line] += count
    found: dict[tuple[str, int, str], float] = {}
    for each in spent:
        counts = seen.get((each["path"], each["line"]), Counter())
        total = sum(counts.values())
        parts = {(each["path"], each["line"], each["note"]): 1.0}
        if total >= _LEAST_LOOKS:
            parts = {(*place, "by sampling"): count / total for place, count in counts.items()}
        for key, part in parts.items():
            found[key] = found.get(key, 0.0) + each["ms"] * part
    return found


def _share(ms: float, mean: float) -> float:
    """Six decimals: a call of 0.03 ms has a share in a step of a second too, and 0.0 would look like no call."""
    return round(ms / mean, 6) if mean else 0.0


def _rounded(value: float) -> float:
    """Milliseconds, calls and samples rounded to three decimals: more digits are noise."""
    return round(value, 3)


def _source(path: Path, digest: str) -> Source | None:
    """The text of a file; None if it has changed since the script ran it."""
    try:
        data = plain_files.read(path)
        return decode(str(path), data) if hashlib.sha256(data).hexdigest() == digest else None
    except (OSError, UnreadableSource):
        return None


def _line(source: Source | None, row: int) -> str:
    """The text of a line without its indentation; "" if it is not known."""
    return source.lines.line(row).strip() if source is not None and 0 < row <= source.lines.rows else ""
