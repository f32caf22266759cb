"""A profile as stored in JSON, made from the records of the profiler in the process of the script; and in sentences.

All times are in milliseconds, and means of one measured step; a share is a part of such a step, from 0 to 1.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, median
from typing import Any

from perflint.bench.figures import folded, number, padded, quantile, shortened, start_of, width
from perflint.bench.results import KeptAsJson
from perflint.bench.runner import watched_calls
from perflint.bench.runner.profiler import AFTER
from perflint.bench.script_run import Outcome, Plan
from perflint.files import plain_files
from perflint.text.source import Source, UnreadableSource, decode
from perflint.text.visible import Palette, listed, visible

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


SAYS = {
    watched_calls.READER: ("waits for the loader", "waiting for the next batch of a DataLoader"),
    watched_calls.FORWARD: ("is the forward pass", "calls of layers, and runs of static graphs"),
    watched_calls.BACKWARD: ("is the backward pass", "Tensor.backward, paddle.grad"),
    watched_calls.OPTIMIZER: ("is the optimizer", "step, minimize, clear_grad, GradScaler"),
    watched_calls.READ: (
        "reads values of tensors on the host",
        "values of tensors on the host, and waits for the device",
    ),
    watched_calls.COPY: ("copies data into tensors", "paddle.to_tensor"),
    watched_calls.SAVE: ("saves", "checkpoints"),
    watched_calls.LOG: ("logs", "print, logging, curves, progress lines"),
    watched_calls.OTHER: ("is other code", "all code between these"),
}
"""For each phase the end of the sentence "41 % of a step ...", and what the phase includes."""

COMPUTES = (watched_calls.FORWARD, watched_calls.BACKWARD, watched_calls.OPTIMIZER)
"""The phases that do the actual training; all others are overhead."""

_NAMED = 3
"""The most phases that the headline names."""
_LEAST = 0.05
"""The least share of a step for which the headline names a phase after the first one."""
_LEAST_BESIDE = 0.01
_READS = 5
"""How many of the lines that read on the host are named; the others are only counted."""


_GAP = "  "
_BAR = 24
"""The width of the bar of a phase that takes a whole step."""
_LEAST_CODE = 12
"""The least width at which the text of a line is shown."""
_PLACE, _WHAT = 36, 44
"""The greatest width of a place, and of what is done there."""


def headline(report: ProfileReport) -> str:
    """The largest phases: ``41 % of a step waits for the loader (train.py:64, ...); 30 % saves ...``.

    A sentence without its full stop. The longest phase that does not compute is included, unless it is negligible.
    """
    phases = by_share(report)
    named = [each for each in phases[:_NAMED] if each[1].share >= _LEAST] or phases[:1]
    beside = next((each for each in phases if each[0] not in COMPUTES), None)
    if beside and beside not in named and beside[1].share >= _LEAST_BESIDE:
        named.append(beside)
    return "; ".join(
        f"{percent(phase.share)}{'' if at else ' of a step'} {SAYS[name][0]}{_where(report, name)}"
        for at, (name, phase) in enumerate(named)
    )


def by_share(report: ProfileReport) -> list[tuple[str, PhaseTime]]:
    """The phases, the longest first."""
    return sorted(report.phases.items(), key=lambda each: -each[1].share)


def by_file(report: ProfileReport) -> list[tuple[str, float, float]]:
    """For each file its path, milliseconds a step and share; the longest first."""
    found: dict[str, float] = {}
    for event in report.events:
        found[event.path] = found.get(event.path, 0.0) + event.ms
    mean = report.step_ms.mean
    return [(path, ms, ms / mean if mean else 0.0) for path, ms in sorted(found.items(), key=lambda each: -each[1])]


def _where(report: ProfileReport, phase: str) -> str:
    """The line that takes most of a phase, in brackets; empty if none is known."""
    event = next((each for each in report.events if each.phase == phase), None)
    if event is None:
        return ""
    kind = f": {event.what}" if phase in (watched_calls.READ, watched_calls.SAVE, watched_calls.LOG) else ""
    more = f", {_note(event)}" if event.kind == watched_calls.READER and event.note else ""
    after = "after " if event.note == AFTER else ""
    return f" ({after}{event.place}{kind}{more})"


def bound(report: ProfileReport) -> str:
    """A sentence on how much faster training could get at most if it did nothing but compute."""
    share = sum(phase.share for name, phase in report.phases.items() if name not in COMPUTES)
    if share >= 1:
        return "No forward pass, backward pass or optimizer was seen in a step."
    if report.device.startswith("gpu"):
        return (
            f"{percent(share)} of a step is neither forward pass, backward pass nor optimizer on the host, "
            "including waits for the GPU."
        )
    return (
        f"All that is neither forward pass, backward pass nor optimizer takes {percent(share)} of a step: "
        f"without it training would be at most about {number(1 / (1 - share))} times as fast."
    )


def about_reads(report: ProfileReport) -> str:
    """A sentence on which lines read values on the host, and what their time means on this device."""
    meaning = "On the CPU a host read waits for no device, and its time is that of the call; on a GPU it waits too."
    if report.device.startswith("gpu"):
        meaning = (
            "On a GPU the time of a host read holds the wait for all the work that is queued there, "
            "which an edit moves elsewhere rather than saves."
        )
    lines: dict[str, float] = {}
    for event in report.events:
        if event.phase == watched_calls.READ:
            lines[event.place] = lines.get(event.place, 0.0) + event.times
    if not lines:
        return meaning
    often = sorted(lines.items(), key=lambda each: -each[1])
    return f"{meaning} Reads a step: {listed([f'{number(times)} at {place}' for place, times in often], _READS)}."


def steps(report: ProfileReport) -> str:
    """``50 steps after 10 of warm-up on cpu: 24.1 ms a step (median 23.5, 95th percentile 30.1), 332 ips``."""
    times = report.step_ms
    return (
        f"{report.steps} steps after {report.warmup} of warm-up on {report.device}: {number(times.mean)} ms a step "
        f"(median {number(times.median)}, 95th percentile {number(times.p95)}), {number(report.ips)} ips"
    )


def details(event: ProfileEvent) -> str:
    """What a line does, with the details that are known: ``Tensor.numpy, in fit()``."""
    via = f"in {event.via.rpartition('.')[2]}()" if event.via else ""
    more = [_note(event), via, "in evaluation" if event.evaluating else ""]
    return ", ".join([event.what, *filter(None, more)])


def _note(event: ProfileEvent) -> str:
    """The note, without the place where a loader is made if it is the same line."""
    return event.note.replace(f", made at {event.place}", "")


def calls(event: ProfileEvent) -> str:
    """Calls per step, for a column; empty if unknown."""
    return number(event.times) if event.times else ""


def percent(share: float) -> str:
    """``41 %``; with a decimal below ten, and ``0 %`` for zero."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 or value < 0.05 else f"{value:.1f} %"


