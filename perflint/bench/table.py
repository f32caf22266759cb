"""A bench report for the terminal: a row a variant, or a block each where the terminal is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perflint.bench.figures import (
    Figures,
    Verdict,
    by_name,
    figures,
    interval,
    losses,
    number,
    ratio,
    sentence,
    verdict,
)
from perflint.bench.labels import shortened, width
from perflint.bench.results import Comparison, Report, Variant
from perflint.output.colour import Palette
from perflint.output.width import show

_HEADINGS = ("", "ips", "(rounds)", "batch_cost", "reader_cost", "memory", "ratio", "(95 % interval)", "losses", "")
_TO_THE_RIGHT = frozenset({1, 3, 4, 5, 6})
_GAP = "  "
_NARROWEST = 20
"""Columns that a name is left at least; it holds a code and a line number."""


def table(report: Report, columns: int, palette: Palette | None = None) -> str:
    """The report as lines of at most ``columns`` display columns where the figures allow it.

    Paths that are too long lose their middle; below the width that all columns need, each variant gets a block.
    """
    palette = palette or Palette()
    rows = [_HEADINGS, *_rows(report)]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    names = min(widths[0], columns - sum(widths[1:]) - len(_GAP) * (len(widths) - 1))
    if names >= min(widths[0], _NARROWEST):
        rows = [(shortened(row[0], names), *row[1:]) for row in rows]
        widths[0] = names
        lines = _aligned(rows, widths, _paints(report, palette), palette)
    else:
        lines = _blocks(report, columns, palette)
    return "".join(f"{line.rstrip()}\n" for line in (*lines, *_notes(report, columns)))


def _rows(report: Report) -> Iterator[Sequence[str]]:
    comparisons = by_name(report)
    for variant in report.variants:
        measured = figures(variant)
        if measured is None:
            yield (variant.name, "not measured", *[""] * (len(_HEADINGS) - 2))
            continue
        yield (
            variant.name,
            number(measured.ips),
            _rounds(measured),
            f"{number(measured.batch_ms)} ms",
            f"{number(measured.reader_ms)} ms",
            _memory(measured),
            *_compared(comparisons.get(variant.name)),
        )


def _compared(comparison: Comparison | None) -> tuple[str, str, str, str]:
    if comparison is None:
        return "", "", "", ""
    return ratio(comparison), f"({interval(comparison)})", losses(comparison), verdict(comparison).value


def _rounds(measured: Figures) -> str:
    if measured.rounds < 2:
        return "(one round)"
    return f"({number(measured.slowest)} to {number(measured.fastest)})"


def _memory(measured: Figures) -> str:
    return "" if measured.memory_mib is None else f"{number(measured.memory_mib)} MiB"


def _paints(report: Report, palette: Palette) -> list[tuple[Verdict | None, bool]]:
    comparisons = by_name(report)
    found = [comparisons.get(variant.name) for variant in report.variants]
    return [(verdict(one) if one else None, bool(one and one.same_losses is False)) for one in found]


def _aligned(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    paints: Sequence[tuple[Verdict | None, bool]],
    palette: Palette,
) -> Iterator[str]:
    yield palette.frame(_GAP.join(_padded(rows[0], widths)).rstrip())
    for row, (found, other_losses) in zip(rows[1:], paints, strict=True):
        cells = _padded(row, widths)
        cells[-1] = _painted(cells[-1].rstrip(), found, palette)
        if other_losses:
            cells[-2] = palette.removed(cells[-2])
        cells[0] = palette.bold(cells[0])
        yield _GAP.join(cells)


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [_pad(cell, room, at in _TO_THE_RIGHT) for at, (cell, room) in enumerate(zip(row, widths, strict=True))]


def _pad(cell: str, room: int, to_the_right: bool) -> str:
    space = " " * (room - width(cell))
    return space + cell if to_the_right else cell + space


def _blocks(report: Report, columns: int, palette: Palette) -> Iterator[str]:
    comparisons = by_name(report)
    for variant in report.variants:
        yield palette.bold(shortened(variant.name, max(columns, _NARROWEST)))
        comparison = comparisons.get(variant.name)
        if comparison is not None:
            yield from _verdict_lines(comparison, columns, palette)
        for label, value in _block(variant, comparison):
            yield from _folded(f"{label:<13}{value}".rstrip(), columns, "  ")


def _verdict_lines(comparison: Comparison, columns: int, palette: Palette) -> Iterator[str]:
    for line in _folded(sentence(comparison), columns, "  "):
        yield _painted(line, verdict(comparison), palette)


def _block(variant: Variant, comparison: Comparison | None) -> Iterator[tuple[str, str]]:
    measured = figures(variant)
    if measured is None:
        yield "not measured", ""
        return
    yield "ips", f"{number(measured.ips)} {_rounds(measured)}"
    yield "batch_cost", f"{number(measured.batch_ms)} ms"
    yield "reader_cost", f"{number(measured.reader_ms)} ms"
    if measured.memory_mib is not None:
        yield "memory", _memory(measured)
    if comparison is not None:
        yield "losses", losses(comparison)


def _painted(text: str, found: Verdict | None, palette: Palette) -> str:
    if found is Verdict.FASTER:
        return palette.added(text)
    if found is Verdict.SLOWER:
        return palette.removed(text)
    return palette.level(text) if found else text


def _notes(report: Report, columns: int) -> Iterator[str]:
    if report.notes:
        yield ""
    for note in report.notes:
        yield from _folded(show(note).text, columns, "")


def _folded(text: str, columns: int, indent: str) -> Iterator[str]:
    """Lines of ``text``, broken at spaces; a word wider than a line stands on its own."""
    line = indent
    for word in text.split(" "):
        if line.strip() and width(line) + width(word) > columns:
            yield line.rstrip()
            line = indent + ("  " if indent else "")
        line += word + " "
    yield line.rstrip()
