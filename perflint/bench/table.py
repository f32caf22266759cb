"""A bench report for the terminal: one row for each variant, or one block if the terminal is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perflint.bench.figures import (
    Figures,
    Verdict,
    by_name,
    difference,
    figures,
    interval,
    losses,
    number,
    ratio,
    saved,
    sentence,
    shortened,
    verdict,
    width,
)
from perflint.bench.notes import advice
from perflint.bench.results import BenchReport, Comparison, Variant
from perflint.text.colour import Palette
from perflint.text.visible import visible, visible_line
from perflint.text.wording import listed

_HEADINGS = (
    *("", "ips", "(rounds)", "batch_cost", "reader_cost", "memory"),
    *("ratio", "(95 % interval)", "saved per step", "losses", ""),
)
_MEASURED = 6
"""How many of these columns describe a single variant; the others compare it."""
_LOSSES, _VERDICT = 9, 10
_TO_THE_RIGHT = frozenset({1, 3, 4, 5, 6})
_GAP = "  "
_NARROWEST = 20
"""The least width of a name; it fits a code and a line number."""
_LISTED = 5
"""How many fixes of a variant are named; the others are only counted."""


def table(report: BenchReport, columns: int, palette: Palette | None = None) -> str:
    """The report as lines of at most ``columns`` columns if the figures allow it.

    Paths that are too long lose their middle. If there is no room for all columns, the comparisons are sentences below;
    if there is none for the others either, each variant gets a block.
    """
    palette = palette or Palette()
    whole = (_rows(report, spread) for spread in (True, False))
    lines = next(filter(None, (_aligned(rows, columns, report, palette) for rows in whole)), [])
    if not lines:
        shorter = ([row[:_MEASURED] for row in _rows(report, spread)] for spread in (True, False))
        lines = next(filter(None, (_aligned(rows, columns, report, palette) for rows in shorter)), [])
        lines += _sentences(report, columns, palette) if lines else _blocks(report, columns, palette)
    return "".join(f"{line.rstrip()}\n" for line in (*lines, *_meanings(report, columns), *_notes(report, columns)))


def _rows(report: BenchReport, spread: bool) -> list[Sequence[str]]:
    """The headings and a row for each variant, with the spread of the ips and, if wanted, of the costs."""
    comparisons = by_name(report)
    rows: list[Sequence[str]] = [_HEADINGS]
    for variant in report.variants:
        measured = figures(variant)
        if measured is None:
            rows.append((visible(variant.name), "not measured", *[""] * (len(_HEADINGS) - 2)))
            continue
        cells = (number(measured.ips), _rounds(measured), *_costs(measured, spread), _memory(measured))
        rows.append((visible(variant.name), *cells, *_compared(comparisons.get(variant.name))))
    return rows


def _compared(comparison: Comparison | None) -> tuple[str, str, str, str, str]:
    if comparison is None:
        return "", "", "", "", ""
    shown = ratio(comparison), f"({interval(comparison)})", saved(comparison), losses(comparison)
    return *shown, verdict(comparison).value


def _rounds(measured: Figures) -> str:
    if measured.rounds < 2:
        return "(one round)"
    return f"({number(measured.slowest)} to {number(measured.fastest)})"


def _costs(measured: Figures, spread: bool = True) -> tuple[str, str]:
    """batch_cost and reader_cost, with those of the fastest and the slowest round if there are several."""
    costs = (measured.batch_ms, measured.batch_spread), (measured.reader_ms, measured.reader_spread)
    with_ends = spread and measured.rounds > 1
    batch, reader = (
        f"{number(mean)} ms" + (f" ({number(ends[0])} to {number(ends[1])})" if with_ends else "")
        for mean, ends in costs
    )
    return batch, reader


def _memory(measured: Figures) -> str:
    return "" if measured.memory_mib is None else f"{number(measured.memory_mib)} MiB"


def _aligned(rows: Sequence[Sequence[str]], columns: int, report: BenchReport, palette: Palette) -> list[str]:
    """The rows aligned in columns, beginning with the headings; no lines if names would be cut too short."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    names = min(widths[0], columns - sum(widths[1:]) - len(_GAP) * (len(widths) - 1))
    if names < min(widths[0], _NARROWEST):
        return []
    widths[0] = names
    comparisons = by_name(report)
    lines = [palette.frame(_GAP.join(_padded(rows[0], widths)).rstrip())]
    for row, variant in zip(rows[1:], report.variants, strict=True):
        cells = _padded((shortened(row[0], names), *row[1:]), widths)
        _paint(cells, comparisons.get(variant.name), palette)
        lines.append(_GAP.join(cells))
    return lines