def profile_table(report: ProfileReport, columns: int, top: int, palette: Palette | None = None) -> str:
    """The report as text.

    Args:
        report: what was measured.
        columns: the width of the terminal.
        top: how many lines of code to show.
        palette: the colours.
    """
    palette = palette or Palette()
    left = report.events[top:]
    notes = (bound(report), about_reads(report), *report.notes)
    blocks = (
        [palette.bold(line) for line in folded(visible(f"{headline(report)}."), columns, "")],
        list(folded(visible(steps(report)), columns, "")),
        _phase_rows(report, palette),
        _lines(report.events[:top], columns, palette),
        [f"{len(left)} more take {number(sum(each.ms for each in left))} ms of a step together; --top shows more."]
        if left
        else [],
        [line for note in notes for line in folded(visible(note), columns, "")],
    )
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"


def _phase_rows(report: ProfileReport, palette: Palette) -> list[str]:
    lines = [palette.frame(f"{'phase':<10}{_GAP}{'ms a step':>9}{_GAP}{'share':>6}")]
    for name, phase in by_share(report):
        cells = palette.bold(f"{name:<10}"), f"{number(phase.ms):>9}", f"{percent(phase.share):>6}"
        lines.append(_GAP.join((*cells, "█" * round(_BAR * phase.share))))
    return lines


def _lines(events: Sequence[ProfileEvent], columns: int, palette: Palette) -> list[str]:
    if not events:
        return []
    rows = [("line", "share", "ms a step", "calls", "what", "code")]
    for each in events:
        what, code = visible(details(each)), visible(each.source)
        rows.append((visible(each.place), percent(each.share), number(each.ms), calls(each), what, code))
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    widths[0], widths[4] = min(widths[0], _PLACE), min(widths[4], _WHAT)
    room = columns - sum(widths[:5]) - 5 * len(_GAP)
    shown = 6 if room >= _LEAST_CODE else 5
    if shown == 5:
        widths[4] = max(len("what"), columns - sum(widths[:4]) - 4 * len(_GAP))
    widths[5] = room
    lines = [_GAP.join(_padded(row, widths)[:shown]) for row in rows]
    return [palette.frame(lines[0]), *lines[1:]]


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [shortened(cell, room) for cell, room in zip(row[:5], widths, strict=False)]
    cells.append(start_of(row[5], max(0, widths[5])))
    return [padded(cell, room, at in (1, 2, 3)) for at, (cell, room) in enumerate(zip(cells, widths, strict=True))]
