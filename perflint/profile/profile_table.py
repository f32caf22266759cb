"""A profile for the terminal: the bottleneck in a sentence, the phases, and the lines that take most of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perflint.bench.figures import number
from perflint.bench.labels import shortened, start_of, width
from perflint.bench.table import folded
from perflint.profile import profile_words
from perflint.profile.profile_report import ProfileEvent, ProfileReport
from perflint.profile.profile_words import percent
from perflint.text.visible import Palette, visible

_GAP = "  "
_BAR = 24
"""The width of the bar of a phase that takes a whole step."""
_LEAST_CODE = 12
"""The least width at which the text of a line is shown."""
_PLACE, _WHAT = 36, 44
"""The greatest width of a place, and of what is done there."""


def profile_table(report: ProfileReport, columns: int, top: int, palette: Palette | None = None) -> str:
    """The report as text.

    Args:
        report: what was measured.
        columns: the width of the terminal.
        top: how many lines of code to show.
        palette: the colours.
    """
    palette = palette or Palette()
    blocks = (
        [palette.bold(line) for line in folded(visible(f"{profile_words.headline(report)}."), columns, "")],
        list(folded(visible(profile_words.steps(report)), columns, "")),
        _phases(report, palette),
        _lines(report.events[:top], columns, palette),
        _left_out(report.events[top:]),
        [line for note in _notes(report) for line in folded(visible(note), columns, "")],
    )
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"


def _phases(report: ProfileReport, palette: Palette) -> list[str]:
    lines = [palette.frame(f"{'phase':<10}{_GAP}{'ms a step':>9}{_GAP}{'share':>6}")]
    for name, share in profile_words.by_share(report):
        ms = report.phases[name].ms
        bar = "█" * round(_BAR * share)
        lines.append(f"{palette.bold(f'{name:<10}')}{_GAP}{number(ms):>9}{_GAP}{percent(share):>6}{_GAP}{bar}")
    return lines


def _lines(events: Sequence[ProfileEvent], columns: int, palette: Palette) -> list[str]:
    if not events:
        return []
    heading = ("line", "share", "ms a step", "calls", "what", "code")
    rows = [heading, *(_row(event) for event in events)]
    widths = [max(width(row[at]) for row in rows) for at in range(len(heading))]
    widths[0], widths[4] = min(widths[0], _PLACE), min(widths[4], _WHAT)
    room = columns - sum(widths[:5]) - 5 * len(_GAP)
    shown = 6 if room >= _LEAST_CODE else 5
    if shown == 5:
        widths[4] = max(len("what"), columns - sum(widths[:4]) - 4 * len(_GAP))
    widths[5] = room
    lines = [_GAP.join(_padded(row, widths)[:shown]) for row in rows]
    return [palette.frame(lines[0]), *lines[1:]]


def _row(event: ProfileEvent) -> tuple[str, ...]:
    return (
        visible(event.place),
        percent(event.share),
        number(event.ms),
        profile_words.calls(event),
        visible(profile_words.details(event)),
        visible(event.source),
    )


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [shortened(cell, room) for cell, room in zip(row[:5], widths, strict=False)]
    cells.append(start_of(row[5], max(0, widths[5])))
    spaces = [" " * max(0, room - width(cell)) for cell, room in zip(cells, widths, strict=True)]
    return [
        space + cell if at in (1, 2, 3) else cell + space
        for at, (cell, space) in enumerate(zip(cells, spaces, strict=True))
    ]


def _left_out(events: Sequence[ProfileEvent]) -> list[str]:
    if not events:
        return []
    ms = number(sum(event.ms for event in events))
    return [f"{len(events)} more take {ms} ms of a step together; --top shows more."]


def _notes(report: ProfileReport) -> Iterator[str]:
    yield profile_words.bound(report)
    yield profile_words.about_reads(report)
    yield from report.notes