def _paint(cells: list[str], comparison: Comparison | None, palette: Palette) -> None:
    cells[0] = palette.bold(cells[0])
    if comparison is None or len(cells) <= _VERDICT:
        return
    cells[_VERDICT] = _painted(cells[_VERDICT].rstrip(), verdict(comparison), palette)
    if comparison.same_losses is False:
        cells[_LOSSES] = palette.removed(cells[_LOSSES])


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [_pad(cell, room, at in _TO_THE_RIGHT) for at, (cell, room) in enumerate(zip(row, widths, strict=True))]


def _pad(cell: str, room: int, to_the_right: bool) -> str:
    space = " " * (room - width(cell))
    return space + cell if to_the_right else cell + space


def _sentences(report: BenchReport, columns: int, palette: Palette) -> Iterator[str]:
    for comparison in report.comparisons:
        yield ""
        yield palette.bold(shortened(comparison.variant, columns))
        words = f"{sentence(comparison)}, losses {_losses(comparison)}"
        yield from _judged(words, comparison, columns, palette)


def _blocks(report: BenchReport, columns: int, palette: Palette) -> Iterator[str]:
    comparisons = by_name(report)
    for variant in report.variants:
        yield palette.bold(shortened(variant.name, max(columns, _NARROWEST)))
        comparison = comparisons.get(variant.name)
        if comparison is not None:
            yield from _judged(sentence(comparison), comparison, columns, palette)
        for label, value in _block(variant, comparison):
            yield from folded(f"{label:<13}{value}".rstrip(), columns, "  ")


def _judged(words: str, comparison: Comparison, columns: int, palette: Palette) -> Iterator[str]:
    """The text about a comparison, in the colour of its verdict."""
    for line in folded(words, columns, "  "):
        yield _painted(line, verdict(comparison), palette)


def _block(variant: Variant, comparison: Comparison | None) -> Iterator[tuple[str, str]]:
    measured = figures(variant)
    if measured is None:
        yield "not measured", ""
        return
    yield "ips", f"{number(measured.ips)} {_rounds(measured)}"
    yield from zip(("batch_cost", "reader_cost"), _costs(measured), strict=True)
    if measured.memory_mib is not None:
        yield "memory", _memory(measured)
    if comparison is not None:
        yield "losses", _losses(comparison)


def _losses(comparison: Comparison) -> str:
    return f"{losses(comparison)} {difference(comparison)}".rstrip()


def _painted(text: str, found: Verdict, palette: Palette) -> str:
    if found is Verdict.FASTER:
        return palette.added(text)
    if found is Verdict.SLOWER:
        return palette.removed(text)
    return palette.level(text)


def _meanings(report: BenchReport, columns: int) -> Iterator[str]:
    """The fixes of variants whose names do not show them, if no other variant is named after them."""
    names = {variant.name for variant in report.variants}
    unsaid = [item for item in report.variants if any(fix not in names and fix != item.name for fix in item.fixes)]
    if unsaid:
        yield ""
    for variant in unsaid:
        fixes = [shortened(fix, max(columns - len(_GAP), _NARROWEST)) for fix in variant.fixes]
        said = f"{variant.name}: {listed(fixes, _LISTED)}"
        yield from map(visible_line, folded(visible(said), columns, ""))


def _notes(report: BenchReport, columns: int) -> Iterator[str]:
    notes = [*report.notes, *advice(report)]
    if notes:
        yield ""
    for note in notes:
        yield from map(visible_line, folded(visible(note), columns, ""))


def folded(text: str, columns: int, indent: str) -> Iterator[str]:
    """Lines of ``text``, broken at spaces; a word wider than a line gets its own line."""
    line = indent
    for word in text.split(" "):
        if line.strip() and width(line) + width(word) > columns:
            yield line.rstrip()
            line = indent + ("  " if indent else "")
        line += word + " "
    yield line.rstrip()
