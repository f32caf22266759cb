"""A profile in sentences, and as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from perflint.bench.figures import folded, number, padded, shortened, start_of, width
from perflint.bench.runner import watched_calls
from perflint.bench.runner.profiler import AFTER
from perflint.profile.profile_report import PhaseTime, ProfileEvent, ProfileReport
from perflint.text.visible import Palette, listed, visible

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
        _phases(report, palette),
        _lines(report.events[:top], columns, palette),
        [f"{len(left)} more take {number(sum(each.ms for each in left))} ms of a step together; --top shows more."]
        if left
        else [],
        [line for note in notes for line in folded(visible(note), columns, "")],
    )
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"


def _phases(report: ProfileReport, palette: Palette) -> list[str]:
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
