"""Makes a report from the records of the profiler in the script's process: means per step, and shares of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, median
from typing import Any

from perflint.bench.figures import quantile
from perflint.bench.plan import Outcome, Plan
from perflint.bench.runner import step_kinds
from perflint.files import plain_files
from perflint.profile.profile_report import PhaseTime, ProfileEvent, ProfileReport, StepTimes
from perflint.text.source import Source, UnreadableSource, decode

_LEAST_LOOKS = 3
"""The least number of samples of the code between two calls for naming its lines: fewer say too little."""
_SEEN = "by sampling"


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
    phases = _phases(spent, mean)
    events = [
        *_events([each for each in spent if each["kind"] != step_kinds.OTHER], len(steps), mean),
        *_others([each for each in spent if each["kind"] == step_kinds.OTHER], noted["sampled"], mean),
    ]
    texts = _Texts(plan.root, noted["sha256"])
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
        phases=phases,
        events=[texts.with_source(each) for each in sorted(events, key=lambda each: (-each.ms, each.path, each.line))],
        files={path: {"sha256": digest} for path, digest in noted["sha256"].items()},
        notes=list(notes),
    )


def _phases(spent: Iterable[Mapping[str, Any]], mean: float) -> dict[str, PhaseTime]:
    """The phases; time that no call is charged with belongs to "other"."""
    found = dict.fromkeys(step_kinds.PHASES, 0.0)
    for each in spent:
        found[step_kinds.PHASE_OF[each["kind"]]] += each["ms"]
    found[step_kinds.OTHER] += max(0.0, mean - sum(found.values()))
    return {name: PhaseTime(_rounded(ms), _share(ms, mean)) for name, ms in found.items()}


def _events(spent: Iterable[Mapping[str, Any]], steps: int, mean: float) -> Iterator[ProfileEvent]:
    for each in spent:
        if each["path"]:
            yield ProfileEvent(
                path=each["path"],
                line=each["line"],
                kind=each["kind"],
                what=each["what"],
                times=_rounded(each["times"] / steps),
                ms=_rounded(each["ms"]),
                share=_share(each["ms"], mean),
                phase=step_kinds.PHASE_OF[each["kind"]],
                note=each["note"],
                via=each["via"],
                evaluating=each["evaluating"],
            )


def _others(
    spent: Iterable[Mapping[str, Any]], looks: Iterable[tuple[str, int, str, int, int]], mean: float
) -> Iterator[ProfileEvent]:
    """The code between wrapped calls, divided among its lines if there are enough samples."""
    seen: dict[tuple[str, int], Counter[tuple[str, int]]] = {}
    for after, row, path, line, count in looks:
        seen.setdefault((after, row), Counter())[path, line] += count
    found: dict[tuple[str, int, str], float] = {}
    for each in spent:
        counts = seen.get((each["path"], each["line"]), Counter())
        total = sum(counts.values())
        parts = {(*place, _SEEN): count / total for place, count in counts.items()} if total >= _LEAST_LOOKS else {}
        for key, part in (parts or {(each["path"], each["line"], each["note"]): 1.0}).items():
            found[key] = found.get(key, 0.0) + each["ms"] * part
    for (path, line, note), ms in found.items():
        if path:
            yield ProfileEvent(
                path, line, step_kinds.OTHER, "other code", 0.0, _rounded(ms), _share(ms, mean), step_kinds.OTHER, note
            )


def _share(ms: float, mean: float) -> float:
    """Six decimals: a call of 0.03 ms has a share in a step of a second too, and 0.0 would look like no call."""
    return round(ms / mean, 6) if mean else 0.0


def _rounded(value: float) -> float:
    """Milliseconds, calls and samples rounded to three decimals: more digits are noise."""
    return round(value, 3)


class _Texts:
    """The lines of the project's files. A file that has changed since the script ran it has none."""

    def __init__(self, root: Path, sha256: Mapping[str, str]) -> None:
        self._root = root
        self._sha256 = sha256
        self._sources: dict[str, Source | None] = {}

    def with_source(self, event: ProfileEvent) -> ProfileEvent:
        if event.path not in self._sources:
            self._sources[event.path] = self._read(event.path)
        source = self._sources[event.path]
        known = source is not None and 0 < event.line <= source.lines.rows
        return replace(event, source=source.lines.line(event.line).strip()) if source and known else event

    def _read(self, path: str) -> Source | None:
        try:
            data = plain_files.read(self._root / path)
            return decode(path, data) if hashlib.sha256(data).hexdigest() == self._sha256.get(path) else None
        except (OSError, UnreadableSource):
            return None
